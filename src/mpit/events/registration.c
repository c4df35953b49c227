#include "events/registration.h"

#include "registry/commreuse.h"
#include "catalogue/hint.h"

#include <stdlib.h>

enum { PLACES_BLOCK = 64, PLACES_BLOCKS = 1024 };

static struct registration *blocks[PLACES_BLOCKS]; /* places never move */
static uint32_t place_top;
static struct registration *spare; /* linked by `next` */
pthread_mutex_t registrations_lock = PTHREAD_MUTEX_INITIALIZER;

static struct registration *registration_at(uint32_t index)
{
    return index < place_top ? &blocks[index / PLACES_BLOCK][index % PLACES_BLOCK] : NULL;
}

/* Odd and not an address, so that it is neither NULL nor one of the library's. */
static MPI_T_event_registration registration_ticket(const struct registration *registration)
{
    uintptr_t generation = registration->generation & 0x7fffffff;
    return (MPI_T_event_registration)((generation << 32) | ((uintptr_t)registration->index << 4) | 11);
}

struct registration *registration_find(MPI_T_event_registration ticket)
{
    struct registration *found = registration_at((uint32_t)((uintptr_t)ticket & 0xffffffff) >> 4);
    return found && (found->generation & 1) && found->ticket == ticket ? found : NULL;
}

static struct registration *registration_take(void)
{
    struct registration *place = spare;
    if (place) {
        spare = place->next;
        return place;
    }
    if (place_top == PLACES_BLOCK * PLACES_BLOCKS)
        return NULL;
    struct registration **block = &blocks[place_top / PLACES_BLOCK];
    if (!*block)
        *block = calloc(PLACES_BLOCK, sizeof **block);
    if (!*block)
        return NULL;
    place = &(*block)[place_top % PLACES_BLOCK];
    place->index = place_top++;
    return place;
}

static bool has_callback(const struct registration *registration)
{
    for (int i = 0; i < SAFETY_LEVELS; i++)
        if (registration->callbacks[i].function)
            return true;
    return false;
}

void registration_heed(struct registration *registration)
{
    struct event_type *type = registration->type;
    bool hears = !registration->dead && has_callback(registration);
    if (hears != registration->hears)
        type->hearers += hears ? 1 : (uint32_t)-1;
    registration->hears = hears;
    if ((type->hearers > 0) != type->heard)
        event_type_heed(type, type->hearers > 0);
}

uint64_t registration_level(const struct registration *registration)
{
    const struct shared_cells *shared = registration->comm->shared;
    return cell_load(registration->type == &event_types[PENDING_SENDS_OVER]   ? &shared->sends.now
                     : registration->type == &event_types[PENDING_RECVS_OVER] ? &shared->recvs.now
                                                                              : &shared->bytes.now);
}

static void threshold_set(struct registration *registration, MPI_Info info)
{
    if (!registration->type->threshold)
        return;
    hint_number(info, HINT_THRESHOLD, &registration->threshold); /* a value that is not a number is ignored */
    registration->over = registration_level(registration) > registration->threshold;
}

/* Adds it at the front, so that a walk over the list does not meet it. */
static void list_enter(struct registration *registration)
{
    struct registration **first = &registration->type->registrations;
    registration->next = *first;
    registration->before = NULL;
    if (*first)
        (*first)->before = registration;
    *first = registration;
}

static void list_leave(struct registration *registration)
{
    struct registration *before = registration->before, *next = registration->next;
    if (before)
        before->next = next;
    else
        registration->type->registrations = next;
    if (next)
        next->before = before;
}

static int own_event_bind(struct registration *fresh, struct event_type *type, void *obj_handle, MPI_Info info)
{
    fresh->type = type;
    if (__atomic_load_n(&type->gone, __ATOMIC_ACQUIRE))
        return MPI_T_ERR_INVALID_INDEX;
    if (type->threshold && !obj_handle)
        return MPI_T_ERR_INVALID;
    if (type->bound && obj_handle) {
        fresh->comm = book_comm_find(abi_handle_of_comm(*(MPI_Comm *)obj_handle));
        if (!fresh->comm)
            return MPI_T_ERR_INVALID_HANDLE; /* not a communicator that exists in this process */
        comm_bind(fresh->comm);
    }
    threshold_set(fresh, info);
    list_enter(fresh);
    return MPI_SUCCESS;
}

static void place_clear(struct registration *place)
{
    *place = (struct registration){.generation = place->generation, .index = place->index};
    for (int i = 0; i < SAFETY_LEVELS; i++)
        place->callbacks[i].registration = place;
}

SURFACE(event_handle_alloc);
int MPI_T_event_handle_alloc(int event_index, void *obj_handle, MPI_Info info,
                             MPI_T_event_registration *event_registration)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    const struct event_entry *entry = event_entry_at(event_index);
    MPI_T_event_registration of_library = NULL;
    if (!entry)
        return MPI_T_ERR_INVALID_INDEX;
    if (!event_registration)
        return MPI_T_ERR_INVALID;
    if (!entry->own) {
        int result = door.event_handle_alloc
                         ? door.event_handle_alloc(entry->native_index, obj_handle, info, &of_library)
                         : MPI_T_ERR_NOT_SUPPORTED;
        if (result != MPI_SUCCESS)
            return result;
    }
    delivery_open();
    pthread_mutex_lock(&registrations_lock);
    struct registration *fresh = registration_take();
    int result = MPI_T_ERR_OUT_OF_HANDLES;
    if (fresh) {
        place_clear(fresh);
        fresh->native = of_library;
        result = entry->own ? own_event_bind(fresh, entry->own, obj_handle, info) : MPI_SUCCESS;
    }
    if (result == MPI_SUCCESS) {
        fresh->generation++;
        *event_registration = fresh->ticket = registration_ticket(fresh);
    } else if (fresh) {
        fresh->next = spare;
        spare = fresh;
    }
    pthread_mutex_unlock(&registrations_lock);
    if (result != MPI_SUCCESS && of_library)
        door.event_handle_free(of_library, NULL, NULL);
    return result;
}

/* The library's handle of this one, or NULL for an own one. *result tells whether the handle is valid. */
static MPI_T_event_registration native_of(MPI_T_event_registration ticket, int *result)
{
    pthread_mutex_lock(&registrations_lock);
    const struct registration *found = registration_find(ticket);
    MPI_T_event_registration of_library = found ? found->native : NULL;
    pthread_mutex_unlock(&registrations_lock);
    *result = found ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
    return of_library;
}

SURFACE(event_handle_set_info);
int MPI_T_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info info)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    int result;
    MPI_T_event_registration of_library = native_of(event_registration, &result);
    if (of_library)
        return door.event_handle_set_info ? door.event_handle_set_info(of_library, info) : MPI_T_ERR_NOT_SUPPORTED;
    pthread_mutex_lock(&registrations_lock);
    struct registration *found = registration_find(event_registration);
    if (found)
        threshold_set(found, info);
    pthread_mutex_unlock(&registrations_lock);
    return found ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

SURFACE(event_handle_get_info);
int MPI_T_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info *info_used)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    int result;
    MPI_T_event_registration of_library = native_of(event_registration, &result);
    if (result != MPI_SUCCESS)
        return result;
    if (!info_used)
        return MPI_T_ERR_INVALID;
    if (of_library)
        return door.event_handle_get_info ? door.event_handle_get_info(of_library, info_used) : MPI_T_ERR_NOT_SUPPORTED;
    uint64_t threshold = 0;
    bool has = false;
    pthread_mutex_lock(&registrations_lock);
    const struct registration *found = registration_find(event_registration);
    if (found) {
        has = found->type->threshold;
        threshold = found->threshold;
    }
    pthread_mutex_unlock(&registrations_lock);
    *info_used = has ? hint_number_info(HINT_THRESHOLD, threshold) : hint_none_info();
    return MPI_SUCCESS;
}

void registration_unuse(struct registration *registration, struct registration **finished)
{
    if (--registration->uses || !registration->dead)
        return;
    if (registration->type)
        list_leave(registration);
    if (registration->comm)
        comm_unbind(registration->comm);
    registration->next = *finished;
    *finished = registration;
}

void registrations_finish(struct registration *finished, MPI_T_cb_safety safety)
{
    while (finished) {
        struct registration *next = finished->next;
        if (finished->free_function)
            finished->free_function(finished->ticket, safety, finished->free_user_data);
        pthread_mutex_lock(&registrations_lock);
        finished->next = spare;
        spare = finished;
        pthread_mutex_unlock(&registrations_lock);
        finished = next;
    }
}

/* The library does not use its handle any more. Now ours can go, too. */
static void native_freed(MPI_T_event_registration of_library, MPI_T_cb_safety safety, void *registration)
{
    struct registration *finished = NULL;
    (void)of_library;
    pthread_mutex_lock(&registrations_lock);
    registration_unuse(registration, &finished);
    pthread_mutex_unlock(&registrations_lock);
    registrations_finish(finished, safety);
}

/* Under the lock. From then on the handle is stale. */
static void registration_end(struct registration *found, void *user_data, free_function *function,
                             struct registration **finished)
{
    found->generation++;
    found->dead = true;
    found->free_function = function;
    found->free_user_data = user_data;
    found->uses++; /* ours. For native ones the library's, which native_freed drops */
    if (found->type) {
        registration_heed(found);
        registration_unuse(found, finished);
    }
}

void registrations_free_all(void)
{
    for (uint32_t i = 0; i < __atomic_load_n(&place_top, __ATOMIC_ACQUIRE); i++) {
        struct registration *finished = NULL;
        pthread_mutex_lock(&registrations_lock);
        struct registration *found = registration_at(i);
        bool alive = found->generation & 1;
        MPI_T_event_registration of_library = alive ? found->native : NULL;
        if (alive)
            registration_end(found, NULL, NULL, &finished);
        pthread_mutex_unlock(&registrations_lock);
        registrations_finish(finished, delivery_safety());
        if (of_library)
            door.event_handle_free(of_library, found, native_freed);
    }
}

SURFACE(event_handle_free);
int MPI_T_event_handle_free(MPI_T_event_registration event_registration, void *user_data,
                            MPI_T_event_free_cb_function free_cb_function)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    struct registration *finished = NULL;
    pthread_mutex_lock(&registrations_lock);
    struct registration *found = registration_find(event_registration);
    MPI_T_event_registration of_library = found ? found->native : NULL;
    if (found)
        registration_end(found, user_data, free_cb_function, &finished);
    pthread_mutex_unlock(&registrations_lock);
    registrations_finish(finished, delivery_safety());
    if (of_library)
        return door.event_handle_free(of_library, found, native_freed);
    return found ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}
