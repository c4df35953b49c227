/*
 * Counters: 8-byte slots with one writer each. The code calls them cells.
 *
 *   thread_cells   one a thread: the calls that it made              writer: the thread
 *   comm_cells     one a thread and communicator                     writer: the thread
 *   peer_cells     one a thread, communicator and page of 64 peers   writer: the thread
 *   region_cells   one a thread and region                           writer: the thread
 *   fabric_cells   one a thread and provider of the fabric           writer: the thread
 *   counter_cells  one a thread whose system counters are read       writer: the thread
 *   path_cells     one a thread and call path                        writer: the thread
 *   shared_cells   one a communicator: levels that threads change together
 *                  writer: the thread in MPI; under MPI_THREAD_MULTIPLE by locked instructions
 *
 * Who may run with whom: the writer with any number of readers (threads, signal handlers, other processes). A cell is
 * loaded and stored relaxed and whole. Readers assume no order between cells. Counts only grow.
 *
 * Extremes (span_first, message_low and _high, high and low of the levels) belong to the current segment. An operation
 * that begins or ends an interval takes the segment's extreme out and leaves the neutral value. After each extreme is
 * the number of its segment, which the recorder never touches. The two are a pair (pair.h, windows.h).
 *
 * variables.c has the place of each variable. No other code may depend on the order here.
 */
#ifndef MPIT_AGGREGATE_CELLS_H
#define MPIT_AGGREGATE_CELLS_H

#include "figures/bucket.h"
#include "calls.h"
#include "format/fabriccalls.h"
#include "format/counter.h"
#include "base/pair.h"
#include "figures/state.h"

#include <stddef.h>
#include <stdint.h>

#define LOW_NEUTRAL UINT64_MAX
enum { PEERS_PER_PAGE = 64 };

struct thread_cells {
    uint64_t events; /* records written, so also the thread's place in its event stream */
    uint64_t nested_time;
    uint64_t call_count[CALL_COUNT];
    uint64_t call_time[CALL_COUNT];
    uint64_t stall_time[STATE_COUNT]; /* by reason */
    uint64_t call_stall_time[CALL_COUNT];
};

/* Side by side, since they change together. */
struct message_cells {
    uint64_t count, bytes;
};

struct comm_cells {
    uint64_t p2p_time, wait_time, comm_time; /* comm_time: inside communicator creation and the like */
    uint64_t rma_time, io_time, rma_bytes, io_bytes;
    uint64_t transfer_time;
    uint64_t p2p_done; /* messages completed */
    uint64_t timeouts;
    uint64_t large;
    uint64_t span_last;               /* end of the last communication */
    uint64_t span_first PAIR_ALIGNED; /* extreme: begin of the first one */
    uint64_t span_first_segment;
    uint64_t message_low, message_low_segment; /* extremes */
    uint64_t message_high, message_high_segment;
    uint64_t coll_bytes;
    struct message_cells send[BUCKET_COUNT], recv[BUCKET_COUNT]; /* by size */
    uint64_t coll_size_count[BUCKET_COUNT];
    uint64_t coll_time[COLLECTIVE_COUNT], coll_count[COLLECTIVE_COUNT];
    uint64_t stall_time;
    uint64_t fabric_time; /* time below MPI, */
    uint64_t transfers,
        transfer_span; /* and of collectives: transfers inside, time from the first to the last one's end */
    uint64_t coll_execution[COLLECTIVE_COUNT]; /* from the start of each to its completion */
};

struct peer_cells {
    struct {
        struct message_cells send, recv;
    } peer[PEERS_PER_PAGE];
};

/* One a thread and region (of another library, instrument.h). */
struct region_cells {
    uint64_t count;
    uint64_t time;                        /* of the outermost one, if it is nested in itself */
    uint64_t calls, mpi_time, stall_time; /* recorded calls of the thread, and time in them */
    uint64_t off_time;                    /* without recording */
};

struct fabric_function_cells {
    uint64_t count, bytes, time;
};

/* One a thread and provider (of libfabric, or UCX), while that is watched. */
struct fabric_cells {
    uint64_t time; /* in its functions, outermost only */
    uint64_t polls, empty_polls, poll_time;
    uint64_t again, errors;      /* operations that were refused, and refused or completed with an error */
    uint64_t started, completed; /* of operations with a reported completion */
    struct message_cells kind[FABRIC_KIND_COUNT];
    struct fabric_function_cells function[FABRIC_FUNCTION_COUNT];
};

/* One a thread, likewise: by MPI function. */
struct fabric_call_cells {
    uint64_t other; /* operations inside of calls that they did not belong to */
    uint64_t time[CALL_COUNT];
};

struct counter_cells {
    uint64_t count[COUNTER_COUNT][PLACE_COUNT];
};

/* One a thread and call path. A path is of one MPI function. */
struct path_cells {
    uint64_t calls, time, stall_time;
    uint64_t longest;            /* duration of a call */
    uint64_t sent, bytes_out;    /* messages that its calls sent or posted, and bytes that they sent, put or wrote */
    uint64_t received, bytes_in; /* messages that were complete when its calls returned, and bytes likewise */
    uint64_t small;              /* of the sent ones: with less than PATH_SMALL_BYTES */
    uint64_t empty;              /* tests that found nothing */
};

enum { PATH_SMALL_BYTES = 1024 };

/* Pending operations: how many now, and the extremes of the current segment. */
struct level_cells {
    uint64_t now PAIR_ALIGNED, reserved;
    uint64_t high, high_segment;
    uint64_t low, low_segment;
};

struct shared_cells {
    struct level_cells sends, recvs, bytes;
    /* extremes of the segments that windows have closed (windows.h), in the order of enum extreme */
    uint64_t closed[9];
};

/*
 * Relaxed: whole, once, and without order to other accesses. A volatile access of an aligned word is just that on the
 * supported machines. Unlike an atomic builtin, it lets the compiler keep its knowledge of other memory. The thread
 * sanitizer gets real atomics.
 */
#if defined(__SANITIZE_THREAD__)
#define RELAXED_LOAD(address) __atomic_load_n((address), __ATOMIC_RELAXED)
#define RELAXED_STORE(address, value) __atomic_store_n((address), (value), __ATOMIC_RELAXED)
#define COMPARED_LOAD RELAXED_LOAD
#else
/* For a value that is compared only once. The comparison can use it in memory, without a register. */
#define COMPARED_LOAD(address) (*(address))
#define RELAXED_LOAD(address) (*(const volatile __typeof__(*(address)) *)(address))
#define RELAXED_STORE(address, value) ((void)(*(volatile __typeof__(*(address)) *)(address) = (value)))
#endif

static inline uint64_t cell_load(const uint64_t *cell)
{
    return RELAXED_LOAD(cell);
}

/* Adds up `count` cells, each `step` cells after the one before. Two sums at once do not wait for each other. */
static inline uint64_t cells_sum(const uint64_t *at, size_t count, size_t step)
{
    uint64_t sum = 0, more = 0;
    for (; count >= 4; count -= 4, at += 4 * step) {
        sum += cell_load(at) + cell_load(at + step);
        more += cell_load(at + 2 * step) + cell_load(at + 3 * step);
    }
    for (; count; count--, at += step)
        sum += cell_load(at);
    return sum + more;
}

/* Adds `count` cells to `sum`, each to its own. Extremes and levels are no such sums. */
static inline void cells_add(void *sum, const void *cells, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((uint64_t *)sum)[i] += cell_load((const uint64_t *)cells + i);
}

static inline void cell_store(uint64_t *cell, uint64_t value)
{
    RELAXED_STORE(cell, value);
}

/* Adds to a cell that only this thread writes. */
static inline void cell_add(uint64_t *cell, uint64_t value)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    /* one instruction where the compiler makes three of a relaxed load, add and store */
    __asm__("addq %1, %0" : "+m"(*cell) : "er"(value) : "cc");
#else
    cell_store(cell, cell_load(cell) + value);
#endif
}

/* A reader that reads `later` first, and then `earlier`, sees at least the additions to `earlier` made before. Costs
 * nothing where stores keep their order. */
static inline void cell_order(uint64_t *earlier, uint64_t *later)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__("" : "+m"(*later) : "m"(*earlier));
#elif !defined(__SANITIZE_THREAD__)
    (void)earlier, (void)later;
    __atomic_thread_fence(__ATOMIC_RELEASE);
#else
    (void)earlier, (void)later;
#endif
}

#endif
