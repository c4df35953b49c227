/*
 * Writes the event buffer of a thread into the trace, piece by piece.
 *
 *   buffer   |. . . . . . . . . . . . . . . .|################>:                 |
 *             block k-1: packed, written      block k: being recorded, packed
 *             piece by piece                  piece by piece  ^cursor ^log->limit
 *
 * The buffer is a ring of two or more blocks. log->limit is at the end of a piece. The call that fills a piece packs
 * it, and takes one step (run.h) with the block before. That block is in the file one piece before its events are
 * overwritten. Until then its events are in the ring, so a killed process loses none. The most that a call pays for the
 * trace is one step: a place at the end of the file, or a few pages of data.
 *
 * A small buffer is one block, and is written at once. While no trace is wanted, only the ends of blocks are checked.
 * The buffer belongs to the thread of the log.
 */
#ifndef MPIT_PROBES_BACKLOG_H
#define MPIT_PROBES_BACKLOG_H

#include "writer/run.h"

struct log;

struct backlog {
    uint32_t begin, end;     /* places of the block that is being recorded */
    uint32_t capacity;       /* of the buffer. The chunk's own may be gone together with its file (runguard.h) */
    struct packing *packing; /* where blocks are packed. NULL: not yet mapped, or no memory */
    bool asked;              /* memory for `packing` was requested */
    bool moving;             /* the block before is being written */
    struct trace_move move;  /* how far it is */
    uint32_t failed;         /* tracing_number of the stretch that was lost. 0: none */
    enum loss_cause cause;   /* why */
};

/* Sets the cursor and the limit of a log that has a buffer. */
void backlog_begin(struct log *log);
/* Repairs the cursor after a signal handler has left the recorder by a jump: sets it by the count of events. The event
 * that was being written is lost. */
void backlog_repair(struct log *log);
/* The cursor is at the limit: goes on to the next piece. */
void backlog_turn(struct log *log);

#endif
