/* Instances of instruments: made, found, and reused for another communicator. */
#include "instruments/instrument.h"
#include "settings/tracing.h"

#include <stdlib.h>
#include <string.h>

static uint32_t last_id; /* of an instance. Under the register's lock */

/* Lock-free. */
static struct instrument_instance *instance_find(const struct instrument *instrument, const struct comm *comm)
{
    if (!comm)
        return __atomic_load_n(&instrument->instances, __ATOMIC_ACQUIRE);
    if (instrument->number >= __atomic_load_n(&comm->instance_room, __ATOMIC_ACQUIRE))
        return NULL;
    struct instrument_instance **instances = __atomic_load_n(&comm->instances, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&instances[instrument->number], __ATOMIC_ACQUIRE);
}

/* A reader may still use the shorter array, so that stays. It is half as long as the next. */
static bool room_make(struct comm *comm, uint32_t number)
{
    uint32_t room = comm->instance_room ? comm->instance_room : 8;
    if (number < comm->instance_room)
        return true;
    while (room <= number)
        room *= 2;
    struct instrument_instance **instances = calloc(room, sizeof *instances);
    if (!instances)
        return false;
    if (comm->instance_room)
        memcpy(instances, comm->instances, comm->instance_room * sizeof *instances);
    __atomic_store_n(&comm->instances, instances, __ATOMIC_RELEASE); /* the array first: see instance_find */
    __atomic_store_n(&comm->instance_room, room, __ATOMIC_RELEASE);
    return true;
}

static struct instrument_instance *instance_fresh(struct instrument *instrument)
{
    struct instrument_instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return NULL;
    instance->instrument = instrument;
    instance->closed_low = LOW_NEUTRAL;
    instance->waits = true;
    instance->cells = instrument_cells_make(instance);
    instance->sampled = calloc(instrument->count, sizeof *instance->sampled);
    if (!instance->cells || !instance->sampled) {
        free(instance->sampled);
        free(instance);
        return NULL;
    }
    instance->next = instrument->instances;
    __atomic_store_n(&instrument->instances, instance, __ATOMIC_RELEASE);
    return instance;
}

/*
 * In a trace each communicator gets its own id while there are numbers. Then the next one gets the old id, and its
 * record.
 */
static bool id_give(struct instrument_instance *instance)
{
    bool more = last_id + 1 < INSTRUMENT_IDS_MAX;
    if (instance->id && (!tracing_number() || !more))
        return true;
    if (!more)
        return false;
    instance->id = ++last_id;
    instance->record = NULL;
    instance->published = NULL;
    instance->moved = (struct region_cells){0};
    return true;
}

struct instrument_instance *instrument_instance_make(struct instrument *instrument, const struct comm *comm)
{
    if (comm && !room_make((struct comm *)(uintptr_t)comm, instrument->number))
        return NULL;
    struct instrument_instance *instance = instrument->unused;
    if (instance)
        instrument->unused = instance->unused;
    else
        instance = instance_fresh(instrument);
    if (!instance || !id_give(instance)) {
        if (instance) {
            instance->unused = instrument->unused;
            instrument->unused = instance;
        }
        return NULL;
    }
    instance->comm = comm;
    instance->sampled_once = false;
    if (instance->record)
        instrument_record_tie(instance);
    else if (instrument_run_open)
        instrument_record_make(instance);
    __atomic_store_n(&instance->waits, false, __ATOMIC_RELEASE);
    if (comm)
        __atomic_store_n(&comm->instances[instrument->number], instance, __ATOMIC_RELEASE);
    return instance;
}

struct instrument_instance *instrument_instance(struct instrument *instrument, const struct comm *comm)
{
    struct instrument_instance *found = instance_find(instrument, comm);
    if (found)
        return found;
    instrument_lock(); /* and check again: another thread may have made it */
    found = instance_find(instrument, comm);
    if (!found)
        found = instrument_instance_make(instrument, comm);
    instrument_unlock();
    return found;
}

/* ---- a slot goes to another communicator ------------------------------------------------------------------------- */

/* Returns false for events and controls. */
static bool counts(const struct instrument_instance *instance)
{
    enum instrument_kind kind = instance->instrument->kind;
    return kind == INSTRUMENT_VARIABLE || kind == INSTRUMENT_REGION;
}

bool instruments_prepare(const struct comm *comm, struct comm *sum)
{
    if (!comm->instance_room)
        return true;
    bool good = true;
    instrument_lock();
    for (uint32_t i = 0; good && i < comm->instance_room; i++) {
        const struct instrument_instance *instance = comm->instances[i];
        struct instrument *instrument = instrument_at(i);
        if (instance && counts(instance) && !instance_find(instrument, sum))
            good = instrument_instance_make(instrument, sum) != NULL;
    }
    instrument_unlock();
    return good;
}

static void instance_move(struct instrument_instance *instance, struct instrument_instance *to)
{
    if (instance->instrument->kind == INSTRUMENT_REGION) {
        struct region_cells sum = instrument_region_sum(instance);
        cell_store(&to->moved.count, to->moved.count + sum.count);
        cell_store(&to->moved.time, to->moved.time + sum.time);
        cell_store(&instance->moved.count, instance->moved.count - sum.count);
        cell_store(&instance->moved.time, instance->moved.time - sum.time);
    } else {
        instrument_cells_join(to, instance);
    }
}

void instruments_move(struct comm *comm, struct comm *sum)
{
    if (!comm->instance_room)
        return;
    instrument_lock();
    for (uint32_t i = 0; i < comm->instance_room; i++) {
        struct instrument_instance *instance = comm->instances[i];
        if (!instance)
            continue;
        __atomic_store_n(&comm->instances[i], NULL, __ATOMIC_RELEASE);
        struct instrument_instance *to = counts(instance) ? instance_find(instance->instrument, sum) : NULL;
        if (to) { /* none: a late library made it after instruments_prepare */
            instance_move(instance, to);
            instrument_record_publish(to); /* the file of a killed process has the numbers in one place or the other */
        }
        __atomic_store_n(&instance->waits, true, __ATOMIC_RELEASE);
        instance->comm = NULL;
        instrument_cells_clear(instance);
        if (instance->record)
            instrument_record_leave(instance, sum);
        struct instrument *instrument = instrument_at(i);
        instance->unused = instrument->unused;
        instrument->unused = instance;
    }
    instrument_unlock();
}
