#include "exporter/metrictable.h"

#include "base/text.h"
#include "base/array.h"
#include "format/counter.h"
#include "format/label.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS_MOST = METRIC_SLOTS_MOST };

static const char size_suffix[] = "_size_count";

/* ---- what it is -------------------------------------------------------------------------------------------------- */

/* Returns whether the variable is counted only on request. Its record may have no room for that. */
static bool is_asked(const struct variable_record *record)
{
    return record->terms[0].block == BLOCK_COUNTERS && record->count == PLACE_COUNT && record->terms[0].stride == 1 &&
           record->terms[0].first / PLACE_COUNT >= COUNTER_ASKED;
}

static void whole_name(char name[METRIC_NAME_BYTES], const struct run_reader *run, const struct variable_record *record)
{
    const char *asked = is_asked(record) ? run_reader_counter_name(run, record->terms[0].first / PLACE_COUNT) : "?";
    if (strcmp(asked, "?") == 0)
        snprintf(name, METRIC_NAME_BYTES, "%.*s", VARIABLE_NAME_BYTES, record->name);
    else
        snprintf(name, METRIC_NAME_BYTES, "mpit_papi_%.*s", COUNTER_NAME_BYTES, asked);
}

static void suffix_cut(char *name, const char *suffix)
{
    if (text_ends(name, suffix))
        name[strlen(name) - strlen(suffix)] = '\0';
}

static const char *metric_unit_of(const struct variable_record *record)
{
    if (strcmp(record->unit, "ticks") == 0 || strcmp(record->unit, "ns") == 0)
        return "seconds";
    return strcmp(record->unit, "bytes") == 0 ? "bytes" : "";
}

static enum metric_type type_of(const struct variable_record *record)
{
    bool counts =
        record->class == VARIABLE_COUNTER || record->class == VARIABLE_AGGREGATE || record->class == VARIABLE_TIMER;
    /* a span from a first to a last moment cannot be added up */
    return counts && record->combine != COMBINE_SPAN ? METRIC_COUNTER : METRIC_GAUGE;
}

static enum metric_shape shape_of(const char *name, const struct variable_record *record)
{
    if (record->count == BUCKET_COUNT && record->combine == COMBINE_SUM) {
        if (record->class == VARIABLE_COUNTER && text_ends(name, size_suffix))
            return SHAPE_HISTOGRAM;
        if (record->class == VARIABLE_AGGREGATE && text_ends(name, "_size_bytes"))
            return SHAPE_PART;
    }
    return record->count == 1 ? SHAPE_NUMBER : SHAPE_SLOTS;
}

/* mpit_mpi_time, in ticks: mpit_mpi_time_seconds. */
static void family_name(struct metric *metric)
{
    char stem[METRIC_NAME_BYTES - 32], *to = metric->name;
    snprintf(stem, sizeof stem, "%.*s", (int)sizeof stem - 1, metric->variable);
    if (metric->shape == SHAPE_HISTOGRAM) {
        suffix_cut(stem, "_count");
        metric->unit = "bytes";
    }
    suffix_cut(stem, "_total");
    if (metric->unit[0]) {
        char end[16];
        snprintf(end, sizeof end, "_%s", metric->unit);
        suffix_cut(stem, end);
    }
    snprintf(to, METRIC_NAME_BYTES, "%s%s%s%s%s", strncmp(stem, "mpit_", 5) == 0 ? "" : "mpit_", stem,
             metric->class == VARIABLE_HIGHWATERMARK  ? "_max"
             : metric->class == VARIABLE_LOWWATERMARK ? "_min"
                                                      : "",
             metric->unit[0] ? "_" : "", metric->unit);
    for (; *to; to++)
        *to = (char)((*to >= 'a' && *to <= 'z') || (*to >= '0' && *to <= '9')
                         ? *to
                         : (*to >= 'A' && *to <= 'Z' ? *to - 'A' + 'a' : '_'));
}

static const char *label_of(enum variable_names names)
{
    static const char *const labels[] = {
        [NAMES_CALL] = "call",    [NAMES_COLL] = "collective",  [NAMES_LOSS] = "cause",
        [NAMES_STATE] = "reason", [NAMES_FABRIC] = "operation", [NAMES_FABRIC_FUNCTION] = "function",
        [NAMES_PLACE] = "place",  [NAMES_SWITCH] = "kind",      [NAMES_FAULT] = "kind"};
    bool known = names < sizeof labels / sizeof *labels && labels[names];
    return known ? labels[names] : "slot";
}

/* ---- what is said of it ------------------------------------------------------------------------------------------ */

static void words_cut(char *text, const char *words, const char *instead)
{
    for (char *at; (at = strstr(text, words));) {
        size_t length = strlen(words), put = strlen(instead);
        memmove(at + put, at + length, strlen(at + length) + 1);
        memcpy(at, instead, put);
    }
}

/* Copies the catalogue's description of a variable, without the parts that apply only to MPI_T. */
static void help_shorten(char help[METRIC_HELP_BYTES], const char *description)
{
    snprintf(help, METRIC_HELP_BYTES, "%s", description);
    char *end = strstr(help, ". ");
    if (end)
        end[1] = '\0';
    words_cut(help, "since start or reset", "so far");
    words_cut(help, ", in nanoseconds", "");
    words_cut(help, ", in bytes", "");
    words_cut(help, " in the window", "");
    words_cut(help, " that completed in it", "");
    words_cut(help, "; 2^64 - 1 before the first one", "");
    for (char *at; (at = strstr(help, "; the enumeration")) || (at = strstr(help, "; mpit_size_bucket_limit"));)
        strcpy(at, ".");
}

/* What matters for sums since the process began, beside the other metrics. */
static const char *note_of(const char *variable)
{
    static const char *const notes[][2] = {
        {"mpit_mpi_time", " MPI_Init and MPI_Finalize count here, but not in mpit_process_run_seconds."},
        {"mpit_work_time", " MPI_Init and MPI_Finalize count here, but not in mpit_process_run_seconds."},
        {"mpit_events_lost", " Those of a trace may still be in a thread's buffer, and so in the run file."}};
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        if (strcmp(notes[i][0], variable) == 0)
            return notes[i][1];
    return "";
}

static void help_make(struct metric *metric, const struct variable *known, const struct variable_record *record)
{
    if (known) {
        help_shorten(metric->help, known->description);
        size_t used = strlen(metric->help);
        snprintf(metric->help + used, sizeof metric->help - used, "%s", note_of(metric->variable));
    } else if (is_asked(record))
        snprintf(metric->help, sizeof metric->help, "PAPI event %.120s, by place of the thread%s%s.",
                 metric->variable + strlen("mpit_papi_"),
                 metric->unit[0] || !record->unit[0] ? "" : "; its unit: ", metric->unit[0] ? "" : record->unit);
    else
        snprintf(metric->help, sizeof metric->help, "Variable %.150s of class %s.", metric->variable,
                 variable_class_name(record->class));
    if (!known)
        text_tidy(metric->help, sizeof metric->help);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

bool name_matches(const char *name, const char *patterns)
{
    bool matches = !patterns;
    for (const char *at = patterns; at;) {
        const char *end = strchrnul(at, ',');
        bool not = *at == '!';
        char *pattern = strndup(at + not, (size_t)(end - at - not ));
        if (pattern && fnmatch(pattern, name, 0) == 0)
            matches = !not ;
        else if (not &&at == patterns)
            matches = true; /* all but these */
        free(pattern);
        at = *end ? end + 1 : NULL;
    }
    return matches;
}

/* Names that metrics other than variables have. */
static bool name_is_reserved(const char *name)
{
    static const char *const begins[] = {"mpit_job_", "mpit_process_", "mpit_exporter_", "mpit_communicator_"};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

static bool is_same(const struct metric *metric, const struct metric *other)
{
    return metric->class == other->class && metric->bound == other->bound && metric->combine == other->combine &&
           metric->names == other->names && metric->shape == other->shape && metric->time == other->time &&
           strcmp(metric->unit, other->unit) == 0 && strcmp(metric->variable, other->variable) == 0;
}

static void metric_make(struct metric *metric, const struct run_reader *run, const struct variable_record *record)
{
    const struct variable *known = variable_known(record);
    *metric = (struct metric){.unit = metric_unit_of(record),
                              .type = type_of(record),
                              .names = known              ? known->names
                                       : is_asked(record) ? NAMES_PLACE
                                                          : NAMES_NONE,
                              .combine = (enum variable_combine)record->combine,
                              .class = record->class,
                              .slots = record->count,
                              .bound = record->bound != 0,
                              .time = strcmp(metric_unit_of(record), "seconds") == 0,
                              .on_demand = known && known->demand != DEMAND_NONE,
                              .sum = -1};
    whole_name(metric->variable, run, record);
    metric->shape = shape_of(metric->variable, record);
    metric->label = label_of(metric->names);
    if (metric->shape == SHAPE_HISTOGRAM)
        metric->type = METRIC_HISTOGRAM;
    family_name(metric);
    help_make(metric, known, record);
}

/* Finds the bytes of the messages that a histogram counts: by size, or all of them. */
static void sums_find(struct metric_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        struct metric *metric = &table->list[i];
        metric->sum = -1; /* the sum's metric may have been freed */
        if (metric->shape != SHAPE_HISTOGRAM || !metric->variable[0])
            continue;
        int stem = (int)(strlen(metric->variable) - strlen(size_suffix));
        char by_size[METRIC_NAME_BYTES + 16], all[METRIC_NAME_BYTES + 16];
        snprintf(by_size, sizeof by_size, "%.*s_size_bytes", stem, metric->variable);
        snprintf(all, sizeof all, "%.*s_bytes", stem, metric->variable);
        for (size_t k = 0; k < table->count; k++) {
            const struct metric *other = &table->list[k];
            if (other->class != VARIABLE_AGGREGATE || other->bound != metric->bound ||
                strcmp(other->unit, "bytes") != 0)
                continue;
            if (strcmp(other->variable, by_size) == 0)
                metric->sum = (int)k;
            else if (metric->sum < 0 && strcmp(other->variable, all) == 0)
                metric->sum = (int)k;
        }
    }
}

int metric_number(struct metric_table *table, const struct run_reader *run, const struct variable_record *record,
                  const char *patterns)
{
    struct metric metric;
    if (record->combine == COMBINE_NONE || record->combine > COMBINE_NONE || record->count == 0 ||
        record->count > METRIC_SLOTS_MOST || record->class == VARIABLE_STATE || record->class == VARIABLE_PERCENTAGE)
        return METRIC_NONE;
    metric_make(&metric, run, record);
    /* A histogram needs its sum, even if the user did not select it. */
    if (metric.shape != SHAPE_PART && !name_matches(metric.variable, patterns))
        return METRIC_NONE;
    bool taken = name_is_reserved(metric.name) || !metric.variable[0];
    size_t place = table->count;
    for (size_t i = 0; i < table->count; i++) {
        struct metric *has = &table->list[i];
        if (!has->variable[0]) {
            place = i < place ? i : place;
            continue;
        }
        if (is_same(has, &metric)) {
            if (metric.slots > has->slots)
                has->slots = metric.slots;
            return (int)i;
        }
        taken |= strcmp(has->name, metric.name) == 0 && has->shape != SHAPE_PART && metric.shape != SHAPE_PART;
    }
    if (taken || place == METRICS_MOST)
        return METRIC_REFUSED;
    table->list[place] = metric;
    table->count += place == table->count;
    sums_find(table);
    return (int)place;
}

void metric_table_keep(struct metric_table *table, const bool used[METRICS_MOST])
{
    bool gone = false;
    for (size_t i = 0; i < table->count; i++)
        if (!used[i] && table->list[i].variable[0]) {
            table->list[i] = (struct metric){.sum = -1};
            gone = true;
        }
    while (table->count && !table->list[table->count - 1].variable[0])
        table->count--;
    if (gone)
        sums_find(table);
}

bool metric_grows(const struct metric *metric)
{
    return metric->type == METRIC_COUNTER || metric->type == METRIC_HISTOGRAM || metric->combine == COMBINE_SPAN ||
           metric->combine == COMBINE_HIGH;
}

uint64_t metric_joined(enum variable_combine combine, uint64_t one, uint64_t other)
{
    if (combine == COMBINE_LOW)
        return one < other ? one : other;
    if (combine == COMBINE_SUM)
        return one + other;
    return one > other ? one : other;
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

/* Two names that look the same are one. */
static size_t call_slot(struct metric_table *table, const char *raw)
{
    char name[CALL_NAME_BYTES];
    label_clean(name, sizeof name, raw[0] ? raw : "?", CALL_NAME_BYTES);
    size_t place = table->call_count;
    for (size_t i = 0; i < table->call_count; i++) {
        if (strncmp(table->calls[i], name, CALL_NAME_BYTES) == 0)
            return i;
        if (!table->calls[i][0] && i < place)
            place = i;
    }
    if (place < table->call_count) {
        memcpy(table->calls[place], name, sizeof *table->calls);
        return place;
    }
    if (table->call_count >= CALLS_MOST || !ARRAY_GROWN(table->calls, table->call_count))
        return METRIC_SLOTS_MOST;
    memcpy(table->calls[table->call_count], name, sizeof *table->calls);
    return table->call_count++;
}

void metric_calls_keep(struct metric_table *table, const bool used[METRIC_SLOTS_MOST])
{
    for (size_t i = 0; i < table->call_count; i++)
        if (!used[i])
            memset(table->calls[i], 0, sizeof table->calls[i]);
    while (table->call_count && !table->calls[table->call_count - 1][0])
        table->call_count--;
}

size_t metric_slot(struct metric_table *table, const struct metric *metric, const struct run_reader *run, size_t i)
{
    if (metric->names != NAMES_CALL)
        return i;
    const char *name = run_reader_call_name(run, (unsigned)i);
    if (i < table->call_count && name[0] && strncmp(table->calls[i], name, CALL_NAME_BYTES) == 0)
        return i;
    return call_slot(table, name);
}

const char *metric_slot_name(const struct metric_table *table, const struct metric *metric, size_t slot,
                             char number[24])
{
    const char *name = metric->names == NAMES_CALL ? (slot < table->call_count ? table->calls[slot] : NULL)
                                                   : variable_slot_name(metric->names, slot);
    snprintf(number, 24, "%zu", slot);
    return name ? name : number;
}

void metric_table_free(struct metric_table *table)
{
    free(table->calls);
    *table = (struct metric_table){0};
}
