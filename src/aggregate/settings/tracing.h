/*
 * Switching the trace while the program runs.
 *
 * No thread needs a message about it. A thread's last events are in its ring anyway. It asks only when the ring is full
 * whether any of them belong to the trace. So the switch costs nothing on the path of a call, and no event is missed.
 * The begin of a call decides whether it belongs to the trace. The run file has the stretches, and readers use them.
 */
#ifndef MPIT_AGGREGATE_TRACING_H
#define MPIT_AGGREGATE_TRACING_H

#include <stdbool.h>
#include <stdint.h>

/* The run begins with the trace on or off. */
void tracing_begin(bool on);

/* Switches it from now on. False: there is no file to write into. */
bool tracing_set(bool on);

/* Whether any call that began at `ticks` or later belongs to the trace. */
bool tracing_covers(uint64_t ticks);

/* How often it was switched on: what a thread could not keep of one stretch says nothing of the next. */
uint32_t tracing_number(void);

#endif
