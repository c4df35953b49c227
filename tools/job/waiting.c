#include "job/waiting.h"

#include "base/array.h"
#include "calls.h"
#include "figures/figures.h"
#include "archive/jointcalls.h"
#include "archive/otf2_job.h"
#include "archive/otf2_requests.h"
#include "job/pending.h"

#include <stdlib.h>
#include <string.h>

enum { LONG_NS = 1000000000 }; /* no message takes so long */

/* ---- places ------------------------------------------------------------------------------------------------------ */

const struct comm_record *patient_comm(const struct patient *patient)
{
    uint32_t number = run_reader_comm_at(patient->file, patient->state.comm, patient->state.since);
    return number ? patient->file->comms[number] : NULL;
}

/* Returns the process's own record of a communicator with this name. */
static const struct comm_record *comm_named(const struct run_reader *file, const char *name)
{
    for (size_t slot = 1; slot < file->slot_count; slot++)
        if (file->comms[slot] && !(file->comms[slot]->flags & COMM_SUM) && strcmp(file->comms[slot]->name, name) == 0)
            return file->comms[slot];
    return NULL;
}

static bool is_world(const char *name)
{
    return strcmp(name, "MPI_COMM_WORLD") == 0;
}

/* Returns the rank in MPI_COMM_WORLD of a member of a communicator, or -1 if unknown. */
static int32_t world_rank_of(const struct ward *ward, const struct comm_record *comm, int32_t member)
{
    if (comm && is_world(comm->name)) /* a process in MPI_Init has no record of it yet */
        return member;
    for (size_t i = 0; comm && member >= 0 && i < ward->job->file_count; i++) {
        const struct run_reader *file = &ward->job->files[i];
        const struct comm_record *theirs = comm_named(file, comm->name);
        if (theirs && theirs->rank == member && (!(comm->flags & COMM_INTER) || theirs->group != comm->group))
            return file->header.world_rank;
    }
    return -1;
}

static bool wait_add(struct waits *waits, int32_t rank, enum wait_kind kind)
{
    for (size_t i = 0; i < waits->count; i++)
        if (waits->list[i].rank == rank && waits->list[i].kind == kind)
            return true;
    struct wait *list = array_grow(waits->list, waits->count, sizeof *list);
    if (!list)
        return false;
    waits->list = list;
    waits->list[waits->count++] = (struct wait){rank, kind};
    return true;
}

static bool peer_add(const struct ward *ward, struct waits *waits, const struct comm_record *comm, int32_t peer,
                     enum wait_kind kind)
{
    if (peer == PEER_ANY)
        waits->anybody = true;
    if (peer < 0)
        return true;
    return wait_add(waits, world_rank_of(ward, comm, peer), kind);
}

/* ---- what a call waits for --------------------------------------------------------------------------------------- */

/* Reads how often the process has returned from each function. Returns the number of functions. */
static size_t calls_read(const struct run_reader *file, uint64_t counts[CALL_COUNT])
{
    const struct figures figures = {file};
    size_t kinds = figures_read(&figures, "mpit_call_count", VARIABLE_COUNTER, NULL, counts, CALL_COUNT);
    return kinds < CALL_COUNT ? kinds : CALL_COUNT;
}

static uint64_t calls_done(const struct run_reader *file, uint32_t call)
{
    uint64_t counts[CALL_COUNT];
    return call < calls_read(file, counts) ? counts[call] : 0;
}

/* Returns the number of nonblocking collectives that the process has posted there, and that are not complete. The
 * counter mpit_coll_count includes them only when they are complete. */
static uint64_t collectives_posted(const struct run_reader *file, const char *name)
{
    uint64_t counts[CALL_COUNT], posted = 0;
    bool any = false; /* most programs have none, so their events need not be read */
    size_t kinds = calls_read(file, counts);
    for (size_t i = 0; i < kinds; i++)
        any |= counts[i] && (call_table[i].fold == FOLD_POST_COLL || call_table[i].fold == FOLD_START);
    struct pending *list = NULL;
    bool whole;
    long count = any ? pending_find(file, &list, &whole) : 0;
    for (long i = 0; i < count; i++) {
        const struct comm_record *comm = list[i].comm ? file->comms[list[i].comm] : NULL;
        posted += list[i].class == REQUEST_IS_COLL && comm && strcmp(comm->name, name) == 0;
    }
    free(list);
    return posted;
}

/* Returns how many collectives the process has begun on the communicator of this name before its present one. */
static uint64_t collectives_done(const struct run_reader *file, const char *name)
{
    const struct figures figures = {file};
    struct figures_comm comm;
    for (uint32_t at = 0; figures_comm_next(&figures, &at, &comm);)
        if (!comm.is_sum && strcmp(comm.name, name) == 0)
            return figures_one(&figures, "mpit_coll_count", VARIABLE_COUNTER, &comm) + collectives_posted(file, name);
    return 0;
}

static bool comm_is(const struct patient *patient, const char *name)
{
    const struct comm_record *comm = patient_comm(patient);
    return comm && strcmp(comm->name, name) == 0;
}

/* MPI_Finalize is a call of all processes. */
static bool works_on(const struct patient *patient, const char *name)
{
    return patient->state.call == CALL_MPI_Finalize ? is_world(name) : comm_is(patient, name);
}

/* Finds an earlier patient in the same collective. In a large job all processes are in it, and wait for the same few
 * ranks. */
static const struct patient *companion(const struct ward *ward, const struct patient *patient, const char *name)
{
    for (const struct patient *other = ward->patients; other < patient; other++)
        if (other->state.call == patient->state.call && other->done == patient->done && works_on(other, name))
            return other;
    return NULL;
}

/* Returns whether no process leaves the call before all have come. */
static bool is_of_all(uint32_t call)
{
    switch ((enum collective)call_table[call].op) {
    case COLLECTIVE_BARRIER:
    case COLLECTIVE_ALLGATHER:
    case COLLECTIVE_ALLGATHERV:
    case COLLECTIVE_ALLTOALL:
    case COLLECTIVE_ALLTOALLV:
    case COLLECTIVE_ALLTOALLW:
    case COLLECTIVE_ALLREDUCE:
    case COLLECTIVE_REDUCE_SCATTER:
    case COLLECTIVE_REDUCE_SCATTER_BLOCK:
        return true;
    default:
        return false;
    }
}

/* Finds the members of the communicator that have not come to the patient's collective. The patient waits for them. A
 * member that has completed more collectives has already left this one. */
static bool absent_add(const struct ward *ward, struct patient *patient)
{
    const struct comm_record *comm = patient_comm(patient);
    bool good = true;
    if (!comm)
        return true;
    patient->done = collectives_done(patient->file, comm->name);
    patient->waits.of_all = is_of_all(patient->state.call);
    const struct patient *like = companion(ward, patient, comm->name);
    for (size_t i = 0; like && good && i < like->waits.count; i++)
        good = wait_add(&patient->waits, like->waits.list[i].rank, WAIT_ALL);
    for (size_t i = 0; !like && good && i < ward->job->file_count; i++) {
        const struct run_reader *file = run_job_file(ward->job, i);
        bool starting = file->header.world_size == 0 && is_world(comm->name); /* it has no record of it yet */
        bool inside =
            (!comm_named(file, comm->name) && !starting) || collectives_done(file, comm->name) > patient->done;
        for (size_t k = 0; k < ward->count && !inside; k++)
            inside = ward->patients[k].file == file && ward->patients[k].state.call == patient->state.call &&
                     comm_is(&ward->patients[k], comm->name);
        good = inside || wait_add(&patient->waits, run_rank(&file->header), WAIT_ALL);
    }
    return good;
}

/* Returns whether another process is in the same call there. */
static bool another_is_inside(const struct ward *ward, const struct run_reader *file, uint32_t call, const char *name)
{
    bool inside = false;
    for (size_t i = 0; i < ward->count && !inside; i++)
        inside = ward->patients[i].file == file && ward->patients[i].state.call == call &&
                 works_on(&ward->patients[i], name);
    return inside;
}

/* The same as absent_add for a gathering call. The number of such calls of a process is only known over all
 * communicators. A process that made more of them counts as one that has left. */
static bool missing_add(const struct ward *ward, struct patient *patient)
{
    uint32_t call = patient->state.call;
    const struct comm_record *comm = call == CALL_MPI_Finalize ? NULL : patient_comm(patient);
    const char *name = comm ? comm->name : "MPI_COMM_WORLD";
    bool good = true;
    if (!comm && call != CALL_MPI_Finalize)
        return true;
    patient->done = calls_done(patient->file, call);
    patient->waits.of_all = true;
    const struct patient *like = companion(ward, patient, name);
    for (size_t i = 0; like && good && i < like->waits.count; i++)
        good = wait_add(&patient->waits, like->waits.list[i].rank, WAIT_ALL);
    for (size_t i = 0; !like && good && i < ward->job->file_count; i++) {
        const struct run_reader *file = run_job_file(ward->job, i);
        bool left = file->header.phase == RUN_FINALIZED || calls_done(file, call) > patient->done;
        bool member = is_world(name) || comm_named(file, name);
        if (file != patient->file && member && !left && !another_is_inside(ward, file, call, name))
            good = wait_add(&patient->waits, run_rank(&file->header), WAIT_ALL);
    }
    return good;
}

/* Adds the processes that have not begun the oldest nonblocking collective that the process has under way on that
 * communicator. */
static bool late_add(const struct ward *ward, struct patient *patient, const struct comm_record *comm)
{
    bool good = true;
    uint64_t posted = collectives_posted(patient->file, comm->name);
    uint64_t before = collectives_done(patient->file, comm->name) - posted;
    for (size_t i = 0; good && i < ward->job->file_count; i++) {
        const struct run_reader *file = run_job_file(ward->job, i);
        bool begun = !comm_named(file, comm->name) || collectives_done(file, comm->name) > before;
        for (size_t k = 0; k < ward->count && !begun; k++) /* a blocking one */
            begun = ward->patients[k].file == file && ward->patients[k].state.call < CALL_COUNT &&
                    call_table[ward->patients[k].state.call].class == CLASS_COLLECTIVE &&
                    comm_is(&ward->patients[k], comm->name);
        good = begun || wait_add(&patient->waits, run_rank(&file->header), WAIT_ALL);
    }
    return good;
}

/* Adds the partners of the process's requests under way. */
static bool requests_add(const struct ward *ward, struct patient *patient)
{
    struct pending *list;
    struct waits *waits = &patient->waits;
    bool good = true, whole;
    long count = pending_find(patient->file, &list, &whole);
    for (long i = 0; good && i < count; i++) {
        const struct comm_record *comm = list[i].comm ? patient->file->comms[list[i].comm] : NULL;
        if (list[i].class == REQUEST_IS_COLL) {
            waits->collective = true;
            good = !comm || late_add(ward, patient, comm);
        } else
            good = peer_add(ward, waits, comm, list[i].peer, list[i].class == REQUEST_IS_SEND ? WAIT_TO : WAIT_FROM);
    }
    waits->of_all = waits->collective;
    waits->requests = count != 1 || !whole || strcmp(patient->call, "MPI_Wait") != 0;
    free(list);
    return good;
}

/* Returns whether the process has receives under way, as far as known. */
static bool receives_posted(const struct patient *patient)
{
    struct pending *list;
    bool whole;
    long count = pending_find(patient->file, &list, &whole);
    bool posted = count < 0 || !whole;
    for (long i = 0; i < count; i++)
        posted = posted || list[i].class == REQUEST_IS_RECV;
    free(list);
    return posted;
}

/* Returns whether the call ends only when all requests are complete. A test returns at once. */
static bool waits_for_requests(const char *call)
{
    return strncmp(call, "MPI_Wait", strlen("MPI_Wait")) == 0;
}

static bool patient_waits(const struct ward *ward, struct patient *patient)
{
    uint32_t kind = patient->state.call;
    const struct comm_record *comm = patient_comm(patient);
    struct waits *waits = &patient->waits;
    int32_t peer = patient->state.peer;
    if (kind == CALL_NONE || kind >= CALL_COUNT || strcmp(patient->call, call_table[kind].name) != 0)
        return true;
    if (call_gathers(kind))
        return missing_add(ward, patient);
    if (call_table[kind].fold == FOLD_COMPLETION)
        return !waits_for_requests(patient->call) || requests_add(ward, patient);
    switch (call_table[kind].class) {
    case CLASS_COLLECTIVE:
        return absent_add(ward, patient);
    case CLASS_RMA:
        return peer_add(ward, waits, comm, peer, WAIT_AT);
    case CLASS_P2P:
        break;
    default:
        return true;
    }
    waits->posted = peer >= 0 && receives_posted(patient);
    if (call_table[kind].fold == FOLD_SEND)
        return peer_add(ward, waits, comm, peer, WAIT_TO);
    return peer_add(ward, waits, comm, peer, WAIT_FROM) &&
           (!patient->state.partner || peer_add(ward, waits, comm, patient->state.partner - 1, WAIT_TO));
}

int waits_find(struct ward *ward)
{
    for (size_t i = 0; i < ward->count; i++) {
        if (run_reader_wake(ward->patients[i].file, (char[128]){0}) != 0)
            continue;
        bool good = patient_waits(ward, &ward->patients[i]);
        run_reader_rest(ward->patients[i].file);
        if (!good)
            return -1;
    }
    return 0;
}

int64_t patient_end(const struct ward *ward, const struct patient *patient)
{
    return patient->end_ns >= 0 && !patient->alive ? patient->end_ns : ward->end_ns;
}

/* Returns whether the process has recorded its end. It then does not wait for any rank. */
static bool is_leaving(const struct patient *patient)
{
    uint32_t phase = patient->file->header.phase;
    return phase == RUN_ABORTED || phase == RUN_CLOSED || phase == RUN_EXITED;
}

bool patient_waits_for_dead(const struct ward *ward, const struct patient *patient, const struct patient *dead)
{
    bool waits = false;
    for (size_t i = 0; i < patient->waits.count; i++)
        waits = waits || patient->waits.list[i].rank == run_rank(&dead->file->header);
    if (!waits || dead->alive || patient->file == dead->file)
        return false;
    if (patient->alive)
        return true;
    if (dead->end_ns < 0)
        return false; /* it may have died with the others */
    int64_t from = patient->since_ns > dead->end_ns ? patient->since_ns : dead->end_ns;
    return patient_end(ward, patient) - from >= LONG_NS;
}

void waits_release(struct ward *ward)
{
    for (size_t i = 0; i < ward->count; i++)
        free(ward->patients[i].waits.list);
}

/* ---- circles ----------------------------------------------------------------------------------------------------- */

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
        bool is_long = patient->since_ns >= 0 && patient_end(ward, patient) - patient->since_ns >= LONG_NS;
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
    int32_t *path;    /* the ranks that are being looked at */
    size_t *next;     /* by rank: the wait to look at next */
    uint8_t *visited; /* 1: on the path, 2: it is not in a circle */
};

/* Returns the next rank that the last rank of the path waits for, or -1 for none. */
static int32_t step(struct search *search, int32_t rank)
{
    const struct patient *patient = search->blocked[rank];
    while (patient && !is_for_one(patient) && search->next[rank] < patient->waits.count) {
        const struct wait *wait = &patient->waits.list[search->next[rank]++];
        const struct patient *other =
            wait->rank >= 0 && wait->rank < search->ranks ? search->blocked[wait->rank] : NULL;
        bool needs = wait->kind != WAIT_AT && (wait->kind != WAIT_ALL || is_needed(&patient->waits));
        if (other && needs && search->visited[wait->rank] != 2 && !is_met(other, rank, wait->kind))
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
    return end_ns - since_ns >= LONG_NS && !(alive && unknown); /* one died before the other, at an unknown time */
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
    return *ranks ? count : 0;
}
