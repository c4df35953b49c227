/*
 * What a monitor window reports: the structures that the function of MPIX_Start_monitor gets, and that the JSON of
 * share/doc/monitor.md has field by field. Programs include <mpit/monitor.h>.
 *
 *   report ─┬─ period ─┬─ sum        figures of all communicators of the window together
 *           │          ├─ comms[]    the same one by one, and when communication went on there (option comm)
 *           │          ├─ colls[]    collectives by kind and number of processes (option coll)
 *           │          ├─ before[]   calls that were under way when it began
 *           │          ├─ after[]    calls that were under way when it ended
 *           │          └─ other      below MPI: fabric, system, counters (option other)
 *           └─ whole ─── ...         the same from the begin of the window on; equal to `period` where it has no period
 *
 * Source: MPI/RT Real Time Instrumentation Proposal, section 8.3 (events, monitoring, instruments).
 *
 * Times are nanoseconds, sizes bytes, counts numbers of things, each in 64 bits. A number that cannot be told is
 * MPIX_MONITOR_UNKNOWN, and a warning says why. What belongs to an option that is off is 0 and in no JSON. A field of
 * an interval is the difference of a counter that only grows, looked at where the interval begins and where it ends.
 * So the fields of the periods of a window add up to those of the whole, to the last unit. These do not: spans, what
 * was under way, and `small` where another thread was inside of a call at the moment of a look.
 *
 * Structures grow at their end alone. `bytes` says how long one is that this process's mpit has made; the elements of
 * an array lie so far apart, so use the functions MPIX_Monitor_..._at of <mpit/monitor.h> in place of an index. All of
 * it is mpit's, is read-only, and goes when the function returns.
 */
#ifndef MPIT_MONITOR_REPORT_H
#define MPIT_MONITOR_REPORT_H

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define MPIX_MONITOR_UNKNOWN UINT64_MAX

/* Sizes of messages and of collectives: slot 0 has those of 0 bytes, slot k those of 2^(k-1) to 2^k - 1, the last one
 * also all that are larger. */
enum { MPIX_MONITOR_BUCKETS = 40 };

/* The options of a window, as bits of MPIX_Monitor_report.options. */
enum MPIX_Monitor_option {
    MPIX_MONITOR_PROFILE = 1,
    MPIX_MONITOR_OTHER = 2,
    MPIX_MONITOR_PTTOPT = 4,
    MPIX_MONITOR_COLL = 8,
    MPIX_MONITOR_COMM = 16,
    MPIX_MONITOR_MSGSIZE = 32,
    MPIX_MONITOR_TRAFFIC = 64
};

/* Why there is a report. */
enum MPIX_Monitor_reason {
    MPIX_MONITOR_AT_END = 1,  /* MPIX_End_monitor */
    MPIX_MONITOR_AT_PERIOD,   /* a period has passed */
    MPIX_MONITOR_AT_FINALIZE, /* MPI_Finalize (or the end of the last session) came first */
};

/*
 * Numbers of one communicator, or of all that the window looks at.
 *
 * Begin and end (8.3.2.1 of the proposal). Of its three start models for point to point ("woken up" as event, as
 * priority task, or the actual start within a time bound) mpit has the first, with the begin of the call that posts the
 * message as the moment in which the program's event wakes up MPI: MPI has no tasks with priorities and no start times
 * that a program could set. Where a field says "call", its begin is that of the call, its end the return of it.
 */
typedef struct MPIX_Monitor_figures {
    /* time of calls, whole: of those that returned in the interval (see begun_before_ns and unfinished_ns) */
    uint64_t p2p_time_ns;  /* pttopt: in calls that post, send, receive, probe; begin to return of each */
    uint64_t wait_time_ns; /* pttopt: in calls that complete; shared evenly by the requests that one completed */
    uint64_t coll_time_ns; /* coll: in collectives; begin to return of each (nonblocking: of the posting call) */
    uint64_t comm_time_ns; /* profile: in calls that make or free communicators */
    uint64_t rma_time_ns;  /* profile: in calls on windows (MPI_Win) made on the communicator */
    uint64_t io_time_ns;   /* profile: in calls on files opened on the communicator */
    /* pttopt: execution time of point to point, summed over messages. Begin: that of the call that posts it; end:
     * return from the call that completes it. A message counts when it is complete, with all of its time. */
    uint64_t transfer_time_ns;
    /* coll: execution time of collectives as the proposal has it, summed over them. Begin: that of the first transfer
     * inside; end: that of the last one. Only known while libfabric or UCX is watched (option other). */
    uint64_t coll_transfer_time_ns;
    uint64_t stall_time_ns;  /* profile: of the time of calls, what they found nothing to do */
    uint64_t fabric_time_ns; /* other: of the time of calls, what passed inside of libfabric or UCX */
    /* counts */
    uint64_t completed;      /* pttopt, comm: messages complete, sent + received; when the completing call returns */
    uint64_t sent;           /* pttopt, comm, traffic: messages sent; when the posting call returns */
    uint64_t received;       /* likewise received; when the completing call returns */
    uint64_t timeouts;       /* pttopt, comm: messages complete that took longer than mpit_p2p_timeout_ns */
    uint64_t collectives;    /* coll, comm: complete */
    uint64_t coll_transfers; /* coll: point to point inside of collectives; known as coll_transfer_time_ns is */
    /* traffic and workload, bytes of data */
    uint64_t sent_bytes, received_bytes; /* traffic */
    uint64_t coll_bytes;                 /* traffic, coll: that this process put into collectives and got out of them */
    uint64_t rma_bytes, io_bytes;        /* traffic: by accesses to windows and files */
    uint64_t small, large; /* msgsize: messages sent + received, below and from mpit_large_message_bytes on */
    /* msgsize: the same messages by size */
    uint64_t sent_size_count[MPIX_MONITOR_BUCKETS], sent_size_bytes[MPIX_MONITOR_BUCKETS];
    uint64_t received_size_count[MPIX_MONITOR_BUCKETS], received_size_bytes[MPIX_MONITOR_BUCKETS];
    uint64_t coll_size_count[MPIX_MONITOR_BUCKETS]; /* collectives by bytes put in + got out */
} MPIX_Monitor_figures;

/* What was under way at an edge of the interval. Nonblocking operations were posted and not complete; calls had begun
 * and not returned. Neither belongs to the figures of the interval that ends there. */
typedef struct MPIX_Monitor_pending {
    uint64_t sends, recvs; /* nonblocking messages */
    uint64_t send_bytes;   /* bytes of these sends */
    uint64_t calls;        /* of all threads */
    uint64_t call_time_ns; /* how long they had been inside, summed */
    uint64_t p2p_time_ns;  /* of that: calls of point to point, */
    uint64_t wait_time_ns; /* calls that complete, */
    uint64_t coll_time_ns; /* and collectives */
} MPIX_Monitor_pending;

enum MPIX_Monitor_comm_flag {
    MPIX_MONITOR_COMM_CREATED = 1, /* it was made, or first used, in the interval */
    MPIX_MONITOR_COMM_FREED = 2,   /* it is freed by now */
    MPIX_MONITOR_COMM_SUM = 4      /* no communicator: all that were freed and have lost their names (monitor.md) */
};

typedef struct MPIX_Monitor_comm {
    uint32_t bytes;
    uint32_t flags;      /* enum MPIX_Monitor_comm_flag */
    const char *name;    /* mpit's, the same in all its processes */
    const char *label;   /* what MPI_Comm_set_name called it; "" = nothing */
    int32_t size, rank;  /* processes of the (local) group, this one's rank */
    int32_t remote_size; /* 0: no inter-communicator */
    uint32_t reserved;
    /* Execution time of the communicator group. Begin: that of the first communication (a call of point to point or a
     * collective; where it was posted before the interval, the begin of the interval); end: that of the last one that
     * was complete in it. span_ns = last - first, 0: there was none. */
    uint64_t first_ns, last_ns; /* since 1970-01-01 UTC; 0: there was none */
    uint64_t span_ns;
    MPIX_Monitor_pending before, after;
    MPIX_Monitor_figures figures;
} MPIX_Monitor_comm;

/* Collectives of one kind on communicators of one size: complete in the interval, and the time in their calls. */
typedef struct MPIX_Monitor_coll {
    uint32_t bytes;
    int32_t processes; /* of the local group; 0: of several sizes (freed communicators that have lost their names) */
    const char *kind;  /* "MPI_Barrier", "MPI_Allreduce", ...: the items of the enumeration mpit_coll */
    uint64_t count, time_ns;
    uint64_t execution_time_ns; /* of those complete, from start to completion; nonblocking: from the begin of the call
                                 * that posts or starts it to the return of the call that completes it */
} MPIX_Monitor_coll;

/* A call that was under way at an edge. */
typedef struct MPIX_Monitor_call {
    uint32_t bytes;
    uint32_t thread;      /* 0, 1, ... in the order in which threads first called MPI */
    int32_t tid;          /* the system's number of the thread */
    int32_t peer;         /* rank; negative: none, or not known */
    const char *function; /* "MPI_Recv" */
    const char *comm;     /* name of the communicator; "" = none, or not known yet */
    uint64_t since_ns;    /* since 1970-01-01 UTC */
    uint64_t inside_ns;   /* how long it had been inside at the edge */
} MPIX_Monitor_call;

/* Counted inside of MPI calls that returned in the interval, but for what was asked for by name. */
typedef struct MPIX_Monitor_counter {
    uint32_t bytes;
    uint32_t reserved;
    const char *name, *unit; /* as PAPI calls it; "": a number */
    uint64_t places[6];      /* outside of MPI, p2p, completion, collective, windows and files, other */
} MPIX_Monitor_counter;

/* Services below MPI. Unknown as a whole, or in part, with a warning that says why. */
typedef struct MPIX_Monitor_other {
    uint64_t fabric_time_ns;           /* inside libfabric and UCX, from entering a function to leaving it */
    uint64_t fabric_ops, fabric_bytes; /* operations begun there, and bytes of their buffers */
    uint64_t fabric_polls, fabric_empty_polls, fabric_poll_time_ns;
    uint64_t os_time_ns;                  /* in the kernel inside of MPI calls, as far as the kernel tells */
    uint64_t os_switches, os_faults;      /* context switches and page faults there */
    const MPIX_Monitor_counter *counters; /* those of MPIT_PAPI_EVENTS */
    uint32_t counter_count, counter_bytes;
} MPIX_Monitor_other;

typedef struct MPIX_Monitor_interval {
    uint32_t bytes;
    uint32_t threads;          /* that have called MPI by its end */
    uint64_t begin_ns, end_ns; /* since 1970-01-01 UTC */
    uint64_t duration_ns;
    /* Total MPI execution time, summed over threads, outermost calls only. mpi_time_ns: begin to return of each call
     * that returned in the interval, even where it began before. What of it lies inside of the interval is
     * inside_ns = mpi_time_ns - begun_before_ns + unfinished_ns, or 0 where a thread that was just leaving its call at
     * the begin makes that less. */
    uint64_t mpi_time_ns;
    uint64_t inside_ns;
    uint64_t begun_before_ns; /* before the interval's begin: of calls that were under way there */
    uint64_t unfinished_ns;   /* up to the interval's end: of calls that were under way there */
    uint64_t stall_time_ns;   /* of mpi_time_ns: MPI found nothing to do */
    uint64_t events;          /* records of all threads: calls, and what they completed or made */
    MPIX_Monitor_pending before, after;
    MPIX_Monitor_figures sum;
    const MPIX_Monitor_comm *comms;
    const MPIX_Monitor_coll *colls;
    const MPIX_Monitor_call *calls_before, *calls_after;
    uint32_t comm_count, comm_bytes, coll_count, coll_bytes;
    uint32_t call_before_count, call_after_count, call_bytes, reserved;
    MPIX_Monitor_other other;
} MPIX_Monitor_interval;

typedef struct MPIX_Monitor_report {
    uint32_t bytes;
    uint32_t reason;    /* enum MPIX_Monitor_reason */
    uint32_t options;   /* enum MPIX_Monitor_option */
    int32_t rank, size; /* of this process in MPI_COMM_WORLD */
    uint32_t last;      /* 1: the window's last report */
    uint64_t request;   /* of the window */
    const char *name;   /* the monitorhandle's; "" = none */
    uint64_t sequence;  /* 1, 2, ...: reports of this window */
    /* Of a window with a period: */
    uint64_t period_ns;   /* 0: it has none */
    uint64_t number;      /* report at the end of period `number`: 1, 2, ...; due at begin + number * period_ns */
    uint64_t missed;      /* that many periods before it had no report of their own, and are in this one */
    uint64_t due_ns;      /* since 1970-01-01 UTC; 0: this report has no due time (the last one) */
    uint64_t late_ns;     /* so much later than that the figures were looked at */
    uint64_t large_bytes; /* messages of so many bytes or more are large: mpit_large_message_bytes */
    uint64_t timeout_ns;  /* what took longer is a timeout: mpit_p2p_timeout_ns; 0: nothing is */
    const MPIX_Monitor_interval *period; /* since the report before */
    const MPIX_Monitor_interval *whole;  /* since the begin of the window */
    const char *const *warnings;         /* what cannot be told, and why: sentences */
    uint32_t warning_count, reserved;
} MPIX_Monitor_report;

#if defined(__cplusplus)
}
#endif

#endif
