#include "page/page_path.h"

#include "base/array.h"
#include "page/page.h"

#include <stdlib.h>

/* Its key: the moment of the awaited call, then its rank << 32 | the waiting rank, or OF_COMM | communicator. */
struct path_turn {
    struct keyed keyed;
    uint64_t waited_ns; /* by all */
};

#define OF_COMM UINT32_C(0x80000000)

static int by_wait(const void *one, const void *other)
{
    uint64_t a = (*(struct path_turn *const *)one)->waited_ns, b = (*(struct path_turn *const *)other)->waited_ns;
    return ORDER(b, a);
}

/* Removes all but the longest. */
static void turns_cut(struct page_path *path, size_t most)
{
    size_t count = path->turns.count;
    struct keyed **turns = count > most ? keytable_sorted(&path->turns) : NULL;
    path->no_memory |= count > most && !turns;
    if (!turns)
        return;
    qsort(turns, count, sizeof(struct keyed *), by_wait);
    path->least_ns = ((const struct path_turn *)turns[most - 1])->waited_ns;
    for (size_t i = most; i < count; i++) {
        keytable_take(&path->turns, turns[i]);
        free(turns[i]);
    }
    free(turns);
}

void page_path_add(struct page_path *path, const struct analysis_wait *wait)
{
    /* all members of an operation wait for the last one */
    bool all = wait->pattern == WAIT_AT_BARRIER || wait->pattern == WAIT_AT_NXN || wait->pattern == WAIT_AT_CREATION;
    uint64_t from = (uint64_t)(uint32_t)wait->cause->world_rank << 32,
             to = all ? OF_COMM | wait->comm : (uint32_t)wait->rank;
    if (path->no_memory || (!all && wait->ns < path->least_ns))
        return;
    struct path_turn *turn = keytable_make(&path->turns, wait->cause->moment.ns, from | to, sizeof *turn);
    path->no_memory |= !turn;
    if (turn)
        turn->waited_ns += wait->ns;
    if (!path->no_memory && path->turns.count >= (size_t)2 * PAGE_PATH_TURNS)
        turns_cut(path, PAGE_PATH_TURNS);
}

static bool comm_has(const struct trace_comm *comm, int32_t rank)
{
    for (int32_t i = 0; comm->members && i < comm->size; i++)
        if (comm->members[i] == rank)
            return true;
    for (int32_t i = 0; comm->remote && i < comm->remote_size; i++)
        if (comm->remote[i] == rank)
            return true;
    return false;
}

static bool turn_is_to(const struct analysis *analysis, const struct path_turn *turn, int32_t rank)
{
    uint32_t to = (uint32_t)turn->keyed.key[1];
    return to & OF_COMM ? comm_has(&analysis->comms.list[to & ~OF_COMM], rank) : to == (uint32_t)rank;
}

static void path_piece_put(json_t *pieces, int32_t rank, uint64_t from_ns, uint64_t to_ns)
{
    json_array_insert_new(pieces, 0, json_pack("[i, o, o]", (int)rank, count_json(from_ns), count_json(to_ns)));
}

json_t *page_path_json(struct page_path *path, const struct analysis *analysis)
{
    turns_cut(path, PAGE_PATH_TURNS);
    struct keyed **turns = keytable_sorted(&path->turns);
    if (path->no_memory || (path->turns.count && !turns)) {
        free(turns);
        return NULL;
    }
    json_t *pieces = json_array();
    int32_t rank = analysis->path_rank;
    uint64_t end_ns = analysis->path_end_ns, begin_ns = end_ns > analysis->path_ns ? end_ns - analysis->path_ns : 0;
    for (size_t i = turns ? path->turns.count : 0; i-- > 0;) {
        const struct path_turn *turn = (const struct path_turn *)turns[i];
        uint64_t at_ns = turn->keyed.key[0];
        int32_t from = (int32_t)(turn->keyed.key[1] >> 32);
        if (at_ns <= begin_ns || at_ns >= end_ns || from == rank || !turn_is_to(analysis, turn, rank))
            continue;
        path_piece_put(pieces, rank, at_ns, end_ns);
        rank = from;
        end_ns = at_ns;
    }
    path_piece_put(pieces, rank, begin_ns, end_ns);
    free(turns);
    return pieces;
}

void page_path_close(struct page_path *path)
{
    keytable_release(&path->turns, NULL);
}
