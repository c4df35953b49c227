/*
 * A common time line for the processes of a job.
 *
 *   file_clock[file] ──> clocks[]     one for each running kernel: its processes share the counter
 *
 * Each clock has one map for all its processes (clockmap.h), made from the measurements between the nodes. So events on
 * one kernel keep the order of the counter. Without measurements, the map uses the wall clock of the process that began
 * first. Times are nanoseconds since the begin of the first process (origin_ns).
 */
#ifndef MPIT_TOOLS_TIMELINE_H
#define MPIT_TOOLS_TIMELINE_H

#include "clock/clockmap.h"
#include "reader/reader.h"

#include <stdio.h>

struct timeline_clock {
    const struct run_header *header; /* of the process that began first */
    struct clock_map map;
};

struct timeline {
    const struct run_reader *files;
    size_t count;
    uint32_t *file_clock;
    struct timeline_clock *clocks;
    size_t clock_count;
    uint64_t origin_ns; /* reference time of 0: no process begins before it, by reference time or local time */
};

/* The precision of the clocks of a job's nodes. */
struct timeline_quality {
    size_t nodes, measured;     /* running kernels, and how many were measured */
    size_t least, most;         /* number of measurements, of the measured ones */
    uint64_t error_ns;          /* the largest possible error of a measurement */
    uint64_t moved_ns;          /* correction of the measurements by messages (clockmessages.h) */
    double drift;               /* the largest, of nodes that were measured more than once, as a fraction */
    enum clock_way way;         /* how they were measured */
    enum clock_trouble trouble; /* why some were not, and the node of the lowest rank that reports it */
};

/* The files must stay in place while it is used. Processes without a rank take part if `all`. Returns 0, or -1 without
 * memory. Release it in both cases. */
int timeline_open(struct timeline *line, const struct run_reader *files, size_t count, bool all);
void timeline_release(struct timeline *line);
/* Sets the origin again after changes of maps. */
void timeline_origin(struct timeline *line);

/* Returns nanoseconds since the job's first process began to record, by the reference clock. */
int64_t timeline_ns(const struct timeline *line, const struct run_reader *file, uint64_t ticks);
/* Returns the map of the file's clock. It is valid until maps are changed. */
const struct clock_map *timeline_map(const struct timeline *line, const struct run_reader *file);

/* An offset to add to local times, linear between two offsets: first at 0, last at `end_ns`. */
struct timeline_offset {
    uint64_t local_ns;
    int64_t offset_ns;
    uint64_t error_ns;
};
enum { TIMELINE_OFFSETS_MOST = CLOCK_KNOTS_MOST + 2 };
/* Writes the offsets of a file's clock (NULL: zero). Returns their number. */
size_t timeline_offsets(const struct timeline *line, const struct run_reader *file, uint64_t end_ns,
                        struct timeline_offset list[TIMELINE_OFFSETS_MOST]);

/* Returns "tcp" or "none". The other text is the obstacle, or "". */
const char *timeline_way(const struct timeline_quality *quality);
const char *timeline_trouble(const struct timeline_quality *quality);

struct timeline_quality timeline_quality(const struct timeline *line);

enum { TIMELINE_TEXT_BYTES = 320 };
/* Writes "clocks of 3 nodes: within 2.1 us of the first one's when measured over TCP, 2 times: drift up to 12 ppm", or
 * "" for a single node. */
const char *timeline_text(const struct timeline *line, char text[TIMELINE_TEXT_BYTES]);
/* Prints that line, unless it is empty. */
void timeline_print(const struct run_reader *files, size_t count, FILE *out);

#endif
