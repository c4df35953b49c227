/*
 * The interface to PAPI. The library is loaded when one of its events is named, and nothing is linked to it.
 *
 * Events of different components cannot be in one event set. So there are as many sets as needed, and each thread has
 * its own. If a process has loaded PAPI already, mpit leaves it alone: in a thread only one set of a component can run,
 * and that is the program's.
 */
#ifndef MPIT_PROBES_PAPI_H
#define MPIT_PROBES_PAPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PAPI_EVENTS_MOST = 16, PAPI_REASON_BYTES = 400 };

/* The sets of one thread. All zero: none. */
struct papi_sets {
    int sets[PAPI_EVENTS_MOST];
    size_t counts[PAPI_EVENTS_MOST]; /* events in each */
    size_t count;
    uint8_t place[PAPI_EVENTS_MOST]; /* set << 4 | place in it, of each event */
    size_t events;
};

/* Loads and initializes PAPI once. False, and why. */
bool papi_open(char reason[PAPI_REASON_BYTES]);
/* Adds the event to the calling thread's sets, which are not running. False, and why. */
bool papi_add(struct papi_sets *sets, const char *name, char reason[PAPI_REASON_BYTES]);
bool papi_start(struct papi_sets *sets, char reason[PAPI_REASON_BYTES]);
/* In the order in which they were added. */
bool papi_read(const struct papi_sets *sets, uint64_t *values);
void papi_stop(struct papi_sets *sets);
/* Call these around a thread's use of PAPI. */
void papi_thread_begin(void);
void papi_thread_end(void);
/* Calls `take` with the names of events that PAPI knows here. */
void papi_names(void (*take)(void *to, const char *name), void *to);

#endif
