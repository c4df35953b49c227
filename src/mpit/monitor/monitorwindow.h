/*
 * Monitor windows (include/mpit/monitor.h): which are open, and how they report.
 *
 *   window ─┬─ begin     snapshot where it was opened (src/aggregate/monitor/snapshot.h)
 *           ├─ previous  the one of its last report; `begin` until there is one
 *           ├─ latest    the one of the report that is being made
 *           └─ period, whole     differences: previous .. latest and begin .. latest
 *
 *   MPIX_Start_monitor   lock, snapshot, unlock
 *   MPIX_End_monitor     lock, snapshot, unlock; then: differences, the function, file or print
 *   one thread           waits for the earliest period that is due (absolute times: no drift), and does the same
 *
 * Windows, with the memory of their snapshots, are used again and never freed; so opening and closing one asks neither
 * for memory nor the system for anything. The lock is held for snapshots and lists, never while the program's function
 * runs or something is written, and no MPI call looks at it.
 *
 * The end of the run: native.ending is set, then all are ended under the lock; opening looks at native.ending under the
 * lock. So a window is either ended there or not opened.
 *
 * Always: a window that is open has its request and is in the list; one that is closed is its closer's, after a report
 * of a period that is under way has been delivered. Of the function of the window itself, that is its thread, later.
 *
 * Who may run with whom: any thread, f included; not signal handlers. The child of a fork has no windows.
 */
#ifndef MPIT_MPIT_MONITORWINDOW_H
#define MPIT_MPIT_MONITORWINDOW_H

#include "monitor/difference.h"

#include "mpit/monitor_interface.h"

enum { MONITOR_NAME_BYTES = 64 };

struct monitor_order {
    unsigned options; /* enum MPIX_Monitor_option */
    struct comm *only;
    MPIX_Monitor_function *function;
    void *own;
    uint64_t period_ns;
    const char *name;
    int file; /* descriptor; -1: none. The window's from now on */
    int descriptor;
};

/* May windows be open now? */
bool monitor_is_time(void);
/* Both with cancellation disabled: who waits in there takes the lock, and who writes must come back. */
int monitor_window_open(const struct monitor_order *order, MPIX_Monitor_request *request);
/* `cancel`: the state of cancellation that the thread came with. */
int monitor_window_close(MPIX_Monitor_request request, int cancel);

/* A report as a line of JSON, with its newline, or as text for people. NULL without memory; the caller frees it. */
char *monitor_json(const MPIX_Monitor_report *report, size_t *bytes);
char *monitor_text(const MPIX_Monitor_report *report, size_t *bytes);

#endif
