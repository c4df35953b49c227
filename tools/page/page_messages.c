#include "page/page_messages.h"

#include "base/array.h"
#include "page/page.h"

#include <stdlib.h>

enum { HALF = PAGE_MESSAGES / 2 };

int page_messages_open(struct page_messages *messages)
{
    *messages = (struct page_messages){
        .list = calloc(2 * HALF, sizeof *messages->list), .thin = calloc(HALF, sizeof *messages->thin), .step = 1};
    return messages->list && messages->thin ? 0 : -1;
}

/* The longest wait first. */
static int wait_order(const void *one, const void *other)
{
    const struct page_message *a = one, *b = other;
    return ORDER(b->waited_ns, a->waited_ns) ?: ORDER(a->number, b->number);
}

static void messages_cut(struct page_messages *messages)
{
    if (messages->count)
        qsort(messages->list, messages->count, sizeof *messages->list, wait_order);
    messages->cut = messages->count >= HALF;
    messages->count = messages->cut ? HALF : messages->count;
}

static void long_add(struct page_messages *messages, const struct page_message *message)
{
    if (messages->cut && wait_order(message, &messages->list[HALF - 1]) > 0)
        return;
    if (messages->count == 2 * HALF)
        messages_cut(messages);
    messages->list[messages->count++] = *message;
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

void page_messages_add(struct page_messages *messages, const struct analysis_flow *flow)
{
    struct page_message message = {.flow = *flow, .number = messages->all++};
    uint64_t until = flow->begun_ns < flow->done_ns ? flow->begun_ns : flow->done_ns;
    message.waited_ns = until > flow->got_ns ? until - flow->got_ns : 0;
    long_add(messages, &message);
    thin_add(messages, &message);
}

static int by_number(const void *one, const void *other)
{
    const struct page_message *a = one, *b = other;
    return ORDER(a->number, b->number);
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
    messages_cut(messages);
    if (messages->count)
        qsort(messages->list, messages->count, sizeof *messages->list, by_number);
    while (i < messages->count || k < messages->thin_count) {
        const struct page_message *one = i < messages->count ? &messages->list[i] : NULL;
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
    free(messages->list);
    free(messages->thin);
}
