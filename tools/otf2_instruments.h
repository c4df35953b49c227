/*
 * What other libraries measured (instrument records of the run files) in an archive: regions by name, variables as
 * metrics.
 *
 * A region is one event of the run file, written when it was left, and an archive wants it entered before all that
 * happened inside. So the regions and samples of a thread are read first and put in the order of their begin, outer
 * ones first (a schedule: 40 bytes each), and are written between the thread's calls as time goes on:
 *
 *     calls            [Send]   [Recv .. callback: [Bcast] .. ]     [Wait]
 *     regions     [ solver ............................................... ]    open: the regions that are entered
 *     floor                      0 regions may end inside of Recv but those that began there
 */
#ifndef MPIT_TOOLS_OTF2_INSTRUMENTS_H
#define MPIT_TOOLS_OTF2_INSTRUMENTS_H

#include "otf2_report.h"
#include "reader.h"

#include <mpit/instrument_interface.h>

#include <otf2/otf2.h>
#include <stdbool.h>

struct trace_metric {
    const struct run_reader *run; /* one that knows it */
    const struct instrument_record *record;
    uint32_t element;
    const char *comm; /* "" = not bound */
};

struct trace_instruments {
    const struct instrument_record **regions; /* by region of the archive: they have the first numbers */
    uint32_t region_count;
    struct trace_metric *metrics; /* by metric of the archive */
    uint32_t metric_count;
};

struct scheduled {
    uint64_t begin, end; /* ticks; the same in a sample */
    uint64_t number;     /* in the order of the trace */
    uint64_t value;
    uint32_t what; /* region or metric of the archive */
    bool is_metric;
};

struct schedule {
    struct scheduled *list;
    size_t count, next;
    size_t *open; /* indexes of the regions that are entered, the innermost last */
    size_t open_count, floor;
    bool nobodys;     /* the file names no instruments: there is nothing to read in advance */
    uint64_t unknown; /* events whose instrument the file does not name, where it names some */
};

/* How many elements of a variable are sampled into a trace. */
enum { METRIC_ELEMENTS_MAX = 64 };

/* OTF2 knows three types of metrics. */
static inline OTF2_Type trace_metric_type(uint32_t type)
{
    return type == MPIT_TYPE_DOUBLE ? OTF2_TYPE_DOUBLE : type == MPIT_TYPE_INT ? OTF2_TYPE_INT64 : OTF2_TYPE_UINT64;
}

/* Takes in the instruments of one run file. Returns 0, or -1 without memory. */
int trace_instruments_add(struct trace_instruments *instruments, const struct run_reader *run);
void trace_instruments_release(struct trace_instruments *instruments);

/* Reads the regions and samples of a thread, of its first `written` records. Returns 0, or -1 without memory. */
int schedule_open(struct schedule *schedule, const struct trace_instruments *instruments, const struct run_reader *run,
                  uint32_t thread, uint64_t written);
void schedule_release(struct schedule *schedule);

enum schedule_step { STEP_NONE, STEP_ENTER, STEP_LEAVE, STEP_METRIC };

/* The next thing to write before a call that begins at `until` and ends at `call_end` (or before one ends: both the
 * same); STEP_NONE: nothing more. *at: when it happened. */
enum schedule_step schedule_step(struct schedule *schedule, uint64_t until, uint64_t call_end,
                                 const struct scheduled **what, uint64_t *at);
/* The innermost region that may end here, whenever its own end is: before a call ends around it. NULL: none. */
const struct scheduled *schedule_abandon(struct schedule *schedule);

#endif
