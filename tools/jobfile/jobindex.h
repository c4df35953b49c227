/*
 * The index of a job file (format/jobfile.h): which sections it has, and where.
 */
#ifndef MPIT_TOOLS_JOBINDEX_H
#define MPIT_TOOLS_JOBINDEX_H

#include "format/jobfile.h"
#include "reader/reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct job_index {
    uint64_t job, parts; /* as in its header */
    struct run_extent file;
    uid_t owner;
    uint64_t end; /* of the last section */
    bool cut;     /* what is behind that is no index: the file was cut, or its writer was killed */
    size_t count;
    struct section_entry *list; /* in the order of the file */
};

enum job_index_kind { JOB_INDEX_NONE, JOB_INDEX_READ, JOB_INDEX_BROKEN };

/* JOB_INDEX_NONE: the file is something else, or cannot be opened. JOB_INDEX_BROKEN: with a reason. After JOB_INDEX_READ
 * the caller calls job_index_release. Any thread may call these functions. */
enum job_index_kind job_index_read(struct job_index *index, const char *path, struct run_extent which, char error[128]);
/* The same for a file that is open. */
enum job_index_kind job_index_read_at(struct job_index *index, int fd, char error[128]);
void job_index_release(struct job_index *index);
/* Returns how many job files it was made of. 0: it is no job file. */
uint64_t job_file_parts(const char *path, struct run_extent which);
/* Returns whether it is a job file with this number of a job. */
bool job_file_is_of(const char *path, uint64_t job);
/* Returns the first section of the kind, or NULL. */
const struct section_entry *job_index_find(const struct job_index *index, enum section_kind kind);
/* Returns the section that has the figures of all processes of the file, or NULL. */
const struct section_entry *job_index_total(const struct job_index *index);
/* The place of a section. */
struct run_extent job_index_extent(const struct job_index *index, const struct section_entry *entry);

/* Reads a section of one frame. Returns its data, which the caller frees, or NULL with a reason. */
void *job_section_read_at(int fd, struct run_extent extent, size_t most, size_t *bytes, char error[128]);
/* The same. The owner of the file is set if it could be opened. */
void *job_section_read(const char *path, struct run_extent extent, size_t most, size_t *bytes, uid_t *owner,
                       char error[128]);

#endif
