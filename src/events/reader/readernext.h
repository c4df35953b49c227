/* event_cursor_next for callers that read very many events. */
#ifndef MPIT_EVENTS_READERNEXT_H
#define MPIT_EVENTS_READERNEXT_H

#include "calls.h"
#include "reader/reader.h"

/* Takes call path and operation out of a call from the file, into the cursor. Returns the call without them. */
static inline struct event *event_without_path(struct event_cursor *cursor, const struct event *event)
{
    struct event *shown = &cursor->shown[cursor->shown_count++ & PACK_BACK_MOST];
    *shown = *event;
    cursor->path = (uint32_t)(event->bytes >> EVENT_PATH_SHIFT) & (EVENT_PATHS_MOST - 1);
    cursor->reduction = (uint8_t)(event->bytes >> EVENT_REDUCTION_SHIFT);
    shown->bytes &= EVENT_BYTES_MASK;
    if (shown->bytes && call_table[event_kind(event)].fold == FOLD_COMPLETION) /* when its request was posted */
        shown->bytes = event->begin - ((event->begin - shown->bytes) & EVENT_BYTES_MASK);
    return shown;
}

/* An event from the file as readers get it: without its call path. The event is not wide. */
static inline const struct event *event_cursor_show(struct event_cursor *cursor, const struct event *event)
{
    bool has_path = event_kind(event) < CALL_COUNT && !cursor->raw;
    return has_path ? event_without_path(cursor, event) : event;
}

/* The next record, if it is unpacked already, as nearly all are. Valid as with event_cursor_next. NULL: call
 * event_cursor_next. */
static inline const struct event *event_cursor_plain(struct event_cursor *cursor)
{
    if (cursor->ready == cursor->ready_end || (cursor->ready->kind & EVENT_WIDE) || cursor->held)
        return NULL;
    cursor->next++;
    return event_cursor_show(cursor, cursor->ready++);
}

#endif
