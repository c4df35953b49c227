/*
 * The routines for events and sources, which Open MPI 4.1 neither declares nor has: looked up by name, with types of
 * ours in place of those that its mpi.h lacks.
 */
#ifndef EVENTCALLS_H
#define EVENTCALLS_H

#include "survey.h"

typedef struct event_registration_place *registration;
typedef struct event_instance_place *instance;

/* The safety levels and orders, as the standard lists them. */
enum { SAFE_NONE, SAFE_MPI_RESTRICTED, SAFE_THREAD, SAFE_SIGNAL };
enum { SOURCE_ORDERED, SOURCE_UNORDERED };

typedef void event_callback(instance, registration, int safety, void *user);
typedef void free_callback(registration, int safety, void *user);
typedef void dropped_callback(MPI_Count count, registration, int source, int safety, void *user);

struct event_calls {
    int (*event_get_num)(int *);
    int (*event_get_info)(int, char *, int *, int *, MPI_Datatype[], MPI_Aint[], int *, MPI_T_enum *, MPI_Info *,
                          char *, int *, int *);
    int (*event_get_index)(const char *, int *);
    int (*event_handle_alloc)(int, void *, MPI_Info, registration *);
    int (*event_handle_free)(registration, void *, free_callback *);
    int (*event_handle_set_info)(registration, MPI_Info);
    int (*event_handle_get_info)(registration, MPI_Info *);
    int (*event_register_callback)(registration, int, MPI_Info, void *, event_callback *);
    int (*event_callback_set_info)(registration, int, MPI_Info);
    int (*event_callback_get_info)(registration, int, MPI_Info *);
    int (*event_set_dropped_handler)(registration, dropped_callback *);
    int (*event_read)(instance, int, void *);
    int (*event_copy)(instance, void *);
    int (*event_get_timestamp)(instance, MPI_Count *);
    int (*event_get_source)(instance, int *);
    int (*source_get_num)(int *);
    int (*source_get_info)(int, char *, int *, char *, int *, int *, MPI_Count *, MPI_Count *, MPI_Info *);
    int (*source_get_timestamp)(int, MPI_Count *);
    int (*category_get_num_events)(int, int *);
    int (*category_get_events)(int, int, int[]);
};

extern struct event_calls T;

/* Looks them all up; ends the test as one that does not apply when they are not there. */
void event_calls_find(void);

enum { ELEMENTS_MOST = 64 };

struct event {
    int index;
    char name[NAME_MOST];
    int verbosity, elements, bind;
    MPI_Datatype types[ELEMENTS_MOST];
    MPI_Aint places[ELEMENTS_MOST];
    MPI_T_enum enumtype;
};

/* The number of event types; ends the test when there are none. */
int events(void);
bool event_at(int index, struct event *event);
/* A registration, bound to MPI_COMM_WORLD if it has to be bound. */
bool event_registration(const struct event *event, registration *registration);
/* Bytes of a basic type that an event may be made of. */
size_t element_bytes(MPI_Datatype type);

#endif
