/*
 * Single messages for the timeline.
 *
 *   messages of the analysis ──> those with the longest waits ──────────┐
 *                           └──> every 2^n-th message ──────────────────┴──> list, in the order of sending
 *
 * So each part of the run has some, and the most expensive ones are there. Each half keeps at most PAGE_MESSAGES / 2.
 */
#ifndef MPIT_TOOLS_PAGE_MESSAGES_H
#define MPIT_TOOLS_PAGE_MESSAGES_H

#include "analysis/analysis.h"

#include <jansson.h>
#include <stdbool.h>

struct page_message {
    struct analysis_flow flow;
    uint64_t number, waited_ns;
};

struct page_messages {
    struct page_message *list; /* as in page_calls.h: if it was cut, the longest waits first */
    struct page_message *thin; /* in the order of their numbers */
    size_t count, thin_count;
    bool cut;
    uint64_t all, step;
};

/* Returns 0, or -1 without memory. Close it in both cases. */
int page_messages_open(struct page_messages *messages);
void page_messages_add(struct page_messages *messages, const struct analysis_flow *flow);
/* Returns {"count", "list"}. Nothing may be added after it. */
json_t *page_messages_json(struct page_messages *messages);
void page_messages_close(struct page_messages *messages);

#endif
