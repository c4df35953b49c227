/*
 * Finds the run files to read (live.h).
 *
 *   finder ── files ──> live_file          by device and inode: a file that was found, and its last header
 *          ├─ homes ──> home               by process: the directory for run files in its environment
 *          └─ directories[]                the run directories of the user's processes, of this scan
 *
 * A file is forgotten if a scan does not find it and no process holds it open.
 */
#ifndef MPIT_TOOLS_LIVEFIND_H
#define MPIT_TOOLS_LIVEFIND_H

#include "base/keytable.h"
#include "job/live.h"

#include <time.h>

struct live_file {
    struct keyed keyed;
    char *path;
    struct timespec changed; /* its ctime when its header was read */
    uint64_t scan;           /* that found it last */
    uint64_t job;
    bool peeked; /* its header was read, and is valid */
    bool ended;  /* an end is recorded, or its process is gone: never changes back */
    bool here, clock, alive;
    pid_t holder;        /* in another PID namespace: its number here, from /proc, or 0 if it was not found */
    bool wanted;         /* its job is shown */
    bool open;           /* process.run is */
    uint64_t last_ticks; /* last time its process was seen alive, or 0 for never */
    struct live_process process;
};

struct live_finder {
    struct keytable files, homes;
    char **directories;
    size_t directory_count;
    uint64_t scan, scanned_ns, cost_ns;
    bool all_users;         /* processes of all visible users, or (false) only of this user */
    struct live_seen *seen; /* jobs */
    size_t seen_count;
};

/* Scans the paths, or /proc if it is time. Returns 0, or -1 without memory. */
int live_find(struct live_finder *finder, char *const *paths, size_t count);
void live_file_release(struct live_file *file);
void live_finder_release(struct live_finder *finder);
/* CLOCK_MONOTONIC */
uint64_t live_monotonic_ns(void);

#endif
