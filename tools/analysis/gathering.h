/*
 * Gatherings: single collective operations, with the processes that have come so far. The k-th collective that a
 * process begins on a communicator is the k-th collective of all its members. This holds for blocking and nonblocking
 * collectives.
 *
 * The awaited process depends on the operation:
 *
 *     barrier, all to all       all for the last                        (inter-communicators: in the other group)
 *     one to all                all for the root
 *     all to one                the root for the last
 *     prefix                    each for the last among the ranks before it
 *     neighbors                 each for the last among its sources in the topology
 *
 * A gathering lives until all processes have left it. Memory grows with the number of open gatherings. A gathering where
 * each awaits others remembers all its members.
 */
#ifndef MPIT_TOOLS_GATHERING_H
#define MPIT_TOOLS_GATHERING_H

#include "analysis/matching.h"

#include <stdint.h>

enum gathering_form { FORM_BARRIER, FORM_ALL_TO_ALL, FORM_ONE_TO_ALL, FORM_ALL_TO_ONE, FORM_PREFIX, FORM_NEIGHBORS };

/* The sources of a process in the topology of a communicator: ranks there. */
struct neighbors {
    bool known;
    int32_t *ranks;
    size_t count;
};

/* A process in it. */
struct attendee {
    int32_t world_rank;
    int32_t rank;                      /* in its group */
    int side;                          /* 0 or 1: its group of an inter-communicator */
    bool root;                         /* it is the one */
    bool bystander;                    /* of an inter-communicator: in the root's group, without a part in it */
    const struct neighbors *neighbors; /* FORM_NEIGHBORS */
};

struct arrival {
    struct moment moment;
    int32_t world_rank; /* -1: none yet */
};

struct gathering {
    struct keyed keyed;
    uint64_t number; /* 1, 2, ... in the order of their first arrivals */
    uint32_t comm;
    unsigned function; /* kind of the call that began it first */
    unsigned operation;
    enum gathering_form form;
    bool inter, mixed; /* mixed: the members do not agree on the operation */
    int32_t size[2], come[2];
    int64_t left;
    struct arrival last[2], root;
    struct arrival *members; /* FORM_PREFIX, FORM_NEIGHBORS: by rank */
    uint32_t stretch;        /* how often recording was off before, in its members */
    double *latest[2];       /* times of the latest arrivals in each world, by group (worlds.h) */
    double *second;          /* of the second latest, without groups */
    uint64_t first_ns;
    uint64_t waited_ns; /* by all */
    uint64_t bytes;     /* the most that a member puts in, or gets */
};

struct gatherings {
    struct keytable open;
    struct paths *paths;
    uint64_t made;
    bool no_memory;
};

enum cause_known { CAUSE_NONE, CAUSE_KNOWN, CAUSE_UNKNOWN };

/* A process comes to the gathering `number` on a communicator. `like` describes the gathering. Returns NULL without
 * memory. */
struct gathering *gathering_enter(struct gatherings *gatherings, const struct gathering *like, uint64_t number,
                                  const struct attendee *who, struct moment moment);
/* Returns whether this attendee has waited for another. *cause is then the awaited arrival. */
enum cause_known gathering_cause(const struct gathering *gathering, const struct attendee *who, struct arrival *cause);
/* The arrivals that this attendee needs, whose cause is known: joins the times of the latest, by world. `own`: when it came
 * itself, which it does not need. NULL: not known. */
void gathering_need(const struct gathering *gathering, const struct attendee *who, const double *own, double *need,
                    size_t worlds);
bool gathering_is_complete(const struct gathering *gathering);
/* Returns the arrival that came last. */
const struct arrival *gathering_last(const struct gathering *gathering);
/* A process leaves. Returns true if all have left. The caller then releases it. */
bool gathering_leave(struct gathering *gathering);
void gathering_release(struct gatherings *gatherings, struct gathering *gathering);
void gatherings_release(struct gatherings *gatherings);

#endif
