/* Finds the archive's communicator and object for an event of a process, and whether its message is in the archive. */
#include "archive/otf2_events.h"

const struct trace_place *process_place_find(struct trace_process *process, const struct event *event)
{
    const struct run_reader *run = process->rank->run;
    uint32_t number = run ? run_reader_comm(run, event) : 0;
    uint32_t comm = trace_comm_find(process->comms, process->job, process->world_rank, number);
    struct trace_place place = {.number = number, .comm = comm};
    if (comm != NO_COMM) {
        place.peers = trace_comm_peers(&process->comms->list[comm], run->comms[number]);
        place.whole = !process->comms->list[comm].partial;
    }
    if (number == 0 || number != event->comm) { /* it has lost its slot, or does not exist */
        process->past = place;
        return &process->past;
    }
    place.key = event->comm + 1u;
    place.since = run->comms[number]->since_ticks;
    process->places[event->comm % PLACES_KEPT] = place;
    return &process->places[event->comm % PLACES_KEPT];
}

struct object_state *process_object_state(struct trace_process *process, const struct event *event,
                                          enum object_kind kind, int *result)
{
    uint32_t comm = process_comm(process, event);
    *result = 0;
    if (comm == NO_COMM || event->tag <= 0 || process->comms->list[comm].inter) {
        process->states.unknown++;
        return NULL;
    }
    uint64_t number = trace_object_number(process->comms, comm, process->world_rank, (uint32_t)event->tag);
    struct trace_object *object = trace_object_find(process->objects, kind, comm, number);
    struct object_state *state = object ? object_state_of(&process->states, object) : NULL;
    *result = state ? 0 : -1;
    return state;
}

/* Returns whether the peer, a rank of the record's communicator, is left out. In an inter-communicator it is in the
 * other group. */
static bool peer_left_out(const struct trace_process *process, const struct trace_place *place,
                          const struct event *event)
{
    if (!process->job->selection || place->comm == NO_COMM || place->whole || event->peer < 0 ||
        event->peer >= place->peers)
        return false;
    const struct trace_comm *comm = &process->comms->list[place->comm];
    const int32_t *group = comm->members;
    int32_t own = process->rank->run->comms[place->number]->rank;
    if (comm->inter && own < comm->size && comm->members[own] == process->world_rank)
        group = comm->remote;
    return process->job->ranks[group[event->peer]].left_out;
}

static bool is_receive(const struct event *event)
{
    unsigned kind = event_kind(event);
    return kind == RECORD_RECEIVE || kind == RECORD_RECV_DONE ||
           (kind < CALL_COUNT && call_table[kind].fold == FOLD_RECV);
}

/* Leaves out one end of a message on a communicator that the archive does not have. */
static void message_leave_out(struct trace_process *process, uint32_t number, const struct event *event)
{
    const struct run_reader *run = process->rank->run;
    const struct comm_record *record = run && number && number < run->comm_count ? run->comms[number] : NULL;
    if (process->job->in_part)
        return; /* none are written */
    if (record && record->flags & COMM_FOREIGN)
        ++*(is_receive(event) ? &process->foreign_received : &process->foreign_sent);
    else if (record)
        process->absent_comm++;
    else
        process->unknown_comm++;
}

bool message_is_placed(struct trace_process *process, const struct event *event)
{
    const struct trace_place *place = process_place(process, event);
    if (event->peer < 0 || (event->kind & EVENT_FAILED) || process->job->no_messages)
        return false;
    if (place->comm == NO_COMM) {
        message_leave_out(process, place->number, event);
        return false;
    }
    if (event->peer >= place->peers) {
        process->bad_peer++;
        return false;
    }
    if (peer_left_out(process, place, event)) {
        process->left_out++;
        return false;
    }
    return true;
}

bool process_has_receive(struct trace_process *process, const struct event *event)
{
    const struct trace_place *place = process_place(process, event);
    return event->peer != PEER_PROC_NULL && !(event->kind & EVENT_FAILED) && !process->job->no_messages &&
           place->comm != NO_COMM && !peer_left_out(process, place, event);
}
