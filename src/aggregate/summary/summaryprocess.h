/* Of a process in a summary: its memory, what it read and wrote (struct run_memory of a run file), and what it left at its end. */
#ifndef MPIT_AGGREGATE_SUMMARYPROCESS_H
#define MPIT_AGGREGATE_SUMMARYPROCESS_H

#include <stdint.h>

#include "calls.h"
#include "format/runfile.h"

struct run_reader;

struct row_memory {
    uint64_t peak_bytes, begin_bytes, shared_bytes, node_bytes; /* peak_bytes = 0: nothing is known */
    uint64_t grown_bytes, grown_ns; /* 0: it did not grow all the time at the end of the run */
    uint64_t peak_site;             /* hash of the site before which the peak was seen. 0: not known */
    uint64_t read_bytes, written_bytes, reads, writes;
    uint64_t files_known; /* 1: these four are known */
};

/* What it made and did not free, by enum left_kind. [LEFT_NONE]: 1 if that is known. */
void summary_left_of(const struct run_reader *run, uint64_t left[LEFT_KINDS]);
/* What calls of this kind make, if they make something that is freed or completed. LEFT_NONE: of CALL_NONE. */
enum left_kind left_kind_of(enum call kind);
/* `end_ticks`: of the run time. */
struct row_memory summary_memory_of(const struct run_reader *run, uint64_t end_ticks);

#endif
