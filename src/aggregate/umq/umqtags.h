/*
 * The tags of the waiting messages. Counters do not know them, but rings do.
 *
 * Take a sender p and this process, and all events since an instant T at the ends of their rings. Let sent(t) be the
 * messages with the tag t whose calls began since T. Let received(t) be the messages with the tag t whose receiving
 * calls ended since T. Let waiting(t) be the waiting messages with the tag t:
 *
 *   waiting(t) >= sent(t) - received(t)    since every message received before T had been sent before T
 *
 * So if the sum over t of max(0, sent(t) - received(t)) is the number of waiting messages by the counters, each summand
 * is waiting(t). That holds for sets of tags, too: tags without a reader share a few counters. T goes back from event
 * to event until the sum is right. If the rings do not reach back so far, the tags of that sender's messages are not
 * known, and may be any.
 *
 * Everything here is wait-free and async-signal-safe. The sender's file is untrusted.
 */
#ifndef MPIT_AGGREGATE_UMQTAGS_H
#define MPIT_AGGREGATE_UMQTAGS_H

#include "format/runfile.h"

#include <stdbool.h>
#include <stdint.h>

#if defined(__SANITIZE_THREAD__)
#define LOADS_IN_ORDER() ((void)0) /* it does not support fences. The accesses are volatile or atomic */
#else
#define LOADS_IN_ORDER() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#endif

enum { UMQ_BUFFERS_MOST = 8, UMQ_TAGS_MOST = 32 };

/* The event buffer of one thread: a ring that is all in memory. */
struct umq_buffer {
    const struct chunk_header *ring;
    uint32_t capacity;       /* of the ring, checked */
    const uint64_t *written; /* the cell that counts the thread's events */
};

/* The records of two processes about the messages from one to the other on one communicator. */
struct umq_ends {
    struct umq_buffer from[UMQ_BUFFERS_MOST]; /* of the sender's threads that have sent any */
    unsigned from_count;
    uint16_t from_comm;  /* the communicator's slot there, */
    int32_t to_rank;     /* this process's rank, */
    uint64_t from_since; /* and ticks when it was made */
    struct umq_buffer to;
    uint16_t to_comm; /* the same at the receiver */
    int32_t from_rank;
    uint64_t to_since;
};

/* How many messages wait with each of a few tags, and with all other tags. */
struct umq_tags {
    unsigned count;
    struct {
        int32_t tag;
        int32_t waiting;
    } tags[UMQ_TAGS_MOST];
    uint64_t others;
};

/* Finds how many of the `messages` waiting messages have each of the tags in `tags`. Uses the last `patience`
 * events. Returns false if that cannot be known. */
bool umq_tags_find(const struct umq_ends *ends, uint64_t messages, uint64_t patience, struct umq_tags *tags);

#endif
