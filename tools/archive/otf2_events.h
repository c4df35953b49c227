/*
 * The events of one location: calls in the order of their begin, each with its records.
 *
 *   Enter | posts, collective begins | nested calls | completions, collective ends | Leave
 *
 * The written events keep these rules for any run file. Times never decrease. A rank lies in its communicator. A
 * completion comes after a request.
 */
#ifndef MPIT_TOOLS_OTF2_EVENTS_H
#define MPIT_TOOLS_OTF2_EVENTS_H

#include "trace/callstream.h"
#include "trace/tracecomms.h"
#include "trace/tracecounters.h"
#include "definitions/otf2_objects.h"
#include "trace/regionschedule.h"
#include "definitions/otf2_callpaths.h"

#include <otf2/otf2.h>

/* The groups of windows' epochs come after the group of all locations, both in event files and in the definitions. */
enum { TRACE_FIRST_GROUP = 1 };

/* The communicator that has a slot now, for the events of the slot. */
struct trace_place {
    uint32_t key;    /* slot + 1, or 0 for an empty entry */
    uint32_t number; /* in the run file */
    uint32_t comm;   /* in the archive, or NO_COMM */
    int32_t peers;   /* number of ranks that a message may come from */
    bool whole;      /* it is in the archive with all its members */
    uint64_t since;  /* ticks */
};

enum { PLACES_KEPT = 16 };

/* Time stamps for `reach` ticks from `first` on, without any bounds. */
struct trace_stamps {
    uint64_t first, reach;
    uint64_t from_ticks, from_ns, mult;
};

/* State that all events of a process share. */
struct trace_process {
    struct trace_job *job;
    struct trace_comms *comms;
    struct object_set *objects;
    struct object_states states;
    const struct trace_rank *rank;
    int32_t world_rank;
    const uint32_t *path_places;   /* by number of the call path, or NULL */
    const struct clock_map *clock; /* of its node, or NULL without a run file */
    struct trace_stamps stamps;
    struct trace_place places[PLACES_KEPT];
    struct trace_place past; /* place of an event whose communicator has lost its slot, until the next such event */
    bool *created;           /* by the communicator's number: its creation is in the archive */
    uint64_t unknown_comm; /* ends of messages that could not be placed, by reason: their communicator is not known, */
    uint64_t absent_comm;  /* or is not in the archive, which was reported before, */
    uint64_t bad_peer;     /* or it has no such rank */
    uint64_t foreign_sent, foreign_received; /* on communicators with processes of other jobs */
    uint64_t left_out;                       /* messages from and to ranks that are not selected */
    uint64_t unmatched;                      /* completions of requests that were not seen posted */
    OTF2_ErrorCode error;                    /* the first one */
};

struct trace_location {
    struct trace_process *process;
    OTF2_EvtWriter *writer;
    uint64_t last_ns, last_ticks; /* of the latest event */
    struct schedule schedule;     /* regions and samples of other libraries, written between the calls */
    size_t floors[1 << 10];       /* of the calls that are entered, for the schedule */
    size_t depth;
    uint8_t counters[COUNTER_COUNT]; /* of the run file: which of the archive */
    uint64_t counted[COUNTER_COUNT]; /* so far */
    bool counts;                     /* any */
    OTF2_AttributeList *attributes;  /* of the next event, or NULL: no call paths */
    bool functions;                  /* regions of functions are written */
    uint32_t entered;                /* the context whose functions are entered, or NO_CONTEXT */
    bool plain;                      /* no call needs a look at the selection or schedule */
};

/* Before the first call, once the rest is set. */
void location_begin(struct trace_location *location);
void location_enter(void *location, const struct traced_call *call);
void location_leave(void *location, const struct traced_call *call);
/* Writes both, for a call without nested calls. */
void location_call(struct trace_location *location, const struct traced_call *call);
/* A call that sends, receives, posts or completes messages, and nothing else. */
struct message_call {
    const struct event *event;
    uint32_t path;
    enum fold_shape shape;
    uint64_t request; /* that it posted */
    const struct event *records;
    const uint64_t *requests; /* that each of these completed */
    size_t record_count;
};

/* The same of a call like that, in a location that is plain. */
void location_message(struct trace_location *location, const struct message_call *call);
/* Marks that no events were recorded from the latest event until then. */
void location_gap(struct trace_location *location, uint64_t until);
/* Writes the rest of the schedule. */
void location_end(struct trace_location *location);
void location_release(struct trace_location *location);
/* The archive's range of time covers all that was written. */
void location_range(const struct trace_location *location);
void location_program_begin(struct trace_location *location, OTF2_StringRef program);
void location_program_end(struct trace_location *location);

/* Calls a writing function of OTF2. After one failure it calls none any more, since OTF2 does not survive that
 * (otf2.c). */
#define location_check(location, call)                                                                                 \
    do {                                                                                                               \
        if ((location)->process->error == OTF2_SUCCESS)                                                                \
            (location)->process->error = (call);                                                                       \
    } while (0)
/* The same for OTF2_EvtWriter_EVENT without attributes. Its other arguments begin with the time. */
#define location_write(location, event, ...)                                                                           \
    location_check(location, OTF2_EvtWriter_##event((location)->writer, NULL, __VA_ARGS__))
/* For the time stamps of a process that has a run file. */
void process_stamps_find(struct trace_process *process);
/* Finds a place that process_place does not have in its cache. */
const struct trace_place *process_place_find(struct trace_process *process, const struct event *event);

/* Returns the place of a record. The result is valid until the next call for another record. */
static inline const struct trace_place *process_place(struct trace_process *process, const struct event *event)
{
    const struct trace_place *place = &process->places[event->comm % PLACES_KEPT];
    if (place->key == event->comm + 1u && event->begin >= place->since)
        return place;
    return process_place_find(process, event);
}

/* The number that the communicator of a record has in the run file. */
static inline uint32_t process_number(struct trace_process *process, const struct event *event)
{
    return process_place(process, event)->number;
}

/* The window or file of an event. Returns NULL if it is not known (counted), or without memory (*result). */
struct object_state *process_object_state(struct trace_process *process, const struct event *event,
                                          enum object_kind kind, int *result);
/* Returns whether the call's communicator is made when its request completes. */
bool call_creates_later(const struct event *event);
/* The communicator of a record, or NO_COMM. */
static inline uint32_t process_comm(struct trace_process *process, const struct event *event)
{
    return process_place(process, event)->comm;
}

/* The same for any event. */
bool message_is_placed(struct trace_process *process, const struct event *event);
/* Returns the place of the message, or NULL if there is none. */
static inline const struct trace_place *message_place(struct trace_process *process, const struct event *event)
{
    const struct trace_place *place = process_place(process, event);
    bool plain = place->whole && !process->job->no_messages;
    if (plain && (uint32_t)event->peer < (uint32_t)place->peers && !(event->kind & EVENT_FAILED))
        return place;
    return message_is_placed(process, event) ? process_place(process, event) : NULL;
}

/* Returns whether there is a message between this process and event.peer. Counts messages that cannot be placed. */
static inline bool process_has_message(struct trace_process *process, const struct event *event)
{
    return message_place(process, event) != NULL;
}

/* Returns whether the record belongs to a collective with all its members in the archive. */
static inline bool process_has_collective(struct trace_process *process, const struct event *event)
{
    return process_place(process, event)->whole;
}

/* Returns whether the record posts a receive that can bring a message. */
bool process_has_receive(struct trace_process *process, const struct event *event);

#endif
