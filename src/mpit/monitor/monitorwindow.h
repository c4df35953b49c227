/*
 * Monitor windows (include/mpit/monitor.h): which are open, and how they report.
 *
 *   window ─┬─ begin     snapshot where it was opened (src/aggregate/monitor/snapshot.h)
 *           ├─ previous  the one of its last report, or `begin`
 *           ├─ latest    the one of the report that is being made
 *           └─ period, whole     differences: previous .. latest and begin .. latest
 *
 *   MPIX_Start_monitor   lock, snapshot, unlock
 *   MPIX_End_monitor     lock, snapshot, unlock, then: differences, the function, file or print
 *   one thread           waits for the earliest period that is due (absolute times: no drift), and does the same
 *
 * Windows, with the memory of their snapshots, are reused and never freed. So opening and closing one needs neither
 * memory nor the system. The lock is held for snapshots and lists, never while the program's function runs or something
 * is written. MPI calls never take it.
 *
 * At the end of the run native.ending is set. Then all windows are ended under the lock. Opening reads native.ending
 * under the lock. So a window is either ended there or not opened.
 *
 * Always: an open window has its request and is in the list. A closed window belongs to the closing thread, once a
 * report of a period in progress was delivered. If the window's own function closed it, it belongs to that thread,
 * later.
 *
 * Who may run with whom: any thread, and the program's function, but no signal handler. The child of a fork has no
 * windows.
 */
#ifndef MPIT_MPIT_MONITORWINDOW_H
#define MPIT_MPIT_MONITORWINDOW_H

#include "monitor/difference.h"

#include "mpit/monitor_interface.h"

enum { MONITOR_NAME_BYTES = 64 };

struct monitor_order {
    unsigned options; /* enum MPIX_Monitor_option */
    unsigned callsites;
    struct comm *only;
    MPIX_Monitor_function *function;
    void *own;
    uint64_t period_ns;
    const char *name;
    int file; /* descriptor. -1: none. It belongs to the window from now on */
    int descriptor;
};

/* True if windows may be open now. */
bool monitor_is_time(void);
/*
 * Both are called with cancellation disabled: a thread that waits in there takes the lock, and a writing thread must
 * come back.
 */
int monitor_window_open(const struct monitor_order *order, MPIX_Monitor_request *request);
/* `cancel`: the cancellation state of the calling thread before. */
int monitor_window_close(MPIX_Monitor_request request, int cancel);

/* A report as a line of JSON, with its newline, or as text for people. The caller frees it. NULL without memory. */
char *monitor_json(const MPIX_Monitor_report *report, size_t *bytes);
char *monitor_text(const MPIX_Monitor_report *report, size_t *bytes);

#endif
