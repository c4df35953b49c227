/*
 * Variables of other libraries (aggregate/instruments/instrument.h) as MPI_T shows them.
 *
 * A handle of a sum keeps a pair (pair.h) for each element. So all calls on it may come from several threads, and from
 * signal handlers that interrupt one another. A readreset loses and doubles nothing:
 *
 *     running:  value = count now + word        start: word -= now     reset: word = -now
 *     stopped:  value = word                    stop:  word += now     reset: word = 0          tag: changes | running
 *
 * Doubles count in doubles. A handle of a watermark is a window on the level (instrument_window). All others read the
 * value as it is. A removed variable leaves its index and entry behind: handle_alloc returns MPI_T_ERR_INVALID_INDEX,
 * access through an open handle MPI_T_ERR_INVALID_HANDLE.
 *
 * The state of a handle is never freed. It is reused for handles of the same variable and communicator. So a call that
 * comes after MPI_T_pvar_handle_free never touches another kind of state.
 */
#ifndef MPIT_MPIT_COMPONENT_H
#define MPIT_MPIT_COMPONENT_H

#include "catalogue/catalogue.h"
#include "instruments/instrument.h"

/* Adds new registrations: variables to the catalogue, controls to their list (componentcontrol.c). Cheap if there is
 * nothing new. Not for signal handlers. */
void component_refresh(void);

/* Categories of other libraries: paths, and the description of a path ("" = none). */
int component_category_count(void);
const char *component_category_path(int number);
const char *component_category_text(const char *path);

struct component_handle;

/* The state for a handle of the entry, bound to `comm` (NULL: unbound). Under the lock of the table of handles, like
 * component_release. Returns MPI's codes, here and below. */
int component_bind(const struct catalogue_entry *entry, const struct comm *comm, struct component_handle **handle,
                   uint32_t *count);
void component_release(struct component_handle *handle);

/* Lock-free and async-signal-safe. */
int component_start(struct component_handle *handle);
int component_stop(struct component_handle *handle);
int component_reset(struct component_handle *handle);
int component_read(struct component_handle *handle, void *buf);
int component_readreset(struct component_handle *handle, void *buf);
int component_write(struct component_handle *handle, const void *buf);

/* MPI's datatype for an enum mpit_type. */
MPI_Datatype component_datatype(uint32_t type);
/* MPI's number of an enum mpit_verbosity. */
int component_verbosity(uint32_t verbosity);
/* The handle of an enumeration. MPI_T_ENUM_NULL for NULL, and without memory. */
MPI_T_enum component_enum(const struct instrument_enumeration *names);
/* Adds an event type (componentevent.c). */
void component_event_enter(struct instrument *event);
/* Adds a control variable (componentcontrol.c). */
void component_control_enter(struct instrument *control);

static inline bool class_is_sum(uint32_t class)
{
    return class == MPIT_CLASS_COUNTER || class == MPIT_CLASS_AGGREGATE || class == MPIT_CLASS_TIMER;
}

static inline bool class_is_watermark(uint32_t class)
{
    return class == MPIT_CLASS_HIGHWATERMARK || class == MPIT_CLASS_LOWWATERMARK;
}

#endif
