#include "top/topmodel.h"
#include "base/systemclock.h"
#include "top/toptext.h"

#include "live/livefind.h"
#include "base/processlife.h"
#include "waiting/mismatch.h"
#include "waiting/ward.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* This takes at most 1 / WAITS_SHARE of the time. It opens no more files than can be mapped at once (reader.h). */
enum { WAITS_SHARE = 20, WAITS_FILES_MOST = 2048 };

static bool somebody_hangs(const struct top_job *job)
{
    for (size_t i = 0; i < job->rank_count; i++)
        for (size_t k = 0; k < job->ranks[i]->thread_count; k++)
            if (job->ranks[i]->threads[k].call.name[0] && job->ranks[i]->threads[k].call.since_ns >= TOP_LONG_NS)
                return true;
    return false;
}

static struct top_rank *waiting_rank_find(struct top_job *job, const struct run_header *header)
{
    for (size_t i = 0; i < job->rank_count; i++)
        if (job->ranks[i]->rank == run_rank(header) && job->ranks[i]->pid == header->pid)
            return job->ranks[i];
    return NULL;
}

/* Keeps a text that ends with "..." if it is too long. */
static void waits_store(char to[TOP_WAITS_BYTES], const char *text, size_t bytes)
{
    char dots[4];
    label_clean(to, TOP_WAITS_BYTES, text, bytes);
    if (bytes < TOP_WAITS_BYTES)
        return;
    size_t keep = top_text_cut(to, TOP_WAITS_BYTES - (int)sizeof dots - 1, dots);
    memcpy(to + keep, dots, sizeof dots);
}

static void patient_tell(struct top_job *job, const struct patient *patient)
{
    struct top_rank *rank = waiting_rank_find(job, &patient->file->header);
    if (!rank || !rank->busy || rank->busy->index != patient->thread || !patient->alive ||
        rank->busy->call.since_ns < TOP_LONG_NS || rank->busy->call.kind != patient->state.call)
        return;
    for (size_t i = 0; i < patient->waits.count && rank->waits_for_count < TOP_WAITS_MOST; i++)
        rank->waits_for[rank->waits_for_count++] = patient->waits.list[i];
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return;
    waits_print(&patient, 1, out);
    if (fclose(out) == 0 && bytes > 2)
        waits_store(rank->waits, text + 2, bytes - 2); /* after ", " */
    free(text);
}

/* If a rank of a circle is gone, the circle is not a deadlock any more. The others wait for a dead rank. */
static bool all_alive(const struct ward *ward, const int32_t *ranks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < ward->count; k++)
            if (run_rank(&ward->patients[k].file->header) == ranks[i] && !ward->patients[k].alive)
                return false;
    return true;
}

static void circle_tell(struct top_job *job, const struct ward *ward)
{
    int32_t *ranks;
    bool sure;
    size_t count = waits_circle(ward, &ranks, &sure), bytes;
    if (!all_alive(ward, ranks, count))
        count = 0;
    char *text = NULL;
    FILE *out = count ? open_memstream(&text, &bytes) : NULL;
    job->circle_count = count < TOP_WAITS_MOST ? count : TOP_WAITS_MOST;
    for (size_t i = 0; i < job->circle_count; i++)
        job->circle_ranks[i] = ranks[i];
    if (out) {
        circle_print(ranks, count, sure, out);
        if (fclose(out) == 0)
            waits_store(job->circle, text, bytes);
        free(text);
    }
    free(ranks);
}

static void mismatch_tell(struct top_job *job, const struct ward *ward)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    size_t lines = out ? mismatches_print(ward, "", 1, out) : 0;
    if (out && fclose(out) == 0 && lines)
        waits_store(job->mismatch, text, bytes - 1);
    free(text);
}

/* Opens the complete run file. A process that is dead for the live look may be in a PID namespace that the ward cannot
 * see. Its end is then the last time when it was seen alive. */
static bool wait_file_open(struct run_reader *file, const struct live_process *process)
{
    if (!process->readable || run_reader_open_part(file, process->path, run_reader_extent(&process->run)) != 0)
        return false;
    if (!process->alive && process_life(&file->header) == LIFE_UNSEEN)
        file->header.end_realtime_ns = file->header.begin_realtime_ns + process->now_ns;
    return true;
}

static void waits_look(struct top_job *job, const struct live_job *live)
{
    struct run_job run = {.job = job->job, .files = calloc(live->count + 1, sizeof *run.files)};
    struct ward ward;
    if (!run.files)
        return;
    for (size_t i = 0; i < live->count; i++)
        run.file_count += wait_file_open(&run.files[run.file_count], &live->processes[i]);
    if (run.file_count && ward_open(&ward, &run, live->alive) == 0) {
        for (size_t i = 0; i < ward.count; i++)
            patient_tell(job, &ward.patients[i]);
        circle_tell(job, &ward);
        mismatch_tell(job, &ward);
    }
    if (run.file_count)
        ward_release(&ward);
    for (size_t i = 0; i < run.file_count; i++)
        run_reader_close(&run.files[i]);
    free(run.files);
}

void top_waits_find(struct top_job *job, const struct live_job *live)
{
    uint64_t begin = monotonic_ns();
    bool hangs = somebody_hangs(job);
    if (hangs && begin < job->waits_due_ns)
        return;
    for (size_t i = 0; i < job->rank_count; i++) {
        job->ranks[i]->waits[0] = '\0';
        job->ranks[i]->waits_for_count = 0;
    }
    job->circle[0] = job->mismatch[0] = '\0';
    job->circle_count = 0;
    if (!hangs || live->count > WAITS_FILES_MOST)
        return;
    waits_look(job, live);
    job->waits_due_ns = begin + WAITS_SHARE * (monotonic_ns() - begin);
}
