/* event_cursor_next for whoever reads very many events. */
#ifndef MPIT_EVENTS_READERNEXT_H
#define MPIT_EVENTS_READERNEXT_H

#include "reader.h"
#include "unpack.h"

/* The next record where that is packed, nobody changes it, and it belongs to the trace, as nearly all do: it stays
 * where it is until PACK_BACK_MOST more have been asked for. NULL: event_cursor_next has it. */
static inline const struct event *event_cursor_plain(struct event_cursor *cursor)
{
    if (!cursor->plain || cursor->next >= cursor->current_end || cursor->packed_number != cursor->next)
        return NULL;
    const struct event *event = event_unpack_here(&cursor->unpacked, &cursor->packed, cursor->packed_end);
    if (!event)
        return NULL;
    cursor->packed_number++;
    cursor->next++;
    cursor->gap = 0;
    return event;
}

#endif
