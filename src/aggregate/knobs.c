#include "knobs.h"

#include "book.h"
#include "clock.h"
#include "event.h"
#include "tracing.h"

#include <pthread.h>
#include <unistd.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const struct knob_description knob_table[KNOB_COUNT] = {
    [KNOB_TRACE] = {"mpit_trace", KNOB_INT, true, 0, 0, 1,
                    "1: keep raw events in the run file, from when it is written; 0: no longer. It needs a run "
                    "directory (MPIT_OUTPUT)."},
    [KNOB_FLIGHT_EVENTS] = {"mpit_flight_events", KNOB_INT, false, 4096, 0, 1 << 24,
                            "Events a thread that the flight recorder keeps; fixed when MPI_Init begins."},
    [KNOB_BUFFER_LIMIT_BYTES] = {"mpit_buffer_limit_bytes", KNOB_UNSIGNED_LONG_LONG, true, UINT64_C(64) << 20,
                                 UINT64_C(1) << 20, INT64_MAX,
                                 "Bound on the recorder's memory in a process, in bytes; not below what is in use."},
    [KNOB_TRACE_LIMIT_BYTES] =
        {"mpit_trace_limit_bytes", KNOB_UNSIGNED_LONG_LONG, true, 0, 0, INT64_MAX,
         "Bound on a process's trace on disk, in bytes; 0 = none, else not below what is written."},
    [KNOB_LARGE_MESSAGE_BYTES] = {"mpit_large_message_bytes", KNOB_UNSIGNED_LONG_LONG, true, 8192, 0, UINT64_MAX,
                                  "Messages of this size and over count as large, in bytes."},
    [KNOB_P2P_TIMEOUT_NS] = {"mpit_p2p_timeout_ns", KNOB_UNSIGNED_LONG_LONG, true, 0, 0, UINT64_MAX,
                             "A message whose transfer takes longer is a timeout, in nanoseconds; 0 = off."},
};

uint64_t knobs[KNOB_COUNT] = {
    [KNOB_FLIGHT_EVENTS] = 4096,
    [KNOB_BUFFER_LIMIT_BYTES] = UINT64_C(64) << 20,
    [KNOB_LARGE_MESSAGE_BYTES] = 8192,
};

uint64_t knob_small_limit = 8192;
uint64_t knob_timeout_ticks = UINT64_MAX;
uint64_t knob_rare_ticks = EVENT_DURATION_WIDE;
int knob_attendants;
static struct clock_scale scale;
static uint32_t inputs_version;
static pthread_mutex_t write_lock = PTHREAD_MUTEX_INITIALIZER;

/* Again when what it was made of has changed meanwhile: the last one to store has seen the newest. */
static void timeout_derive(void)
{
    uint32_t version = __atomic_add_fetch(&inputs_version, 1, __ATOMIC_SEQ_CST), seen;
    do {
        seen = version;
        uint64_t ns = knob_load(KNOB_P2P_TIMEOUT_NS);
        uint64_t ticks = ns && scale.mult ? clock_ticks(scale, ns) : UINT64_MAX;
        uint64_t rare = ticks < EVENT_DURATION_WIDE ? ticks + 1 : EVENT_DURATION_WIDE;
        if (__atomic_load_n(&knob_attendants, __ATOMIC_SEQ_CST) > 0)
            rare = 0;
        __atomic_store_n(&knob_timeout_ticks, ticks, __ATOMIC_SEQ_CST);
        __atomic_store_n(&knob_rare_ticks, rare, __ATOMIC_SEQ_CST);
        version = __atomic_load_n(&inputs_version, __ATOMIC_SEQ_CST);
    } while (version != seen);
}

void knobs_attend(int change)
{
    __atomic_add_fetch(&knob_attendants, change, __ATOMIC_SEQ_CST);
    timeout_derive();
}

void knob_store(enum knob knob, uint64_t value)
{
    __atomic_store_n(&knobs[knob], value, __ATOMIC_RELAXED);
    if (knob == KNOB_P2P_TIMEOUT_NS)
        timeout_derive();
    if (knob == KNOB_LARGE_MESSAGE_BYTES)
        __atomic_store_n(&knob_small_limit, value < SMALL_MOST ? value : SMALL_MOST, __ATOMIC_RELAXED);
}

/* What the run has taken over from the knobs when it began. */
static enum knob_result run_knob_write(enum knob knob, uint64_t value)
{
    if (knob == KNOB_TRACE)
        return tracing_set(value != 0) ? KNOB_WRITTEN : KNOB_NEVER;
    uint64_t memory = knob == KNOB_BUFFER_LIMIT_BYTES ? value : knob_load(KNOB_BUFFER_LIMIT_BYTES);
    uint64_t trace = knob == KNOB_TRACE_LIMIT_BYTES ? value : knob_load(KNOB_TRACE_LIMIT_BYTES);
    if (!run_limits_set(&book.run, memory, trace))
        return KNOB_NOT_NOW;
    knob_store(knob, value);
    return KNOB_WRITTEN;
}

enum knob_result knob_write(enum knob knob, uint64_t value)
{
    const struct knob_description *description = &knob_table[knob];
    if (value < description->least || value > description->most)
        return KNOB_OUT_OF_RANGE;
    enum knob_result result = KNOB_WRITTEN;
    pthread_mutex_lock(&write_lock);
    uint32_t phase = book.run.header ? __atomic_load_n(&book.run.header->phase, __ATOMIC_ACQUIRE) : 0;
    if (phase && book.run.header->pid != (uint32_t)getpid())
        phase = RUN_FINALIZED; /* the child of a fork shares the mapping and takes no part */
    bool of_run = knob != KNOB_LARGE_MESSAGE_BYTES && knob != KNOB_P2P_TIMEOUT_NS;
    if (!of_run || !phase)
        knob_store(knob, value);
    else if (!description->run_time || phase > RUN_RUNNING)
        result = KNOB_NEVER;
    else
        result = run_knob_write(knob, value);
    pthread_mutex_unlock(&write_lock);
    return result;
}

void knobs_scale(uint64_t mult)
{
    scale.mult = mult;
    timeout_derive();
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
        return false; /* strtoull would take a sign */
    *value = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

bool knob_from_environment(enum knob knob, uint64_t *value, char problem[KNOB_PROBLEM_BYTES])
{
    const struct knob_description *description = &knob_table[knob];
    char name[KNOB_VARIABLE_BYTES];
    knob_variable(knob, name);
    const char *text = getenv(name);
    problem[0] = '\0';
    if (!text || !text[0])
        return false;
    if (number_read(text, value) && *value >= description->least && *value <= description->most)
        return true;
    snprintf(problem, KNOB_PROBLEM_BYTES,
             "%s=%.100s cannot be used; allowed are whole numbers from %" PRIu64 " to %" PRIu64
             ". The default, %" PRIu64 ", holds.",
             name, text, description->least, description->most, description->initial);
    return false;
}

void knobs_listen(bool listened)
{
    static bool listening;
    if (__atomic_exchange_n(&listening, listened, __ATOMIC_SEQ_CST) != listened)
        knobs_attend(listened ? 1 : -1);
}
