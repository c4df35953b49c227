#include "instance.h"

#include "book.h"
#include "knobs.h"

#include <mpit/instrument_interface.h>

#include <pthread.h>

#define INT(structure, field)                                                                                          \
    {                                                                                                                  \
#field, ELEMENT_INT, offsetof(struct structure, field)                                                         \
    }
#define WIDE(structure, field)                                                                                         \
    {                                                                                                                  \
#field, ELEMENT_UNSIGNED_LONG_LONG, offsetof(struct structure, field)                                          \
    }

static const struct event_element message_elements[] = {
    INT(message_instance, direction), INT(message_instance, peer),   INT(message_instance, tag),
    INT(message_instance, call),      WIDE(message_instance, bytes), WIDE(message_instance, time_ns),
};
static const struct event_element collective_elements[] = {
    INT(collective_instance, call),     INT(collective_instance, coll),      INT(collective_instance, root),
    INT(collective_instance, failed),   WIDE(collective_instance, bytes_in), WIDE(collective_instance, bytes_out),
    WIDE(collective_instance, time_ns),
};
static const struct event_element request_elements[] = {
    INT(request_instance, call),     INT(request_instance, completed_by), INT(request_instance, peer),
    INT(request_instance, tag),      INT(request_instance, outcome),      WIDE(request_instance, bytes),
    WIDE(request_instance, time_ns),
};
static const struct event_element level_elements[] = {
    WIDE(level_instance, level),
    WIDE(level_instance, threshold),
};
static const struct event_element loss_elements[] = {
    INT(loss_instance, cause),
    WIDE(loss_instance, count),
};

#define ALL(list) .elements = (list), .element_count = sizeof(list) / sizeof(list)[0]

struct event_type event_types[EVENT_TYPES] = {
    [MESSAGE_POSTED] = {.name = "mpit_message_posted",
                        .description =
                            "A message was handed to MPI: a send, or a receive that a request stands for. "
                            "direction: 0 send, 1 receive; peer and tag as the program gave them; call: item "
                            "of enumeration mpit_call; bytes: of the message, or of the room for it. "
                            "Timestamp: begin of the call.",
                        .verbosity = MPIT_VERBOSITY_USER_DETAIL,
                        .bound = true,
                        .bytes = offsetof(struct message_instance, time_ns),
                        .elements = message_elements,
                        .element_count = 5},
    [MESSAGE_COMPLETED] = {.name = "mpit_message_completed",
                           .description = "A message was sent or has arrived, and the program knows. direction: 0 "
                                          "send, 1 receive; peer, tag, bytes: of the message; call: that posted it, "
                                          "item of enumeration mpit_call; time_ns: nanoseconds since that call began. "
                                          "Timestamp: return of the call that completed it.",
                           .bound = true,
                           .bytes = sizeof(struct message_instance),
                           ALL(message_elements)},
    [COLLECTIVE_BEGIN] = {.name = "mpit_collective_begin",
                          .description = "A collective begins, before MPI is called. call: item of enumeration "
                                         "mpit_call; coll: item of enumeration mpit_coll.",
                          .verbosity = MPIT_VERBOSITY_USER_DETAIL,
                          .bound = true,
                          .bytes = offsetof(struct collective_instance, root),
                          .elements = collective_elements,
                          .element_count = 2},
    [COLLECTIVE_END] = {.name = "mpit_collective_end",
                        .description = "A collective has ended in this process; a nonblocking one when its request "
                                       "was completed. call: that began it, item of enumeration mpit_call; coll: item "
                                       "of enumeration mpit_coll; root: MPI_UNDEFINED where there is none; failed: 1 "
                                       "when MPI returned an error; bytes_in, bytes_out: what this process put in and "
                                       "got out; time_ns: nanoseconds since the call began.",
                        .bound = true,
                        .bytes = sizeof(struct collective_instance),
                        ALL(collective_elements)},
    [REQUEST_COMPLETED] = {.name = "mpit_request_completed",
                           .description = "A request was completed. call: that posted it, completed_by: that "
                                          "completed it, items of enumeration mpit_call; peer, tag, bytes: of the "
                                          "message (peer: the root in collectives, tag: -1 there); outcome: 0 done, 1 "
                                          "failed, 2 cancelled; time_ns: nanoseconds since it was posted.",
                           .verbosity = MPIT_VERBOSITY_USER_DETAIL,
                           .bound = true,
                           .bytes = sizeof(struct request_instance),
                           ALL(request_elements)},
    [PENDING_SENDS_OVER] = {.name = "mpit_pending_sends_over",
                            .description = "The level of mpit_pending_sends went over the handle's threshold (hint "
                                           "mpit_threshold), from at most that.",
                            .verbosity = MPIT_VERBOSITY_TUNER,
                            .bound = true,
                            .threshold = true,
                            .bytes = sizeof(struct level_instance),
                            ALL(level_elements)},
    [PENDING_RECVS_OVER] = {.name = "mpit_pending_recvs_over",
                            .description = "The level of mpit_pending_recvs went over the handle's threshold (hint "
                                           "mpit_threshold), from at most that.",
                            .verbosity = MPIT_VERBOSITY_TUNER,
                            .bound = true,
                            .threshold = true,
                            .bytes = sizeof(struct level_instance),
                            ALL(level_elements)},
    [PENDING_BYTES_OVER] = {.name = "mpit_pending_bytes_over",
                            .description = "The level of mpit_pending_bytes, in bytes, went over the handle's "
                                           "threshold (hint mpit_threshold), from at most that.",
                            .verbosity = MPIT_VERBOSITY_TUNER,
                            .bound = true,
                            .threshold = true,
                            .bytes = sizeof(struct level_instance),
                            ALL(level_elements)},
    [EVENT_LOST] = {.name = "mpit_event_lost",
                    .description = "The recorder could not record something. cause: item of enumeration mpit_loss; "
                                   "count: how often since the last such event. Timestamp: when it was noticed, at the "
                                   "end of a call.",
                    .bytes = sizeof(struct loss_instance),
                    ALL(loss_elements)},
};

uint64_t listeners;
uint64_t losses_told[LOSS_COUNT];
void (*instance_sink)(struct instance *instances, size_t count, enum delivery_context context);

static void listeners_set(uint64_t bit, bool on)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    uint64_t now = on ? listeners | bit : listeners & ~bit;
    __atomic_store_n(&listeners, now, __ATOMIC_RELAXED);
    knobs_listen((now & ~(UINT64_C(1) << COLLECTIVE_BEGIN)) != 0);
    pthread_mutex_unlock(&lock);
}

/* A new listener is not told of what was lost before. */
static void losses_forget(void)
{
    for (unsigned cause = 0; book.run.header && cause < LOSS_COUNT; cause++)
        __atomic_store_n(&losses_told[cause], __atomic_load_n(&book.run.header->lost[cause], __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
}

void event_type_heed(struct event_type *type, bool heard)
{
    if (heard && !type->heard && type == &event_types[EVENT_LOST])
        losses_forget();
    __atomic_store_n(&type->heard, heard, __ATOMIC_RELAXED);
    if (type->heed)
        type->heed(type, heard);
    if (type >= event_types && type < event_types + EVENT_TYPES)
        listeners_set(UINT64_C(1) << (type - event_types), heard);
}
