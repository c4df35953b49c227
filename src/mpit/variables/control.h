/*
 * The list of control variables: own ones first (aggregate/settings/knobs.c), then the library's, and those of other
 * components, as they appear. Indices and what is said of them never change, as in catalogue.h.
 */
#ifndef MPIT_MPIT_CONTROL_H
#define MPIT_MPIT_CONTROL_H

#include "native.h"

#include <stdbool.h>

struct control;

/* How a variable that is not the library's is used; all return an MPI_T code. */
struct control_access {
    /* For a new handle: what the object is that read and write get, and how many elements there are. */
    int (*open)(const struct control *control, void *obj_handle, void **object, int *count);
    int (*read)(const struct control *control, void *object, void *buf);
    int (*write)(const struct control *control, void *object, const void *buf);
    void (*close)(void *object); /* the handle is freed; NULL: nothing to do */
};

struct control {
    const struct control_access *access; /* NULL: the library's */
    void *context;                       /* for access */
    int native_index;                    /* -1: not the library's */
    MPI_Datatype native_type;            /* what the library calls it; see control.c */
    char *name, *description;
    int verbosity, bind, scope;
    MPI_Datatype datatype;
    MPI_T_enum enumtype;
    const char *category; /* path of the one category that it is in; NULL: by what it is (category.c), or native */
};

/* Looks for native variables that have come; returns how many there are. */
int control_refresh(void);
/* NULL: no such index. */
const struct control *control_at(int index);
/* -1: no such name. */
int control_find(const char *name);
/* The index of a native variable, or -1 when it has not entered. */
int control_of_native(int native_index);
/* Adds a copy, which keeps what it points to; its index, or -1: no memory, or the name is there already. */
int control_add(const struct control *fresh);

#endif
