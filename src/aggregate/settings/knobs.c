#include "settings/knobs.h"

#include "registry/book.h"
#include "clock/clock.h"
#include "settings/demand.h"
#include "format/event.h"
#include "settings/filter.h"
#include "settings/tracing.h"
#include "site/setting.h"

#include <mpit/instrument_interface.h>

#include <pthread.h>
#include <unistd.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_DEPTH = 64, SECONDS_MOST = 1000000000 };

/* The module that counts these events checks whether they exist. */
static int papi_check(const char *text, char *problem, size_t size)
{
    for (size_t i = 0; text[i]; i++)
        if (!isgraph((unsigned char)text[i])) {
            snprintf(problem, size, "allowed are names of PAPI events, separated by commas, without blanks");
            return -1;
        }
    return 0;
}

static int policy_check(const char *text, char *problem, size_t size)
{
    if (strcmp(text, "stop") == 0 || strcmp(text, "ring") == 0)
        return 0;
    snprintf(problem, size, "allowed are stop and ring");
    return -1;
}

static int clock_sync_check(const char *text, char *problem, size_t size)
{
    if (strcmp(text, "tcp") == 0 || strcmp(text, "none") == 0)
        return 0;
    snprintf(problem, size, "allowed are tcp and none");
    return -1;
}

/*
 * When a control variable may be written. The settings of a run that has begun cannot be written
 * (MPI_T_ERR_CVAR_SET_NEVER).
 */
#define FIXED " It may be written until MPI_Init begins and is read-only from then on."
#define RUNNING " It may be written until MPI_Finalize."
#define ALWAYS " It may be written at any time."

const struct knob_description knob_table[KNOB_COUNT] = {
    [KNOB_TRACE] =
        {"mpit_trace", KNOB_INT, true, 0, 0, 1,
         "1: write all events to the run file from now on. 0: stop writing them. It needs an output directory "
         "(MPIT_OUTPUT). Processes may differ." RUNNING,
         NULL, MPIT_VERBOSITY_USER},
    [KNOB_FLIGHT_EVENTS] = {"mpit_flight_events", KNOB_INT, false, 4096, 0, 1 << 24,
                            "How many events of each thread the flight recorder keeps." FIXED, NULL,
                            MPIT_VERBOSITY_USER_DETAIL},
    [KNOB_BUFFER_LIMIT_BYTES] =
        {"mpit_buffer_limit_bytes", KNOB_UNSIGNED_LONG_LONG, true, UINT64_C(64) << 20, UINT64_C(1) << 20, INT64_MAX,
         "Limit for the recorder's memory in a process, in bytes. It cannot be below the memory in use." RUNNING, NULL,
         MPIT_VERBOSITY_TUNER_DETAIL},
    [KNOB_TRACE_LIMIT_BYTES] = {"mpit_trace_limit_bytes", KNOB_UNSIGNED_LONG_LONG, true, 0, 0, INT64_MAX,
                                "Limit for a process's trace on disk, in bytes. 0: no limit. It cannot be below the "
                                "size already written." RUNNING,
                                NULL, MPIT_VERBOSITY_USER_DETAIL},
    [KNOB_LARGE_MESSAGE_BYTES] = {"mpit_large_message_bytes", KNOB_UNSIGNED_LONG_LONG, true, 8192, 0, UINT64_MAX,
                                  "Messages of at least this size count as large, in bytes." ALWAYS, NULL,
                                  MPIT_VERBOSITY_USER},
    [KNOB_P2P_TIMEOUT_NS] =
        {"mpit_p2p_timeout_ns", KNOB_UNSIGNED_LONG_LONG, true, 0, 0, UINT64_MAX,
         "A message with a longer transfer time counts as a timeout, in nanoseconds. 0: off." ALWAYS, NULL,
         MPIT_VERBOSITY_USER},
    [KNOB_RECORD_LOCAL_CALLS] = {"mpit_record_local_calls", KNOB_INT, true, 0, 0, 1,
                                 "1: local functions (MPI_Comm_rank, datatypes, groups, ...) are counted, too, for the "
                                 "process. 0: they are not counted." ALWAYS,
                                 NULL, MPIT_VERBOSITY_USER_DETAIL},
    [KNOB_TIMING] = {"mpit_timing", KNOB_INT, true, 1, 0, 1,
                     "1: calls are timed. 0: calls are only counted. While a trace is kept or tools listen to events, "
                     "calls are timed." ALWAYS,
                     NULL, MPIT_VERBOSITY_USER_DETAIL},
    [KNOB_SAMPLE_HZ] = {"mpit_sample_hz", KNOB_INT, true, 0, 0, 10000,
                        "How often a second the call stack and MPI state of each thread are sampled. 0: off. It needs "
                        "an output directory (MPIT_OUTPUT)." RUNNING,
                        NULL, MPIT_VERBOSITY_USER},
    [KNOB_FILTER] =
        {"mpit_filter", KNOB_TEXT, false, 0, 0, 0,
         "MPI functions and classes: only these are recorded, or (with a leading -) all except these." FIXED,
         filter_check, MPIT_VERBOSITY_USER},
    [KNOB_PAPI_EVENTS] =
        {"mpit_papi_events", KNOB_TEXT, false, 0, 0, 0,
         "Names of PAPI events, separated by commas, that are counted inside and outside of MPI calls. Each MPI call "
         "reads them twice. The summary shows the time of a read." FIXED,
         papi_check, MPIT_VERBOSITY_TUNER},
    [KNOB_CLOCK_SYNC] = {"mpit_clock_sync", KNOB_TEXT, false, 0, 0, 0,
                         "How the clocks of a traced run on several nodes are measured. tcp: over mpit's own "
                         "connections. none: not at all." FIXED,
                         clock_sync_check, MPIT_VERBOSITY_TUNER_DETAIL},
    [KNOB_TRACE_POLICY] =
        {"mpit_trace_policy", KNOB_TEXT, false, 0, 0, 0,
         "What happens when a trace has reached mpit_trace_limit_bytes or _seconds. stop: new events are "
         "dropped. ring: new events replace the oldest." FIXED,
         policy_check, MPIT_VERBOSITY_USER_DETAIL},
    [KNOB_FABRIC] = {"mpit_fabric", KNOB_INT, true, 0, 0, 1,
                     "1: operations and polls of libfabric and UCX are counted (mpit_fabric_* and others). 0: they are "
                     "counted only while one of these variables has a started handle. " COST_FABRIC ALWAYS,
                     NULL, MPIT_VERBOSITY_TUNER},
    [KNOB_OS] = {"mpit_os", KNOB_INT, true, 0, 0, 1,
                 "1: kernel time, context switches and page faults inside MPI calls are counted (mpit_os_*). 0: they "
                 "are counted only while one of these variables has a started handle. " COST_OS ALWAYS,
                 NULL, MPIT_VERBOSITY_TUNER},
    [KNOB_SDE] = {"mpit_sde", KNOB_INT, false, 0, 0, 1,
                  "1: mpit's variables are software-defined events of PAPI (sde:::mpit::NAME), for tools that "
                  "initialize PAPI after MPI_Init." FIXED,
                  NULL, MPIT_VERBOSITY_TUNER_DETAIL},
    [KNOB_SPOOL_LIMIT_BYTES] = {"mpit_spool_limit_bytes", KNOB_UNSIGNED_LONG_LONG, false, UINT64_C(256) << 20,
                                UINT64_C(1) << 20, INT64_MAX,
                                "Limit for the part of a process's trace in node-local memory, in bytes. Above a "
                                "quarter of it the trace is moved to the output directory while the program runs. "
                                "Events that arrive faster than the trace is moved are lost." FIXED,
                                NULL, MPIT_VERBOSITY_TUNER_DETAIL},
    [KNOB_CALL_DEPTH] = {"mpit_call_depth", KNOB_INT, true, CALL_DEPTH, 0, PATH_FRAMES_MOST,
                         "How many frames of the program's call path each MPI call is recorded with, the innermost "
                         "first. 1: only the place of the call. 0: none." ALWAYS,
                         NULL, MPIT_VERBOSITY_USER},
    [KNOB_RECORDING] = {"mpit_recording", KNOB_INT, true, 1, 0, 1,
                        "1: MPI calls are recorded. 0: recording is off, until 1 is written here or the program calls "
                        "MPI_Pcontrol(1). MPI_Pcontrol changes this value." RUNNING,
                        NULL, MPIT_VERBOSITY_USER},
    [KNOB_TRACE_LIMIT_SECONDS] =
        {"mpit_trace_limit_seconds", KNOB_UNSIGNED_LONG_LONG, false, 0, 0, SECONDS_MOST,
         "Limit for the time of a process's trace and samples, in seconds from the end of MPI_Init on. 0: no limit. "
         "mpit_trace_policy says which part of the trace stays." FIXED,
         NULL, MPIT_VERBOSITY_USER_DETAIL},
};

uint64_t knobs[KNOB_COUNT] = {
    [KNOB_FLIGHT_EVENTS] = 4096, [KNOB_BUFFER_LIMIT_BYTES] = UINT64_C(64) << 20, [KNOB_LARGE_MESSAGE_BYTES] = 8192,
    [KNOB_TIMING] = 1,           [KNOB_SPOOL_LIMIT_BYTES] = UINT64_C(256) << 20, [KNOB_CALL_DEPTH] = CALL_DEPTH,
    [KNOB_RECORDING] = 1,
};

/* The values of settings that are texts. Under write_lock. */
static char texts[KNOB_COUNT][KNOB_TEXT_BYTES] = {[KNOB_TRACE_POLICY] = "stop", [KNOB_CLOCK_SYNC] = "tcp"};

uint64_t knob_small_limit = 8192;
uint64_t knob_timeout_ticks = UINT64_MAX;
uint64_t knob_rare_ticks = EVENT_DURATION_WIDE;
uint64_t knob_object_ticks = EVENT_DURATION_WIDE;
bool knob_timed = true;
int knob_attendants;
void (*knobs_changed)(void);
bool (*knobs_sampler)(uint64_t hz);
void (*knobs_recording)(bool on);
static struct clock_scale scale;
static uint32_t inputs_version;
static pthread_mutex_t write_lock = PTHREAD_MUTEX_INITIALIZER;

/* Starts again if an input has changed meanwhile. So the last thread to store has used the newest inputs. */
static void derive(void)
{
    uint32_t version = __atomic_add_fetch(&inputs_version, 1, __ATOMIC_SEQ_CST), seen;
    do {
        seen = version;
        uint64_t ns = knob_load(KNOB_P2P_TIMEOUT_NS);
        uint64_t ticks = ns && scale.mult ? clock_ticks(scale, ns) : UINT64_MAX;
        uint64_t rare = ticks < EVENT_DURATION_WIDE ? ticks + 1 : EVENT_DURATION_WIDE;
        bool attended = __atomic_load_n(&knob_attendants, __ATOMIC_SEQ_CST) > 0;
        if (attended)
            rare = 0;
        bool timed = attended || knob_load(KNOB_TRACE) == 1 || knob_load(KNOB_TIMING);
        __atomic_store_n(&knob_timed, timed, __ATOMIC_SEQ_CST);
        __atomic_store_n(&knob_timeout_ticks, ticks, __ATOMIC_SEQ_CST);
        __atomic_store_n(&knob_rare_ticks, rare, __ATOMIC_SEQ_CST);
        __atomic_store_n(&knob_object_ticks, demand_now(DEMAND_OBJECTS) ? 0 : rare, __ATOMIC_SEQ_CST);
        void (*changed)(void) = __atomic_load_n(&knobs_changed, __ATOMIC_ACQUIRE);
        if (changed)
            changed();
        version = __atomic_load_n(&inputs_version, __ATOMIC_SEQ_CST);
    } while (version != seen);
}

void knobs_attend(int change)
{
    __atomic_add_fetch(&knob_attendants, change, __ATOMIC_SEQ_CST);
    derive();
}

void knob_store(enum knob knob, uint64_t value)
{
    uint64_t before = __atomic_exchange_n(&knobs[knob], value, __ATOMIC_RELAXED);
    if (knob == KNOB_FABRIC)
        demand_change(DEMAND_FABRIC, (value != 0) - (before != 0));
    if (knob == KNOB_OS)
        demand_change(DEMAND_OS, (value != 0) - (before != 0));
    if (knob == KNOB_P2P_TIMEOUT_NS || knob == KNOB_TRACE || knob == KNOB_TIMING || knob == KNOB_RECORD_LOCAL_CALLS ||
        knob == KNOB_CALL_DEPTH || knob == KNOB_RECORDING)
        derive();
    if (knob == KNOB_LARGE_MESSAGE_BYTES)
        __atomic_store_n(&knob_small_limit, value < SMALL_MOST ? value : SMALL_MOST, __ATOMIC_RELAXED);
}

/* Writes a setting that the run copied at its begin. */
static enum knob_result run_knob_write(enum knob knob, uint64_t value)
{
    if (knob == KNOB_TRACE)
        return (!value && knob_load(knob) == TRACE_BRIEFLY) || tracing_set(value != 0) ? KNOB_WRITTEN : KNOB_NEVER;
    if (knob == KNOB_SAMPLE_HZ) {
        if (!knobs_sampler || !knobs_sampler(value))
            return KNOB_NEVER;
        knob_store(knob, value);
        return KNOB_WRITTEN;
    }
    if (knob == KNOB_RECORDING) {
        if (!knobs_recording)
            return KNOB_NEVER;
        knobs_recording(value != 0);
        return KNOB_WRITTEN;
    }
    uint64_t memory = knob == KNOB_BUFFER_LIMIT_BYTES ? value : knob_load(KNOB_BUFFER_LIMIT_BYTES);
    uint64_t trace = knob == KNOB_TRACE_LIMIT_BYTES ? value : knob_load(KNOB_TRACE_LIMIT_BYTES);
    if (knob_load(KNOB_TRACE) == TRACE_BRIEFLY) /* its bound is not the user's */
        trace = book.run.trace_limit;
    if (!run_limits_set(&book.run, memory, trace))
        return KNOB_NOT_NOW;
    knob_store(knob, value);
    return KNOB_WRITTEN;
}

/* 0 before a run. */
static uint32_t run_phase(void)
{
    uint32_t phase = book.run.header ? __atomic_load_n(&book.run.header->phase, __ATOMIC_ACQUIRE) : 0;
    if (phase && book.run.header->pid != (uint32_t)getpid())
        phase = RUN_FINALIZED; /* the child of a fork shares the mapping and records nothing */
    return phase;
}

/* True if the run copied it at its begin. */
static bool is_of_run(enum knob knob)
{
    return !knob_table[knob].run_time || knob == KNOB_TRACE || knob == KNOB_BUFFER_LIMIT_BYTES ||
           knob == KNOB_TRACE_LIMIT_BYTES || knob == KNOB_SAMPLE_HZ || knob == KNOB_RECORDING;
}

enum knob_result knob_write(enum knob knob, uint64_t value)
{
    const struct knob_description *description = &knob_table[knob];
    if (value < description->least || value > description->most)
        return KNOB_OUT_OF_RANGE;
    enum knob_result result = KNOB_WRITTEN;
    pthread_mutex_lock(&write_lock);
    uint32_t phase = run_phase();
    bool of_run = is_of_run(knob);
    if (!of_run || !phase)
        knob_store(knob, value);
    else if (!description->run_time || phase > RUN_RUNNING)
        result = KNOB_NEVER;
    else
        result = run_knob_write(knob, value);
    pthread_mutex_unlock(&write_lock);
    return result;
}

enum knob_result knob_write_text(enum knob knob, const char *text)
{
    char problem[KNOB_PROBLEM_BYTES];
    enum knob_result result = KNOB_WRITTEN;
    if (strnlen(text, KNOB_TEXT_BYTES) == KNOB_TEXT_BYTES)
        return KNOB_OUT_OF_RANGE;
    bool good = knob_table[knob].check(text, problem, sizeof problem) == 0;
    pthread_mutex_lock(&write_lock);
    if (run_phase())
        result = KNOB_NEVER;
    else if (!good)
        result = KNOB_OUT_OF_RANGE;
    else
        strcpy(texts[knob], text);
    pthread_mutex_unlock(&write_lock);
    return result;
}

void knob_read_text(enum knob knob, char text[KNOB_TEXT_BYTES])
{
    pthread_mutex_lock(&write_lock);
    strcpy(text, texts[knob]);
    pthread_mutex_unlock(&write_lock);
}

static void objects_wanted(bool wanted)
{
    (void)wanted; /* derive reads it, and sees the newest */
    derive();
}

void knobs_scale(uint64_t mult)
{
    uint64_t ns = knob_load(KNOB_TRACE_LIMIT_SECONDS) * 1000000000;
    scale.mult = mult;
    run_time_limit(&book.run, ns, clock_ticks(scale, ns));
    demand_serve(DEMAND_OBJECTS, objects_wanted);
    derive();
}

void knob_variable(enum knob knob, char name[KNOB_VARIABLE_BYTES])
{
    const char *text = knob_table[knob].name;
    size_t i = 0;
    for (; text[i] && i + 1 < KNOB_VARIABLE_BYTES; i++)
        name[i] = (char)toupper((unsigned char)text[i]);
    name[i] = '\0';
}

static bool number_read(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)text[0]))
        return false; /* strtoull would accept a sign */
    *value = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

static bool number_value_read(enum knob knob, const char *text, uint64_t *value, char reason[KNOB_PROBLEM_BYTES])
{
    const struct knob_description *description = &knob_table[knob];
    bool good = number_read(text, value) && *value >= description->least && *value <= description->most;
    if (!good)
        snprintf(reason, KNOB_PROBLEM_BYTES, "allowed are whole numbers from %" PRIu64 " to %" PRIu64,
                 description->least, description->most);
    return !reason[0];
}

bool knob_value_read(enum knob knob, const char *text, uint64_t *value, char reason[KNOB_PROBLEM_BYTES])
{
    reason[0] = '\0';
    if (knob_table[knob].type != KNOB_TEXT)
        return number_value_read(knob, text, value, reason);
    if (strlen(text) >= KNOB_TEXT_BYTES)
        snprintf(reason, KNOB_PROBLEM_BYTES, "it has more than %d characters", KNOB_TEXT_BYTES - 1);
    else if (knob_table[knob].check(text, reason, KNOB_PROBLEM_BYTES) == 0)
        reason[0] = '\0';
    return !reason[0];
}

bool knob_from_environment(enum knob knob, uint64_t *value, char problem[KNOB_PROBLEM_BYTES])
{
    const struct knob_description *description = &knob_table[knob];
    char name[KNOB_VARIABLE_BYTES], reason[KNOB_PROBLEM_BYTES], initial[32];
    knob_variable(knob, name);
    const char *text = setting(name);
    problem[0] = '\0';
    if (!text || !text[0])
        return false;
    if (knob_value_read(knob, text, value, reason))
        return true;
    if (description->type != KNOB_TEXT)
        snprintf(initial, sizeof initial, "%" PRIu64, description->initial);
    else
        snprintf(initial, sizeof initial, "%s",
                 knob == KNOB_TRACE_POLICY ? "stop"
                 : knob == KNOB_CLOCK_SYNC ? "tcp"
                                           : "none");
    char place[SETTING_PLACE_BYTES];
    snprintf(problem, KNOB_PROBLEM_BYTES, "%s%s=%.100s%s cannot be used: %.500s. mpit uses the default, %s.",
             setting_place(name, place), name, text, strlen(text) > 100 ? "..." : "", reason, initial);
    return false;
}

void knob_take_environment(enum knob knob)
{
    char name[KNOB_VARIABLE_BYTES], problem[KNOB_PROBLEM_BYTES];
    uint64_t value;
    if (!knob_from_environment(knob, &value, problem))
        return;
    if (knob_table[knob].type != KNOB_TEXT) {
        knob_store(knob, value);
        return;
    }
    knob_variable(knob, name);
    const char *text = setting(name);
    pthread_mutex_lock(&write_lock);
    if (text && strlen(text) < KNOB_TEXT_BYTES)
        strcpy(texts[knob], text);
    pthread_mutex_unlock(&write_lock);
}

void knobs_listen(bool listened)
{
    static bool listening;
    if (__atomic_exchange_n(&listening, listened, __ATOMIC_SEQ_CST) != listened)
        knobs_attend(listened ? 1 : -1);
}
