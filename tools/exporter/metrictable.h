/*
 * What a variable of a run file is as a metric: its name there, its type and unit, the label that tells its slots
 * apart.
 *
 * Run files describe their variables, and this follows from the description alone: from class, unit, count, and from
 * whether a variable's slots are sizes of messages. Only texts and names of slots come from this version's own
 * catalogue, for variables that are in it.
 *
 * A table holds each metric that was met, whichever process has it. Its number does not change, until nobody has
 * figures of it any more: then the table lets it go, and its number and its name are free for another one.
 */
#ifndef MPIT_TOOLS_METRICTABLE_H
#define MPIT_TOOLS_METRICTABLE_H

#include "exporter/openmetrics.h"
#include "reader/reader.h"
#include "figures/variables.h"

#include <stdbool.h>
#include <stddef.h>

enum { METRICS_MOST = 512, METRIC_SLOTS_MOST = 4096, METRIC_NAME_BYTES = 192, METRIC_HELP_BYTES = 384 };

enum metric_shape {
    SHAPE_NUMBER,    /* one value */
    SHAPE_SLOTS,     /* a value for each slot that has one */
    SHAPE_HISTOGRAM, /* how many messages there were of each size */
    SHAPE_PART,      /* of a histogram: the bytes; no metric by itself */
};

struct metric {
    char variable[METRIC_NAME_BYTES]; /* its whole name */
    char name[METRIC_NAME_BYTES];     /* of the family */
    char help[METRIC_HELP_BYTES];
    const char *unit;  /* constant text */
    const char *label; /* SHAPE_SLOTS: what tells the slots apart */
    enum metric_type type;
    enum metric_shape shape;
    enum variable_names names;
    enum variable_combine combine;
    uint32_t class;
    size_t slots;
    bool bound;     /* to a communicator */
    bool time;      /* values are nanoseconds, and shown as seconds */
    bool on_demand; /* 0 may mean that nobody has asked */
    int sum;        /* SHAPE_HISTOGRAM: number of the metric whose values are its sum; -1: none */
};

struct metric_table {
    struct metric list[METRICS_MOST];
    size_t count;                   /* those that were let go, whose `variable` is "", too */
    char (*calls)[CALL_NAME_BYTES]; /* the slots of NAMES_CALL: functions by name, since runs may number them in
                                       another way; "": that slot is free */
    size_t call_count;
};

/* Instead of a number. */
enum {
    METRIC_NONE = -1,    /* it has no cells, is about peers, or does not match the pattern */
    METRIC_REFUSED = -2, /* its name is taken by another one, or the table is full */
};

/* The number of a variable's metric, or why there is none. Patterns: NULL is all. */
int metric_number(struct metric_table *table, const struct run_reader *run, const struct variable_record *record,
                  const char *patterns);
/* Values only grow as long as the process lives. */
bool metric_grows(const struct metric *metric);
/* The value of two processes together. */
uint64_t metric_joined(const struct metric *metric, uint64_t one, uint64_t other);
/* The slot of a metric in which the run's slot i is counted; METRIC_SLOTS_MOST: none. */
size_t metric_slot(struct metric_table *table, const struct metric *metric, const struct run_reader *run, size_t i);
/* What the slot is called. */
const char *metric_slot_name(const struct metric_table *table, const struct metric *metric, size_t slot,
                             char number[24]);

/* Whether the name matches one of the shell patterns (separated by commas), and not one behind it that begins with "!".
 * NULL: it does. */
bool name_matches(const char *name, const char *patterns);
/* What the catalogue says of a variable, without what only holds for MPI_T. */
void help_shorten(char help[METRIC_HELP_BYTES], const char *description);

/* Lets those go that are not `used`. */
void metric_table_keep(struct metric_table *table, const bool used[METRICS_MOST]);
/* Lets those names of functions go whose slots nobody has figures in; their slots are free for others. */
void metric_calls_keep(struct metric_table *table, const bool used[METRIC_SLOTS_MOST]);
void metric_table_free(struct metric_table *table);

#endif
