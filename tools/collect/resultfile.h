/*
 * Files of results in the output directory. Each is written next to its place, and then renamed (result_show). Later it is
 * flushed to the disk, which may take long.
 *
 *   DIRECTORY/STEM SUFFIX, or DIRECTORY/STEM.N SUFFIX where others of that name are there already
 *
 * A file that is written under a name with ".part-" is locked. So whoever can lock it knows that its writer was killed.
 */
#ifndef MPIT_TOOLS_RESULTFILE_H
#define MPIT_TOOLS_RESULTFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds a free path. Returns 0, or -1 with errno. */
int result_path(const char *directory, const char *name, int stem, const char *suffix, char path[PATH_MAX]);

/* A complete file, with its temporary name or its own. */
struct result {
    int fd;
    bool only; /* its contents exist nowhere else, so that the file stays after any failure */
    char temporary[PATH_MAX + 16], path[PATH_MAX];
};

/* Writes `data` next to its place. The stem is the first `stem` bytes of `name`. Returns 0, or -1 with errno. result->path is
 * the path of the result in both cases. */
int result_write(struct result *result, const char *directory, const char *name, int stem, const char *suffix,
                 const void *data, size_t bytes);

/* Gives the file its name. Returns as above. */
int result_show(const struct result *result);

/* Removes the file and closes it. If it has the only copy of its contents it gets its temporary name back instead. */
void result_drop(const struct result *result);

/* Makes a temporary file, like mkostemp. Returns it locked, or -1 with errno. */
int part_make(char *template);

/* Removes such files of killed processes from the directory. */
void parts_remove(const char *directory);

/* Returns whether it is the name of a result. *part: of one that was not completed. */
bool result_has_name(const char *name, bool *part);

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

/* Copies the first `bytes` of the file `from` next to their place. Returns as result_write. */
int result_copy(struct result *result, const char *directory, const char *name, int stem, const char *suffix,
                const char *from, uint64_t bytes);

#endif
