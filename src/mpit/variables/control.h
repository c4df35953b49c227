/*
 * The list of control variables: own ones first (aggregate/settings/knobs.c), then native ones, and variables of other
 * libraries, as they appear. Indices and descriptions never change, as in catalogue.h.
 */
#ifndef MPIT_MPIT_CONTROL_H
#define MPIT_MPIT_CONTROL_H

#include "native.h"

#include <stdbool.h>

struct control;

/* Access to a variable that is not native. All functions return an MPI_T code. */
struct control_access {
    /* For a new handle: returns the object for read and write, and the number of elements. */
    int (*open)(const struct control *control, void *obj_handle, void **object, int *count);
    int (*read)(const struct control *control, void *object, void *buf);
    int (*write)(const struct control *control, void *object, const void *buf);
    void (*close)(void *object); /* the handle is freed. NULL: nothing to do */
};

struct control {
    const struct control_access *access; /* NULL: the library's */
    void *context;                       /* for access */
    int native_index;                    /* -1: not the library's */
    MPI_Datatype native_type;            /* the library's type, see control.c */
    char *name, *description;
    int verbosity, bind, scope;
    MPI_Datatype datatype;
    MPI_T_enum enumtype;
    const char *category; /* path of its only category. NULL: found by its properties (category.c), or native */
};

/* Searches for new native variables. Returns the number of variables. */
int control_refresh(void);
/* NULL: no such index. */
const struct control *control_at(int index);
/* -1: no such name. */
int control_find(const char *name);
/* The index of a native variable, or -1 if it was not added. */
int control_of_native(int native_index);
/*
 * Adds a copy. The data it points to must stay. Returns its index. Returns -1 without memory, or if the name exists
 * already.
 */
int control_add(const struct control *fresh);

#endif
