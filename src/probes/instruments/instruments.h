/*
 * The implementation of include/mpit/instrument.h for other libraries: the table behind mpit_instrument_interface,
 * regions, and samples of values for the trace. The register itself is aggregate/instruments/instrument.h.
 */
#ifndef MPIT_PROBES_INSTRUMENTS_H
#define MPIT_PROBES_INSTRUMENTS_H

#include "instruments/instrument.h"
#include "thread/log.h"

/* Puts the values that have changed since the last sample into the trace, if one is kept. */
void instruments_sample(struct log *log);
/* The same when the buffer of a thread was full. The samples fill at most a part of the next one. */
void instruments_turned(struct log *log);

#endif
