/* event_cursor_next for whoever reads very many events. */
#ifndef MPIT_EVENTS_READERNEXT_H
#define MPIT_EVENTS_READERNEXT_H

#include "reader/reader.h"

/* The next record where that is unpacked already, as nearly all are; valid as event_cursor_next says. NULL: that has
 * it. */
static inline const struct event *event_cursor_plain(struct event_cursor *cursor)
{
    if (cursor->ready == cursor->ready_end)
        return NULL;
    cursor->next++;
    return cursor->ready++;
}

#endif
