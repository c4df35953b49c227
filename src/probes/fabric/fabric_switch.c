#include "fabric/fabric.h"

#include "settings/demand.h"
#include "progress/stall.h"

/* Calls of MPI then take the rare path, and record the operations below them. The last caller sets the final state,
 * even if it interrupted others. */
static void fabric_switch(bool on)
{
    if (on && !__atomic_load_n(&fabric_on, __ATOMIC_SEQ_CST))
        __atomic_add_fetch(&fabric_epoch, 1, __ATOMIC_SEQ_CST);
    bool before = __atomic_exchange_n(&fabric_on, on, __ATOMIC_SEQ_CST);
    if (on && book.run.header)
        RELAXED_STORE(&book.run.header->fabric_watched, 1);
    if (on && RELAXED_LOAD(&stall_rest.rests))
        stall_opal_rest_end();
    if (before != on)
        knobs_attend(on ? 1 : -1);
    fabric_ofi_switch(on);
    fabric_ucx_switch(on);
}

void fabric_open(void)
{
    demand_serve(DEMAND_FABRIC, fabric_switch);
}
