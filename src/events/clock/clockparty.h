/*
 * The leaders of a job's nodes measure each other's clocks over TCP. A leader does all of it in one thread. Each step
 * ends when its timer expires, with or without an answer.
 *
 *    rank 0's leader                  another leader
 *    open                             open
 *    gather: a place for each   <──   join
 *       |                             measure       against rank 0's leader, or another that was measured before
 *    serve                            serve         leaders that measure against it
 *    close                            close
 *
 * Rank 0's leader alone decides who takes part: there is one tree (clocksync.h), and one reference clock. A leader that
 * comes too late, or not at all, is left out. If the parent of a leader does not answer, it measures against rank 0's.
 */
#ifndef MPIT_EVENTS_CLOCKPARTY_H
#define MPIT_EVENTS_CLOCKPARTY_H

#include "clock/clocklink.h"
#include "clock/clockmap.h"
#include "clock/clocksync.h"

struct clock_member {
    uint32_t rank, world; /* of how many processes */
    uint32_t processes;   /* on its node. 0: not known */
    uint32_t nodes;       /* from the launcher. 0: not known */
    uint64_t kernel;      /* the same in all processes that share a clock */
};

struct clock_party {
    struct clock_member self;
    struct clock_scale scale;
    int listener;               /* -1: closed */
    struct clock_server server; /* where it listens */
    struct clock_place place;
    int root; /* the connection to rank 0's leader. -1: none */
    struct clock_peer *peers;
    struct pollfd *ready; /* place 0: the listener, then the peers */
    size_t count, most;
    size_t expected, finished; /* peers that measure against it */
    bool gathering;
};

/* Begins to listen. Returns false without a socket, an address or memory. Nothing is open then. */
bool clock_party_open(struct clock_party *party, const struct clock_member *self);
void clock_party_close(struct clock_party *party);

/*
 * Rank 0's leader: waits until all nodes have connected, and sends each its place. Returns false if some are missing.
 */
bool clock_party_gather(struct clock_party *party, struct clock_scale scale, const struct clock_timer *timer);

enum clock_joined {
    CLOCK_JOINED,
    CLOCK_SHARES,      /* another node has the same clock */
    CLOCK_UNREACHABLE, /* rank 0's leader */
    CLOCK_LEFT_OUT,    /* rank 0's leader gave it no place */
};

/* The other leaders. */
enum clock_joined clock_party_join(struct clock_party *party, struct clock_scale scale, const struct clock_server *root,
                                   const struct clock_timer *timer);
/* Returns false if nothing was measured. */
bool clock_party_measure(struct clock_party *party, const struct clock_timer *timer, struct clock_sync *sync);

/*
 * How to compute reference times: with a map. `sync` is the last measurement in it. NULL: this is the reference clock.
 */
struct clock_reference {
    const struct clock_map *map;
    const struct clock_sync *sync;
};
/* The error of reference times at that time. */
static inline uint64_t clock_reference_error(const struct clock_reference *reference, uint64_t now_ns)
{
    const struct clock_sync *sync = reference->sync;
    if (!sync)
        return 0;
    return sync->error_ns + clock_drift_most(now_ns > sync->reference_ns ? now_ns - sync->reference_ns : 0);
}

/* Answers all leaders that measure against this clock, until they have finished. */
void clock_party_serve(struct clock_party *party, const struct clock_reference *reference,
                       const struct clock_timer *timer);

#endif
