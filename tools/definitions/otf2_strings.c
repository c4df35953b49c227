#include "definitions/otf2_strings.h"

#include "base/array.h"
#include "format/label.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64, TEXT_BYTES = 4096 };

/* Uses FNV-1a. The table is at most half full. */
static uint32_t *string_place_find(const struct trace_strings *strings, const char *text)
{
    uint32_t hash = 0x811c9dc5;
    for (const char *c = text; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x01000193;
    uint32_t *place;
    do
        place = &strings->places[hash++ & (strings->place_count - 1)];
    while (*place && strcmp(strings->list[*place - 1], text) != 0);
    return place;
}

static bool strings_grow(struct trace_strings *strings)
{
    uint32_t capacity = strings->capacity ? strings->capacity * 2 : FIRST_CAPACITY;
    if (!ARRAY_RESIZED(strings->list, capacity))
        return false;
    uint32_t *places = calloc(capacity * (size_t)2, sizeof *places);
    if (!places)
        return false;
    free(strings->places);
    strings->places = places;
    strings->place_count = capacity * 2;
    strings->capacity = capacity;
    for (uint32_t id = 0; id < strings->count; id++)
        *string_place_find(strings, strings->list[id]) = id + 1;
    return true;
}

uint32_t trace_strings_id(struct trace_strings *strings, const char *given)
{
    char text[TEXT_BYTES];
    label_clean(text, sizeof text, given, sizeof text - 1);
    if (strings->count == strings->capacity && !strings_grow(strings))
        return UINT32_MAX;
    uint32_t *place = string_place_find(strings, text);
    if (*place)
        return *place - 1;
    char *copy = strdup(text);
    if (!copy)
        return UINT32_MAX;
    strings->list[strings->count] = copy;
    *place = ++strings->count;
    return strings->count - 1;
}

void trace_strings_release(struct trace_strings *strings)
{
    for (uint32_t id = 0; id < strings->count; id++)
        free(strings->list[id]);
    free(strings->list);
    free(strings->places);
    *strings = (struct trace_strings){0};
}
