#include "knobs.h"

#include "clock.h"
#include "event.h"

const struct knob_description knob_table[KNOB_COUNT] = {
    [KNOB_TRACE] = {"mpit_trace", KNOB_INT, false, 0, 0, 1, "1: keep raw events in the run file."},
    [KNOB_FLIGHT_EVENTS] = {"mpit_flight_events", KNOB_INT, false, 4096, 0, 1 << 24,
                            "Events a thread that the flight recorder keeps."},
    [KNOB_BUFFER_LIMIT_BYTES] = {"mpit_buffer_limit_bytes", KNOB_UNSIGNED_LONG_LONG, false, UINT64_C(64) << 20,
                                 UINT64_C(1) << 20, INT64_MAX,
                                 "Bound on the recorder's memory in a process, in bytes."},
    [KNOB_TRACE_LIMIT_BYTES] = {"mpit_trace_limit_bytes", KNOB_UNSIGNED_LONG_LONG, false, 0, 0, INT64_MAX,
                                "Bound on a process's trace on disk, in bytes; 0 = none."},
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

uint64_t knob_timeout_ticks = UINT64_MAX;
uint64_t knob_rare_ticks = EVENT_DURATION_WIDE - 1;
static struct clock_scale scale;

static void timeout_derive(void)
{
    uint64_t ns = knob_load(KNOB_P2P_TIMEOUT_NS);
    uint64_t ticks = ns && scale.mult ? clock_ticks(scale, ns) : UINT64_MAX;
    uint64_t rare = ticks < EVENT_DURATION_WIDE ? ticks : EVENT_DURATION_WIDE - 1;
    __atomic_store_n(&knob_timeout_ticks, ticks, __ATOMIC_RELAXED);
    __atomic_store_n(&knob_rare_ticks, rare, __ATOMIC_RELAXED);
}

void knob_store(enum knob knob, uint64_t value)
{
    __atomic_store_n(&knobs[knob], value, __ATOMIC_RELAXED);
    if (knob == KNOB_P2P_TIMEOUT_NS)
        timeout_derive();
}

void knobs_scale(uint64_t mult)
{
    scale.mult = mult;
    timeout_derive();
}
