/*
 * The samples of a job as a separate OTF2 archive: a location for each sampled thread, with CallingContextSample
 * events. (These cannot be in one location with Enter and Leave, so the trace's archive has none of them.)
 *
 *   region            a function, an MPI function, or a state in it: "[work]", "[stall recv]"
 *   calling context   a region at its place in the source code, below the context of its caller
 *   attributes        of each sample: how many periods of the timer it represents, and whether the thread was on a
 *                     processor
 *   interrupt generator   the timer, by its period
 */
#ifndef MPIT_TOOLS_OTF2_SAMPLES_H
#define MPIT_TOOLS_OTF2_SAMPLES_H

#include "archive/otf2.h"
#include "profile/stacks.h"

/* Writes the archive to the new directory. Returns 0, or -1 with report->error set. After an error no file is left. */
int otf2_samples_write(struct stacks *stacks, const char *directory, struct otf2_report *report);

#endif
