/*
 * otf2_check DIR [--json]: reads an OTF2 archive back, on top of nothing but the OTF2 library, and holds it against the
 * rules that otf2-print does not check (DESIGN, section 4): nesting, order and range of time, numbers of events,
 * definitions before use, ranks inside of communicators, requests, collectives, and that what was sent was received.
 *
 * Exit status: 0 when all holds, 1 when something does not (a line each on stderr), 2 when it cannot be read. Standard
 * output: one line of totals as key=value words, or with --json the totals of each communicator by its name.
 *
 * What needs both ends (messages, collectives, requests) is only asked of processes that have a ProgramEnd: a process
 * that was killed has lost its last events.
 */
#define _GNU_SOURCE
#include <jansson.h>
#include <otf2/otf2.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define U __attribute__((unused))

enum { ID_MAX = 1 << 24, DEPTH_MAX = 1 << 10, LINES_MAX = 100 };
enum { NOBODY = -1 };

/* A hash table of counters by two numbers. */
struct cell {
    uint64_t a, b;
    bool used;
    uint64_t v[10];
};

struct table {
    struct cell *cells;
    size_t count, capacity;
};

enum { SENDS, SENT_BYTES, SENT_PRINT, RECVS, RECVD_BYTES, RECVD_PRINT };                      /* of a message's cell */
enum { KIND, POSTS, ENDS, CANCELS, TESTS, POST_TIME, END_TIME, MESSAGE_A, MESSAGE_B, BYTES }; /* of a request's */
enum { MEMBER, CREATES, DESTROYS, COLLECTIVES, OP_PRINT }; /* of a process's in a communicator */
enum { IS_SEND = 1, IS_RECV, IS_COLLECTIVE };
enum { OUTSIDE = 1, IN_FIRST_GROUP, IN_SECOND_GROUP };

struct group {
    bool defined;
    OTF2_GroupType type;
    uint64_t count, *members;
};

struct comm {
    bool defined, inter, has_events;
    OTF2_StringRef name;
    struct group groups[2]; /* members are borrowed */
    uint64_t sends, send_bytes, recvs, recv_bytes, collectives, bytes_in, bytes_out;
};

struct process {
    bool defined;
    uint64_t begins, ends, begin_time, end_time, first_time, last_time;
};

struct location {
    OTF2_LocationRef id;
    uint64_t events, seen, process, last, clock_offsets;
    OTF2_RegionRef open[DEPTH_MAX];
    size_t depth, collectives[DEPTH_MAX], collective_depth; /* in which region each open collective began */
    int created, destroyed;                                 /* since the last end of a collective */
};

static struct {
    char **strings;
    bool *regions;
    struct group *groups;
    struct comm *comms;
    struct process *processes;
    struct location *locations;
    size_t string_count, region_count, group_count, comm_count, process_count, location_count;
    bool has_clock, has_self;
    struct group world; /* of type COMM_LOCATIONS: its index is the rank */
    uint64_t begin, end, enters;
    struct table messages, requests, members;
    uint64_t violations;
} archive;

__attribute__((format(printf, 1, 2))) static void violation(const char *format, ...)
{
    if (archive.violations++ == LINES_MAX)
        fprintf(stderr, "otf2_check: ... and more\n");
    if (archive.violations > LINES_MAX)
        return;
    va_list args;
    va_start(args, format);
    fputs("otf2_check: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

static _Noreturn void give_up(const char *text)
{
    fprintf(stderr, "otf2_check: %s\n", text);
    exit(2);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

static struct cell *table_place(struct table *table, uint64_t a, uint64_t b)
{
    size_t i = mix(a + mix(b + 1)) & (table->capacity - 1);
    while (table->cells[i].used && (table->cells[i].a != a || table->cells[i].b != b))
        i = (i + 1) & (table->capacity - 1);
    return &table->cells[i];
}

static struct cell *table_at(struct table *table, uint64_t a, uint64_t b)
{
    if (table->count * 2 >= table->capacity) {
        struct table old = *table;
        table->capacity = old.capacity ? old.capacity * 2 : 1024;
        table->cells = calloc(table->capacity, sizeof *table->cells);
        if (!table->cells)
            give_up("out of memory");
        for (size_t i = 0; i < old.capacity; i++)
            if (old.cells[i].used)
                *table_place(table, old.cells[i].a, old.cells[i].b) = old.cells[i];
        free(old.cells);
    }
    struct cell *cell = table_place(table, a, b);
    if (!cell->used) {
        table->count++;
        *cell = (struct cell){.a = a, .b = b, .used = true};
    }
    return cell;
}

/* The element `id` of an array that grows to hold it. */
static void *element(void *array_place, size_t *count, size_t size, uint64_t id)
{
    char **array = array_place;
    if (id >= ID_MAX)
        give_up("an id is too large");
    if (id >= *count) {
        size_t more = (size_t)id + 1 > *count * 2 ? (size_t)id + 1 : *count * 2;
        *array = realloc(*array, more * size);
        if (!*array)
            give_up("out of memory");
        memset(*array + *count * size, 0, (more - *count) * size);
        *count = more;
    }
    return *array + id * size;
}
#define ELEMENT(field, count, id) element(&archive.field, &archive.count, sizeof *archive.field, id)

static void string_check(OTF2_StringRef id, const char *user)
{
    if (id >= archive.string_count || !archive.strings[id])
        violation("%s names string %u, which is not defined", user, id);
}

static OTF2_CallbackCode on_clock(U void *data, uint64_t resolution, uint64_t offset, uint64_t length,
                                  U uint64_t realtime)
{
    if (archive.has_clock || resolution == 0)
        violation("clock properties: %s", resolution ? "defined twice" : "no resolution");
    archive.has_clock = true;
    archive.begin = offset;
    archive.end = offset + length;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_string(U void *data, OTF2_StringRef self, const char *text)
{
    char **place = ELEMENT(strings, string_count, self);
    if (*place)
        violation("string %u is defined twice", self);
    free(*place);
    *place = strdup(text);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_location_group(U void *data, OTF2_LocationGroupRef self, OTF2_StringRef name,
                                           OTF2_LocationGroupType type, OTF2_SystemTreeNodeRef node,
                                           U OTF2_LocationGroupRef creator)
{
    struct process *process = ELEMENT(processes, process_count, self);
    string_check(name, "a location group");
    if (process->defined || type != OTF2_LOCATION_GROUP_TYPE_PROCESS || node == OTF2_UNDEFINED_SYSTEM_TREE_NODE)
        violation("location group %u: defined twice, no process, or on no node", self);
    *process = (struct process){.defined = true, .first_time = UINT64_MAX};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_location(U void *data, OTF2_LocationRef self, OTF2_StringRef name, U OTF2_LocationType type,
                                     uint64_t events, OTF2_LocationGroupRef group)
{
    string_check(name, "a location");
    if (group >= archive.process_count || !archive.processes[group].defined) {
        violation("location %" PRIu64 " is of group %u, which is not defined", self, group);
        return OTF2_CALLBACK_SUCCESS;
    }
    archive.locations = realloc(archive.locations, (archive.location_count + 1) * sizeof *archive.locations);
    if (!archive.locations)
        give_up("out of memory");
    struct location *location = &archive.locations[archive.location_count++];
    memset(location, 0, sizeof *location);
    location->id = self;
    location->events = events;
    location->process = group;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_region(U void *data, OTF2_RegionRef self, OTF2_StringRef name, U OTF2_StringRef canonical,
                                   U OTF2_StringRef description, OTF2_RegionRole role, OTF2_Paradigm paradigm,
                                   U OTF2_RegionFlag flags, U OTF2_StringRef file, U uint32_t begin, U uint32_t end)
{
    string_check(name, "a region");
    bool *region = ELEMENT(regions, region_count, self);
    if (*region || (paradigm == OTF2_PARADIGM_MPI && role == OTF2_REGION_ROLE_UNKNOWN))
        violation("region %u: defined twice, or without a role", self);
    *region = true;
    return OTF2_CALLBACK_SUCCESS;
}

static struct location *location_find(OTF2_LocationRef id)
{
    for (size_t i = 0; i < archive.location_count; i++)
        if (archive.locations[i].id == id)
            return &archive.locations[i];
    return NULL;
}

static void members_check(OTF2_GroupRef self, const struct group *group)
{
    if (group->type == OTF2_GROUP_TYPE_COMM_LOCATIONS)
        for (uint64_t rank = 0; rank < group->count; rank++) {
            const struct location *location = location_find(group->members[rank]);
            if (!location || location->process != rank)
                violation("rank %" PRIu64 " is said to be location %" PRIu64 ", which is not of its process", rank,
                          group->members[rank]);
        }
    bool *seen = group->type == OTF2_GROUP_TYPE_COMM_GROUP ? calloc(archive.world.count + 1, 1) : NULL;
    for (uint64_t i = 0; seen && i < group->count; i++) {
        uint64_t member = group->members[i];
        if (member >= archive.world.count || seen[member])
            violation("group %u: member %" PRIu64 " is no rank, or twice in it", self, member);
        else
            seen[member] = true;
    }
    free(seen);
}

static OTF2_CallbackCode on_group(U void *data, OTF2_GroupRef self, OTF2_StringRef name, OTF2_GroupType type,
                                  U OTF2_Paradigm paradigm, U OTF2_GroupFlag flags, uint32_t count,
                                  const uint64_t *members)
{
    string_check(name, "a group");
    struct group *group = ELEMENT(groups, group_count, self);
    if (group->defined)
        violation("group %u is defined twice", self);
    if (type == OTF2_GROUP_TYPE_COMM_GROUP && !archive.world.defined)
        violation("group %u stands before the group of locations", self);
    if ((type == OTF2_GROUP_TYPE_COMM_SELF && archive.has_self) ||
        (type == OTF2_GROUP_TYPE_COMM_LOCATIONS && archive.world.defined))
        violation("group %u: a second one of its type", self);
    archive.has_self |= type == OTF2_GROUP_TYPE_COMM_SELF;
    *group = (struct group){true, type, count, malloc((count + 1) * sizeof *group->members)};
    if (!group->members)
        give_up("out of memory");
    if (count)
        memcpy(group->members, members, count * sizeof *members);
    if (type == OTF2_GROUP_TYPE_COMM_LOCATIONS)
        archive.world = *group;
    members_check(self, group);
    return OTF2_CALLBACK_SUCCESS;
}

static struct comm *comm_define(OTF2_CommRef self, OTF2_StringRef name, OTF2_CommRef parent, OTF2_CommFlag flags)
{
    string_check(name, "a communicator");
    if (parent != OTF2_UNDEFINED_COMM && (parent >= archive.comm_count || !archive.comms[parent].defined))
        violation("communicator %u: its parent %u is not defined before it", self, parent);
    struct comm *comm = ELEMENT(comms, comm_count, self);
    if (comm->defined)
        violation("communicator %u is defined twice", self);
    *comm = (struct comm){.defined = true, .name = name, .has_events = flags & OTF2_COMM_FLAG_CREATE_DESTROY_EVENTS};
    return comm;
}

static void comm_group_set(OTF2_CommRef self, struct comm *comm, int side, OTF2_GroupRef group)
{
    if (group >= archive.group_count || !archive.groups[group].defined ||
        (archive.groups[group].type != OTF2_GROUP_TYPE_COMM_GROUP &&
         archive.groups[group].type != OTF2_GROUP_TYPE_COMM_SELF))
        violation("communicator %u: group %u is not defined before it, or of the wrong type", self, group);
    else
        comm->groups[side] = archive.groups[group];
}

static OTF2_CallbackCode on_comm(U void *data, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef group,
                                 OTF2_CommRef parent, OTF2_CommFlag flags)
{
    comm_group_set(self, comm_define(self, name, parent, flags), 0, group);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_inter_comm(U void *data, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef one,
                                       OTF2_GroupRef other, OTF2_CommRef common, OTF2_CommFlag flags)
{
    struct comm *comm = comm_define(self, name, common, flags);
    comm->inter = true;
    comm_group_set(self, comm, 0, one);
    comm_group_set(self, comm, 1, other);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_clock_offset(U void *data, U OTF2_TimeStamp time, U int64_t offset, U double deviation)
{
    ((struct location *)data)->clock_offsets++;
    return OTF2_CALLBACK_SUCCESS;
}

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

#define EVENT(name, ...)                                                                                               \
    static OTF2_CallbackCode on_##name(U OTF2_LocationRef id, OTF2_TimeStamp time, U uint64_t position, void *data,    \
                                       U OTF2_AttributeList *attributes, ##__VA_ARGS__)

/* What holds for every event. */
static struct location *event_at(void *data, OTF2_TimeStamp time)
{
    struct location *location = data;
    struct process *process = &archive.processes[location->process];
    if (time < location->last)
        violation("location %" PRIu64 ": time goes back from %" PRIu64 " to %" PRIu64, location->id, location->last,
                  time);
    if (time < archive.begin || time > archive.end)
        violation("location %" PRIu64 ": time %" PRIu64 " is outside of the clock's range", location->id, time);
    location->last = time;
    process->first_time = time < process->first_time ? time : process->first_time;
    process->last_time = time > process->last_time ? time : process->last_time;
    location->seen++;
    return location;
}

/* What holds for every event of MPI. */
static struct location *mpi_event_at(void *data, OTF2_TimeStamp time)
{
    struct location *location = event_at(data, time);
    if (location->depth == 0)
        violation("location %" PRIu64 ": an MPI event at %" PRIu64 " stands outside of every region", location->id,
                  time);
    return location;
}

EVENT(unknown)
{
    event_at(data, time);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(program_begin, OTF2_StringRef name, U uint32_t count, U const OTF2_StringRef *arguments)
{
    struct process *process = &archive.processes[event_at(data, time)->process];
    string_check(name, "a program's begin");
    process->begins++;
    process->begin_time = time;
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(program_end, U int64_t status)
{
    struct process *process = &archive.processes[event_at(data, time)->process];
    process->ends++;
    process->end_time = time;
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(enter, OTF2_RegionRef region)
{
    struct location *location = event_at(data, time);
    if (region >= archive.region_count || !archive.regions[region])
        violation("location %" PRIu64 " enters region %u, which is not defined", location->id, region);
    if (location->depth == DEPTH_MAX)
        give_up("regions are nested too deeply");
    location->open[location->depth++] = region;
    archive.enters++;
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(leave, OTF2_RegionRef region)
{
    struct location *location = event_at(data, time);
    if (location->depth == 0 || location->open[location->depth - 1] != region) {
        violation("location %" PRIu64 " leaves region %u at %" PRIu64 " and is not in it", location->id, region, time);
        return OTF2_CALLBACK_SUCCESS;
    }
    if (location->collective_depth && location->collectives[location->collective_depth - 1] == location->depth) {
        violation("location %" PRIu64 " leaves region %u inside of a collective", location->id, region);
        location->collective_depth--;
    }
    if (--location->depth == 0 && location->created + location->destroyed) {
        violation("location %" PRIu64 ": a communicator is created or destroyed outside of a collective", location->id);
        location->created = location->destroyed = 0;
    }
    return OTF2_CALLBACK_SUCCESS;
}

/* Ranks in the cell's key are world ranks: both ends see the same. */
static struct cell *message_at(OTF2_CommRef comm, int64_t sender, int64_t receiver, uint32_t tag)
{
    return table_at(&archive.messages, (uint64_t)comm << 32 | (uint32_t)sender, (uint64_t)receiver << 32 | tag);
}

/* Returns the message's cell, or NULL. */
static struct cell *send_count(struct location *location, uint32_t receiver, OTF2_CommRef comm, uint32_t tag,
                               uint64_t bytes)
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

static void receive_count(struct location *location, uint32_t sender, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
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

/* `counter` of the request goes up; `kind` 0: any. */
static struct cell *request_count(const struct location *location, uint64_t id, uint64_t kind, int counter,
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

EVENT(send, uint32_t receiver, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    send_count(mpi_event_at(data, time), receiver, comm, tag, bytes);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(isend, uint32_t receiver, OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t id_of_request)
{
    struct location *location = mpi_event_at(data, time);
    const struct cell *message = send_count(location, receiver, comm, tag, bytes);
    struct cell *request = request_count(location, id_of_request, IS_SEND, POSTS, time);
    if (message) {
        request->v[MESSAGE_A] = message->a;
        request->v[MESSAGE_B] = message->b;
        request->v[BYTES] = bytes;
    }
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(isend_complete, uint64_t request)
{
    request_count(mpi_event_at(data, time), request, IS_SEND, ENDS, time);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(irecv_request, uint64_t request)
{
    request_count(mpi_event_at(data, time), request, IS_RECV, POSTS, time);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(irecv, uint32_t sender, OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request)
{
    struct location *location = mpi_event_at(data, time);
    receive_count(location, sender, comm, tag, bytes);
    request_count(location, request, IS_RECV, ENDS, time);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(recv, uint32_t sender, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    receive_count(mpi_event_at(data, time), sender, comm, tag, bytes);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(request_test, uint64_t request)
{
    request_count(mpi_event_at(data, time), request, 0, TESTS, time);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(request_cancelled, uint64_t request)
{
    struct location *location = mpi_event_at(data, time);
    request_count(location, request, 0, CANCELS, time);
    request_count(location, request, 0, ENDS, time);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(collective_begin)
{
    struct location *location = mpi_event_at(data, time);
    if (location->collective_depth == DEPTH_MAX)
        give_up("collectives are nested too deeply");
    location->collectives[location->collective_depth++] = location->depth;
    return OTF2_CALLBACK_SUCCESS;
}

/* The end of a collective, blocking or not. */
static void collective_count(struct location *location, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root,
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

EVENT(collective_end, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root, uint64_t bytes_in, uint64_t bytes_out)
{
    struct location *location = mpi_event_at(data, time);
    if (location->collective_depth == 0 || location->collectives[location->collective_depth - 1] != location->depth)
        violation("location %" PRIu64 ": a collective ends at %" PRIu64 " that did not begin", location->id, time);
    else
        location->collective_depth--;
    collective_count(location, op, comm, root, bytes_in, bytes_out);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(collective_request, uint64_t request)
{
    request_count(mpi_event_at(data, time), request, IS_COLLECTIVE, POSTS, time);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(collective_complete, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root, uint64_t bytes_in,
      uint64_t bytes_out, uint64_t request)
{
    struct location *location = mpi_event_at(data, time);
    request_count(location, request, IS_COLLECTIVE, ENDS, time);
    collective_count(location, op, comm, root, bytes_in, bytes_out);
    return OTF2_CALLBACK_SUCCESS;
}

static void handle_count(struct location *location, OTF2_CommRef comm, int counter)
{
    struct cell *member = member_at(location, comm);
    if (member && !archive.comms[comm].has_events)
        violation("communicator %u is created or destroyed and is not defined as such", comm);
    if (member)
        member->v[counter]++;
}

EVENT(comm_create, OTF2_CommRef comm)
{
    struct location *location = mpi_event_at(data, time);
    location->created++;
    handle_count(location, comm, CREATES);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(comm_destroy, OTF2_CommRef comm)
{
    struct location *location = mpi_event_at(data, time);
    location->destroyed++;
    handle_count(location, comm, DESTROYS);
    return OTF2_CALLBACK_SUCCESS;
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
    const struct cell *first = NULL;
    if (comm->inter || comm->groups[0].type != OTF2_GROUP_TYPE_COMM_GROUP)
        return;
    for (uint64_t i = 0; i < comm->groups[0].count; i++) {
        uint64_t process = comm->groups[0].members[i];
        if (!process_ended(process))
            continue;
        struct cell copy = *table_at(&archive.members, id, process);
        if (copy.v[CREATES] > 1 || copy.v[DESTROYS] > copy.v[CREATES])
            violation("process %" PRIu64 " creates communicator %u %" PRIu64 " times and destroys it %" PRIu64, process,
                      id, copy.v[CREATES], copy.v[DESTROYS]);
        if (first && (first->v[COLLECTIVES] != copy.v[COLLECTIVES] || first->v[OP_PRINT] != copy.v[OP_PRINT]))
            violation("communicator %u: processes %" PRIu64 " and %" PRIu64
                      " took part in different collectives (%" PRIu64 " and %" PRIu64 ")",
                      id, first->b, process, first->v[COLLECTIVES], copy.v[COLLECTIVES]);
        first = table_at(&archive.members, id, process);
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

#define ON(set, name, callback)                                                                                        \
    if (OTF2_##set##Callbacks_Set##name##Callback(callbacks, callback) != OTF2_SUCCESS)                                \
    give_up("a callback cannot be set")

static void definitions_read(OTF2_Reader *reader)
{
    OTF2_GlobalDefReaderCallbacks *callbacks = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReader *definitions = OTF2_Reader_GetGlobalDefReader(reader);
    uint64_t count;
    if (!callbacks || !definitions)
        give_up("the definitions cannot be read");
    ON(GlobalDefReader, ClockProperties, on_clock);
    ON(GlobalDefReader, String, on_string);
    ON(GlobalDefReader, LocationGroup, on_location_group);
    ON(GlobalDefReader, Location, on_location);
    ON(GlobalDefReader, Region, on_region);
    ON(GlobalDefReader, Group, on_group);
    ON(GlobalDefReader, Comm, on_comm);
    ON(GlobalDefReader, InterComm, on_inter_comm);
    if (OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, callbacks, NULL) != OTF2_SUCCESS ||
        OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &count) != OTF2_SUCCESS)
        give_up("the definitions cannot be read");
    OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
    if (!archive.has_clock)
        violation("there are no clock properties");
    if (!archive.world.defined)
        violation("there is no group of locations");
}

static OTF2_EvtReaderCallbacks *event_callbacks(void)
{
    OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
    if (!callbacks)
        give_up("out of memory");
    ON(EvtReader, Unknown, on_unknown);
    ON(EvtReader, ProgramBegin, on_program_begin);
    ON(EvtReader, ProgramEnd, on_program_end);
    ON(EvtReader, Enter, on_enter);
    ON(EvtReader, Leave, on_leave);
    ON(EvtReader, MpiSend, on_send);
    ON(EvtReader, MpiIsend, on_isend);
    ON(EvtReader, MpiIsendComplete, on_isend_complete);
    ON(EvtReader, MpiIrecvRequest, on_irecv_request);
    ON(EvtReader, MpiIrecv, on_irecv);
    ON(EvtReader, MpiRecv, on_recv);
    ON(EvtReader, MpiRequestTest, on_request_test);
    ON(EvtReader, MpiRequestCancelled, on_request_cancelled);
    ON(EvtReader, MpiCollectiveBegin, on_collective_begin);
    ON(EvtReader, MpiCollectiveEnd, on_collective_end);
    ON(EvtReader, NonBlockingCollectiveRequest, on_collective_request);
    ON(EvtReader, NonBlockingCollectiveComplete, on_collective_complete);
    ON(EvtReader, CommCreate, on_comm_create);
    ON(EvtReader, CommDestroy, on_comm_destroy);
    return callbacks;
}

static void location_definitions_read(OTF2_Reader *reader, struct location *location)
{
    OTF2_DefReader *definitions = OTF2_Reader_GetDefReader(reader, location->id);
    OTF2_DefReaderCallbacks *callbacks = OTF2_DefReaderCallbacks_New();
    uint64_t count;
    if (!callbacks)
        give_up("out of memory");
    ON(DefReader, ClockOffset, on_clock_offset);
    if (!definitions || OTF2_Reader_RegisterDefCallbacks(reader, definitions, callbacks, location) != OTF2_SUCCESS ||
        OTF2_Reader_ReadAllLocalDefinitions(reader, definitions, &count) != OTF2_SUCCESS)
        violation("location %" PRIu64 ": its definitions cannot be read", location->id);
    else if (OTF2_Reader_CloseDefReader(reader, definitions) != OTF2_SUCCESS || location->clock_offsets < 2)
        violation("location %" PRIu64 " has %" PRIu64 " clock offsets, and should have 2", location->id,
                  location->clock_offsets);
    OTF2_DefReaderCallbacks_Delete(callbacks);
}

static void location_events_read(OTF2_Reader *reader, struct location *location,
                                 const OTF2_EvtReaderCallbacks *callbacks)
{
    uint64_t count;
    OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, location->id);
    if (!events || OTF2_Reader_RegisterEvtCallbacks(reader, events, callbacks, location) != OTF2_SUCCESS ||
        OTF2_Reader_ReadAllLocalEvents(reader, events, &count) != OTF2_SUCCESS)
        violation("location %" PRIu64 ": its events cannot be read", location->id);
    else if (OTF2_Reader_CloseEvtReader(reader, events) != OTF2_SUCCESS || location->seen != location->events)
        violation("location %" PRIu64 " has %" PRIu64 " events, and is defined with %" PRIu64, location->id,
                  location->seen, location->events);
    if (location->depth)
        violation("location %" PRIu64 " does not leave %zu regions", location->id, location->depth);
}

static void events_read(OTF2_Reader *reader)
{
    for (size_t i = 0; i < archive.location_count; i++)
        if (OTF2_Reader_SelectLocation(reader, archive.locations[i].id) != OTF2_SUCCESS)
            give_up("a location cannot be selected");
    if (OTF2_Reader_OpenDefFiles(reader) != OTF2_SUCCESS || OTF2_Reader_OpenEvtFiles(reader) != OTF2_SUCCESS)
        give_up("the files of the locations cannot be opened");
    OTF2_EvtReaderCallbacks *callbacks = event_callbacks();
    for (size_t i = 0; i < archive.location_count; i++) {
        location_definitions_read(reader, &archive.locations[i]);
        location_events_read(reader, &archive.locations[i], callbacks);
    }
    OTF2_EvtReaderCallbacks_Delete(callbacks);
    if (OTF2_Reader_CloseDefFiles(reader) != OTF2_SUCCESS || OTF2_Reader_CloseEvtFiles(reader) != OTF2_SUCCESS)
        give_up("the files of the locations cannot be closed");
}

static void totals_print(void)
{
    struct comm all = {0};
    uint64_t comms = 0;
    for (size_t c = 0; c < archive.comm_count; c++) {
        const struct comm *comm = &archive.comms[c];
        comms += comm->defined;
        all.sends += comm->sends;
        all.send_bytes += comm->send_bytes;
        all.recvs += comm->recvs;
        all.recv_bytes += comm->recv_bytes;
        all.collectives += comm->collectives;
    }
    printf("locations=%zu enters=%" PRIu64 " sends=%" PRIu64 " send_bytes=%" PRIu64 " recvs=%" PRIu64
           " recv_bytes=%" PRIu64 " collectives=%" PRIu64 " comms=%" PRIu64 "\n",
           archive.location_count, archive.enters, all.sends, all.send_bytes, all.recvs, all.recv_bytes,
           all.collectives, comms);
}

static void json_add(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key,
                        json_integer(json_integer_value(json_object_get(object, key)) + (json_int_t)value));
}

/* Communicators of one name are added up. */
static void json_print(void)
{
    json_t *all = json_object();
    for (size_t c = 0; c < archive.comm_count; c++) {
        const struct comm *comm = &archive.comms[c];
        if (!comm->defined || comm->name >= archive.string_count || !archive.strings[comm->name])
            continue;
        json_t *object = json_object_get(all, archive.strings[comm->name]);
        if (!object)
            json_object_set_new(all, archive.strings[comm->name], object = json_object());
        json_add(object, "comms", 1);
        json_add(object, "sends", comm->sends);
        json_add(object, "send_bytes", comm->send_bytes);
        json_add(object, "recvs", comm->recvs);
        json_add(object, "recv_bytes", comm->recv_bytes);
        json_add(object, "collectives", comm->collectives);
        json_add(object, "collective_bytes_in", comm->bytes_in);
        json_add(object, "collective_bytes_out", comm->bytes_out);
    }
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_SORT_KEYS);
    putchar('\n');
    json_decref(all);
}

int main(int argc, char **argv)
{
    const char *directory = NULL;
    bool json = false;
    char path[4096];
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (!directory && argv[i][0] != '-')
            directory = argv[i];
        else
            give_up("usage: otf2_check DIR [--json]");
    if (!directory || snprintf(path, sizeof path, "%s/traces.otf2", directory) >= (int)sizeof path)
        give_up("usage: otf2_check DIR [--json]");
    OTF2_Reader *reader = OTF2_Reader_Open(path);
    if (!reader || OTF2_Reader_SetSerialCollectiveCallbacks(reader) != OTF2_SUCCESS)
        give_up("the archive cannot be opened");
    definitions_read(reader);
    events_read(reader);
    if (OTF2_Reader_Close(reader) != OTF2_SUCCESS)
        give_up("the archive cannot be closed");
    processes_check();
    requests_check();
    messages_check();
    for (OTF2_CommRef c = 0; c < archive.comm_count; c++)
        if (archive.comms[c].defined)
            members_of_comm_check(c);
    if (json)
        json_print();
    else
        totals_print();
    return archive.violations ? 1 : 0;
}
