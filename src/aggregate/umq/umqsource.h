/*
 * One neighbor (events/reader/neighbours.h) as a source of messages on one communicator. Its run file has the number of
 * messages that it has sent to this process.
 *
 * Who may run with whom: source_look and source_forget allocate and free, for one caller at a time. Everything else is
 * wait-free and async-signal-safe. The file is untrusted.
 */
#ifndef MPIT_AGGREGATE_UMQSOURCE_H
#define MPIT_AGGREGATE_UMQSOURCE_H

#include "registry/book.h"
#include "reader/neighbours.h"
#include "umq/umqtags.h"

#include <stdbool.h>
#include <stdint.h>

/* Known blocks, oldest change first. If there are more, a new one replaces the oldest. */
struct known {
    struct known *older;
    uint64_t head; /* the list's head then */
    uint32_t slot;
    size_t count;
    const struct tally_block *blocks[];
};

/* The event buffer of a thread of the neighbor. */
struct source_buffer {
    struct umq_buffer buffer;
    uint32_t thread;
};

struct source {
    struct source *next;
    struct neighbour *neighbour;
    uint64_t comm_head;    /* records up to this one were searched for the name, */
    uint64_t comm_changes; /* as they were at this number of changes */
    uint64_t place;        /* slot << 32 | rank + 1. 0 = not found yet */
    uint64_t since;        /* ticks when it was made there */
    struct known *known;
    struct source_buffer buffers[UMQ_BUFFERS_MOST]; /* found when a handle was last allocated */
    unsigned buffer_count;
};

static inline uint32_t place_slot(uint64_t place)
{
    return (uint32_t)(place >> 32);
}

static inline int32_t place_rank(uint64_t place)
{
    return (int32_t)(place & UINT32_MAX) - 1;
}

/* The counted messages, and the calls whose message is not counted yet. `mark` changes whenever one of them changes. */
struct sending {
    uint64_t calls, mark;
};

/* Adds the message that a thread in this state sends to `rank` of the communicator in `slot`. `span_last` is the end
 * of its last communication there. NULL: it had none. */
void sending_add(struct sending *sending, const struct thread_state *state, uint32_t slot, int32_t rank,
                 const uint64_t *span_last);

/* The neighbor's place for the communicator. 0: it does not have it yet, or is not a member. Two communicators of
 * the same name (made by functions that are not recorded) cannot be told apart. */
uint64_t source_place(struct source *source, const struct comm *comm);
/*
 * The messages that it sends now, and has sent, to this process. This process is `rank` of the communicator in its
 * `slot`.
 */
struct sending source_sending(struct source *source, uint32_t slot, int32_t rank);
uint64_t source_counted(struct source *source, uint32_t slot, int32_t rank);
/* Adds the event buffers of its threads that have sent to this process. Returns false if some are not known. */
bool source_ends(struct source *source, uint64_t place, const struct comm *comm, struct umq_ends *ends);
/* True if all calls of the process are timed, and always were. */
bool source_all_timed(const struct run_header *header);

/* Stores new blocks and buffers, so that a read need not search for them again. */
void source_look(struct source *source, const struct comm *comm);
/* Forgets a slot that went to another communicator. */
void source_forget(struct source *source);

#endif
