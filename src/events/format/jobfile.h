/*
 * The job file, HOST.JOB.mpit: all results of a job, or of its processes on one node.
 *
 *   offset 0           64
 *          +------------+---------+---------+--     --+---------+------+
 *          | job_header | section | section |   ...   |  index  | tail |
 *          +------------+---------+---------+--     --+---------+------+
 *                        each: section_header (64 bytes) | payload, a multiple of 64 bytes together
 *
 *   SECTION_PROCESS  what one process recorded, packed (packedrun.h)
 *   SECTION_SUMMARY  figures of processes that have no such section (summary.h)
 *   SECTION_TOTAL    figures of all processes of the file, for lists of jobs. It can be made again from the others. The
 *                    last one counts: it may have what a trace has told
 *   SECTION_NAMES    names of functions and lines (storednames.h)
 *   SECTION_INDEX    section_entry[] of the others
 *
 * SUMMARY, TOTAL, NAMES and INDEX are one zstd frame each (section_pack).
 *
 * The header of a section is its seal. A process gets it when the rest of its section is written. The tail tells where the index is.
 * Without index and tail (a writer was killed, or the file was cut) the sections are found one after the other, up to the first
 * without a seal. More sections are written over the index and the tail. A new index and a new tail follow them.
 *
 * Frames of zstd end with a checksum of their data, and headers have their own. So no damaged data passes for recorded
 * data. Integers are in the byte order of the machine that wrote them.
 */
#ifndef MPIT_EVENTS_JOBFILE_H
#define MPIT_EVENTS_JOBFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_MAGIC "mpit-job"
#define SECTION_MAGIC "mpit-sec"
#define JOB_TAIL_MAGIC "mpit-end"
enum { JOB_VERSION = 2, SECTION_ALIGN = 64 };

struct job_header {
    char magic[8]; /* JOB_MAGIC, without the NUL */
    uint32_t version, byte_order;
    uint64_t job;
    uint64_t parts; /* of how many job files it was made (join.h), or 1 */
    uint64_t reserved[3];
    uint64_t sum; /* FNV-1a of this header, with 0 here */
};

enum section_kind { SECTION_PROCESS = 1, SECTION_SUMMARY, SECTION_TOTAL, SECTION_NAMES, SECTION_INDEX };

struct section_header {
    char magic[8];   /* SECTION_MAGIC, without the NUL */
    uint32_t kind;   /* enum section_kind */
    uint32_t chunks; /* SECTION_PROCESS: pieces of its image and blocks of events */
    uint64_t bytes;  /* with this header and the padding */
    uint64_t payload_bytes;
    uint64_t plain_bytes; /* of the payload when it is unpacked. SECTION_PROCESS: of the image */
    uint64_t process;     /* SECTION_PROCESS: run_identity of the process. Else 0 */
    uint64_t rest_sum;    /* FNV-1a of all behind this header. SECTION_PROCESS: 0, as its chunks have their own */
    uint64_t sum;         /* FNV-1a of this header, with 0 here */
};

struct section_entry {
    uint32_t kind, reserved;
    uint64_t begin, bytes; /* in the file */
    uint64_t process;      /* as in the section's header */
};

struct job_tail {
    char magic[8];  /* JOB_TAIL_MAGIC, without the NUL */
    uint64_t index; /* where the section of the index begins */
    uint64_t reserved[5];
    uint64_t sum; /* FNV-1a of the tail, with 0 here */
};

_Static_assert(sizeof(struct job_header) == SECTION_ALIGN && sizeof(struct section_header) == SECTION_ALIGN &&
                   sizeof(struct job_tail) == SECTION_ALIGN,
               "sections are aligned");

static inline uint64_t section_padded(uint64_t bytes)
{
    return (bytes + SECTION_ALIGN - 1) / SECTION_ALIGN * SECTION_ALIGN;
}

void job_header_seal(struct job_header *header);
bool job_header_is_sound(const struct job_header *header);

void section_seal(struct section_header *section);
/* Returns whether it is a section with its seal that fits into `room` bytes. */
bool section_is_sound(const struct section_header *section, uint64_t room);

void job_tail_seal(struct job_tail *tail, uint64_t index);
bool job_tail_is_sound(const struct job_tail *tail);

/* Makes a section of one frame, which the caller frees. NULL without memory. */
void *section_pack(enum section_kind kind, const void *data, size_t bytes, size_t *section_bytes);

/* Unpacks a sound section of one frame, which lies in memory as a whole. The caller frees the data. NULL with a reason
 * in error[]: damaged, longer than `most` or than such a section can be, no memory. */
void *section_unpack(const struct section_header *section, size_t most, size_t *bytes, char error[128]);

struct run_header;
/* The identity of the process of a run file: it differs from the identities of all others. Never 0. */
uint64_t run_identity(const struct run_header *header);

#endif
