#include "wrappers/switchboard.h"

#include "callpaths/callpath.h"

#include "registry/book.h"
#include "settings/filter.h"
#include "settings/knobs.h"
#include "thread/log.h"

#include <string.h>

static bool left_out[CALL_COUNT];
static bool opened, closed, passed;

/* Until a run begins nothing is recorded, and neither the filter nor the clock is known: a mode that leads to the body. */
static unsigned mode_of(enum call kind)
{
    if (!__atomic_load_n(&opened, __ATOMIC_ACQUIRE))
        return MODE_CLOCK;
    bool process = call_table[kind].class == CLASS_PROCESS; /* begin and end of a run are always recorded */
    unsigned mode = 0;
    bool local = call_table[kind].local && !knob_load(KNOB_RECORD_LOCAL_CALLS);
    if (left_out[kind] || local || (!switchboard_records() && !process))
        mode |= MODE_QUIET;
    if (__atomic_load_n(&knob_timed, __ATOMIC_SEQ_CST) == 0 && !process)
        mode |= MODE_UNTIMED;
    if (__atomic_load_n(&counters_wanted, __ATOMIC_SEQ_CST))
        mode |= MODE_COUNTERS;
    if (!clock_is_counter)
        mode |= MODE_CLOCK;
    return mode;
}

/* Returns where the gate leads. NULL: past mpit. */
static void *body_of(const struct wrapped *w, unsigned mode)
{
    bool quiet = (mode & MODE_QUIET) || (w->local && !knob_load(KNOB_RECORD_LOCAL_CALLS));
    if ((w->local && __atomic_load_n(&closed, __ATOMIC_SEQ_CST)) || (quiet && !w->keeps))
        return NULL;
    return mode || book_is_shared() ? w->general : w->usual;
}

static void gate_set(void **gate, void *where)
{
    if (where)
        __atomic_store_n(gate, where, __ATOMIC_RELEASE);
}

static void wrapped_set(const struct wrapped *w)
{
    void *body = body_of(w, mode_of(w->kind));
    /* before the next definitions are known the wrapper finds them */
    gate_set(w->gate, body ? body : __atomic_load_n(w->next, __ATOMIC_ACQUIRE));
    enum profiled_way way = __atomic_load_n(&w->way, __ATOMIC_ACQUIRE);
    void *profiled = __atomic_load_n(&w->profiled, __ATOMIC_RELAXED);
    bool passes = !body || way == PROFILED_PASS;
    if (way != PROFILED_LEFT)
        gate_set(w->gate_profiled, passes ? profiled : way == PROFILED_WRAPPER ? body : w->route);
}

static void switches_set(void)
{
    if (__atomic_load_n(&passed, __ATOMIC_SEQ_CST))
        return;
    for (unsigned kind = 1; kind < CALL_COUNT; kind++)
        __atomic_store_n(&call_modes[kind], (uint8_t)mode_of((enum call)kind), __ATOMIC_RELEASE);
    for (size_t i = 0; i < wrapped_count; i++)
        wrapped_set(&wrapped[i]);
    callpaths_check();
    if (!__atomic_load_n(&opened, __ATOMIC_ACQUIRE))
        return;
    struct run_header *header = book.run.header;
    uint32_t timed = __atomic_load_n(&knob_timed, __ATOMIC_SEQ_CST);
    if (book.run.detached || __atomic_load_n(&header->timed, __ATOMIC_RELAXED) == timed)
        return;
    __atomic_store_n(&header->timed, timed, __ATOMIC_RELAXED);
    __atomic_store_n(&header->timed_changed, 1, __ATOMIC_RELAXED);
}

/* Repeats if another caller came meanwhile: the last one sees the changes of all. Signal handlers call it, too. */
void switchboard_set(void)
{
    static unsigned version;
    unsigned before;
    __atomic_add_fetch(&version, 1, __ATOMIC_SEQ_CST);
    do {
        before = __atomic_load_n(&version, __ATOMIC_SEQ_CST);
        switches_set();
    } while (__atomic_load_n(&version, __ATOMIC_SEQ_CST) != before);
}

void switchboard_open(void)
{
    char problem[KNOB_PROBLEM_BYTES];
    struct run_header *header = book.run.header;
    knob_read_text(KNOB_FILTER, header->filter);
    if (filter_read(header->filter, left_out, problem, sizeof problem) != 0)
        memset(left_out, 0, sizeof left_out); /* it was checked before it was taken over */
    header->timed = __atomic_load_n(&knob_timed, __ATOMIC_SEQ_CST);
    __atomic_store_n(&opened, true, __ATOMIC_RELEASE);
    __atomic_store_n(&knobs_changed, switchboard_set, __ATOMIC_RELEASE);
    switchboard_set();
}

void switchboard_close(bool over)
{
    __atomic_store_n(&closed, over, __ATOMIC_SEQ_CST);
    switchboard_set();
}

void switchboard_pass(void)
{
    __atomic_store_n(&passed, true, __ATOMIC_SEQ_CST);
}

bool switchboard_records(void)
{
    return knob_load(KNOB_RECORDING) != 0;
}

void switchboard_record(bool on)
{
    knob_store(KNOB_RECORDING, on);
    switchboard_set();
}
