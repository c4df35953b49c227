/* event_cursor_next for callers that read very many events. */
#ifndef MPIT_EVENTS_READERNEXT_H
#define MPIT_EVENTS_READERNEXT_H

#include "reader/reader.h"

/* The next record, if it is unpacked already, as nearly all are. Valid as with event_cursor_next. NULL: call
 * event_cursor_next. */
static inline const struct event *event_cursor_plain(struct event_cursor *cursor)
{
    if (cursor->ready == cursor->ready_end)
        return NULL;
    cursor->next++;
    return cursor->ready++;
}

#endif
