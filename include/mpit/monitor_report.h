/*
 * The reports of a monitor window. The function of MPIX_Start_monitor gets these structures, and the JSON of
 * share/doc/monitor.md has the same fields. Programs include <mpit/monitor.h>.
 *
 *   report ─┬─ period ─┬─ sum        figures of all communicators of the window together
 *           │          ├─ comms[]    the same one by one, and its time of communication (option comm)
 *           │          ├─ colls[]    collectives by kind and number of processes (option coll)
 *           │          ├─ sites[]    the costliest call sites (monitorhandle.callsites)
 *           │          ├─ before[]   calls that were under way when it began
 *           │          ├─ after[]    calls that were under way when it ended
 *           │          └─ other      below MPI: fabric, system, counters (option other)
 *           └─ whole ─── ...         the same from the begin of the window on, or equal to `period` without periods
 *
 * Source: MPI/RT Real Time Instrumentation Proposal, section 8.3 (events, monitoring, instruments).
 *
 * Times are in nanoseconds and sizes in bytes. Counts are plain numbers. Each has 64 bits. An unknown number is
 * MPIX_MONITOR_UNKNOWN, and a warning gives the reason. If an option is off, its fields are 0 and missing from the
 * JSON. A field of an interval is the difference of a growing counter between the begin and the end of the interval.
 * The fields of a window's periods therefore add up exactly to the fields of the whole window. Three kinds of fields do
 * not add up: spans, operations under way, and `small` if another thread was inside a call during a read.
 *
 * Structures grow only at their end. `bytes` is the size of a structure in this process's mpit. Elements of an array
 * have this distance, so use the functions MPIX_Monitor_..._at of <mpit/monitor.h> instead of an index. All of it
 * belongs to mpit, is read-only, and is valid until the function returns.
 */
#ifndef MPIT_MONITOR_REPORT_H
#define MPIT_MONITOR_REPORT_H

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define MPIX_MONITOR_UNKNOWN UINT64_MAX

/* Sizes of messages and of collectives. Slot 0 counts sizes of 0 bytes. Slot k counts sizes from 2^(k-1) to 2^k - 1.
 * The last slot also counts all larger sizes. */
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

/* The reason for a report. */
enum MPIX_Monitor_reason {
    MPIX_MONITOR_AT_END = 1,  /* MPIX_End_monitor */
    MPIX_MONITOR_AT_PERIOD,   /* a period has passed */
    MPIX_MONITOR_AT_FINALIZE, /* MPI_Finalize (or the end of the last session) came first */
};

/*
 * Figures of one communicator, or of all communicators of the window.
 *
 * Begin and end (8.3.2.1 of the proposal). The proposal has three start models for point to point: "woken up" as event,
 * as priority task, or the actual start within a time bound. mpit implements the first model. The call that posts the
 * message is the moment when the program's event wakes up MPI. The other models do not apply, because MPI has no tasks
 * with priorities and no start times that a program could set. If a field says "call", its time runs from the begin of
 * that call to its return.
 */
typedef struct MPIX_Monitor_figures {
    /* time of calls, counted in full for calls that returned in the interval (see begun_before_ns and unfinished_ns) */
    uint64_t p2p_time_ns;  /* pttopt: in calls that post, send, receive, probe, from begin to return */
    uint64_t wait_time_ns; /* pttopt: in calls that complete, shared evenly by the requests that one completed */
    uint64_t coll_time_ns; /* coll: in collectives, from begin to return (nonblocking: of the posting call) */
    uint64_t comm_time_ns; /* profile: in calls that make or free communicators */
    uint64_t rma_time_ns;  /* profile: in calls on windows (MPI_Win) made on the communicator */
    uint64_t io_time_ns;   /* profile: in calls on files opened on the communicator */
    /* pttopt: execution time of point to point, summed over messages. Begin: the begin of the posting call. End: the
     * return from the completing call. A message counts when it is complete, with all of its time. */
    uint64_t transfer_time_ns;
    /* coll: execution time of collectives as the proposal defines it, summed over them. Begin: the begin of the first
     * transfer inside. End: the end of the last transfer. Only known while libfabric or UCX is watched (option
     * other). */
    uint64_t coll_transfer_time_ns;
    uint64_t stall_time_ns;  /* profile: the part of call time with nothing to do */
    uint64_t fabric_time_ns; /* other: the part of call time inside libfabric or UCX */
    /* counts */
    uint64_t completed;      /* pttopt, comm: messages complete, sent + received, counted when the completing call
                              * returns */
    uint64_t sent;           /* pttopt, comm, traffic: messages sent, counted when the posting call returns */
    uint64_t received;       /* likewise received, counted when the completing call returns */
    uint64_t timeouts;       /* pttopt, comm: messages complete that took longer than mpit_p2p_timeout_ns */
    uint64_t collectives;    /* coll, comm: complete */
    uint64_t coll_transfers; /* coll: point to point inside of collectives, if known (see coll_transfer_time_ns) */
    /* traffic and workload, bytes of data */
    uint64_t sent_bytes, received_bytes; /* traffic */
    uint64_t coll_bytes;                 /* traffic, coll: input and output of this process in collectives */
    uint64_t rma_bytes, io_bytes;        /* traffic: by accesses to windows and files */
    uint64_t small, large; /* msgsize: messages sent + received, below and from mpit_large_message_bytes on */
    /* msgsize: the same messages by size */
    uint64_t sent_size_count[MPIX_MONITOR_BUCKETS], sent_size_bytes[MPIX_MONITOR_BUCKETS];
    uint64_t received_size_count[MPIX_MONITOR_BUCKETS], received_size_bytes[MPIX_MONITOR_BUCKETS];
    uint64_t coll_size_count[MPIX_MONITOR_BUCKETS]; /* collectives by bytes put in + got out */
} MPIX_Monitor_figures;

/* Operations under way at an edge of the interval. Nonblocking operations were posted and not complete. Calls had begun
 * and not returned. Neither counts in the figures of the interval that ends there. */
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
    MPIX_MONITOR_COMM_SUM = 4      /* no communicator: all freed ones that have lost their names (monitor.md) */
};

typedef struct MPIX_Monitor_comm {
    uint32_t bytes;
    uint32_t flags;      /* enum MPIX_Monitor_comm_flag */
    const char *name;    /* mpit's, the same in all its processes */
    const char *label;   /* name from MPI_Comm_set_name, "" = none */
    int32_t size, rank;  /* processes of the (local) group, this one's rank */
    int32_t remote_size; /* 0: no inter-communicator */
    uint32_t reserved;
    /* Execution time of the communicator group. Begin: the first communication (a call of point to point or a
     * collective), or the begin of the interval if that was posted earlier. End: the last communication that completed
     * in the interval. span_ns = last - first, or 0 for none. */
    uint64_t first_ns, last_ns; /* since 1970-01-01 UTC, 0 = none */
    uint64_t span_ns;
    MPIX_Monitor_pending before, after;
    MPIX_Monitor_figures figures;
} MPIX_Monitor_comm;

/* Collectives of one kind on communicators of one size: complete in the interval, and the time in their calls. */
typedef struct MPIX_Monitor_coll {
    uint32_t bytes;
    int32_t processes; /* of the local group, 0 = of several sizes (freed communicators that have lost their names) */
    const char *kind;  /* "MPI_Barrier", "MPI_Allreduce", ...: the items of the enumeration mpit_coll */
    uint64_t count, time_ns;
    uint64_t execution_time_ns; /* of completed collectives, from start to completion. Nonblocking: from the begin of
                                 * the call that posts or starts to the return of the call that completes */
} MPIX_Monitor_coll;

/* A call under way at an edge. */
typedef struct MPIX_Monitor_call {
    uint32_t bytes;
    uint32_t thread;      /* 0, 1, ... in the order of the threads' first MPI calls */
    int32_t tid;          /* the system's number of the thread */
    int32_t peer;         /* rank, negative = none, or not known */
    const char *function; /* "MPI_Recv" */
    const char *comm;     /* name of the communicator, "" = none, or not known yet */
    uint64_t since_ns;    /* since 1970-01-01 UTC */
    uint64_t inside_ns;   /* how long it had been inside at the edge */
} MPIX_Monitor_call;

/*
 * A call site: the calls of one MPI function on one call path, of all threads. Counted when the call returns, with all
 * of its time. The figures belong to the process, even in a window on one communicator.
 */
typedef struct MPIX_Monitor_site {
    uint32_t bytes;
    uint32_t frame_count;   /* 0: all calls that found no place for their path, of any function */
    const char *function;   /* "MPI_Waitall", "" = of any function */
    const uint64_t *frames; /* addresses behind the calls, in this process. The innermost first, at most
                             * mpit_call_depth. 0: a function of Python */
    const char *module;     /* path of the file with the innermost frame, "" = the program, or not known */
    uint64_t offset;        /* of the innermost frame in that file: addr2line -e FILE (offset - 1). 0: it is Python */
    uint64_t count, time_ns;
    uint64_t stall_time_ns;    /* part of time_ns in which MPI had nothing to do */
    uint64_t sent, sent_bytes; /* messages that its calls sent or posted, and bytes that they sent, put or wrote */
    uint64_t received, received_bytes; /* messages that were complete when its calls returned, and bytes likewise */
} MPIX_Monitor_site;

/* Counted inside MPI calls that returned in the interval, except for counters that were requested by name. */
typedef struct MPIX_Monitor_counter {
    uint32_t bytes;
    uint32_t reserved;
    const char *name, *unit; /* as in PAPI, "" = a plain number */
    uint64_t places[6];      /* outside of MPI, p2p, completion, collective, windows and files, other */
} MPIX_Monitor_counter;

/* Services below MPI. Unknown as a whole or in part, with a warning that gives the reason. */
typedef struct MPIX_Monitor_other {
    uint64_t fabric_time_ns;           /* inside libfabric and UCX, from entering a function to leaving it */
    uint64_t fabric_ops, fabric_bytes; /* operations begun there, and bytes of their buffers */
    uint64_t fabric_polls, fabric_empty_polls, fabric_poll_time_ns;
    uint64_t os_time_ns;                  /* in the kernel inside MPI calls, as far as the kernel reports it */
    uint64_t os_switches, os_faults;      /* context switches and page faults there */
    const MPIX_Monitor_counter *counters; /* the events of MPIT_PAPI_EVENTS */
    uint32_t counter_count, counter_bytes;
} MPIX_Monitor_other;

typedef struct MPIX_Monitor_interval {
    uint32_t bytes;
    uint32_t threads;          /* threads that have called MPI by its end */
    uint64_t begin_ns, end_ns; /* since 1970-01-01 UTC */
    uint64_t duration_ns;
    /* Total MPI execution time, summed over threads, outermost calls only. mpi_time_ns runs from begin to return of
     * each call that returned in the interval, even if it began before. The time inside the interval is inside_ns =
     * mpi_time_ns - begun_before_ns + unfinished_ns. It is 0 if a thread that was just leaving its call at the begin
     * makes it negative. */
    uint64_t mpi_time_ns;
    uint64_t inside_ns;
    uint64_t begun_before_ns; /* before the interval's begin, for calls under way there */
    uint64_t unfinished_ns;   /* up to the interval's end, for calls under way there */
    uint64_t stall_time_ns;   /* part of mpi_time_ns in which MPI had nothing to do */
    uint64_t events;          /* records of all threads: calls, completions, creations */
    MPIX_Monitor_pending before, after;
    MPIX_Monitor_figures sum;
    const MPIX_Monitor_comm *comms;
    const MPIX_Monitor_coll *colls;
    const MPIX_Monitor_call *calls_before, *calls_after;
    uint32_t comm_count, comm_bytes, coll_count, coll_bytes;
    uint32_t call_before_count, call_after_count, call_bytes, reserved;
    MPIX_Monitor_other other;
    /* Useful time of this process: outside of MPI, the mean of its threads that have called MPI. It is duration_ns -
     * inside_ns / threads. Not known if some calls are not recorded or not timed. Values of periods may add up to a few
     * nanoseconds less than the whole. In a process with an older mpit `bytes` ends before this field. */
    uint64_t useful_time_ns;
    const MPIX_Monitor_site *sites; /* the costliest first */
    uint32_t site_count, site_bytes;
} MPIX_Monitor_interval;

typedef struct MPIX_Monitor_report {
    uint32_t bytes;
    uint32_t reason;    /* enum MPIX_Monitor_reason */
    uint32_t options;   /* enum MPIX_Monitor_option */
    int32_t rank, size; /* of this process in MPI_COMM_WORLD */
    uint32_t last;      /* 1: the window's last report */
    uint64_t request;   /* of the window */
    const char *name;   /* from the monitorhandle, "" = none */
    uint64_t sequence;  /* 1, 2, ...: reports of this window */
    /* For a window with a period: */
    uint64_t period_ns;   /* 0: it has none */
    uint64_t number;      /* report at the end of period `number`: 1, 2, ..., due at begin + number * period_ns */
    uint64_t missed;      /* number of earlier periods without a report, which this report includes */
    uint64_t due_ns;      /* since 1970-01-01 UTC, 0 = no due time (the last report) */
    uint64_t late_ns;     /* delay between that time and the reads */
    uint64_t large_bytes; /* messages of at least this size are large: mpit_large_message_bytes */
    uint64_t timeout_ns;  /* a longer message is a timeout: mpit_p2p_timeout_ns, 0 = none is */
    const MPIX_Monitor_interval *period; /* since the report before */
    const MPIX_Monitor_interval *whole;  /* since the begin of the window */
    const char *const *warnings;         /* sentences: each unknown figure and the reason */
    uint32_t warning_count, reserved;
} MPIX_Monitor_report;

#if defined(__cplusplus)
}
#endif

#endif
