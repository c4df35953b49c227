/*
 * Datatypes that the traffic is made of. The derived ones are freed and made again with other sizes while the traffic
 * runs, so that a handle which a recorder has seen before may come back as another type.
 */
#ifndef TALLY_TYPES_H
#define TALLY_TYPES_H

#include "tally_draw.h"

#include <mpi.h>

#include <stddef.h>

struct type {
    MPI_Datatype handle;
    int size;      /* bytes of data in one element */
    size_t extent; /* bytes of memory from one element to the next */
};

/* Types below TYPE_SOLID have no gaps. */
enum {
    TYPE_BYTE,
    TYPE_INT,
    TYPE_DOUBLE,
    TYPE_CONTIGUOUS,
    TYPE_VECTOR,
    TYPE_STRUCT,
    TYPE_COUNT,
    TYPE_SOLID = TYPE_VECTOR
};

extern struct type types[TYPE_COUNT];

void types_open(struct draw *draw);
void types_renew(struct draw *draw); /* frees one derived type and makes another in its place */
void types_close(void);

/* Mostly small, now and then up to `limit`. */
int types_draw_bytes(struct draw *draw, int limit);

#endif
