/*
 * Writes a job file (format/jobfile.h), section by section.
 *
 *   job_writer_begin, or job_writer_resume for a file that is there ──> sections ──> job_writer_end: the index
 *
 * A section that cannot be written leaves nothing: the file ends behind the last whole section, and the writer goes on
 * with the next one. Whoever writes holds the lock of the file (flock), or has made it under a name of its own.
 */
#ifndef MPIT_TOOLS_JOBWRITER_H
#define MPIT_TOOLS_JOBWRITER_H

#include "base/linkage.h"
#include "format/jobfile.h"
#include "reader/reader.h"

struct drained;
struct packing;

struct job_writer {
    int fd;           /* belongs to the caller */
    uint64_t end;     /* of the last whole section */
    uint64_t written; /* bytes of the file; more are in the buffer */
    char *buffer;
    size_t used;
    struct section_entry *list;
    size_t count, room;
    struct packing *packing; /* memory for the sections of processes, or NULL */
};

/* All functions return 0, or -1 with errno. One thread uses a writer. Release it in all cases. */
MUST_CHECK int job_writer_begin(struct job_writer *writer, int fd, uint64_t job, uint64_t parts);
/* Goes on behind the last section of the file. EBADMSG: it is no job file, or not a whole one. */
MUST_CHECK int job_writer_resume(struct job_writer *writer, int fd);
/* The run of a process that has ended, with its drained chunks. drained: may be NULL. */
MUST_CHECK int job_writer_process(struct job_writer *writer, const struct run_reader *run,
                                  const struct drained *drained);
/* A section that is in memory (section_pack). */
MUST_CHECK int job_writer_section(struct job_writer *writer, const struct section_header *section);
/* Takes the last section back. */
void job_writer_undo(struct job_writer *writer);
/* A section of another job file. ESTALE: it is not there. */
MUST_CHECK int job_writer_copy(struct job_writer *writer, int from, const struct section_entry *entry);
/* Writes the index. Then the file is whole, but perhaps not on the disk. */
MUST_CHECK int job_writer_end(struct job_writer *writer);
void job_writer_release(struct job_writer *writer);

/* For drain.c: begins at a place in the file, and writes the buffer to it. */
MUST_CHECK int job_writer_open(struct job_writer *writer, int fd, uint64_t place);
int job_writer_flush(struct job_writer *writer);
/* For packing.c: appends bytes. */
int job_writer_put(struct job_writer *writer, const void *bytes, size_t count);
/* Fills up to a multiple of SECTION_ALIGN. */
int job_writer_pad(struct job_writer *writer);
/* Where the next byte goes. */
static inline uint64_t job_writer_place(const struct job_writer *writer)
{
    return writer->written + writer->used;
}

#endif
