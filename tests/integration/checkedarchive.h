/*
 * What otf2_check knows of the archive that it reads: the definitions by their ids, where each location stands, and
 * counters of what has to match in the end.
 *
 *   otf2_check ──┬─ definitions_read ─> checkeddefinitions ──┐
 *                ├─ events_read ──────> checkedevents ───────┤ fill it and check as they go
 *                │                           v               │
 *                └─ matches_check ────> checkedmatches ──────┴──> archive
 */
#ifndef MPIT_INTEGRATION_CHECKEDARCHIVE_H
#define MPIT_INTEGRATION_CHECKEDARCHIVE_H

#include <otf2/otf2.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>

#define UNUSED __attribute__((unused))

enum { DEPTH_MAX = 1 << 10 };

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

struct checked_archive {
    char **strings;
    unsigned char *regions; /* 1: of MPI, 2: of the user */
    struct group *groups;
    struct comm *comms;
    struct process *processes;
    struct location *locations;
    OTF2_Type *member_types, *metric_types; /* of metric members and classes; OTF2_TYPE_NONE: not defined */
    size_t string_count, region_count, group_count, comm_count, process_count, location_count;
    size_t member_count, metric_count;
    bool has_clock, has_self;
    struct group world; /* of type COMM_LOCATIONS: its index is the rank */
    uint64_t begin, end, enters, user_enters, samples;
    struct table messages, requests, members;
    uint64_t violations;
};

extern struct checked_archive archive;

/* One line on stderr, and the exit status is 1; of very many only the first are shown. */
__attribute__((format(printf, 1, 2))) void violation(const char *format, ...);

/* Nothing more can be said: exit status 2. */
_Noreturn void give_up(const char *text);

/* Sums of it tell multisets apart. */
uint64_t mix(uint64_t x);

/* The cell of (a, b), made when it is new; the next call may move it. */
struct cell *table_at(struct table *table, uint64_t a, uint64_t b);

/* The element `id` of an array that grows to hold it. */
void *element(void *array_place, size_t *count, size_t size, uint64_t id);
#define ELEMENT(field, count, id) element(&archive.field, &archive.count, sizeof *archive.field, id)

void string_check(OTF2_StringRef id, const char *user);

/* The callback for one kind of record; `callbacks` are a set's, such as EvtReader's. */
#define ON(set, name, callback)                                                                                        \
    do {                                                                                                               \
        if (OTF2_##set##Callbacks_Set##name##Callback(callbacks, callback) != OTF2_SUCCESS)                            \
            give_up("a callback cannot be set");                                                                       \
    } while (0)

#endif
