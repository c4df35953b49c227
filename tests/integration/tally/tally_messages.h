/*
 * A batch: some messages on one communicator, of every send mode and received in every way.
 *
 *   1 early receives are posted      Irecv, Recv_init + Start
 *   2 barrier, if any send is ready-mode (its receive must be posted)
 *   3 sends                          of all modes, blocking and not
 *   4 late receives                  Recv, Probe + Recv, Iprobe + Recv
 *     (the pool is drained)
 *   5 barrier, if the next batch's messages could be taken for this one's; sends whose requests are freed are freed
 *
 * It cannot deadlock: a send that blocks has an early receive, and nothing before phase 4 waits for a late one.
 * A message is known by its tag, which is unique on the communicator for long enough.
 */
#ifndef TALLY_MESSAGES_H
#define TALLY_MESSAGES_H

#include "tally_book.h"
#include "tally_draw.h"
#include "tally_types.h"

enum { BATCH_LIMIT = 14, BATCH_RANKS = 64, BATCH_BUFFER_BYTES = 4 << 20, BATCH_TAGS = 16384, TAG_NEVER_SENT = 30000 };

enum send_mode {
    SEND,
    SSEND,
    RSEND,
    BSEND,
    ISEND,
    ISSEND,
    IRSEND,
    IBSEND,
    SEND_INIT,
    SSEND_INIT,
    RSEND_INIT,
    BSEND_INIT,
    SEND_MODES,
};

enum arrival { ARRIVE_IRECV, ARRIVE_RECV_INIT, ARRIVE_RECV, ARRIVE_PROBE, ARRIVE_IPROBE };

/* How a rank receives a batch's messages: all of them by tag, or whatever comes. */
enum wildness { TAME, WILD_TAG, WILD };

struct message {
    int source, dest, tag;
    struct type type;
    int count, slack; /* elements; so many more are expected at the receiver than are sent */
    uint64_t bytes;
    enum send_mode mode;
    enum arrival arrival;
    bool any_source, ignore; /* how it is received, ignore: without a status */
    bool freed;              /* the send's request is freed and not completed */
    bool counted;            /* in the receiver's book */
};

struct batch {
    struct book *book;
    struct message messages[BATCH_LIMIT];
    int count;
    enum wildness wildness[BATCH_RANKS];
    bool handshake, fence, buffered;
    bool unsettled; /* until it is closed, the receiver may not know which message has arrived */
    MPI_Request freed[BATCH_LIMIT];
};

void batch_draw(struct batch *batch, struct book *book, struct draw *draw);
void batch_post(struct batch *batch, struct draw *own);
void batch_close(struct batch *batch);

/* The tag of the communicator's next message. */
int book_next_tag(struct book *book);

/* A barrier that is booked. */
void book_barrier(struct book *book);

/* Source and bytes of a status, by the program's own reading. */
uint64_t status_bytes(const MPI_Status *status);

#endif
