/*
 * Meters: the count of a counter, sum or timer since its handle was started.
 *
 * One pair (pair.h) for each element, and one in front of them:
 *
 *     running:  value = what all threads have counted until now + word        start: word -= now     reset: word = -now
 *     stopped:  value = word                                                  stop:  word += now     reset: word = 0
 *
 *     tag       owner : 24 | version : 32 | changes : 8       an element runs while its version is odd
 *
 * Each operation is one compare-and-swap of the pair. If the element has changed between the read and the swap, the
 * operation reads again. So a read-and-reset begins anew with exactly the sample that it has returned. All 64 bits of a
 * value can be written and overflow. Counts between sample and swap belong to the time after the operation. A read
 * between the two sees them on top of the old value, and no count is lost or doubled.
 *
 * start and stop set the wanted version in the pair in front. Then they bring every element with an older version up to
 * it. If a stop interrupts a start, all elements get the newer version, and the start does not touch them any more. All
 * elements end in the state of the last operation.
 *
 * The memory of a meter is used again for others and never unmapped. Every operation names the owner of the meter. Once
 * that owner has released the meter, its tags have another owner, and no swap of an old operation succeeds.
 *
 * All functions except meter_acquire and meter_release are lock-free and async-signal-safe, on the same meter too.
 */
#ifndef MPIT_AGGREGATE_METER_H
#define MPIT_AGGREGATE_METER_H

#include "handles/objectcells.h"

/* A copy of the state that an operation needs. `pairs` belong to the owner only while their tags have it. */
struct meter {
    const struct variable *variable;
    const struct comm *comm;     /* NULL: not bound */
    struct object_cells *object; /* of the bound window or file. NULL: none */
    uint64_t *pairs;             /* count + 1 */
    uint32_t count;
    uint32_t owner; /* not 0, 24 bits */
    uint32_t cell;  /* of a view, summed in element 0. METER_CELLS: an element is more than that */
    uint32_t step;  /* from there to the next element's cell */
    bool timer;     /* counted in ticks, read in nanoseconds */
};

enum { METER_OWNER_BITS = 24 };
#define METER_CELLS UINT32_MAX

/* Completes a new meter, stopped at 0. The caller has set variable, comm, count and owner. Returns false without
 * memory. Only one caller may acquire or release at a time, and not from a signal handler. */
bool meter_acquire(struct meter *meter);
void meter_release(struct meter *meter);

/* Return false if it has another owner now. Values of timers are in nanoseconds. */
bool meter_start(const struct meter *meter);
bool meter_stop(const struct meter *meter);
bool meter_reset(const struct meter *meter);
bool meter_write(const struct meter *meter, const uint64_t *values);
bool meter_read(const struct meter *meter, uint64_t *values);
bool meter_readreset(const struct meter *meter, uint64_t *values);

#endif
