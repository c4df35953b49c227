/*
 * The state of a thread in MPI, for profilers that sample.
 *
 * Source: "MPI State Profiling" (M. Itzkowitz, Sun Microsystems, 2008). A thread is not in MPI, or at work in MPI, or
 * stalled in MPI. It is stalled while MPI looks for something to do and finds nothing, no matter whether it spins,
 * yields or sleeps. mpit splits the stalls by the purpose of the call.
 *
 * A profiler finds the function in the process that it profiles and calls it in its signal handler:
 *
 *     #include <mpit/collector.h>
 *     mpi_collector_api_t state = (mpi_collector_api_t)dlsym(RTLD_DEFAULT, "mpi_collector_api");
 *     ... in the handler:  int now = state ? state(NULL) : MPIT_STATE_NOT_IN_MPI;
 *
 * If the process has no such symbol, no library keeps the state. The items of the MPI_T enumeration `mpit_state` have
 * the same values. The performance variable of that name has the value for the calling thread.
 */
#ifndef MPIT_COLLECTOR_H
#define MPIT_COLLECTOR_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mpit_state {
    MPIT_STATE_NOT_IN_MPI = 0, /* also: MPI is not initialized, or the thread has never called it */
    MPIT_STATE_WORK = 1,       /* in MPI, and not known to be stalled */
    MPIT_STATE_STALL_SEND = 2, /* stalled in a blocking send */
    MPIT_STATE_STALL_RECV = 3, /* in a blocking receive, a send and receive, or a probe */
    MPIT_STATE_STALL_COLL = 4, /* in a collective */
    MPIT_STATE_STALL_WAIT = 5, /* in the completion of requests of any kind (MPI_Wait and its kin) */
    MPIT_STATE_STALL_OTHER = 6 /* in any other call: windows, communicators, dynamic processes */
} mpit_state;

/*
 * Returns the state of the calling thread, one of enum mpit_state. `reserved` is ignored. Pass NULL.
 *
 * Async-signal-safe, and safe in any thread at any time: no lock, no system call, no memory. During entry or exit of a
 * call, the result may show either side. A thread whose calls are not recorded (a filter, MPI_Pcontrol, MPIT_DISABLE)
 * is not in MPI for this function.
 */
int mpi_collector_api(void *reserved);

typedef int (*mpi_collector_api_t)(void *);

#ifdef __cplusplus
}
#endif

#endif
