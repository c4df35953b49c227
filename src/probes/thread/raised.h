/* The events of MPI_T that a call has raised, until it ends (raising.h). */
#ifndef MPIT_PROBES_RAISED_H
#define MPIT_PROBES_RAISED_H

#include "calls.h"
#include "handles/instance.h"

struct raised {
    struct instance *list;
    size_t count, room;
    enum call by;
    int error; /* return value of the last call that failed */
};

/* Forgets what is left from a time when there was a listener. */
static inline void raised_begin(struct raised *raised, enum call by)
{
    raised->count = 0;
    raised->by = by;
}

#endif
