/*
 * Places in the program, in the page's document.
 *
 *   place of a call (job/callplaces.h) ──> number in a list ──> {"mpi", "function", "file", "line", "path", "cut"}
 *
 * The list has only places that the document refers to. So its size is bounded by the lists that refer to it.
 */
#ifndef MPIT_TOOLS_PAGE_PLACES_H
#define MPIT_TOOLS_PAGE_PLACES_H

#include "job/callplaces.h"

#include <jansson.h>

struct page_places {
    struct call_places *source;
    json_t *list;
    uint32_t *numbers; /* by place: its number in the list + 1, or 0 */
    size_t capacity;
};

void page_places_open(struct page_places *places, struct call_places *source);
/* Returns the number of a place in the list, which gets it if it is new. Returns null for place 0, or without memory. */
json_t *page_place_number(struct page_places *places, uint32_t place);
/* Returns the list, and frees the rest. */
json_t *page_places_take(struct page_places *places);

#endif
