/*
 * The interface between a program and mpit for monitor windows: the handle, and mpit's table of functions. It does not
 * use mpi.h, so that one library serves all MPIs (libmpit-monitor, for Fortran). C and C++ programs include
 * <mpit/monitor.h>.
 *
 * Layout and numbers are a contract between binaries of different age: fields and functions are added at the end.
 */
#ifndef MPIT_MONITOR_INTERFACE_H
#define MPIT_MONITOR_INTERFACE_H

#include <mpit/monitor_report.h>

#if defined(__cplusplus)
extern "C" {
#endif

enum { MPIT_MONITOR_VERSION = 1 };

/* Return values of MPIX_Start_monitor and MPIX_End_monitor. Every error from MPIX_MONITOR_ERR_ARGUMENT on is also
 * reported in one line on standard error. The program continues without a window. */
enum MPIX_Monitor_result {
    MPIX_MONITOR_OK = 0,
    MPIX_MONITOR_ABSENT = 1, /* nothing monitors: mpit is not loaded, too old, or records nothing in this process */
    MPIX_MONITOR_ERR_ARGUMENT = 2, /* a NULL pointer, or a monitorhandle of another layout */
    MPIX_MONITOR_ERR_OPTION = 3,   /* an option that is neither 1 nor 0, or callsites that are not allowed */
    MPIX_MONITOR_ERR_COMM = 4,     /* the communicator is not alive */
    MPIX_MONITOR_ERR_PERIOD = 5,   /* below MPIX_MONITOR_PERIOD_LEAST, above _MOST, or negative (Fortran) */
    MPIX_MONITOR_ERR_FILE = 6,     /* the file cannot be opened */
    MPIX_MONITOR_ERR_REQUEST = 7,  /* not the request of a window that is open */
    MPIX_MONITOR_ERR_TIME = 8,     /* before MPI_Init has returned, or after MPI_Finalize has begun */
    MPIX_MONITOR_ERR_MEMORY = 9,   /* none left */
    MPIX_MONITOR_ERR_THREAD = 10   /* the thread for periods cannot be made */
};

/* The largest monitorhandle.callsites. */
#define MPIX_MONITOR_CALLSITES_MOST 64
/* 10 microseconds. */
#define MPIX_MONITOR_PERIOD_LEAST 10000
/* 146 years. */
#define MPIX_MONITOR_PERIOD_MOST (UINT64_C(1) << 62)

/* An open window, or 0 for none. */
typedef uint64_t MPIX_Monitor_request;

typedef void MPIX_Monitor_function(const MPIX_Monitor_report *report, void *own);

/* A monitorhandle without MPI_Comm: `communicator` begins with the bits of the handle. The other bits may have any
 * value. */
struct mpit_monitorhandle {
    uint32_t bytes;
    int32_t profile, other, pttopt, coll, comm, msgsize, traffic;
    uint64_t communicator;
    uint64_t period_ns;
    const char *file, *name;
    void *own;
    int32_t descriptor, callsites; /* callsites: 0 in programs from before */
};

struct mpit_monitor_interface {
    uint32_t version, bytes;
    int (*start)(MPIX_Monitor_request *request, const struct mpit_monitorhandle *handle,
                 MPIX_Monitor_function *function);
    int (*end)(MPIX_Monitor_request *request, struct mpit_monitorhandle *handle);
    /* The communicator is a Fortran integer. A negative one selects all. */
    int (*start_fortran)(MPIX_Monitor_request *request, const struct mpit_monitorhandle *handle,
                         MPIX_Monitor_function *function, int32_t communicator);
};

/* The type of the function "mpit_monitor_interface" in a process with mpit. It returns NULL if mpit is older than
 * `version`, or if MPIT_DISABLE is set. Thread-safe. Not for signal handlers. */
typedef const struct mpit_monitor_interface *mpit_monitor_interface_function(uint32_t version);

#if defined(__cplusplus)
}
#endif

#endif
