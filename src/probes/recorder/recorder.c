#define _GNU_SOURCE
#include "recorder/recorder.h"

#include "recorder/clocks.h"
#include "communicators/communicator.h"
#include "registry/commreuse.h"
#include "fabric/fabric.h"
#include "counters/counters.h"
#include "recorder/environment.h"
#include "recorder/handover.h"
#include "instruments/instruments.h"
#include "recorder/job.h"
#include "recorder/left.h"
#include "wrappers/collective.h"
#include "wrappers/next.h"
#include "recorder/opening.h"
#include "wrappers/pcontrol.h"
#include "preload.h"
#include "requests/request.h"
#include "writer/runguard.h"
#include "sampler/sampler.h"
#include "thread/refusal.h"
#include "counters/sde.h"
#include "settings/settings.h"
#include "monitor/snapshot.h"
#include "wrappers/switchboard.h"
#include "umq/umq.h"
#include "site/setting.h"
#include "progress/openmp.h"
#include "progress/memory.h"
#include "recorder/usage.h"

#include <stdlib.h>
#include <unistd.h>

/*
 * The run and MPI_COMM_WORLD have a state each, since sessions let one go on without the other.
 *
 *                                                  ┌────────────4────────────┐
 *                                                  v                         │
 *     LIFE_NONE ──1──> LIFE_BEGUN ──2──> LIFE_KNOWN ──3──> LIFE_CLOSED ──────┘
 *                          │                                    ^
 *                          └──5──> LIFE_BELOW ──6───────────────┘
 *
 *   1  run_begin: the thread that calls the first MPI_Init or MPI_Session_init, or that opens a library below MPI
 *   2  process_know: the thread of the first MPI_Init or MPI_Session_init that succeeds
 *   3  run_end: the thread that leaves the last MPI_Finalize or MPI_Session_finalize, or a MPI_Session_init that failed
 *      after these. LIFE_BEGUN is closed like this, too, if nobody could learn the facts
 *   4  run_go_on: the thread that initializes MPI again. A run that was closed as LIFE_BEGUN becomes that again
 *   5  below_begin: the same thread as in 1, if it opens a library below MPI in a process without MPI
 *   6  recorder_exiting: the thread that ends the process
 *
 *     WORLD_NONE ──> WORLD_BEGUN ──> WORLD_KNOWN ──┬──> WORLD_ENDING ───────┬──> WORLD_ENDED
 *                │               │                 └──> WORLD_ENDING_LAST ──┘ │
 *             MPI_Init     it has succeeded       MPI_Finalize            it has returned
 *
 * The thread that calls MPI_Init or MPI_Finalize makes these steps. If MPI_Init fails, or is not recorded, WORLD_BEGUN
 * stays until MPI_Finalize. An MPI_Finalize that is not recorded leads to WORLD_ENDED at once.
 *
 * The child of a fork keeps both states of its parent. There recorder_on is false, and book.run.detached is true.
 */
enum life {
    LIFE_NONE,   /* there is no run yet, or this process takes no part */
    LIFE_BELOW,  /* a run without MPI */
    LIFE_BEGUN,  /* MPI is being initialized: rank and level of threads are not known */
    LIFE_KNOWN,  /* they are known */
    LIFE_CLOSED, /* neither the world nor a session is open */
};

enum world {
    WORLD_NONE,
    WORLD_BEGUN,
    WORLD_KNOWN,
    WORLD_ENDING,      /* sessions were open when MPI_Finalize began */
    WORLD_ENDING_LAST, /* none was */
    WORLD_ENDED,
};

/* All changes are under the lock, because sessions open and close on any thread. */
static pthread_mutex_t lifetime = PTHREAD_MUTEX_INITIALIZER;
static enum life life; /* recorder_start_below reads it without the lock */
static enum world world;
static unsigned opening; /* calls of MPI_Session_init that have not returned */
static struct opened opened;

const char *recorder_directory(void)
{
    return opened.directory[0] ? opened.directory : NULL;
}

const char *recorder_asked(void)
{
    return opened.asked;
}

/* False: this process takes no part (other ABI, MPIT_DISABLE). */
static bool takes_part(void)
{
    if (native.present && !setting_disabled()) {
        mpit_preload.recorded = true;
        return true;
    }
    next_pass();
    return false;
}

/* MPI is initialized in a process that is recorded without it, and may be of another ABI. */
static void below_stays(void)
{
    native_say("mpit: MPI is initialized in a process that libfabric or UCX is recorded of already: its calls are not "
               "recorded; with MPIT_FABRIC=0 they are");
    next_pass();
}

/* True if a call that initializes MPI belongs to the run, or begins it. The caller holds the lock. */
static bool mpi_joins(void)
{
    if (life == LIFE_BELOW)
        below_stays();
    return life >= LIFE_BEGUN || (life == LIFE_NONE && takes_part());
}

static void life_set(enum life next)
{
    __atomic_store_n(&life, next, __ATOMIC_RELEASE); /* partner: recorder_start_below */
}

static bool recording(void)
{
    return __atomic_load_n(&recorder_on, __ATOMIC_ACQUIRE);
}

static uint64_t exit_status; /* as in the header */

static void exit_take(int status, void *unused)
{
    (void)unused;
    exit_status = EXIT_KNOWN | (status & 0xff);
}

/* The caller holds the lock. */
static void run_begin(bool session)
{
    life_set(LIFE_BEGUN);
    opened.by_session = session;
    RELAXED_STORE(&book.concurrent, session); /* other threads may open theirs at once */
    if (run_start(&opened)) {
        log_fork_prepare();
        (void)on_exit(exit_take, NULL);
        __atomic_store_n(&recorder_on, true, __ATOMIC_RELEASE);
        opened.samples_refused = !sampler_begin();
        pcontrol_begin();
    }
}

/* Sessions that are being opened count as open, because they cannot be told apart. The caller holds the lock. */
static bool session_is_open(void)
{
    return opening || native_session_count();
}

static bool world_is_over(void)
{
    return world == WORLD_NONE || world == WORLD_ENDED;
}

/* A window that a reader opens meanwhile is ended here, or is refused. */
static void windows_end(void)
{
    __atomic_store_n(&native.ending, true, __ATOMIC_RELEASE);
    if (snapshot_run_ends)
        snapshot_run_ends();
}

static void ending_revoke(void)
{
    if (book.run.header)
        book.run.header->usage.known = 0;
    __atomic_store_n(&native.finalizing, false, __ATOMIC_RELEASE);
    __atomic_store_n(&native.ending, false, __ATOMIC_RELEASE);
}

/* All had been closed, and one is opened again. The caller holds the lock. */
static void run_go_on(void)
{
    struct run_header *header = book.run.header;
    if (life != LIFE_CLOSED)
        return;
    life_set(header && header->world_size ? LIFE_KNOWN : LIFE_BEGUN);
    ending_revoke();
    (void)!run_reopen(&book.run); /* false: the run goes on in memory */
    __atomic_store_n(&recorder_on, header != NULL && !book.run.detached, __ATOMIC_RELEASE);
    if (recorder_on)
        sampler_begin();
    switchboard_close(false);
}

/* Another session may open a closed run again. So its results are collected when the process ends. */
static void run_end(enum run_phase phase)
{
    __atomic_store_n(&recorder_on, false, __ATOMIC_RELEASE);
    switchboard_close(true);
    sampler_end();
    life_set(LIFE_CLOSED);
    instrument_publish();
    run_unfiled(&book.run, book_events_unfiled());
    run_close(&book.run, phase, true);
    if (phase == RUN_FINALIZED)
        handover_end(opened.spool, opened.directory);
}

bool recorder_start(struct probe *probe, enum call kind)
{
    next_find(NULL);
    probe->log = NULL;
    pthread_mutex_lock(&lifetime);
    bool mine = mpi_joins() && world == WORLD_NONE;
    if (mine)
        world = WORLD_BEGUN;
    if (mine && life == LIFE_NONE)
        run_begin(false);
    else if (mine)
        run_go_on();
    pthread_mutex_unlock(&lifetime);
    if (!mine)
        return false;
    if (recorder_directory())
        clocks_expect(opened.clocks_asked && recording());
    bool entered = recording() && probe_enter(probe, kind, 0, PEER_NONE);
    native_hold();
    if (entered)
        log_below(probe->log);
    return true;
}

static void run_time_begin(struct run_header *header)
{
    usage_begin();
    memory_begin(header, clock_calibrate());
    header->init_ticks = clock_now();
    openmp_begin();
}

static void header_complete(void)
{
    struct run_header *header = book.run.header;
    int rank = 0, size = 1;
    MPI_Group group = native.group_null;
    if (native_world_group(&group)) {
        native.Group_rank(group, &rank);
        native.Group_size(group, &size);
        native.Group_free(&group);
    }
    header->job = job_number(opened.asked, size);
    header->spawned = world_is_spawned();
    header->parent_job = job_parent_number(opened.asked);
    header->clock_mult = book.scale.mult;
    run_time_begin(header);
    header->world_rank = rank;
    __atomic_store_n(&header->world_size, size, __ATOMIC_RELEASE);
    __atomic_store_n(&header->phase, RUN_RUNNING, __ATOMIC_RELEASE);
    run_guard(&book.run); /* a library that MPI_Init has loaded may have a handler of its own */
    run_guard_remember(&book.run);
    sampler_ranked(rank);
}

/* The process is a job of its own. The caller holds the lock. */
static void below_begin(void)
{
    struct run_header *header;
    run_begin(true); /* its threads may run at once */
    if (!recorder_on)
        return;
    life_set(LIFE_BELOW);
    header = book.run.header;
    book.scale = clock_calibrate();
    knobs_scale(book.scale.mult);
    header->job = job_number(opened.asked, 1);
    header->clock_mult = book.scale.mult;
    run_time_begin(header);
    header->mpi[0] = '\0';
    header->apart = 1; /* mpit-list shows its counts, from its file */
    header->world_rank = 0;
    __atomic_store_n(&header->world_size, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&header->phase, RUN_RUNNING, __ATOMIC_RELEASE);
    settings_tell(native_say);
}

void recorder_start_below(void)
{
    uint64_t wanted = 0;
    char problem[KNOB_PROBLEM_BYTES];
    if (__atomic_load_n(&life, __ATOMIC_ACQUIRE) != LIFE_NONE || !setting("MPIT_FABRIC") || setting_disabled() ||
        !knob_from_environment(KNOB_FABRIC, &wanted, problem) || !wanted || native_find() || native.mismatch)
        return;
    pthread_mutex_lock(&lifetime);
    if (life == LIFE_NONE) {
        mpit_preload.recorded = true;
        below_begin();
    }
    pthread_mutex_unlock(&lifetime);
}

/* MPI has loaded its progress engine. */
static void stall_learn(void)
{
    bool known = stall_opal_here() || stall_ucx_here() || stall_fabric_here();
    RELAXED_STORE(&book.run.header->stall_known, known);
    if (!known)
        opened_say(
            "mpit: this MPI library makes progress in a way that mpit does not know: all time inside of MPI counts as "
            "work, and mpit_stall_known is 0");
}

/* Threads may run at once in MPI from now on. */
static void threads_share(void)
{
    book_share();
    requests_share();
    switchboard_set();
}

static void facts_learn(struct log *log)
{
    int level = MPI_THREAD_SINGLE;
    if (!opened.by_session)
        native.Query_thread(&level);
    /* other threads may have their logs already: MPI_Initialized is a call, too */
    if (level == MPI_THREAD_MULTIPLE)
        threads_share();
    book.scale = clock_calibrate();
    knobs_scale(book.scale.mult);
    const bool *yields = native_symbol("opal_progress_yield_when_idle"); /* Open MPI has decided */
    processor_open(book.scale);
    stall_scale(log, book.scale, yields && *yields);
    stall_learn();
    if (!book_is_shared() && stall_patience)
        stall_opal_rest(true);
    native_types_find();
    operations_find();
    umq_pending_visit = request_pending_visit;
    comm_pending_visit = request_comm_visit;
}

/* MPI is initialized, by MPI_Init or by a session. log: NULL without memory. */
static void process_know(struct log *log)
{
    pthread_mutex_lock(&lifetime);
    if (life == LIFE_BEGUN) {
        facts_learn(log);
        header_complete();
        environment_tell(&opened);
        life_set(LIFE_KNOWN);
    }
    pthread_mutex_unlock(&lifetime);
}

/* A tool between mpit and the library reads variables before MPI_Init has returned to mpit. */
void recorder_ready(void)
{
    struct log *log = thread_log;
    pthread_mutex_lock(&lifetime);
    bool first = world < WORLD_KNOWN, mine = first && recording() && life != LIFE_BELOW;
    if (first)
        __atomic_store_n(&native.world, true, __ATOMIC_RELEASE); /* partner: native_world_group */
    if (first && recording() && world == WORLD_BEGUN)
        world = WORLD_KNOWN;
    pthread_mutex_unlock(&lifetime);
    if (!mine)
        return;
    process_know(log);
    if (!log)
        return; /* without memory: what has no thread has no communicators either */
    comm_predefined_add();
    comm_parent_add();
}

/* Shows the process as inside of MPI_Init or MPI_Finalize while processes wait for each other: after the library's
 * MPI_Init and before its MPI_Finalize. It does not count, like all calls that mpit makes. Readers that add up the
 * calls in progress recognize it by its begin. NULL: there is nothing to show. */
static struct log *call_show(enum call kind, uint64_t since)
{
    struct log *log = log_refused() ? NULL : log_get();
    uintptr_t outer;
    if (!log || log->innermost || !log_in(log, stack_entered(), &outer))
        return NULL;
    stall_call_begin(&log->stall);
    state_set(log->state, kind, 0, PEER_NONE, since);
    log_below(log);
    return log;
}

static void call_hide(struct log *shown)
{
    if (!shown)
        return;
    log_back(shown);
    stall_forget(shown);
    RELAXED_STORE(&shown->state->call, CALL_NONE);
    log_out(shown, 0);
}

void recorder_started(struct probe *probe, enum call kind, int result)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    if (probe->log)
        log_back(probe->log);
    native_release();
    if (probe->log) {
        probe_leave(probe, FOLD_CALL, 0, NULL, result, event, 0);
        probe_close(probe);
    }
    if (result != MPI_SUCCESS)
        return;
    recorder_ready();
    spool_share_set(&opened, 1);
    (void)world_is_spawned(); /* later it may have parted from its parents */
    bool measured = recorder_directory() && opened.clocks_asked;
    struct log *shown =
        measured && probe->log && !opened.by_session ? call_show(kind, book.run.header->init_ticks) : NULL;
    if (recorder_directory())
        clocks_begin(opened.clocks_asked && probe->log);
    call_hide(shown);
    if (recording() && !opened.by_session)
        run_time_begin(book.run.header);
    if (!probe->log)
        return;
    instruments_sample(probe->log);
    sde_publish(native_say);
}

/* The world's communicators are over for the program, while sessions go on. */
static void world_retire(void)
{
    const MPI_Comm predefined[] = {native.comm_world, native.comm_self};
    for (size_t i = 0; i < sizeof predefined / sizeof predefined[0]; i++) {
        struct comm *comm = book_comm_find(abi_handle_of_comm(predefined[i]));
        if (comm)
            book_comm_retire(comm);
    }
}

/* Completes the figures that wait for the end of recording. */
static void figures_complete(struct log *log)
{
    uintptr_t outer;
    if (!log_in(log, stack_entered(), &outer))
        return;
    instruments_sample(log);
    counters_flush(log);
    log_out(log, outer);
}

/* Completes what is known of the process at its end. */
static void process_end(void)
{
    openmp_end();
    memory_end();
    left_end();
    usage_end(book.run.header);
}

bool recorder_finish(struct probe *probe)
{
    bool recorded = recording();
    struct log *log = recorded && !log_refused() ? log_get() : NULL;
    probe->log = NULL;
    pthread_mutex_lock(&lifetime);
    /* a tool between mpit and the library calls it once more; a child of fork must not meet the others of its parent's
     * job */
    bool mine = (world == WORLD_BEGUN || world == WORLD_KNOWN) && !book.run.detached;
    bool last = mine && !session_is_open();
    if (mine && recorded)
        world = last ? WORLD_ENDING_LAST : WORLD_ENDING;
    else if (mine)
        world = WORLD_ENDED; /* its return is not seen */
    pthread_mutex_unlock(&lifetime);
    if (!mine)
        return false;
    if (recorded && last)
        windows_end();
    if (recorded) {
        if (last) {
            RELAXED_STORE(&book.run.header->finalize_ticks, clock_now());
            process_end();
        }
        instrument_publish();
        if (log)
            figures_complete(log);
    }
    struct log *shown = recorded && last ? call_show(CALL_MPI_Finalize, book.run.header->finalize_ticks) : NULL;
    if (recorder_directory())
        clocks_end(recorded && (opened.clocks_asked || book.run.header->traced != TRACED_NOT));
    call_hide(shown);
    __atomic_store_n(&native.world, false, __ATOMIC_RELEASE);
    if (last)
        __atomic_store_n(&native.finalizing, true, __ATOMIC_RELEASE); /* partner: native_between */
    else if (recorded)
        world_retire();
    if (recorded) {
        native_hold();
        if (probe_enter(probe, CALL_MPI_Finalize, 0, PEER_NONE))
            log_below(probe->log);
    }
    return recorded;
}

/* True if sessions may come after MPI_Finalize, because this MPI has them. */
static bool sessions_may_come(void)
{
    return native_symbol("PMPI_Session_init") != NULL;
}

void recorder_finished(struct probe *probe, int result)
{
    struct event event = {.kind = CALL_MPI_Finalize, .peer = PEER_NONE};
    if (probe->log)
        log_back(probe->log);
    native_release();
    if (probe->log) {
        probe_leave(probe, FOLD_CALL, 0, NULL, result, event, 0);
        probe_close(probe);
    }
    clocks_ended();
    pthread_mutex_lock(&lifetime);
    bool last = world == WORLD_ENDING_LAST;
    world = WORLD_ENDED;
    if (last)
        run_end(sessions_may_come() ? RUN_CLOSED : RUN_FINALIZED);
    else if (!session_is_open())
        run_end(RUN_CLOSED); /* the last one was closed meanwhile */
    if (native_session_count())
        run_go_on(); /* or one was opened, which was not known when MPI_Finalize began */
    pthread_mutex_unlock(&lifetime);
}

/* With a session other threads may come into MPI, at any level of MPI_Init. The caller holds the lock. */
static void threads_expect(void)
{
    if (book_is_shared())
        return;
    threads_share();
    stall_opal_rest(false);
}

bool recorder_session_start(struct session_probe *session, enum call kind)
{
    next_find(NULL);
    session->probe.log = NULL;
    pthread_mutex_lock(&lifetime);
    bool part = mpi_joins();
    session->edge = part && life == LIFE_NONE;
    if (session->edge)
        run_begin(true);
    else if (part)
        threads_expect();
    opening += part;
    pthread_mutex_unlock(&lifetime);
    if (!part)
        return false;
    bool entered = recording() && probe_enter(&session->probe, kind, 0, PEER_NONE);
    if (session->edge)
        native_hold();
    if (entered)
        log_below(session->probe.log);
    return true;
}

static void session_leave(const struct session_probe *session, enum call kind, int result)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    if (session->probe.log)
        log_back(session->probe.log);
    if (session->edge)
        native_release();
    if (!session->probe.log)
        return;
    if (session->edge)
        book.run.header->session_ticks += clock_now() - session->probe.begin;
    probe_leave(&session->probe, FOLD_CALL, 0, NULL, result, event, 0);
    probe_close(&session->probe);
}

void recorder_session_started(struct session_probe *session, enum call kind, int result, uint64_t handle)
{
    session_leave(session, kind, result);
    pthread_mutex_lock(&lifetime);
    opening--;
    if (result == MPI_SUCCESS) {
        native_session_add(handle);
        run_go_on();
    } else if (life == LIFE_KNOWN && !session_is_open() && world_is_over()) {
        run_end(RUN_CLOSED); /* it was waited for */
    }
    pthread_mutex_unlock(&lifetime);
    if (result != MPI_SUCCESS)
        return;
    if (!recording())
        return;
    process_know(session->probe.log);
    if (session->edge)
        run_time_begin(book.run.header);
    if (session->edge && session->probe.log)
        instruments_sample(session->probe.log);
}

bool recorder_session_finish(struct session_probe *session, uint64_t handle)
{
    session->probe.log = NULL;
    pthread_mutex_lock(&lifetime);
    bool part = life >= LIFE_BEGUN;
    if (part)
        native_session_remove(handle);
    session->edge = part && life != LIFE_CLOSED && !session_is_open() && world_is_over();
    pthread_mutex_unlock(&lifetime);
    if (!part)
        return false;
    struct log *log = log_refused() ? NULL : log_get();
    if (session->edge) {
        if (recording()) {
            windows_end();
            process_end();
            instrument_publish();
        }
        if (log)
            instruments_sample(log);
        __atomic_store_n(&native.finalizing, true, __ATOMIC_RELEASE);
        native_hold();
    }
    if (recording() && probe_enter(&session->probe, CALL_MPI_Session_finalize, 0, PEER_NONE))
        log_below(session->probe.log);
    return true;
}

void recorder_session_finished(struct session_probe *session, int result, uint64_t handle)
{
    session_leave(session, CALL_MPI_Session_finalize, result);
    pthread_mutex_lock(&lifetime);
    if (result != MPI_SUCCESS)
        native_session_add(handle);
    if (session->edge && (session_is_open() || !world_is_over()))
        ending_revoke();
    else if (session->edge)
        run_end(RUN_CLOSED);
    pthread_mutex_unlock(&lifetime);
}

/* Marks a running process as exited. The live file of a killed process stays without that mark. */
static void exit_mark(struct run_header *header)
{
    uint32_t phase = __atomic_load_n(&header->phase, __ATOMIC_ACQUIRE);
    run_leave(&book.run);
    if (phase != RUN_STARTING && phase != RUN_RUNNING)
        return;
    /* on the clock as it was at the begin, since it tells how long calls lasted */
    header->end_realtime_ns =
        header->begin_realtime_ns + clock_ns(clock_calibrate(), clock_now() - header->begin_ticks);
    header->exit_status = exit_status;
    __atomic_compare_exchange_n(&header->phase, &phase, RUN_EXITED, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* The process ends by exit, or at the end of main. A process that is being aborted also gets here. A child of a fork
 * that was not reported shares the memory, but has another number. */
__attribute__((destructor)) static void recorder_exiting(void)
{
    struct run_header *header = book.run.header;
    if (!header || book.run.detached || header->pid != (uint32_t)getpid())
        return;
    if (life == LIFE_BELOW) {
        if (thread_log)
            fabric_flush(thread_log);
        process_end();
        run_end(RUN_FINALIZED);
        return;
    }
    uint32_t before = __atomic_load_n(&header->phase, __ATOMIC_ACQUIRE);
    exit_mark(header);
    uint32_t after = __atomic_load_n(&header->phase, __ATOMIC_ACQUIRE);
    if (after != before)
        handover_end(opened.spool, opened.directory);
}

void recorder_aborting(struct probe *probe)
{
    if (!recording())
        return;
    instrument_publish();
    if (book.run.header)
        __atomic_store_n(&book.run.header->phase, RUN_ABORTED, __ATOMIC_RELEASE);
    if (probe->log)
        log_below(probe->log);
}
