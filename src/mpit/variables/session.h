/*
 * Sessions and handles of performance variables.
 *
 * A tool's handle is a ticket, not an address: slot number and generation of a place in a table that never shrinks. A
 * stale ticket (freed, or invalid) is found by one compare and can never be followed to memory.
 *
 * Each handle of an own variable has its own state, so handles do not affect each other. It is a meter
 * (aggregate/handles/meter.h) for counts, and a window (aggregate/handles/windows.h) for an extreme. Current values
 * need no state.
 *
 * Who may run with whom: handles are made and freed under a lock. Everything else copies the handle's fields and then
 * checks the generation again. It may run at any time, in any thread and signal handler. If the handle is freed
 * meanwhile, its meter or window has another owner, and stays unchanged.
 */
#ifndef MPIT_MPIT_SESSION_H
#define MPIT_MPIT_SESSION_H

#include "catalogue/catalogue.h"
#include "instruments/component.h"
#include "variables/foreign.h"
#include "handles/meter.h"
#include "handles/moment.h"
#include "umq/umq.h"
#include "handles/windows.h"

enum { HANDLE_BLOCK = 256, HANDLE_BLOCKS = 4096, SESSION_MOST = 4096 };

struct session {
    uint32_t generation; /* odd: in use */
    MPI_T_pvar_session native;
};

/* Of the SOURCE_UMQ variables. */
enum { UNEXPECTED_STARTED = 1, UNEXPECTED_BEFORE = 2, UNEXPECTED_SHIFT = 2 };

static inline bool source_is_unexpected(enum variable_source source)
{
    return source == SOURCE_UMQ || source == SOURCE_UMQ_HIGHEST || source == SOURCE_UMQ_NAMED ||
           source == SOURCE_UMQ_PEERS;
}

struct unexpected {
    struct umq *umq;
    uint64_t state; /* bit 0: started | bit 1: was started before | the value when it was stopped */
    struct umq_watch watch;
};

struct handle {
    uint32_t generation; /* odd: in use */
    uint32_t index;
    uint32_t session;
    uint32_t spare; /* next free place: index + 1 */
    const struct catalogue_entry *entry;
    const struct variable *variable; /* NULL: native */
    struct foreign *native;          /* foreign.h */
    struct comm *comm;
    struct object_cells *object; /* of its window or file */
    uint32_t count, owner, cell, step;
    bool timer;
    uint64_t *pairs;       /* of the meter */
    struct window *window; /* of an extreme */
    struct presence begun; /* when it was allocated */
    struct unexpected unexpected;
    uint64_t asking;                    /* generation << 1 | it requests its variable's service (demand.h) */
    struct component_handle *component; /* of another library's variable. NULL: of mpit's own */
} __attribute__((aligned(128)));

/* A copy of a handle of an own variable. */
struct own {
    struct meter meter;
    struct window *window;
    struct presence begun;
    struct unexpected *unexpected;
    uint64_t *asking;
    uint32_t generation;
    struct component_handle *component;
};

extern LIBRARY_LOCAL struct session sessions[SESSION_MOST];
extern LIBRARY_LOCAL struct handle *handle_blocks[HANDLE_BLOCKS];

/* Fields that may change while they are read. */
#define GET(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#define PUT(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELEASE)

/* A ticket is odd and not -1, so that it is neither NULL nor ALL_HANDLES nor an address. */
static inline uintptr_t ticket_make(uint32_t index, uint32_t generation)
{
    return ((uintptr_t)generation << 32) | ((uintptr_t)index << 4) | 9;
}

static inline uint32_t ticket_index(uintptr_t ticket)
{
    return (uint32_t)ticket >> 4;
}

static inline uint32_t ticket_generation(uintptr_t ticket)
{
    return (uint32_t)(ticket >> 32);
}

static inline struct handle *handle_at(uint32_t index)
{
    struct handle *block = index / HANDLE_BLOCK < HANDLE_BLOCKS ? GET(handle_blocks[index / HANDLE_BLOCK]) : NULL;
    return block ? &block[index % HANDLE_BLOCK] : NULL;
}

/* NULL: not an open session. */
static inline struct session *session_find(MPI_T_pvar_session session)
{
    uintptr_t ticket = (uintptr_t)session;
    uint32_t index = ticket_index(ticket);
    if (index >= SESSION_MOST)
        return NULL;
    uint32_t generation = GET(sessions[index].generation);
    return (generation & 1) && ticket == ticket_make(index, generation) ? &sessions[index] : NULL;
}

/* NULL: not a handle of that session. */
static inline struct handle *handle_find(const struct session *session, MPI_T_pvar_handle handle)
{
    uintptr_t ticket = (uintptr_t)handle;
    uint32_t index = ticket_index(ticket);
    struct handle *found = handle_at(index);
    if (!found)
        return NULL;
    uint32_t generation = GET(found->generation);
    bool good = (generation & 1) && ticket == ticket_make(index, generation);
    return good && session == &sessions[GET(found->session)] ? found : NULL;
}

bool handle_is_all(MPI_T_pvar_handle handle);
/* Makes every session and handle stale when the interface is finalized. */
void session_free_all(void);

/* Returns false if the handle has another generation now. */
static inline bool handle_copy(const struct handle *handle, uint32_t generation, struct own *own)
{
    own->meter.variable = GET(handle->variable);
    own->meter.comm = GET(handle->comm);
    own->meter.object = GET(handle->object);
    own->meter.pairs = GET(handle->pairs);
    own->meter.count = GET(handle->count);
    own->meter.owner = GET(handle->owner);
    own->meter.cell = GET(handle->cell);
    own->meter.step = GET(handle->step);
    own->meter.timer = GET(handle->timer);
    own->window = GET(handle->window);
    own->begun.inside = GET(handle->begun.inside);
    own->begun.stalled = GET(handle->begun.stalled);
    own->begun.alive = GET(handle->begun.alive);
    own->component = GET(handle->component);
    own->unexpected = (struct unexpected *)(uintptr_t)&handle->unexpected;
    own->asking = (uint64_t *)(uintptr_t)&handle->asking;
    own->generation = generation;
    return GET(handle->generation) == generation;
}

/* Adds or drops the handle's request for its variable's service. Has no effect on a handle that was freed meanwhile,
 * as it has another generation. */
void session_ask(const struct own *own, bool asks);

/*
 * The handles of a session one by one, with their generations. `before` is NULL for the first. Returns NULL at the end.
 */
struct handle *session_handle_next(const struct session *session, const struct handle *before, uint32_t *generation);

#endif
