/*
 * Files of results in the output directory. Each is written next to its place. When all are complete they are renamed
 * (results_show). Later they are flushed to the disk (results_sync), which may take long.
 *
 *   DIRECTORY/STEM SUFFIX, or DIRECTORY/STEM.N SUFFIX where others of that name are there already
 */
#ifndef MPIT_TOOLS_RESULTFILE_H
#define MPIT_TOOLS_RESULTFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds a free path. Returns 0, or -1 with errno. */
int result_path(const char *directory, const char *name, int stem, const char *suffix, char path[PATH_MAX]);

/* Writes `data`. The stem is the first `stem` bytes of `name`. Returns 0, or -1 with errno. path[] gets the path of the
 * result. */
int result_write(const char *directory, const char *name, int stem, const char *suffix, const void *data, size_t bytes,
                 char path[PATH_MAX]);

/* Writes to the file. Returns 0, or -1 with errno. */
int bytes_write(int fd, const char *data, size_t bytes);

struct summary;

/* No summary is larger: SUMMARY_COMMS_MAX communicators of some 2 KiB, or names (storednames.c). */
enum { SUMMARY_BYTES_MAX = 64 << 20 };

/* Makes the file of a summary, which the caller frees. Parts without room are left out, or share a line
 * (MPIT_SUMMARY_LIMIT_BYTES, summary_reduce).
 * NULL: errno is ENOMEM, or EFBIG, as no reader would accept it. */
void *result_of_summary(struct summary *summary, size_t *bytes);
/* Likewise, with all that is in it. */
void *result_of_all(const struct summary *summary, size_t *bytes);

/* Copies bytes from `begin` in a file to `place` in another one, which ends there then. Holes stay holes. Returns 0, or
 * -1 with errno. */
int extent_copy(int to, uint64_t place, int from, uint64_t begin, uint64_t bytes);

/* Copies the first `bytes` of the file `from`. Returns as above. */
int result_copy(const char *directory, const char *name, int stem, const char *suffix, const char *from, uint64_t bytes,
                char path[PATH_MAX]);

/* Adds a complete file to the list of files to rename. The list then owns the descriptor. `only` means that the
 * contents exist nowhere else, so that the file stays after any failure. */
int result_stage(int fd, const char *temporary, const char *path, bool only);

/* Renames all files of the list. Returns 0, or -1 with errno. After an error path[] names the file. */
int results_show(char path[PATH_MAX]);
/* Flushes all files of the list to the disk, and clears the list. Returns as above. */
int results_sync(char path[PATH_MAX]);
/* Removes all files of the list. A file with the only copy of its contents gets its temporary name back instead. */
void results_drop(void);

#endif
