#include "summary/summaryprocess.h"

#include "base/number.h"
#include "calls.h"
#include "reader/reader.h"
#include "summary/summarysites.h"

#include <string.h>

/* It grows if it does in so many of four intervals, and by this part of the peak in all. */
enum { GROWS_OF_FOUR = 3, SAMPLES_LEAST = 6, GROWTH_PARTS = 50 };

/* Of the second half of the run. What a program takes at its begin is no growth. */
static void growth_find(struct row_memory *row, const struct run_memory *memory, struct clock_scale scale,
                        uint64_t end_ticks)
{
    uint32_t count = memory->samples < MEMORY_SAMPLES ? memory->samples : MEMORY_SAMPLES, from = 0, grows = 0;
    const struct memory_sample *sample = memory->sample;
    if (count < SAMPLES_LEAST || end_ticks <= sample[0].ticks)
        return;
    uint64_t half = sample[0].ticks + (end_ticks - sample[0].ticks) / 2;
    while (from < count && sample[from].ticks < half)
        from++;
    if (count - from < SAMPLES_LEAST / 2 || sample[count - 1].bytes <= sample[from].bytes)
        return;
    for (uint32_t i = 1; i < count; i++)
        if (sample[i].ticks < sample[i - 1].ticks)
            return; /* of a damaged file */
    for (uint32_t i = from + 1; i < count; i++)
        grows += sample[i].bytes > sample[i - 1].bytes;
    uint64_t grown = sample[count - 1].bytes - sample[from].bytes;
    if (4 * grows < GROWS_OF_FOUR * (count - 1 - from) || grown < row->peak_bytes / GROWTH_PARTS)
        return;
    row->grown_bytes = grown;
    row->grown_ns = clock_ns(scale, sample[count - 1].ticks - sample[from].ticks);
}

struct row_memory summary_memory_of(const struct run_reader *run, uint64_t end_ticks)
{
    const struct run_memory *memory = &run->header.memory;
    struct row_memory row = {.peak_bytes = memory->peak_bytes,
                             .begin_bytes = memory->begin_bytes,
                             .shared_bytes = memory->shared_bytes,
                             .node_bytes = memory->node_bytes,
                             .read_bytes = memory->read_bytes,
                             .written_bytes = memory->written_bytes,
                             .reads = memory->reads,
                             .writes = memory->writes,
                             .files_known = memory->files_known == 1};
    const struct path_record *path = memory->peak_path ? run_reader_path_of(run, memory->peak_path) : NULL;
    row.peak_site = path ? summary_path_hash(run, path) : 0;
    growth_find(&row, memory, run_reader_scale(run), end_ticks);
    return row;
}

void summary_left_of(const struct run_reader *run, uint64_t left[LEFT_KINDS])
{
    const struct run_left *known = run_reader_left(run);
    for (unsigned kind = 0; kind < LEFT_KINDS; kind++)
        left[kind] = known ? known->count[kind] : 0;
    left[LEFT_NONE] = known != NULL;
}

enum left_kind left_kind_of(enum call kind)
{
    const struct call_description *call = &call_table[kind];
    const char *name = call->name;
    if (kind == CALL_NONE)
        return LEFT_NONE;
    switch ((enum call_class)call->class) {
    case CLASS_COMMUNICATOR:
        return LEFT_COMM;
    case CLASS_RMA:
        return strncmp(name, "MPI_Win_", 8) == 0 ? LEFT_WINDOW : LEFT_REQUEST;
    case CLASS_IO:
        return kind == CALL_MPI_File_open ? LEFT_FILE : LEFT_REQUEST;
    case CLASS_OTHER:
        return strncmp(name, "MPI_Type_", 9) == 0 ? LEFT_DATATYPE : LEFT_GROUP;
    default:
        return strstr(name, "_init") ? LEFT_PERSISTENT : LEFT_REQUEST;
    }
}
