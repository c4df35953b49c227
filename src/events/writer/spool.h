/*
 * The spool: where the live files (runfile.h) of a job's processes lie on their node. They never lie in the output
 * directory, because a shared file system may be slow, may fail and may refuse mappings.
 *
 *   BASE/mpit-UID/KEY/        mode 0700, of the user alone
 *        output -> DIRECTORY  a link: the output directory for the results
 *        HOST.PID.mpit        a live file for each process
 *        lock                 held while the results are collected (tools/collect/collect.h)
 *        said-HASH            a process of the job on this node has made this remark
 *        watch-PID            mpit-run looks at it: it stays, even without a live file in it
 *        join                 results of a job are to become one file (tools/base/spools.h): it stays likewise
 *
 *   BASE   MPIT_SPOOL, or the first of /dev/shm and /tmp that can be used
 *   KEY    16 hexadecimal digits: a hash of DIRECTORY
 *
 * Any thread may call these functions. They enter the kernel, so no signal handler may.
 */
#ifndef MPIT_EVENTS_SPOOL_H
#define MPIT_EVENTS_SPOOL_H

#include "base/linkage.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPOOL_OUTPUT "output"
#define SPOOL_LOCK "lock"
#define SPOOL_SAID "said-"
#define SPOOL_WATCH "watch-"
#define SPOOL_JOIN "join"

enum { SPOOL_BASES_MOST = 3, SPOOL_PATH_BYTES = PATH_MAX, SPOOL_PROBLEM_BYTES = PATH_MAX + 128 };

/* The directories that are tried, in this order. Returns how many. */
size_t spool_bases(const char *bases[SPOOL_BASES_MOST]);

/*
 * Makes the spool of an output directory, which is an absolute path. Nothing in that directory is touched. Returns 0,
 * or -1 with a reason in problem[]. A base that could not be used is named there as well when another one was taken, and
 * so is the other one.
 */
MUST_CHECK int spool_make(const char *output, char path[SPOOL_PATH_BYTES], char problem[SPOOL_PROBLEM_BYTES]);

/* Removes redundant slashes and dots from a path: "/a//b/./" -> "/a/b". So one directory has one spool. */
void spool_path_clean(char *path);

/* Puts the link back when the directory could not be removed. */
void spool_link(const char *path, const char *output);

/* True for the first caller on this node. `remark` is a hash of the job and of the remark. */
bool spool_speaks_first(const char *path, uint64_t remark);

/*
 * Gives the owner access to a new live file, whatever the umask of the program. `stays`: the descriptor stays open. Then
 * a lock holds the file. The kernel drops it when the process ends, in whichever PID namespace, and a child of a fork does
 * not inherit it. A file that was locked is executable for its owner.
 */
void spool_file_hold(int fd, bool stays);
/* Returns false if the process has ended, true if not or if nobody knows. Closing `fd` drops a lock of this process. */
bool spool_file_is_held(int fd);

/* Marks the spool as watched by this process, until it ends or calls the other one. */
void spool_watch(const char *path);
void spool_unwatch(const char *path);
/* True if another process watches it. */
bool spool_is_watched(const char *path);

#endif
