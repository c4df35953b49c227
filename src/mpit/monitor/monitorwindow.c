#include "monitor/monitorwindow.h"

#include "base/systemclock.h"
#include "registry/commreuse.h"
#include "settings/demand.h"
#include "settings/knobs.h"
#include "native.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    WINDOWS_MOST = 1 << 16,
    BEGIN = 0,
    SNAPSHOTS = 4,
    WRITE_WAIT_MS = 1000, /* for a reader to empty a pipe */
};

struct monitor_window {
    MPIX_Monitor_request request; /* 0: not open */
    uint32_t place;               /* in windows[] */
    struct monitor_order order;
    char name[MONITOR_NAME_BYTES];
    unsigned parts;
    uint64_t begin_monotonic_ns, number, sequence, missed, due_ns, late_ns;
    struct snapshot snapshots[SNAPSHOTS];
    unsigned previous, latest, final; /* indices of these. final: only between end and last report */
    enum MPIX_Monitor_reason reason;
    struct difference period, whole;
    bool delivering; /* a period's report is on its way, */
    bool ended;      /* it was ended meanwhile: the delivering thread then makes the last report */
    pthread_t deliverer;
    int cancel; /* whether the delivering thread could be canceled before: the same holds while the function runs */
    enum MPIX_Monitor_reason ended_reason;
    MPIX_Monitor_request done;   /* the last one whose last report another thread delivered */
    struct monitor_window *next; /* of the open ones, or of the free ones */
};

static pthread_mutex_t lock; /* made with priority inheritance */
static pthread_cond_t changed, delivered;
static pthread_once_t once = PTHREAD_ONCE_INIT; /* windows_prepare */
static struct monitor_window *windows[WINDOWS_MOST], *open_windows, *free_windows;
static uint32_t window_count;
static uint64_t generation;
static bool has_thread;
static bool telling; /* that thread is delivering a report, */
static pthread_t teller;

static void windows_lock(void)
{
    pthread_mutex_lock(&lock);
}

static void windows_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static void locks_make(void)
{
    pthread_mutexattr_t mutex;
    pthread_condattr_t condition;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setprotocol(&mutex, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&lock, &mutex);
    pthread_mutexattr_destroy(&mutex);
    pthread_condattr_init(&condition);
    pthread_condattr_setclock(&condition, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &condition);
    pthread_cond_init(&delivered, &condition);
    pthread_condattr_destroy(&condition);
}

/* Runs in the child of a fork. The lock was taken for it, but by the parent's thread. The child's thread, which has
 * another number, could not release it. Threads that waited do not exist in the child. */
static void window_fork_child(void)
{
    for (uint32_t i = 0; i < window_count; i++)
        windows[i]->request = 0;
    open_windows = free_windows = NULL;
    window_count = 0;
    has_thread = telling = false;
    snapshots_forget();
    locks_make();
}

static void windows_prepare(void)
{
    locks_make();
    pthread_atfork(windows_lock, windows_unlock, window_fork_child);
}

bool monitor_is_time(void)
{
    const struct run_header *header = book.run.header;
    return header && !book.run.detached && __atomic_load_n(&header->phase, __ATOMIC_ACQUIRE) == RUN_RUNNING &&
           !__atomic_load_n(&native.ending, __ATOMIC_ACQUIRE) && !__atomic_load_n(&native.finalizing, __ATOMIC_ACQUIRE);
}

/* ---- delivering -------------------------------------------------------------------------------------------------- */

static void window_text_write(int descriptor, char *text, size_t bytes)
{
    int before = errno, error = text ? native_output(descriptor, text, bytes, WRITE_WAIT_MS) : ENOMEM;
    if (error)
        native_say("mpit: MPIX_End_monitor: a report could not be written: %s",
                   error == EAGAIN ? "no process reads it" : strerror(error));
    free(text);
    errno = before;
}

/* Calls the program's function, which may cancel its thread as anywhere else. */
static void function_call(const struct monitor_window *window, const MPIX_Monitor_report *report)
{
    pthread_setcancelstate(window->cancel, NULL);
    window->order.function(report, window->order.own);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
}

static void report_deliver(const struct monitor_window *window, const MPIX_Monitor_report *report)
{
    size_t bytes = 0;
    if (window->order.function)
        function_call(window, report);
    if (window->order.file >= 0) {
        char *line = monitor_json(report, &bytes);
        window_text_write(window->order.file, line, bytes);
    } else if (!window->order.function) {
        char *text = monitor_text(report, &bytes);
        window_text_write(window->order.descriptor, text, bytes);
    }
}

static void report_fill(MPIX_Monitor_report *report, struct monitor_window *window)
{
    const struct run_header *header = book.run.header;
    bool due = window->reason == MPIX_MONITOR_AT_PERIOD;
    *report = (MPIX_Monitor_report){
        .bytes = sizeof *report,
        .reason = window->reason,
        .options = window->order.options,
        .rank = header->world_rank,
        .size = header->world_size,
        .last = !due,
        .name = window->name,
        .sequence = ++window->sequence,
        .period_ns = window->order.period_ns,
        .number = window->number,
        .missed = due ? window->missed : 0,
        .late_ns = due ? window->late_ns : 0,
        .large_bytes = knob_load(KNOB_LARGE_MESSAGE_BYTES),
        .timeout_ns = knob_load(KNOB_P2P_TIMEOUT_NS),
    };
}

/* Uses the window's own snapshots, so it needs no lock. */
static void window_deliver(struct monitor_window *window, MPIX_Monitor_request request)
{
    const char *warnings[WARNINGS_MOST];
    const struct snapshot *begin = &window->snapshots[BEGIN], *previous = &window->snapshots[window->previous],
                          *latest = &window->snapshots[window->latest];
    unsigned options = window->order.options;
    MPIX_Monitor_report report;
    report_fill(&report, window);
    report.request = request;
    difference_make(&window->period, previous, latest, window->order.only, options);
    difference_sites(&window->period, previous, latest, window->order.callsites);
    if (window->previous != BEGIN) {
        difference_make(&window->whole, begin, latest, window->order.only, options);
        difference_sites(&window->whole, begin, latest, window->order.callsites);
    }
    const struct difference *whole = window->previous != BEGIN ? &window->whole : &window->period;
    report.warning_count = difference_warnings(whole, begin, latest, options, warnings);
    report.warnings = warnings;
    report.period = &window->period.interval;
    report.whole = &whole->interval;
    if (window->reason == MPIX_MONITOR_AT_PERIOD)
        report.due_ns = report.whole->begin_ns + window->number * window->order.period_ns;
    report_deliver(window, &report);
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

/* Requests (1), or no longer requests (-1), the measurements that cost something. */
static void window_demand(unsigned options, int change)
{
    if (!(options & MPIX_MONITOR_OTHER))
        return;
    demand_change(DEMAND_FABRIC, change);
    demand_change(DEMAND_OS, change);
}

static void window_discard(struct monitor_window *window)
{
    for (unsigned i = 0; i < SNAPSHOTS && window; i++)
        snapshot_free(&window->snapshots[i]);
    free(window);
}

/* With memory for its snapshots. */
static struct monitor_window *monitor_window_make(void)
{
    struct monitor_window *window = calloc(1, sizeof *window);
    bool whole = window != NULL;
    for (unsigned i = 0; i < SNAPSHOTS && whole; i++)
        whole = snapshot_prepare(&window->snapshots[i]);
    if (whole)
        return window;
    window_discard(window);
    return NULL;
}

/* Under the lock, which it releases and takes again if there is none to reuse. */
static struct monitor_window *window_take(void)
{
    struct monitor_window *window = free_windows;
    if (window) {
        free_windows = window->next;
        return window;
    }
    windows_unlock();
    window = monitor_window_make();
    windows_lock();
    if (window && window_count == WINDOWS_MOST) {
        window_discard(window);
        return NULL;
    }
    if (window) {
        window->place = window_count;
        windows[window_count++] = window;
    }
    return window;
}

static void window_free(void *argument)
{
    struct monitor_window *window = argument;
    if (window->order.only)
        comm_unbind(window->order.only);
    if (window->order.file >= 0)
        close(window->order.file);
    windows_lock();
    window->next = free_windows;
    free_windows = window;
    windows_unlock();
}

static void *periods_deliver(void *unused);

/*
 * Makes the thread with the C library's pthread_create, past mpit's own wrapper for the program's threads. Under the
 * lock.
 */
static int window_thread_make(void)
{
    __typeof__(&pthread_create) create = (__typeof__(&pthread_create))native_symbol_of_c("pthread_create");
    pthread_t thread;
    sigset_t all, old;
    if (has_thread)
        return 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = create ? create(&thread, NULL, periods_deliver, NULL) : ENOSYS;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error)
        return error;
    pthread_detach(thread);
    has_thread = true;
    return 0;
}

static void window_begin(struct monitor_window *window, const struct monitor_order *order)
{
    window->order = *order;
    window->name[0] = '\0';
    if (order->name)
        strncat(window->name, order->name, sizeof window->name - 1);
    window->parts = difference_parts(order->options) | (order->callsites ? SNAPSHOT_PATHS : 0);
    window->number = window->sequence = window->missed = 0;
    window->previous = window->latest = BEGIN;
    window->delivering = window->ended = false;
    window->request = ++generation << 16 | window->place;
    window->next = open_windows;
    open_windows = window;
    if (order->period_ns)
        window->begin_monotonic_ns = monotonic_ns();
    snapshot_take(&window->snapshots[BEGIN], order->only, window->parts, SNAPSHOT_BEGIN);
    snapshot_open(&window->snapshots[BEGIN]);
}

int monitor_window_open(const struct monitor_order *order, MPIX_Monitor_request *request)
{
    int result = MPIX_MONITOR_OK;
    pthread_once(&once, windows_prepare);
    window_demand(order->options, 1);
    if (order->only)
        comm_bind(order->only);
    windows_lock();
    if (order->period_ns && window_thread_make() != 0)
        result = MPIX_MONITOR_ERR_THREAD;
    struct monitor_window *window = result == MPIX_MONITOR_OK ? window_take() : NULL;
    if (window && !monitor_is_time()) { /* the run has ended since the check above. Partner: run_ends */
        window->next = free_windows;
        free_windows = window;
        result = MPIX_MONITOR_ERR_TIME;
    } else if (window) {
        window_begin(window, order);
        *request = window->request;
        if (order->period_ns)
            pthread_cond_signal(&changed);
    } else if (result == MPIX_MONITOR_OK) {
        result = MPIX_MONITOR_ERR_MEMORY;
    }
    windows_unlock();
    if (result != MPIX_MONITOR_OK) {
        window_demand(order->options, -1);
        if (order->only)
            comm_unbind(order->only);
    }
    return result;
}

/* A snapshot that is neither the begin's nor a report's. */
static unsigned snapshot_spare(const struct monitor_window *window)
{
    unsigned spare = 1;
    while (spare == window->previous || spare == window->latest)
        spare++;
    return spare;
}

/* Under the lock: closes it. */
static void window_shut(struct monitor_window *window)
{
    struct monitor_window **at = &open_windows;
    window->final = snapshot_spare(window);
    snapshot_take(&window->snapshots[window->final], window->order.only, window->parts, SNAPSHOT_END);
    snapshot_close(&window->snapshots[BEGIN]);
    snapshot_close(&window->snapshots[window->previous]);
    snapshot_close(&window->snapshots[window->latest]);
    while (*at != window)
        at = &(*at)->next;
    *at = window->next;
    window->request = 0;
}

/* Makes the last report of a closed window, when no other report of it is being delivered. Without the lock. */
static void window_finish(struct monitor_window *window, MPIX_Monitor_request request, enum MPIX_Monitor_reason reason)
{
    window->reason = reason;
    window->latest = window->final;
    window_demand(window->order.options, -1);
    pthread_cleanup_push(window_free, window); /* also when the thread ends in the program's function */
    window_deliver(window, request);
    pthread_cleanup_pop(1);
}

/* Under the lock, which it releases. The thread cannot be canceled now. `cancel`: whether it could before. */
static void monitor_window_end(struct monitor_window *window, enum MPIX_Monitor_reason reason, int cancel)
{
    MPIX_Monitor_request request = window->request;
    window_shut(window);
    if (!window->delivering) {
        window->cancel = cancel;
        windows_unlock();
        window_finish(window, request, reason);
        return;
    }
    window->ended = true;
    window->ended_reason = reason;
    while (window->done < request && !pthread_equal(window->deliverer, pthread_self()))
        pthread_cond_wait(&delivered, &lock);
    windows_unlock();
}

int monitor_window_close(MPIX_Monitor_request request, int cancel)
{
    uint32_t place = (uint32_t)(request & (WINDOWS_MOST - 1));
    windows_lock();
    struct monitor_window *window = place < window_count ? windows[place] : NULL;
    if (!window || !request || window->request != request) {
        windows_unlock();
        return MPIX_MONITOR_ERR_REQUEST;
    }
    monitor_window_end(window, MPIX_MONITOR_AT_END, cancel);
    return MPIX_MONITOR_OK;
}

/* native.ending is set, so a thread that takes the lock later opens no window. */
static void run_ends(void)
{
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    pthread_once(&once, windows_prepare);
    windows_lock();
    while (open_windows) {
        monitor_window_end(open_windows, MPIX_MONITOR_AT_FINALIZE, cancel);
        windows_lock();
    }
    while (telling && !pthread_equal(teller, pthread_self())) /* a window may be ended from within its function */
        pthread_cond_wait(&delivered, &lock);
    windows_unlock();
    pthread_setcancelstate(cancel, NULL);
}

__attribute__((constructor)) static void monitor_hook(void)
{
    snapshot_run_ends = run_ends;
}

/* ---- periods ----------------------------------------------------------------------------------------------------- */

static uint64_t window_due(const struct monitor_window *window)
{
    uint64_t after, due;
    bool never = __builtin_mul_overflow(window->number + 1, window->order.period_ns, &after) ||
                 __builtin_add_overflow(window->begin_monotonic_ns, after, &due);
    return never ? UINT64_MAX : due;
}

static struct monitor_window *window_earliest(void)
{
    struct monitor_window *earliest = NULL;
    for (struct monitor_window *w = open_windows; w; w = w->next)
        if (w->order.period_ns && (!earliest || window_due(w) < window_due(earliest)))
            earliest = w;
    return earliest;
}

/* Under the lock: the period is over, and so are earlier ones without a report. */
static void window_tick(struct monitor_window *window, uint64_t now)
{
    uint64_t due = window_due(window);
    window->missed = (now - due) / window->order.period_ns;
    window->number += 1 + window->missed;
    window->late_ns = now - due - window->missed * window->order.period_ns;
    window->latest = snapshot_spare(window);
    snapshot_take(&window->snapshots[window->latest], window->order.only, window->parts, SNAPSHOT_BEGIN);
    if (window->previous != BEGIN)
        snapshot_close(&window->snapshots[window->previous]);
    snapshot_open(&window->snapshots[window->latest]);
    window->reason = MPIX_MONITOR_AT_PERIOD;
    window->delivering = true;
    window->deliverer = pthread_self();
    window->cancel = PTHREAD_CANCEL_DISABLE;
}

/* Under the lock, which it releases and takes. */
static void window_period(struct monitor_window *window, uint64_t now)
{
    MPIX_Monitor_request request = window->request;
    window_tick(window, now);
    telling = true;
    windows_unlock();
    window_deliver(window, request);
    windows_lock();
    window->previous = window->latest;
    window->delivering = false;
    if (window->ended) {
        windows_unlock();
        window_finish(window, request, window->ended_reason);
        windows_lock();
        window->done = request;
    }
    telling = false;
    pthread_cond_broadcast(&delivered);
}

static void *periods_deliver(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "mpit-monitor");
    prctl(PR_SET_TIMERSLACK, 1);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    windows_lock();
    teller = pthread_self();
    for (;;) {
        struct monitor_window *window = window_earliest();
        if (!window) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        uint64_t due = window_due(window), now = monotonic_ns();
        if (due <= now) {
            window_period(window, now);
            continue;
        }
        struct timespec until = {.tv_sec = (time_t)(due / 1000000000u), .tv_nsec = (long)(due % 1000000000u)};
        pthread_cond_timedwait(&changed, &lock, &until);
    }
    return NULL;
}
