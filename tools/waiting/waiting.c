#include "waiting/waiting.h"

#include "base/array.h"
#include "calls.h"
#include "figures/figures.h"
#include "trace/jointcalls.h"
#include "trace/tracejob.h"
#include "trace/requestpairs.h"
#include "trace/pending.h"
#include "waiting/waitmembers.h"

#include <stdlib.h>
#include <string.h>

/* ---- places ------------------------------------------------------------------------------------------------------ */

const struct comm_record *patient_comm(const struct patient *patient)
{
    return run_reader_comm_record(patient->file, patient->state.comm, patient->state.since);
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
    size_t file = comm && member >= 0 ? members_rank(members_of(ward->members, comm->name), comm, member) : SIZE_MAX;
    return file < SIZE_MAX ? ward->job->files[file].header.world_rank : -1;
}

/* A list that several threads share is copied before it is changed. */
static bool waits_own(struct waits *waits)
{
    if (!waits->shared)
        return true;
    struct wait *list = NULL;
    for (size_t i = 0; i < waits->count; i++) {
        if (!ARRAY_GROWN(list, i)) {
            free(list);
            return false;
        }
        list[i] = waits->list[i];
    }
    waits->list = list;
    waits->shared = false;
    return true;
}

static bool wait_add(struct waits *waits, int32_t rank, enum wait_kind kind)
{
    for (size_t i = 0; i < waits->count; i++)
        if (waits->list[i].rank == rank && waits->list[i].kind == kind)
            return true;
    if (!waits_own(waits) || !ARRAY_GROWN(waits->list, waits->count))
        return false;
    waits->list[waits->count++] = (struct wait){rank, kind};
    return true;
}

static bool absence_take(struct waits *waits, const struct absence *absence)
{
    bool good = true;
    if (!waits->count) {
        waits->list = absence->list;
        waits->count = absence->count;
        waits->shared = true;
        return true;
    }
    for (size_t i = 0; good && i < absence->count; i++)
        good = wait_add(waits, absence->list[i].rank, WAIT_ALL);
    return good;
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

size_t calls_read(const struct run_reader *file, uint64_t counts[CALL_COUNT])
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

/* A question about a thread that is in a call of a job. */
typedef bool patient_test(const struct patient *patient, uint32_t call, const char *name);

static bool is_in_call(const struct patient *patient, uint32_t call, const char *name)
{
    return patient->state.call == call && works_on(patient, name);
}

static bool is_in_collective(const struct patient *patient, uint32_t call, const char *name)
{
    (void)call;
    return patient->state.call < CALL_COUNT && call_table[patient->state.call].class == CLASS_COLLECTIVE &&
           comm_is(patient, name);
}

/* Returns whether this is true of a thread of file i. Threads of one file are neighbors. */
static bool any_thread(const struct ward *ward, size_t i, patient_test *test, uint32_t call, const char *name)
{
    for (size_t k = ward->first_of_file[i]; k < ward->first_of_file[i + 1]; k++)
        if (test(&ward->patients[k], call, name))
            return true;
    return false;
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

/* Returns how many collectives the process of file i has begun on the communicator before its present one. */
static uint64_t collectives_of(const struct ward *ward, struct member_list *members, size_t i)
{
    struct member *member = members_find(members, i);
    if (member && !member->counted) {
        const struct run_reader *file = run_job_file(ward->job, i);
        member->done = collectives_done(file, members->name);
        member->counted = true;
        run_reader_rest(file);
    }
    return member ? member->done : 0;
}

/* Lists the members of the communicator that have not come to a collective, the `done` + 1st there. A member that has
 * completed more collectives has already left this one. `call`: CALL_NONE for any collective. In a large job all
 * processes are in it, and wait for the same few ranks. Returns NULL without memory. */
static const struct absence *absent_find(const struct ward *ward, struct member_list *members, uint32_t call,
                                         uint64_t done, patient_test *test)
{
    const struct run_job *job = ward->job;
    const struct absence *known = absence_find(members, call, done);
    struct absence *absence = known ? NULL : absence_make(members, call, done);
    bool good = absence != NULL, world = is_world(members->name) && call != CALL_NONE;
    for (size_t k = 0; good && k < (world ? job->file_count : members->count); k++) {
        size_t i = world ? k : members->list[k].file;
        bool starting = world && job->files[i].header.world_size == 0; /* it has no record of it yet */
        bool inside = (world && !starting && !members_find(members, i)) ||
                      any_thread(ward, i, test, call, members->name) || collectives_of(ward, members, i) > done;
        good = inside || absence_add(absence, run_rank(&job->files[i].header));
    }
    return known ? known : good ? absence : NULL;
}

/* Adds the members that have not come to the patient's collective. The patient waits for them. */
static bool absent_add(const struct ward *ward, struct patient *patient)
{
    const struct comm_record *comm = patient_comm(patient);
    struct member_list *members = comm ? members_of(ward->members, comm->name) : NULL;
    if (!comm)
        return true;
    patient->waits.of_all = is_of_all(patient->state.call);
    if (!members)
        return true;
    struct member *own = members_find(members, (size_t)(patient->file - ward->job->files));
    if (own && !own->counted) {
        own->done = patient->done;
        own->counted = true;
    }
    if (members->absence_count >= ABSENCES_MOST)
        return true;
    const struct absence *absence = absent_find(ward, members, patient->state.call, patient->done, is_in_call);
    return absence && absence_take(&patient->waits, absence);
}

/* The same as absent_find for a gathering call. */
static const struct absence *missing_find(const struct ward *ward, struct member_list *members, uint32_t call,
                                          uint64_t done)
{
    const struct run_job *job = ward->job;
    const struct absence *known = absence_find(members, call, done);
    struct absence *absence = known ? NULL : absence_make(members, call, done);
    bool good = absence != NULL, world = is_world(members->name);
    for (size_t k = 0; good && k < (world ? job->file_count : members->count); k++) {
        size_t i = world ? k : members->list[k].file;
        if (job->files[i].header.phase == RUN_FINALIZED || any_thread(ward, i, is_in_call, call, members->name))
            continue;
        const struct run_reader *file = run_job_file(job, i);
        if (calls_done(file, call) <= done)
            good = absence_add(absence, run_rank(&file->header));
        run_reader_rest(file);
    }
    return known ? known : good ? absence : NULL;
}

/* The same as absent_add for a gathering call. The number of such calls of a process is only known over all
 * communicators. A process that made more of them counts as one that has left. */
static bool missing_add(const struct ward *ward, struct patient *patient)
{
    uint32_t call = patient->state.call;
    const struct comm_record *comm = call == CALL_MPI_Finalize ? NULL : patient_comm(patient);
    if (!comm && call != CALL_MPI_Finalize)
        return true;
    struct member_list *members = members_of(ward->members, comm ? comm->name : "MPI_COMM_WORLD");
    patient->waits.of_all = true;
    if (members && members->absence_count >= ABSENCES_MOST)
        return true;
    const struct absence *absence = members ? missing_find(ward, members, call, patient->done) : NULL;
    return !members || (absence && absence_take(&patient->waits, absence));
}

/* Adds the processes that have not begun the oldest nonblocking collective that the process has under way on that
 * communicator. */
static bool late_add(const struct ward *ward, struct patient *patient, const struct comm_record *comm)
{
    struct member_list *members = members_of(ward->members, comm->name);
    run_job_file(ward->job, (size_t)(patient->file - ward->job->files)); /* others were read since it was woken */
    uint64_t posted = collectives_posted(patient->file, comm->name);
    uint64_t before = collectives_done(patient->file, comm->name) - posted;
    const struct absence *absence = members ? absent_find(ward, members, CALL_NONE, before, is_in_collective) : NULL;
    return !members || (absence && absence_take(&patient->waits, absence));
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

/* Returns whether the thread is in a call that this mpit knows. */
static bool call_is_known(const struct patient *patient)
{
    uint32_t kind = patient->state.call;
    return kind != CALL_NONE && kind < CALL_COUNT && strcmp(patient->call, call_table[kind].name) == 0;
}

static bool waits_in_completion(const struct patient *patient)
{
    uint32_t kind = patient->state.call;
    return call_is_known(patient) && !call_gathers(kind) && call_table[kind].fold == FOLD_COMPLETION;
}

void patient_read(struct patient *patient)
{
    uint32_t kind = patient->state.call;
    const struct comm_record *comm = patient_comm(patient);
    if (!call_is_known(patient) || waits_in_completion(patient))
        return;
    if (call_gathers(kind))
        patient->done = calls_done(patient->file, kind);
    else if (call_table[kind].class == CLASS_COLLECTIVE && comm)
        patient->done = collectives_done(patient->file, comm->name);
    else if (call_table[kind].class == CLASS_P2P)
        patient->waits.posted = patient->state.peer >= 0 && receives_posted(patient);
}

static bool patient_waits(const struct ward *ward, struct patient *patient)
{
    uint32_t kind = patient->state.call;
    const struct comm_record *comm = patient_comm(patient);
    struct waits *waits = &patient->waits;
    int32_t peer = patient->state.peer;
    if (!call_is_known(patient))
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
    if (call_table[kind].fold == FOLD_SEND)
        return peer_add(ward, waits, comm, peer, WAIT_TO);
    return peer_add(ward, waits, comm, peer, WAIT_FROM) &&
           (!patient->state.partner || peer_add(ward, waits, comm, patient->state.partner - 1, WAIT_TO));
}

/* Notes which patients are of which file. They are in the order of the files. */
static bool patients_index(struct ward *ward)
{
    size_t next = 0, files = ward->job->file_count;
    ward->first_of_file = calloc(files + 1, sizeof *ward->first_of_file);
    for (size_t i = 0; ward->first_of_file && i < files; i++) {
        while (next < ward->count && ward->patients[next].file == &ward->job->files[i])
            next++;
        ward->first_of_file[i + 1] = next;
    }
    return ward->first_of_file != NULL;
}

int waits_find(struct ward *ward)
{
    if (!ward->count)
        return 0;
    if (!patients_index(ward) || !(ward->members = members_open(ward->job)))
        return -1;
    for (size_t i = 0; i < ward->count; i++) {
        bool reads = waits_in_completion(&ward->patients[i]); /* all else was read by patient_read */
        if (reads && run_reader_wake(ward->patients[i].file, (char[128]){0}) != 0)
            continue;
        bool good = patient_waits(ward, &ward->patients[i]);
        if (reads)
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

bool patient_waits_for_dead(const struct ward *ward, const struct patient *patient, const struct patient *dead)
{
    if (dead->alive || patient->file == dead->file)
        return false;
    if (!patient->alive && dead->end_ns < 0)
        return false; /* it may have died with the others */
    int64_t from = patient->since_ns > dead->end_ns ? patient->since_ns : dead->end_ns;
    if (!patient->alive && patient_end(ward, patient) - from < WAIT_LONG_NS)
        return false;
    for (size_t i = 0; i < patient->waits.count; i++)
        if (patient->waits.list[i].rank == run_rank(&dead->file->header))
            return true;
    return false;
}

void waits_release(struct ward *ward)
{
    for (size_t i = 0; i < ward->count; i++)
        if (!ward->patients[i].waits.shared)
            free(ward->patients[i].waits.list);
    free(ward->first_of_file);
    members_close(ward->members);
}
