/*
 * Which receive got which message. Fed in the order of time, with both ends of all messages of a job.
 *
 *   channel = communicator, sender, receiver, tag
 *       sends     ──> message, message, ...     in the order in which they were begun
 *       receives  ──> receive, receive, ...     in the order in which they were posted
 *
 * MPI does not let messages of a channel overtake each other: the k-th one goes to the k-th receive. A receive from
 * anybody, or of any tag, takes its place in a channel when it is known what it got, by the time of its posting; as
 * long as an older one of those that could still get a message of the channel is open, younger receives wait undecided.
 *
 * Memory grows with the messages that are not received, the receives that are open, and the channels that have any.
 */
#ifndef MPIT_TOOLS_MATCHING_H
#define MPIT_TOOLS_MATCHING_H

#include "analysis/criticalpath.h"
#include "base/keytable.h"

enum { FROM_ANY = -1, OF_ANY_TAG = -1 };

/* World ranks at both ends; partitioned messages have channels of their own. */
struct envelope {
    uint32_t comm;
    int32_t source, dest; /* source: FROM_ANY */
    int32_t tag;          /* OF_ANY_TAG */
    bool partitioned;
};

/* What happened at one end, and where the path of that location was. */
struct moment {
    uint64_t ns;
    struct path *path; /* held by who has the moment; NULL: not known */
    uint64_t path_ns;  /* until when that path goes */
    uint32_t thread;
    bool shown; /* the call is one of those that are selected, and takes time */
};

struct receive;
struct channel;
struct opening;

struct message {
    struct envelope envelope;
    uint64_t bytes;
    struct moment begun;
    bool received;
    struct moment posted; /* the receive that got it */
    unsigned references;
};

enum receive_state { RECEIVE_OPEN, RECEIVE_DONE, RECEIVE_GONE };

struct receive {
    struct envelope envelope; /* as asked for, then as it came */
    struct moment posted;
    uint64_t done_ns;
    uint64_t bytes; /* that arrived; UINT64_MAX: not known */
    uint64_t order; /* of posting */
    uint64_t done_order;
    enum receive_state state;
    struct channel *channel;         /* NULL: not in one */
    struct opening *opening;         /* asks for anything, and is open */
    struct receive *older, *younger; /* there */
    bool matched;
    struct moment begun; /* the message that it got */
    /* the call that got it, for who draws messages; late: its message was not known yet when that returned */
    uint64_t got_ns; /* when that began */
    uint32_t done_thread;
    bool done_shown, late;
    unsigned references;
};

struct matching {
    struct keytable channels;
    struct keytable openings; /* what asks for anything, and is open */
    struct paths *paths;
    uint64_t posted;
    uint64_t done;
    uint64_t matched;
    uint64_t unseen; /* of these: nobody knows when they arrived */
    uint64_t early;  /* received before they were sent: clocks differ, or they are paired wrongly */
    uint64_t early_most_ns;
    uint64_t uneven; /* pairs that have other sizes at their ends: cut off, or matched wrongly */
    uint64_t asked;  /* undecided receives that were looked at again: the effort */
    bool no_memory;
    /* Is told of a late receive when its message is known; NULL: nobody asks. */
    void (*late)(void *data, const struct receive *receive);
    void *late_data;
};

/* A message was begun. The reference is the caller's; NULL without memory. `begun.path` is taken over. */
struct message *matching_send(struct matching *matching, struct envelope envelope, uint64_t bytes, struct moment begun);
/* A receive was posted, likewise. */
struct receive *matching_post(struct matching *matching, struct envelope envelope, struct moment posted);
/* It has got a message from there, with this tag. */
void matching_done(struct matching *matching, struct receive *receive, int32_t source, int32_t tag, uint64_t bytes,
                   uint64_t ns);
/* It was cancelled, or nobody will know what it got (false: if it was posted for one channel, it is taken for done). */
void matching_gone(struct matching *matching, struct receive *receive, bool cancelled);
/* The message that a receive of this channel would get if it were posted now; NULL: not known, or not sent. */
const struct message *matching_next(const struct matching *matching, const struct envelope *envelope);
/* When the receive was posted that will get the message, or has; NULL: not known yet. */
const struct moment *matching_posted(const struct matching *matching, const struct message *message);

void message_drop(struct matching *matching, struct message *message);
void receive_drop(struct matching *matching, struct receive *receive);

/* What is left: messages that nobody received, receives that got a message which nobody sent, and open ones. */
void matching_rest(const struct matching *matching, void *data,
                   void (*tell)(void *data, const struct message *message, const struct receive *receive));
void matching_release(struct matching *matching);

#endif
