/*
 * Places in the program, in the page's document.
 *
 *   place of a call (job/callplaces.h) ──> number ──> {"mpi", "function", "file", "line", "path", "cut"}
 *
 * The first numbers are those of the call sites of the summary, which the document has already. The list has the rest of
 * the places that the document refers to.
 */
#ifndef MPIT_TOOLS_PAGE_PLACES_H
#define MPIT_TOOLS_PAGE_PLACES_H

#include "report/callplaces.h"

#include <jansson.h>

struct page_places {
    struct call_places *source;
    const struct summary_sites *sites;
    const struct summary_site **order; /* in the document */
    json_t *list;
    uint32_t *numbers; /* by place: its number in the list + 1, or 0 */
    size_t capacity;
};

void page_places_open(struct page_places *places, struct call_places *source, const struct summary *summary);
/* Returns the number of a place. The list gets it if the summary does not have it. Returns null for place 0, or without memory. */
json_t *page_place_number(struct page_places *places, uint32_t place);
/* Returns the list, and frees the rest. */
json_t *page_places_take(struct page_places *places);

#endif
