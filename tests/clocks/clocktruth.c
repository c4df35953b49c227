/*
 * Holds the time line that the tools make of a run against the truth, which the faults of faultyclock give back for
 * each event, and each message against its sender. The fault of rank 0's node has to be none. Usage: clocktruth RUN:
 * one line ranks R events E messages M early B early_without C off_ns D off_measured_ns F bound_ns G times N fastest_ns
 * H moved_ns I early: messages that arrive before they are sent; early_without: by the wall clocks alone; off_ns: the
 * largest distance of an event from its true time; off_measured_ns: without what messages say; bound_ns: what the
 * measurements claim; fastest_ns: the least time that a message takes; moved_ns: how far messages moved what was
 * measured.
 */
#include "fault.h"
#include "job/rundir.h"
#include "job/clockmessages.h"

#include "calls.h"

#include <err.h>
#include <inttypes.h>

struct times {
    int64_t *line, *local;
    size_t count, capacity;
};

static struct times *sends, *receives;  /* [from * ranks + to], in the order of the calls: one tag, one communicator */
static const struct timeline *measured; /* without what messages say */
static size_t ranks;

static void times_add(struct times *times, int64_t line, int64_t local)
{
    if (times->count == times->capacity) {
        times->capacity = times->capacity ? times->capacity * 2 : 1024;
        times->line = realloc(times->line, times->capacity * sizeof *times->line);
        times->local = realloc(times->local, times->capacity * sizeof *times->local);
        if (!times->line || !times->local)
            err(2, "memory");
    }
    times->line[times->count] = line;
    times->local[times->count++] = local;
}

struct sums {
    uint64_t events;
    int64_t off, off_measured;
};

/* Ticks are nanoseconds, and the reference clock is true. */
static int64_t off_by(const struct timeline *line, const struct run_reader *file, const struct fault *fault,
                      uint64_t ticks)
{
    uint64_t begin = line->clocks[line->file_clock[0]].header->begin_ticks;
    int64_t true_origin = (int64_t)begin - timeline_ns(line, &line->files[0], begin);
    return llabs(timeline_ns(line, file, ticks) - fault_undo(fault, (int64_t)ticks) + true_origin);
}

static void event_look(struct sums *sums, const struct timeline *line, const struct run_reader *file,
                       const struct fault *fault, uint64_t ticks)
{
    int64_t off = off_by(line, file, fault, ticks), before = off_by(measured, file, fault, ticks);
    sums->off = off > sums->off ? off : sums->off;
    sums->off_measured = before > sums->off_measured ? before : sums->off_measured;
    sums->events++;
}

/* As timeline_ns, by the wall clock of the process's own node. */
static int64_t local_ns(const struct timeline *line, const struct run_reader *file, uint64_t ticks)
{
    return (int64_t)(clock_map_local_ns(timeline_map(line, file), ticks) - line->origin_ns);
}

static void file_look(struct sums *sums, const struct timeline *line, const struct run_reader *file)
{
    struct fault fault;
    struct event_cursor cursor;
    const struct event *event;
    size_t rank = (size_t)file->header.world_rank;
    uint64_t end = 0; /* of the call whose parts follow */
    if (fault_read(&fault, (int)rank) != 0)
        errx(2, "FAULT_BEGIN_NS and FAULT_NODES are missing");
    event_cursor_open(&cursor, file, 0);
    while ((event = event_cursor_next(&cursor))) {
        unsigned kind = event_kind(event);
        if (kind < RECORD_FIRST) {
            end = event->begin + event->duration;                     /* less than 4 s */
            if (kind != CALL_MPI_Init && kind != CALL_MPI_Finalize) { /* between the measurements */
                event_look(sums, line, file, &fault, event->begin);
                event_look(sums, line, file, &fault, end);
            }
        }
        if (kind == CALL_MPI_Send)
            times_add(&sends[rank * ranks + (size_t)event->peer], timeline_ns(line, file, event->begin),
                      local_ns(line, file, event->begin));
        if (kind == CALL_MPI_Recv || kind == RECORD_RECV_DONE)
            times_add(&receives[(size_t)event->peer * ranks + rank], timeline_ns(line, file, end),
                      local_ns(line, file, end));
    }
    if (cursor.missing)
        errx(2, "%" PRIu64 " events of rank %zu are missing", cursor.missing, rank);
    event_cursor_close(&cursor);
}

int main(int argc, char *argv[])
{
    struct run_dir dir;
    char error[512];
    if (argc != 2)
        errx(2, "Usage: clocktruth RUN");
    if (run_dir_open(&dir, argv[1], error) != 0)
        errx(2, "%s", error);
    const struct run_job *job = &dir.jobs[0];
    struct timeline line;
    ranks = job->file_count;
    sends = calloc(ranks * ranks, sizeof *sends);
    receives = calloc(ranks * ranks, sizeof *receives);
    if (dir.job_count != 1 || !sends || !receives || timeline_open(&line, job->files, ranks, false) != 0)
        errx(2, "not one job, or no memory");
    struct timeline before;
    if (timeline_open(&before, job->files, ranks, false) != 0 || timeline_refine(&line) != 0)
        errx(2, "no memory");
    struct sums sums = {0};
    measured = &before;
    for (size_t i = 0; i < ranks; i++)
        file_look(&sums, &line, &job->files[i]);
    uint64_t messages = 0, early = 0, without = 0;
    int64_t worst = INT64_MAX;
    for (size_t pair = 0; pair < ranks * ranks; pair++) {
        bool ended = job->files[pair / ranks].header.phase == RUN_FINALIZED &&
                     job->files[pair % ranks].header.phase == RUN_FINALIZED;
        if (ended && sends[pair].count != receives[pair].count)
            errx(2, "%zu messages from %zu to %zu were sent, %zu received", sends[pair].count, pair / ranks,
                 pair % ranks, receives[pair].count);
        for (size_t i = 0; i < sends[pair].count && i < receives[pair].count; i++) {
            int64_t took = receives[pair].line[i] - sends[pair].line[i];
            worst = took < worst ? took : worst;
            messages++;
            early += took < 0;
            without += receives[pair].local[i] < sends[pair].local[i];
        }
    }
    struct timeline_quality quality = timeline_quality(&line);
    printf("ranks %zu events %" PRIu64 " messages %" PRIu64 " early %" PRIu64 " early_without %" PRIu64
           " off_ns %" PRId64 " off_measured_ns %" PRId64 " bound_ns %" PRIu64 " times %zu fastest_ns %" PRId64
           " moved_ns %" PRIu64 "\n",
           ranks, sums.events, messages, early, without, sums.off, sums.off_measured, quality.error_ns, quality.least,
           worst, quality.moved_ns);
    return 0;
}
