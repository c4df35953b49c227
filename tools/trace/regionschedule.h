/*
 * The regions and samples of a thread (instruments of other libraries) in the order that an archive requires.
 *
 * A region is one event of the run file, written when it was left. An archive requires its Enter before all events
 * inside. So the regions are sorted by their begin, outer ones first, and handed out between the thread's calls:
 *
 *     calls            [Send]   [Recv .. callback: [Bcast] .. ]     [Wait]
 *     regions     [ solver ............................................... ]    open: the regions that are entered
 *     floor                      only regions that began inside Recv may end inside it
 *
 * The events are read in blocks. A region is long if it begins before the block that precedes its own. All others are
 * short. A first pass finds the long ones, about one for each block and level of nesting. A second pass runs at least
 * two blocks ahead of the calls, and finds the short ones:
 *
 *     blocks      |    k-1    |     k     |    k+1    |  short regions that end in k+1 or later begin after `known`
 *                             ^known                  ^second walk
 *
 * The number of events in a block is the number of blocks of the thread, but at least BLOCK_LEAST. So memory grows with
 * the square root of the trace's length, and with the number of regions that are entered at a time.
 */
#ifndef MPIT_TOOLS_REGIONSCHEDULE_H
#define MPIT_TOOLS_REGIONSCHEDULE_H

#include "trace/traceinstruments.h"

struct scheduled {
    uint64_t begin, end; /* ticks, equal for a sample */
    uint64_t number;     /* of the event */
    uint64_t value;
    uint32_t what; /* region or metric of the archive */
    bool is_metric;
};

struct scheduled_list {
    struct scheduled *list;
    size_t count, capacity;
};

/* A walk over a thread's events. */
struct schedule_walk {
    struct event_cursor cursor;
    struct event ahead; /* the next event, a copy: a living process may write over it */
    uint64_t ahead_number, block_events;
    bool has_ahead, torn; /* it exists, and has a gap before it */
    uint64_t block;
    uint64_t since, known; /* begin of this block and of the one before. Never decrease */
    uint64_t rested;
};

struct schedule {
    const struct trace_instruments *instruments;
    const struct run_reader *run;
    struct schedule_walk walk; /* the second one */
    struct scheduled_list longs, shorts,
        open;               /* a list by begin, a heap by begin, and the entered ones with the innermost last */
    uint64_t *long_numbers; /* of the long ones, in the order of the events */
    size_t long_count, longs_next, numbers_next;
    size_t floor;
    struct scheduled last; /* that was handed out and is not open */
    bool some;             /* there is something to hand out */
    bool nobodys;          /* the file names no instruments, so there is no need to read ahead */
    bool failed;           /* no memory: the result is incomplete */
    uint64_t unknown;      /* events without an instrument in a file that names some */
};

/* For a thread's first `written` records. `held` means that this thread alone holds the file. Returns 0, or -1 without
 * memory. Release it in both cases. */
int schedule_open(struct schedule *schedule, const struct trace_instruments *instruments, const struct run_reader *run,
                  uint32_t thread, uint64_t written, bool held);
void schedule_release(struct schedule *schedule);

enum schedule_step { STEP_NONE, STEP_ENTER, STEP_LEAVE, STEP_METRIC };

/* Returns the next step to write before a call that begins at `until` and ends at `call_end`. Before the end of a call,
 * both are equal. Returns STEP_NONE if there is none. *at gets its time. *what is valid until the next step. */
enum schedule_step schedule_step(struct schedule *schedule, uint64_t until, uint64_t call_end,
                                 const struct scheduled **what, uint64_t *at);
/* Returns the innermost region that may end here, before a call ends around it. Its own end does not matter. Returns
 * NULL for none. */
const struct scheduled *schedule_abandon(struct schedule *schedule);

#endif
