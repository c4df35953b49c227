/*
 * Finds the run files to read (live.h).
 *
 *   finder ── files ──> live_file          by device and inode: a file that was found, and its last header
 *          ├─ directories ──> path         where files lie that processes hold open, of this scan
 *          └─ users ──> live_user          their shares of this scan
 *
 * A file is forgotten if a scan does not find it and no process holds it open.
 *
 * A scan for all users is the one of root's exporter. A user can name anything: so only directories and files of the
 * user's own are opened, a file only if it is the one that was looked at (regularfile.h), and each user has a share.
 */
#ifndef MPIT_TOOLS_LIVEFIND_H
#define MPIT_TOOLS_LIVEFIND_H

#include "base/keytable.h"
#include "live/live.h"

#include <time.h>

struct live_file {
    struct keyed keyed;
    char *path;
    struct timespec changed; /* its ctime when its header was read */
    uint64_t scan;           /* that found it last */
    uid_t owner;
    uint64_t job;
    bool peeked;  /* its header was read, and is valid */
    bool ended;   /* an end is recorded, or its process is gone: never changes back */
    bool results; /* a job file: its processes have ended */
    bool here, clock, alive;
    pid_t holder;        /* in another PID namespace: its number here, from /proc, or 0 if it was not found */
    bool wanted;         /* its job is shown */
    bool open;           /* process.run is */
    uint64_t last_ticks; /* last time its process was seen alive, or 0 for never */
    struct live_process process;
};

struct live_finder {
    struct keytable files;
    struct keytable directories, users; /* of this scan */
    uint64_t scan, scanned_ns, cost_ns;
    bool all_users; /* processes of all visible users, or (false) only of this user */
    bool shared; /* by several users. A user's files, directories and spools are looked at as far as its share goes */
    size_t steps_most, users_cut;
    struct live_seen *seen; /* jobs */
    size_t seen_count;
};

/* Scans the paths, or /proc if it is time. Returns 0, or -1 without memory. */
int live_find(struct live_finder *finder, char *const *paths, size_t count);
void live_file_release(struct live_file *file);
/* The file that was found, whatever has its name now. */
static inline struct run_extent live_file_extent(const struct live_file *file)
{
    return (struct run_extent){.device = file->keyed.key[0], .inode = file->keyed.key[1]};
}
void live_finder_release(struct live_finder *finder);
#endif
