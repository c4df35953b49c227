#include "page/page_calls.h"

#include "base/array.h"
#include "page/page.h"
#include "page/page_places.h"

#include <stdlib.h>

int page_calls_open(struct page_calls *calls, const struct run_job *job)
{
    *calls = (struct page_calls){.list = calloc(2 * PAGE_CALLS, sizeof *calls->list),
                                 .places = call_places_open(job->names),
                                 .summary = job->summary};
    return calls->list && calls->places ? 0 : -1;
}

/* The longest first. Of calls of one length it is the first one, so the list does not depend on the order in which they
 * came. */
static int length_order(const void *one, const void *other)
{
    const struct page_call *a = one, *b = other;
    int order = ORDER(b->ns, a->ns) ?: ORDER(a->begin_ns, b->begin_ns);
    return order ?: ORDER(a->rank, b->rank) ?: ORDER(a->thread, b->thread);
}

static void calls_cut(struct page_calls *calls)
{
    if (calls->count)
        qsort(calls->list, calls->count, sizeof *calls->list, length_order);
    calls->cut = calls->count >= PAGE_CALLS;
    calls->count = calls->cut ? PAGE_CALLS : calls->count;
}

void page_calls_add(struct page_calls *calls, const struct page_call *call)
{
    calls->all++;
    if (calls->cut && length_order(call, &calls->list[PAGE_CALLS - 1]) > 0)
        return;
    if (calls->count == 2 * PAGE_CALLS)
        calls_cut(calls);
    calls->list[calls->count++] = *call;
}

static int page_call_order(const void *one, const void *other)
{
    const struct page_call *a = one, *b = other;
    return ORDER(a->rank, b->rank) ?: ORDER(a->begin_ns, b->begin_ns) ?: ORDER(a->thread, b->thread);
}

/* Returns the number of a function in the list, which gets it if it is new. */
static size_t page_function_number(json_t *functions, size_t numbers[CALL_COUNT], uint32_t kind)
{
    if (!numbers[kind]) {
        json_array_append_new(functions, json_pack("{s:s, s:s}", "name", call_table[kind].name, "class",
                                                   page_class_key(call_table[kind].class)));
        numbers[kind] = json_array_size(functions);
    }
    return numbers[kind] - 1;
}

json_t *page_calls_json(struct page_calls *calls)
{
    size_t numbers[CALL_COUNT] = {0};
    json_t *functions = json_array(), *list = json_array();
    struct page_places places;
    calls_cut(calls);
    uint64_t shortest = calls->count ? calls->list[calls->count - 1].ns : 0;
    page_places_open(&places, calls->places, calls->summary);
    if (calls->count)
        qsort(calls->list, calls->count, sizeof *calls->list, page_call_order);
    for (size_t i = 0; i < calls->count; i++) {
        const struct page_call *call = &calls->list[i];
        json_array_append_new(list,
                              json_pack("[o, o, o, o, o, o, o]", count_json(call->rank), count_json(call->thread),
                                        count_json(call->begin_ns), count_json(call->ns), count_json(call->stall_ns),
                                        count_json(page_function_number(functions, numbers, call->kind)),
                                        page_place_number(&places, call->place)));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "count", count_json(calls->all), "shortest_ns", count_json(shortest),
                     "functions", functions, "callsites", page_places_take(&places), "list", list);
}

void page_calls_close(struct page_calls *calls)
{
    free(calls->list);
    call_places_close(calls->places);
}
