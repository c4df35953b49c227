/*
 * An event: one finished action of the program, 32 bytes.
 *
 *   byte  0        8      12    14    16     20     24        32
 *        +--------+------+-----+-----+------+------+---------+
 *        | begin  | dur- |kind |comm | peer | tag  | bytes   |
 *        | ticks  | ation|     |slot |      |      |         |
 *        +--------+------+-----+-----+------+------+---------+
 *
 * A call is one event. It is written when the call has returned. The records that belong to the call follow it:
 *
 *   [ call | extension? | record of the call ... ]
 *
 *   extension    the fields that did not fit (EVENT_WIDE is set in the call's kind)
 *   receive      the receiving half of a sendrecv
 *   *_posted     one persistent request that the call started. duration = kind of the call that made it
 *   *_done       one request that the call completed. begin = when it was posted, duration = kind of the posting call
 *   created      the communicator that the call created
 *   destroyed    the communicator that the call freed. The call itself is charged to the parent
 *   argument     an argument of a call on a window or a file without a field in the event
 *   stall        the part of the call's time in which it found nothing to do. It follows the call and its extension
 *   counter      the count of a counter of the system or of PAPI: inside of the call, and before it since the last call
 *
 * Events of other libraries' instruments are between calls, each alone. peer = the instrument's id:
 *
 *   region       a region that was left. An extension follows if it is wide. nested: inside of itself. phase: a phase
 *                of MPI_Pcontrol, always wide. Of the thread, inside: bytes = ticks in MPI, tag = calls. In its
 *                extension: bytes_out = ticks stalled, bytes_high = ticks without recording, reserved = calls >> 32
 *   metric       a value now: duration = element, bytes = the number (an integer, or the bits of a double)
 *
 * Events of libraries below MPI come between calls, and inside of calls. There are some only if these libraries are
 * watched (fabriccalls.h). peer = the provider's number:
 *
 *   fabric       an operation has begun: tag = function, bytes = of its buffers. pending: its completion will be
 *                reported. failed: it was refused with an error. nested: a callback made it, inside of a poll
 *   fabric_again operations that were refused and will be tried again: tag = function, duration = how many,
 *                bytes = ticks
 *   fabric_done  operations that have completed: duration = how many, tag = how many with an error
 *   fabric_polls polls of the progress: duration = how many, tag = how many found nothing, bytes = ticks,
 *                begin = when the first of them began
 *
 * The recorder has two events of its own:
 *
 *   passed       a completion call that is not recorded (filtered, or recording is off) completed recorded requests.
 *                Their records follow, as after a call. begin = when it returned
 *   switched     MPI_Pcontrol or mpit_recording: peer = 1 recording goes on, 0 it stops. All calls that are recorded
 *                until the next one begin between their times
 *
 * In a run file the event of a call also has the number of its call path (path_record), in the upper bits of `bytes`.
 * Above it a collective has its operation (enum reduction). The reader takes both out (event_cursor.path and
 * event_cursor.reduction). If `bytes` needs more than 40 bits, the event is wide, and its
 * extension has the upper bits. A call that completed nothing has the lower 40 bits of the time in `bytes`; the reader
 * adds the rest, as that time is at most 2^40 ticks before the begin.
 *
 * Invariant: a record whose kind is 0 was never written. The thread's counter `events_recorded` is the number of
 * records that it has written. A record is complete before that counter counts it.
 */
#ifndef MPIT_EVENTS_EVENT_H
#define MPIT_EVENTS_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct event {
    uint64_t begin;    /* ticks of the run's clock */
    uint32_t duration; /* ticks. EVENT_DURATION_WIDE where the extension has it */
    uint16_t kind;     /* EVENT_KIND_MASK: a call of the table or a record kind. The rest: flags */
    uint16_t comm;     /* slot of the communicator in this process. 0 = none */
    int32_t peer;      /* rank in the communicator, root, or how many requests a completion call completed */
    int32_t tag;       /* of a message. Collectives: bytes received. Completion calls: number of requests passed.
                        * Windows and files: number of the object (object_record), 0 = not known */
    uint64_t bytes;    /* of the message. Collectives: bytes sent. A failed test: when its request was posted */
};

_Static_assert(sizeof(struct event) == 32, "an event is 32 bytes");

struct event_extension {
    uint64_t duration; /* ticks */
    uint32_t reserved;
    uint16_t kind; /* RECORD_EXTENSION, at the offset of event.kind */
    uint16_t comm;
    uint64_t bytes_out;  /* bytes received by a collective */
    uint64_t bytes_high; /* the upper bits of event.bytes + 1. 0: event.bytes is whole */
};

_Static_assert(sizeof(struct event_extension) == sizeof(struct event), "an extension takes an event's place");

enum {
    EVENT_KIND_MASK = 0x07ff,
    EVENT_WIDE = 0x8000,         /* an extension record follows */
    EVENT_LARGE = 0x4000,        /* the message was at or over mpit_large_message_bytes when it was recorded */
    EVENT_TIMEOUT = 0x2000,      /* its transfer took longer than mpit_p2p_timeout_ns */
    EVENT_FAILED = 0x1000,       /* the call returned an error. It has no message */
    EVENT_CALLS = EVENT_LARGE,   /* of a region: it has figures of calls, in its extension, too */
    EVENT_PENDING = EVENT_LARGE, /* of an operation below MPI: its completion will be reported */
    EVENT_OP = EVENT_LARGE | EVENT_TIMEOUT, /* of a call on a window, two bits together: its reduction, as below */
    EVENT_OP_SUM = EVENT_TIMEOUT,
    EVENT_OP_REPLACE = EVENT_LARGE,
    EVENT_OP_NO_OP = EVENT_OP, /* no bit set: another operation, or none */
    EVENT_NESTED = 0x0800,     /* the call was made from inside another recorded call of the same thread */
};

#define EVENT_DURATION_WIDE UINT32_MAX

/* Where the number of the call path, and the operation of a collective, are in event.bytes, in a run file. */
enum { EVENT_PATH_SHIFT = 40, EVENT_PATHS_MOST = 1 << 16, EVENT_REDUCTION_SHIFT = 56 };
#define EVENT_BYTES_MASK ((UINT64_C(1) << EVENT_PATH_SHIFT) - 1)
#define AGREED_BYTES ((UINT64_C(1) << EVENT_REDUCTION_SHIFT) - 1) /* in thread_state.agreed: below the operation */

/* Kinds below RECORD_FIRST are calls (calls.h). These are the records that follow a call. */
enum record_kind {
    RECORD_FIRST = 0x400,
    RECORD_EXTENSION = RECORD_FIRST,
    RECORD_RECEIVE,       /* receiving half of a sendrecv: peer, tag, bytes */
    RECORD_SEND_POSTED,   /* a persistent send was started */
    RECORD_RECV_POSTED,   /* a persistent receive was started */
    RECORD_SEND_DONE,     /* a nonblocking send completed */
    RECORD_RECV_DONE,     /* a nonblocking receive completed: the peer, tag and bytes that arrived */
    RECORD_COLL_DONE,     /* a nonblocking collective completed: peer = root, bytes put in, tag = bytes got out */
    RECORD_COMM_DONE,     /* a nonblocking communicator creation completed */
    RECORD_CANCELLED,     /* a request completed as canceled, without a message */
    RECORD_FREED,         /* a request was freed while it was active. Failed: mpit missed its end */
    RECORD_CREATED,       /* comm = the new communicator's slot, peer = its parent's */
    RECORD_DESTROYED,     /* comm = the slot of the communicator that the call freed */
    RECORD_RMA_DONE,      /* a request-based access to a window completed: bytes there, except in old files */
    RECORD_IO_DONE,       /* a nonblocking access to a file completed: bytes */
    RECORD_HALF_DONE,     /* the sending half of a nonblocking sendrecv completed. The receive's record follows */
    RECORD_COLL_POSTED,   /* a persistent collective was started: peer = root */
    RECORD_ARGUMENT,      /* MPI_Win_lock: tag = 1 exclusive. MPI_Win_test: it ended the epoch. MPI_Win_post and _start:
                           * peer = a member of the group, one record each; PEER_ANY: all; PEER_PROC_NULL: none. A
                           * call that makes a communicator with a topology: comm = that, a record with PEER_PROC_NULL,
                           * then peer = a source, one record each. MPI_File_open: tag = ACCESS_*. MPI_File_seek and
                           * _seek_shared: two, by enum file_seek. Transfers: bytes = asked for, if fewer were
                           * transferred when the call returned */
    RECORD_STALL,         /* how long the call waited: bytes = ticks, begin = when its first wait began, duration = the
                   * call's kind, peer = as in a completion call, tag = number of waits */
    RECORD_FABRIC,        /* the call's time in the libraries below: bytes = ticks, begin = the call's, duration = its
                       * kind, peer = as in a completion call, tag = operations in it for another call */
    RECORD_TRANSFERS,     /* of a collective, inside of it: tag = transfers that began, begin = when the first of them
                       * did, bytes = ticks from there to the end of the last one */
    RECORD_COUNTER,       /* bytes = counted inside of the call. peer and tag = the low and the high half of the count
                     * outside of MPI before it. begin = the call's. duration = its kind, or CALL_NONE at the end of
                     * the thread. If the share of an earlier call becomes known only now, duration = its kind. The
                     * bits above these 16 are the number of the counter (counter.h) */
    RECORD_OFF_PROCESSOR, /* how long the thread had no processor in the computation before the call: bytes = ticks,
                           * begin = the call's, duration = its kind */
    RECORD_END,
};

/* Events between calls: neither calls nor parts of calls. First of instruments (runfile.h), then of the recorder. */
enum between_event_kind {
    EVENT_REGION = 0x500,
    EVENT_METRIC,
    EVENT_PASSED,
    EVENT_SWITCHED,
    EVENT_FABRIC = 0x510,
    EVENT_FABRIC_AGAIN,
    EVENT_FABRIC_DONE,
    EVENT_FABRIC_POLLS,
};

/* True for events of a library below MPI. */
#define EVENT_KIND_IS_FABRIC(kind) ((kind) >= EVENT_FABRIC && (kind) <= EVENT_FABRIC_POLLS)

/* How a file was opened. */
enum file_access {
    ACCESS_READ = 1,
    ACCESS_WRITE = 2,
    ACCESS_CREATE = 4,
    ACCESS_EXCLUSIVE = 8,
    ACCESS_APPEND = 16,
    ACCESS_SEQUENTIAL = 32,
    ACCESS_UNIQUE = 64,
    ACCESS_DELETE = 128, /* delete it when it is closed */
};

/* The arguments of a seek. Both are missing if the new position is not known. In the first, tag = where from, bytes
 * = the given offset, in bytes of data and with a sign. In the second, bytes = the new position in the file. */
enum file_seek { SEEK_FROM_START = 1, SEEK_FROM_CURRENT, SEEK_FROM_END, SEEK_ARRIVED };

/* Peers that are not ranks. The values are mpit's own, and every MPI has the same. */
enum { PEER_NONE = -1, PEER_PROC_NULL = -2, PEER_ANY = -3, PEER_ROOT = -4 };
enum { TAG_ANY = -1 };

static inline unsigned event_kind(const struct event *event)
{
    return event->kind & EVENT_KIND_MASK;
}

/* True for a call, or an event between calls. False for the record of another event. */
static inline bool event_is_whole(const struct event *event)
{
    return event_kind(event) < RECORD_FIRST || event_kind(event) >= RECORD_END;
}

/* The name of the reduction of a call of class RMA. NULL: it has none, or its event does not tell. */
static inline const char *event_op_name(const struct event *event)
{
    switch (event->kind & EVENT_OP) {
    case EVENT_OP_SUM:
        return "sum";
    case EVENT_OP_REPLACE:
        return "replace";
    case EVENT_OP_NO_OP:
        return "no_op";
    default:
        return 0;
    }
}

/* The record's duration in ticks. `next` is the record after it (may be NULL when the event is not wide). */
static inline uint64_t event_duration(const struct event *event, const struct event_extension *next)
{
    return (event->kind & EVENT_WIDE) && next ? next->duration : event->duration;
}

#endif
