#define _GNU_SOURCE
#include "figures/variables.h"

#include <mpit/instrument_interface.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELL(type, field) (offsetof(struct type, field) / sizeof(uint64_t))
#define TERM(kind, type, field, cells, far)                                                                            \
    {                                                                                                                  \
        .block = (kind), .weight = 1, .first = CELL(type, field), .run = (cells), .step = 1, .stride = (far)           \
    }
#define MINUS(kind, type, field)                                                                                       \
    {                                                                                                                  \
        .block = (kind), .weight = -1, .first = CELL(type, field), .run = 1, .step = 1, .stride = 0                    \
    }
#define MINUS_RUN(kind, type, field, cells)                                                                            \
    {                                                                                                                  \
        .block = (kind), .weight = -1, .first = CELL(type, field), .run = (cells), .step = 1, .stride = 0              \
    }
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

#define VARIABLE(title, kind, dimension, to, slots, how, text, ...)                                                    \
    {                                                                                                                  \
        .record = {.name = (title),                                                                                    \
                   .unit = (dimension),                                                                                \
                   .class = VARIABLE_##kind,                                                                           \
                   .bound = (to),                                                                                      \
                   .count = (slots),                                                                                   \
                   .combine = (how),                                                                                   \
                   .terms = {__VA_ARGS__}},                                                                            \
        .extreme = EXTREME_NONE, .source = SOURCE_CELLS, .names = NAMES_NONE, .description = text SAFE                 \
    }
/* A sum that is measured while a reader asks for it. */
#define MEASURED(service, title, kind, dimension, to, slots, enumeration, text, ...)                                   \
    {                                                                                                                  \
        .record = {.name = (title),                                                                                    \
                   .unit = (dimension),                                                                                \
                   .class = VARIABLE_##kind,                                                                           \
                   .bound = (to),                                                                                      \
                   .count = (slots),                                                                                   \
                   .combine = COMBINE_SUM,                                                                             \
                   .terms = {__VA_ARGS__}},                                                                            \
        .extreme = EXTREME_NONE, .source = SOURCE_CELLS, .names = (enumeration), .description = text SAFE,             \
        .demand = (service)                                                                                            \
    }
#define NAMED(...) MEASURED(DEMAND_NONE, __VA_ARGS__)
#define DIFFERENCE(title, which, text, ...)                                                                            \
    {                                                                                                                  \
        .record = {.name = (title),                                                                                    \
                   .unit = "ticks",                                                                                    \
                   .class = VARIABLE_TIMER,                                                                            \
                   .count = 1,                                                                                         \
                   .combine = COMBINE_SUM,                                                                             \
                   .terms = {__VA_ARGS__}},                                                                            \
        .extreme = EXTREME_NONE, .source = SOURCE_CELLS, .names = NAMES_NONE, .description = text SAFE,                \
        .difference = (which)                                                                                          \
    }
#define EXTREME_VARIABLE(title, kind, dimension, how, which, text, ...)                                                \
    {                                                                                                                  \
        .record = {.name = (title),                                                                                    \
                   .unit = (dimension),                                                                                \
                   .class = VARIABLE_##kind,                                                                           \
                   .bound = 1,                                                                                         \
                   .count = 1,                                                                                         \
                   .combine = (how),                                                                                   \
                   .terms = {__VA_ARGS__}},                                                                            \
        .extreme = (which), .source = SOURCE_CELLS, .names = NAMES_NONE, .description = text SAFE                      \
    }
/* A count inside of MPI calls, while a reader asks for it. */
#define INSIDE(title, kind, dimension, slots, enumeration, from, text)                                                 \
    {                                                                                                                  \
        .record = {.name = (title),                                                                                    \
                   .unit = (dimension),                                                                                \
                   .class = VARIABLE_##kind,                                                                           \
                   .count = (slots),                                                                                   \
                   .combine = COMBINE_SUM,                                                                             \
                   .terms = {{.block = BLOCK_COUNTERS,                                                                 \
                              .weight = 1,                                                                             \
                              .first = CELL(counter_cells, count[from][PLACE_P2P]),                                    \
                              .run = PLACE_COUNT - PLACE_P2P,                                                          \
                              .step = 1,                                                                               \
                              .stride = PLACE_COUNT}}},                                                                \
        .extreme = EXTREME_NONE, .source = SOURCE_CELLS, .names = (enumeration), .description = text SAFE,             \
        .demand = DEMAND_OS                                                                                            \
    }
#define ASKED                                                                                                          \
    " Counted while a handle of one of mpit_os_* is started somewhere in the process, or mpit_os is 1. " COST_OS
#define OTHER(title, kind, dimension, to, slots, where, enumeration, text)                                             \
    {                                                                                                                  \
        .record = {.name = (title),                                                                                    \
                   .unit = (dimension),                                                                                \
                   .class = VARIABLE_##kind,                                                                           \
                   .bound = (to),                                                                                      \
                   .count = (slots),                                                                                   \
                   .combine = COMBINE_NONE},                                                                           \
        .extreme = EXTREME_NONE, .source = (where), .names = (enumeration), .description = text SAFE                   \
    }
/* One of the process. */
#define OWN_EXTREME(title, kind, how, which, text, ...)                                                                \
    {                                                                                                                  \
        .record = {.name = (title),                                                                                    \
                   .unit = "",                                                                                         \
                   .class = VARIABLE_##kind,                                                                           \
                   .count = 1,                                                                                         \
                   .combine = (how),                                                                                   \
                   .terms = {__VA_ARGS__}},                                                                            \
        .extreme = (which), .source = SOURCE_CELLS, .names = NAMES_NONE, .description = text SAFE,                     \
        .demand = DEMAND_FABRIC                                                                                        \
    }
#define FABRIC_LIMITS "Counted while a handle of such a variable is started, or mpit_fabric is 1. " COST_FABRIC
#define UMQ_LIMITS                                                                                                     \
    "What others send is read from their live files, so only processes on this node with the same MPIT_OUTPUT are "    \
    "seen (mpit_umq_peers says how many), none of an inter-communicator. Exact while no nonblocking receive is "       \
    "pending, and beside pending ones that name source and tag while one thread alone calls MPI. Else a pending one "  \
    "counts as taking a message of its source (under several threads: of any source), and the figure may be too "      \
    "small. Messages that are taken out of mpit's sight, and sends that were cancelled, stay in it."
/* A level and its two watermarks under one name. */
#define LEVELS(title, dimension, field, upper, lower, text)                                                            \
    VARIABLE(title, LEVEL, dimension, 1, 1, COMBINE_SUM, text ", now.", SHARED_CELL(field.now)),                       \
        EXTREME_VARIABLE(title, HIGHWATERMARK, dimension, COMBINE_HIGH, upper,                                         \
                         text ", the most since start or reset.", SHARED_CELL(field.high), CLOSED(upper)),             \
        EXTREME_VARIABLE(title, LOWWATERMARK, dimension, COMBINE_LOW, lower, text ", the least since start or reset.", \
                         SHARED_CELL(field.low), CLOSED(lower))

const struct variable variables[] = {
    OTHER("mpit_current_call", STATE, "", 0, 1, SOURCE_CURRENT_CALL, NAMES_CALL,
          "MPI function that the calling thread is in, 0 = none. Item i names slot i of mpit_call_count."),
    OTHER("mpit_state", STATE, "", 0, 1, SOURCE_STATE, NAMES_STATE,
          "What the calling thread is doing: not in MPI, at work in it, or stalled, by what the call is for."),
    NAMED("mpit_call_count", COUNTER, "", 0, CALL_COUNT, NAMES_CALL,
          "Calls returned, by MPI function; the enumeration of mpit_current_call names the slots.",
          THREAD_SLOTS(call_count)),
    NAMED("mpit_call_time", TIMER, "ticks", 0, CALL_COUNT, NAMES_CALL,
          "Time inside, by MPI function, in nanoseconds; the enumeration of mpit_current_call names the slots.",
          THREAD_SLOTS(call_time)),
    VARIABLE("mpit_mpi_time", TIMER, "ticks", 0, 1, COMBINE_SUM,
             "Time inside any recorded MPI call, outermost only, in nanoseconds.",
             TERM(BLOCK_THREAD, thread_cells, call_time, CALL_COUNT, 0),
             MINUS(BLOCK_THREAD, thread_cells, nested_time)),
    DIFFERENCE(
        "mpit_work_time", 1,
        "Time inside recorded MPI calls, outermost only, in which these were not stalled, in nanoseconds. Where the "
        "progress of the MPI library cannot be watched (mpit_stall_known is 0), all of it.",
        TERM(BLOCK_THREAD, thread_cells, call_time, CALL_COUNT, 0), MINUS(BLOCK_THREAD, thread_cells, nested_time),
        MINUS_RUN(BLOCK_THREAD, thread_cells, stall_time, STATE_COUNT)),
    NAMED(
        "mpit_stall_time", TIMER, "ticks", 0, STATE_COUNT, NAMES_STATE,
        "Time inside recorded MPI calls in which these found nothing to do, by reason, in nanoseconds; the enumeration "
        "mpit_state names the slots.",
        THREAD_SLOTS(stall_time)),
    NAMED("mpit_call_stall_time", TIMER, "ticks", 0, CALL_COUNT, NAMES_CALL,
          "Time stalled, by MPI function, in nanoseconds; the enumeration of mpit_current_call names the slots.",
          THREAD_SLOTS(call_stall_time)),
    VARIABLE("mpit_events_recorded", COUNTER, "", 0, 1, COMBINE_SUM,
             "Event records of all threads: calls, what they completed or created, marks of instruments and of the "
             "recorder.",
             THREAD_CELL(events)),
    NAMED("mpit_events_lost", COUNTER, "", 0, LOSS_COUNT, NAMES_LOSS,
          "What could not be recorded, by cause; the enumeration mpit_loss names the slots.",
          {.block = BLOCK_LOSSES, .weight = 1, .first = 0, .run = 1, .step = 1, .stride = 1}),
    OTHER("mpit_buffer_bytes", SIZE, "bytes", 0, 1, SOURCE_BUFFER_BYTES, NAMES_NONE,
          "Memory that the recorder has mapped for events and tallies, in bytes."),
    OTHER("mpit_buffer_fill", PERCENTAGE, "", 0, 1, SOURCE_BUFFER_FILL, NAMES_NONE,
          "How full the fullest event buffer of a thread is, 0 .. 1. With a trace a buffer is emptied when it is full; "
          "without one the newest event takes the place of the oldest, and it stays at 1."),
    OTHER("mpit_mpi_fraction", PERCENTAGE, "", 0, 1, SOURCE_MPI_FRACTION, NAMES_NONE,
          "Share of time inside recorded MPI calls since the handle was allocated, 0 .. 1: time inside, calls in "
          "progress included, over time elapsed, each summed over the threads that have called MPI, from their first "
          "call to their end."),
    OTHER("mpit_stall_fraction", PERCENTAGE, "", 0, 1, SOURCE_STALL_FRACTION, NAMES_NONE,
          "Share of time stalled inside recorded MPI calls since the handle was allocated, 0 .. 1: time stalled over "
          "time elapsed, each summed over the threads that have called MPI, from their first call to their end."),
    OTHER(
        "mpit_stall_known", GENERIC, "", 0, 1, SOURCE_STALL_KNOWN, NAMES_NONE,
        "1: the progress of the MPI library is watched, and stalls are told from work. 0: it is none that mpit knows, "
        "and every call counts as work."),
    OTHER("mpit_last_return", GENERIC, "ns", 0, 1, SOURCE_LAST_RETURN, NAMES_NONE,
          "When a recorded MPI call of any thread last returned, in nanoseconds since 1970-01-01 00:00 UTC; 0 before "
          "MPI_Init has returned. Continuous and read-only: a point in time, which no other class has."),
    OTHER("mpit_size_bucket_limit", SIZE, "bytes", 0, BUCKET_COUNT, SOURCE_BUCKET_LIMIT, NAMES_NONE,
          "Largest message size of each slot of the *_size_* variables, in bytes."),

    MEASURED(DEMAND_FABRIC, "mpit_fabric_time", TIMER, "ticks", 0, 1, NAMES_NONE,
             "Time inside functions of libfabric and UCX that move data or make progress, outermost only, in "
             "nanoseconds. " FABRIC_LIMITS,
             FABRIC_CELL(time)),
    MEASURED(DEMAND_FABRIC, "mpit_fabric_ops", COUNTER, "", 0, FABRIC_KIND_COUNT, NAMES_FABRIC,
             "Operations of libfabric and UCX that were begun, by kind; the enumeration mpit_fabric_op names the "
             "slots. " FABRIC_LIMITS,
             FABRIC_KIND_SLOTS(count)),
    MEASURED(
        DEMAND_FABRIC, "mpit_fabric_bytes", AGGREGATE, "bytes", 0, FABRIC_KIND_COUNT, NAMES_FABRIC,
        "Bytes of the buffers of these operations, of receives those that there was room for, by kind. " FABRIC_LIMITS,
        FABRIC_KIND_SLOTS(bytes)),
    MEASURED(
        DEMAND_FABRIC, "mpit_fabric_call_count", COUNTER, "", 0, FABRIC_FUNCTION_COUNT, NAMES_FABRIC_FUNCTION,
        "Operations of libfabric and UCX that were begun, by function; the enumeration mpit_fabric_function names the "
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
             "Those polls that found nothing. " FABRIC_LIMITS, FABRIC_CELL(empty_polls)),
    MEASURED(DEMAND_FABRIC, "mpit_fabric_poll_time", TIMER, "ticks", 0, 1, NAMES_NONE,
             "Time inside these polls, in nanoseconds. " FABRIC_LIMITS, FABRIC_CELL(poll_time)),
    MEASURED(DEMAND_FABRIC, "mpit_fabric_again", COUNTER, "", 0, 1, NAMES_NONE,
             "Operations that libfabric or UCX refused with \"try again\". " FABRIC_LIMITS, FABRIC_CELL(again)),
    MEASURED(DEMAND_FABRIC, "mpit_fabric_errors", COUNTER, "", 0, 1, NAMES_NONE,
             "Operations of libfabric and UCX that were refused, or that completed, with an error. " FABRIC_LIMITS,
             FABRIC_CELL(errors)),
    MEASURED(DEMAND_FABRIC, "mpit_fabric_pending", LEVEL, "", 0, 1, NAMES_NONE,
             "Operations of libfabric and UCX whose completion is to be told and was not yet, now. " FABRIC_LIMITS,
             TERM(BLOCK_FABRIC_LEVEL, level_cells, now, 1, 0)),
    OWN_EXTREME(
        "mpit_fabric_pending", HIGHWATERMARK, COMBINE_HIGH, EXTREME_SENDS_HIGH,
        "Operations of libfabric and UCX whose completion is to be told, the most since start or reset. " FABRIC_LIMITS,
        TERM(BLOCK_FABRIC_LEVEL, level_cells, high, 1, 0)),
    OWN_EXTREME("mpit_fabric_pending", LOWWATERMARK, COMBINE_LOW, EXTREME_SENDS_LOW,
                "Operations of libfabric and UCX whose completion is to be told, the least since start or "
                "reset. " FABRIC_LIMITS,
                TERM(BLOCK_FABRIC_LEVEL, level_cells, low, 1, 0)),
    MEASURED(
        DEMAND_FABRIC, "mpit_call_fabric_time", TIMER, "ticks", 0, CALL_COUNT, NAMES_CALL,
        "Time inside libfabric and UCX by MPI function, in nanoseconds; the enumeration of mpit_current_call names the "
        "slots. " FABRIC_LIMITS,
        TERM(BLOCK_FABRIC_CALLS, fabric_call_cells, time, 1, 1)),
    MEASURED(DEMAND_FABRIC, "mpit_fabric_other", COUNTER, "", 0, 1, NAMES_NONE,
             "Operations of libfabric and UCX that were begun inside of an MPI call on behalf of another "
             "one. " FABRIC_LIMITS,
             TERM(BLOCK_FABRIC_CALLS, fabric_call_cells, other, 1, 0)),

    OTHER("mpit_comm_size", SIZE, "", 1, 1, SOURCE_COMM_SIZE, NAMES_NONE, "Processes in the communicator."),
    VARIABLE("mpit_comm_time", TIMER, "ticks", 1, 1, COMBINE_SUM,
             "Time inside any call charged to the communicator, in nanoseconds.", COMM_RUN(p2p_time, 5),
             COMM_RUN(coll_time, COLLECTIVE_COUNT)),
    EXTREME_VARIABLE("mpit_comm_span", TIMER, "ticks", COMBINE_SPAN, EXTREME_SPAN_FIRST,
                     "From the begin of the first communication in the window to the end of the last one that "
                     "completed in it, in nanoseconds.",
                     COMM_CELL(span_last), COMM_CELL(span_first), {0}, CLOSED(EXTREME_SPAN_FIRST)),
    VARIABLE("mpit_p2p_time", TIMER, "ticks", 1, 1, COMBINE_SUM, "Time inside point-to-point calls, in nanoseconds.",
             COMM_CELL(p2p_time)),
    VARIABLE("mpit_wait_time", TIMER, "ticks", 1, 1, COMBINE_SUM,
             "Time inside completion calls, shared evenly by the requests that each completed, in nanoseconds.",
             COMM_CELL(wait_time)),
    VARIABLE("mpit_comm_stall_time", TIMER, "ticks", 1, 1, COMBINE_SUM,
             "Time stalled inside calls charged to the communicator, in nanoseconds; of completion calls the shares of "
             "its requests.",
             COMM_CELL(stall_time)),
    MEASURED(
        DEMAND_FABRIC, "mpit_comm_fabric_time", TIMER, "ticks", 1, 1, NAMES_NONE,
        "Time inside libfabric and UCX in calls charged to the communicator, in nanoseconds; of completion calls the "
        "shares of its requests. " FABRIC_LIMITS,
        COMM_CELL(fabric_time)),
    MEASURED(DEMAND_FABRIC, "mpit_coll_p2p_count", COUNTER, "", 1, 1, NAMES_NONE,
             "Transfers that libfabric or UCX saw begin inside collectives of the communicator. " FABRIC_LIMITS,
             COMM_CELL(transfers)),
    MEASURED(
        DEMAND_FABRIC, "mpit_coll_transfer_time", TIMER, "ticks", 1, 1, NAMES_NONE,
        "Sum over collectives of the time from the begin of the first transfer inside to the end of the last one, in "
        "nanoseconds: MPI/RT's execution time of a collective. " FABRIC_LIMITS,
        COMM_CELL(transfer_span)),
    VARIABLE("mpit_rma_time", TIMER, "ticks", 1, 1, COMBINE_SUM,
             "Time inside calls on windows that were made on the communicator, in nanoseconds.", COMM_CELL(rma_time)),
    VARIABLE("mpit_io_time", TIMER, "ticks", 1, 1, COMBINE_SUM,
             "Time inside calls on files that were opened on the communicator, in nanoseconds.", COMM_CELL(io_time)),
    VARIABLE("mpit_rma_bytes", AGGREGATE, "bytes", 1, 1, COMBINE_SUM,
             "Data at targets that this process's accesses to windows have read or written, in bytes.",
             COMM_CELL(rma_bytes)),
    VARIABLE("mpit_io_bytes", AGGREGATE, "bytes", 1, 1, COMBINE_SUM,
             "Data that this process's completed accesses to files have read or written, in bytes.",
             COMM_CELL(io_bytes)),
    VARIABLE("mpit_p2p_transfer_time", TIMER, "ticks", 1, 1, COMBINE_SUM,
             "Sum over messages of return of the completing call - begin of the posting call, in nanoseconds.",
             COMM_CELL(transfer_time)),
    VARIABLE("mpit_coll_time", TIMER, "ticks", 1, 1, COMBINE_SUM, "Time inside collectives, in nanoseconds.",
             COMM_RUN(coll_time, COLLECTIVE_COUNT)),
    VARIABLE(
        "mpit_coll_execution_time", TIMER, "ticks", 1, 1, COMBINE_SUM,
        "Sum over completed collectives of the time from start to completion, in nanoseconds: of a blocking one from "
        "the begin of its call to the return; of a nonblocking or persistent one from the begin of the call that "
        "starts it to the return of the one that completes it.",
        COMM_RUN(coll_execution, COLLECTIVE_COUNT)),
    NAMED("mpit_coll_op_time", TIMER, "ticks", 1, COLLECTIVE_COUNT, NAMES_COLL,
          "Time inside collectives by kind, in nanoseconds; the enumeration mpit_coll names the slots.",
          COMM_SLOTS(coll_time)),
    NAMED("mpit_coll_op_count", COUNTER, "", 1, COLLECTIVE_COUNT, NAMES_COLL,
          "Collectives completed by kind; the enumeration mpit_coll names the slots.", COMM_SLOTS(coll_count)),
    VARIABLE("mpit_p2p_count", COUNTER, "", 1, 1, COMBINE_SUM, "Messages completed, sent + received.",
             COMM_CELL(p2p_done)),
    VARIABLE("mpit_send_count", COUNTER, "", 1, 1, COMBINE_SUM, "Messages sent, counted when posted.",
             MESSAGE_SUM(send[0].count)),
    VARIABLE("mpit_recv_count", COUNTER, "", 1, 1, COMBINE_SUM, "Messages received.", MESSAGE_SUM(recv[0].count)),
    VARIABLE("mpit_coll_count", COUNTER, "", 1, 1, COMBINE_SUM, "Collectives completed.",
             COMM_RUN(coll_count, COLLECTIVE_COUNT)),
    VARIABLE("mpit_p2p_timeouts", COUNTER, "", 1, 1, COMBINE_SUM,
             "Messages whose transfer time went over mpit_p2p_timeout_ns.", COMM_CELL(timeouts)),

    VARIABLE("mpit_send_bytes", AGGREGATE, "bytes", 1, 1, COMBINE_SUM, "Bytes of the messages sent.",
             MESSAGE_SUM(send[0].bytes)),
    VARIABLE("mpit_recv_bytes", AGGREGATE, "bytes", 1, 1, COMBINE_SUM, "Bytes of the messages received.",
             MESSAGE_SUM(recv[0].bytes)),
    VARIABLE("mpit_coll_bytes", AGGREGATE, "bytes", 1, 1, COMBINE_SUM,
             "Bytes that this process put into collectives and got out of them.", COMM_CELL(coll_bytes)),
    VARIABLE("mpit_send_size_count", COUNTER, "", 1, BUCKET_COUNT, COMBINE_SUM,
             "Messages sent by size; mpit_size_bucket_limit gives each slot's largest size.",
             MESSAGE_SLOTS(send[0].count)),
    VARIABLE("mpit_recv_size_count", COUNTER, "", 1, BUCKET_COUNT, COMBINE_SUM,
             "Messages received by size; mpit_size_bucket_limit gives each slot's largest size.",
             MESSAGE_SLOTS(recv[0].count)),
    VARIABLE("mpit_coll_size_count", COUNTER, "", 1, BUCKET_COUNT, COMBINE_SUM,
             "Collectives completed by bytes put in + got out; mpit_size_bucket_limit gives each slot's largest size.",
             COMM_SLOTS(coll_size_count)),
    VARIABLE("mpit_send_size_bytes", AGGREGATE, "bytes", 1, BUCKET_COUNT, COMBINE_SUM,
             "Bytes sent by size of the message.", MESSAGE_SLOTS(send[0].bytes)),
    VARIABLE("mpit_recv_size_bytes", AGGREGATE, "bytes", 1, BUCKET_COUNT, COMBINE_SUM,
             "Bytes received by size of the message.", MESSAGE_SLOTS(recv[0].bytes)),
    VARIABLE("mpit_small_count", COUNTER, "", 1, 1, COMBINE_SUM,
             "Messages below mpit_large_message_bytes, sent + received.", MESSAGE_SUM(send[0].count),
             MESSAGE_SUM(recv[0].count), MINUS(BLOCK_COMM, comm_cells, large)),
    VARIABLE("mpit_large_count", COUNTER, "", 1, 1, COMBINE_SUM,
             "Messages at or over mpit_large_message_bytes, sent + received.", COMM_CELL(large)),
    VARIABLE("mpit_peer_send_count", COUNTER, "", 1, 0, COMBINE_SUM, "Messages sent, by rank of the receiver.",
             PEER_SLOTS(send.count)),
    VARIABLE("mpit_peer_recv_count", COUNTER, "", 1, 0, COMBINE_SUM, "Messages received, by rank of the sender.",
             PEER_SLOTS(recv.count)),
    VARIABLE("mpit_peer_send_bytes", AGGREGATE, "bytes", 1, 0, COMBINE_SUM, "Bytes sent, by rank of the receiver.",
             PEER_SLOTS(send.bytes)),
    VARIABLE("mpit_peer_recv_bytes", AGGREGATE, "bytes", 1, 0, COMBINE_SUM, "Bytes received, by rank of the sender.",
             PEER_SLOTS(recv.bytes)),
    EXTREME_VARIABLE("mpit_message_bytes", HIGHWATERMARK, "bytes", COMBINE_HIGH, EXTREME_MESSAGE_HIGH,
                     "Largest message since start or reset, in bytes; 0 before the first one.", COMM_CELL(message_high),
                     CLOSED(EXTREME_MESSAGE_HIGH)),
    EXTREME_VARIABLE("mpit_message_bytes", LOWWATERMARK, "bytes", COMBINE_LOW, EXTREME_MESSAGE_LOW,
                     "Smallest message since start or reset, in bytes; 2^64 - 1 before the first one.",
                     COMM_CELL(message_low), CLOSED(EXTREME_MESSAGE_LOW)),
    LEVELS("mpit_pending_sends", "", sends, EXTREME_SENDS_HIGH, EXTREME_SENDS_LOW,
           "Nonblocking sends posted and not yet completed"),
    LEVELS("mpit_pending_recvs", "", recvs, EXTREME_RECVS_HIGH, EXTREME_RECVS_LOW,
           "Nonblocking receives posted and not yet completed"),
    LEVELS("mpit_pending_bytes", "bytes", bytes, EXTREME_BYTES_HIGH, EXTREME_BYTES_LOW,
           "Bytes of the nonblocking sends posted and not yet completed"),
    OTHER("mpit_umq_length", LEVEL, "", 1, 1, SOURCE_UMQ, NAMES_NONE,
          "Unexpected messages, now: those that members of the communicator on this node have begun to send to this "
          "process, that it has not received, and for which it has no receive posted. " UMQ_LIMITS),
    OTHER("mpit_umq_length", HIGHWATERMARK, "", 1, 1, SOURCE_UMQ_HIGHEST, NAMES_NONE,
          "Unexpected messages, the most since start or reset. While a handle is started, every recorded call of this "
          "process that may receive looks before it takes a message away, so that no height is missed. " COST_UMQ
          " " UMQ_LIMITS),
    OTHER("MPI_T_UMQ_LENGTH", LEVEL, "", 1, 1, SOURCE_UMQ_NAMED, NAMES_NONE,
          "mpit_umq_length as an MPI_INT, under the name in the standard's example. It can be started and stopped; "
          "while it is stopped it keeps its value. " UMQ_LIMITS),
    OTHER("mpit_umq_peers", SIZE, "", 1, 1, SOURCE_UMQ_PEERS, NAMES_NONE,
          "Processes of the communicator whose messages mpit_umq_length can see, this one among them."),
    INSIDE("mpit_os_time", TIMER, "ns", 1, NAMES_NONE, COUNTER_OS_TIME,
           "Time that threads spent in the kernel inside recorded MPI calls, in nanoseconds, as the kernel tells it; a "
           "thread that sleeps is not there. Many kernels look only some hundred times a second whether a thread is in "
           "the kernel, so that it says nothing of single calls: a message tells." ASKED),
    INSIDE("mpit_os_switches", COUNTER, "", 2, NAMES_SWITCH, COUNTER_SWITCHES_VOLUNTARY,
           "Context switches inside recorded MPI calls; the enumeration mpit_os_switch names the slots." ASKED),
    INSIDE("mpit_os_faults", COUNTER, "", 2, NAMES_FAULT, COUNTER_FAULTS_MINOR,
           "Page faults inside recorded MPI calls; the enumeration mpit_os_fault names the slots." ASKED),
};

const size_t variable_count = sizeof variables / sizeof variables[0];

int variable_verbosity(const struct variable *variable)
{
    static const struct {
        const char *begin; /* of the name. The first match counts */
        int verbosity;
    } table[] = {
        /* below MPI, and variables that slow calls down while they are read */
        {"mpit_fabric_time", MPIT_VERBOSITY_TUNER},
        {"mpit_fabric_ops", MPIT_VERBOSITY_TUNER},
        {"mpit_fabric_bytes", MPIT_VERBOSITY_TUNER},
        {"mpit_fabric_", MPIT_VERBOSITY_TUNER_DETAIL},
        {"mpit_call_fabric_time", MPIT_VERBOSITY_TUNER_DETAIL},
        {"mpit_comm_fabric_time", MPIT_VERBOSITY_TUNER},
        {"mpit_coll_p2p_count", MPIT_VERBOSITY_TUNER},
        {"mpit_coll_transfer_time", MPIT_VERBOSITY_TUNER},
        {"mpit_os_", MPIT_VERBOSITY_TUNER},
        {"mpit_papi_", MPIT_VERBOSITY_TUNER},
        {"mpit_umq_", MPIT_VERBOSITY_TUNER},
        {"MPI_T_UMQ_LENGTH", MPIT_VERBOSITY_TUNER},
        {"unexpected_recvq_length", MPIT_VERBOSITY_TUNER},
        /* the recorder itself */
        {"mpit_events_recorded", MPIT_VERBOSITY_DEVELOPER},
        {"mpit_buffer_", MPIT_VERBOSITY_DEVELOPER},
        /* Parts of sums, and variables that need an explanation. */
        {"mpit_events_lost", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_stall_known", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_last_return", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_size_bucket_limit", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_call_stall_time", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_win_", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_file_", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_comm_stall_time", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_comm_span", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_p2p_transfer_time", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_p2p_timeouts", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_coll_execution_time", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_coll_op_", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_send_size_", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_recv_size_", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_coll_size_", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_peer_", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_small_count", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_large_count", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_message_bytes", MPIT_VERBOSITY_USER_DETAIL},
        {"mpit_pending_", MPIT_VERBOSITY_USER_DETAIL},
        {"posted_recvq_length", MPIT_VERBOSITY_USER_DETAIL},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strncmp(variable_name(variable), table[i].begin, strlen(table[i].begin)) == 0)
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
                 "PAPI event %s%s%s, counted by where the thread was; the enumeration mpit_papi_place names the "
                 "slots." SAFE,
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
    switch (names) {
    case NAMES_CALL:
        return slot < CALL_COUNT ? call_table[slot].name : NULL;
    case NAMES_COLL:
        return slot < COLLECTIVE_COUNT ? collective_names[slot] : NULL;
    case NAMES_STATE:
        return slot < STATE_COUNT ? state_names[slot] : NULL;
    case NAMES_FABRIC:
        return slot < FABRIC_KIND_COUNT ? fabric_kind_names[slot] : NULL;
    case NAMES_FABRIC_FUNCTION:
        return slot < FABRIC_FUNCTION_COUNT ? fabric_table[slot].name : NULL;
    case NAMES_LOSS:
        return slot < LOSS_COUNT ? loss_names[slot] : NULL;
    case NAMES_PLACE:
        return slot < PLACE_COUNT ? place_names[slot] : NULL;
    case NAMES_SWITCH:
        return slot < 2 ? switch_names[slot] : NULL;
    case NAMES_FAULT:
        return slot < 2 ? fault_names[slot] : NULL;
    default:
        return NULL;
    }
}
