/*
 * Unexpected messages: messages that are under way to this process, or have arrived, without a receive for them.
 *
 *   umqs ──> umq ──> umq ──> ...                one a communicator that a handle was bound to, never freed
 *             │ sources
 *             v
 *            source ──> source ──> ...          one a neighbor (events/reader/neighbours.h) that may be a member
 *             │ place     its slot and rank in the neighbor's file, once it has the communicator
 *             │ known     the blocks of that slot, and
 *             │ buffers   rings, found when a handle was last allocated
 *             v
 *            blocks of the neighbor's file      cells: how much it sent to me
 *            rings there                        the tags of the last of these (umqtags.h)
 *
 * Let sent(p) be the messages that p has begun to send to this process, and received(p) the received messages from p.
 * Let posted(p) be the pending nonblocking receives from p, and posted(any) the ones from any source:
 *
 *   length = sum over p of max(0, sent(p) - received(p) - posted(p))  -  posted(any), not below 0
 *
 * A message counts from the begin of the sending call (MPI_Start: from its return). It counts until the receiving call
 * has returned, or until a nonblocking receive is pending that may take it: one that names its source and its tag
 * (umqmatch.h). If the tags of the messages are not known, a pending receive counts as one that takes a message of its
 * source. If it waits for another tag, the figure is then too small by one. The arguments of pending receives are known
 * only while one thread calls MPI and that thread reads. Otherwise each may take any message. Without pending
 * nonblocking receives the length is exact.
 *
 * Who may run with whom: umq_bind and umq_watch_tie allocate and take a lock. Everything else is async-signal-safe, and
 * wait-free except for a bounded number of retries.
 */
#ifndef MPIT_AGGREGATE_UMQ_H
#define MPIT_AGGREGATE_UMQ_H

#include "registry/book.h"

#include <stdbool.h>
#include <stdint.h>

struct umq;

/* Prepares for reading on this communicator, and searches for new neighbors. NULL: no memory. */
struct umq *umq_bind(struct comm *comm);
uint64_t umq_length(struct umq *umq);
/* Binds all existing communicators, and from now on new ones when they are made. Returns false without memory. */
bool umq_bind_every(void);
/* The probes call it for a communicator that was just added to the registry. */
void umq_comm_made(struct comm *comm);
/* The sum over all bound communicators that are not freed. */
uint64_t umq_length_of_every(void);
/* How umq_length_seen reads. */
struct umq_look {
    uint64_t floor;              /* if the length is not above this, a smaller result is enough */
    uint64_t patience;           /* how many events back for a sender's tags */
    bool leaves;                 /* the thread is about to leave a call that is not counted and not in a buffer yet. */
    const struct event *posting; /* the event of a receive that the call posts, or NULL */
};
uint64_t umq_length_seen(struct umq *umq, const struct umq_look *look);
/* Nonblocking receives that are pending on its communicator. */
uint64_t umq_receives(const struct umq *umq);
/* True if its communicator was freed. */
bool umq_is_over(const struct umq *umq);
/* Processes of the communicator with visible sends, including this one. */
uint64_t umq_peers(struct umq *umq);

/* The largest length since the watch was opened. While one is open, every call that may receive reads the length
 * before its messages are counted. The length falls only there, so no maximum is missed. The first call that finds
 * the communicator freed closes the watch. */
struct umq_watch {
    struct umq_watch *next;
    struct umq *umq;
    bool linked, open;
    uint64_t highest;
};

void umq_watch_tie(struct umq_watch *watch, struct umq *umq);
void umq_watch_open(struct umq_watch *watch);
void umq_watch_close(struct umq_watch *watch);
void umq_watch_reset(struct umq_watch *watch);
uint64_t umq_watch_read(struct umq_watch *watch);

/*
 * Called when the thread is about to leave this call. Reads the length for all open watches if the call may shorten it.
 */
void umq_watches_look(enum fold_shape shape, const struct event *call);

/* Calls `found` for each nonblocking receive that is pending on the communicator, with its rank or PEER_ANY, and its
 * tag or TAG_ANY. The probes set it. Only for the only thread that calls MPI, also in a signal handler. */
typedef void umq_receive_found(void *data, int32_t rank, int32_t tag);
extern LIBRARY_LOCAL void (*umq_pending_visit)(const struct comm *comm, umq_receive_found *found, void *data);

#endif
