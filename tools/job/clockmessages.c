#include "job/clockmessages.h"

#include "base/array.h"
#include "calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 32, PASSES = 30, SWEEPS_MOST = 2000, NO_COMM_SLOT = 0, RANKS_MOST = 8192 };
#define SWEEP_STEPS 200000000.0 /* of all sweeps together */
#define MARGIN_NS 100.0         /* less than the time of any message */
#define MARGIN_LEAST_NS 20.0

struct times {
    uint64_t *list;
    size_t count;
    uint64_t last;
    bool unordered;
};

/* The fastest message from one node to another in its part of the run. */
struct fastest {
    double took; /* by the present time line, ns, or NAN for none */
    uint64_t sent, received;
};

struct way {
    uint32_t from, to; /* clocks */
    size_t next;       /* to the same one: index + 1 */
    struct fastest parts[PARTS];
};

struct rank {
    const struct run_reader *file; /* NULL: there is none that can be used */
    uint32_t clock;
    uint32_t world;      /* slot */
    struct times *sends; /* by receiver, only to other nodes */
};

struct evidence {
    struct timeline *line;
    struct rank *ranks;
    size_t size;
    struct way *ways;
    size_t way_count;
    size_t *first_way;         /* by the target clock: index + 1 */
    uint64_t begin_ns, end_ns; /* reference time */
};

static int times_add(struct times *times, uint64_t ticks)
{
    if (!ARRAY_GROWN(times->list, times->count))
        return -1;
    times->unordered = times->unordered || ticks < times->last;
    times->last = ticks;
    times->list[times->count++] = ticks;
    return 0;
}

static void times_sort(struct times *times)
{
    if (!times->unordered)
        return; /* and not written: there is one for each pair of ranks, and most have no message and use no memory */
    qsort(times->list, times->count, sizeof *times->list, uint64_order);
    times->unordered = false;
}

/* Returns whether all its messages are in its file. The last call of a killed process may be missing. */
static bool is_whole(const struct run_reader *file)
{
    const struct run_header *header = &file->header;
    if (header->traced != TRACED_WHOLE || header->off_count || header->filter[0] ||
        (header->phase != RUN_FINALIZED && file->thread_count != 1))
        return false;
    for (size_t i = 0; i < LOSS_COUNT; i++)
        if (header->lost[i])
            return false;
    return true;
}

static uint32_t world_slot(const struct run_reader *file)
{
    for (size_t i = 1; i < file->slot_count; i++)
        if (file->comms[i] && strcmp(file->comms[i]->name, "MPI_COMM_WORLD") == 0)
            return (uint32_t)i;
    return NO_COMM_SLOT;
}

static enum fold_shape call_fold_shape(unsigned kind)
{
    return kind < CALL_COUNT ? (enum fold_shape)call_table[kind].fold : FOLD_CALL;
}

static bool sends(unsigned kind)
{
    enum fold_shape shape = call_fold_shape(kind);
    return kind == RECORD_SEND_POSTED ||
           (kind < CALL_COUNT && (shape == FOLD_SEND || shape == FOLD_POST_SEND || shape == FOLD_SENDRECV));
}

static bool receives(unsigned kind)
{
    return kind == RECORD_RECEIVE || kind == RECORD_RECV_DONE ||
           (kind < CALL_COUNT && call_fold_shape(kind) == FOLD_RECV);
}

/* Returns a rank of another node, or NULL. */
static const struct rank *partner_of(const struct evidence *all, const struct rank *rank, const struct event *event)
{
    if ((event->kind & EVENT_FAILED) || event->comm != rank->world || event->peer < 0 ||
        (size_t)event->peer >= all->size)
        return NULL;
    const struct rank *partner = &all->ranks[event->peer];
    return partner->file && partner->clock != rank->clock ? partner : NULL;
}

enum { TIMES_NO_MEMORY = -1, TIMES_MISSING = -2 };

/* Reads times of one rank's sends (begins), or receives (ends), by partner. Returns their number, or a negative
 * code. */
static int64_t times_read(const struct evidence *all, const struct rank *rank, struct times *times, bool sent)
{
    int64_t count = 0;
    char reason[128];
    if (run_reader_wake(rank->file, reason) != 0)
        return TIMES_MISSING;
    for (uint32_t thread = 0; thread < rank->file->thread_count; thread++) {
        struct event_cursor cursor;
        const struct event *event;
        uint64_t begin = 0, end = 0;
        bool wide = false;         /* the last call has an extension. Parts may have one, too */
        struct times *open = NULL; /* the time of a long call is in the record after it, before its parts */
        event_cursor_open(&cursor, rank->file, thread);
        while (count >= 0 && (event = event_cursor_next(&cursor))) {
            unsigned kind = event_kind(event);
            if (kind < RECORD_FIRST) {
                begin = event->begin;
                end = begin + event->duration;
            }
            if (kind == RECORD_EXTENSION && wide) {
                end = begin + ((const struct event_extension *)event)->duration;
                if (open)
                    open->list[open->count - 1] = open->last = end;
            }
            wide = kind < RECORD_FIRST && (event->kind & EVENT_WIDE);
            open = NULL;
            const struct rank *partner = (sent ? sends(kind) : receives(kind)) ? partner_of(all, rank, event) : NULL;
            if (!partner)
                continue;
            struct times *list = &times[event->peer];
            count = times_add(list, sent ? event->begin : end) == 0 ? count + 1 : TIMES_NO_MEMORY;
            open = !sent && count > 0 && kind < RECORD_FIRST && (event->kind & EVENT_WIDE) ? list : NULL;
        }
        bool missing = cursor.missing != 0;
        event_cursor_close(&cursor);
        if (missing && count >= 0)
            count = TIMES_MISSING;
        if (count < 0)
            break;
    }
    run_reader_rest(rank->file);
    return count;
}

static struct way *way_of(const struct evidence *all, uint32_t from, uint32_t to)
{
    for (size_t i = all->first_way[to]; i; i = all->ways[i - 1].next)
        if (all->ways[i - 1].from == from)
            return &all->ways[i - 1];
    return NULL;
}

/* Makes a new one if there is none. */
static struct way *way_find(struct evidence *all, uint32_t from, uint32_t to)
{
    struct way *known = way_of(all, from, to);
    if (known)
        return known;
    if (!ARRAY_GROWN(all->ways, all->way_count))
        return NULL;
    struct way *way = &all->ways[all->way_count++];
    *way = (struct way){.from = from, .to = to, .next = all->first_way[to]};
    for (size_t i = 0; i < PARTS; i++)
        way->parts[i].took = NAN;
    all->first_way[to] = all->way_count;
    return way;
}

static const struct clock_map *map_of(const struct evidence *all, uint32_t clock)
{
    return &all->line->clocks[clock].map;
}

static void way_take(const struct evidence *all, struct way *way, uint64_t sent, uint64_t received)
{
    uint64_t left = clock_map_ns(map_of(all, way->from), sent), came = clock_map_ns(map_of(all, way->to), received);
    uint64_t span = all->end_ns - all->begin_ns + 1, since = came > all->begin_ns ? came - all->begin_ns : 0;
    size_t part = (size_t)((unsigned __int128)since * PARTS / span);
    struct fastest *fastest = &way->parts[part < PARTS ? part : PARTS - 1];
    double took = came >= left ? (double)(came - left) : -(double)(left - came);
    if (isnan(fastest->took) || took < fastest->took)
        *fastest = (struct fastest){took, sent, received};
}

/* Compares the rank's receives with the sends to it. */
static int rank_take(struct evidence *all, size_t number, struct times *received)
{
    const struct rank *rank = &all->ranks[number];
    int64_t count = times_read(all, rank, received, false);
    for (size_t peer = 0; count > 0 && peer < all->size; peer++) {
        struct times *came = &received[peer], *left = all->ranks[peer].sends ? &all->ranks[peer].sends[number] : NULL;
        if (!came->count || !left || !left->count)
            continue;
        bool both_ended =
            rank->file->header.phase == RUN_FINALIZED && all->ranks[peer].file->header.phase == RUN_FINALIZED;
        if (both_ended && came->count != left->count)
            continue; /* some were canceled, or did not arrive */
        struct way *way = way_find(all, all->ranks[peer].clock, rank->clock);
        if (!way)
            return -1;
        times_sort(came);
        for (size_t k = 0; k < came->count && k < left->count; k++)
            way_take(all, way, left->list[k], came->list[k]);
    }
    for (size_t peer = 0; peer < all->size; peer++) {
        free(received[peer].list);
        received[peer] = (struct times){0};
    }
    return count == TIMES_NO_MEMORY ? -1 : 0;
}

static int evidence_take(struct evidence *all)
{
    struct times *received = calloc(all->size, sizeof *received);
    int result = received ? 0 : -1;
    all->way_count = 0;
    memset(all->first_way, 0, all->line->clock_count * sizeof *all->first_way);
    for (size_t i = 0; result == 0 && i < all->size; i++)
        if (all->ranks[i].file)
            result = rank_take(all, i, received);
    for (size_t i = 0; received && i < all->size; i++)
        free(received[i].list);
    free(received);
    return result;
}

/* ---- moving ------------------------------------------------------------------------------------------------------ */

/* The two knots around a time, and the weight of the second. */
struct lever {
    size_t first;
    double share;
};

static struct lever lever_of(const struct clock_map *map, uint64_t ticks)
{
    size_t i = 0;
    while (i + 2 < map->count && map->knots[i + 1].ticks <= ticks)
        i++;
    const struct clock_sync *a = &map->knots[i], *b = &map->knots[i + 1];
    double share = ticks <= a->ticks ? 0 : (double)(ticks - a->ticks) / (double)(b->ticks - a->ticks);
    return (struct lever){i, share < 1 ? share : 1};
}

/* How far a node's knots move, in ns, and how easily: by the square of their errors. */
struct moves {
    double by[CLOCK_KNOTS_MOST], weight[CLOCK_KNOTS_MOST];
    bool whole; /* all by the same amount: an unmeasured clock may be off by more than the run takes */
};

/* A node whose clock was measured fewer than two times gets knots at its begin and its end. */
static void knots_complete(struct clock_map *map, uint64_t first, uint64_t last, uint64_t error_ns)
{
    if (map->count >= 2)
        return;
    struct clock_sync a = {first, clock_map_ns(map, first), error_ns}, b = {last, clock_map_ns(map, last), error_ns};
    struct clock_sync known = map->knots[0];
    bool has = map->count == 1;
    map->knots[0] = a;
    map->knots[1] = b;
    map->count = 2;
    if (has && known.ticks > first && known.ticks < last) {
        map->knots[1] = known;
        map->knots[2] = b;
        map->count = 3;
    }
}

static double lever_moves(const struct moves *moves, struct lever at)
{
    return moves->by[at.first] * (1 - at.share) + moves->by[at.first + 1] * at.share;
}

static double lever_weight(const struct moves *moves, struct lever at)
{
    if (moves->whole)
        return moves->weight[0];
    return moves->weight[at.first] * (1 - at.share) * (1 - at.share) +
           moves->weight[at.first + 1] * at.share * at.share;
}

static void lever_push(struct moves *moves, struct lever at, double by)
{
    if (moves->whole) {
        for (size_t k = 0; k < CLOCK_KNOTS_MOST; k++)
            moves->by[k] += by * moves->weight[0];
        return;
    }
    moves->by[at.first] += by * moves->weight[at.first] * (1 - at.share);
    moves->by[at.first + 1] += by * moves->weight[at.first + 1] * at.share;
}

/* Returns how early the message is, after the moves. Corrects the moves. */
static double fastest_push(const struct evidence *all, struct moves *moves, const struct way *way,
                           const struct fastest *fastest, double margin)
{
    if (map_of(all, way->from)->count < 2 || map_of(all, way->to)->count < 2)
        return 0; /* a node that sent almost nothing */
    struct lever from = lever_of(map_of(all, way->from), fastest->sent);
    struct lever to = lever_of(map_of(all, way->to), fastest->received);
    double takes = fastest->took + lever_moves(&moves[way->to], to) - lever_moves(&moves[way->from], from);
    double weight = lever_weight(&moves[way->to], to) + lever_weight(&moves[way->from], from);
    if (takes >= margin || weight <= 0)
        return 0;
    double by = (margin - takes) / weight;
    lever_push(&moves[way->to], to, by);
    lever_push(&moves[way->from], from, -by);
    return margin - takes;
}

/* Finds the way back, and the time that the fastest messages of both ways take together. */
static double margin_of(const struct evidence *all, const struct way *way)
{
    const struct way *back = way_of(all, way->to, way->from);
    double there = INFINITY, return_ns = INFINITY;
    for (size_t i = 0; i < PARTS; i++) {
        if (way->parts[i].took < there)
            there = way->parts[i].took;
        if (back && back->parts[i].took < return_ns)
            return_ns = back->parts[i].took;
    }
    double margin = (there + return_ns) / 4;
    return margin > MARGIN_NS ? MARGIN_NS : margin > MARGIN_LEAST_NS ? margin : MARGIN_LEAST_NS;
}

static bool some_are_early(const struct evidence *all)
{
    for (size_t i = 0; i < all->way_count; i++)
        for (size_t part = 0; part < PARTS; part++)
            if (all->ways[i].parts[part].took < 0)
                return true;
    return false;
}

static void moves_find(const struct evidence *all, struct moves *moves, const double *margins)
{
    double steps = SWEEP_STEPS / (double)(all->way_count * PARTS);
    int sweeps = steps < SWEEPS_MOST ? (int)steps + 1 : SWEEPS_MOST;
    double worst = INFINITY;
    for (int sweep = 0; sweep < sweeps && worst > 1; sweep++) {
        worst = 0;
        for (size_t i = 0; i < all->way_count; i++)
            for (size_t part = 0; part < PARTS; part++) {
                if (isnan(all->ways[i].parts[part].took))
                    continue;
                double early = fastest_push(all, moves, &all->ways[i], &all->ways[i].parts[part], margins[i]);
                worst = early > worst ? early : worst;
            }
    }
}

static int knots_move(struct evidence *all, bool first)
{
    struct timeline *line = all->line;
    struct moves *moves = calloc(line->clock_count, sizeof *moves);
    double *margins = calloc(all->way_count, sizeof *margins);
    for (size_t i = 0; moves && i < line->clock_count; i++) {
        moves[i].whole = first && !line->clocks[i].map.measured;
        for (size_t k = 0; k < line->clocks[i].map.count; k++) {
            double error = (double)line->clocks[i].map.knots[k].error_ns;
            moves[i].weight[k] = error * error; /* the reference has none, and stays where it is */
        }
    }
    for (size_t i = 0; moves && margins && i < all->way_count; i++)
        margins[i] = margin_of(all, &all->ways[i]);
    if (moves && margins)
        moves_find(all, moves, margins);
    for (size_t i = 0; moves && margins && i < line->clock_count; i++)
        clock_map_move(&line->clocks[i].map, moves[i].by);
    int result = moves && margins ? 0 : -1;
    free(moves);
    free(margins);
    return result;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static int ranks_find(struct evidence *all)
{
    struct timeline *line = all->line;
    for (size_t i = 0; i < line->count; i++)
        if (line->files[i].header.world_rank >= 0 && (size_t)line->files[i].header.world_rank >= all->size)
            all->size = (size_t)line->files[i].header.world_rank + 1;
    if (all->size > RANKS_MOST)
        return 0; /* the lists by sender and receiver would be too many */
    all->ranks = calloc(all->size + 1, sizeof *all->ranks);
    all->first_way = calloc(line->clock_count, sizeof *all->first_way);
    if (!all->ranks || !all->first_way)
        return -1;
    for (size_t i = 0; i < line->count; i++) {
        const struct run_reader *file = &line->files[i];
        if (file->header.world_rank < 0 || !is_whole(file))
            continue;
        struct rank *rank = &all->ranks[file->header.world_rank];
        *rank = (struct rank){file, line->file_clock[i], world_slot(file), NULL};
        if (!rank->world)
            rank->file = NULL;
    }
    for (size_t i = 0; i < all->size; i++) {
        struct rank *rank = &all->ranks[i];
        int64_t count = 1;
        if (rank->file) {
            rank->sends = calloc(all->size, sizeof *rank->sends);
            count = rank->sends ? times_read(all, rank, rank->sends, true) : TIMES_NO_MEMORY;
        }
        for (size_t peer = 0; rank->sends && peer < all->size; peer++)
            times_sort(&rank->sends[peer]);
        if (count == TIMES_NO_MEMORY)
            return -1;
        if (count == TIMES_MISSING) /* the order of the remaining messages does not match */
            rank->file = NULL;
    }
    return 0;
}

static void evidence_release(struct evidence *all)
{
    for (size_t i = 0; all->ranks && i < all->size; i++) {
        for (size_t peer = 0; all->ranks[i].sends && peer < all->size; peer++)
            free(all->ranks[i].sends[peer].list);
        free(all->ranks[i].sends);
    }
    free(all->ranks);
    free(all->ways);
    free(all->first_way);
}

/* Finds the time from the first send to the last, by the present maps, and for each clock in its ticks. */
static void span_find(struct evidence *all, uint64_t *first, uint64_t *last)
{
    memset(first, 0xff, all->line->clock_count * sizeof *first);
    memset(last, 0, all->line->clock_count * sizeof *last);
    all->begin_ns = UINT64_MAX;
    all->end_ns = 0;
    for (size_t i = 0; i < all->size; i++)
        for (size_t peer = 0; all->ranks[i].sends && peer < all->size; peer++) {
            const struct times *sent = &all->ranks[i].sends[peer];
            uint32_t clock = all->ranks[i].clock;
            if (!sent->count)
                continue;
            first[clock] = sent->list[0] < first[clock] ? sent->list[0] : first[clock];
            last[clock] = sent->list[sent->count - 1] > last[clock] ? sent->list[sent->count - 1] : last[clock];
            uint64_t begin = clock_map_ns(map_of(all, clock), sent->list[0]);
            uint64_t end = clock_map_ns(map_of(all, clock), sent->list[sent->count - 1]);
            all->begin_ns = begin < all->begin_ns ? begin : all->begin_ns;
            all->end_ns = end > all->end_ns ? end : all->end_ns;
        }
}

/* A node with fewer than two knots gets knots at the first and the last of its sends. */
static void knots_prepare(struct evidence *all, const uint64_t *first, const uint64_t *last)
{
    for (size_t i = 0; i < all->line->clock_count; i++) {
        struct clock_map *map = &all->line->clocks[i].map;
        if (first[i] >= last[i])
            continue;
        uint64_t life = clock_map_ns(map, last[i]) - clock_map_ns(map, first[i]);
        uint64_t error = map->measured ? map->error_ns + life / 5000 : life + UINT64_C(1000000000);
        bool reference = map->measured && map->error_ns == 0;
        knots_complete(map, first[i], last[i], reference ? 0 : error);
    }
}

static int messages_follow(struct evidence *all)
{
    uint64_t *first = calloc(all->line->clock_count, sizeof *first);
    uint64_t *last = calloc(all->line->clock_count, sizeof *last);
    int result = first && last ? 0 : -1;
    for (int pass = 0; result == 0 && pass < PASSES; pass++) {
        span_find(all, first, last);
        if (all->begin_ns > all->end_ns)
            break; /* nothing was sent */
        if (pass == 0)
            knots_prepare(all, first, last);
        result = evidence_take(all);
        if (result != 0 || !some_are_early(all))
            break;
        result = knots_move(all, pass == 0);
    }
    free(first);
    free(last);
    return result;
}

int timeline_refine(struct timeline *line)
{
    struct evidence all = {.line = line};
    int result = 0;
    if (line->clock_count < 2)
        return 0;
    result = ranks_find(&all);
    if (result == 0 && all.ranks)
        result = messages_follow(&all);
    evidence_release(&all);
    timeline_origin(line);
    return result;
}
