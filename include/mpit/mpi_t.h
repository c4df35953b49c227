/*
 * The parts of the tool information interface of MPI 5.0 (section 15.3) that are missing in the mpi.h of an older MPI:
 * events, event sources, the events of categories, return codes, and the binding to sessions. With mpit loaded they
 * work on every MPI.
 *
 * If mpi.h declares them itself (MPICH 4), this header declares nothing. Otherwise (Open MPI 4.1) the functions are
 * weak. A program that is compiled with this header links as it is, and
 *
 *     if (MPI_T_event_get_num == NULL)
 *
 * is true if mpit is not loaded. A call would then be a call of NULL. Code that is not position-independent (-fno-pie)
 * does not find the functions. Compile it with -fPIE, the default of most compilers, or -fPIC. Each function also
 * exists as PMPI_T_*.
 *
 * Strings are returned as everywhere in MPI_T (section 15.3.3). A NULL buffer or a length of 0 asks for the length. The
 * length includes the terminating NUL. A longer string is cut off and terminated.
 *
 * All functions may be called from any thread at any time between MPI_T_init_thread and MPI_T_finalize. At other times
 * they return MPI_T_ERR_NOT_INITIALIZED. In a signal handler only a few may be called: MPI_T_source_get_timestamp
 * anywhere, and MPI_T_event_read, MPI_T_event_copy, MPI_T_event_get_timestamp and MPI_T_event_get_source inside an
 * event callback. These functions take no lock. mpit itself calls no callback from a signal handler.
 *
 * share/doc/events.md describes mpit's own events and their data.
 */
#ifndef MPIT_MPI_T_H
#define MPIT_MPI_T_H

#include <mpi.h>

/* Return codes, with the numbers that newer versions of the same MPI give them. They are free in those that lack the
 * names, and not above MPI_ERR_LASTCODE. (Open MPI 6 has both, MPICH has the first since 4.0, the second since 4.1.) */
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 6
#ifndef MPI_T_ERR_NOT_SUPPORTED
#define MPI_T_ERR_NOT_SUPPORTED 82 /* the request is not supported */
#endif
#ifndef MPI_T_ERR_NOT_ACCESSIBLE
#define MPI_T_ERR_NOT_ACCESSIBLE 81 /* see below */
#endif
#elif defined(MPICH_VERSION)
#ifndef MPI_T_ERR_NOT_SUPPORTED
#define MPI_T_ERR_NOT_SUPPORTED 78
#endif
#ifndef MPI_T_ERR_NOT_ACCESSIBLE
#define MPI_T_ERR_NOT_ACCESSIBLE 79
#endif
#endif

/*
 * MPI_T_ERR_NOT_ACCESSIBLE comes from calls on objects of the MPI library: its control and performance variables,
 * enumerations, categories and event types. It means that this thread is already inside the library's tool interface,
 * for example in a signal handler that interrupted such a call. The same call succeeds later. A write of one of the
 * library's control variables then returns MPI_T_ERR_CVAR_SET_NOT_NOW. Calls on mpit's own variables never return
 * MPI_T_ERR_NOT_ACCESSIBLE.
 */

/* A binding of MPI 4.0 that MPICH 4.0 and Open MPI 5 lack. No variable or event has it there. */
#if (defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 6) || (defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000)
#ifndef MPI_T_BIND_MPI_SESSION
#define MPI_T_BIND_MPI_SESSION (MPI_T_BIND_MPI_INFO + 1)
#endif
#endif

/* Open MPI has the functions from version 6 on, even if its MPI_VERSION is below 4. */
#if MPI_VERSION < 4 && !(defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 6)
#define MPIT_DECLARES_EVENTS 1
#endif

#if defined(MPIT_DECLARES_EVENTS)

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MPIT_MPI_T_LINKAGE
#define MPIT_MPI_T_LINKAGE __attribute__((weak))
#endif

/* MPI_T_event_registration is a handle for an event type, for which callbacks are registered. MPI_T_event_instance is
 * one event, inside its callback. */
typedef struct mpit_event_registration_s *MPI_T_event_registration;
typedef struct mpit_event_instance_s *MPI_T_event_instance;

/* The safety that a callback must provide, from least to most (section 15.3.8, "Callback Safety Requirements"). */
typedef enum MPI_T_cb_safety {
    MPI_T_CB_REQUIRE_NONE = 0,          /* nothing: it may call MPI */
    MPI_T_CB_REQUIRE_MPI_RESTRICTED,    /* it calls MPI_T_*, MPI_Wtime and MPI_Wtick only */
    MPI_T_CB_REQUIRE_THREAD_SAFE,       /* and several threads may be in it at once */
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, /* and it may interrupt anything */
} MPI_T_cb_safety;

/* Whether the timestamps of a source's events grow from callback to callback. */
typedef enum MPI_T_source_order {
    MPI_T_SOURCE_ORDERED = 0,
    MPI_T_SOURCE_UNORDERED,
} MPI_T_source_order;

/* Handles an event. `event_instance` is valid only in this thread and until the function returns. `cb_safety` is the
 * safety that this call requires of the function. `user_data` is the pointer from the registration. The function may
 * free `event_registration`. */
typedef void(MPI_T_event_cb_function)(MPI_T_event_instance event_instance, MPI_T_event_registration event_registration,
                                      MPI_T_cb_safety cb_safety, void *user_data);
/* The handle is gone: no callback of it is running or will be called. */
typedef void(MPI_T_event_free_cb_function)(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                           void *user_data);
/* Reports that `count` calls of a callback were left out since the last such notice. `user_data` belongs to the
 * callback of that level. */
typedef void(MPI_T_event_dropped_cb_function)(MPI_Count count, MPI_T_event_registration event_registration,
                                              int source_index, MPI_T_cb_safety cb_safety, void *user_data);

/*
 * MPI_T_source_get_num: the number of event sources. The number may grow. A source keeps its index.
 *     MPI_SUCCESS
 *     MPI_T_ERR_NOT_INITIALIZED
 *     MPI_T_ERR_INVALID            num_sources is NULL
 *
 * MPI_T_source_get_info: name, description, order of its timestamps, ticks per second and the largest timestamp of a
 * source. `info` is a new object with its hints, which the caller frees (MPI_INFO_NULL if MPI cannot make one yet). Any
 * out-argument may be NULL.
 *     MPI_SUCCESS
 *     MPI_T_ERR_NOT_INITIALIZED
 *     MPI_T_ERR_INVALID_INDEX      no such source
 *
 * MPI_T_source_get_timestamp: the source's clock now, in its ticks.
 *     MPI_SUCCESS
 *     MPI_T_ERR_NOT_INITIALIZED
 *     MPI_T_ERR_INVALID_INDEX      no such source
 *     MPI_T_ERR_INVALID            timestamp is NULL
 *     MPI_T_ERR_NOT_SUPPORTED      the source (of the MPI library) has no timestamp
 */
#define MPIT_EVENT_FUNCTIONS(P)                                                                                        \
    int P##_T_source_get_num(int *num_sources) MPIT_MPI_T_LINKAGE;                                                     \
    int P##_T_source_get_info(int source_index, char *name, int *name_len, char *desc, int *desc_len,                  \
                              MPI_T_source_order *ordering, MPI_Count *ticks_per_second, MPI_Count *max_ticks,         \
                              MPI_Info *info) MPIT_MPI_T_LINKAGE;                                                      \
    int P##_T_source_get_timestamp(int source_index, MPI_Count *timestamp) MPIT_MPI_T_LINKAGE;                         \
    int P##_T_event_get_num(int *num_events) MPIT_MPI_T_LINKAGE;                                                       \
    int P##_T_event_get_info(int event_index, char *name, int *name_len, int *verbosity,                               \
                             MPI_Datatype array_of_datatypes[], MPI_Aint array_of_displacements[], int *num_elements,  \
                             MPI_T_enum *enumtype, MPI_Info *info, char *desc, int *desc_len, int *bind)               \
        MPIT_MPI_T_LINKAGE;                                                                                            \
    int P##_T_event_get_index(const char *name, int *event_index) MPIT_MPI_T_LINKAGE;                                  \
    int P##_T_event_handle_alloc(int event_index, void *obj_handle, MPI_Info info,                                     \
                                 MPI_T_event_registration *event_registration) MPIT_MPI_T_LINKAGE;                     \
    int P##_T_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info info) MPIT_MPI_T_LINKAGE;    \
    int P##_T_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info *info_used)                  \
        MPIT_MPI_T_LINKAGE;                                                                                            \
    int P##_T_event_handle_free(MPI_T_event_registration event_registration, void *user_data,                          \
                                MPI_T_event_free_cb_function free_cb_function) MPIT_MPI_T_LINKAGE;                     \
    int P##_T_event_register_callback(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,          \
                                      MPI_Info info, void *user_data, MPI_T_event_cb_function event_cb_function)       \
        MPIT_MPI_T_LINKAGE;                                                                                            \
    int P##_T_event_callback_set_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,          \
                                      MPI_Info info) MPIT_MPI_T_LINKAGE;                                               \
    int P##_T_event_callback_get_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,          \
                                      MPI_Info *info_used) MPIT_MPI_T_LINKAGE;                                         \
    int P##_T_event_set_dropped_handler(MPI_T_event_registration event_registration,                                   \
                                        MPI_T_event_dropped_cb_function dropped_cb_function) MPIT_MPI_T_LINKAGE;       \
    int P##_T_event_read(MPI_T_event_instance event_instance, int element_index, void *buffer) MPIT_MPI_T_LINKAGE;     \
    int P##_T_event_copy(MPI_T_event_instance event_instance, void *buffer) MPIT_MPI_T_LINKAGE;                        \
    int P##_T_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count *event_timestamp) MPIT_MPI_T_LINKAGE; \
    int P##_T_event_get_source(MPI_T_event_instance event_instance, int *source_index) MPIT_MPI_T_LINKAGE;             \
    int P##_T_category_get_num_events(int cat_index, int *num_events) MPIT_MPI_T_LINKAGE;                              \
    int P##_T_category_get_events(int cat_index, int len, int indices[]) MPIT_MPI_T_LINKAGE

/* See above for sources.
 *
 * MPI_T_event_get_num: the number of event types. The number may grow. A type keeps its index.
 *     MPI_SUCCESS, MPI_T_ERR_NOT_INITIALIZED
 *     MPI_T_ERR_INVALID            num_events is NULL
 *
 * MPI_T_event_get_info: the description of an event type. `num_elements` passes in the length of the two arrays, and
 * returns the number of elements. `array_of_displacements` is in bytes, in the buffer that MPI_T_event_copy fills.
 * `enumtype` is an enumeration whose item i names element i. `info` is a new object with the hints of a handle and
 * their defaults, which the caller frees. Any out-argument may be NULL.
 *     MPI_SUCCESS, MPI_T_ERR_NOT_INITIALIZED
 *     MPI_T_ERR_INVALID_INDEX      no such event type
 *
 * MPI_T_event_get_index: by name.
 *     MPI_SUCCESS, MPI_T_ERR_NOT_INITIALIZED
 *     MPI_T_ERR_INVALID_NAME       no such event type
 *     MPI_T_ERR_INVALID            an argument is NULL
 *
 * MPI_T_event_handle_alloc: a handle for an event type. If the type is bound, `obj_handle` points to a communicator,
 * and NULL means all communicators. `info` has hints, or is MPI_INFO_NULL.
 *     MPI_SUCCESS, MPI_T_ERR_NOT_INITIALIZED
 *     MPI_T_ERR_INVALID_INDEX      no such event type
 *     MPI_T_ERR_INVALID            event_registration is NULL, or obj_handle is and the type has a threshold
 *     MPI_T_ERR_INVALID_HANDLE     not a communicator that is alive in this process
 *     MPI_T_ERR_OUT_OF_HANDLES
 *
 * MPI_T_event_handle_set_info, MPI_T_event_handle_get_info: the handle's hints. The get function returns a new object,
 * which the caller frees. MPI_T_event_callback_set_info and _get_info do the same for a callback (callbacks of mpit's
 * events have no hints).
 *     MPI_SUCCESS, MPI_T_ERR_NOT_INITIALIZED
 *     MPI_T_ERR_INVALID_HANDLE     not a handle
 *     MPI_T_ERR_INVALID            info_used is NULL, no such level, or no callback of that level
 *
 * MPI_T_event_register_callback: the function that is called for an event that requires at most this safety. NULL
 * removes the function.
 *     MPI_SUCCESS, MPI_T_ERR_NOT_INITIALIZED
 *     MPI_T_ERR_INVALID_HANDLE     not a handle
 *     MPI_T_ERR_INVALID            no such level
 *
 * MPI_T_event_set_dropped_handler: the function that gets the number of dropped events. NULL: dropped events are not
 * counted.
 *     MPI_SUCCESS, MPI_T_ERR_NOT_INITIALIZED
 *     MPI_T_ERR_INVALID_HANDLE     not a handle
 *
 * MPI_T_event_handle_free: ends the handle's events. `free_cb_function` (may be NULL) is called as soon as no callback
 * of the handle is running. If none is running now, it is called before this function returns. May be called in a
 * callback of the handle.
 *     MPI_SUCCESS, MPI_T_ERR_NOT_INITIALIZED
 *     MPI_T_ERR_INVALID_HANDLE     not a handle
 *
 * MPI_T_event_read: one element. MPI_T_event_copy: all elements, laid out by array_of_displacements.
 * MPI_T_event_get_timestamp: the time of the observation, in ticks of its source. MPI_T_event_get_source: the index of
 * its source.
 *     MPI_SUCCESS, MPI_T_ERR_NOT_INITIALIZED
 *     MPI_T_ERR_INVALID_HANDLE     not the event whose callback is running in this thread
 *     MPI_T_ERR_INVALID_INDEX      no such element
 *     MPI_T_ERR_INVALID            the buffer is NULL
 *
 * MPI_T_category_get_num_events, MPI_T_category_get_events (section 15.3.9): the event types of a category.
 *     MPI_SUCCESS, MPI_T_ERR_NOT_INITIALIZED
 *     MPI_T_ERR_INVALID_INDEX      no such category
 *     MPI_T_ERR_INVALID            num_events is NULL, len is negative, or indices is NULL and len is not 0
 */
MPIT_EVENT_FUNCTIONS(MPI);
MPIT_EVENT_FUNCTIONS(PMPI);

#ifdef __cplusplus
}
#endif

#endif /* MPIT_DECLARES_EVENTS */

#endif
