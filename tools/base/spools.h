/*
 * The spools (spool.h) on this node: the spools of this user, or the spools of all users for root.
 */
#ifndef MPIT_TOOLS_SPOOLS_H
#define MPIT_TOOLS_SPOOLS_H

#include "base/linkage.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

struct spool {
    char path[PATH_MAX];
    char home[PATH_MAX];   /* the output directory of the spool */
    char output[PATH_MAX]; /* where its results go: home, or another directory (mpit-collect --to) */
    uid_t owner;
};

struct spool_list {
    struct spool *list;
    size_t count;
};

/*
 * Finds the spools of an output directory. Any path to the directory works, even if it does not exist yet. NULL finds
 * all spools. Returns 0, or -1 without memory. Release the list in both cases.
 */
MUST_CHECK int spools_find(struct spool_list *spools, const char *output);
/* Returns whether the directory is a spool. *spool is then set. */
MUST_CHECK bool spool_at(struct spool *spool, const char *path);

/* Takes the lock of a spool. Returns a descriptor, which the caller closes, or -1 with errno. EWOULDBLOCK means that
 * another process has the lock. */
MUST_CHECK int spool_lock(const char *spool, int wait_ms);

/* Marks a spool: the files of a job with rank 0 on this node are in the output directory, and should become one file.
 * mpit-collect --all --join does it. A spool with the mark stays, even without a live file. The caller holds the lock. */
void spool_join_ask(const char *spool);
/* Returns whether it has the mark. *since: its time. */
bool spool_join_is_asked(const char *spool, struct timespec *since);
/* Removes the mark if it has this time. NULL: any. */
void spool_join_forget(const char *spool, const struct timespec *since);

/* Removes the spool if it has no live file and no mark to join, and mpit-run does not watch it. A process that begins in it
 * prevents this. The caller holds its lock. */
void spool_remove(const struct spool *spool);

void spools_release(struct spool_list *spools);

#endif
