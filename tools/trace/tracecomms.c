#include "trace/tracecomms.h"

#include "base/array.h"
#include <stdlib.h>
#include <string.h>

enum { VACANT = -1 };

/* A process's record of a communicator. */
struct claim {
    const struct comm_record *record;
    int32_t world_rank;
    uint32_t depth;      /* distance from a communicator without a parent */
    uint32_t occurrence; /* its position among records of this name in the process */
};

/* Claims of the same name, and the data needed to decide on them. */
struct claims {
    const struct trace_job *job;
    struct trace_comms *comms;
    struct otf2_report *report;
    const struct claim *list;
    size_t count;
};

static int claim_order_in_process(const void *one, const void *other)
{
    const struct claim *a = one, *b = other;
    const struct comm_record *x = a->record, *y = b->record;
    int order = ORDER(a->world_rank, b->world_rank) ?: strcmp(x->name, y->name);
    return order ?: ORDER(x->created_ticks, y->created_ticks) ?: ORDER(x->slot, y->slot);
}

/* Sorts parents before children, and MPI_COMM_WORLD first. Readers show the list in this order. */
static int claim_order(const void *one, const void *other)
{
    const struct claim *a = one, *b = other;
    bool a_is_other = strcmp(a->record->name, "MPI_COMM_WORLD") != 0;
    bool b_is_other = strcmp(b->record->name, "MPI_COMM_WORLD") != 0;
    int order = ORDER(a->depth, b->depth) ?: a_is_other - b_is_other ?: strcmp(a->record->name, b->record->name);
    return order ?: ORDER(a->occurrence, b->occurrence) ?: ORDER(a->world_rank, b->world_rank);
}

static bool claims_match(const struct claim *a, const struct claim *b)
{
    return a->depth == b->depth && a->occurrence == b->occurrence && strcmp(a->record->name, b->record->name) == 0;
}

/* `depths` has the known depths by number: 0 = not yet known, else depth + 1. */
static uint32_t record_depth(const struct run_reader *run, const struct comm_record *record, uint32_t *depths)
{
    uint32_t steps = 0, known = 0;
    const struct comm_record *at = record;
    while (!(known = depths[at->slot]) && !(at->flags & COMM_APART) && at->parent && run->comms[at->parent] &&
           steps < run->comm_count) { /* a damaged file may have a loop */
        at = run->comms[at->parent];
        steps++;
    }
    /* with a separate name: its parent may differ on other ranks */
    uint32_t depth = steps + (known ? known - 1 : (at->flags & COMM_APART) != 0);
    at = record;
    for (uint32_t i = 0; i <= steps && !depths[at->slot]; i++) {
        depths[at->slot] = depth - i + 1;
        at = at->parent && run->comms[at->parent] ? run->comms[at->parent] : at;
    }
    return depth;
}

static bool comm_record_fits_job(const struct trace_job *job, const struct comm_record *record)
{
    bool inter = record->flags & COMM_INTER;
    return record->size > 0 && record->size <= job->size && record->rank >= 0 && record->rank < record->size &&
           (!inter || (record->remote_size > 0 && record->remote_size <= job->size));
}

static uint32_t claim_parent(const struct claims *claims, const struct claim *claim)
{
    uint32_t parent = claim->record->parent;
    return parent ? trace_comm_find(claims->comms, claims->job, claim->world_rank, parent) : NO_COMM;
}

/* Adds a communicator with empty places. Returns NULL without memory. */
static struct trace_comm *trace_comm_add(const struct claims *claims, const struct claim *claim)
{
    struct trace_comms *comms = claims->comms;
    if (!ARRAY_GROWN(comms->list, comms->count))
        return NULL;
    struct trace_comm *comm = &comms->list[comms->count];
    *comm = (struct trace_comm){
        .name = claim->record->name, .parent = claim_parent(claims, claim), .size = claim->record->size, .label = ""};
    comm->members = malloc((size_t)comm->size * sizeof *comm->members);
    if (!comm->members)
        return NULL;
    for (int32_t i = 0; i < comm->size; i++)
        comm->members[i] = VACANT;
    comms->count++;
    return comm;
}

static void comm_drop_last(struct trace_comms *comms)
{
    struct trace_comm *comm = &comms->list[--comms->count];
    free(comm->members);
    free(comm->remote);
}

/* Members may have different names for it. Takes one of them, the same as in the summary. */
static void claim_number_set(const struct claims *claims, const struct claim *claim, size_t comm)
{
    struct trace_comm *found = &claims->comms->list[comm];
    const char *label = claim->record->label;
    if (label[0] && (!found->label[0] || strcmp(label, found->label) < 0))
        found->label = label;
    claims->comms->of_number[claim->world_rank][claim->record->slot] = (uint32_t)comm;
}

static bool same_host(const struct trace_job *job, const struct trace_comm *comm, int32_t world_rank)
{
    for (int32_t i = 0; i < comm->size; i++)
        if (comm->members[i] != VACANT)
            return job->ranks[comm->members[i]].host == job->ranks[world_rank].host;
    return true;
}

/* Adds each claim to the first communicator, from `first` on, with a vacant place for it. */
static int claims_place(const struct claims *claims, size_t first, bool by_host)
{
    for (size_t i = 0; i < claims->count; i++) {
        const struct claim *claim = &claims->list[i];
        struct trace_comm *comm = NULL;
        for (size_t c = first; c < claims->comms->count && !comm; c++) {
            struct trace_comm *candidate = &claims->comms->list[c];
            if (candidate->size == claim->record->size && candidate->members[claim->record->rank] == VACANT &&
                (!by_host || same_host(claims->job, candidate, claim->world_rank)))
                comm = candidate;
        }
        if (!comm)
            comm = trace_comm_add(claims, claim);
        if (!comm)
            return report_no_memory(claims->report);
        comm->members[claim->record->rank] = claim->world_rank;
        claim_number_set(claims, claim, (size_t)(comm - claims->comms->list));
    }
    return 0;
}

/* Fills vacant places, from the ranks without a run file first. */
static int vacancies_fill(const struct claims *claims, struct trace_comm *comm)
{
    const struct trace_job *job = claims->job;
    int32_t vacant = 0;
    bool *taken = calloc((size_t)job->size, sizeof *taken);
    if (!taken)
        return report_no_memory(claims->report);
    for (int32_t i = 0; i < comm->size; i++)
        if (comm->members[i] == VACANT)
            vacant++;
        else
            taken[comm->members[i]] = true;
    for (int32_t i = 0; i < comm->size && comm->size == job->size; i++)
        if (comm->members[i] == VACANT && !taken[i] && !job->ranks[i].run) {
            comm->members[i] = i; /* a communicator of all processes, without any sign of another order */
            taken[i] = true;
        }
    int32_t place = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t r = 0; r < job->size; r++) {
            while (place < comm->size && comm->members[place] != VACANT)
                place++;
            if (place < comm->size && !taken[r] && (pass == 1 || !job->ranks[r].run)) {
                comm->members[place] = r;
                taken[r] = true;
            }
        }
    free(taken);
    if (vacant)
        report_warning(claims->report,
                       "communicator %s: %d of %d members have no record of it; their ranks are assumed", comm->name,
                       vacant, comm->size);
    return 0;
}

static int self_build(const struct claims *claims)
{
    struct trace_comm *comm = trace_comm_add(claims, &claims->list[0]);
    if (!comm)
        return report_no_memory(claims->report);
    free(comm->members);
    comm->members = NULL;
    comm->self = true;
    for (size_t i = 0; i < claims->count; i++)
        claim_number_set(claims, &claims->list[i], claims->comms->count - 1);
    return 0;
}

static int intra_build(const struct claims *claims)
{
    struct trace_comms *comms = claims->comms;
    size_t first = comms->count;
    bool all_single = true;
    for (size_t i = 0; i < claims->count; i++)
        all_single &= claims->list[i].record->size == 1;
    if (all_single && (claims->count > 1 || strcmp(claims->list[0].record->name, "MPI_COMM_SELF") == 0))
        return self_build(claims);
    if (claims_place(claims, first, false) != 0)
        return -1;
    if (comms->count > first + 1) {
        while (comms->count > first)
            comm_drop_last(comms);
        if (claims_place(claims, first, true) != 0)
            return -1;
        if (comms->count - first > claims->job->host_count)
            report_warning(claims->report, "several communicators are named %s; their members are assumed",
                           claims->list[0].record->name);
    }
    for (size_t c = first; c < comms->count; c++)
        if (vacancies_fill(claims, &comms->list[c]) != 0)
            return -1;
    return 0;
}

static bool comm_has_remote(const struct trace_comm *comm, int32_t world_rank)
{
    for (int32_t i = 0; i < comm->remote_size; i++)
        if (comm->remote[i] == world_rank)
            return true;
    return false;
}

/* Returns whether both processes are on the same side. The records name their groups, or both records come from the
 * same local communicator. */
static bool same_side(const struct claims *claims, const struct claim *a, const struct claim *b)
{
    if (a->record->size != b->record->size || a->record->remote_size != b->record->remote_size)
        return false;
    if (a->record->group && b->record->group)
        return a->record->group == b->record->group;
    uint32_t parent = claim_parent(claims, a);
    if (parent != claim_parent(claims, b))
        return false;
    if (parent == NO_COMM || !claims->comms->list[parent].inter)
        return true;
    const struct trace_comm *comm = &claims->comms->list[parent];
    return comm_has_remote(comm, a->world_rank) == comm_has_remote(comm, b->world_rank);
}

static bool group_join(int32_t *members, int32_t size, const struct claim *claim)
{
    if (claim->record->rank >= size || members[claim->record->rank] != VACANT)
        return false;
    members[claim->record->rank] = claim->world_rank;
    return true;
}

/* Builds both groups from the records alone. Missing members cannot be found. */
static int inter_build(const struct claims *claims)
{
    const struct claim *first = &claims->list[0];
    struct trace_comm *comm = trace_comm_add(claims, first);
    if (!comm)
        return report_no_memory(claims->report);
    comm->inter = true;
    comm->remote_size = first->record->remote_size;
    comm->remote = malloc((size_t)comm->remote_size * sizeof *comm->remote);
    if (!comm->remote)
        return report_no_memory(claims->report);
    for (int32_t i = 0; i < comm->remote_size; i++)
        comm->remote[i] = VACANT;
    bool sound = claims->count == (size_t)comm->size + (size_t)comm->remote_size;
    for (size_t i = 0; i < claims->count && sound; i++) {
        const struct claim *claim = &claims->list[i];
        if (same_side(claims, first, claim))
            sound = group_join(comm->members, comm->size, claim);
        else
            sound = claim->record->remote_size == comm->size && claim->record->size == comm->remote_size &&
                    group_join(comm->remote, comm->remote_size, claim);
        if (claim_parent(claims, claim) != comm->parent)
            comm->parent = NO_COMM; /* each side may have its own, so there is no common one */
    }
    if (!sound) {
        report_warning(claims->report, "inter-communicator %s: its two groups are unknown; its messages are left out",
                       first->record->name);
        comm_drop_last(claims->comms);
        return 0;
    }
    for (size_t i = 0; i < claims->count; i++)
        claim_number_set(claims, &claims->list[i], claims->comms->count - 1);
    return 0;
}

static struct claim *claims_collect(struct trace_job *job, size_t *count, struct otf2_report *report)
{
    size_t most = 0;
    for (int32_t r = 0; r < job->size; r++)
        most += job->ranks[r].run ? job->ranks[r].run->comm_count : 0;
    struct claim *list = malloc((most + 1) * sizeof *list);
    *count = 0;
    for (int32_t r = 0; list && r < job->size; r++) {
        const struct run_reader *run = job->ranks[r].run;
        uint32_t *depths = run ? calloc(run->comm_count + 1, sizeof *depths) : NULL;
        if (run && !depths) {
            free(list);
            return NULL;
        }
        for (size_t number = 0; run && number < run->comm_count; number++) {
            const struct comm_record *record = run->comms[number];
            if (!record || record->flags & COMM_SUM)
                continue;
            if (record->flags & COMM_FOREIGN)
                job->foreign_name = job->foreign_name ? job->foreign_name : record->name;
            else if (comm_record_fits_job(job, record))
                list[(*count)++] = (struct claim){record, r, record_depth(run, record, depths), 0};
            else
                report_warning(report,
                               "rank %d: communicator %s (rank %d of %d) does not fit into the job; its "
                               "messages are left out",
                               r, record->name, record->rank, record->size);
        }
        free(depths);
    }
    return list;
}

static void occurrences_count(struct claim *list, size_t count)
{
    qsort(list, count, sizeof *list, claim_order_in_process);
    for (size_t i = 1; i < count; i++)
        if (list[i].world_rank == list[i - 1].world_rank && strcmp(list[i].record->name, list[i - 1].record->name) == 0)
            list[i].occurrence = list[i - 1].occurrence + 1;
    qsort(list, count, sizeof *list, claim_order);
}

static int trace_slots_make(struct trace_comms *comms, const struct trace_job *job, struct otf2_report *report)
{
    comms->ranks = job->size;
    comms->of_number = calloc((size_t)job->size, sizeof *comms->of_number);
    if (!comms->of_number)
        return report_no_memory(report);
    for (int32_t r = 0; r < job->size; r++) {
        size_t slots = job->ranks[r].run ? job->ranks[r].run->comm_count : 0;
        if (slots && !(comms->of_number[r] = malloc(slots * sizeof **comms->of_number)))
            return report_no_memory(report);
        for (size_t slot = 0; slot < slots; slot++)
            comms->of_number[r][slot] = NO_COMM;
    }
    return 0;
}

int trace_comms_open(struct trace_comms *comms, struct trace_job *job, struct otf2_report *report)
{
    size_t count;
    *comms = (struct trace_comms){0};
    if (trace_slots_make(comms, job, report) != 0)
        return -1;
    struct claim *list = claims_collect(job, &count, report);
    if (!list)
        return report_no_memory(report);
    occurrences_count(list, count);
    int result = 0;
    for (size_t i = 0, end; i < count && result == 0; i = end) {
        bool inter = list[i].record->flags & COMM_INTER;
        for (end = i + 1; end < count && claims_match(&list[i], &list[end]) &&
                          inter == (bool)(list[end].record->flags & COMM_INTER);)
            end++;
        struct claims claims = {job, comms, report, &list[i], end - i};
        result = inter ? inter_build(&claims) : intra_build(&claims);
    }
    free(list);
    return result;
}

void trace_comms_select(struct trace_comms *comms, const struct trace_job *job)
{
    for (size_t c = 0; c < comms->count; c++) {
        struct trace_comm *comm = &comms->list[c];
        for (int32_t i = 0; comm->members && i < comm->size; i++)
            comm->partial = comm->partial || job->ranks[comm->members[i]].left_out;
        for (int32_t i = 0; comm->remote && i < comm->remote_size; i++)
            comm->partial = comm->partial || job->ranks[comm->remote[i]].left_out;
    }
}

void trace_comms_release(struct trace_comms *comms)
{
    while (comms->count)
        comm_drop_last(comms);
    for (int32_t r = 0; comms->of_number && r < comms->ranks; r++)
        free(comms->of_number[r]);
    free(comms->of_number);
    free(comms->list);
    *comms = (struct trace_comms){0};
}
