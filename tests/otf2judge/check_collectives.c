#include "check_deferred.h"
#include "check_happenings.h"

#include <stdlib.h>

/* The window for a comparison call by call. A member that is further behind is compared only at the end, by number and
 * print. */
enum { CALLS_KEPT = 1 << 12 };

static struct map members = {.element_size = sizeof(struct member)};

static uint64_t collective_member_id(const struct location *location, OTF2_Paradigm paradigm)
{
    return paradigm_has_processes(paradigm) ? location->process->id : location->id;
}

static bool group_has(const struct defined_group *group, int64_t index)
{
    if (group->type == OTF2_GROUP_TYPE_COMM_SELF)
        return true;
    if (index >= 0 && (uint64_t)index < group->count && group->members[index] == (uint64_t)index)
        return true;
    for (uint64_t i = 0; i < group->count; i++)
        if (group->members[i] == (uint64_t)index)
            return true;
    return false;
}

static unsigned char side_of(const struct defined_comm *comm, int64_t index)
{
    if (group_has(comm->groups[0], index))
        return MEMBER_OF_FIRST;
    return comm->inter && comm->groups[1] && group_has(comm->groups[1], index) ? MEMBER_OF_SECOND : MEMBER_NOT;
}

struct member *comm_member(struct location *location, OTF2_CommRef id, struct check_place place)
{
    const struct defined_comm *comm = defined(OTF2_MAPPING_COMM, id);
    if (!comm) {
        check_found(RULE_UNDEFINED_REFERENCE, &place, "Comm %u is not defined", id);
        return NULL;
    }
    if (!comm->groups[0] || (comm->inter && !comm->groups[1])) /* already reported at its definition */
        return NULL;
    OTF2_Paradigm paradigm = comm->groups[0]->paradigm;
    struct member *member = map_at(&members, id, collective_member_id(location, paradigm));
    if (member->side == MEMBER_UNKNOWN) {
        member->process = location->process;
        member->key = collective_member_id(location, paradigm);
        member->side = side_of(comm, world_index_of(location, paradigm));
        if (member->side == MEMBER_NOT && paradigm_has_processes(paradigm))
            check_found(RULE_LOCATION_NOT_IN_COMMUNICATOR, &place, "its process is not a member of Comm %u (%s)", id,
                        string_text(comm->name));
    }
    return member->side == MEMBER_NOT ? NULL : member;
}

int64_t comm_peer(const struct location *location, const struct member *member, OTF2_CommRef id, uint32_t rank,
                  enum check_rule rule, struct check_place place)
{
    const struct defined_comm *comm = defined(OTF2_MAPPING_COMM, id);
    const struct defined_group *group = comm->groups[comm->inter && member->side == MEMBER_OF_FIRST];
    bool self = group->type == OTF2_GROUP_TYPE_COMM_SELF;
    bool global = !self && group->flags & OTF2_GROUP_FLAG_GLOBAL_MEMBERS;
    if (global && group_has(group, rank))
        return rank;
    if (!global && rank < (self ? 1 : group->count))
        return self ? world_index_of(location, group->paradigm) : (int64_t)group->members[rank];
    check_found(rule, &place, "rank %u is not in Comm %u (%s)", rank, id, string_text(comm->name));
    return -1;
}

void comm_use(struct member *member, OTF2_CommRef id, struct check_place place)
{
    member->used = true;
    if (!member->destroyed || member->pending)
        return;
    member->pending = true;
    check_found(RULE_COMM_LIFE, &place, "Comm %u is used after its process has destroyed it", id);
}

HAPPENING(comm_created_judge)
{
    const struct defined_comm *comm = defined(OTF2_MAPPING_COMM, happening->reference);
    struct member *member = comm_member(location, happening->reference, place);
    if (comm && !comm->has_events)
        check_found(RULE_COMM_FLAG, &place, "Comm %u has no flag CREATE_DESTROY_EVENTS", comm->id);
    if (happening->flag && location->process->collective_requests == 0)
        check_found(RULE_COMM_OPERATION, &place, "Comm %u is created outside of a collective operation",
                    happening->reference);
    if (!member)
        return;
    if (member->created || member->used)
        check_found(RULE_COMM_LIFE, &place, "Comm %u is %s its process creates it", happening->reference,
                    member->created ? "created when" : "used before");
    member->created = true;
}

HAPPENING(comm_destroyed_judge)
{
    const struct defined_comm *comm = defined(OTF2_MAPPING_COMM, happening->reference);
    struct member *member = comm_member(location, happening->reference, place);
    if (comm && !comm->has_events)
        check_found(RULE_COMM_FLAG, &place, "Comm %u has no flag CREATE_DESTROY_EVENTS", comm->id);
    if (!member)
        return;
    if (member->destroyed)
        check_found(RULE_COMM_LIFE, &place, "Comm %u is destroyed a second time by its process", happening->reference);
    else if (!member->created)
        check_defer(RULE_COMM_LIFE, location->process, NULL, place, "Comm %u is destroyed, but was not created",
                    happening->reference);
    member->destroyed = true;
}

static bool otf2_op_has_root(unsigned op)
{
    switch (op) {
    case OTF2_COLLECTIVE_OP_BCAST:
    case OTF2_COLLECTIVE_OP_GATHER:
    case OTF2_COLLECTIVE_OP_GATHERV:
    case OTF2_COLLECTIVE_OP_SCATTER:
    case OTF2_COLLECTIVE_OP_SCATTERV:
    case OTF2_COLLECTIVE_OP_REDUCE:
        return true;
    default:
        return false;
    }
}

static void root_judge(const struct location *location, const struct member *member, const struct defined_comm *comm,
                       uint32_t root, struct check_place place)
{
    if (root < OTF2_COLLECTIVE_ROOT_THIS_GROUP)
        comm_peer(location, member, comm->id, root, RULE_COLLECTIVE_ROOT, place);
    else if (root == OTF2_COLLECTIVE_ROOT_NONE)
        check_found(RULE_COLLECTIVE_ROOT, &place, "the operation has a root, but the record has none");
    else if (!comm->inter && comm->groups[0]->type != OTF2_GROUP_TYPE_COMM_SELF)
        check_found(RULE_COLLECTIVE_ROOT, &place, "SELF and THIS_GROUP are roots only on inter-communicators");
}

/* The blocking operations must come in the same order to all members. */
static void order_judge(struct member *member, struct defined_comm *comm, const struct collective_call *call,
                        struct check_place place)
{
    uint64_t position = member->blocking++;
    member->order = check_mix(member->order + ((uint64_t)call->op << 32 | call->root) + 1);
    if (position >= comm->call_count) {
        if (comm->call_count == comm->call_capacity && comm->call_capacity < CALLS_KEPT) {
            comm->call_capacity = comm->call_capacity ? comm->call_capacity * 2 : 16;
            comm->calls = check_enlarge(comm->calls, comm->call_capacity, sizeof *comm->calls);
        }
        comm->calls[comm->call_count++ % comm->call_capacity] = *call;
        return;
    }
    const struct collective_call *first = &comm->calls[position % comm->call_capacity];
    if (comm->call_count - position > comm->call_capacity || member->differs ||
        (first->op == call->op && first->root == call->root))
        return;
    member->differs = true;
    check_defer(RULE_COLLECTIVE_MEMBERS_DIFFER, member->process, NULL, place,
                "operation %" PRIu64 " on Comm %u (%s) is %u with root %d here, and was %u with root %d elsewhere",
                position + 1, comm->id, string_text(comm->name), call->op, (int)call->root, first->op,
                (int)first->root);
}

HAPPENING(collective_judge)
{
    bool blocking = happening->what == COLLECTIVE_ENDED;
    struct member *member = comm_member(location, happening->reference, place);
    struct defined_comm *comm = defined(OTF2_MAPPING_COMM, happening->reference);
    if (!member || happening->op >= OTF2_COLLECTIVE_OP_CREATE_HANDLE)
        return; /* a communicator's creation may be recorded on the new one */
    bool rooted = otf2_op_has_root(happening->op);
    struct collective_call call = {happening->op, rooted && !comm->inter ? happening->peer : UINT32_MAX};
    if (rooted)
        root_judge(location, member, comm, happening->peer, place);
    if (blocking) {
        comm_use(member, comm->id, place);
        if (comm->groups[0]->type == OTF2_GROUP_TYPE_COMM_SELF) /* each has its own */
            check_figures.collectives++;
        else
            order_judge(member, comm, &call, place);
    } else {
        member->nonblocking++;
        member->nonblocking_sum += check_mix(call.op + 1);
    }
    member->last = happening->time;
    check_figures.collective_calls++;
    comm->figures.collectives++;
    comm->figures.bytes_in += happening->bytes;
    comm->figures.bytes_out += happening->more;
}

static void member_compare(const struct defined_comm *comm, const struct member *first, const struct process *first_of,
                           const struct member *other, const struct process *process)
{
    if (first->blocking == other->blocking && first->order == other->order &&
        first->nonblocking == other->nonblocking && first->nonblocking_sum == other->nonblocking_sum)
        return;
    if (first->differs || other->differs)
        return;
    struct check_place place = {
        .rank = process->rank, .thread = -1, .time = other->last, .has_time = other->last, .record = "Comm"};
    check_found(RULE_COLLECTIVE_MEMBERS_DIFFER, &place,
                "rank %" PRId64 " took part in %" PRIu64 " blocking and %" PRIu64
                " nonblocking operations on Comm %u (%s), rank %" PRId64 " in %" PRIu64 " and %" PRIu64 "%s",
                process->rank, other->blocking, other->nonblocking, comm->id, string_text(comm->name), first_of->rank,
                first->blocking, first->nonblocking,
                first->blocking == other->blocking && first->nonblocking == other->nonblocking ? ", of other kinds"
                                                                                               : "");
}

static void comm_finish(struct defined_comm *comm)
{
    static const struct member none;
    const struct member *first = NULL;
    const struct process *first_of = NULL;
    uint64_t nonblocking = 0;
    for (int side = 0; side < 1 + comm->inter; side++) {
        const struct defined_group *group = comm->groups[side];
        const struct defined_group *world = group ? model.worlds[group->paradigm].group : NULL;
        if (!world || group->type != OTF2_GROUP_TYPE_COMM_GROUP || !paradigm_has_processes(group->paradigm))
            return;
        for (uint64_t i = 0; i < group->count; i++) {
            const struct location *location = group->members[i] < world->count
                                                  ? defined(OTF2_MAPPING_LOCATION, world->members[group->members[i]])
                                                  : NULL;
            if (!location || !process_is_complete(location->process))
                continue;
            const struct member *member = map_find(&members, comm->id, location->process->id);
            member = member ? member : &none;
            nonblocking = member->nonblocking > nonblocking ? member->nonblocking : nonblocking;
            if (first)
                member_compare(comm, first, first_of, member, location->process);
            else
                first_of = location->process;
            first = first ? first : member;
        }
    }
    check_figures.collectives += comm->call_count + nonblocking;
}

void collectives_finish(void)
{
    MAP_EACH(&model.maps[OTF2_MAPPING_COMM], slot)
    {
        comm_finish(slot->element);
        check_listener.progress(check_figures.events);
    }
}
