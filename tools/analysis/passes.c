#include "analysis/passes.h"

#include "base/array.h"

#include <stdlib.h>

enum { PASSES_LEAST = 5, PEERS = 256 };

/* Ranks may have so many calls more in a part of a run. */
enum { PART_SLACK = 2 };

/* Of what was read: passes that take less are no loop that matters. */
#define COVER_LEAST 0.25
/* Loops that cover about the same. */
#define SAME_COVER 0.9

/* A pass of 2 to this power times the usual length is long. An inner loop has so many, and one in so many, or more. */
enum { LONG = 2, LONG_LEAST = 3, LONG_PART = 8 };

uint64_t beat_key(uint32_t place, unsigned function, int32_t peer)
{
    return (uint64_t)place << 32 | (uint64_t)function << 16 | (peer < 0 ? PEERS : (unsigned)peer % PEERS);
}

bool beat_count(struct keytable *beats, uint64_t key, int32_t rank, uint64_t end_ns)
{
    struct beat_sum *sum = keytable_make(beats, key, (uint64_t)(uint32_t)rank, sizeof *sum);
    if (!sum)
        return false;
    if (!sum->count++) {
        sum->first_ns = sum->last_ns = end_ns;
        return true;
    }
    uint64_t ns = end_ns > sum->last_ns ? end_ns - sum->last_ns : 0;
    unsigned length = ns ? 63 - (unsigned)__builtin_clzll(ns) : 0;
    sum->lengths[length < PASS_LENGTHS ? length : PASS_LENGTHS - 1]++;
    sum->last_ns = end_ns;
    return true;
}

/* ---- the beat ---------------------------------------------------------------------------------------------------- */

/* The sums, by rank, and then by their counts. */
struct beat_list {
    const struct beat_sum **sums;
    size_t count;
    const struct beat_reading *of;
};

static uint32_t rank_of(const struct beat_sum *sum)
{
    return (uint32_t)sum->keyed.key[1];
}

static int sum_order(const void *one, const void *other)
{
    const struct beat_sum *a = *(const struct beat_sum *const *)one, *b = *(const struct beat_sum *const *)other;
    return ORDER(rank_of(a), rank_of(b)) ?: ORDER(a->count, b->count) ?: ORDER(a->keyed.key[0], b->keyed.key[0]);
}

/* The passes between the calls, and one more for the first. */
static double cover_of(const struct beat_list *list, const struct beat_sum *sum)
{
    double ns = (double)(sum->last_ns - sum->first_ns) * (double)sum->count / (double)(sum->count - 1);
    return list->of->ns ? ns / (double)list->of->ns : 0;
}

/* Calls that follow each other closely, with the rest of the loop after some of them: an inner loop. `surely`: there are too many of
 * these for a few slow passes. */
static bool comes_in_bursts(const struct beat_sum *sum, bool surely)
{
    uint64_t before = 0, few = 0;
    unsigned usual = 0;
    double all_ns = 0, few_ns = 0;
    while (usual < PASS_LENGTHS - 1 && 2 * (before += sum->lengths[usual]) < sum->count - 1)
        usual++;
    for (unsigned i = 0; i < PASS_LENGTHS; i++) {
        double ns = (double)sum->lengths[i] * (double)(UINT64_C(3) << i) / 2;
        all_ns += ns;
        few += i > usual + LONG ? sum->lengths[i] : 0;
        few_ns += i > usual + LONG ? ns : 0;
    }
    return few >= LONG_LEAST && 2 * few_ns > all_ns && (!surely || few * LONG_PART >= sum->count);
}

/* The sums of a rank with this count: the first one, and how many. */
static size_t alike_find(const struct beat_list *list, int32_t rank, uint64_t count, size_t *first)
{
    const struct beat_sum *const *sums = list->sums;
    size_t end = *first =
        ARRAY_FIRST(i, 0, list->count, (ORDER(rank_of(sums[i]), (uint32_t)rank) ?: ORDER(sums[i]->count, count)) >= 0);
    while (end < list->count && rank_of(sums[end]) == (uint32_t)rank && sums[end]->count == count)
        end++;
    return end - *first;
}

/* Of the calls of a rank that are made so often: those that cover most, and of them the last in the loop. NULL: none. */
static const struct beat_sum *beat_of_rank(const struct beat_list *list, int32_t rank, uint64_t count)
{
    size_t first, alike = alike_find(list, rank, count, &first);
    const struct beat_sum *best = NULL;
    double most = 0;
    for (size_t i = first; i < first + alike; i++)
        most = cover_of(list, list->sums[i]) > most ? cover_of(list, list->sums[i]) : most;
    for (size_t i = first; i < first + alike; i++)
        if (cover_of(list, list->sums[i]) >= SAME_COVER * most && (!best || list->sums[i]->first_ns > best->first_ns))
            best = list->sums[i];
    return best;
}

/* The same call on another rank. */
static const struct beat_sum *beat_of_all(const struct keytable *beats, const struct beat_sum *first, int32_t rank,
                                          uint64_t slack)
{
    const struct beat_sum *sum = keytable_find(beats, first->keyed.key[0], (uint64_t)(uint32_t)rank);
    return sum && sum->count <= first->count + slack && sum->count + slack >= first->count ? sum : NULL;
}

/* Fills in the calls of all ranks that belong to a call of rank 0. Returns the time that they cover, the least of a rank.
 * 0: a rank has none, or they are an inner loop, perhaps or (`surely`) in any case. */
static double beat_take(struct beat *beat, const struct beat_list *list, const struct keytable *beats,
                        const struct beat_sum *first, bool surely)
{
    double cover = INT32_MAX;
    int32_t bursts = 0;
    beat->count = first->count;
    for (int32_t r = 0; r < list->of->ranks; r++) {
        const struct beat_sum *sum = beat_of_all(beats, first, r, list->of->part ? PART_SLACK : 0);
        if (!sum && !list->of->part) /* it has a call of its own, or another peer */
            sum = beat_of_rank(list, r, first->count);
        if (!sum)
            return 0;
        double own = cover_of(list, sum);
        cover = own < cover ? own : cover;
        bursts += comes_in_bursts(sum, surely);
        beat->keys[r] = sum->keyed.key[0];
        beat->skipped[r] = sum->count; /* all of them, so far */
        beat->count = sum->count < beat->count ? sum->count : beat->count;
    }
    for (int32_t r = 0; r < list->of->ranks; r++)
        beat->skipped[r] = list->of->is_last ? beat->skipped[r] - beat->count : 0;
    return 2 * bursts > list->of->ranks ? 0 : cover;
}

/* Of the loops of rank 0 that cover most: the one with most calls. `surely`: as above. */
static const struct beat_sum *loop_find(struct beat *beat, const struct beat_list *list, const struct keytable *beats,
                                        bool surely)
{
    const struct beat_sum *best = NULL;
    double most = 0, calls = 0;
    for (int reading = 0; reading < 2; reading++)
        for (size_t i = 0, alike; i < list->count && rank_of(list->sums[i]) == 0; i += alike) {
            size_t first, first_count = list->sums[i]->count;
            alike = alike_find(list, 0, first_count, &first);
            const struct beat_sum *sum = first_count >= PASSES_LEAST ? beat_of_rank(list, 0, first_count) : NULL;
            double cover = sum ? beat_take(beat, list, beats, sum, surely) : 0;
            if (reading == 0) {
                most = cover > most ? cover : most;
            } else if (cover >= SAME_COVER * most && cover >= COVER_LEAST &&
                       (double)alike * (double)first_count > calls) {
                calls = (double)alike * (double)first_count;
                best = sum;
            }
        }
    return best;
}

int beat_find(struct beat *beat, const struct keytable *beats, const struct beat_reading *of)
{
    struct beat_list list = {.sums = calloc(beats->count + 1, sizeof *list.sums), .of = of};
    *beat = (struct beat){.keys = calloc((size_t)of->ranks + 1, sizeof *beat->keys),
                          .skipped = calloc((size_t)of->ranks + 1, sizeof *beat->skipped)};
    bool good = list.sums && beat->keys && beat->skipped;
    for (size_t i = 0; good && i < beats->capacity; i++)
        for (const struct keyed *keyed = beats->buckets[i]; keyed; keyed = keyed->next)
            list.sums[list.count++] = (const struct beat_sum *)keyed;
    if (good && list.count)
        qsort(list.sums, list.count, sizeof *list.sums, sum_order);
    const struct beat_sum *first = good ? loop_find(beat, &list, beats, false) : NULL;
    first = first || !good ? first : loop_find(beat, &list, beats, true);
    if (!first || beat_take(beat, &list, beats, first, true) <= 0)
        beat->count = 0;
    free(list.sums);
    return good ? 0 : -1;
}

void beat_release(struct beat *beat)
{
    free(beat->keys);
    free(beat->skipped);
    *beat = (struct beat){.count = 0};
}

/* ---- the passes -------------------------------------------------------------------------------------------------- */

struct pass_rank {
    uint64_t calls;          /* so far */
    struct pass_clock since; /* after the last one */
    uint64_t useful_ns;      /* in this window */
    uint64_t longest_ns;     /* computation of this pass, */
    uint32_t longest;        /* and its segment */
};

struct passes *passes_open(const struct beat *beat, int32_t ranks)
{
    struct passes *passes = calloc(1, sizeof *passes);
    if (!passes)
        return NULL;
    uint64_t timed = beat->count - 1;
    *passes = (struct passes){.beat = beat,
                              .ranks = ranks,
                              .ends = calloc(beat->count, sizeof *passes->ends),
                              .list = calloc((size_t)ranks + 1, sizeof *passes->list),
                              .window_count = timed < PASS_WINDOWS ? (size_t)timed : PASS_WINDOWS};
    if (passes->ends && passes->list)
        return passes;
    passes_release(passes);
    return NULL;
}

void passes_release(struct passes *passes)
{
    if (!passes)
        return;
    free(passes->ends);
    free(passes->list);
    free(passes);
}

size_t pass_window_of(const struct passes *passes, uint64_t pass)
{
    return (size_t)((pass - 2) * passes->window_count / (passes->beat->count - 1));
}

void passes_compute(struct passes *passes, int32_t rank, uint32_t segment, uint64_t ns)
{
    struct pass_rank *own = &passes->list[rank];
    if (ns <= own->longest_ns)
        return;
    own->longest_ns = ns;
    own->longest = segment;
}

/* Adds what a rank did in a pass. */
static void pass_add(struct passes *passes, int32_t rank, size_t window, const struct pass_clock *now)
{
    struct pass_rank *own = &passes->list[rank];
    struct pass_sums *sum = &passes->windows[window];
    struct pass_longest *longest = &passes->longest[window];
    uint64_t ns = now->ns - own->since.ns, useful = now->useful_ns - own->since.useful_ns,
             off = now->off_ns - own->since.off_ns, stalled = now->stalled_ns - own->since.stalled_ns,
             inside = ns > useful ? ns - useful : 0;
    stalled = stalled < inside ? stalled : inside;
    sum->computing_ns += useful - off;
    sum->off_ns += off;
    sum->stalled_ns += stalled;
    sum->work_ns += inside - stalled;
    own->useful_ns += useful;
    if (own->longest_ns > longest->ns)
        *longest = (struct pass_longest){own->longest_ns, own->longest, rank};
}

/* A rank has ended its passes of the window. */
static void window_close(struct passes *passes, int32_t rank, size_t window)
{
    struct pass_rank *own = &passes->list[rank];
    struct pass_sums *sum = &passes->windows[window];
    sum->most_ns = own->useful_ns > sum->most_ns ? own->useful_ns : sum->most_ns;
    own->useful_ns = 0;
}

void passes_call(struct passes *passes, int32_t rank, uint64_t key, const struct pass_clock *now)
{
    const struct beat *beat = passes->beat;
    struct pass_rank *own = &passes->list[rank];
    if (key != beat->keys[rank])
        return;
    uint64_t call = own->calls++;
    if (call < beat->skipped[rank] || call >= beat->skipped[rank] + beat->count)
        return;
    uint64_t pass = call - beat->skipped[rank] + 1;
    uint64_t *end = &passes->ends[pass - 1];
    *end = now->ns > *end ? now->ns : *end;
    size_t window = pass > 1 ? pass_window_of(passes, pass) : 0, ideal = pass > 1 ? window + 1 : 0;
    if (pass > 1)
        pass_add(passes, rank, window, now);
    if (pass > 1 && (pass == beat->count || pass_window_of(passes, pass + 1) != window))
        window_close(passes, rank, window);
    passes->ideal_ns[ideal] = now->ideal_ns > passes->ideal_ns[ideal] ? now->ideal_ns : passes->ideal_ns[ideal];
    own->since = *now;
    own->longest_ns = own->longest = 0;
}
