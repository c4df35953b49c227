/*
 * Instances of MPI_T events: the objects for the callbacks of a tool. Also the list of event types.
 *
 *   probes ── make an instance ──> instances_deliver ──> mpit/events/delivery.c ── callbacks of the tool
 *      │                                                   │
 *      └── loads `listeners` <───── set while there are callbacks
 *
 * The probes know whether there are listeners, and mpit/ knows which. They meet here. `listeners` has a bit for each of
 * mpit's own types. Some types can be raised by the end of any call. While the bit of one of these is set,
 * knob_rare_ticks is 0. The frequent paths of the wrappers compare with that anyway. They then leave for the functions
 * out of line, which look at `listeners`. A program without listeners pays nothing there, and one load where a
 * collective begins.
 *
 * Who may run with whom: types are added under a lock and never removed or changed. mpit/ changes `listeners` and
 * `heard`, and everybody loads them relaxed. An instance belongs to the thread that made it.
 */
#ifndef MPIT_AGGREGATE_INSTANCE_H
#define MPIT_AGGREGATE_INSTANCE_H

#include "figures/cells.h"
#include "base/linkage.h"
#include "format/runfile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct comm;
struct registration; /* mpit/events/registration.h */

enum event_type_id {
    MESSAGE_POSTED,
    MESSAGE_COMPLETED,
    COLLECTIVE_BEGIN,
    COLLECTIVE_END,
    REQUEST_COMPLETED,
    PENDING_SENDS_OVER,
    PENDING_RECVS_OVER,
    PENDING_BYTES_OVER,
    EVENT_LOST,
    COMM_CREATION,
    COMM_FREEING,
    WINDOW_CREATED,
    WINDOW_FREED,
    FILE_OPENED,
    FILE_CLOSED,
    CALL_ERROR,
    CALL_STALLED,
    RMA_CALL,
    IO_CALL,
    EVENT_TYPES
};

/* Types raised only by calls that are out of line anyway. Listening to them slows down only calls that complete
 * requests, by some 10 ns. */
#define TYPES_OF_RARE_CALLS                                                                                            \
    (UINT64_C(1) << COLLECTIVE_BEGIN | UINT64_C(1) << COMM_CREATION | UINT64_C(1) << COMM_FREEING |                    \
     UINT64_C(1) << WINDOW_CREATED | UINT64_C(1) << WINDOW_FREED | UINT64_C(1) << FILE_OPENED |                        \
     UINT64_C(1) << FILE_CLOSED | UINT64_C(1) << CALL_ERROR | UINT64_C(1) << CALL_STALLED)

/* The ones above the first are only in types of other libraries (instrument.h). */
enum element_type { ELEMENT_INT, ELEMENT_UNSIGNED_LONG_LONG, ELEMENT_UNSIGNED, ELEMENT_UNSIGNED_LONG, ELEMENT_DOUBLE };

struct event_element {
    const char *name;
    enum element_type type;
    uint32_t displacement;
};

enum { ELEMENTS_MOST = 32 };

struct event_type {
    const char *name, *description;
    bool bound;                    /* to a communicator, or to any */
    bool threshold;                /* a level_instance: raised when its level goes over the handle's threshold */
    uint8_t verbosity;             /* enum mpit_verbosity */
    uint16_t bytes, element_count; /* element_count: at most ELEMENTS_MOST */
    const struct event_element *elements;
    const char *category;                              /* path. NULL: mpit's own category */
    void (*heed)(struct event_type *type, bool heard); /* told about new and lost listeners, or NULL */
    bool gone;                                         /* its library has removed it. No new handles are made */
    bool heard;                                        /* there are callbacks. Loaded relaxed by the raising thread */
    uint32_t hearers; /* registrations with callbacks, and the list of all: mpit/events/registration.c */
    struct registration *registrations;
};

extern struct event_type event_types[EVENT_TYPES];

/* The content of the types. Ranks, tags and roots are as in the program's MPI calls. comm, parent, handle: handles
 * of the program's MPI as numbers. 0: none, or not known. site: the address behind the call that raises the event, in
 * the program. 0: not known. New elements come at the end. */
enum message_direction { DIRECTION_SEND, DIRECTION_RECV };

struct message_instance {
    int direction, peer, tag, call;
    unsigned long long bytes, time_ns; /* time_ns: not in MESSAGE_POSTED */
    unsigned long long comm, site;
};

struct collective_instance {
    int call, coll;
    int root, failed; /* the rest, except for comm and site, is only in COLLECTIVE_END */
    unsigned long long bytes_in, bytes_out, time_ns, comm, site;
};

enum request_outcome { OUTCOME_DONE, OUTCOME_FAILED, OUTCOME_CANCELLED };

struct request_instance {
    int call, completed_by, peer, tag, outcome;
    unsigned long long bytes, time_ns, comm, site;
};

struct level_instance {
    unsigned long long level, threshold, site;
};

struct comm_instance {
    int call, size;
    unsigned long long comm, parent, site;
};

/* A window or a file. number: counts the ones made on the communicator. */
struct object_instance {
    int call, number;
    unsigned long long handle, comm, site;
};

struct error_instance {
    int call, code, error_class;
    unsigned long long comm, site;
};

struct stall_instance {
    int call;
    unsigned long long time_ns, comm, site;
};

/* A call on a window or a file. */
struct access_instance {
    int call, number, target, failed; /* target: not in IO_CALL */
    unsigned long long bytes, time_ns, comm, site;
};

struct loss_instance {
    int cause;
    unsigned long long count;
};

struct instance {
    struct event_type *type;
    const struct comm *comm;
    uint64_t ticks;
    const void *more; /* the data, if it is not in here */
    union {
        struct message_instance message;
        struct collective_instance collective;
        struct request_instance request;
        struct level_instance level;
        struct loss_instance loss;
        struct comm_instance life;
        struct object_instance object;
        struct error_instance error;
        struct stall_instance stall;
        struct access_instance access;
    };
};

/* One bit for each of event_types that has listeners. */
extern LIBRARY_LOCAL uint64_t listeners;

static inline bool listened(enum event_type_id id)
{
    return RELAXED_LOAD(&listeners) & (UINT64_C(1) << id);
}

/* header.lost at the time of the last EVENT_LOST. */
extern uint64_t losses_told[LOSS_COUNT];

/* Sets `heard` of a type, and the values that depend on it. */
void event_type_heed(struct event_type *type, bool heard);

/* The conditions that a callback must accept where instances are delivered, in the order of MPI_T_cb_safety. */
enum delivery_context { CONTEXT_FREE, CONTEXT_IN_MPI, CONTEXT_THREADS };

/* Receives instances. Set by mpit/ when the first handle is made. Release, pairs with the acquire below. */
extern void (*instance_sink)(struct instance *instances, size_t count, enum delivery_context context);

/* Calls the callbacks. The caller holds no lock and has nothing half done, since they may call MPI in CONTEXT_FREE. */
static inline void instances_deliver(struct instance *instances, size_t count, enum delivery_context context)
{
    void (*sink)(struct instance *, size_t, enum delivery_context) = __atomic_load_n(&instance_sink, __ATOMIC_ACQUIRE);
    if (sink)
        sink(instances, count, context);
}

#endif
