#include "figures/variables.h"

#include <mpit/instrument_interface.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELL(type, field) (offsetof(struct type, field) / sizeof(uint64_t))
#define WEIGHED(sign, kind, type, field, cells, far)                                                                   \
    {                                                                                                                  \
        .block = (kind), .weight = (sign), .first = CELL(type, field), .run = (cells), .step = 1, .stride = (far)      \
    }
#define TERM(kind, type, field, cells, far) WEIGHED(1, kind, type, field, cells, far)
#define MINUS(kind, type, field, cells) WEIGHED(-1, kind, type, field, cells, 0)
#define THREAD_CELL(field) TERM(BLOCK_THREAD, thread_cells, field, 1, 0)
#define THREAD_SLOTS(field) TERM(BLOCK_THREAD, thread_cells, field, 1, 1)
#define COMM_CELL(field) TERM(BLOCK_COMM, comm_cells, field, 1, 0)
#define COMM_RUN(field, n) TERM(BLOCK_COMM, comm_cells, field, n, 0)
#define COMM_SLOTS(field) TERM(BLOCK_COMM, comm_cells, field, 1, 1)
/* count or bytes of messages: summed over the sizes, by size, by peer */
#define MESSAGE_CELLS (sizeof(struct message_cells) / sizeof(uint64_t))
#define MESSAGE_SUM(field)                                                                                             \
    {                                                                                                                  \
        .block = BLOCK_COMM, .weight = 1, .first = CELL(comm_cells, field), .run = BUCKET_COUNT, .step = MESSAGE_CELLS \
    }
#define MESSAGE_SLOTS(field) TERM(BLOCK_COMM, comm_cells, field, 1, MESSAGE_CELLS)
#define PEER_SLOTS(field) TERM(BLOCK_PEERS, peer_cells, peer[0].field, 1, 2 * MESSAGE_CELLS)
#define FABRIC_CELL(field) TERM(BLOCK_FABRIC, fabric_cells, field, 1, 0)
#define FABRIC_KIND_SLOTS(field) TERM(BLOCK_FABRIC, fabric_cells, kind[0].field, 1, MESSAGE_CELLS)
#define FABRIC_FUNCTION_SLOTS(field)                                                                                   \
    TERM(BLOCK_FABRIC, fabric_cells, function[0].field, 1, sizeof(struct fabric_function_cells) / sizeof(uint64_t))
#define SHARED_CELL(field) TERM(BLOCK_SHARED, shared_cells, field, 1, 0)
#define CLOSED(extreme) TERM(BLOCK_SHARED, shared_cells, closed[extreme], 1, 0)

#define SAFE " Reading it is async-signal-safe and wait-free."

/* The last arguments are designated: where the values come from, and each other field that is not 0. */
#define ROW(title, kind, dimension, to, slots, text, ...)                                                              \
    {                                                                                                                  \
        .record.name = (title), .record.unit = (dimension), .record.class = VARIABLE_##kind, .record.bound = (to),     \
        .record.count = (slots), .description = text SAFE, __VA_ARGS__                                                 \
    }
#define CELLS(how, ...) .record.combine = (how), .record.terms = {__VA_ARGS__}
#define VARIABLE(title, kind, dimension, to, slots, text, ...)                                                         \
    NAMED(title, kind, dimension, to, slots, NAMES_NONE, text, __VA_ARGS__)
#define NAMED(...) MEASURED(DEMAND_NONE, __VA_ARGS__)
/* A sum that is measured while a reader asks for it. */
#define MEASURED(service, title, kind, dimension, to, slots, enumeration, text, ...)                                   \
    ROW(title, kind, dimension, to, slots, text, .extreme = EXTREME_NONE, .names = (enumeration), .demand = (service), \
        CELLS(COMBINE_SUM, __VA_ARGS__))
#define EXTREME_VARIABLE(title, kind, dimension, how, which, text, ...)                                                \
    ROW(title, kind, dimension, 1, 1, text, .extreme = (which), CELLS(how, __VA_ARGS__))
/* One of the process. */
#define OWN_EXTREME(title, kind, how, which, text, ...)                                                                \
    ROW(title, kind, "", 0, 1, text, .extreme = (which), .demand = DEMAND_FABRIC, CELLS(how, __VA_ARGS__))
/* A count inside of MPI calls, while a reader asks for it. */
#define INSIDE(title, kind, dimension, slots, enumeration, from, text)                                                 \
    MEASURED(DEMAND_OS, title, kind, dimension, 0, slots, enumeration, text,                                           \
             TERM(BLOCK_COUNTERS, counter_cells, count[from][PLACE_P2P], PLACE_COUNT - PLACE_P2P, PLACE_COUNT))
#define ASKED " Counted while the process has a started handle of an mpit_os_* variable, or mpit_os is 1. " COST_OS
#define OTHER(title, kind, dimension, to, slots, where, enumeration, text)                                             \
    ROW(title, kind, dimension, to, slots, text, .extreme = EXTREME_NONE, .source = (where), .names = (enumeration),   \
        .record.combine = COMBINE_NONE)
#define FABRIC_LIMITS "Counted while such a variable has a started handle, or mpit_fabric is 1. " COST_FABRIC
#define UMQ_LIMITS                                                                                                     \
    "The messages of other processes are read from their live files. So only processes on this node with the same "    \
    "MPIT_OUTPUT are seen (mpit_umq_peers is their number), and none of an inter-communicator. Exact while no "        \
    "nonblocking receive is pending. Also exact while pending ones name source and tag and only one thread calls "     \
    "MPI. Otherwise each pending one counts as taking a message of its source (with several threads: of any source), " \
    "and the figure may be too small. Messages that are received where mpit cannot see it, and canceled sends, stay "  \
    "in it."
/* A level and its two watermarks under one name. */
#define LEVELS(title, dimension, field, upper, lower, text)                                                            \
    VARIABLE(title, LEVEL, dimension, 1, 1, text ", now.", SHARED_CELL(field.now)),                                    \
        EXTREME_VARIABLE(title, HIGHWATERMARK, dimension, COMBINE_HIGH, upper,                                         \
                         text ", the most since start or reset.", SHARED_CELL(field.high), CLOSED(upper)),             \
        EXTREME_VARIABLE(title, LOWWATERMARK, dimension, COMBINE_LOW, lower, text ", the least since start or reset.", \
                         SHARED_CELL(field.low), CLOSED(lower))

const struct variable variables[] = {
    OTHER("mpit_current_call", STATE, "", 0, 1, SOURCE_CURRENT_CALL, NAMES_CALL,
          "MPI function that the calling thread is in, 0 = none. Item i is the name of slot i of mpit_call_count."),
    OTHER("mpit_state", STATE, "", 0, 1, SOURCE_STATE, NAMES_STATE,
          "State of the calling thread: not in MPI, at work in it, or stalled, by the purpose of the call."),
    NAMED("mpit_call_count", COUNTER, "", 0, CALL_COUNT, NAMES_CALL,
          "Calls returned, by MPI function. The enumeration of mpit_current_call names the slots.",
          THREAD_SLOTS(call_count)),
    NAMED("mpit_call_time", TIMER, "ticks", 0, CALL_COUNT, NAMES_CALL,
          "Time inside calls, by MPI function, in nanoseconds. The enumeration of mpit_current_call names the slots.",
          THREAD_SLOTS(call_time)),
    VARIABLE("mpit_mpi_time", TIMER, "ticks", 0, 1, "Time inside recorded MPI calls, outermost only, in nanoseconds.",
             TERM(BLOCK_THREAD, thread_cells, call_time, CALL_COUNT, 0),
             MINUS(BLOCK_THREAD, thread_cells, nested_time, 1)),
    ROW("mpit_work_time", TIMER, "ticks", 0, 1,
        "Time inside recorded MPI calls, outermost only, without the stalls, in nanoseconds. If the progress of the "
        "MPI library cannot be watched (mpit_stall_known is 0), stalls are included.",
        .extreme = EXTREME_NONE, .difference = 1,
        CELLS(COMBINE_SUM, TERM(BLOCK_THREAD, thread_cells, call_time, CALL_COUNT, 0),
              MINUS(BLOCK_THREAD, thread_cells, nested_time, 1),
              MINUS(BLOCK_THREAD, thread_cells, stall_time, STATE_COUNT))),
    NAMED("mpit_stall_time", TIMER, "ticks", 0, STATE_COUNT, NAMES_STATE,
          "Time stalled inside recorded MPI calls, by reason, in nanoseconds. A call is stalled while the MPI library "
          "finds nothing to do. The enumeration mpit_state names the slots.",
          THREAD_SLOTS(stall_time)),
    NAMED("mpit_call_stall_time", TIMER, "ticks", 0, CALL_COUNT, NAMES_CALL,
          "Time stalled, by MPI function, in nanoseconds. The enumeration of mpit_current_call names the slots.",
          THREAD_SLOTS(call_stall_time)),
    VARIABLE("mpit_events_recorded", COUNTER, "", 0, 1,
             "Event records of all threads: calls, their completed requests and created objects, events of instruments "
             "and of the recorder.",
             THREAD_CELL(events)),
    NAMED("mpit_events_lost", COUNTER, "", 0, LOSS_COUNT, NAMES_LOSS,
          "Events and records that could not be recorded, by cause. The enumeration mpit_loss names the slots.",
          {.block = BLOCK_LOSSES, .weight = 1, .first = 0, .run = 1, .step = 1, .stride = 1}),
    OTHER("mpit_buffer_bytes", SIZE, "bytes", 0, 1, SOURCE_BUFFER_BYTES, NAMES_NONE,
          "Memory that the recorder has mapped for events and counters, in bytes."),
    OTHER("mpit_buffer_fill", PERCENTAGE, "", 0, 1, SOURCE_BUFFER_FILL, NAMES_NONE,
          "How full the fullest event buffer of a thread is, 0 .. 1. With a trace a full buffer is emptied. Without "
          "one the newest event replaces the oldest, and the value stays 1."),
    OTHER("mpit_mpi_fraction", PERCENTAGE, "", 0, 1, SOURCE_MPI_FRACTION, NAMES_NONE,
          "Share of time inside recorded MPI calls since the handle was allocated, 0 .. 1. This is the time inside, "
          "with calls in progress, divided by the elapsed time. Both are summed over the threads that have called MPI, "
          "from their first call to their end."),
    OTHER("mpit_stall_fraction", PERCENTAGE, "", 0, 1, SOURCE_STALL_FRACTION, NAMES_NONE,
          "Share of time stalled inside recorded MPI calls since the handle was allocated, 0 .. 1. This is the stalled "
          "time divided by the elapsed time. Both are summed over the threads that have called MPI, from their first "
          "call to their end."),
    OTHER("mpit_stall_known", GENERIC, "", 0, 1, SOURCE_STALL_KNOWN, NAMES_NONE,
          "1: the progress of the MPI library is watched, and stalls and work are known apart. 0: mpit does not know "
          "this library, and all time in calls counts as work."),
    OTHER("mpit_last_return", GENERIC, "ns", 0, 1, SOURCE_LAST_RETURN, NAMES_NONE,
          "When a recorded MPI call of any thread last returned, in nanoseconds since 1970-01-01 00:00 UTC. 0 before "
          "MPI_Init has returned. Continuous and read-only: it is a point in time, which no other class can show."),
    OTHER("mpit_size_bucket_limit", SIZE, "bytes", 0, BUCKET_COUNT, SOURCE_BUCKET_LIMIT, NAMES_NONE,
          "Largest message size of each slot of the *_size_* variables, in bytes."),

    MEASURED(DEMAND_FABRIC, "mpit_fabric_time", TIMER, "ticks", 0, 1, NAMES_NONE,
             "Time inside functions of libfabric and UCX that move data or make progress, outermost only, in "
             "nanoseconds. " FABRIC_LIMITS,
             FABRIC_CELL(time)),
    MEASURED(DEMAND_FABRIC, "mpit_fabric_ops", COUNTER, "", 0, FABRIC_KIND_COUNT, NAMES_FABRIC,
             "Operations of libfabric and UCX that have begun, by kind. The enumeration mpit_fabric_op names the "
             "slots. " FABRIC_LIMITS,
             FABRIC_KIND_SLOTS(count)),
    MEASURED(
        DEMAND_FABRIC, "mpit_fabric_bytes", AGGREGATE, "bytes", 0, FABRIC_KIND_COUNT, NAMES_FABRIC,
        "Bytes of the buffers of libfabric and UCX operations that have begun, by kind. A receive counts the size of "
        "its buffer. " FABRIC_LIMITS,
        FABRIC_KIND_SLOTS(bytes)),
    MEASURED(
        DEMAND_FABRIC, "mpit_fabric_call_count", COUNTER, "", 0, FABRIC_FUNCTION_COUNT, NAMES_FABRIC_FUNCTION,
        "Operations of libfabric and UCX that have begun, by function. The enumeration mpit_fabric_function names the "
        "slots. " FABRIC_LIMITS,
        FABRIC_FUNCTION_SLOTS(count)),
    MEASURED(
        DEMAND_FABRIC, "mpit_fabric_call_time", TIMER, "ticks", 0, FABRIC_FUNCTION_COUNT, NAMES_FABRIC_FUNCTION,
        "Time inside functions of libfabric and UCX that begin operations, by function, in nanoseconds. " FABRIC_LIMITS,
        FABRIC_FUNCTION_SLOTS(time)),
    MEASURED(
        DEMAND_FABRIC, "mpit_fabric_polls", COUNTER, "", 0, 1, NAMES_NONE,
        "Polls of the progress of libfabric and UCX: reads of completion queues, ucp_worker_progress. " FABRIC_LIMITS,
        FABRIC_CELL(polls)),
    MEASURED(DEMAND_FABRIC, "mpit_fabric_empty_polls", COUNTER, "", 0, 1, NAMES_NONE,
             "Polls of the progress of libfabric and UCX that found nothing. " FABRIC_LIMITS, FABRIC_CELL(empty_polls)),
    MEASURED(DEMAND_FABRIC, "mpit_fabric_poll_time", TIMER, "ticks", 0, 1, NAMES_NONE,
             "Time inside polls of the progress of libfabric and UCX, in nanoseconds. " FABRIC_LIMITS,
             FABRIC_CELL(poll_time)),
    MEASURED(DEMAND_FABRIC, "mpit_fabric_again", COUNTER, "", 0, 1, NAMES_NONE,
             "Operations that libfabric or UCX refused with \"try again\". " FABRIC_LIMITS, FABRIC_CELL(again)),
    MEASURED(DEMAND_FABRIC, "mpit_fabric_errors", COUNTER, "", 0, 1, NAMES_NONE,
             "Operations of libfabric and UCX that were refused or completed with an error. " FABRIC_LIMITS,
             FABRIC_CELL(errors)),
    MEASURED(DEMAND_FABRIC, "mpit_fabric_pending", LEVEL, "", 0, 1, NAMES_NONE,
             "Operations of libfabric and UCX now outstanding. " FABRIC_LIMITS,
             TERM(BLOCK_FABRIC_LEVEL, level_cells, now, 1, 0)),
    OWN_EXTREME("mpit_fabric_pending", HIGHWATERMARK, COMBINE_HIGH, EXTREME_SENDS_HIGH,
                "Outstanding operations of libfabric and UCX, the most since start or reset. " FABRIC_LIMITS,
                TERM(BLOCK_FABRIC_LEVEL, level_cells, high, 1, 0)),
    OWN_EXTREME("mpit_fabric_pending", LOWWATERMARK, COMBINE_LOW, EXTREME_SENDS_LOW,
                "Outstanding operations of libfabric and UCX, the least since start or reset. " FABRIC_LIMITS,
                TERM(BLOCK_FABRIC_LEVEL, level_cells, low, 1, 0)),
    MEASURED(
        DEMAND_FABRIC, "mpit_call_fabric_time", TIMER, "ticks", 0, CALL_COUNT, NAMES_CALL,
        "Time inside libfabric and UCX by MPI function, in nanoseconds. The enumeration of mpit_current_call names the "
        "slots. " FABRIC_LIMITS,
        TERM(BLOCK_FABRIC_CALLS, fabric_call_cells, time, 1, 1)),
    MEASURED(DEMAND_FABRIC, "mpit_fabric_other", COUNTER, "", 0, 1, NAMES_NONE,
             "Operations of libfabric and UCX that began inside of one MPI call and belong to another. " FABRIC_LIMITS,
             TERM(BLOCK_FABRIC_CALLS, fabric_call_cells, other, 1, 0)),

    OTHER("mpit_comm_size", SIZE, "", 1, 1, SOURCE_COMM_SIZE, NAMES_NONE, "Processes in the communicator."),
    VARIABLE("mpit_comm_time", TIMER, "ticks", 1, 1, "Time inside calls charged to the communicator, in nanoseconds.",
             COMM_RUN(p2p_time, 5), COMM_RUN(coll_time, COLLECTIVE_COUNT)),
    EXTREME_VARIABLE("mpit_comm_span", TIMER, "ticks", COMBINE_SPAN, EXTREME_SPAN_FIRST,
                     "From the begin of the first communication in the window to the end of the last one that "
                     "completed in it, in nanoseconds.",
                     COMM_CELL(span_last), COMM_CELL(span_first), {0}, CLOSED(EXTREME_SPAN_FIRST)),
    VARIABLE("mpit_p2p_time", TIMER, "ticks", 1, 1, "Time inside point-to-point calls, in nanoseconds.",
             COMM_CELL(p2p_time)),
    VARIABLE("mpit_wait_time", TIMER, "ticks", 1, 1,
             "Time inside completion calls, divided evenly among their completed requests, in nanoseconds.",
             COMM_CELL(wait_time)),
    VARIABLE("mpit_comm_stall_time", TIMER, "ticks", 1, 1,
             "Time stalled inside calls charged to the communicator, in nanoseconds. The time of completion calls is "
             "divided among their requests.",
             COMM_CELL(stall_time)),
    MEASURED(
        DEMAND_FABRIC, "mpit_comm_fabric_time", TIMER, "ticks", 1, 1, NAMES_NONE,
        "Time inside libfabric and UCX in calls charged to the communicator, in nanoseconds. The time of completion "
        "calls is divided among their requests. " FABRIC_LIMITS,
        COMM_CELL(fabric_time)),
    MEASURED(DEMAND_FABRIC, "mpit_coll_p2p_count", COUNTER, "", 1, 1, NAMES_NONE,
             "Transfers that libfabric or UCX saw begin inside collectives of the communicator. " FABRIC_LIMITS,
             COMM_CELL(transfers)),
    MEASURED(
        DEMAND_FABRIC, "mpit_coll_transfer_time", TIMER, "ticks", 1, 1, NAMES_NONE,
        "Sum over collectives of the time from the begin of the first transfer inside to the end of the last one, in "
        "nanoseconds. This is MPI/RT's execution time of a collective. " FABRIC_LIMITS,
        COMM_CELL(transfer_span)),
    VARIABLE("mpit_rma_time", TIMER, "ticks", 1, 1,
             "Time inside calls on windows that were made on the communicator, in nanoseconds.", COMM_CELL(rma_time)),
    VARIABLE("mpit_io_time", TIMER, "ticks", 1, 1,
             "Time inside calls on files that were opened on the communicator, in nanoseconds.", COMM_CELL(io_time)),
    VARIABLE("mpit_rma_bytes", AGGREGATE, "bytes", 1, 1,
             "Data that this process has read or written at targets of windows, in bytes.", COMM_CELL(rma_bytes)),
    VARIABLE("mpit_io_bytes", AGGREGATE, "bytes", 1, 1,
             "Data that this process has read from or written to files in completed accesses, in bytes.",
             COMM_CELL(io_bytes)),
    VARIABLE("mpit_p2p_transfer_time", TIMER, "ticks", 1, 1,
             "Sum over messages of the time from the begin of the posting call to the return of the completing call, "
             "in nanoseconds.",
             COMM_CELL(transfer_time)),
    VARIABLE("mpit_coll_time", TIMER, "ticks", 1, 1, "Time inside collectives, in nanoseconds.",
             COMM_RUN(coll_time, COLLECTIVE_COUNT)),
    VARIABLE(
        "mpit_coll_execution_time", TIMER, "ticks", 1, 1,
        "Sum over completed collectives of the time from start to completion, in nanoseconds. For a blocking one this "
        "is from the begin of its call to the return. For a nonblocking or persistent one it is from the begin of the "
        "starting call to the return of the completing call.",
        COMM_RUN(coll_execution, COLLECTIVE_COUNT)),
    NAMED("mpit_coll_op_time", TIMER, "ticks", 1, COLLECTIVE_COUNT, NAMES_COLL,
          "Time inside collectives by kind, in nanoseconds. The enumeration mpit_coll names the slots.",
          COMM_SLOTS(coll_time)),
    NAMED("mpit_coll_op_count", COUNTER, "", 1, COLLECTIVE_COUNT, NAMES_COLL,
          "Collectives completed by kind. The enumeration mpit_coll names the slots.", COMM_SLOTS(coll_count)),
    VARIABLE("mpit_p2p_count", COUNTER, "", 1, 1, "Messages completed, sent + received.", COMM_CELL(p2p_done)),
    VARIABLE("mpit_send_count", COUNTER, "", 1, 1, "Messages sent, counted when posted.", MESSAGE_SUM(send[0].count)),
    VARIABLE("mpit_recv_count", COUNTER, "", 1, 1, "Messages received.", MESSAGE_SUM(recv[0].count)),
    VARIABLE("mpit_coll_count", COUNTER, "", 1, 1, "Collectives completed.", COMM_RUN(coll_count, COLLECTIVE_COUNT)),
    VARIABLE("mpit_p2p_timeouts", COUNTER, "", 1, 1, "Messages with a transfer time over mpit_p2p_timeout_ns.",
             COMM_CELL(timeouts)),

    VARIABLE("mpit_send_bytes", AGGREGATE, "bytes", 1, 1, "Bytes of sent messages.", MESSAGE_SUM(send[0].bytes)),
    VARIABLE("mpit_recv_bytes", AGGREGATE, "bytes", 1, 1, "Bytes of received messages.", MESSAGE_SUM(recv[0].bytes)),
    VARIABLE("mpit_coll_bytes", AGGREGATE, "bytes", 1, 1,
             "Bytes that this process sent into collectives and received from them.", COMM_CELL(coll_bytes)),
    VARIABLE("mpit_send_size_count", COUNTER, "", 1, BUCKET_COUNT,
             "Messages sent by size. mpit_size_bucket_limit is each slot's largest size.",
             MESSAGE_SLOTS(send[0].count)),
    VARIABLE("mpit_recv_size_count", COUNTER, "", 1, BUCKET_COUNT,
             "Messages received by size. mpit_size_bucket_limit is each slot's largest size.",
             MESSAGE_SLOTS(recv[0].count)),
    VARIABLE("mpit_coll_size_count", COUNTER, "", 1, BUCKET_COUNT,
             "Collectives completed by bytes sent + received. mpit_size_bucket_limit is each slot's largest size.",
             COMM_SLOTS(coll_size_count)),
    VARIABLE("mpit_send_size_bytes", AGGREGATE, "bytes", 1, BUCKET_COUNT, "Bytes sent by size of the message.",
             MESSAGE_SLOTS(send[0].bytes)),
    VARIABLE("mpit_recv_size_bytes", AGGREGATE, "bytes", 1, BUCKET_COUNT, "Bytes received by size of the message.",
             MESSAGE_SLOTS(recv[0].bytes)),
    VARIABLE("mpit_small_count", COUNTER, "", 1, 1, "Messages below mpit_large_message_bytes, sent + received.",
             MESSAGE_SUM(send[0].count), MESSAGE_SUM(recv[0].count), MINUS(BLOCK_COMM, comm_cells, large, 1)),
    VARIABLE("mpit_large_count", COUNTER, "", 1, 1, "Messages at or over mpit_large_message_bytes, sent + received.",
             COMM_CELL(large)),
    VARIABLE("mpit_peer_send_count", COUNTER, "", 1, 0, "Messages sent, by rank of the receiver.",
             PEER_SLOTS(send.count)),
    VARIABLE("mpit_peer_recv_count", COUNTER, "", 1, 0, "Messages received, by rank of the sender.",
             PEER_SLOTS(recv.count)),
    VARIABLE("mpit_peer_send_bytes", AGGREGATE, "bytes", 1, 0, "Bytes sent, by rank of the receiver.",
             PEER_SLOTS(send.bytes)),
    VARIABLE("mpit_peer_recv_bytes", AGGREGATE, "bytes", 1, 0, "Bytes received, by rank of the sender.",
             PEER_SLOTS(recv.bytes)),
    EXTREME_VARIABLE("mpit_message_bytes", HIGHWATERMARK, "bytes", COMBINE_HIGH, EXTREME_MESSAGE_HIGH,
                     "Largest message since start or reset, in bytes. 0 before the first one.", COMM_CELL(message_high),
                     CLOSED(EXTREME_MESSAGE_HIGH)),
    EXTREME_VARIABLE("mpit_message_bytes", LOWWATERMARK, "bytes", COMBINE_LOW, EXTREME_MESSAGE_LOW,
                     "Smallest message since start or reset, in bytes. 2^64 - 1 before the first one.",
                     COMM_CELL(message_low), CLOSED(EXTREME_MESSAGE_LOW)),
    LEVELS("mpit_pending_sends", "", sends, EXTREME_SENDS_HIGH, EXTREME_SENDS_LOW,
           "Nonblocking sends posted and not yet completed"),
    LEVELS("mpit_pending_recvs", "", recvs, EXTREME_RECVS_HIGH, EXTREME_RECVS_LOW,
           "Nonblocking receives posted and not yet completed"),
    LEVELS("mpit_pending_bytes", "bytes", bytes, EXTREME_BYTES_HIGH, EXTREME_BYTES_LOW,
           "Bytes of nonblocking sends posted and not yet completed"),
    OTHER("mpit_umq_length", LEVEL, "", 1, 1, SOURCE_UMQ, NAMES_NONE,
          "Unexpected messages, now. Members of the communicator on this node have begun to send them to this process. "
          "It has not received them, and has not posted a receive for them. " UMQ_LIMITS),
    OTHER("mpit_umq_length", HIGHWATERMARK, "", 1, 1, SOURCE_UMQ_HIGHEST, NAMES_NONE,
          "Unexpected messages, the most since start or reset. While a handle is started, every recorded call of this "
          "process that may receive reads the length before it takes a message. So no maximum is missed. " COST_UMQ
          " " UMQ_LIMITS),
    OTHER("MPI_T_UMQ_LENGTH", LEVEL, "", 1, 1, SOURCE_UMQ_NAMED, NAMES_NONE,
          "mpit_umq_length as an MPI_INT, under the name in the standard's example. It can be started and stopped. "
          "While it is stopped it keeps its value. " UMQ_LIMITS),
    OTHER("mpit_umq_peers", SIZE, "", 1, 1, SOURCE_UMQ_PEERS, NAMES_NONE,
          "Processes of the communicator with messages that mpit_umq_length can see, including this one."),
    INSIDE("mpit_os_time", TIMER, "ns", 1, NAMES_NONE, COUNTER_OS_TIME,
           "Time that threads spent in the kernel inside recorded MPI calls, in nanoseconds, as reported by the "
           "kernel. Sleeping does not count. Many kernels check only some hundred times a second whether a thread is "
           "in the kernel. Then the value is not valid for single calls, and mpit prints a message." ASKED),
    INSIDE("mpit_os_switches", COUNTER, "", 2, NAMES_SWITCH, COUNTER_SWITCHES_VOLUNTARY,
           "Context switches inside recorded MPI calls. The enumeration mpit_os_switch names the slots." ASKED),
    INSIDE("mpit_os_faults", COUNTER, "", 2, NAMES_FAULT, COUNTER_FAULTS_MINOR,
           "Page faults inside recorded MPI calls. The enumeration mpit_os_fault names the slots." ASKED),
};

const size_t variable_count = sizeof variables / sizeof variables[0];

int variable_verbosity(const struct variable *variable)
{
    static const struct {
        int verbosity;
        const char *begins[28]; /* of names. The first match counts */
    } table[] = {
        /* below MPI, and variables that slow calls down while they are read */
        {MPIT_VERBOSITY_TUNER,
         {"mpit_fabric_time", "mpit_fabric_ops", "mpit_fabric_bytes", "mpit_comm_fabric_time", "mpit_coll_p2p_count",
          "mpit_coll_transfer_time", "mpit_os_", "mpit_papi_", "mpit_umq_", "MPI_T_UMQ_LENGTH",
          "unexpected_recvq_length"}},
        {MPIT_VERBOSITY_TUNER_DETAIL, {"mpit_fabric_", "mpit_call_fabric_time"}},
        /* the recorder itself */
        {MPIT_VERBOSITY_DEVELOPER, {"mpit_events_recorded", "mpit_buffer_"}},
        /* Parts of sums, and variables that need an explanation. */
        {MPIT_VERBOSITY_USER_DETAIL, {"mpit_events_lost",     "mpit_stall_known",
                                      "mpit_last_return",     "mpit_size_bucket_limit",
                                      "mpit_call_stall_time", "mpit_win_",
                                      "mpit_file_",           "mpit_comm_stall_time",
                                      "mpit_comm_span",       "mpit_p2p_transfer_time",
                                      "mpit_p2p_timeouts",    "mpit_coll_execution_time",
                                      "mpit_coll_op_",        "mpit_send_size_",
                                      "mpit_recv_size_",      "mpit_coll_size_",
                                      "mpit_peer_",           "mpit_small_count",
                                      "mpit_large_count",     "mpit_message_bytes",
                                      "mpit_pending_",        "posted_recvq_length"}},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        for (const char *const *begin = table[i].begins; *begin; begin++)
            if (strncmp(variable_name(variable), *begin, strlen(*begin)) == 0)
                return table[i].verbosity;
    return MPIT_VERBOSITY_USER;
}

static struct variable added[COUNTER_ASKED_MOST];
static size_t added_count;

size_t variable_number(void)
{
    return variable_count + __atomic_load_n(&added_count, __ATOMIC_ACQUIRE);
}

const struct variable *variable_at(size_t index)
{
    return index < variable_count ? &variables[index] : &added[index - variable_count];
}

const struct variable *variable_add_counter(unsigned counter, const char *name, const char *unit)
{
    size_t number = added_count;
    char *title = NULL, *text = NULL;
    if (number >= COUNTER_ASKED_MOST || asprintf(&title, "mpit_papi_%s", name) < 0)
        return NULL;
    if (asprintf(&text,
                 "PAPI event %s%s%s, by place of the thread. The enumeration mpit_papi_place names the slots." SAFE,
                 name, unit[0] ? ", in " : "", strcmp(unit, "ns") == 0 ? "nanoseconds" : unit) < 0) {
        free(title);
        return NULL;
    }
    added[number] = (struct variable){
        .record = {.class = VARIABLE_AGGREGATE,
                   .count = PLACE_COUNT,
                   .combine = COMBINE_SUM,
                   .terms = {{.block = BLOCK_COUNTERS,
                              .weight = 1,
                              .first = (uint32_t)(CELL(counter_cells, count) + counter * (size_t)PLACE_COUNT),
                              .run = 1,
                              .step = 1,
                              .stride = 1}}},
        .extreme = EXTREME_NONE,
        .source = SOURCE_CELLS,
        .names = NAMES_PLACE,
        .description = text,
        .title = title};
    snprintf(added[number].record.name, VARIABLE_NAME_BYTES, "%.*s", VARIABLE_NAME_BYTES - 1, title);
    snprintf(added[number].record.unit, VARIABLE_UNIT_BYTES, "%s", unit);
    __atomic_store_n(&added_count, number + 1, __ATOMIC_RELEASE);
    return &added[number];
}

const struct variable *variable_known(const struct variable_record *record)
{
    for (size_t i = 0; i < variable_count; i++)
        if (variables[i].record.class == record->class && variables[i].record.bound == record->bound &&
            strncmp(variables[i].record.name, record->name, VARIABLE_NAME_BYTES) == 0)
            return &variables[i];
    return NULL;
}

void variable_clear(const struct variable_record *variable, uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = variable->combine == COMBINE_LOW ? LOW_NEUTRAL : 0;
    if (variable->combine == COMBINE_SPAN)
        values[1] = LOW_NEUTRAL;
}

static void value_take(const struct variable_record *variable, unsigned term, uint64_t cell, uint64_t *value)
{
    switch (variable->combine) {
    case COMBINE_SUM:
        *value += (uint64_t)(int64_t)variable->terms[term].weight * cell;
        break;
    case COMBINE_HIGH:
        if (cell > *value)
            *value = cell;
        break;
    case COMBINE_LOW:
        if (cell < *value)
            *value = cell;
        break;
    case COMBINE_SPAN: /* the first term is the end, the others are begins */
        if (term == 0 ? cell > value[0] : cell < value[1])
            value[term != 0] = cell;
        break;
    default:
        break;
    }
}

void variable_take(const struct variable_record *variable, unsigned block_kind, unsigned page, const uint64_t *cells,
                   size_t cell_count, uint64_t *values, size_t count)
{
    size_t base = block_kind == BLOCK_PEERS ? (size_t)page * PEERS_PER_PAGE : 0;
    size_t slots = block_kind == BLOCK_PEERS ? PEERS_PER_PAGE : count;
    if (variable->combine == COMBINE_SPAN)
        slots = 1; /* the second accumulator belongs to the one value */
    for (unsigned t = 0; t < VARIABLE_TERMS; t++) {
        const struct variable_term *term = &variable->terms[t];
        if (term->block != block_kind)
            continue;
        for (size_t i = 0; i < slots && base + i < count; i++)
            for (size_t j = 0; j < term->run; j++) {
                size_t at = term->first + i * term->stride + j * term->step;
                if (at >= cell_count)
                    break;
                value_take(variable, t, cell_load(&cells[at]), &values[base + i]);
            }
    }
}

void variable_finish(const struct variable_record *variable, uint64_t *values)
{
    if (variable->combine == COMBINE_SPAN)
        values[0] = values[0] > values[1] ? values[0] - values[1] : 0;
}

static const char *const loss_names[LOSS_COUNT] = {
#define LOSS_NAME(id, name) name,
    LOSS_CAUSES(LOSS_NAME)
#undef LOSS_NAME
};

static const char *const state_names[STATE_COUNT] = {"not_in_mpi", "work",       "stall_send", "stall_recv",
                                                     "stall_coll", "stall_wait", "stall_other"};

static const char *const place_names[PLACE_COUNT] = {"outside_mpi", "p2p",    "completion",
                                                     "collective",  "rma_io", "other"};
static const char *const switch_names[] = {"voluntary", "involuntary"};
static const char *const fault_names[] = {"minor", "major"};

const char *variable_class_name(uint32_t class)
{
    static const char *const names[] = {[VARIABLE_STATE] = "STATE",
                                        [VARIABLE_LEVEL] = "LEVEL",
                                        [VARIABLE_SIZE] = "SIZE",
                                        [VARIABLE_PERCENTAGE] = "PERCENTAGE",
                                        [VARIABLE_HIGHWATERMARK] = "HIGHWATERMARK",
                                        [VARIABLE_LOWWATERMARK] = "LOWWATERMARK",
                                        [VARIABLE_COUNTER] = "COUNTER",
                                        [VARIABLE_AGGREGATE] = "AGGREGATE",
                                        [VARIABLE_TIMER] = "TIMER",
                                        [VARIABLE_GENERIC] = "GENERIC"};
    return class >= VARIABLE_STATE && class <= VARIABLE_GENERIC ? names[class] : "?";
}

const char *variable_slot_name(enum variable_names names, size_t slot)
{
    static const struct {
        const char *const *first;
        size_t count, step; /* in bytes */
    } lists[] = {[NAMES_CALL] = {&call_table[0].name, CALL_COUNT, sizeof call_table[0]},
                 [NAMES_COLL] = {collective_names, COLLECTIVE_COUNT, sizeof(char *)},
                 [NAMES_STATE] = {state_names, STATE_COUNT, sizeof(char *)},
                 [NAMES_FABRIC] = {fabric_kind_names, FABRIC_KIND_COUNT, sizeof(char *)},
                 [NAMES_FABRIC_FUNCTION] = {&fabric_table[0].name, FABRIC_FUNCTION_COUNT, sizeof fabric_table[0]},
                 [NAMES_LOSS] = {loss_names, LOSS_COUNT, sizeof(char *)},
                 [NAMES_PLACE] = {place_names, PLACE_COUNT, sizeof(char *)},
                 [NAMES_SWITCH] = {switch_names, 2, sizeof(char *)},
                 [NAMES_FAULT] = {fault_names, 2, sizeof(char *)}};
    bool listed = (size_t)names < sizeof lists / sizeof *lists && slot < lists[names].count;
    return listed ? *(const char *const *)((const char *)lists[names].first + slot * lists[names].step) : NULL;
}
