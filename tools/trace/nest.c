#include "trace/nest.h"

#include "base/array.h"
#include <stdlib.h>

/* Outer calls first: they began earlier, or in the same tick and returned later. */
static int call_order(const void *one, const void *other)
{
    const struct traced_call *a = one, *b = other;
    return ORDER(a->event.begin, b->event.begin) ?: ORDER(b->number, a->number);
}

/* A call lies inside of each call that began before it and returned after it. */
void nest_write(struct nest *nest, void *data, void (*enter)(void *data, const struct traced_call *call),
                void (*leave)(void *data, const struct traced_call *call))
{
    size_t open = 0;
    if (nest->count > 1)
        qsort(nest->calls, nest->count, sizeof *nest->calls, call_order);
    for (size_t i = 0; i < nest->count; i++) {
        while (open && nest->calls[nest->open[open - 1]].number < nest->calls[i].number)
            leave(data, &nest->calls[nest->open[--open]]);
        enter(data, &nest->calls[i]);
        nest->open[open++] = i;
    }
    while (open)
        leave(data, &nest->calls[nest->open[--open]]);
    nest->count = 0;
}

int nest_push(struct nest *nest, struct traced_call *call)
{
    if (nest->count == nest->capacity) {
        size_t capacity = nest->capacity ? nest->capacity * 2 : 4;
        if (!ARRAY_RESIZED(nest->calls, capacity))
            return -1;
        for (size_t i = nest->capacity; i < capacity; i++)
            nest->calls[i] = (struct traced_call){0};
        nest->capacity = capacity;
        if (!ARRAY_RESIZED(nest->open, capacity))
            return -1;
    }
    struct traced_call spare = nest->calls[nest->count];
    nest->calls[nest->count++] = *call;
    *call = spare;
    return 0;
}

void nest_release(struct nest *nest)
{
    for (size_t i = 0; i < nest->capacity; i++)
        free(nest->calls[i].parts);
    free(nest->calls);
    free(nest->open);
    *nest = (struct nest){0};
}
