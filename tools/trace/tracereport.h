/* The messages of a conversion: one error, and the first OTF2_WARNINGS_MAX warnings. */
#ifndef MPIT_TOOLS_TRACEREPORT_H
#define MPIT_TOOLS_TRACEREPORT_H

#include <stddef.h>
#include <stdint.h>

enum { OTF2_ERROR_BYTES = 512, OTF2_WARNING_BYTES = 256, OTF2_WARNINGS_MAX = 32 };

struct otf2_report {
    char error[OTF2_ERROR_BYTES]; /* reason why there is no archive, or "" if there is one */
    int signal;                   /* that ended the conversion, or 0 for none */
    char clocks[320];             /* precision of the clocks of several nodes, or "" for one node */
    size_t locations;
    uint64_t events;
    size_t warning_count; /* may exceed OTF2_WARNINGS_MAX, the number of stored ones */
    char warnings[OTF2_WARNINGS_MAX][OTF2_WARNING_BYTES];
};

/* Stores only the first error, because the function that finds it knows its cause best. Returns -1. */
__attribute__((format(printf, 2, 3))) int report_error(struct otf2_report *report, const char *format, ...);
__attribute__((format(printf, 2, 3))) void report_warning(struct otf2_report *report, const char *format, ...);
/* Returns -1. */
int report_no_memory(struct otf2_report *report);

#endif
