#include "page/page_calls.h"

#include "page/page.h"
#include "page/page_places.h"

#include <stdbool.h>
#include <stdlib.h>

int page_calls_open(struct page_calls *calls, const struct run_job *job)
{
    *calls = (struct page_calls){.heap = calloc(PAGE_CALLS, sizeof *calls->heap),
                                 .places = call_places_open(job->names),
                                 .summary = job->summary};
    return calls->heap && calls->places ? 0 : -1;
}

/* Of calls of one length the first one counts as longer, so the list does not depend on the order in the heap. */
static bool is_shorter(const struct page_call *a, const struct page_call *b)
{
    if (a->ns != b->ns)
        return a->ns < b->ns;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns > b->begin_ns;
    return a->rank != b->rank ? a->rank > b->rank : a->thread > b->thread;
}

static void call_rise(struct page_call *heap, size_t at)
{
    for (size_t above; at > 0 && is_shorter(&heap[at], &heap[above = (at - 1) / 2]); at = above) {
        struct page_call call = heap[above];
        heap[above] = heap[at];
        heap[at] = call;
    }
}

static void call_sink(struct page_call *heap, size_t count)
{
    for (size_t at = 0, below; (below = 2 * at + 1) < count; at = below) {
        below += below + 1 < count && is_shorter(&heap[below + 1], &heap[below]);
        if (!is_shorter(&heap[below], &heap[at]))
            return;
        struct page_call call = heap[below];
        heap[below] = heap[at];
        heap[at] = call;
    }
}

void page_calls_add(struct page_calls *calls, const struct page_call *call)
{
    calls->all++;
    if (calls->count < PAGE_CALLS) {
        calls->heap[calls->count] = *call;
        call_rise(calls->heap, calls->count++);
    } else if (is_shorter(&calls->heap[0], call)) {
        calls->heap[0] = *call;
        call_sink(calls->heap, calls->count);
    }
}

static int page_call_order(const void *one, const void *other)
{
    const struct page_call *a = one, *b = other;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
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
    uint64_t shortest = calls->count ? calls->heap[0].ns : 0;
    page_places_open(&places, calls->places, calls->summary);
    if (calls->count)
        qsort(calls->heap, calls->count, sizeof *calls->heap, page_call_order);
    for (size_t i = 0; i < calls->count; i++) {
        const struct page_call *call = &calls->heap[i];
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
    free(calls->heap);
    call_places_close(calls->places);
}
