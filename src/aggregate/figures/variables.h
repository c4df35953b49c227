/*
 * The variables that mpit makes from counters. Their names, classes and units are a contract (the catalogue).
 *
 * MPI_T, the summary and the readers of run files use the same definitions. Readers find them in the file.
 */
#ifndef MPIT_AGGREGATE_VARIABLES_H
#define MPIT_AGGREGATE_VARIABLES_H

#include "figures/cells.h"
#include "settings/demand.h"
#include "format/runfile.h"

#include <stdbool.h>
#include <stddef.h>

enum variable_class {
    VARIABLE_STATE = 1,
    VARIABLE_LEVEL,
    VARIABLE_SIZE,
    VARIABLE_PERCENTAGE,
    VARIABLE_HIGHWATERMARK,
    VARIABLE_LOWWATERMARK,
    VARIABLE_COUNTER,
    VARIABLE_AGGREGATE,
    VARIABLE_TIMER,
    VARIABLE_GENERIC,
};

enum variable_combine {
    COMBINE_SUM = 1,
    COMBINE_HIGH, /* the largest */
    COMBINE_LOW,  /* the smallest; LOW_NEUTRAL when there is none */
    COMBINE_SPAN, /* largest of the first term - smallest of the second; 0 when there is none */
    COMBINE_NONE, /* not made of cells */
};

/* Block kinds that exist beside enum block_kind: the header's losses, counters of a window or file (objectcells.h). */
enum { BLOCK_LOSSES = 5, BLOCK_OBJECT = 7 };

/* variable_record.bound; no run file has variables of windows and files. */
enum variable_bound { BOUND_NOT, BOUND_COMM, BOUND_WINDOW, BOUND_FILE };

/* Which cells of shared_cells.closed keep the extremes of closed segments. */
enum extreme {
    EXTREME_MESSAGE_HIGH,
    EXTREME_MESSAGE_LOW,
    EXTREME_SENDS_HIGH,
    EXTREME_SENDS_LOW,
    EXTREME_RECVS_HIGH,
    EXTREME_RECVS_LOW,
    EXTREME_BYTES_HIGH,
    EXTREME_BYTES_LOW,
    EXTREME_SPAN_FIRST,
    EXTREME_COUNT,
    EXTREME_NONE = EXTREME_COUNT,
};

/* Where the values of COMBINE_NONE come from. */
enum variable_source {
    SOURCE_CELLS,
    SOURCE_COMM_SIZE,
    SOURCE_BUCKET_LIMIT,
    SOURCE_CURRENT_CALL,
    SOURCE_BUFFER_BYTES,
    SOURCE_BUFFER_FILL,
    SOURCE_MPI_FRACTION,
    SOURCE_STATE,
    SOURCE_STALL_FRACTION,
    SOURCE_STALL_KNOWN,
    SOURCE_LAST_RETURN,
    SOURCE_UMQ,         /* length (umq.h) */
    SOURCE_UMQ_HIGHEST, /* its largest one; windows of its own */
    SOURCE_UMQ_NAMED,   /* the length as the standard's example reads it: an int that can be started and stopped */
    SOURCE_UMQ_PEERS,
    SOURCE_UMQ_TOTAL,        /* length in all communicators (livevariables.h) */
    SOURCE_RECVQ_UNEXPECTED, /* the same, and pending receives, as unsigned: the names that tools know from MPICH */
    SOURCE_RECVQ_POSTED,
    SOURCE_THREAD_STATE, /* of all threads (livevariables.h) */
    SOURCE_THREAD_CALL,
    SOURCE_THREAD_TIME,
    SOURCE_THREAD_ID,
};

enum variable_names {
    NAMES_NONE,
    NAMES_CALL,
    NAMES_COLL,
    NAMES_LOSS,
    NAMES_STATE,
    NAMES_FABRIC,
    NAMES_FABRIC_FUNCTION,
    NAMES_PLACE,
    NAMES_SWITCH,
    NAMES_FAULT
};

struct variable {
    struct variable_record record;
    enum extreme extreme; /* that windows of it use */
    enum variable_source source;
    enum variable_names names; /* the enumeration that names its slots */
    const char *description;
    const char *title;  /* its whole name, where the record has no room for it; NULL: that of the record */
    enum demand demand; /* what is measured only while a handle of it is started (a continuous one: lives) */
    uint8_t difference; /* of one with a negative term: which of its binding (sample.c) */
    bool total;         /* not bound: the sum over all communicators (livevariables.h) */
};

enum {
    DIFFERENCES = 2,
    DIFFERENCE_TOTAL = DIFFERENCES
}; /* unbound variables that subtract a term; the last one is of the total that does */

extern const struct variable variables[];
extern const size_t variable_count;

/* Those that came at run time, too: for counters that were asked for by name. They come before the run begins, and
 * stay. The name begins behind mpit_papi_. NULL: there is no room for more, or no memory. */
const struct variable *variable_add_counter(unsigned counter, const char *name, const char *unit);
size_t variable_number(void);
const struct variable *variable_at(size_t index);
/* An enum mpit_verbosity: USER what says what a program does in MPI, USER_DETAIL parts of that, TUNER what is below MPI
 * or slows calls down, DEVELOPER the recorder itself. */
int variable_verbosity(const struct variable *variable);
static inline const char *variable_name(const struct variable *variable)
{
    return variable->title ? variable->title : variable->record.name;
}

/* Accumulators for one variable: values[count], SPAN needs two. */
void variable_clear(const struct variable_record *variable, uint64_t *values, size_t count);
/* Takes one block in. `page` is the block's page of peers (0 in other kinds). */
void variable_take(const struct variable_record *variable, unsigned block_kind, unsigned page, const uint64_t *cells,
                   size_t cell_count, uint64_t *values, size_t count);
/* Turns accumulators into values. */
void variable_finish(const struct variable_record *variable, uint64_t *values);

/* "COUNTER" and its like; "?": there is no such class. */
const char *variable_class_name(uint32_t class);

/* Name of slot i of an enumeration, or NULL behind its end. */
const char *variable_slot_name(enum variable_names names, size_t slot);

/* The neutral value of an extreme. */
static inline uint64_t extreme_neutral(enum extreme extreme)
{
    switch (extreme) {
    case EXTREME_MESSAGE_LOW:
    case EXTREME_SENDS_LOW:
    case EXTREME_RECVS_LOW:
    case EXTREME_BYTES_LOW:
    case EXTREME_SPAN_FIRST:
        return LOW_NEUTRAL;
    default:
        return 0;
    }
}

#endif
