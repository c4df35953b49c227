/*
 * Finds which receive got which message. The input is in the order of time, with both ends of all messages of a job.
 *
 *   channel = communicator, sender, receiver, tag
 *       sends     ──> message, message, ...     in the order in which they were begun
 *       receives  ──> receive, receive, ...     in the order in which they were posted
 *
 * In MPI, messages of a channel do not overtake each other: the k-th message goes to the k-th receive. A receive with a
 * wildcard (any source or any tag) gets its place in a channel when its message is known, by the time of its post. As
 * long as an older receive that could still get a message of the channel is open, younger receives stay undecided.
 *
 * Where recording was off for a while, channels begin anew: the messages of the stretch k of the sender are paired with
 * the receives of the stretch k of the receiver. `doubts` collects the channels in which that cannot be right: their ends
 * differ in number or in size, or a message is received before it is sent.
 *
 * Memory grows with the messages that are not received, the receives that are open, and the channels that have any.
 */
#ifndef MPIT_TOOLS_MATCHING_H
#define MPIT_TOOLS_MATCHING_H

#include "analysis/criticalpath.h"
#include "base/keytable.h"

enum { FROM_ANY = -1, OF_ANY_TAG = -1 };

/* World ranks at both ends. Partitioned messages have their own channels. */
struct envelope {
    uint32_t comm;
    int32_t source, dest; /* source: FROM_ANY */
    int32_t tag;          /* OF_ANY_TAG */
    bool partitioned;
    uint32_t stretch; /* how often recording was off before, at this end */
};

enum { STRETCHES_MOST = (1 << 21) - 1 };

/* One end of a message: its time, and the location's path then. */
struct moment {
    uint64_t ns;
    struct path *path; /* held by the owner of the moment, or NULL if not known. It has the times of all worlds */
    uint64_t path_ns;  /* end of that path */
    uint32_t thread;
    bool shown;     /* the call is selected and takes time */
    uint64_t call;  /* its number (analysis.h) */
    uint32_t place; /* of the call in the program (callplaces.h), or 0 if not known */
};

struct receive;
struct channel;
struct opening;

struct message {
    struct envelope envelope;
    uint64_t number; /* 1, 2, ... in the order of their begins */
    uint64_t bytes;
    struct moment begun;
    bool goes_on; /* after the call that began it */
    bool received;
    struct moment posted; /* the receive that got it */
    unsigned references;
};

enum receive_state { RECEIVE_OPEN, RECEIVE_DONE, RECEIVE_GONE };

struct receive {
    struct envelope envelope; /* as asked for, then as it came */
    struct moment posted;
    uint64_t done_ns;
    uint64_t bytes; /* bytes that arrived, or UINT64_MAX if not known */
    uint64_t order; /* of posting */
    uint64_t done_order;
    enum receive_state state;
    struct channel *channel;         /* NULL: not in one */
    struct opening *opening;         /* asks for anything, and is open */
    struct receive *older, *younger; /* there */
    bool matched;
    bool goes_on;        /* the message that it got was sent by a call that did not wait for its end */
    struct moment begun; /* that message */
    /* The call that got the message, for drawings of messages. `late` means that the message was not known yet when
     * this call returned. */
    uint64_t got_ns; /* when that began */
    uint64_t done_call;
    uint32_t done_thread;
    bool done_shown, late;
    unsigned references;
};

struct matching {
    struct keytable channels;
    struct keytable openings; /* open wildcard receives */
    struct paths *paths;
    uint64_t sent;
    uint64_t posted;
    uint64_t done;
    uint64_t matched;
    uint64_t unseen; /* of these: without a known time of arrival */
    uint64_t early;  /* received before they were sent: clocks differ, or they are paired wrongly */
    uint64_t early_most_ns;
    uint64_t uneven; /* pairs with different sizes at their ends: truncated, or matched wrongly */
    uint64_t asked;  /* undecided receives that were checked again: the effort */
    bool no_memory;
    struct keytable *doubts; /* NULL: they are not collected */
    /* Called for a late receive when its message is known. May be NULL. */
    void (*late)(void *data, const struct receive *receive);
    void *late_data;
    /* Called for each message whose receive is known. May be NULL. */
    void (*pair)(void *data, const struct message *message, const struct receive *receive);
    void *pair_data;
};

/* A send has begun. The caller gets the reference. Takes over `begun.path`. Returns NULL without memory. */
struct message *matching_send(struct matching *matching, struct envelope envelope, uint64_t bytes, struct moment begun);
/* A receive was posted. As above. */
struct receive *matching_post(struct matching *matching, struct envelope envelope, struct moment posted);
/* The receive has got a message from this source, with this tag. */
void matching_done(struct matching *matching, struct receive *receive, int32_t source, int32_t tag, uint64_t bytes,
                   uint64_t ns);
/* The receive was canceled, or its message will never be known. In the second case, `cancelled` is false, and a receive
 * for one channel counts as completed. */
void matching_gone(struct matching *matching, struct receive *receive, bool cancelled);
/* Returns the message that a receive of this channel would get if it were posted now. Returns NULL if the message is
 * not known, or not sent. */
const struct message *matching_next(const struct matching *matching, const struct envelope *envelope);
/* Returns when the receive of the message was posted, or NULL if the receive is not known yet. */
const struct moment *matching_posted(const struct matching *matching, const struct message *message);

/* Adds the channel of a message or of a receive to the doubts, if they are collected. */
void matching_doubt(struct matching *matching, const struct envelope *envelope);
bool matching_doubts(const struct keytable *doubts, const struct envelope *envelope);

void message_drop(struct matching *matching, struct message *message);
void receive_drop(struct matching *matching, struct receive *receive);

/* Reports the rest: messages without a receive, receives without a send, and open receives. */
void matching_rest(const struct matching *matching, void *data,
                   void (*tell)(void *data, const struct message *message, const struct receive *receive));
void matching_release(struct matching *matching);

#endif
