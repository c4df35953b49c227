#define _GNU_SOURCE
#include "collect/spoolruns.h"

#include "base/array.h"
#include "base/processes.h"
#include "base/text.h"
#include "base/processlife.h"
#include "jobfile/drained.h"
#include "writer/room.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

bool file_is_idle(const char *path, int seconds)
{
    struct stat st;
    return !seconds || (stat(path, &st) == 0 && time(NULL) - st.st_mtime >= seconds);
}

bool spool_is_idle(const struct spool *spool, int seconds)
{
    bool idle = true;
    DIR *directory = opendir(spool->path);
    for (struct dirent *entry; idle && directory && (entry = readdir(directory));) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%.3800s/%.255s", spool->path, entry->d_name);
        idle = !text_ends(entry->d_name, RUN_FILE_SUFFIX) || file_is_idle(path, seconds);
    }
    if (directory)
        closedir(directory);
    return idle;
}

/* Not by read(2), because a process that waits for this one takes reads as progress. */
static bool file_is_marked(int directory, const char *name)
{
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    bool whole = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= RUN_PAGE_BYTES;
    const struct run_header *header = whole ? mmap(NULL, RUN_PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    bool marked = header != MAP_FAILED && header->collected;
    if (header != MAP_FAILED)
        munmap((void *)(uintptr_t)header, RUN_PAGE_BYTES);
    if (fd >= 0)
        close(fd);
    return marked;
}

bool spool_is_marked(const struct spool *spool, bool *left)
{
    bool all = true;
    DIR *directory = opendir(spool->path);
    *left = false;
    for (struct dirent *entry; all && directory && (entry = readdir(directory));)
        if (text_ends(entry->d_name, RUN_FILE_SUFFIX)) {
            all = file_is_marked(dirfd(directory), entry->d_name);
            *left = true;
        }
    if (directory)
        closedir(directory);
    return all;
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

bool spool_run_has_ended(const struct spool_run *run)
{
    return run_file_has_ended(&run->reader.header, run_reader_path(&run->reader));
}

bool spool_run_wake(const struct spool_run *run)
{
    char error[128];
    errno = EIO;
    return run_reader_wake(&run->reader, error) == 0;
}

/* Writes a field of the header. */
static bool field_write(const char *path, uint32_t value, size_t place)
{
    int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    bool written = fd >= 0 && pwrite(fd, &value, sizeof value, (off_t)place) == (ssize_t)sizeof value;
    if (fd >= 0)
        close(fd);
    return written;
}

void spool_run_mark(const struct spool_run *run)
{
    field_write(run_reader_path(&run->reader), 1, offsetof(struct run_header, collected));
}

void spool_run_part(const struct spool *spool, const struct spool_run *run, char path[PATH_MAX])
{
    drained_path(spool->home, strrchr(run_reader_path(&run->reader), '/') + 1, path);
}

/* The live file goes last: the next collector finds the drained part by it. */
int spool_run_remove(const struct spool *spool, const struct spool_run *run, char path[PATH_MAX])
{
    spool_run_part(spool, run, path);
    if (run->drained_end && unlink(path) != 0 && errno != ENOENT)
        return -1;
    snprintf(path, PATH_MAX, "%s", run_reader_path(&run->reader));
    return unlink(path);
}

/* ---- all runs ---------------------------------------------------------------------------------------------------- */

/* If a process was killed, or left by _exit, after MPI_Finalize, it has reached its end. */
static void end_settle(struct run_reader *reader, const char *path)
{
    struct run_header *header = &reader->header;
    if (header->phase == RUN_CLOSED && run_ended_well(header) && process_life(header) == LIFE_GONE &&
        field_write(path, RUN_FINALIZED, offsetof(struct run_header, phase)))
        header->phase = RUN_FINALIZED;
}

/* Returns whether the file belongs to a process that has ended. Its name contains the process number. */
static bool is_forgotten(const char *path, const char *name)
{
    const char *number = name + strlen(name) - strlen(RUN_FILE_SUFFIX);
    while (number > name && number[-1] >= '0' && number[-1] <= '9')
        number--;
    return file_is_idle(path, FORGET_SECONDS) && !process_has_program((uint32_t)strtoul(number, NULL, 10));
}

/* Returns whether the process writes the header of its file just now. It sets the phase when the rest is there. */
static bool is_beginning(const struct run_header *header)
{
    return header->phase < RUN_STARTING && (!header->pid || process_runs(header->pid, header->process_start));
}

/* An unreadable file may be new, of another version, or damaged. It stays for a day, and as long as the system fails. */
static int run_add(struct spool_runs *runs, const struct spool *spool, const char *name, size_t *others)
{
    char path[PATH_MAX];
    struct run_reader reader;
    snprintf(path, sizeof path, "%.3800s/%.255s", spool->path, name);
    errno = 0;
    if (run_reader_open(&reader, path) != 0) {
        if (errno || !is_forgotten(path, name))
            ++*others;
        else
            unlink(path);
        return 0;
    }
    const bool begins = is_beginning(&reader.header);
    struct spool_run *list = begins ? NULL : array_grow(runs->list, runs->count, sizeof *list);
    if (!list) {
        run_reader_close(&reader);
        *others += begins;
        return begins ? 0 : -1;
    }
    end_settle(&reader, path);
    runs->list = list;
    list[runs->count++] =
        (struct spool_run){.reader = reader, .drained_end = room_in((void *)(uintptr_t)reader.base)->drained_end};
    return 0;
}

static int run_order(const void *one, const void *other)
{
    const struct run_header *a = &((const struct spool_run *)one)->reader.header;
    const struct run_header *b = &((const struct spool_run *)other)->reader.header;
    return ORDER(a->job, b->job) ?: ORDER(run_rank(a), run_rank(b)) ?: ORDER(a->pid, b->pid);
}

int spool_runs_open(struct spool_runs *runs, const struct spool *spool, size_t *others)
{
    int result = 0;
    DIR *directory = opendir(spool->path);
    *runs = (struct spool_runs){.list = NULL};
    if (!directory)
        return errno == ENOENT ? 0 : -1;
    for (struct dirent *entry; result == 0 && (entry = readdir(directory));)
        if (text_ends(entry->d_name, RUN_FILE_SUFFIX))
            result = run_add(runs, spool, entry->d_name, others);
    int problem = errno;
    closedir(directory);
    if (runs->count > 1)
        qsort(runs->list, runs->count, sizeof *runs->list, run_order);
    errno = problem;
    return result;
}

void spool_runs_close(struct spool_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        run_reader_close(&runs->list[i].reader);
    free(runs->list);
    *runs = (struct spool_runs){.list = NULL};
}
