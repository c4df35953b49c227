/*
 * A variable of a run file as a metric: its name, type and unit, and the label that distinguishes its slots.
 *
 * Run files describe their variables. A metric follows only from the class, the unit, the count, and whether the slots
 * are sizes of messages. Texts and names of slots come from this version's own catalogue, if it has the variable.
 *
 * A table holds each metric that was found in any process. Its number does not change while a process has figures of
 * it. After that the table frees the metric, and its number and its name may be used for another.
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
    SHAPE_SLOTS,     /* a value for each slot with a value */
    SHAPE_HISTOGRAM, /* number of messages of each size */
    SHAPE_PART,      /* of a histogram: the bytes, not a separate metric */
};

struct metric {
    char variable[METRIC_NAME_BYTES]; /* its whole name */
    char name[METRIC_NAME_BYTES];     /* of the family */
    char help[METRIC_HELP_BYTES];
    const char *unit;  /* constant text */
    const char *label; /* SHAPE_SLOTS: the label that distinguishes the slots */
    enum metric_type type;
    enum metric_shape shape;
    enum variable_names names;
    enum variable_combine combine;
    uint32_t class;
    size_t slots;
    bool bound;     /* to a communicator */
    bool time;      /* values are in nanoseconds, and exported as seconds */
    bool on_demand; /* 0 may mean that no tool asked for it */
    int sum;        /* SHAPE_HISTOGRAM: number of the metric whose values are its sum, or -1 for none */
};

struct metric_table {
    struct metric list[METRICS_MOST];
    size_t count;                   /* with freed metrics, whose `variable` is "" */
    char (*calls)[CALL_NAME_BYTES]; /* the slots of NAMES_CALL: functions by name, since runs may number them
                                       differently. "" is a free slot */
    size_t call_count;
};

/* Instead of a number. */
enum {
    METRIC_NONE = -1,    /* it has no counters, is about peers, or does not match the pattern */
    METRIC_REFUSED = -2, /* its name is taken, or the table is full */
};

/* Returns the number of a variable's metric, or a code if there is none. If `patterns` is NULL, all match. */
int metric_number(struct metric_table *table, const struct run_reader *run, const struct variable_record *record,
                  const char *patterns);
/* Returns whether values only grow as long as the process lives. */
bool metric_grows(const struct metric *metric);
/* Returns two values, or two accumulators, together. */
uint64_t metric_joined(enum variable_combine combine, uint64_t one, uint64_t other);
/* Returns the slot of a metric that counts the run's slot i, or METRIC_SLOTS_MOST for none. */
size_t metric_slot(struct metric_table *table, const struct metric *metric, const struct run_reader *run, size_t i);
/* Returns the name of the slot. */
const char *metric_slot_name(const struct metric_table *table, const struct metric *metric, size_t slot,
                             char number[24]);

/* Returns whether the name matches one of the shell patterns (separated by commas), and no later pattern that begins
 * with "!". If `patterns` is NULL, every name matches. */
bool name_matches(const char *name, const char *patterns);

/* Frees the metrics that are not `used`. */
void metric_table_keep(struct metric_table *table, const bool used[METRICS_MOST]);
/* Frees the names of functions whose slots have no figures. Other functions may then use these slots. */
void metric_calls_keep(struct metric_table *table, const bool used[METRIC_SLOTS_MOST]);
void metric_table_free(struct metric_table *table);

#endif
