#define _GNU_SOURCE
#include "recorder.h"

#include "communicator.h"
#include "gate.h"
#include "instruments.h"
#include "job.h"
#include "next.h"
#include "profiled.h"
#include "reduction.h"
#include "request.h"
#include "settings.h"
#include "tracing.h"
#include "umq.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct next next;

static char directory[4096]; /* MPIT_OUTPUT when the program started; "" = none */
static bool started, ready, finished, kept, trace_refused;

void next_find(const char *wanted)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    native_find();
#define NEXT_FIND(name) __atomic_store_n(&next.name, (__typeof__(next.name))native_symbol(#name), __ATOMIC_RELEASE);
    NEXT_CALLS(NEXT_FIND)
#undef NEXT_FIND
    profiled_find();
    pthread_mutex_unlock(&lock);
    if (wanted && !native_symbol(wanted)) {
        native_say("mpit: the program calls %s, which no library in the process defines", wanted);
        abort(); /* there is no call to pass this one on to */
    }
}

const char *recorder_directory(void)
{
    return directory[0] ? directory : NULL;
}

/* One for all copies of this library in a process, of every ABI: the loader takes the first one's for each. */
__attribute__((visibility("default"))) const void *mpit_recorder_here;

/* Is there another mpit before this one, which records already? Two would count each call twice. */
static bool is_second(void)
{
    const void *first = NULL;
    Dl_info one, two;
    if (__atomic_compare_exchange_n(&mpit_recorder_here, &first, (const void *)&next, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return false;
    if (dladdr(first, &one) && dladdr(&next, &two))
        native_say("mpit is loaded twice: %s records, and %s does not", one.dli_fname, two.dli_fname);
    return true;
}

bool recorder_came_by(void)
{
    return started || mpit_recorder_here;
}

static void directory_read(void)
{
    const char *output = getenv("MPIT_OUTPUT");
    if (!output || !output[0])
        return;
    char here[2048] = "";
    if (output[0] != '/' && !getcwd(here, sizeof here))
        here[0] = '\0';
    int n = snprintf(directory, sizeof directory, "%s%s%s", here, here[0] ? "/" : "", output);
    if (n < 0 || (size_t)n >= sizeof directory)
        directory[0] = '\0';
}

static bool run_start(void)
{
    struct run_problem problem;
    clock_open();
    settings_read();
    if (run_open(&book.run, recorder_directory(), knob_load(KNOB_BUFFER_LIMIT_BYTES), knob_load(KNOB_TRACE_LIMIT_BYTES),
                 &problem) != 0) {
        native_say("mpit: no memory for the recorder; nothing is recorded");
        return false;
    }
    if (problem.text[0])
        native_say("mpit: %s; this process is counted in memory only", problem.text);
    else
        trace_refused = knob_load(KNOB_TRACE) && !run_has_file(&book.run);
    if (!run_has_file(&book.run))
        knob_store(KNOB_TRACE, 0);
    tracing_begin(knob_load(KNOB_TRACE) != 0);
    snprintf(book.run.header->mpi, sizeof book.run.header->mpi, "%.63s", native.version);
    if (book_open() != 0)
        return false;
    instrument_run_begin();
    return true;
}

/* Steps aside for good: from the next call on the program reaches MPI as if nothing were between. */
static void gates_pass(void)
{
#define NEXT_PASS(name) GATE_PASS(name);
    NEXT_CALLS(NEXT_PASS)
#undef NEXT_PASS
    profiled_pass();
}

bool recorder_start(struct probe *probe, enum call kind)
{
    next_find(NULL);
    if (started)
        return false;
    if (!native.present || getenv("MPIT_DISABLE") || is_second()) {
        gates_pass();
        return false;
    }
    started = true;
    directory_read();
    probe->log = NULL;
    if (run_start()) {
        log_fork_prepare();
        __atomic_store_n(&recorder_on, true, __ATOMIC_RELEASE);
        probe_enter(probe, kind, 0, PEER_NONE);
    }
    native_hold();
    return true;
}

static void header_complete(void)
{
    struct run_header *header = book.run.header;
    int rank = 0, size = 1;
    native.Comm_rank(native.comm_world, &rank);
    native.Comm_size(native.comm_world, &size);
    header->job = job_number(directory, size);
    header->clock_mult = book.scale.mult;
    header->init_ticks = clock_now();
    header->world_rank = rank;
    __atomic_store_n(&header->world_size, size, __ATOMIC_RELEASE);
    __atomic_store_n(&header->phase, RUN_RUNNING, __ATOMIC_RELEASE);
}

/* What is wrong with the environment is wrong for all processes of a program, and said by the first. Where there are
 * several programs, each may have an environment of its own. */
static void environment_tell(void)
{
    if (book.run.header->world_rank != 0 && reduction_possible())
        return;
    settings_tell(native_say);
    if (trace_refused)
        native_say("mpit: MPIT_TRACE needs MPIT_OUTPUT, the directory to write into; no events are kept");
}

static void facts_learn(struct log *log)
{
    int level = MPI_THREAD_SINGLE;
    native.Query_thread(&level);
    book.concurrent = level == MPI_THREAD_MULTIPLE;
    log->own.tally.concurrent = book.concurrent;
    book.plain = !book.concurrent && clock_is_counter;
    book.scale = clock_calibrate();
    knobs_scale(book.scale.mult);
    native_types_find();
    umq_pending_count = request_pending_count;
}

/* A tool between us and the library asks for variables before MPI_Init has come back to us. */
void recorder_ready(void)
{
    struct log *log = thread_log;
    if (!log || ready)
        return;
    ready = true;
    facts_learn(log);
    header_complete();
    environment_tell();
    comm_predefined_add();
}

void recorder_started(struct probe *probe, enum call kind, int result)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    native_release();
    if (probe->log)
        probe_leave(probe, FOLD_CALL, 0, NULL, result, event, 0);
    if (result != MPI_SUCCESS)
        return;
    if (!probe->log)
        return;
    recorder_ready();
    book.run.header->init_ticks = clock_now();
    instruments_sample(probe->log);
}

bool recorder_finish(struct probe *probe)
{
    bool recording = log_get() != NULL;
    probe->log = NULL;
    if (!started || finished || book.run.detached)
        return false; /* detached: a child of fork, which must not meet the others of its parent's job */
    finished = true;  /* a tool between us and the library comes by once more */
    if (recording) {
        instrument_publish();
        instruments_sample(log_get());
    }
    if (recorder_directory())
        kept = !reduction_possible() || !reduction_run(recording) || book.run.header->traced != TRACED_NOT;
    __atomic_store_n(&native.finalizing, true, __ATOMIC_RELEASE); /* partner: native_between */
    if (recording) {
        native_hold();
        probe_enter(probe, CALL_MPI_Finalize, 0, PEER_NONE);
    }
    return recording;
}

void recorder_finished(struct probe *probe, int result)
{
    struct event event = {.kind = CALL_MPI_Finalize, .peer = PEER_NONE};
    native_release();
    probe_leave(probe, FOLD_CALL, 0, NULL, result, event, 0);
    __atomic_store_n(&recorder_on, false, __ATOMIC_RELEASE);
    instrument_publish();
    run_close(&book.run, RUN_FINALIZED, kept);
}

void recorder_aborting(struct probe *probe)
{
    (void)probe;
    instrument_publish();
    __atomic_store_n(&book.run.header->phase, RUN_ABORTED, __ATOMIC_RELEASE);
}
