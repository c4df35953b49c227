/*
 * Opens a regular file by a name from somebody else, who may put another file, a link or a device in its place at any
 * time. The name is looked up once. What it leads to is checked, and then opened without its name: so nothing is opened
 * that was not checked, and a device or a pipe never is.
 */
#ifndef MPIT_EVENTS_REGULARFILE_H
#define MPIT_EVENTS_REGULARFILE_H

#include "reader/reader.h"

#include <sys/stat.h>
#include <time.h>

/* Returns a descriptor for reading, and the file's *st, or -1 with errno. EINVAL: it is no regular file. ESTALE: it is not
 * the one that `which` says. Any thread may call this. */
int regular_open(const char *path, struct run_extent which, struct stat *st);
/* Reads the header of a run file. Returns false if it is none. Of the header only the magic is checked. */
bool run_header_read(const char *path, struct run_extent which, struct run_header *header);
/* Writes the reason for such an errno: "is not a regular file". */
void regular_problem(int error, char *text, size_t room);
/* Whether the file has been written within this time. */
static inline bool file_is_young(const char *path, int seconds)
{
    struct stat st;
    return stat(path, &st) == 0 && time(NULL) - st.st_mtime < seconds;
}
/* The whole file that was looked at. */
static inline struct run_extent regular_file(const struct stat *st)
{
    return (struct run_extent){.device = st->st_dev, .inode = st->st_ino};
}

#endif
