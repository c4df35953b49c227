#include "trace/tracereport.h"

#include "format/label.h"

#include <stdarg.h>
#include <stdio.h>

int report_error(struct otf2_report *report, const char *format, ...)
{
    if (report->error[0])
        return -1;
    va_list args;
    va_start(args, format);
    vsnprintf(report->error, sizeof report->error, format, args);
    va_end(args);
    text_tidy(report->error, sizeof report->error); /* names in it are from a file */
    return -1;
}

void report_warning(struct otf2_report *report, const char *format, ...)
{
    if (report->warning_count++ >= OTF2_WARNINGS_MAX)
        return;
    va_list args;
    va_start(args, format);
    char *warning = report->warnings[report->warning_count - 1];
    vsnprintf(warning, OTF2_WARNING_BYTES, format, args);
    va_end(args);
    text_tidy(warning, OTF2_WARNING_BYTES); /* here, too */
}

int report_no_memory(struct otf2_report *report)
{
    return report_error(report, "out of memory");
}
