/*
 * Messages and requests. There is one channel for each pair of processes, communicator and tag. A channel is kept while
 * the numbers of sent and received messages differ, or while messages that arrived early are not yet matched:
 *
 *   sent      x x x     balance = sent - received. > 0: under way, < 0: received early
 *   received    x x     print   = sum of mix(bytes) of sends - of receives. It is 0 if the balance is 0
 *                       missing = sum of bytes, likewise: the bytes that did not fit, of messages that were cut off
 *
 * The k-th receive of a channel cannot end before the k-th send began, no matter which of them match. So times are
 * compared in that order, without knowing which messages match.
 */
#include "check_deferred.h"
#include "check_happenings.h"

#include <stdlib.h>

enum { EARLY_MOST = 1 << 10, UNPOSTED_MOST = 1 << 20 };

struct early {
    OTF2_TimeStamp time;
    const struct location *location;
};

struct channel {
    int64_t balance;
    uint64_t print;
    int64_t missing;
    struct early *early; /* messages received early, the oldest first */
    size_t early_begin, early_end, early_capacity;
    struct check_place since; /* it is not settled */
};

enum { KIND_SEND = 1, KIND_RECV, KIND_COLLECTIVE };

struct request {
    unsigned char kind; /* 0: not posted */
    bool ended;         /* before it was posted */
    OTF2_TimeStamp time;
    struct check_place place;
    const struct process *process;
    uint64_t channel_a, channel_b, bytes; /* of a send */
};

static struct map channels = {.element_size = sizeof(struct channel)};
static struct map requests = {.element_size = sizeof(struct request)};
static struct recent ended_requests[RECENT_SLOTS];
static size_t unposted;

static const struct process *process_of(uint64_t world_index)
{
    const struct defined_group *world = model.worlds[OTF2_PARADIGM_MPI].group;
    const struct location *location =
        world && world_index < world->count ? defined(OTF2_MAPPING_LOCATION, world->members[world_index]) : NULL;
    return location ? location->process : NULL;
}

static void channel_settle(struct channel *channel, uint64_t a, uint64_t b, struct check_place place)
{
    if (channel->balance != 0)
        return;
    const struct process *sender = process_of(b >> 32), *receiver = process_of((uint32_t)b);
    if (channel->print && sender && receiver)
        check_defer(channel->missing > 0 ? RULE_MESSAGE_TRUNCATED : RULE_MESSAGE_BYTES, sender, receiver, place,
                    "messages of rank %u to %u on Comm %u, tag %u, were received with %s than sent",
                    (uint32_t)(b >> 32), (uint32_t)b, (uint32_t)(a >> 32), (uint32_t)a,
                    channel->missing > 0 ? "fewer bytes" : "other sizes");
    free(channel->early);
    map_remove(&channels, a, b);
}

static void size_add(struct channel *channel, uint64_t bytes)
{
    channel->print += check_mix(bytes);
    channel->missing = (int64_t)((uint64_t)channel->missing + bytes);
}

static void size_remove(struct channel *channel, uint64_t bytes)
{
    channel->print -= check_mix(bytes);
    channel->missing = (int64_t)((uint64_t)channel->missing - bytes);
}

/* A message begins that was already received, by the order of the channel. */
static void early_take(struct channel *channel, uint64_t b, OTF2_TimeStamp sent)
{
    if (channel->early_begin == channel->early_end)
        return;
    const struct early *early = &channel->early[channel->early_begin++];
    const struct process *sender = process_of(b >> 32);
    if (early->time < sent && sender)
        check_defer(RULE_RECEIVE_BEFORE_SEND, sender, early->location->process,
                    check_place_of(early->location, early->time, "MpiRecv"),
                    "a message of rank %u arrives %" PRIu64 " ticks before it is sent, at %" PRIu64,
                    (uint32_t)(b >> 32), sent - early->time, sent);
}

static void early_put(struct channel *channel, const struct location *location, OTF2_TimeStamp time)
{
    if (channel->early_begin == channel->early_end)
        channel->early_begin = channel->early_end = 0;
    if (channel->early_end == EARLY_MOST)
        return;
    if (channel->early_end == channel->early_capacity) {
        channel->early_capacity = channel->early_capacity ? channel->early_capacity * 2 : 4;
        channel->early = check_enlarge(channel->early, channel->early_capacity, sizeof *channel->early);
    }
    channel->early[channel->early_end++] = (struct early){time, location};
}

/* Returns whether the message counts, because its ends are known. */
static bool sent(struct location *location, const struct happening *happening, struct check_place place, uint64_t *a,
                 uint64_t *b)
{
    struct member *member = comm_member(location, happening->reference, place);
    int64_t peer = member ? comm_peer(location, member, happening->reference, happening->peer,
                                      RULE_PEER_NOT_IN_COMMUNICATOR, place)
                          : -1;
    int64_t own = world_index_of(location, OTF2_PARADIGM_MPI);
    if (peer < 0 || own < 0)
        return false;
    struct defined_comm *comm = defined(OTF2_MAPPING_COMM, happening->reference);
    if (happening->what == SENT)
        comm_use(member, comm->id, place);
    member->used = true;
    *a = (uint64_t)comm->id << 32 | happening->tag;
    *b = (uint64_t)own << 32 | (uint32_t)peer;
    struct channel *channel = map_at(&channels, *a, *b);
    check_figures.sends++;
    check_figures.send_bytes += happening->bytes;
    comm->figures.sends++;
    comm->figures.send_bytes += happening->bytes;
    size_add(channel, happening->bytes);
    if (channel->balance < 0) {
        check_figures.messages++;
        early_take(channel, *b, happening->time);
    } else if (channel->balance == 0) {
        channel->since = place;
    }
    channel->balance++;
    channel_settle(channel, *a, *b, place);
    return true;
}

static void received(struct location *location, const struct happening *happening, struct check_place place)
{
    struct member *member = comm_member(location, happening->reference, place);
    int64_t peer = member ? comm_peer(location, member, happening->reference, happening->peer,
                                      RULE_PEER_NOT_IN_COMMUNICATOR, place)
                          : -1;
    int64_t own = world_index_of(location, OTF2_PARADIGM_MPI);
    if (peer < 0 || own < 0)
        return;
    struct defined_comm *comm = defined(OTF2_MAPPING_COMM, happening->reference);
    member->used = true;
    uint64_t a = (uint64_t)comm->id << 32 | happening->tag, b = (uint64_t)peer << 32 | (uint32_t)own;
    struct channel *channel = map_at(&channels, a, b);
    check_figures.receives++;
    check_figures.recv_bytes += happening->bytes;
    comm->figures.receives++;
    comm->figures.recv_bytes += happening->bytes;
    size_remove(channel, happening->bytes);
    if (channel->balance > 0) {
        check_figures.messages++;
    } else {
        if (channel->balance == 0)
            channel->since = place;
        early_put(channel, location, happening->time);
    }
    channel->balance--;
    channel_settle(channel, a, b, place);
}

HAPPENING(sent_judge)
{
    uint64_t a, b;
    sent(location, happening, place, &a, &b);
}

HAPPENING(received_judge)
{
    received(location, happening, place);
}

/* A message with a canceled send is never received. */
static void send_cancel(const struct request *request, struct check_place place)
{
    struct channel *channel = map_find(&channels, request->channel_a, request->channel_b);
    if (request->kind != KIND_SEND || !channel)
        return;
    size_remove(channel, request->bytes);
    channel->balance--;
    channel_settle(channel, request->channel_a, request->channel_b, place);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static unsigned char kind_of(unsigned what)
{
    switch (what) {
    case REQUEST_POSTED_SEND:
    case REQUEST_ENDED_SEND:
        return KIND_SEND;
    case REQUEST_POSTED_RECV:
    case REQUEST_ENDED_RECV:
        return KIND_RECV;
    case REQUEST_POSTED_COLLECTIVE:
    case REQUEST_ENDED_COLLECTIVE:
        return KIND_COLLECTIVE;
    default:
        return 0;
    }
}

static void request_forget(uint64_t process, uint64_t id, struct request *request)
{
    map_remove(&requests, process, id);
    recent_set(ended_requests, process, id, 1);
    (void)request;
}

static void request_posted(struct location *location, const struct happening *happening, struct check_place place)
{
    struct process *process = location->process;
    struct request posted = {.kind = kind_of(happening->what),
                             .time = happening->time,
                             .place = place,
                             .process = process,
                             .bytes = happening->bytes};
    bool counts = happening->what == REQUEST_POSTED_SEND &&
                  sent(location, happening, place, &posted.channel_a, &posted.channel_b);
    if (happening->what == REQUEST_POSTED_SEND && !counts)
        posted.channel_a = UINT64_MAX;
    process->collective_requests += posted.kind == KIND_COLLECTIVE;
    struct request *request = map_at(&requests, process->id, happening->id);
    if (request->kind)
        check_found(RULE_REQUEST_POSTED_TWICE, &place, "request %" PRIu64 " is pending since %" PRIu64, happening->id,
                    request->time);
    if (request->ended) {
        unposted--;
        if (happening->time > request->time)
            check_defer(RULE_REQUEST_BEFORE_POST, process, NULL, request->place,
                        "request %" PRIu64 " ends %" PRIu64 " ticks before it is posted", happening->id,
                        happening->time - request->time);
        process->collective_requests -= posted.kind == KIND_COLLECTIVE;
        request_forget(process->id, happening->id, request);
        return;
    }
    recent_set(ended_requests, process->id, happening->id, 0);
    *request = posted;
}

/* The request was not posted, or not yet: another thread may have posted it at the same time. */
static void request_unposted(const struct location *location, const struct happening *happening,
                             struct check_place place)
{
    bool test = happening->what == REQUEST_TESTED;
    struct request *early = map_find(&requests, location->process->id, happening->id);
    if (early && test)
        return;
    if (!test && (early || recent_mark(ended_requests, location->process->id, happening->id))) {
        check_found(RULE_REQUEST_COMPLETED_TWICE, &place, "request %" PRIu64 " has ended before", happening->id);
        return;
    }
    if (test || unposted >= UNPOSTED_MOST) {
        check_defer(RULE_REQUEST_UNKNOWN, location->process, NULL, place, "request %" PRIu64 " is not pending",
                    happening->id);
        return;
    }
    early = map_at(&requests, location->process->id, happening->id);
    *early = (struct request){.ended = true, .time = happening->time, .place = place, .process = location->process};
    unposted++;
}

HAPPENING(request_judge)
{
    static const char *const names[] = {"none", "a send", "a receive", "a collective operation"};
    if (happening->what == REQUEST_POSTED_SEND || happening->what == REQUEST_POSTED_RECV ||
        happening->what == REQUEST_POSTED_COLLECTIVE) {
        request_posted(location, happening, place);
        return;
    }
    if (happening->what == REQUEST_ENDED_RECV)
        received(location, happening, place);
    if (happening->what == REQUEST_ENDED_COLLECTIVE)
        collective_judge(location, happening, place);
    struct request *request = map_find(&requests, location->process->id, happening->id);
    if (!request || !request->kind) {
        request_unposted(location, happening, place);
        return;
    }
    unsigned char kind = kind_of(happening->what);
    if (kind && kind != request->kind)
        check_found(RULE_REQUEST_KIND, &place, "request %" PRIu64 " was posted as %s, but ends as %s", happening->id,
                    names[request->kind], names[kind]);
    if (happening->what == REQUEST_TESTED)
        return;
    if (happening->what == REQUEST_CANCELLED)
        send_cancel(request, place);
    location->process->collective_requests -= request->kind == KIND_COLLECTIVE;
    request_forget(location->process->id, happening->id, request);
}

void requests_finish(void)
{
    MAP_EACH(&requests, slot)
    {
        const struct request *request = slot->element;
        bool complete = process_is_complete(request->process);
        if (!request->kind)
            check_found(complete ? RULE_REQUEST_UNKNOWN : RULE_UNFINISHED, &request->place,
                        "request %" PRIu64 " ends, but was not posted", slot->b);
        else if (request->kind != KIND_RECV)
            check_found(complete ? RULE_REQUEST_NOT_COMPLETED : RULE_UNFINISHED, &request->place,
                        "request %" PRIu64 " does not end", slot->b);
    }
}

void messages_finish(void)
{
    MAP_EACH(&channels, slot)
    {
        const struct channel *channel = slot->element;
        uint32_t from = (uint32_t)(slot->b >> 32), to = (uint32_t)slot->b, comm = (uint32_t)(slot->a >> 32);
        const struct process *sender = process_of(from), *receiver = process_of(to);
        const struct defined_comm *known = defined(OTF2_MAPPING_COMM, comm);
        bool complete = sender && receiver && process_is_complete(sender) && process_is_complete(receiver);
        bool lost = channel->balance > 0;
        check_found(complete ? RULE_MESSAGE_UNMATCHED : RULE_UNFINISHED, &channel->since,
                    "%" PRId64 " messages of rank %u to %u on Comm %u (%s), tag %u, were %s",
                    lost ? channel->balance : -channel->balance, from, to, comm, known ? string_text(known->name) : "?",
                    (uint32_t)slot->a, lost ? "sent, but not received" : "received, but not sent");
    }
}
