#include "checkedmatches.h"

#include <stddef.h>

enum { NOBODY = -1 };

static bool group_has(const struct group *group, uint64_t process)
{
    for (uint64_t i = 0; i < group->count; i++)
        if (group->members[i] == process)
            return true;
    return group->type == OTF2_GROUP_TYPE_COMM_SELF;
}

/* The process's cell in a communicator that an event names; NULL where it has no part in it. */
static struct cell *member_at(const struct location *location, OTF2_CommRef id)
{
    if (id >= archive.comm_count || !archive.comms[id].defined) {
        violation("location %" PRIu64 " uses communicator %u, which is not defined", location->id, id);
        return NULL;
    }
    struct cell *cell = table_at(&archive.members, id, location->process);
    if (!cell->v[MEMBER]) {
        const struct comm *comm = &archive.comms[id];
        cell->v[MEMBER] = group_has(&comm->groups[0], location->process)                  ? IN_FIRST_GROUP
                          : comm->inter && group_has(&comm->groups[1], location->process) ? IN_SECOND_GROUP
                                                                                          : OUTSIDE;
        if (cell->v[MEMBER] == OUTSIDE)
            violation("process %" PRIu64 " uses communicator %u and is not in it", location->process, id);
    }
    return cell->v[MEMBER] == OUTSIDE ? NULL : cell;
}

/* The group that ranks in events of this process refer to. */
static const struct group *peers_of(const struct cell *member)
{
    const struct comm *comm = &archive.comms[member->a];
    return &comm->groups[comm->inter && member->v[MEMBER] == IN_FIRST_GROUP];
}

static int64_t peer_process(const struct location *location, OTF2_CommRef comm, uint32_t rank)
{
    const struct cell *member = member_at(location, comm);
    if (!member)
        return NOBODY;
    const struct group *group = peers_of(member);
    bool self = group->type == OTF2_GROUP_TYPE_COMM_SELF;
    if (rank >= (self ? 1 : group->count)) {
        violation("location %" PRIu64 ": rank %u is not in communicator %u", location->id, rank, comm);
        return NOBODY;
    }
    return (int64_t)(self ? location->process : group->members[rank]);
}

/* Ranks in the cell's key are world ranks: both ends see the same. */
static struct cell *message_at(OTF2_CommRef comm, int64_t sender, int64_t receiver, uint32_t tag)
{
    return table_at(&archive.messages, (uint64_t)comm << 32 | (uint32_t)sender, (uint64_t)receiver << 32 | tag);
}

struct cell *send_count(struct location *location, uint32_t receiver, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    int64_t peer = peer_process(location, comm, receiver);
    if (peer == NOBODY)
        return NULL;
    struct cell *message = message_at(comm, (int64_t)location->process, peer, tag);
    message->v[SENDS]++;
    message->v[SENT_BYTES] += bytes;
    message->v[SENT_PRINT] += mix(bytes);
    archive.comms[comm].sends++;
    archive.comms[comm].send_bytes += bytes;
    return message;
}

void receive_count(struct location *location, uint32_t sender, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    int64_t peer = peer_process(location, comm, sender);
    if (peer == NOBODY)
        return;
    struct cell *message = message_at(comm, peer, (int64_t)location->process, tag);
    message->v[RECVS]++;
    message->v[RECVD_BYTES] += bytes;
    message->v[RECVD_PRINT] += mix(bytes);
    archive.comms[comm].recvs++;
    archive.comms[comm].recv_bytes += bytes;
}

struct cell *request_count(const struct location *location, uint64_t id, uint64_t kind, int counter,
                           OTF2_TimeStamp time)
{
    struct cell *request = table_at(&archive.requests, location->process, id);
    if (kind && request->v[KIND] && request->v[KIND] != kind)
        violation("process %" PRIu64 ": request %" PRIu64 " is of two kinds", location->process, id);
    if (kind)
        request->v[KIND] = kind;
    request->v[counter]++;
    if (counter == POSTS || counter == ENDS)
        request->v[counter == POSTS ? POST_TIME : END_TIME] = time;
    return request;
}

void collective_count(struct location *location, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root,
                      uint64_t bytes_in, uint64_t bytes_out)
{
    if ((location->created && op != OTF2_COLLECTIVE_OP_CREATE_HANDLE) ||
        (location->destroyed && op != OTF2_COLLECTIVE_OP_DESTROY_HANDLE))
        violation("location %" PRIu64 ": a communicator is created or destroyed in operation %u", location->id, op);
    location->created = location->destroyed = 0;
    struct cell *member = member_at(location, comm);
    if (!member)
        return;
    if (root < OTF2_COLLECTIVE_ROOT_THIS_GROUP)
        peer_process(location, comm, root);
    if (op == OTF2_COLLECTIVE_OP_CREATE_HANDLE || op == OTF2_COLLECTIVE_OP_DESTROY_HANDLE)
        return;
    member->v[COLLECTIVES]++;
    member->v[OP_PRINT] += mix(op + 1);
    archive.comms[comm].collectives++;
    archive.comms[comm].bytes_in += bytes_in;
    archive.comms[comm].bytes_out += bytes_out;
}

void handle_count(struct location *location, OTF2_CommRef comm, int counter)
{
    struct cell *member = member_at(location, comm);
    if (member && !archive.comms[comm].has_events)
        violation("communicator %u is created or destroyed and is not defined as such", comm);
    if (member)
        member->v[counter]++;
}

static bool process_ended(uint64_t process)
{
    return process < archive.process_count && archive.processes[process].ends == 1;
}

static void requests_check(void)
{
    for (size_t i = 0; i < archive.requests.capacity; i++) {
        const struct cell *request = &archive.requests.cells[i];
        const uint64_t *v = request->v;
        if (!request->used)
            continue;
        bool left_open = v[ENDS] == 0 && v[KIND] != IS_RECV && process_ended(request->a);
        const char *wrong = v[POSTS] == 0                                ? "completes and was not posted"
                            : v[POSTS] > 1                               ? "is posted twice"
                            : v[ENDS] > 1                                ? "completes twice"
                            : left_open                                  ? "does not complete"
                            : v[ENDS] == 1 && v[END_TIME] < v[POST_TIME] ? "completes before it is posted"
                                                                         : NULL;
        if (wrong)
            violation("process %" PRIu64 ": request %" PRIu64 " %s", request->a, request->b, wrong);
        if (v[KIND] == IS_SEND && v[CANCELS] && v[POSTS]) { /* nobody receives it */
            struct cell *message = table_at(&archive.messages, v[MESSAGE_A], v[MESSAGE_B]);
            message->v[SENDS]--;
            message->v[SENT_BYTES] -= v[BYTES];
            message->v[SENT_PRINT] -= mix(v[BYTES]);
        }
    }
}

static void messages_check(void)
{
    for (size_t i = 0; i < archive.messages.capacity; i++) {
        const struct cell *message = &archive.messages.cells[i];
        const uint64_t *v = message->v;
        uint32_t sender = (uint32_t)message->a, receiver = (uint32_t)(message->b >> 32);
        if (!message->used || !process_ended(sender) || !process_ended(receiver))
            continue;
        if (v[SENDS] != v[RECVS] || v[SENT_BYTES] != v[RECVD_BYTES] || v[SENT_PRINT] != v[RECVD_PRINT])
            violation("communicator %" PRIu64 ", from %u to %u, tag %u: %" PRIu64 " messages of %" PRIu64
                      " bytes were sent, %" PRIu64 " of %" PRIu64 " received%s",
                      message->a >> 32, sender, receiver, (uint32_t)message->b, v[SENDS], v[SENT_BYTES], v[RECVS],
                      v[RECVD_BYTES], v[SENDS] == v[RECVS] && v[SENT_BYTES] == v[RECVD_BYTES] ? " in other sizes" : "");
    }
}

/* All members of a communicator take part in the same collectives. */
static void members_of_comm_check(OTF2_CommRef id)
{
    const struct comm *comm = &archive.comms[id];
    struct cell first = {.used = false};
    if (comm->inter || comm->groups[0].type != OTF2_GROUP_TYPE_COMM_GROUP)
        return;
    for (uint64_t i = 0; i < comm->groups[0].count; i++) {
        uint64_t process = comm->groups[0].members[i];
        if (!process_ended(process))
            continue;
        struct cell mine = *table_at(&archive.members, id, process);
        if (mine.v[CREATES] > 1 || mine.v[DESTROYS] > mine.v[CREATES])
            violation("process %" PRIu64 " creates communicator %u %" PRIu64 " times and destroys it %" PRIu64, process,
                      id, mine.v[CREATES], mine.v[DESTROYS]);
        if (first.used && (first.v[COLLECTIVES] != mine.v[COLLECTIVES] || first.v[OP_PRINT] != mine.v[OP_PRINT]))
            violation("communicator %u: processes %" PRIu64 " and %" PRIu64
                      " took part in different collectives (%" PRIu64 " and %" PRIu64 ")",
                      id, first.b, process, first.v[COLLECTIVES], mine.v[COLLECTIVES]);
        first = mine;
    }
}

static void processes_check(void)
{
    for (size_t r = 0; r < archive.process_count; r++) {
        const struct process *process = &archive.processes[r];
        if (process->begins != process->ends || process->begins > 1)
            violation("process %zu begins %" PRIu64 " times and ends %" PRIu64, r, process->begins, process->ends);
        else if (process->begins &&
                 (process->begin_time > process->first_time || process->end_time < process->last_time))
            violation("process %zu has events before its begin or behind its end", r);
    }
}

void matches_check(void)
{
    processes_check();
    requests_check();
    messages_check();
    for (OTF2_CommRef c = 0; c < archive.comm_count; c++)
        if (archive.comms[c].defined)
            members_of_comm_check(c);
}
