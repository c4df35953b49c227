/*
 * Event types of other libraries: their elements, and the word in their cells that tells whether there are listeners.
 */
#include "instruments/component.h"
#include "events/event_type.h"

#include <stdlib.h>

struct component_type {
    struct event_type type;
    struct instrument *instrument;
};

/* Raising one loads only the cell of its instance. */
static void heed(struct event_type *type, bool heard)
{
    struct instrument *instrument = ((struct component_type *)type)->instrument;
    instrument_lock();
    for (struct instrument_instance *at = instrument->instances; at; at = at->next)
        __atomic_store_n(&at->cells->own, heard, __ATOMIC_RELAXED);
    instrument_unlock();
}

static enum element_type element_type_of(uint32_t type)
{
    static const enum element_type types[] = {[MPIT_TYPE_INT] = ELEMENT_INT,
                                              [MPIT_TYPE_UNSIGNED] = ELEMENT_UNSIGNED,
                                              [MPIT_TYPE_UNSIGNED_LONG] = ELEMENT_UNSIGNED_LONG,
                                              [MPIT_TYPE_UNSIGNED_LONG_LONG] = ELEMENT_UNSIGNED_LONG_LONG,
                                              [MPIT_TYPE_DOUBLE] = ELEMENT_DOUBLE};
    return types[type];
}

void component_event_enter(struct instrument *event)
{
    struct component_type *fresh = calloc(1, sizeof *fresh);
    struct event_element *elements = calloc(event->element_count + 1u, sizeof *elements);
    for (uint32_t i = 0; elements && i < event->element_count; i++)
        elements[i] = (struct event_element){event->elements[i].name, element_type_of(event->elements[i].type),
                                             event->elements[i].offset};
    if (fresh && elements) {
        fresh->instrument = event;
        fresh->type = (struct event_type){.name = event->name,
                                          .description = event->description,
                                          .category = component_category_path(event->category),
                                          .heed = heed,
                                          .verbosity = (uint8_t)event->verbosity,
                                          .bound = event->bind == MPIT_BIND_COMM,
                                          .bytes = (uint16_t)event->bytes,
                                          .element_count = (uint16_t)event->element_count,
                                          .elements = elements,
                                          .gone = !instrument_is_active(event)};
        __atomic_store_n(&event->event, &fresh->type, __ATOMIC_RELEASE);
        if (event_type_add(&fresh->type) >= 0)
            return;
        __atomic_store_n(&event->event, NULL, __ATOMIC_RELEASE);
        native_say("mpit: event type \"%s\" of %s is hidden: another one has the same name", event->name,
                   event->component);
    }
    free(elements);
    free(fresh);
}
