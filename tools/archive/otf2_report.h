/* The messages of a conversion: one error, and the first OTF2_WARNINGS_MAX warnings. */
#ifndef MPIT_TOOLS_OTF2_REPORT_H
#define MPIT_TOOLS_OTF2_REPORT_H

#include "archive/otf2.h"

/* Stores only the first error, because the function that finds it knows its cause best. Returns -1. */
__attribute__((format(printf, 2, 3))) int report_error(struct otf2_report *report, const char *format, ...);
__attribute__((format(printf, 2, 3))) void report_warning(struct otf2_report *report, const char *format, ...);
/* Returns -1. */
int report_no_memory(struct otf2_report *report);

#endif
