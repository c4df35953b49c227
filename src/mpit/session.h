/*
 * Sessions and handles of performance variables.
 *
 * What a tool holds is a ticket, not an address: slot number and generation of a place in a table that never shrinks. A
 * stale ticket (freed, or never given out) is found by one compare and can never be followed to memory.
 *
 * Each handle of an own variable has its own baseline, so nothing that one handle does is seen by another:
 *
 *     value = held + (started ? tallies now - base : 0)
 *
 * start: base = now.  stop: held = value.  reset: held = 0, base = now.  write: held = what was written, base = now.
 * Handles of extremes keep a window (aggregate/windows.h) in place of held and base.
 */
#ifndef MPIT_MPIT_SESSION_H
#define MPIT_MPIT_SESSION_H

#include "catalogue.h"
#include "windows.h"

enum { HANDLE_BLOCK = 256, HANDLE_BLOCKS = 4096, SESSION_MOST = 4096 };

struct session {
    uint32_t generation; /* odd: in use */
    MPI_T_pvar_session native;
    uint32_t first_handle; /* index + 1 */
};

struct handle {
    uint32_t generation; /* odd: in use */
    uint32_t index;
    uint32_t session;
    uint32_t next; /* of the session: index + 1 */
    const struct catalogue_entry *entry;
    const struct variable *variable; /* NULL: native */
    MPI_T_pvar_handle native;
    struct comm *comm;
    uint32_t count;
    bool started, ever_started;
    uint64_t started_ticks;
    struct window window;
    uint64_t *held, *base, *now; /* count values each, at least 2 */
};

/* NULL: not a session that is open. */
struct session *session_find(MPI_T_pvar_session session);
/* NULL: not a handle of that session. */
struct handle *handle_find(MPI_T_pvar_session session, MPI_T_pvar_handle handle);
bool handle_is_all(MPI_T_pvar_handle handle);

/* The handles of a session one by one: begin with 0, which is also the end. */
struct handle *session_handle_next(const struct session *session, const struct handle *before);

#endif
