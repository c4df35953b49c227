#include "instruments/instrument.h"

#include "base/text.h"
#include "site/hide.h"

#include <stdio.h>
#include <string.h>

bool instrument_run_open; /* under the register's lock */

static void text_write(char *to, size_t bytes, const char *text)
{
    if (hides(HIDE_REGIONS))
        hide_text(to, bytes, text);
    else
        snprintf(to, bytes, "%s", text);
}

/* The component of phases, and the prefix of their names, are mpit's. They stay. */
static void names_write(struct instrument_record *record, const struct instrument *instrument)
{
    bool phase = strcmp(instrument->component, PHASE_COMPONENT) == 0 && text_begins(instrument->name, PHASE_PREFIX);
    size_t prefix = phase ? sizeof PHASE_PREFIX - 1 : 0;
    memcpy(record->name, PHASE_PREFIX, prefix);
    text_write(record->name + prefix, sizeof record->name - prefix, instrument->name + prefix);
    if (phase)
        snprintf(record->component, sizeof record->component, PHASE_COMPONENT);
    else
        text_write(record->component, sizeof record->component, instrument->component);
    if (phase || !hides(HIDE_REGIONS))
        snprintf(record->description, sizeof record->description, "%.*s", (int)sizeof record->description - 1,
                 instrument->description);
}

static uint64_t items_write(const struct instrument_enumeration *names)
{
    struct instrument_enumeration *known = (struct instrument_enumeration *)(uintptr_t)names;
    if (!known || known->items_offset)
        return known ? known->items_offset : 0;
    uint64_t offset;
    struct item_record *items = run_alloc(&book.run, known->count * sizeof *items, &offset);
    if (!items)
        return 0;
    for (uint32_t i = 0; i < known->count; i++) {
        items[i].value = known->items[i].value;
        text_write(items[i].name, sizeof items[i].name, known->items[i].name);
    }
    known->items_offset = offset;
    return offset;
}

static const char *instrument_unit(const struct instrument *instrument)
{
    if (instrument->kind == INSTRUMENT_REGION || instrument->class != MPIT_CLASS_TIMER)
        return "";
    return instrument_is_double(instrument) ? "s" : "ns";
}

static void values_copy(struct instrument_instance *instance)
{
    const struct instrument *instrument = instance->instrument;
    uint64_t *values = instance->published;
    if (!values)
        return;
    if (instrument->kind == INSTRUMENT_REGION) { /* the counts moved to it or from it. The rest is in blocks of cells */
        cell_store(&values[0], cell_load(&instance->moved.count));
        cell_store(&values[1], cell_load(&instance->moved.time));
        return;
    }
    for (uint32_t i = 0; i < instrument->count; i++)
        cell_store(&values[i], instrument_value(instance, instrument->class, i));
    cell_store(&values[instrument->count], instrument_value(instance, MPIT_CLASS_HIGHWATERMARK, 0));
    cell_store(&values[instrument->count + 1], instrument_value(instance, MPIT_CLASS_LOWWATERMARK, 0));
}

void instrument_record_make(struct instrument_instance *instance)
{
    const struct instrument *instrument = instance->instrument;
    uint64_t offset, values = 0;
    if (instrument->kind != INSTRUMENT_VARIABLE && instrument->kind != INSTRUMENT_REGION)
        return;
    struct instrument_record *record = run_alloc(&book.run, sizeof *record, &offset);
    if (record)
        instance->published =
            run_alloc(&book.run, (instrument->count + INSTRUMENT_EXTREMES) * sizeof(uint64_t), &values);
    if (!record)
        return; /* counted as lost */
    record->id = instance->id;
    record->kind = instrument->kind;
    record->class = instrument->class;
    record->classes = instrument->classes;
    record->type = instrument->type;
    record->count = instrument->count;
    record->comm = instance->comm ? instance->comm->slot : 0;
    record->items = items_write(instrument->names);
    record->item_count = record->items ? instrument->names->count : 0;
    record->values = instance->published_offset = values;
    names_write(record, instrument);
    snprintf(record->unit, sizeof record->unit, "%s", instrument_unit(instrument));
    values_copy(instance);
    __atomic_store_n(&instance->record, record, __ATOMIC_RELEASE); /* pairs with instrument_publish */
    if (offset)
        run_link(&book.run, &book.run.header->first_instrument, &record->next, offset);
}

void instrument_record_tie(struct instrument_instance *instance)
{
    __atomic_store_n(&instance->record->comm, instance->comm->slot, __ATOMIC_RELAXED);
    values_copy(instance);
    __atomic_store_n(&instance->record->values, instance->published_offset, __ATOMIC_RELEASE);
}

void instrument_record_publish(struct instrument_instance *instance)
{
    if (instance->record)
        values_copy(instance);
}

void instrument_record_leave(struct instrument_instance *instance, const struct comm *sum)
{
    bool region = instance->instrument->kind == INSTRUMENT_REGION; /* it needs the moved counts */
    values_copy(instance);
    if (!region)
        __atomic_store_n(&instance->record->values, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&instance->record->comm, sum->slot, __ATOMIC_RELAXED);
}

void instrument_run_begin(void)
{
    instrument_lock();
    instrument_run_open = true;
    for (uint32_t i = 0; i < instrument_count(); i++)
        for (struct instrument_instance *at = instrument_at(i)->instances; at; at = at->next)
            if (!at->record)
                instrument_record_make(at);
    instrument_unlock();
}

void instrument_publish(void)
{
    for (uint32_t i = 0; i < instrument_count(); i++) {
        struct instrument_instance *at = __atomic_load_n(&instrument_at(i)->instances, __ATOMIC_ACQUIRE);
        for (; at; at = at->next)
            if (__atomic_load_n(&at->record, __ATOMIC_ACQUIRE) && !__atomic_load_n(&at->waits, __ATOMIC_ACQUIRE))
                values_copy(at);
    }
}
