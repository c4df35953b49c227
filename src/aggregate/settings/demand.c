#include "settings/demand.h"

#include <stdint.h>

void (*demand_changed[DEMANDS])(bool wanted);
static int asking[DEMANDS];
static uint32_t versions[DEMANDS];

bool demand_now(enum demand demand)
{
    return __atomic_load_n(&asking[demand], __ATOMIC_SEQ_CST) > 0;
}

/* Starts again if a request came or went meanwhile. So the last thread to report has seen the newest number. */
static void demand_tell(enum demand demand)
{
    uint32_t version = __atomic_add_fetch(&versions[demand], 1, __ATOMIC_SEQ_CST), seen;
    do {
        seen = version;
        void (*changed)(bool) = __atomic_load_n(&demand_changed[demand], __ATOMIC_ACQUIRE);
        if (changed)
            changed(demand_now(demand));
        version = __atomic_load_n(&versions[demand], __ATOMIC_SEQ_CST);
    } while (version != seen);
}

void demand_change(enum demand demand, int change)
{
    if (demand == DEMAND_NONE || change == 0)
        return;
    int before = __atomic_fetch_add(&asking[demand], change, __ATOMIC_SEQ_CST);
    if ((before > 0) != (before + change > 0))
        demand_tell(demand);
}

void demand_serve(enum demand demand, void (*changed)(bool wanted))
{
    __atomic_store_n(&demand_changed[demand], changed, __ATOMIC_SEQ_CST);
    if (demand_now(demand))
        demand_tell(demand);
}
