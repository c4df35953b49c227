/*
 * The state of a thread in MPI, for profilers that sample.
 *
 * Source: "MPI State Profiling" (M. Itzkowitz, Sun Microsystems, 2008): a thread is not in MPI, or in MPI and at work,
 * or in MPI and stalled, which is to say that MPI looks for something to do and finds nothing, whether it spins, yields
 * or sleeps. The stall is split here by what the call that stalls is for.
 *
 * A profiler finds the function in the process that it profiles and calls it in its signal handler:
 *
 *     #include <mpit/collector.h>
 *     mpi_collector_api_t state = (mpi_collector_api_t)dlsym(RTLD_DEFAULT, "mpi_collector_api");
 *     ... in the handler:  int now = state ? state(NULL) : MPIT_STATE_NOT_IN_MPI;
 *
 * Where no such symbol is in the process, nobody keeps the state. The same values are the items of the MPI_T
 * enumeration `mpit_state`, and the performance variable of that name has the value for the calling thread.
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
    MPIT_STATE_STALL_WAIT = 5, /* in the completion of requests (MPI_Wait and its kin), of whatever these are */
    MPIT_STATE_STALL_OTHER = 6 /* in any other call: windows, communicators, dynamic processes */
} mpit_state;

/*
 * Returns the state of the calling thread, one of enum mpit_state. `reserved`: NULL; it is not looked at.
 *
 * Async-signal-safe, and safe in any thread at any time: no lock, no system call, no memory. A call that is being
 * entered or left is on either side of the boundary. A thread whose calls are not recorded (a filter, MPI_Pcontrol,
 * MPIT_DISABLE) is not in MPI for this function.
 */
int mpi_collector_api(void *reserved);

typedef int (*mpi_collector_api_t)(void *);

#ifdef __cplusplus
}
#endif

#endif
