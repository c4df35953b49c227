/*
 * Which run files there are to be looked at (live.h).
 *
 *   finder ── files ──> live_file          by device and inode: one that was found, and what its header said last
 *          ├─ homes ──> home               by process: where its environment says that run files go
 *          └─ directories[]                the run directories of the user's processes, of this scan
 *
 * A file is forgotten when a scan does not find it and nobody holds it open.
 */
#ifndef MPIT_TOOLS_LIVEFIND_H
#define MPIT_TOOLS_LIVEFIND_H

#include "base/keytable.h"
#include "job/live.h"

#include <time.h>

struct live_file {
    struct keyed keyed;
    char *path;
    struct timespec changed; /* its ctime at the look at its header */
    uint64_t scan;           /* that found it last */
    uint64_t job;
    bool peeked; /* its header was read, and is one */
    bool ended;  /* it tells an end, or its process has gone: that stays so */
    bool here, clock, alive;
    pid_t holder;        /* in another PID namespace: what it is called here, as /proc told; 0: not found there */
    bool wanted;         /* of a job that is shown */
    bool open;           /* process.run is */
    uint64_t last_ticks; /* when its process was seen alive last; 0: never */
    struct live_process process;
};

struct live_finder {
    struct keytable files, homes;
    char **directories;
    size_t directory_count;
    uint64_t scan, scanned_ns, cost_ns;
    bool all_users;         /* processes of all users, as far as this one may see them; false: its own */
    struct live_seen *seen; /* jobs */
    size_t seen_count;
};

/* Goes through the paths, or through /proc if that is due. Returns 0, or -1 without memory. */
int live_find(struct live_finder *finder, char *const *paths, size_t count);
void live_file_release(struct live_file *file);
void live_finder_release(struct live_finder *finder);
/* CLOCK_MONOTONIC */
uint64_t live_monotonic_ns(void);

#endif
