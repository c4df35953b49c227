#include "handles/instance.h"

#include "registry/book.h"
#include "settings/knobs.h"

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
    WIDE(message_instance, comm),     WIDE(message_instance, site),
};
static const struct event_element posted_elements[] = {
    INT(message_instance, direction), INT(message_instance, peer),   INT(message_instance, tag),
    INT(message_instance, call),      WIDE(message_instance, bytes), WIDE(message_instance, comm),
    WIDE(message_instance, site),
};
static const struct event_element begin_elements[] = {
    INT(collective_instance, call),
    INT(collective_instance, coll),
    WIDE(collective_instance, comm),
    WIDE(collective_instance, site),
};
static const struct event_element collective_elements[] = {
    INT(collective_instance, call),     INT(collective_instance, coll),      INT(collective_instance, root),
    INT(collective_instance, failed),   WIDE(collective_instance, bytes_in), WIDE(collective_instance, bytes_out),
    WIDE(collective_instance, time_ns), WIDE(collective_instance, comm),     WIDE(collective_instance, site),
};
static const struct event_element request_elements[] = {
    INT(request_instance, call),     INT(request_instance, completed_by), INT(request_instance, peer),
    INT(request_instance, tag),      INT(request_instance, outcome),      WIDE(request_instance, bytes),
    WIDE(request_instance, time_ns), WIDE(request_instance, comm),        WIDE(request_instance, site),
};
static const struct event_element level_elements[] = {
    WIDE(level_instance, level),
    WIDE(level_instance, threshold),
    WIDE(level_instance, site),
};
static const struct event_element loss_elements[] = {
    INT(loss_instance, cause),
    WIDE(loss_instance, count),
};
static const struct event_element comm_elements[] = {
    INT(comm_instance, call),    INT(comm_instance, size),  WIDE(comm_instance, comm),
    WIDE(comm_instance, parent), WIDE(comm_instance, site),
};
static const struct event_element window_elements[] = {
    INT(object_instance, call),
    INT(object_instance, number),
    {"window", ELEMENT_UNSIGNED_LONG_LONG, offsetof(struct object_instance, handle)},
    WIDE(object_instance, comm),
    WIDE(object_instance, site),
};
static const struct event_element file_elements[] = {
    INT(object_instance, call),
    INT(object_instance, number),
    {"file", ELEMENT_UNSIGNED_LONG_LONG, offsetof(struct object_instance, handle)},
    WIDE(object_instance, comm),
    WIDE(object_instance, site),
};
static const struct event_element error_elements[] = {
    INT(error_instance, call),  INT(error_instance, code),  INT(error_instance, error_class),
    WIDE(error_instance, comm), WIDE(error_instance, site),
};
static const struct event_element stall_elements[] = {
    INT(stall_instance, call),
    WIDE(stall_instance, time_ns),
    WIDE(stall_instance, comm),
    WIDE(stall_instance, site),
};
static const struct event_element rma_elements[] = {
    INT(access_instance, call),   INT(access_instance, number), INT(access_instance, target),
    INT(access_instance, failed), WIDE(access_instance, bytes), WIDE(access_instance, time_ns),
    WIDE(access_instance, comm),  WIDE(access_instance, site),
};
static const struct event_element io_elements[] = {
    INT(access_instance, call),   INT(access_instance, number),   INT(access_instance, failed),
    WIDE(access_instance, bytes), WIDE(access_instance, time_ns), WIDE(access_instance, comm),
    WIDE(access_instance, site),
};

/* The end of descriptions. */
#define SITE " site: address behind the call in the program, 0 if unknown."

/* The last arguments are designated: the fields that are not 0. */
#define EVENT(title, structure, list, text, ...)                                                                       \
    {                                                                                                                  \
        .name = (title), .description = text, .bytes = sizeof(struct structure), .elements = (list),                   \
        .element_count = sizeof(list) / sizeof(list)[0], __VA_ARGS__                                                   \
    }

struct event_type event_types[EVENT_TYPES] = {
    [MESSAGE_POSTED] =
        EVENT("mpit_message_posted", message_instance, posted_elements,
              "A send was posted, or a receive with a request. direction: 0 send, 1 receive; peer, tag: arguments of "
              "the call; call: item of enumeration mpit_call; bytes: size of the message (send) or of the buffer "
              "(receive). Timestamp: begin of the call." SITE,
              .verbosity = MPIT_VERBOSITY_USER_DETAIL, .bound = true),
    [MESSAGE_COMPLETED] =
        EVENT("mpit_message_completed", message_instance, message_elements,
              "A send or receive was completed. direction: 0 send, 1 receive; peer, tag, bytes: of the message; call: "
              "the posting call, item of enumeration mpit_call; time_ns: nanoseconds since the posting call began. "
              "Timestamp: return of the completing call." SITE,
              .bound = true),
    [COLLECTIVE_BEGIN] =
        EVENT("mpit_collective_begin", collective_instance, begin_elements,
              "A collective begins, before MPI is called. call: item of enumeration mpit_call; coll: item of "
              "enumeration mpit_coll." SITE,
              .verbosity = MPIT_VERBOSITY_USER_DETAIL, .bound = true),
    [COLLECTIVE_END] =
        EVENT("mpit_collective_end", collective_instance, collective_elements,
              "A collective has ended in this process. A nonblocking one ends when its request is completed. call: the "
              "starting call, item of enumeration mpit_call; coll: item of enumeration mpit_coll; root: MPI_UNDEFINED "
              "without a root; failed: 1 when MPI returned an error; bytes_in, bytes_out: bytes that this process sent "
              "and received; time_ns: nanoseconds since the starting call began." SITE,
              .bound = true),
    [REQUEST_COMPLETED] =
        EVENT("mpit_request_completed", request_instance, request_elements,
              "A request was completed. call: the posting call, completed_by: the completing call, items of "
              "enumeration mpit_call; peer, tag, bytes: of the message (collectives: peer is the root, tag is -1); "
              "outcome: 0 done, 1 failed, 2 cancelled; time_ns: nanoseconds since the posting call began." SITE,
              .verbosity = MPIT_VERBOSITY_USER_DETAIL, .bound = true),
    [PENDING_SENDS_OVER] =
        EVENT("mpit_pending_sends_over", level_instance, level_elements,
              "The level of mpit_pending_sends rose above the handle's threshold (hint mpit_threshold)." SITE,
              .verbosity = MPIT_VERBOSITY_TUNER, .bound = true, .threshold = true),
    [PENDING_RECVS_OVER] =
        EVENT("mpit_pending_recvs_over", level_instance, level_elements,
              "The level of mpit_pending_recvs rose above the handle's threshold (hint mpit_threshold)." SITE,
              .verbosity = MPIT_VERBOSITY_TUNER, .bound = true, .threshold = true),
    [PENDING_BYTES_OVER] = EVENT(
        "mpit_pending_bytes_over", level_instance, level_elements,
        "The level of mpit_pending_bytes, in bytes, rose above the handle's threshold (hint mpit_threshold)." SITE,
        .verbosity = MPIT_VERBOSITY_TUNER, .bound = true, .threshold = true),
    [EVENT_LOST] =
        EVENT("mpit_event_lost", loss_instance, loss_elements,
              "The recorder lost events or records. cause: item of enumeration mpit_loss; count: losses since the last "
              "such event. Timestamp: end of the call in which the recorder detected the loss."),
    [COMM_CREATION] =
        EVENT("mpit_comm_created", comm_instance, comm_elements,
              "A communicator was created. call: the creating call, item of enumeration mpit_call; size: processes in "
              "it (in the local group); comm, parent: handles as numbers, parent is 0 without a parent. Timestamp: "
              "when the program received the handle." SITE),
    [COMM_FREEING] =
        EVENT("mpit_comm_freed", comm_instance, comm_elements,
              "A communicator was freed. call: the freeing call, item of enumeration mpit_call; size: processes in it "
              "(in the local group); comm, parent: handles as numbers; comm is no longer valid. Timestamp: return of "
              "the freeing call." SITE),
    [WINDOW_CREATED] =
        EVENT("mpit_window_created", object_instance, window_elements,
              "A window was created. call: item of enumeration mpit_call; number: counts the windows created on comm, "
              "from 1; window, comm: handles as numbers. Timestamp: return of the call." SITE),
    [WINDOW_FREED] =
        EVENT("mpit_window_freed", object_instance, window_elements,
              "A window was freed. Elements as in mpit_window_created; window is no longer a valid handle. Timestamp: "
              "return of the call." SITE),
    [FILE_OPENED] =
        EVENT("mpit_file_opened", object_instance, file_elements,
              "A file was opened. call: item of enumeration mpit_call; number: counts the files opened on comm, from "
              "1; file, comm: handles as numbers. Timestamp: return of the call." SITE),
    [FILE_CLOSED] =
        EVENT("mpit_file_closed", object_instance, file_elements,
              "A file was closed. Elements as in mpit_file_opened; file is no longer a valid handle. Timestamp: return "
              "of the call." SITE),
    [CALL_ERROR] =
        EVENT("mpit_call_error", error_instance, error_elements,
              "A recorded MPI call returned an error. call: item of enumeration mpit_call; code: error code that the "
              "call returned; error_class: class of the error code; comm: the communicator's handle as a number, 0 "
              "without a communicator. Timestamp: return of the call." SITE),
    [CALL_STALLED] =
        EVENT("mpit_call_stalled", stall_instance, stall_elements,
              "An MPI call waited without progress. call: item of enumeration mpit_call; time_ns: nanoseconds stalled, "
              "as in mpit_stall_time; comm: the communicator's handle as a number, 0 without a communicator. "
              "Timestamp: return of the call." SITE,
              .verbosity = MPIT_VERBOSITY_USER_DETAIL),
    [RMA_CALL] =
        EVENT("mpit_rma_call", access_instance, rma_elements,
              "A call on a window has returned. call: item of enumeration mpit_call; number: of the window on its "
              "communicator, as in mpit_window_created; target: rank, MPI_UNDEFINED without a target; failed: 1 when "
              "MPI returned an error; bytes: at the target; time_ns: nanoseconds inside the call. Timestamp: return of "
              "the call." SITE,
              .verbosity = MPIT_VERBOSITY_USER_DETAIL, .bound = true),
    [IO_CALL] =
        EVENT("mpit_io_call", access_instance, io_elements,
              "A call on a file has returned. call: item of enumeration mpit_call; number: of the file on its "
              "communicator, as in mpit_file_opened; failed: 1 when MPI returned an error; bytes: transferred by the "
              "call; time_ns: nanoseconds inside the call. Timestamp: return of the call." SITE,
              .verbosity = MPIT_VERBOSITY_USER_DETAIL, .bound = true),
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
    knobs_listen((now & ~TYPES_OF_RARE_CALLS) != 0);
    pthread_mutex_unlock(&lock);
}

/* A new listener gets no report of earlier losses. */
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
