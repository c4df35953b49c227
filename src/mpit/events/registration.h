/*
 * Registrations: the handles that a tool gets for event types, with their callbacks.
 *
 *   event_type.registrations ──> registration ──> registration ...      newest first
 *                                  │ callback[safety]: function, user data
 *                                  │ dropped handler, number of events dropped
 *                                  └ uses: callbacks that are running now
 *
 * A tool's handle is a ticket: number and generation of a place in a table that never shrinks. A stale one is found by
 * one compare and never followed to memory. MPI_T_event_handle_free makes the ticket stale at once. The place leaves
 * its list when the last running callback has returned. Then the tool's free function is called.
 *
 * Who may run with whom: everything here is under registrations_lock. It is held only while our own code runs: not
 * during callbacks, not around calls into the library. A registration with uses > 0 stays in its list.
 */
#ifndef MPIT_MPIT_REGISTRATION_H
#define MPIT_MPIT_REGISTRATION_H

#include "registry/book.h"
#include "events/event_type.h"

enum { SAFETY_LEVELS = 4 };

/* As in the standard. Open MPI 6 has pointer types under the standard's names of function types. */
typedef void event_function(MPI_T_event_instance, MPI_T_event_registration, MPI_T_cb_safety, void *user_data);
typedef void free_function(MPI_T_event_registration, MPI_T_cb_safety, void *user_data);
typedef void dropped_function(MPI_Count, MPI_T_event_registration, int source_index, MPI_T_cb_safety, void *user_data);

/* Exists as long as the registration, as a native callback points to it. */
struct callback {
    event_function *function; /* NULL: none */
    void *user_data;
    struct registration *registration;
};

struct registration {
    uint32_t generation; /* odd: the tool's ticket is valid */
    uint32_t index;
    struct registration *next;   /* of the type, of the free places, or of the ones to be finished */
    struct registration *before; /* of the type. NULL: it is the first */
    struct event_type *type;     /* NULL: native */
    MPI_T_event_registration native, ticket;
    const struct comm *comm; /* of types that are bound. NULL: any */
    struct callback callbacks[SAFETY_LEVELS];
    dropped_function *dropped_handler;
    uint64_t dropped;
    uint64_t threshold;
    bool hears; /* counted in the type's hearers */
    bool over;  /* the level was over the threshold when it was last read */
    bool dead;  /* freed by the tool */
    uint32_t uses;
    free_function *free_function;
    void *free_user_data;
};

extern pthread_mutex_t registrations_lock;

/* The safety level as an index, or -1. */
int safety_index(MPI_T_cb_safety safety);
MPI_T_cb_safety safety_of_index(int index);

/* NULL: not a handle. Under the lock. */
struct registration *registration_find(MPI_T_event_registration ticket);
/* Makes every handle stale when the interface is finalized. Not under the lock. */
void registrations_free_all(void);
/* Sets its type's `heard` according to its registrations. Under the lock. */
void registration_heed(struct registration *registration);
/* The current level that its threshold is compared with. */
uint64_t registration_level(const struct registration *registration);

/* Drops a use. A dead registration without uses moves from its type's list into *finished. */
void registration_unuse(struct registration *registration, struct registration **finished);
/* Calls the tool's free functions and releases the places. Without the lock. */
void registrations_finish(struct registration *finished, MPI_T_cb_safety safety);

/* delivery.c: the safety level that a call from the program's own code requires of a callback. */
MPI_T_cb_safety delivery_safety(void);
/* delivery.c: makes itself the sink of instances. */
void delivery_open(void);
/* delivery.c: around a callback of the library, as the instance is the library's. */
void native_callback(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                     void *callback);
void native_dropped(MPI_Count count, MPI_T_event_registration registration, int source_index, MPI_T_cb_safety safety,
                    void *callback);

#endif
