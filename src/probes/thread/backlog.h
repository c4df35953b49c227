/*
 * What of a thread's event buffer is on its way into the trace.
 *
 *   buffer   |. . . . . . . . . . . . . . . .|################>:                 |
 *             block k-1: packed, written      block k: being recorded, packed
 *             piece by piece                  piece by piece  ^cursor ^log->limit
 *
 * The buffer is a ring of two or more blocks. log->limit stands at the end of a piece. The call that fills a piece
 * packs it, and takes one step (run.h) with the block before. That block is in the file one piece before its events are
 * overwritten. Until then its events are in the ring, so a killed process loses none. The most that a call pays for the
 * trace is one step: a place at the end of the file, or a few pages of data.
 *
 * A small buffer is one block, and moved at once. While no trace has been asked for, only the ends of blocks are
 * looked at. It belongs to the thread of the log.
 */
#ifndef MPIT_PROBES_BACKLOG_H
#define MPIT_PROBES_BACKLOG_H

#include "writer/run.h"

struct log;

struct backlog {
    uint32_t begin, end;     /* places of the block that is being recorded */
    uint32_t capacity;       /* of the buffer. The chunk's own may be gone: with the file it lies in (runguard.h) */
    struct packing *packing; /* where blocks are packed; NULL: nowhere yet, or there is no memory */
    bool asked;              /* for that memory */
    bool moving;             /* the block before is on its way */
    struct trace_move move;  /* how far it is */
    uint32_t failed;         /* tracing_number of the stretch that could not be kept; 0: none */
    enum loss_cause cause;   /* why */
};

/* The log has a buffer: sets its cursor and its limit. */
void backlog_begin(struct log *log);
/* A signal handler has left the recorder by a jump: the cursor goes to where the count of events says. What was being
 * written is lost. */
void backlog_repair(struct log *log);
/* The cursor is at the limit: moves on. */
void backlog_turn(struct log *log);

#endif
