/*
 * The gaps in the trace of a run file, and their causes, for the tools that report them.
 *
 *   events    |  0 .. 4094 |    4095 .. 12284    | 12285 .. 16379 |
 *                           <------- gap ------->
 *              last call returned          next call begins, or the end
 *
 * A trace that was switched has no gap where it was off. The place and size of a gap follow from the events in the
 * file. The cause is in the gap_table. After a full table a cause is known only for the whole
 * process.
 */
#ifndef MPIT_EVENTS_READERGAPS_H
#define MPIT_EVENTS_READERGAPS_H

#include "reader/reader.h"

struct run_gap {
    uint32_t thread;
    uint64_t first, end, count;      /* events, numbered as the thread wrote them. Some in between may exist */
    uint64_t begin_ticks, end_ticks; /* the activity of the thread in between is unknown */
};

struct run_gaps {
    struct run_gap *list; /* by thread, in order */
    size_t count;
};

/*
 * Reads all events of a file that is awake. Returns 0, or -1 without memory. The caller must release the gaps in both
 * cases.
 */
int run_gaps_find(struct run_gaps *gaps, const struct run_reader *reader);
void run_gaps_release(struct run_gaps *gaps);

/*
 * For run_reader_open: subtracts from reader->header.lost the events that the file still has. The recorder counts a block
 * when the trace does not take it. Then the block is still in the buffer of its thread, which is a part of the file.
 * Reads only the headers of chunks.
 */
void run_gaps_settle(struct run_reader *reader);

enum { GAP_CAUSE_BYTES = 160 };

/* The causes of a gap by name. If there are several, with their counts. */
void run_gap_cause(const struct run_reader *reader, const struct run_gap *gap, char text[GAP_CAUSE_BYTES]);

#endif
