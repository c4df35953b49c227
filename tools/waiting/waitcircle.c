/* Circles of ranks that wait for each other (waiting.h). */
#include "trace/tracejob.h"
#include "base/keytable.h"
#include "waiting/waiting.h"

#include <stdlib.h>
#include <string.h>

/* Returns whether the process has recorded its end. It then does not wait for any rank. */
static bool is_leaving(const struct patient *patient)
{
    uint32_t phase = patient->file->header.phase;
    return phase == RUN_ABORTED || phase == RUN_CLOSED || phase == RUN_EXITED;
}

/* Returns for each rank the thread that represents it: the first of its threads, if all of them wait, and have waited
 * for long. The entry is NULL if the rank makes progress. */
static const struct patient **blocked_find(const struct ward *ward, int32_t ranks)
{
    const struct patient **blocked = calloc((size_t)ranks + 1, sizeof(void *));
    for (size_t i = ward->count; blocked && i-- > 0;) { /* so that the first comes last */
        int32_t rank = run_rank(&ward->patients[i].file->header);
        if (rank >= 0 && rank < ranks)
            blocked[rank] = &ward->patients[i];
    }
    for (size_t i = 0; blocked && i < ward->count; i++) {
        const struct patient *patient = &ward->patients[i];
        int32_t rank = run_rank(&patient->file->header);
        bool is_long = patient->since_ns >= 0 && patient_end(ward, patient) - patient->since_ns >= WAIT_LONG_NS;
        if (rank >= 0 && rank < ranks && (!patient->waits.count || !is_long || is_leaving(patient)))
            blocked[rank] = NULL;
    }
    return blocked;
}

static bool waits_have(const struct waits *waits, int32_t rank, enum wait_kind kind)
{
    for (size_t i = 0; i < waits->count; i++)
        if (waits->list[i].rank == rank && waits->list[i].kind == kind)
            return true;
    return false;
}

/* Returns whether the other rank is in the operation that this rank waits for. */
static bool is_met(const struct patient *other, int32_t rank, enum wait_kind kind)
{
    if (kind == WAIT_FROM)
        return waits_have(&other->waits, rank, WAIT_TO);
    return kind == WAIT_TO && (other->waits.anybody || waits_have(&other->waits, rank, WAIT_FROM));
}

/* Returns whether the call needs all missing members. In a collective that some members leave earlier, only a single
 * missing member is surely needed. */
static bool is_needed(const struct waits *waits)
{
    size_t missing = 0;
    for (size_t i = 0; i < waits->count; i++)
        missing += waits->list[i].kind == WAIT_ALL;
    return waits->of_all || missing == 1;
}

/* Returns whether the call ends when one of several requests completes. */
static bool is_for_one(const struct patient *patient)
{
    return strcmp(patient->call, "MPI_Waitany") == 0 || strcmp(patient->call, "MPI_Waitsome") == 0;
}

struct search {
    const struct ward *ward;
    const struct patient **blocked;
    int32_t ranks;
    int32_t *path;         /* the ranks that are being looked at */
    size_t *next;          /* by rank: the wait to look at next */
    struct keytable skips; /* by shared list: how many of its first waits are in no circle */
    uint8_t *visited;      /* 1: on the path, 2: it is not in a circle */
};

struct skip {
    struct keyed keyed;
    size_t count;
    bool known, needed; /* is_needed */
};

/* Returns the thread that the rank stands for if it waits, and may be in a circle. */
static const struct patient *candidate(const struct search *search, int32_t rank)
{
    return rank >= 0 && rank < search->ranks && search->visited[rank] != 2 ? search->blocked[rank] : NULL;
}

/* Many ranks may wait for the same many ranks. The waits at the beginning of such a list that lead nowhere are looked
 * at once. NULL: no memory. */
static struct skip *skip_of(struct search *search, const struct waits *waits)
{
    struct skip *skip = keytable_make(&search->skips, (uintptr_t)waits->list, waits->count, sizeof *skip);
    if (skip && !skip->known)
        skip->needed = is_needed(waits);
    if (skip)
        skip->known = true;
    while (skip && skip->count < waits->count && !candidate(search, waits->list[skip->count].rank))
        skip->count++;
    return skip;
}

/* Returns the next rank that the last rank of the path waits for, or -1 for none. */
static int32_t step(struct search *search, int32_t rank)
{
    const struct patient *patient = search->blocked[rank];
    struct skip *skip = patient && !is_for_one(patient) ? skip_of(search, &patient->waits) : NULL;
    if (skip && search->next[rank] < skip->count)
        search->next[rank] = skip->count;
    while (skip && search->next[rank] < patient->waits.count) {
        const struct wait *wait = &patient->waits.list[search->next[rank]++];
        const struct patient *other = candidate(search, wait->rank);
        bool needs = wait->kind != WAIT_AT && (wait->kind != WAIT_ALL || skip->needed);
        if (other && needs && !is_met(other, rank, wait->kind))
            return wait->rank;
    }
    return -1;
}

/* Returns whether all ranks on the path from `begin` on waited for long while all of them lived. */
static bool all_lived(const struct search *search, size_t begin, size_t depth)
{
    int64_t end_ns = INT64_MAX, since_ns = 0;
    bool alive = false, unknown = false;
    for (size_t i = begin; i < depth; i++) {
        const struct patient *patient = search->blocked[search->path[i]];
        int64_t end = patient_end(search->ward, patient);
        end_ns = end < end_ns ? end : end_ns;
        since_ns = patient->since_ns > since_ns ? patient->since_ns : since_ns;
        alive = alive || patient->alive;
        unknown = unknown || (!patient->alive && patient->end_ns < 0);
    }
    return end_ns - since_ns >= WAIT_LONG_NS && !(alive && unknown); /* one died before the other, at an unknown time */
}

/* Finds a circle that can be reached from a rank. Returns where it begins on the path, or -1 for none. *length gets its
 * length. */
static ssize_t circle_from(struct search *search, int32_t rank, size_t *length)
{
    size_t depth = 0;
    search->path[depth++] = rank;
    search->visited[rank] = 1;
    while (depth) {
        int32_t to = step(search, search->path[depth - 1]);
        if (to < 0) {
            search->visited[search->path[--depth]] = 2;
            continue;
        }
        if (!search->visited[to]) {
            search->visited[to] = 1;
            search->path[depth++] = to;
            continue;
        }
        size_t begin = depth - 1;
        while (search->path[begin] != to)
            begin--;
        if (!all_lived(search, begin, depth))
            continue;
        *length = depth - begin;
        return (ssize_t)begin;
    }
    return -1;
}

/* Returns whether rank i of the circle sends to the next rank, which may be receiving in the background. A long message
 * may then be on its way, and the circle may be an exchange of messages. */
static bool is_exchange(const struct search *search, const int32_t *ranks, size_t count, size_t i)
{
    int32_t next = ranks[(i + 1) % count];
    return waits_have(&search->blocked[ranks[i]]->waits, next, WAIT_TO) && search->blocked[next]->waits.posted;
}

size_t waits_circle(const struct ward *ward, int32_t **ranks, bool *sure)
{
    struct search search = {.ward = ward};
    size_t count = 0;
    *ranks = NULL;
    *sure = true;
    for (size_t i = 0; i < ward->job->file_count; i++)
        if (run_rank(&ward->job->files[i].header) >= search.ranks &&
            run_rank(&ward->job->files[i].header) < WORLD_SIZE_MAX)
            search.ranks = run_rank(&ward->job->files[i].header) + 1;
    size_t most = (size_t)search.ranks + 1;
    search.blocked = blocked_find(ward, search.ranks);
    search.path = calloc(most, sizeof *search.path);
    search.next = calloc(most, sizeof *search.next);
    search.visited = calloc(most, 1);
    bool good = search.blocked && search.path && search.next && search.visited;
    for (int32_t rank = 0; good && !count && rank < search.ranks; rank++) {
        ssize_t begin = search.visited[rank] ? -1 : circle_from(&search, rank, &count);
        if (begin < 0 || !(*ranks = calloc(count, sizeof **ranks)))
            continue;
        for (size_t i = 0; i < count; i++) {
            (*ranks)[i] = search.path[(size_t)begin + i];
            *sure = *sure && !search.blocked[(*ranks)[i]]->waits.requests && !is_exchange(&search, *ranks, count, i);
        }
    }
    free(search.blocked);
    free(search.path);
    free(search.next);
    free(search.visited);
    keytable_release(&search.skips, NULL);
    return *ranks ? count : 0;
}
