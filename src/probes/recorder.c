#define _GNU_SOURCE
#include "recorder.h"

#include "communicator.h"
#include "gate.h"
#include "next.h"
#include "reduction.h"
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct next next;

static char directory[4096]; /* MPIT_OUTPUT when the program started; "" = none */
static bool started, finished, kept;

void next_find(const char *wanted)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    native_find();
#define NEXT_FIND(name) __atomic_store_n(&next.name, (__typeof__(next.name))native_symbol(#name), __ATOMIC_RELEASE);
    NEXT_CALLS(NEXT_FIND)
#undef NEXT_FIND
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
    else if (knob_load(KNOB_TRACE) && book.run.fd < 0)
        native_say("mpit: MPIT_TRACE needs MPIT_OUTPUT, the directory to write into; no events are kept");
    if (book.run.fd < 0)
        knob_store(KNOB_TRACE, 0);
    book.run.header->traced = knob_load(KNOB_TRACE) != 0;
    snprintf(book.run.header->mpi, sizeof book.run.header->mpi, "%.63s", native.version);
    return book_open() == 0;
}

/* Steps aside for good: from the next call on the program reaches MPI as if nothing were between. */
static void gates_pass(void)
{
#define NEXT_PASS(name) GATE_PASS(name);
    NEXT_CALLS(NEXT_PASS)
#undef NEXT_PASS
}

bool recorder_start(struct probe *probe, enum call kind)
{
    next_find(NULL);
    if (started)
        return false;
    if (!native.present || getenv("MPIT_DISABLE")) {
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
    return true;
}

static uint64_t text_hash(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

/*
 * The same number in all processes of the job, without asking them: from the run directory and the launcher's name for
 * the job. Where the launcher gives none (hydra), the process that started this one stands for it: the same for all
 * processes on a node; MPI_Finalize makes it one for all nodes.
 */
static uint64_t job_number(void)
{
    static const char *const names[] = {"PMIX_NAMESPACE", "PMI_JOBID", "SLURM_STEP_ID"};
    uint64_t hash = text_hash(UINT64_C(0xcbf29ce484222325), directory);
    hash = text_hash(hash, getenv("SLURM_JOB_ID"));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]))
            return text_hash(hash, getenv(names[i]));
    char parent[24];
    snprintf(parent, sizeof parent, "%d", (int)getppid());
    return text_hash(hash, parent);
}

static void header_complete(uint64_t job)
{
    struct run_header *header = book.run.header;
    int rank = 0, size = 1;
    native.Comm_rank(native.comm_world, &rank);
    native.Comm_size(native.comm_world, &size);
    header->job = job;
    header->clock_mult = book.scale.mult;
    header->init_ticks = clock_now();
    header->world_rank = rank;
    __atomic_store_n(&header->world_size, size, __ATOMIC_RELEASE);
    __atomic_store_n(&header->phase, RUN_RUNNING, __ATOMIC_RELEASE);
}

static void facts_learn(struct probe *probe)
{
    int level = MPI_THREAD_SINGLE;
    native.Query_thread(&level);
    book.concurrent = level == MPI_THREAD_MULTIPLE;
    probe->log->ledger->tally.concurrent = book.concurrent;
    book.scale = clock_calibrate();
    knobs_scale(book.scale.mult);
    native_types_find();
}

void recorder_started(struct probe *probe, enum call kind, int result)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    if (probe->log)
        probe_leave(probe, FOLD_CALL, 0, NULL, result, event, 0);
    if (result != MPI_SUCCESS)
        return;
    if (!probe->log)
        return;
    facts_learn(probe);
    header_complete(job_number());
    comm_predefined_add();
}

bool recorder_finish(struct probe *probe)
{
    bool recording = log_get() != NULL;
    probe->log = NULL;
    if (!started || finished)
        return false;
    if (recorder_directory())
        kept = !reduction_possible() || !reduction_run(recording) || knob_load(KNOB_TRACE);
    if (recording)
        probe_enter(probe, CALL_MPI_Finalize, 0, PEER_NONE);
    return recording;
}

void recorder_finished(struct probe *probe, int result)
{
    struct event event = {.kind = CALL_MPI_Finalize, .peer = PEER_NONE};
    probe_leave(probe, FOLD_CALL, 0, NULL, result, event, 0);
    finished = true;
    __atomic_store_n(&recorder_on, false, __ATOMIC_RELEASE);
    run_close(&book.run, RUN_FINALIZED, kept);
}

void recorder_aborting(struct probe *probe)
{
    (void)probe;
    __atomic_store_n(&book.run.header->phase, RUN_ABORTED, __ATOMIC_RELEASE);
}
