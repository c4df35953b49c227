/* Passes of the program's loop, as its ranks count them: a call at a place that all ranks have made about equally often. */
#include "top/topmodel.h"

#include "calls.h"
#include "summary/summarysites.h"

#include <stdlib.h>

enum { PASSES_LEAST = 5, PASSES_APART = 2 };

/* The calls at a place. */
struct live_beat {
    struct keyed keyed; /* place, 0 */
    size_t ranks;
    uint64_t least, most; /* of a rank */
};

/* A poll may find nothing, and a loop over neighbours makes several other calls in a pass. */
static bool ends_a_pass(unsigned kind)
{
    return kind < CALL_COUNT &&
           (call_table[kind].fold == FOLD_COLL || kind == CALL_MPI_Waitall || kind == CALL_MPI_Win_fence);
}

/* Adds the calls of a process. */
static void beats_count(struct keytable *beats, struct call_places *places, const struct run_reader *run)
{
    struct path_cells *sums = run->path_count ? paths_sum(run) : NULL;
    uint32_t *list = sums ? call_places_of(places, run) : NULL;
    for (uint32_t number = 1; list && number < run->path_count; number++) {
        const struct path_record *path = run_reader_path_of(run, number);
        uint64_t calls = sums[number].calls;
        if (!path || !list[number] || !calls || !ends_a_pass(path->kind))
            continue;
        struct live_beat *beat = keytable_make(beats, list[number], 0, sizeof *beat);
        if (!beat)
            break;
        beat->least = !beat->ranks || calls < beat->least ? calls : beat->least;
        beat->most = calls > beat->most ? calls : beat->most;
        beat->ranks++;
    }
    free(list);
    free(sums);
}

static bool may_be_beat(const struct live_beat *beat, size_t ranks)
{
    return beat->ranks == ranks && beat->least >= PASSES_LEAST && beat->most - beat->least <= PASSES_APART;
}

/* Calls of all places that are about as frequent: the loop with most of them is the one. */
static uint64_t calls_alike(const struct keytable *beats, const struct live_beat *as, size_t ranks)
{
    uint64_t calls = 0;
    for (size_t i = 0; i < beats->capacity; i++)
        for (const struct keyed *keyed = beats->buckets[i]; keyed; keyed = keyed->next) {
            const struct live_beat *beat = (const struct live_beat *)keyed;
            bool alike = beat->least <= as->least + PASSES_APART && as->least <= beat->least + PASSES_APART;
            calls += may_be_beat(beat, ranks) && alike ? beat->least : 0;
        }
    return calls;
}

/* The last one stays if it has half of the calls of the best: it does not change with each look. NULL: there is none. */
static const struct live_beat *beat_choose(const struct keytable *beats, size_t ranks, uint32_t last)
{
    const struct live_beat *best = NULL, *before = last ? keytable_find(beats, last, 0) : NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < beats->capacity; i++)
        for (const struct keyed *keyed = beats->buckets[i]; keyed; keyed = keyed->next) {
            const struct live_beat *beat = (const struct live_beat *)keyed;
            uint64_t calls = may_be_beat(beat, ranks) ? calls_alike(beats, beat, ranks) : 0;
            if (calls > most) {
                most = calls;
                best = beat;
            }
        }
    bool stays = before && may_be_beat(before, ranks) && 2 * calls_alike(beats, before, ranks) >= most;
    return stays ? before : best;
}

void top_passes_find(struct top_job *job, const struct live_job *live, struct call_places *places)
{
    struct keytable beats = {.count = 0};
    struct top_passes before = job->passes;
    size_t ranks = 0;
    for (size_t i = 0; i < live->count; i++)
        if (live->processes[i].readable && live->processes[i].alive) {
            beats_count(&beats, places, &live->processes[i].run);
            ranks++;
        }
    const struct live_beat *beat = beat_choose(&beats, ranks, before.place);
    job->passes =
        (struct top_passes){.place = beat ? (uint32_t)beat->keyed.key[0] : 0, .count = beat ? beat->least : 0};
    struct top_passes *now = &job->passes;
    bool goes_on = now->place && now->place == before.place && now->count >= before.count;
    uint64_t passes = goes_on ? now->count - before.count : now->count, ns = goes_on ? job->interval_ns : job->run_ns;
    now->per_second = ns ? (double)passes * 1e9 / (double)ns : 0;
    now->none_ns = goes_on && !passes ? before.none_ns + job->interval_ns : 0;
    keytable_release(&beats, NULL);
}
