/*
 * The difference of two snapshots (snapshot.h), as the public structures of a monitor report.
 *
 *   interval ─> comms, colls, calls, counters     arrays in the difference, used again by the next one
 *
 * A communicator that has lost its slot in between is in a sum by then, with all its counts. The share of the first
 * snapshot is subtracted there. So nothing is lost or counted twice, wherever the slots went.
 *
 * Who may run with whom: a difference belongs to one thread at a time. It takes the registry's lock for the names.
 */
#ifndef MPIT_AGGREGATE_DIFFERENCE_H
#define MPIT_AGGREGATE_DIFFERENCE_H

#include "mpit/monitor_interface.h"
#include "monitor/snapshot.h"

enum { WARNINGS_MOST = 8 };

struct comm_words {
    char name[COMM_NAME_BYTES], label[COMM_LABEL_BYTES];
};

struct difference {
    MPIX_Monitor_interval interval;
    MPIX_Monitor_comm *comms;
    struct comm_words *words; /* of each, followed by the communicators of calls */
    uint32_t comm_room;
    MPIX_Monitor_coll *colls;
    size_t coll_room;
    MPIX_Monitor_call *calls;
    uint32_t call_room;
    MPIX_Monitor_counter counters[COUNTER_ASKED_MOST];
    MPIX_Monitor_site *sites; /* room for MPIX_MONITOR_CALLSITES_MOST, and their frames */
    uint64_t (*frames)[PATH_FRAMES_MOST];
    bool whole;
};

/* `options`: enum MPIX_Monitor_option. Figures that no option asks for are 0. `only`: the window's communicator, or
 * NULL. */
void difference_make(struct difference *difference, const struct snapshot *begin, const struct snapshot *end,
                     const struct comm *only, unsigned options);
/* sites.c: adds up to `most` call sites with the most time. Both snapshots have SNAPSHOT_PATHS. Call it after
 * difference_make. */
void difference_sites(struct difference *difference, const struct snapshot *begin, const struct snapshot *end,
                      unsigned most);

/* The parts that snapshots need for these options. */
unsigned difference_parts(unsigned options);

/* The figures that are not known, and why: texts that live as long as the library. Returns how many. */
unsigned difference_warnings(const struct difference *difference, const struct snapshot *begin,
                             const struct snapshot *end, unsigned options, const char *warnings[WARNINGS_MOST]);

#endif
