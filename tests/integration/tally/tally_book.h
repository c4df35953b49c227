/*
 * The book: what the program knows that it did, counted by itself and without a look at mpit.
 *
 *   CALL(MPI_Send, ...)        makes the call and counts it by name
 *   struct book                the figures of one communicator, in the terms of the catalogue
 *
 * Invariants: sum of *_size_count = sum of peer_*_count = *_count, and the same for bytes; small + large = sends +
 * receives. book_is_valid() holds the book against them.
 */
#ifndef TALLY_BOOK_H
#define TALLY_BOOK_H

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* MPICH's MPI_STATUSES_IGNORE is a small number cast to a pointer, which GCC takes for an array of no size. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

enum { BOOK_BUCKETS = 40, BOOK_LARGE_BYTES = 8192 };

enum book_op {
    OP_BARRIER,
    OP_BCAST,
    OP_GATHER,
    OP_GATHERV,
    OP_SCATTER,
    OP_SCATTERV,
    OP_ALLGATHER,
    OP_ALLGATHERV,
    OP_ALLTOALL,
    OP_ALLTOALLV,
    OP_ALLTOALLW,
    OP_REDUCE,
    OP_ALLREDUCE,
    OP_REDUCE_SCATTER,
    OP_REDUCE_SCATTER_BLOCK,
    OP_SCAN,
    OP_EXSCAN,
    OP_COUNT,
};

extern const char *const book_op_names[OP_COUNT];

struct book_level {
    uint64_t now, high, low;
};

struct pvar_set;

struct book {
    MPI_Comm comm;
    char name[40];
    uint64_t key; /* the same on all its processes */
    int rank, size;
    int tag;     /* the next one that nothing has used; the same on all its processes */
    bool parent; /* calls that create or free communicators were charged to it */

    uint64_t processes; /* size, as a figure */
    uint64_t send_count, recv_count, done_count;
    uint64_t send_bytes, recv_bytes;
    uint64_t send_size_count[BOOK_BUCKETS], recv_size_count[BOOK_BUCKETS];
    uint64_t send_size_bytes[BOOK_BUCKETS], recv_size_bytes[BOOK_BUCKETS];
    uint64_t small_count, large_count, timeouts;
    uint64_t message_high, message_low;
    uint64_t *peer_send_count, *peer_recv_count, *peer_send_bytes, *peer_recv_bytes;
    struct book_level pending_sends, pending_recvs, pending_bytes;
    uint64_t coll_count, coll_bytes;
    uint64_t coll_op_count[OP_COUNT];
    uint64_t coll_size_count[BOOK_BUCKETS];

    struct pvar_set *pvars;
};

struct book *book_open(MPI_Comm comm, const char *name, uint64_t key);
void book_close(struct book *book);

/* Blocking sends are posted and done; nonblocking ones are posted, then end. */
void book_sent(struct book *book, int peer, uint64_t bytes);
void book_received(struct book *book, int peer, uint64_t bytes);
void book_send_pending(struct book *book, int peer, uint64_t bytes);
void book_recv_pending(struct book *book, int peer);
void book_send_ended(struct book *book, int peer, uint64_t bytes, bool completed);
void book_recv_ended(struct book *book, int peer);
void book_collected(struct book *book, enum book_op op, uint64_t in, uint64_t out);

/* NULL, or what does not agree. */
const char *book_is_valid(const struct book *book);

unsigned book_bucket(uint64_t bytes);

/* How often each function was called. */
struct book_call {
    const char *name;
    uint64_t count;
};

enum { BOOK_CALLS = 160 };

extern struct book_call book_calls[BOOK_CALLS];

uint64_t *book_call(const char *name);

#define CALL(function, ...)                                                                                            \
    do {                                                                                                               \
        static uint64_t *book_call_count;                                                                              \
        if (!book_call_count)                                                                                          \
            book_call_count = book_call(#function);                                                                    \
        ++*book_call_count;                                                                                            \
        call_check(function(__VA_ARGS__), #function);                                                                  \
    } while (0)

/* An MPI call that failed ends the test. */
void call_check(int code, const char *name);

_Noreturn void tally_abort(const char *format, ...) __attribute__((format(printf, 1, 2)));

void *tally_allocate(size_t bytes);

#endif
