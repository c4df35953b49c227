#include "timeline.h"

#include <string.h>

static int64_t signed_ns(struct clock_scale scale, int64_t ticks)
{
    return ticks < 0 ? -(int64_t)clock_ns(scale, -(uint64_t)ticks) : (int64_t)clock_ns(scale, (uint64_t)ticks);
}

static int has_same_clock(const struct run_reader *reference, const struct run_reader *file)
{
    const struct run_header *ours = &reference->header, *theirs = &file->header;
    return ours->clock_kind == theirs->clock_kind && strcmp(ours->boot, theirs->boot) == 0;
}

static int64_t reference_ns(const struct run_reader *reference, const struct run_reader *file, uint64_t ticks)
{
    const struct run_header *ours = &reference->header, *theirs = &file->header;
    if (has_same_clock(reference, file))
        return signed_ns(run_reader_scale(reference), (int64_t)(ticks - ours->begin_ticks));
    return signed_ns(run_reader_scale(file), (int64_t)(ticks - theirs->begin_ticks)) +
           (int64_t)(theirs->begin_realtime_ns - ours->begin_realtime_ns);
}

void timeline_open(struct timeline *line, const struct run_reader *files, size_t count)
{
    *line = (struct timeline){.reference = &files[0]};
    /* the one that began first, as in an archive: then all outputs round in the same way */
    for (size_t i = 1; i < count; i++)
        if (has_same_clock(line->reference, &files[i]) &&
            files[i].header.begin_ticks < line->reference->header.begin_ticks)
            line->reference = &files[i];
    for (size_t i = 0; i < count; i++) {
        int64_t begin = reference_ns(line->reference, &files[i], files[i].header.begin_ticks);
        if (begin < line->first_ns)
            line->first_ns = begin;
    }
}

int64_t timeline_ns(const struct timeline *line, const struct run_reader *file, uint64_t ticks)
{
    return reference_ns(line->reference, file, ticks) - line->first_ns;
}
