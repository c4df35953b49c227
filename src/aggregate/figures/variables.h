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
    COMBINE_LOW,  /* the smallest, or LOW_NEUTRAL */
    COMBINE_SPAN, /* largest of the first term - smallest of the second. 0 without values */
    COMBINE_NONE, /* not made of counters */
};

/* Block kinds that exist beside enum block_kind: the header's losses, counters of a window or file (objectcells.h). */
enum { BLOCK_LOSSES = 5, BLOCK_OBJECT = 7 };

/* variable_record.bound. Variables of windows and files are in no run file. */
enum variable_bound { BOUND_NOT, BOUND_COMM, BOUND_WINDOW, BOUND_FILE };

/* The counter in shared_cells.closed for the extremes of closed segments. */
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

/* The source of the values with COMBINE_NONE. */
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
    SOURCE_UMQ_HIGHEST, /* its largest one, with windows of its own */
    SOURCE_UMQ_NAMED,   /* the length for the standard's example: an int that can be started and stopped */
    SOURCE_UMQ_PEERS,
    SOURCE_UMQ_TOTAL,        /* length in all communicators (livevariables.h) */
    SOURCE_RECVQ_UNEXPECTED, /* the same, and pending receives, as unsigned: under names known from MPICH */
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
    enum extreme extreme; /* used by its windows */
    enum variable_source source;
    enum variable_names names; /* the enumeration that names its slots */
    const char *description;
    const char *title;  /* its whole name, if the record has no room for it. NULL: the record's name */
    enum demand demand; /* measured only while it has a started handle (a continuous one: any handle) */
    uint8_t difference; /* for a negative term: its number among these, by binding (sample.c) */
    bool total;         /* not bound: the sum over all communicators (livevariables.h) */
};

enum {
    DIFFERENCES = 2,
    DIFFERENCE_TOTAL = DIFFERENCES
}; /* unbound variables that subtract a term, the last one for a total */

extern const struct variable variables[];
extern const size_t variable_count;

/* Variables also of counters that the user named. They are added before the run begins, and stay. The name begins
 * after mpit_papi_. Returns NULL without room or memory. */
const struct variable *variable_add_counter(unsigned counter, const char *name, const char *unit);
size_t variable_number(void);
const struct variable *variable_at(size_t index);
/* Returns an enum mpit_verbosity. USER: the activity of a program in MPI. USER_DETAIL: parts of that. TUNER: below
 * MPI, or slows calls down. DEVELOPER: the recorder itself. */
int variable_verbosity(const struct variable *variable);
static inline const char *variable_name(const struct variable *variable)
{
    return variable->title ? variable->title : variable->record.name;
}

/* Returns the catalogue's variable of that name, class and binding, or NULL for none. */
const struct variable *variable_known(const struct variable_record *record);

/* Resets the accumulators of one variable: values[count]. SPAN needs two. */
void variable_clear(const struct variable_record *variable, uint64_t *values, size_t count);
/* Adds one block. `page` is the block's page of peers (0 in other kinds). */
void variable_take(const struct variable_record *variable, unsigned block_kind, unsigned page, const uint64_t *cells,
                   size_t cell_count, uint64_t *values, size_t count);
/* Turns accumulators into values. */
void variable_finish(const struct variable_record *variable, uint64_t *values);

/* "COUNTER" and the like. "?" for an unknown class. */
const char *variable_class_name(uint32_t class);

/* Name of slot i of an enumeration, or NULL after its end. */
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
