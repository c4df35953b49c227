/* Reads an OTF2 archive with nothing but the OTF2 library, and counts what is in it. */
#ifndef MPIT_UNIT_ARCHIVEREADER_H
#define MPIT_UNIT_ARCHIVEREADER_H

#include <stdint.h>

/*
 * `order`: the first regions that are entered, and left (their number + 1000). `..._names`: those of the
 * locations, groups and communicators, in the order of their definition, each followed by a semicolon.
 */
struct archive_seen {
    unsigned enters, leaves, sends, recvs, isends, isend_completes, irecv_requests, irecvs, tests, cancels, begins,
        ends, collective_requests, collective_completes, creates, destroys, programs, program_ends, comms, inter_comms,
        windows, accesses, completed, completed_there, locks, unlocks, group_syncs, handles, transfers, transferred;
    unsigned atomics[8]; /* by their type */
    unsigned seeks[8];   /* by where from */
    int64_t sought;      /* the last one: asked for, and where that was */
    uint64_t arrived;
    uint64_t atomic_sent, atomic_received;
    uint64_t events, sent, received, coll_sent, coll_received, last_time, order[64];
    uint64_t group_synced; /* so many regions had been entered when the last of group_syncs came */
    unsigned depth, ordered;
    char location_names[512], group_names[512], comm_names[512];
};

/* What the last archive_read has seen. */
extern struct archive_seen seen;

void archive_read(const char *directory);

#endif
