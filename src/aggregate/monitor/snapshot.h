/*
 * Snapshots of the registry, for periods that are differences of two (difference.h).
 *
 *   snapshot ── process    cells of all threads, summed, and calls under way, one by one
 *           ├── tape       [record of a communicator][record] ...      8-byte words, reused by the next snapshot
 *           └── index      slot ──> where on the tape. 0: it had counted nothing
 *
 *   record     cells of all threads for the communicator, summed, without cells that cannot have counted: buckets
 *              outside of the smallest and the largest message ever, collectives where there was none
 *
 * Most of the 3 KB of cells of a communicator are 0. A period must open and close in less than the time of a message.
 * So a snapshot of a communicator is some 30 words and the buckets between its extremes.
 *
 * Slots go from one communicator to the next (commreuse.h). Their cells then go to a sum. `lives` of a record says
 * which communicator it was. A snapshot during a move is taken again, under the registry's lock.
 *
 * The begin of the first communication since a snapshot is not a difference. It is an extreme of the cells.
 * SNAPSHOT_BEGIN takes it out of them (windows.h) and gives it to all open snapshots, in record.first.
 *
 * Who may run with whom: recorders go on meanwhile. Snapshots exclude each other (the caller has a lock). They are not
 * part of any call's path. Not for signal handlers.
 */
#ifndef MPIT_AGGREGATE_SNAPSHOT_H
#define MPIT_AGGREGATE_SNAPSHOT_H

#include "registry/book.h"

enum snapshot_part {
    SNAPSHOT_MESSAGES = 1,
    SNAPSHOT_COLLECTIVES = 2,
    SNAPSHOT_OTHER = 4,
    SNAPSHOT_PATHS = 8,
};

/* Figures of comm_cells that are neither by size nor by kind, in the order of the cells. */
enum comm_sum_cell {
    SUM_P2P_TIME,
    SUM_WAIT_TIME,
    SUM_COMM_TIME,
    SUM_RMA_TIME,
    SUM_IO_TIME,
    SUM_RMA_BYTES,
    SUM_IO_BYTES,
    SUM_TRANSFER_TIME,
    SUM_P2P_DONE,
    SUM_TIMEOUTS,
    SUM_LARGE,
    SUM_COLL_BYTES,
    SUM_STALL_TIME,
    SUM_FABRIC_TIME,
    SUM_TRANSFERS,
    SUM_TRANSFER_SPAN,
    SUM_COUNT
};

/* Followed on the tape by message_cells of the sends and then of the receives of buckets low .. high - 1. Then
 * coll_time, coll_count, coll_execution and coll_size_count follow, if it has them. */
struct comm_snapshot {
    uint64_t first;        /* the earliest begin since then that was taken out of the cells. LOW_NEUTRAL: none */
    uint64_t first_beside; /* now: the begin that was still in the cells */
    uint64_t last;         /* end of the last communication. 0: there was none */
    uint32_t slot, lives;
    uint32_t low, high, collectives, freed;
    int32_t size, rank, remote_size; /* of the communicator in the slot at that time */
    uint32_t is_sum;
    uint64_t pending[3]; /* sends, receives, bytes */
    uint64_t sum[SUM_COUNT];
};

/* Counters of a call path, of all threads. Times are ticks. */
struct path_snapshot {
    uint64_t calls, time, stall_time, sent, bytes_out, received, bytes_in;
};

/* A call under way. */
struct call_snapshot {
    uint32_t thread, call, slot;
    int32_t tid, peer;
    bool charged; /* its class is charged to `slot` */
    uint64_t since, ticks;
};

enum { FABRIC_SNAPSHOT_CELLS = 6 }; /* time, polls, empty polls, time of polls, operations, bytes */

struct process_snapshot {
    uint64_t events, folded, stalled; /* ticks in calls that returned, and the stalled part */
    uint64_t progress;                /* ticks in calls under way */
    uint32_t threads, calls;
    bool fabric_watched, fabric_known, counters_known; /* known: there is a library to watch */
    uint64_t fabric[FABRIC_SNAPSHOT_CELLS];
    uint64_t counters[COUNTER_COUNT][PLACE_COUNT];
};

struct snapshot {
    uint64_t ticks;
    unsigned parts;
    bool whole; /* false: there was not enough memory */
    struct process_snapshot process;
    struct call_snapshot *calls;
    uint32_t call_room;
    uint32_t slots, slot_room; /* slots that there were */
    uint32_t *index;
    uint64_t *tape;
    size_t used, room;              /* words */
    struct path_snapshot *paths;    /* by number of the path */
    uint32_t path_count, path_room; /* path_count: 0 without SNAPSHOT_PATHS */
    struct snapshot *next;          /* list of the open ones */
};

enum snapshot_edge {
    SNAPSHOT_BEGIN, /* an interval begins here (and another may end) */
    SNAPSHOT_END,   /* none does */
};

/* Reads everything now, or only `only` if that is not NULL. */
void snapshot_take(struct snapshot *snapshot, const struct comm *only, unsigned parts, enum snapshot_edge edge);
/* Opens an interval that begins with the snapshot. It gets the begins of first communications. */
void snapshot_open(struct snapshot *snapshot);
void snapshot_close(struct snapshot *snapshot);
/* Allocates and touches memory for a snapshot, so that taking it needs no more. Returns false without memory. */
bool snapshot_prepare(struct snapshot *snapshot);
void snapshot_free(struct snapshot *snapshot);
/* Drops them in the child of a fork. */
void snapshots_forget(void);

/* The record of a slot, or NULL. */
static inline struct comm_snapshot *snapshot_of(const struct snapshot *snapshot, uint32_t slot)
{
    uint32_t at = slot < snapshot->slots ? snapshot->index[slot] : 0;
    return at ? (struct comm_snapshot *)(snapshot->tape + at) : NULL;
}

/* Called at the end of the run, so that open windows end. May be NULL. */
extern LIBRARY_LOCAL void (*snapshot_run_ends)(void);

#endif
