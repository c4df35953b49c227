#include "page/page_messages.h"

#include "page/page.h"

#include <stdbool.h>
#include <stdlib.h>

enum { HALF = PAGE_MESSAGES / 2 };

int page_messages_open(struct page_messages *messages)
{
    *messages = (struct page_messages){
        .heap = calloc(HALF, sizeof *messages->heap), .thin = calloc(HALF, sizeof *messages->thin), .step = 1};
    return messages->heap && messages->thin ? 0 : -1;
}

static bool is_cheaper(const struct page_message *a, const struct page_message *b)
{
    return a->waited_ns != b->waited_ns ? a->waited_ns < b->waited_ns : a->number > b->number;
}

static void heap_swap(struct page_message *heap, size_t i, size_t k)
{
    struct page_message message = heap[i];
    heap[i] = heap[k];
    heap[k] = message;
}

static void heap_add(struct page_messages *messages, const struct page_message *message)
{
    struct page_message *heap = messages->heap;
    size_t count = messages->heap_count;
    if (count < HALF) {
        heap[count] = *message;
        messages->heap_count++;
        for (size_t at = count; at > 0 && is_cheaper(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2)
            heap_swap(heap, at, (at - 1) / 2);
        return;
    }
    if (!is_cheaper(&heap[0], message))
        return;
    heap[0] = *message;
    for (size_t at = 0, below; (below = 2 * at + 1) < count; at = below) {
        below += below + 1 < count && is_cheaper(&heap[below + 1], &heap[below]);
        if (!is_cheaper(&heap[below], &heap[at]))
            return;
        heap_swap(heap, at, below);
    }
}

/* Keeps every step-th message. If there is no room, every second one goes. */
static void thin_add(struct page_messages *messages, const struct page_message *message)
{
    if (message->number % messages->step)
        return;
    if (messages->thin_count == HALF) {
        for (size_t i = 0; i < HALF / 2; i++)
            messages->thin[i] = messages->thin[2 * i];
        messages->thin_count = HALF / 2;
        messages->step *= 2;
        if (message->number % messages->step)
            return;
    }
    messages->thin[messages->thin_count++] = *message;
}

void page_messages_add(void *data, const struct analysis_flow *flow)
{
    struct page_messages *messages = data;
    struct page_message message = {.flow = *flow, .number = messages->all++};
    uint64_t until = flow->begun_ns < flow->done_ns ? flow->begun_ns : flow->done_ns;
    message.waited_ns = until > flow->got_ns ? until - flow->got_ns : 0;
    heap_add(messages, &message);
    thin_add(messages, &message);
}

static int by_number(const void *one, const void *other)
{
    const struct page_message *a = one, *b = other;
    return a->number < b->number ? -1 : a->number > b->number;
}

static json_t *message_json(const struct page_message *message)
{
    const struct analysis_flow *flow = &message->flow;
    return json_pack("[i, i, o, o, o, o]", (int)flow->source, (int)flow->dest, count_json(flow->begun_ns),
                     count_json(flow->done_ns), count_json(flow->bytes), count_json(message->waited_ns));
}

json_t *page_messages_json(struct page_messages *messages)
{
    json_t *list = json_array();
    size_t i = 0, k = 0;
    if (messages->heap_count)
        qsort(messages->heap, messages->heap_count, sizeof *messages->heap, by_number);
    while (i < messages->heap_count || k < messages->thin_count) {
        const struct page_message *one = i < messages->heap_count ? &messages->heap[i] : NULL;
        const struct page_message *other = k < messages->thin_count ? &messages->thin[k] : NULL;
        bool first = one && (!other || one->number <= other->number);
        k += other && (!first || one->number == other->number);
        i += first;
        json_array_append_new(list, message_json(first ? one : other));
    }
    return json_pack("{s:o, s:o}", "count", count_json(messages->all), "list", list);
}

void page_messages_close(struct page_messages *messages)
{
    free(messages->heap);
    free(messages->thin);
}
