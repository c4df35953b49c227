/*
 * Event types and sources: mpit's own first, then the library's as they appear.
 *
 *   index   0 .. EVENT_TYPES-1     own (aggregate/handles/instance.c)
 *           EVENT_TYPES ..         added by event_type_add, and native ones, in the order of arrival
 *
 * An index never moves. Source 0 is mpit's clock, source i + 1 the library's source i.
 *
 * Who may run with whom: entries are added under a lock and published with a release store of their number. Any thread
 * reads them without a lock.
 */
#ifndef MPIT_MPIT_EVENT_TYPE_H
#define MPIT_MPIT_EVENT_TYPE_H

#include "catalogue/door.h"
#include "handles/instance.h"

enum { EVENT_TYPES_MOST = 1024, OWN_SOURCES = 1 };

/* The type of an index: own != NULL, or a native index. */
struct event_entry {
    struct event_type *own;
    int native_index;
    const char *name;
};

/* NULL: no such index. */
const struct event_entry *event_entry_at(int index);
/* Searches for new native types. Returns the number of entries. */
int event_entries_refresh(void);
/* Adds a type of the process's own. Returns its index, or -1: no room, too many elements, or the name exists. The
 * type must stay in place. */
int event_type_add(struct event_type *type);
/* -1: has not entered. */
int event_entry_of_native(int native_index);

#endif
