/*
 * Software events of the Linux kernel, under PAPI's names for them (perf::PAGE-FAULTS). They need no counters of the
 * processor and no PAPI. The events of a thread are one group of perf_event_open(2), read by one system call.
 */
#ifndef MPIT_PROBES_SOFTEVENTS_H
#define MPIT_PROBES_SOFTEVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SOFT_EVENTS_MOST = 16 };

/* -1: no such name. */
int soft_event_named(const char *name);
/* Returns the name for users, or NULL after the last. */
const char *soft_event_name(size_t i);
/* Returns "ns" for times. */
const char *soft_event_unit(int event);

/* Opens events of the calling thread, in this order. Returns the group, or -1 and errno. */
int soft_group_open(const int *events, size_t count, int fds[SOFT_EVENTS_MOST]);
/* False: it cannot be read, and nothing was stored. */
bool soft_group_read(int group, uint64_t *values, size_t count);
void soft_group_close(const int *fds, size_t count);

#endif
