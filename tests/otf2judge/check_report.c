#include "check_report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct check_listener check_listener;
struct check_figures check_figures;

void check_found(enum check_rule rule, const struct check_place *place, const char *format, ...)
{
    if (check_figures.found[rule]++ >= CHECK_SHOWN_MOST)
        return;
    struct check_finding finding = {.rule = rule, .place = {.rank = -1, .thread = -1}};
    if (place)
        finding.place = *place;
    if (finding.place.record)
        snprintf(finding.record, sizeof finding.record, "%s", finding.place.record);
    finding.place.record = NULL; /* an address has no meaning in another process */
    va_list args;
    va_start(args, format);
    vsnprintf(finding.text, sizeof finding.text, format, args);
    va_end(args);
    check_listener.finding(&finding);
}

void check_give_up(const char *format, ...)
{
    char text[CHECK_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    check_listener.unreadable(text);
    abort(); /* it does not return */
}
