#include "fabric.h"

#include "demand.h"

/* Calls of MPI then come by where they tell what was below them. */
static void fabric_switch(bool on)
{
    if (__atomic_exchange_n(&fabric_on, on, __ATOMIC_SEQ_CST) == on)
        return;
    if (on && book.run.header)
        RELAXED_STORE(&book.run.header->fabric_watched, 1);
    knobs_attend(on ? 1 : -1);
    fabric_ofi_switch(on);
    fabric_ucx_switch(on);
}

void fabric_open(void)
{
    demand_serve(DEMAND_FABRIC, fabric_switch);
}
