/*
 * Checks that concern more than one location. Happenings wait in their location until all earlier ones elsewhere have
 * been checked (check_archive.c merges). Then the checks at the end follow.
 */
#ifndef MPIT_TESTS_CHECK_HAPPENINGS_H
#define MPIT_TESTS_CHECK_HAPPENINGS_H

#include "check_model.h"

enum {
    SENT,
    RECEIVED,
    REQUEST_POSTED_SEND, /* a send, too */
    REQUEST_POSTED_RECV,
    REQUEST_POSTED_COLLECTIVE,
    REQUEST_ENDED_SEND,
    REQUEST_ENDED_RECV, /* a receive, too */
    REQUEST_ENDED_COLLECTIVE,
    REQUEST_TESTED,
    REQUEST_CANCELLED,
    COLLECTIVE_ENDED,
    COMM_CREATED, /* flag: outside of a blocking collective */
    COMM_DESTROYED,
    WINDOW_CREATED,
    WINDOW_DESTROYED,
    WINDOW_USED, /* flag: peer counts */
    RMA_ISSUED,
    RMA_TESTED,
    RMA_COMPLETED,
    RMA_COMPLETED_REMOTE,
    RMA_COLLECTIVE_ENDED,
    LOCK_ACQUIRED,
    LOCK_RELEASED,
    IO_CREATED,
    IO_DESTROYED,
    IO_USED,
    IO_BEGUN,
    IO_TESTED,
    IO_ENDED, /* flag: canceled */
    HAPPENINGS
};

/* The order of happenings at the same time: a begin comes first, an end last. */
enum { PHASE_FIRST, PHASE_MIDDLE, PHASE_LAST };

struct happening_kind {
    const char *record;
    uint8_t phase;
    void (*judge)(struct location *location, const struct happening *happening, struct check_place place);
};

extern const struct happening_kind happening_kinds[HAPPENINGS];

#define HAPPENING(name)                                                                                                \
    void name(struct location *location, const struct happening *happening, struct check_place place)
HAPPENING(sent_judge);
HAPPENING(received_judge);
HAPPENING(request_judge);
HAPPENING(collective_judge);
HAPPENING(comm_created_judge);
HAPPENING(comm_destroyed_judge);
HAPPENING(window_judge);
HAPPENING(rma_operation_judge);
HAPPENING(lock_judge);
HAPPENING(io_handle_judge);
HAPPENING(io_operation_judge);

/* Called when all events have been read. */
void messages_finish(void);
void requests_finish(void);
void collectives_finish(void);
void accesses_finish(void);

/* ---- communicators, for all of the above ------------------------------------------------------------------------- */

enum { MEMBER_UNKNOWN, MEMBER_NOT, MEMBER_OF_FIRST, MEMBER_OF_SECOND };

/* A process in a communicator, as known from its events. */
struct member {
    struct process *process;
    uint64_t key; /* of its process or location */
    unsigned char side;
    bool differs, created, destroyed, used, pending; /* pending: an operation after its end was already reported */
    uint64_t blocking, order, nonblocking, nonblocking_sum;
    OTF2_TimeStamp last;
};

/* Returns NULL if it is not a member, or if the communicator is not defined. Both are then already reported. */
struct member *comm_member(struct location *location, OTF2_CommRef comm, struct check_place place);

/* Returns the process (or location) that has this rank for this member, as an index into COMM_LOCATIONS. For a
 * COMM_SELF, that is the member itself. Returns -1 if there is none, which is then already reported under `rule`. */
int64_t comm_peer(const struct location *location, const struct member *member, OTF2_CommRef comm, uint32_t rank,
                  enum check_rule rule, struct check_place place);

/* An operation begins on the communicator, which must be alive. */
void comm_use(struct member *member, OTF2_CommRef comm, struct check_place place);

#endif
