#include "base/age.h"

#include <stdlib.h>

bool age_read(const char *text, double *seconds)
{
    static const struct {
        char letter;
        double seconds;
    } units[] = {{'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
    char *end;
    double number = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (end > text && end[0] == units[i].letter && !end[1] && number >= 0 && number < 1e6) {
            *seconds = number * units[i].seconds;
            return true;
        }
    return false;
}
