/*
 * Monitor windows: the MPI activity between two places in a program.
 *
 *     #include <mpit/monitor.h>
 *
 *     static void told(const MPIX_Monitor_report *report, void *own)
 *     {
 *         printf("%llu messages\n", (unsigned long long)report->period->sum.completed);
 *     }
 *     ...
 *     MPIX_Monitorhandle handle = MPIX_MONITORHANDLE_INIT;
 *     MPIX_Monitor_request request;
 *     MPIX_Start_monitor(&request, &handle, told);
 *     exchange();
 *     MPIX_End_monitor(&request, &handle);
 *
 * No library has to be linked. With mpit (mpit-run, LD_PRELOAD) the window is real. Without mpit the same binary runs,
 * the functions return MPIX_MONITOR_ABSENT, and the program's function is not called. (glibc before 2.34 needs -ldl.)
 * C11 and C++11 and later. Fortran: share/doc/monitor.md.
 *
 * Source: MPI/RT Real Time Instrumentation Proposal, 8.3.1 "MPI RT Monitoring": MPI_START_MONITOR(request,
 * monitorhandle, f), MPI_END_MONITOR(request, monitorhandle), and the options of 8.3.1.1, here with the prefix MPIX_.
 *
 * Windows belong to this process. They may nest and overlap freely, on any threads. Each window is the difference of
 * two reads of counters that mpit keeps anyway, so windows do not affect each other.
 */
#ifndef MPIT_MONITOR_H
#define MPIT_MONITOR_H

#include <mpi.h>
#include <mpit/monitor_interface.h>

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define MPIX_MONITOR_REQUEST_NULL ((MPIX_Monitor_request)0)

/* The options of a window. Begin with MPIX_MONITORHANDLE_INIT (or mpix_monitorhandle_default()). */
typedef struct MPIX_Monitorhandle {
    uint32_t bytes; /* of this structure, or 0 for the same */

    /* The options of the proposal: 1 or 0. In the initializer all are 1 except `other`, which has a cost. */
    int32_t profile; /* the window as a whole. With 0 there is no window: START returns MPIX_MONITOR_REQUEST_NULL, which
                      * END accepts. With 1: total MPI execution time, time on communicators, windows and files,
                      * stalls */
    int32_t other;   /* services below MPI: libfabric and UCX, the operating system, PAPI. While such a window is open
                      * they are measured, which makes calls slower (share/doc/below.md, counters.md) */
    int32_t pttopt;  /* point to point: execution times, messages, timeouts */
    int32_t coll;    /* collectives: execution times and counts by kind and number of processes, transfers inside */
    int32_t comm;    /* communicators one by one: when the first communication began and the last one ended, counts */
    int32_t msgsize; /* small and large messages, histograms of sizes */
    int32_t traffic; /* messages and bytes */

    /* MPI_COMM_NULL selects all communicators of the process, including new ones while the window is open. A single
     * communicator stays selected even if the program frees it. */
    union {
        MPI_Comm communicator; /* may be shorter than the word, whose rest is ignored */
        uint64_t communicator_word;
    };
    uint64_t
        period_ns; /* 0: one report, at the end. Else also one each period, from MPIX_MONITOR_PERIOD_LEAST to _MOST */
    const char *file;   /* reports are appended as lines of JSON, one write each, or NULL for none. Copied */
    const char *name;   /* shown in the reports, or NULL for none. Copied, up to 63 bytes */
    void *own;          /* passed on to the function */
    int32_t descriptor; /* where a report is printed without function and file: 2, standard error */
    int32_t callsites;  /* how many of the costliest call sites a report has: 0 (default) to
                         * MPIX_MONITOR_CALLSITES_MOST. With 0 opening and closing do not look at call sites */
} MPIX_Monitorhandle;

#if defined(__cplusplus)
#define MPIT_MONITOR_NULL nullptr
#else
#define MPIT_MONITOR_NULL NULL
#endif

#define MPIX_MONITORHANDLE_INIT                                                                                        \
    {                                                                                                                  \
        sizeof(MPIX_Monitorhandle), 1, 0, 1, 1, 1, 1, 1, {MPI_COMM_NULL}, 0, MPIT_MONITOR_NULL, MPIT_MONITOR_NULL,     \
            MPIT_MONITOR_NULL, 2, 0                                                                                    \
    }

#define MPIT_MONITOR_INLINE static inline __attribute__((unused))

/* The same, as a value. */
MPIT_MONITOR_INLINE MPIX_Monitorhandle mpix_monitorhandle_default(void)
{
    MPIX_Monitorhandle handle = MPIX_MONITORHANDLE_INIT;
    return handle;
}

/* Returns mpit's table of functions, or NULL if mpit does not monitor. Remembers a table that it found. Not for signal
 * handlers. */
MPIT_MONITOR_INLINE const struct mpit_monitor_interface *mpit_monitor_find(void)
{
    static const struct mpit_monitor_interface *found;
    const struct mpit_monitor_interface *known = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
    if (__builtin_expect(known != MPIT_MONITOR_NULL, 1))
        return known;
    mpit_monitor_interface_function *function = MPIT_MONITOR_NULL;
    void *symbol = dlsym(MPIT_MONITOR_NULL /* RTLD_DEFAULT */, "mpit_monitor_interface");
    memcpy(&function, &symbol, sizeof function);
    known = symbol ? function(MPIT_MONITOR_VERSION) : MPIT_MONITOR_NULL;
    __atomic_store_n(&found, known, __ATOMIC_RELEASE);
    return known;
}

/*
 * Opens a window. From here on its reports contain the selected options.
 *
 *   request        gets the window, for MPIX_End_monitor, or MPIX_MONITOR_REQUEST_NULL if none was opened
 *   monitorhandle  the options, or NULL for MPIX_MONITORHANDLE_INIT. May be freed when the function has returned
 *   f              gets each report, see below. May be NULL. Without f and without a file the report is printed
 *
 * Returns MPIX_MONITOR_OK or MPIX_MONITOR_ABSENT. On an error it writes a line to standard error and returns
 * MPIX_MONITOR_ERR_ARGUMENT, _OPTION, _COMM, _PERIOD, _FILE, _TIME, _MEMORY, or _THREAD (enum MPIX_Monitor_result).
 *
 * f(report, own) is called once for each period, on a thread of mpit with all signals blocked. Only one such call runs
 * at a time, for all windows together. f is also called once at the end, on the thread that ends the window
 * (MPI_Finalize or MPIX_End_monitor). Two calls for one window never overlap, and reports come in order. The report is
 * valid until f returns. f may open and end windows. If it ends its own window, the last report comes after f has
 * returned. f may call MPI if the program's thread level allows that thread to do so. In a period's call this requires
 * MPI_THREAD_MULTIPLE. If f takes longer than the period, the next reports are late and have this in late_ns and
 * missed.
 *
 * Thread-safe at any time between MPI_Init and MPI_Finalize, also from f. MPI_Finalize ends all open windows, and a
 * window that comes later is refused (_TIME). When MPI_Finalize returns, no call of f for a period is running. If a
 * thread is canceled, this takes effect in f or after the function has returned, and its window is ended. Not for
 * signal handlers. In the child of a fork no window is open, and none can be opened. Source: 8.3.1, MPI_START_MONITOR.
 */
MPIT_MONITOR_INLINE int MPIX_Start_monitor(MPIX_Monitor_request *request, const MPIX_Monitorhandle *monitorhandle,
                                           MPIX_Monitor_function *f)
{
    const struct mpit_monitor_interface *interface_ = mpit_monitor_find();
    if (interface_)
        return interface_->start(request, (const struct mpit_monitorhandle *)(const void *)monitorhandle, f);
    if (request)
        *request = MPIX_MONITOR_REQUEST_NULL;
    return MPIX_MONITOR_ABSENT;
}

MPIT_MONITOR_INLINE void mpit_monitorhandle_reset(MPIX_Monitorhandle *handle)
{
    handle->profile = handle->pttopt = handle->coll = handle->comm = handle->msgsize = handle->traffic = 1;
    handle->other = 0;
}

/*
 * Ends a window. It reads all counters and resets the seven options of monitorhandle to MPIX_MONITORHANDLE_INIT. It
 * stops measurements that only this window needed. It delivers the last report before it returns. If it is called from
 * the window's own f, the last report comes after f has returned.
 *
 *   request        becomes MPIX_MONITOR_REQUEST_NULL. If it already is, nothing happens
 *   monitorhandle  the options to reset. May be NULL. Communicator, period, file, name and own stay
 *
 * Returns MPIX_MONITOR_OK or MPIX_MONITOR_ABSENT. On an error it writes a line to standard error and returns
 * MPIX_MONITOR_ERR_ARGUMENT (request is NULL) or MPIX_MONITOR_ERR_REQUEST (no window, or a window that was already
 * ended, perhaps by MPI_Finalize). The options are reset in all of these cases. Threads and signal handlers: as for
 * MPIX_Start_monitor. Any thread may end a window. If several threads try at once, one of them gets MPIX_MONITOR_OK.
 * Source: 8.3.1, MPI_END_MONITOR.
 */
MPIT_MONITOR_INLINE int MPIX_End_monitor(MPIX_Monitor_request *request, MPIX_Monitorhandle *monitorhandle)
{
    const struct mpit_monitor_interface *interface_ = mpit_monitor_find();
    if (monitorhandle)
        mpit_monitorhandle_reset(monitorhandle);
    if (interface_)
        return interface_->end(request, (struct mpit_monitorhandle *)(void *)monitorhandle);
    if (request)
        *request = MPIX_MONITOR_REQUEST_NULL;
    return MPIX_MONITOR_ABSENT;
}

/*
 * Element i of an array in a report, below its count: comms, colls, calls_before, calls_after, sites, counters. Any thread and
 * signal handler, while the report lasts.
 */
#define MPIT_MONITOR_ELEMENT(type, array, stride, i)                                                                   \
    ((const type *)(const void *)((const char *)(array) + (size_t)(stride) * (i)))

MPIT_MONITOR_INLINE const MPIX_Monitor_comm *MPIX_Monitor_comm_at(const MPIX_Monitor_interval *interval, uint32_t i)
{
    return MPIT_MONITOR_ELEMENT(MPIX_Monitor_comm, interval->comms, interval->comm_bytes, i);
}

MPIT_MONITOR_INLINE const MPIX_Monitor_coll *MPIX_Monitor_coll_at(const MPIX_Monitor_interval *interval, uint32_t i)
{
    return MPIT_MONITOR_ELEMENT(MPIX_Monitor_coll, interval->colls, interval->coll_bytes, i);
}

MPIT_MONITOR_INLINE const MPIX_Monitor_call *MPIX_Monitor_before_at(const MPIX_Monitor_interval *interval, uint32_t i)
{
    return MPIT_MONITOR_ELEMENT(MPIX_Monitor_call, interval->calls_before, interval->call_bytes, i);
}

MPIT_MONITOR_INLINE const MPIX_Monitor_call *MPIX_Monitor_after_at(const MPIX_Monitor_interval *interval, uint32_t i)
{
    return MPIT_MONITOR_ELEMENT(MPIX_Monitor_call, interval->calls_after, interval->call_bytes, i);
}

/* How many call sites the interval has. 0 also with an mpit that does not know them. As MPIX_Monitor_comm_at. */
MPIT_MONITOR_INLINE uint32_t MPIX_Monitor_site_count(const MPIX_Monitor_interval *interval)
{
    return interval->bytes > offsetof(MPIX_Monitor_interval, site_bytes) ? interval->site_count : 0;
}

MPIT_MONITOR_INLINE const MPIX_Monitor_site *MPIX_Monitor_site_at(const MPIX_Monitor_interval *interval, uint32_t i)
{
    return MPIT_MONITOR_ELEMENT(MPIX_Monitor_site, interval->sites, interval->site_bytes, i);
}

MPIT_MONITOR_INLINE const MPIX_Monitor_counter *MPIX_Monitor_counter_at(const MPIX_Monitor_interval *interval,
                                                                        uint32_t i)
{
    return MPIT_MONITOR_ELEMENT(MPIX_Monitor_counter, interval->other.counters, interval->other.counter_bytes, i);
}

/* Useful time of this process in nanoseconds (MPIX_Monitor_interval.useful_time_ns), or MPIX_MONITOR_UNKNOWN, also with
 * an mpit that does not know it. As MPIX_Monitor_comm_at. */
MPIT_MONITOR_INLINE uint64_t MPIX_Monitor_useful_ns(const MPIX_Monitor_interval *interval)
{
    return interval->bytes > offsetof(MPIX_Monitor_interval, useful_time_ns) ? interval->useful_time_ns
                                                                             : MPIX_MONITOR_UNKNOWN;
}

/* Efficiencies of several processes in an interval, each from 0 to 1. */
typedef struct MPIX_Monitor_efficiency {
    double parallel;      /* mean useful time / longest duration = load_balance * communication */
    double load_balance;  /* mean useful time / largest useful time. 1 if nobody computed */
    double communication; /* largest useful time / longest duration */
} MPIX_Monitor_efficiency;

/*
 * Computes the efficiencies of `count` processes. useful_ns[count] and duration_ns[count] have useful_time_ns and
 * duration_ns of each process, in nanoseconds, in the same order. mpit sends no messages, so the program gathers them
 * (MPI_Gather). Returns 1 and sets *efficiency, or returns 0 and leaves it: a value is MPIX_MONITOR_UNKNOWN, or no
 * duration is above 0. Any thread and signal handler. Source: POP metrics (pop-coe.eu).
 */
MPIT_MONITOR_INLINE int MPIX_Monitor_efficiencies(const uint64_t *useful_ns, const uint64_t *duration_ns, size_t count,
                                                  MPIX_Monitor_efficiency *efficiency)
{
    double sum = 0, largest = 0, longest = 0;
    for (size_t i = 0; i < count; i++) {
        double useful = (double)useful_ns[i], duration = (double)duration_ns[i];
        if (useful_ns[i] == MPIX_MONITOR_UNKNOWN || duration_ns[i] == MPIX_MONITOR_UNKNOWN)
            return 0;
        sum += useful;
        largest = useful > largest ? useful : largest;
        longest = duration > longest ? duration : longest;
    }
    if (!(longest > 0))
        return 0;
    efficiency->parallel = sum / (double)count / longest;
    efficiency->load_balance = largest > 0 ? sum / (double)count / largest : 1;
    efficiency->communication = largest / longest;
    return 1;
}

#if defined(__cplusplus)
}
#endif

#endif
