#include "live/livesites.h"

#include "base/array.h"
#include "calls.h"
#include "summary/summarysites.h"

#include <stdlib.h>

enum { PASSES_LEAST = 5, PASSES_APART = 2 };

static bool process_counts(const struct live_process *process, struct live_share share)
{
    return process->readable && process->run.path_count <= LIVE_PATHS_MOST &&
           (!share.own || (process->here && run_reader_owner(&process->run) == share.owner));
}

static bool counts_passes(const struct live_job *job, const struct live_process *process, struct live_share share)
{
    return process_counts(process, share) && (process->alive || !job->alive);
}

static void site_calls_add(struct live_site *site, const struct run_reader *run, const struct path_cells *sum,
                           bool passes)
{
    const struct clock_scale scale = run_reader_scale(run);
    site->calls += sum->calls;
    site->ns += clock_ns(scale, sum->time);
    site->stall_ns += clock_ns(scale, sum->stall_time);
    if (!passes)
        return;
    site->least = !site->ranks || sum->calls < site->least ? sum->calls : site->least;
    site->most = sum->calls > site->most ? sum->calls : site->most;
    site->ranks++;
}

static void process_sites_add(struct keytable *sites, const struct live_process *process, bool passes)
{
    const struct run_reader *run = &process->run;
    struct path_cells *sums = run->path_count ? paths_sum(run) : NULL;
    for (uint32_t number = 1; sums && live_is_whole(process) && number < run->path_count; number++) {
        const struct path_record *path = sums[number].calls ? run_reader_path_of(run, number) : NULL;
        if (!path || path->kind == CALL_NONE || path->kind >= CALL_COUNT)
            continue;
        struct live_site *site = keytable_make(sites, summary_path_hash(run, path), 0, sizeof *site);
        if (!site)
            break;
        site->function = path->kind;
        site->run = run;
        site->path = number;
        site_calls_add(site, run, &sums[number], passes);
    }
    free(sums);
}

struct keytable live_sites_read(const struct live_job *job, struct live_share share)
{
    struct keytable sites = {.count = 0};
    for (size_t i = 0; i < job->count; i++)
        if (process_counts(&job->processes[i], share))
            process_sites_add(&sites, &job->processes[i], counts_passes(job, &job->processes[i], share));
    return sites;
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

/* A poll may find nothing, and a loop over neighbours makes several other calls in a pass. */
static bool may_be_beat(const struct live_site *site, size_t ranks)
{
    unsigned kind = site->function;
    bool ends = call_table[kind].fold == FOLD_COLL || kind == CALL_MPI_Waitall || kind == CALL_MPI_Win_fence;
    return ends && site->ranks == ranks && site->least >= PASSES_LEAST && site->most - site->least <= PASSES_APART;
}

static int by_least(const void *one, const void *other)
{
    const struct live_site *a = *(const struct live_site *const *)one, *b = *(const struct live_site *const *)other;
    return ORDER(a->least, b->least);
}

/* Of beats in the order of their counts: the one whose equals have most calls together. The last one stays if its equals have half
 * of that: it does not change with each look. */
static const struct live_site *beat_choose(const struct live_site *const *beats, size_t count, uint64_t last)
{
    const struct live_site *best = NULL, *before = NULL;
    uint64_t most = 0, calls_before = 0, calls = 0;
    for (size_t i = 0, first = 0, end = 0; i < count; i++) {
        for (; end < count && beats[end]->least <= beats[i]->least + PASSES_APART; end++)
            calls += beats[end]->least;
        for (; beats[first]->least + PASSES_APART < beats[i]->least; first++)
            calls -= beats[first]->least;
        if (beats[i]->keyed.key[0] == last) {
            before = beats[i];
            calls_before = calls;
        }
        if (calls > most) {
            most = calls;
            best = beats[i];
        }
    }
    return before && 2 * calls_before >= most ? before : best;
}

struct live_passes live_passes_find(const struct keytable *sites, const struct live_job *job, struct live_share share,
                                    uint64_t last)
{
    const struct live_site **beats = calloc(sites->count + 1, sizeof *beats);
    size_t ranks = 0, count = 0;
    for (size_t i = 0; i < job->count; i++)
        ranks += counts_passes(job, &job->processes[i], share);
    for (size_t i = 0; beats && i < sites->capacity; i++)
        for (const struct keyed *keyed = sites->buckets[i]; keyed; keyed = keyed->next)
            if (may_be_beat((const struct live_site *)keyed, ranks))
                beats[count++] = (const struct live_site *)keyed;
    if (count)
        qsort(beats, count, sizeof *beats, by_least);
    const struct live_site *beat = count ? beat_choose(beats, count, last) : NULL;
    free(beats);
    return beat ? (struct live_passes){beat->keyed.key[0], beat->least} : (struct live_passes){0, 0};
}
