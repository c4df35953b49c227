/*
 * Switching the trace while the program runs.
 *
 * Threads need no message about it. A thread's last events are in its ring anyway. Only when the ring is full, the
 * thread asks whether any of them belong to the trace. So the switch costs nothing on the path of a call, and no event
 * is missed. The begin of a call decides whether it belongs to the trace. The run file has the stretches, and readers
 * use them.
 */
#ifndef MPIT_AGGREGATE_TRACING_H
#define MPIT_AGGREGATE_TRACING_H

#include <stdbool.h>
#include <stdint.h>

/* The run begins with the trace on or off. */
void tracing_begin(bool on);

/* Switches it from now on. Returns false if there is no file. */
bool tracing_set(bool on);

/* True if any call that began at `ticks` or later belongs to the trace. */
bool tracing_covers(uint64_t ticks);

/* How often it was switched on. Losses of a thread in one stretch do not count for the next. */
uint32_t tracing_number(void);

#endif
