#include "cures/cures.h"

#include "base/array.h"
#include "cures/passfigures.h"
#include "placement/placement.h"
#include "summary/hostload.h"
#include "summary/summarysites.h"

#include <math.h>
#include <stdlib.h>

/* Of the run: a smaller gain is no finding. */
#define LEAST_GAIN 0.02
/* The same, of a cure that the program's data may not allow. */
#define LEAST_DOUBTFUL_GAIN 0.05
/* Gains are about the same from this share on. */
#define SAME_GAIN 0.8
/* Others take so much less in a segment that only one rank has work there. */
#define ALONE_SHARE 0.1

/* Of the run: the world without a change may end so much later than the run, as clocks of hosts differ. */
#define DRIFT_MOST 0.01

enum { SEGMENTS_TRIED = 8 };

/* Of all readings for cures: a long trace has fewer of them, but at least one. */
enum { CALLS_REPLAYED_MOST = 8000000 };

struct cure_search {
    const struct analysis *analysis;
    struct summary *summary;
    struct segment_figures *segments; /* the uneven ones first */
    size_t segment_count;
    double run_ns;        /* without the cures below: as recorded, or with a processor for each rank */
    bool processors;      /* ranks share them */
    double *delay_shares; /* by rank: of the computing time without a processor, the share in which it wanted one */
    double *useful_ns, *work_ns;    /* by rank, in the run with the cures found so far: between calls, and in them */
    double *factors, *work_factors; /* by rank: they make these times even */
    double *had;                    /* by rank: the share of the time that it had a processor, of what it wanted */
    uint8_t *groups;
    double *usual_ns;
    uint32_t *hosts, *better_hosts; /* by rank, if another order of ranks is tried */
    struct transfer_times times;
    struct cure tried[WORLDS_MOST];
    size_t tried_count;
    struct world base; /* the cures found so far */
};

/* ---- figures ----------------------------------------------------------------------------------------------------- */

/* The time of the longest rank beyond the mean, at each visit. */
static double excess_of(const struct analysis *analysis, const struct segment_figures *figures)
{
    const struct segment_course *course = segment_course_of(&analysis->segments, figures->number);
    double sum = 0;
    for (size_t i = 0; course && i < course->count; i++) {
        const struct segment_visit *visit = &course->visits[i];
        sum += figures->ranks > 1 && visit->ranks ? visit->most_ns - visit->ns / visit->ranks : visit->most_ns;
    }
    return sum;
}

struct excess {
    struct segment_figures figures;
    double ns;
};

static int by_excess(const void *one, const void *other)
{
    double a = ((const struct excess *)one)->ns, b = ((const struct excess *)other)->ns;
    return ORDER(b, a);
}

static void segments_sort(struct cure_search *search)
{
    size_t count = search->segment_count;
    double least =
        search->processors ? 0 : LEAST_GAIN * search->run_ns; /* what the run takes with them is not known yet */
    struct excess *list = calloc(count + 1, sizeof *list);
    for (size_t i = 0; list && i < count; i++)
        list[i] = (struct excess){search->segments[i], excess_of(search->analysis, &search->segments[i])};
    if (list)
        qsort(list, count, sizeof *list, by_excess);
    search->segment_count = 0;
    for (size_t i = 0; list && i < count && i < SEGMENTS_TRIED && list[i].ns > least; i++)
        search->segments[search->segment_count++] = list[i].figures;
    free(list);
}

static bool is_cured(const struct cure_search *search, enum cure_kind kind)
{
    for (size_t i = 0; i < search->base.count; i++)
        if (search->base.cures[i].kind == kind)
            return true;
    return false;
}

/* The times of the ranks in a world, and the factors that make them the mean: of a cure that is not one of this world's. */
static void world_times_take(double *times, double *factors, const struct analysis *reading, const double *all,
                             size_t world)
{
    int32_t size = reading->job.size;
    double mean = 0;
    for (int32_t r = 0; r < size; r++) {
        times[r] = all[(size_t)r * reading->worlds + world];
        mean += times[r] / size;
    }
    for (int32_t r = 0; factors && r < size; r++)
        factors[r] = times[r] > 0 ? mean / times[r] : 1;
}

static void search_take(struct cure_search *search, const struct analysis *reading, size_t world)
{
    double *even = is_cured(search, CURE_EVEN) ? NULL : search->factors;
    double *even_work = is_cured(search, CURE_EVEN_WORK) ? NULL : search->work_factors;
    world_times_take(search->useful_ns, even, reading, reading->useful_ns, world);
    world_times_take(search->work_ns, even_work, reading, reading->work_ns, world);
}

static bool ranks_share_processors(const struct summary *summary)
{
    struct host_load *loads = host_loads_of(summary);
    bool shared = false;
    for (uint32_t i = 0; loads && i < summary->host_count; i++)
        shared |= loads[i].crowded_ranks != 0;
    free(loads);
    return shared;
}

/* What a rank sleeps, it sleeps while it computes. The rest of what it computes without a processor is delay. */
static void delays_find(struct cure_search *search)
{
    for (int32_t r = 0; r < search->analysis->job.size; r++) {
        const struct rank_times *times = &search->analysis->rank_times[r];
        double off = times->run_ns ? (double)times->off_ns / (double)times->run_ns : 0,
               *share = &search->delay_shares[r];
        *share = off > *share ? 1 - *share / off : 0;
    }
}

static int search_open(struct cure_search *search, const struct analysis *analysis, struct summary *summary)
{
    uint32_t places = call_places_count(analysis->places);
    *search = (struct cure_search){.analysis = analysis,
                                   .summary = summary,
                                   .run_ns = (double)analysis->ideal.run_ns,
                                   .processors = ranks_share_processors(summary)};
    search->segments = segments_by_cost(&analysis->segments, &search->segment_count);
    search->segment_count = search->segments ? search->segment_count : 0;
    search->useful_ns = calloc((size_t)analysis->job.size + 1, sizeof *search->useful_ns);
    search->work_ns = calloc((size_t)analysis->job.size + 1, sizeof *search->work_ns);
    search->work_factors = calloc((size_t)analysis->job.size + 1, sizeof *search->work_factors);
    search->factors = calloc((size_t)analysis->job.size + 1, sizeof *search->factors);
    search->had = row_processor_shares(summary, analysis->job.size);
    search->delay_shares = row_asleep_shares(summary, analysis->job.size);
    search->groups = calloc((size_t)places + 1, 1);
    search->usual_ns = calloc((size_t)places + 1, sizeof *search->usual_ns);
    if (!search->useful_ns || !search->work_ns || !search->work_factors || !search->factors || !search->had ||
        !search->delay_shares || !search->groups || !search->usual_ns)
        return -1;
    delays_find(search);
    search_take(search, analysis, WORLD_RECORDED);
    segments_sort(search);
    for (uint32_t place = 1; place <= places; place++) {
        const struct summary_site *site = summary_site_of(&summary->sites, call_place_hash(analysis->places, place));
        search->groups[place] = site ? call_group_of(site) : GROUP_NONE;
        search->usual_ns[place] = place_work_usual(&analysis->works, place, search->processors);
    }
    return 0;
}

static void search_release(struct cure_search *search)
{
    free(search->segments);
    free(search->useful_ns);
    free(search->work_ns);
    free(search->work_factors);
    free(search->factors);
    free(search->had);
    free(search->delay_shares);
    free(search->groups);
    free(search->usual_ns);
    free(search->hosts);
    free(search->better_hosts);
}

/* ---- candidates -------------------------------------------------------------------------------------------------- */

static void try_add(struct cure_search *search, struct cure cure)
{
    if (search->tried_count < WORLDS_MOST - WORLDS_FIXED - 1)
        search->tried[search->tried_count++] = cure;
}

/* The root of collectives alone takes longer there, and all others wait for it. What it does more need not be spread. */
static bool is_of_root(const struct cure_search *search, const struct segment_figures *figures)
{
    const struct segment_sum *sum =
        keytable_find(&search->analysis->segments.sums, figures->number, (uint64_t)(uint32_t)figures->max_rank);
    double others = figures->ranks > 1 ? (double)(figures->sum_ns - figures->max_ns) / (figures->ranks - 1) : 0;
    bool alone = others < ALONE_SHARE * (double)figures->max_ns;
    bool even = figures->ranks > 2 && (double)figures->min_ns > (1 - ALONE_SHARE) * others;
    return sum && sum->roots_ns > sum->blamed_ns / 2 && (alone || even);
}

static void segments_try(struct cure_search *search)
{
    for (size_t i = 0; i < search->segment_count; i++) {
        const struct segment_figures *figures = &search->segments[i];
        if (is_of_root(search, figures)) {
            try_add(search, (struct cure){CURE_AS_OTHERS, figures->number, figures->max_rank, GROUP_NONE, 0});
        } else if (figures->ranks > 1) {
            try_add(search, (struct cure){CURE_BALANCED, figures->number, -1, GROUP_NONE, 0});
            try_add(search, (struct cure){CURE_LEVELLED, figures->number, -1, GROUP_NONE, 0});
        } else {
            try_add(search, (struct cure){CURE_BALANCED, figures->number, figures->max_rank, GROUP_NONE, 0});
        }
    }
}

static void placement_try(struct cure_search *search)
{
    const struct summary *summary = search->summary;
    size_t size = (size_t)search->analysis->job.size;
    if (!placement_is_better(&summary->traced.placement) || size != summary->row_count)
        return;
    search->hosts = calloc(size, sizeof *search->hosts);
    search->better_hosts = calloc(size, sizeof *search->better_hosts);
    for (size_t r = 0; search->hosts && search->better_hosts && r < size; r++) {
        search->hosts[r] = summary->rows[r].host;
        search->better_hosts[r] = summary->rows[r].better_host;
    }
    transfer_times_find(&search->times, &search->analysis->network);
    if (search->hosts && search->better_hosts)
        try_add(search, (struct cure){CURE_PLACEMENT, 0, -1, GROUP_NONE, 0});
}

static void candidates_make(struct cure_search *search)
{
    static const enum cure_kind kinds[CALL_GROUPS] = {
        [GROUP_SMALL_MESSAGES] = CURE_CHEAP, [GROUP_SMALL_COLLECTIVES] = CURE_CHEAP, [GROUP_BARRIERS] = CURE_FREE,
        [GROUP_OBJECTS] = CURE_FREE,         [GROUP_SMALL_IO] = CURE_CHEAP,          [GROUP_POLLS] = CURE_CHEAP};
    placement_try(search);
    if (!search->processors)
        try_add(search, (struct cure){CURE_ON_PROCESSOR, 0, -1, GROUP_NONE, 0});
    try_add(search, (struct cure){CURE_RECEIVES_EARLY, 0, -1, GROUP_NONE, 0});
    try_add(search, (struct cure){CURE_ANY_ORDER, 0, -1, GROUP_NONE, 0});
    try_add(search, (struct cure){CURE_POSTS_EARLY, 0, -1, GROUP_NONE, 0});
    try_add(search, (struct cure){CURE_SENDS_EARLY, 0, -1, GROUP_NONE, 0});
    try_add(search, (struct cure){CURE_PROGRESS, 0, -1, GROUP_NONE, 0});
    try_add(search, (struct cure){CURE_LOCKS_SHORT, 0, -1, GROUP_NONE, 0});
    for (enum call_group group = GROUP_NONE + 1; group < CALL_GROUPS; group++) {
        struct group_sum sum = call_group_sum(search->summary, group);
        if (call_group_is_large(&sum, group, search->analysis->job.size))
            try_add(search, (struct cure){kinds[group], 0, -1, group, 0});
    }
    if (search->analysis->job.size > 1) {
        try_add(search, (struct cure){CURE_EVEN, 0, -1, GROUP_NONE, 0});
        try_add(search, (struct cure){CURE_EVEN_WORK, 0, -1, GROUP_NONE, 0});
        try_add(search, (struct cure){CURE_AT_ONCE, 0, -1, GROUP_NONE, 0});
    }
    segments_try(search);
}

/* ---- what a cure is about ---------------------------------------------------------------------------------------- */

static double rank_ns(const struct cure_search *search, uint32_t segment, int32_t rank)
{
    const struct segment_sum *sum = keytable_find(&search->analysis->segments.sums, segment, (uint64_t)(uint32_t)rank);
    return sum ? (double)sum->ns : 0;
}

/* The ranks that take longest, without those that are like most. */
static void long_ranks_take(struct summary_cure *found, const double *times, int32_t size)
{
    int32_t longest = 0;
    double mean = 0;
    for (int32_t r = 0; r < size; r++) {
        longest = times[r] > times[longest] ? r : longest;
        mean += times[r] / size;
    }
    rank_list_add(&found->causes, longest);
    for (int32_t r = 0; r < size; r++)
        if (r != longest && times[r] > (mean + times[longest]) / 2)
            rank_list_add(&found->causes, r);
}

static void segment_ranks_take(const struct cure_search *search, struct summary_cure *found, uint32_t segment)
{
    int32_t size = search->analysis->job.size;
    double *times = calloc((size_t)size + 1, sizeof *times);
    for (int32_t r = 0; times && r < size; r++)
        times[r] = rank_ns(search, segment, r);
    if (times)
        long_ranks_take(found, times, size);
    free(times);
}

/* The ranks that lacked a processor, the one that lacked it most first. */
static void interrupted_ranks_take(const struct cure_search *search, struct summary_cure *found)
{
    int32_t size = search->analysis->job.size, worst = 0;
    for (int32_t r = 0; r < size; r++)
        worst = search->had[r] < search->had[worst] ? r : worst;
    rank_list_add(&found->causes, worst);
    for (int32_t r = 0; r < size; r++)
        if (r != worst && search->had[r] < 1)
            rank_list_add(&found->causes, r);
}

/* The segment in which this rank exceeds the others most. NULL: none. */
static const struct segment_figures *longest_segment(const struct cure_search *search, int32_t rank)
{
    const struct segment_figures *longest = NULL;
    double most = 0;
    for (size_t i = 0; i < search->segment_count; i++) {
        const struct segment_figures *figures = &search->segments[i];
        double ns = rank_ns(search, figures->number, rank);
        double more = ns - ((double)figures->sum_ns - ns) / (search->analysis->job.size - 1);
        if (more > most) {
            most = more;
            longest = figures;
        }
    }
    return longest;
}

static const struct segment_figures *segment_figures_of(const struct cure_search *search, uint32_t number)
{
    for (size_t i = 0; i < search->segment_count; i++)
        if (search->segments[i].number == number)
            return &search->segments[i];
    return NULL;
}

/* The longest waits of these patterns, for this rank or for any (-1). NULL: none. */
static const struct wait_place *longest_wait(const struct cure_search *search, int32_t rank, unsigned patterns,
                                             uint32_t segment)
{
    const struct analysis *analysis = search->analysis;
    const struct wait_place *longest = NULL;
    for (size_t i = 0; i < analysis->wait_places.capacity; i++)
        for (const struct keyed *keyed = analysis->wait_places.buckets[i]; keyed; keyed = keyed->next) {
            const struct wait_place *wait = (const struct wait_place *)keyed;
            bool fits = patterns >> (keyed->key[0] >> 56) & 1 &&
                        (rank < 0 || (int32_t)(uint32_t)keyed->key[1] == rank) &&
                        (!segment || wait->segment == segment);
            if (fits && (!longest || wait->ns > longest->ns))
                longest = wait;
        }
    return longest;
}

static uint32_t waiting_place(const struct wait_place *wait)
{
    return (uint32_t)(wait->keyed.key[0] >> 28 & WAIT_PLACES_MOST);
}

/* The place that waits, and the ranks that wait there about as long as the one that waits longest. */
static void waiting_tell(const struct cure_search *search, struct summary_cure *found, const struct wait_place *at)
{
    const struct analysis *analysis = search->analysis;
    int32_t size = analysis->job.size;
    uint64_t *waits = at ? calloc((size_t)size + 1, sizeof *waits) : NULL, most = 0;
    found->waits = at ? call_place_hash(analysis->places, waiting_place(at)) : 0;
    for (size_t i = 0; waits && i < analysis->wait_places.capacity; i++)
        for (const struct keyed *keyed = analysis->wait_places.buckets[i]; keyed; keyed = keyed->next) {
            const struct wait_place *wait = (const struct wait_place *)keyed;
            uint64_t *sum = &waits[keyed->key[1] >> 32];
            *sum += waiting_place(wait) == waiting_place(at) ? wait->ns : 0;
            most = *sum > most ? *sum : most;
        }
    for (int32_t r = 0; waits && r < size; r++)
        if (most && waits[r] > most / 2)
            rank_list_add(&found->waiting, r);
    free(waits);
}

/* The rank whose calls others wait for in these patterns, and their place. */
static void awaited_tell(const struct cure_search *search, struct summary_cure *found, unsigned patterns)
{
    const struct wait_place *longest = longest_wait(search, -1, patterns, 0);
    if (!longest)
        return;
    const struct segment_pair *pair = segment_pair_of(&search->analysis->segments, longest->segment);
    waiting_tell(search, found, longest);
    found->from = pair ? call_place_hash(search->analysis->places, (uint32_t)pair->keyed.key[0]) : 0;
    found->to = call_place_hash(search->analysis->places, pair ? (uint32_t)pair->keyed.key[1]
                                                               : (uint32_t)(longest->keyed.key[0] & WAIT_PLACES_MOST));
    if (patterns != 1u << WAIT_FOR_LOCK)
        rank_list_add(&found->causes, pair ? longest->segment_rank : (int32_t)(uint32_t)longest->keyed.key[1]);
}

/* The rank that waits less if it takes messages in the order in which they come, and its receive. */
static void receiver_tell(const struct cure_search *search, const struct analysis *reading, struct summary_cure *found)
{
    const struct analysis_sum *most = NULL;
    for (size_t i = 0; i < reading->orders.capacity; i++)
        for (const struct keyed *keyed = reading->orders.buckets[i]; keyed; keyed = keyed->next) {
            const struct analysis_sum *sum = (const struct analysis_sum *)keyed;
            if (!most || sum->amount > most->amount)
                most = sum;
        }
    if (!most)
        return;
    found->waits = found->from = found->to = call_place_hash(search->analysis->places, (uint32_t)most->keyed.key[1]);
    rank_list_add(&found->causes, (int32_t)most->keyed.key[0]);
    rank_list_add(&found->waiting, (int32_t)most->keyed.key[0]);
}

static void segment_tell(const struct cure_search *search, struct summary_cure *found,
                         const struct segment_figures *figures)
{
    if (!figures)
        return;
    int32_t rank = found->causes.ranks[0];
    const struct segment_sum *sum =
        keytable_find(&search->analysis->segments.sums, figures->number, (uint64_t)(uint32_t)rank);
    double own = sum ? (double)sum->ns : 0;
    found->from = call_place_hash(search->analysis->places, figures->from);
    found->to = call_place_hash(search->analysis->places, figures->to);
    found->own_ns = (uint64_t)own;
    found->off_ns = sum ? sum->off_ns : 0;
    found->others_ns = figures->ranks > 1 ? (figures->sum_ns - found->own_ns) / (figures->ranks - 1) : 0;
}

enum { ALL_PATTERNS = (1 << WAIT_PATTERNS) - 1 };

static struct summary_cure cure_tell(const struct cure_search *search, const struct analysis *reading,
                                     const struct cure *cure, double gain_ns, double base_ns, bool moves)
{
    struct summary_cure found = {.kind = cure->kind,
                                 .group = cure->group,
                                 .moves = moves,
                                 .gain_ns = (uint64_t)gain_ns,
                                 .run_ns = (uint64_t)(base_ns - gain_ns)};
    const struct segment_figures *figures = segment_figures_of(search, cure->segment);
    switch (cure->kind) {
    case CURE_EVEN:
        long_ranks_take(&found, search->useful_ns, search->analysis->job.size);
        figures = longest_segment(search, found.causes.ranks[0]);
        segment_tell(search, &found, figures);
        break;
    case CURE_EVEN_WORK:
        long_ranks_take(&found, search->work_ns, search->analysis->job.size);
        found.own_ns = (uint64_t)search->work_ns[found.causes.ranks[0]];
        break;
    case CURE_BALANCED:
    case CURE_AS_OTHERS:
        if (!moves)
            segment_ranks_take(search, &found, cure->segment);
        segment_tell(search, &found, figures);
        break;
    case CURE_CHEAP:
    case CURE_FREE:
        found.waits = call_group_sum(search->summary, cure->group).longest->hash;
        return found;
    case CURE_RECEIVES_EARLY:
        awaited_tell(search, &found, 1u << WAIT_LATE_RECEIVER);
        return found;
    case CURE_PLACEMENT:
        waiting_tell(search, &found, longest_wait(search, -1, 1u << WAIT_LATE_SENDER | 1u << WAIT_LATE_RECEIVER, 0));
        return found;
    case CURE_ON_PROCESSOR:
        interrupted_ranks_take(search, &found);
        figures = longest_segment(search, found.causes.ranks[0]);
        segment_tell(search, &found, figures);
        break;
    case CURE_ANY_ORDER:
        receiver_tell(search, reading, &found);
        return found;
    case CURE_POSTS_EARLY:
        awaited_tell(search, &found, 1u << WAIT_LATE_POST);
        return found;
    case CURE_PROGRESS:
        awaited_tell(search, &found, 1u << WAIT_LATE_PROGRESS);
        return found;
    case CURE_LOCKS_SHORT:
        awaited_tell(search, &found, 1u << WAIT_FOR_LOCK);
        return found;
    default:
        awaited_tell(search, &found, 1u << WAIT_LATE_SENDER | 1u << WAIT_LATE_COMPLETE);
        return found;
    }
    const struct wait_place *wait = longest_wait(search, -1, ALL_PATTERNS, figures ? figures->number : 0);
    if (!wait)
        wait = longest_wait(search, found.causes.count ? found.causes.ranks[0] : -1, ALL_PATTERNS, 0);
    waiting_tell(search, &found, wait);
    return found;
}

/* What is left to a rank of a segment that it alone has, if what it computes more than the mean goes to all. */
static double left_of(const struct cure_search *search, const struct cure *cure)
{
    int32_t size = search->analysis->job.size;
    double mean = 0, ns = rank_ns(search, cure->segment, cure->rank);
    for (int32_t r = 0; r < size; r++)
        mean += search->useful_ns[r] / size;
    double more = search->useful_ns[cure->rank] - mean;
    double left = more > 0 && ns > 0 ? 1 - more / ns : 1;
    return left > 1.0 / size ? left : 1.0 / size;
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

static void plan_fill(struct cure_search *search, struct world_plan *plan)
{
    for (size_t i = 0; i < search->tried_count; i++)
        if (search->tried[i].kind == CURE_BALANCED && search->tried[i].rank >= 0)
            search->tried[i].left = left_of(search, &search->tried[i]);
    *plan = (struct world_plan){.count = WORLDS_FIXED + 1 + search->tried_count,
                                .figures = &search->analysis->segments,
                                .crowded = search->processors ? search->delay_shares : NULL,
                                .factors = search->factors,
                                .work_factors = search->work_factors,
                                .had = search->had,
                                .hosts = search->hosts,
                                .better_hosts = search->better_hosts,
                                .host_count = search->summary->host_count,
                                .times = &search->times,
                                .groups = search->groups,
                                .usual_ns = search->usual_ns,
                                .place_count = call_places_count(search->analysis->places) + 1,
                                .segment_count = (uint32_t)search->analysis->segments.pairs.count + 1};
    plan->worlds[WORLDS_FIXED] = search->base;
    for (size_t i = 0; i < search->tried_count; i++) {
        struct world *world = &plan->worlds[WORLDS_FIXED + 1 + i];
        *world = search->base;
        world->cures[world->count++] = search->tried[i];
    }
}

/* The program's data may not allow it. */
static bool is_doubtful(const struct cure *cure)
{
    return cure->kind == CURE_SENDS_EARLY || cure->kind == CURE_AT_ONCE;
}

/* A root whose work is cured has less to do than the others now. If these are even, that is no imbalance. */
static bool imbalance_is_left_over(const struct cure_search *search, const struct cure *cure)
{
    bool even = false;
    for (size_t i = 0; i < search->base.count; i++) {
        double least = INFINITY, most = 0, own = 0;
        if (search->base.cures[i].kind != CURE_AS_OTHERS || (cure->kind != CURE_BALANCED && cure->kind != CURE_EVEN))
            continue;
        for (int32_t r = 0; r < search->analysis->job.size; r++) {
            double ns = cure->kind == CURE_EVEN ? search->useful_ns[r] : rank_ns(search, cure->segment, r);
            if (r == search->base.cures[i].rank) {
                own = ns;
                continue;
            }
            least = ns < least ? ns : least;
            most = ns > most ? ns : most;
        }
        even |= search->analysis->job.size > 2 && own < least && least > (1 - ALONE_SHARE) * most;
    }
    return even;
}

/* Returns whether it may be about the waits of another cure. Then it is never told after one. */
static bool cure_stands_alone(const struct cure *cure)
{
    return is_doubtful(cure) || cure->kind == CURE_ANY_ORDER;
}

/* False for what is only a part of the figures of another cure. */
static bool can_be_told(const struct cure_search *search, const struct cure *cure)
{
    return cure->kind != CURE_LEVELLED && !(search->base.count && cure_stands_alone(cure)) &&
           !imbalance_is_left_over(search, cure) &&
           (search->base.count || cure->kind != CURE_BALANCED || cure->rank < 0); /* CURE_EVEN knows better at first */
}

/* The largest two gains of segments in which different ranks take long, together. They name the places, so they come
 * before a cure of all places. */
static double segments_gain(const struct cure_search *search, const double *gains)
{
    double first = 0, second = 0;
    int32_t rank = -1;
    for (size_t i = 0; i < search->tried_count; i++) {
        const struct segment_figures *figures = segment_figures_of(search, search->tried[i].segment);
        if (search->tried[i].kind != CURE_BALANCED || !figures || !can_be_told(search, &search->tried[i]))
            continue;
        double others = figures->max_rank == rank ? second : first;
        if (gains[i] > first) {
            first = gains[i];
            second = others;
            rank = figures->max_rank;
        } else if (figures->max_rank != rank && gains[i] > second) {
            second = gains[i];
        }
    }
    return first + second;
}

/* The cure with the largest gain. Of those with about the same gain the first kind. What is doubtful has to gain twice as
 * much as the others. Returns tried_count if none gains. */
static size_t best_find(const struct cure_search *search, const double *gains)
{
    size_t best = search->tried_count;
    double most[2] = {0, 0}, segments = segments_gain(search, gains), told[WORLDS_MOST];
    for (size_t i = 0; i < search->tried_count; i++) {
        const struct cure *cure = &search->tried[i];
        bool covered = cure->kind == CURE_EVEN && segments >= SAME_GAIN * gains[i];
        double *largest = &most[is_doubtful(cure)];
        told[i] = can_be_told(search, cure) && !covered ? gains[i] : 0;
        *largest = told[i] > *largest ? told[i] : *largest;
    }
    bool doubtful = most[true] >= 2 * most[false];
    for (size_t i = 0; most[doubtful] > 0 && i < search->tried_count; i++)
        if (is_doubtful(&search->tried[i]) == doubtful && told[i] >= SAME_GAIN * most[doubtful] &&
            (best == search->tried_count || search->tried[i].kind < search->tried[best].kind))
            best = i;
    return best;
}

static double levelled_gain(const struct cure_search *search, const double *gains, uint32_t segment)
{
    for (size_t i = 0; i < search->tried_count; i++)
        if (search->tried[i].kind == CURE_LEVELLED && search->tried[i].segment == segment)
            return gains[i];
    return 0;
}

static void tried_remove(struct cure_search *search, size_t place)
{
    struct cure gone = search->tried[place];
    size_t kept = 0;
    for (size_t i = 0; i < search->tried_count; i++) {
        const struct cure *cure = &search->tried[i];
        bool same = i == place || (gone.segment && cure->segment == gone.segment);
        if (!same)
            search->tried[kept++] = *cure;
    }
    search->tried_count = kept;
}

/* How many times as long the run is as what was replayed of it. */
static double run_shares(const struct cure_search *search)
{
    double part = (double)search->analysis->part_ns * 1e-9;
    return part > 0 && search->summary->run_seconds.max > part ? search->summary->run_seconds.max / part : 1;
}

/* Takes the gain of the other order. Of too many messages the time there may not be known: then it is not tried any more. */
static void placement_take(struct cure_search *search, const struct analysis *reading, double gains[WORLDS_MOST])
{
    struct summary_placement *placement = &search->summary->traced.placement;
    for (size_t i = 0; i < search->tried_count; i++) {
        if (search->tried[i].kind != CURE_PLACEMENT)
            continue;
        bool known = reading->moved && (double)reading->moved_unknown <= UNKNOWN_MOST * (double)reading->moved;
        gains[i] = known ? gains[i] : 0;
        if (search->base.count)
            return;
        placement->replayed = 1;
        placement->gain_known = known;
        placement->gain_ns = gains[i] > 0 ? (uint64_t)(gains[i] * run_shares(search)) : 0;
    }
}

/* Takes the run without cures. Returns false if it is not the recorded run, but for what shared processors cost. */
static bool base_take(struct cure_search *search, const double run_ns[WORLDS_MOST])
{
    double lost = run_ns[WORLD_RECORDED] - run_ns[WORLDS_FIXED], most = DRIFT_MOST * run_ns[WORLD_RECORDED];
    if (lost < -most || (!search->processors && lost > most))
        return false;
    search->run_ns = run_ns[WORLDS_FIXED];
    search->summary->traced.shared_ns = search->processors && lost > 0 ? (uint64_t)lost : 0;
    return true;
}

/* Takes the cure with the largest gain. Returns 1, 0 if there is none, or -1 where the replay is not the run. */
static int cure_take(struct cure_search *search, const struct analysis *reading)
{
    struct summary_traced *traced = &search->summary->traced;
    const double *run_ns = reading->ideal.world_ns;
    double gains[WORLDS_MOST];
    if (!search->base.count && !base_take(search, run_ns))
        return -1;
    for (size_t i = 0; i < search->tried_count; i++)
        gains[i] = run_ns[WORLDS_FIXED] - run_ns[WORLDS_FIXED + 1 + i];
    placement_take(search, reading, gains);
    size_t best = best_find(search, gains);
    if (best == search->tried_count)
        return 0;
    const struct cure cure = search->tried[best];
    if (gains[best] < (is_doubtful(&cure) ? LEAST_DOUBTFUL_GAIN : LEAST_GAIN) * search->run_ns)
        return 0;
    search_take(search, reading, WORLDS_FIXED);
    bool moves = cure.kind == CURE_BALANCED && levelled_gain(search, gains, cure.segment) > gains[best] / 2;
    traced->cures[traced->cure_count++] = cure_tell(search, reading, &cure, gains[best], run_ns[WORLDS_FIXED], moves);
    search->base.cures[search->base.count++] = cure;
    search_take(search, reading, WORLDS_FIXED + 1 + best);
    tried_remove(search, best);
    return 1;
}

/* The reading measures the passes of the beat. Returns 1 with one more cure, 0 if there is none, -1 without memory, or where the replay is not the run. */
static int cure_next(struct cure_search *search, const struct beat *beat)
{
    struct world_plan plan;
    plan_fill(search, &plan);
    struct analysis *reading = world_plan_open(&plan) == 0 ? analysis_replay(search->analysis, &plan, beat) : NULL;
    if (reading && beat)
        pass_figures_take(search->summary, reading);
    int result = reading ? cure_take(search, reading) : -1;
    analysis_reading_release(reading);
    world_plan_release(&plan);
    return result;
}

int cures_find(const struct analysis *analysis, const struct beat *beat, struct summary *summary)
{
    struct cure_search search;
    if (analysis->unknown_ns > UNKNOWN_MOST * analysis->recorded_ns)
        return 0;
    int result = search_open(&search, analysis, summary);
    if (result == 0)
        candidates_make(&search);
    for (uint64_t calls = 0; result == 0 && summary->traced.cure_count < CURES_KEPT; calls += analysis->calls) {
        if (calls && calls + analysis->calls > CALLS_REPLAYED_MOST)
            break;
        int more = cure_next(&search, calls ? NULL : beat);
        if (more <= 0) {
            result = more;
            break;
        }
    }
    summary->traced.replayed = result == 0;
    summary->traced.engine = CURES_ENGINE;
    if (result != 0)
        summary->traced.cure_count = summary->traced.shared_ns = 0;
    search_release(&search);
    return result;
}
