/* samplecount RUN: what samples a run has, one line of JSON for each of its threads. */
#include "job/rundir.h"
#include "format/samples.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>

struct counts {
    uint64_t samples, weight, states[8], cpu_ns, frames, unknown, without_module, backwards;
    uint64_t first_ticks, last_ticks;
};

static void sample_count(struct counts *c, const struct sample_cursor *cursor, const struct sample *sample)
{
    c->samples++;
    c->weight += sample->weight;
    c->states[sample->state] += sample->weight;
    c->cpu_ns += sample->cpu_ns;
    c->frames += sample->frames;
    c->unknown += (sample->flags & (SAMPLE_UNKNOWN | SAMPLE_ELSEWHERE)) != 0;
    c->backwards += sample->ticks < c->last_ticks;
    if (!c->first_ticks)
        c->first_ticks = sample->ticks;
    c->last_ticks = sample->ticks;
    for (unsigned i = 0; i < sample->frames; i++)
        if (!sample_cursor_module(cursor, sample->pcs[i])) {
            c->without_module += !(sample->flags && i + 1 == sample->frames);
            break;
        }
}

static void run_count(const struct run_reader *reader)
{
    struct clock_scale scale = run_reader_scale(reader);
    for (uint32_t stream = 0; stream < run_reader_sample_streams(reader); stream++) {
        struct sample_cursor cursor;
        struct counts c = {0};
        if (sample_cursor_open(&cursor, reader, stream) != 0)
            errx(1, "no memory");
        for (const struct sample *sample; (sample = sample_cursor_next(&cursor));)
            sample_count(&c, &cursor, sample);
        printf("{\"rank\": %" PRId32 ", \"stream\": %" PRIu32 ", \"thread\": %" PRId32 ", \"samples\": %" PRIu64
               ", \"weight\": %" PRIu64 ", \"not_in_mpi\": %" PRIu64 ", \"work\": %" PRIu64 ", \"stall_recv\": %" PRIu64
               ", \"cpu_ns\": %" PRIu64 ", \"frames\": %" PRIu64 ", \"unknown\": %" PRIu64
               ", \"without_module\": %" PRIu64 ", \"backwards\": %" PRIu64 ", \"span_ns\": %" PRIu64
               ", \"missing\": %" PRIu64 ", \"damaged\": %d"
               ", \"lost\": %" PRIu64 ", \"name\": \"%s\"}\n",
               reader->header.world_rank, stream, (int32_t)cursor.sample.thread, c.samples, c.weight, c.states[0],
               c.states[1], c.states[3], c.cpu_ns, c.frames, c.unknown, c.without_module, c.backwards,
               clock_ns(scale, c.last_ticks - c.first_ticks), cursor.missing, cursor.damaged,
               reader->header.samples_lost, cursor.sample.name);
        sample_cursor_close(&cursor);
    }
}

int main(int argc, char *argv[])
{
    struct run_dir dir;
    char error[512];
    if (argc != 2)
        errx(2, "which run?");
    if (run_dir_open(&dir, argv[1], error) != 0)
        errx(1, "%s", error);
    for (size_t i = 0; i < dir.job_count; i++)
        for (size_t k = 0; k < dir.jobs[i].file_count; k++)
            run_count(run_job_file(&dir.jobs[i], k));
    run_dir_close(&dir);
    return 0;
}
