#include "settings/tracing.h"

#include "registry/book.h"
#include "settings/knobs.h"

static pthread_mutex_t switch_lock = PTHREAD_MUTEX_INITIALIZER;
static struct trace_stretch *latest; /* NULL while the whole run is traced, or nothing is */
static uint64_t covered_end;         /* calls that began before belong to the trace. UINT64_MAX while it is on */
static uint32_t number;

void tracing_begin(bool on)
{
    latest = NULL;
    number = on;
    book.run.header->traced = on ? TRACED_WHOLE : TRACED_NOT;
    __atomic_store_n(&covered_end, on ? UINT64_MAX : 0, __ATOMIC_RELEASE);
}

static struct trace_stretch *stretch_add(uint64_t begin)
{
    uint64_t offset;
    struct trace_stretch *stretch = run_alloc(&book.run, sizeof *stretch, &offset);
    if (!stretch || !offset)
        return NULL;
    stretch->begin_ticks = begin;
    stretch->end_ticks = UINT64_MAX;
    run_link(&book.run, &book.run.header->first_stretch, &stretch->next, offset);
    return stretch;
}

static bool switch_on(void)
{
    struct trace_stretch *fresh = stretch_add(clock_now());
    if (!fresh)
        return false;
    latest = fresh;
    __atomic_store_n(&book.run.header->traced, TRACED_IN_PART, __ATOMIC_RELEASE);
    __atomic_add_fetch(&number, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&covered_end, UINT64_MAX, __ATOMIC_RELEASE);
    return true;
}

static bool switch_off(void)
{
    if (!latest && !(latest = stretch_add(0))) /* it was on from the start */
        return false;
    uint64_t now = clock_now();
    __atomic_store_n(&latest->end_ticks, now, __ATOMIC_RELAXED);
    __atomic_store_n(&book.run.header->traced, TRACED_IN_PART, __ATOMIC_RELEASE);
    __atomic_store_n(&covered_end, now, __ATOMIC_RELEASE);
    return true;
}

/* Somebody asks for a trace, and it begins now: the events before are of the brief one. */
static bool switch_from_brief(void)
{
    uint64_t limit = knob_load(KNOB_TRACE_LIMIT_BYTES);
    if (!run_limits_set(&book.run, book.run.memory_limit, limit ? limit + book.run.trace_bytes : 0) || !switch_on())
        return false;
    run_trace_policy(&book.run, TRACE_STOP);
    book.run.header->trace_bytes_over = 0;
    return true;
}

bool tracing_set(bool on)
{
    bool good = true;
    pthread_mutex_lock(&switch_lock);
    bool is_on = covered_end == UINT64_MAX;
    if (!run_has_file(&book.run) || book.run.broken)
        good = !on && !is_on;
    else if (on && is_on && book.run.header->trace_policy == TRACE_BRIEF)
        good = switch_from_brief();
    else if (on != is_on)
        good = on ? switch_on() : switch_off();
    if (good)
        knob_store(KNOB_TRACE, on);
    pthread_mutex_unlock(&switch_lock);
    return good;
}

bool tracing_covers(uint64_t ticks)
{
    return ticks < __atomic_load_n(&covered_end, __ATOMIC_ACQUIRE);
}

uint32_t tracing_number(void)
{
    return __atomic_load_n(&number, __ATOMIC_RELAXED);
}
