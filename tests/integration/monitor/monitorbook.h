/* What the parts of the program `monitor` share. */
#ifndef MONITORBOOK_H
#define MONITORBOOK_H

#include <mpit/monitor.h>

#include <stdbool.h>
#include <stdio.h>

enum { COMMS_SEEN = 64 };

/* The last report of a window. */
struct seen {
    int reports;
    MPIX_Monitor_report report;
    MPIX_Monitor_interval period, whole;
    MPIX_Monitor_comm comms[COMMS_SEEN];
    char names[COMMS_SEEN][64];
    MPIX_Monitor_coll colls[COMMS_SEEN];
    char before[64], after[64];
    uint32_t comm_count, coll_count;
};

extern int rank, failures;
extern const char *file;

void note(const MPIX_Monitor_report *report, void *own);
MPIX_Monitorhandle handle_of(const char *name, struct seen *seen);
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void message(int bytes, MPI_Comm comm);
void periods(void);
void sites(void);
void many_threads(void);

#define EXPECT(value, wanted)                                                                                          \
    do {                                                                                                               \
        unsigned long long value_is = (unsigned long long)(value), value_wanted = (unsigned long long)(wanted);        \
        if (value_is != value_wanted) {                                                                                \
            __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);                                                        \
            fprintf(stderr, "rank %d, %s:%d: %s is %llu, not %llu\n", rank, __func__, __LINE__, #value, value_is,      \
                    value_wanted);                                                                                     \
        }                                                                                                              \
    } while (0)
#define EXPECT_TRUE(condition) EXPECT(!!(condition), 1)

#endif
