/*
 * One process at one look: reads its figures from the counters of its file, which change meanwhile.
 *
 * The order of reads prevents a figure that is too large. In a difference, the subtracted counter is read last, because
 * the recorder counts it first. If the slot of a communicator is used again, the sum that takes over its figures is
 * read first. Figures that move in between are then missing, and not counted twice. The next look finds them.
 */
#include "base/array.h"
#include "exporter/observation.h"

#include "figures/figures.h"
#include "format/label.h"

#include <stdlib.h>
#include <string.h>

enum { READS_MOST = 4 };

/* The sums of one look: accumulators for each part of a process. The parts are its communicators, then all others
 * together. */
struct reading {
    const struct run_reader *run;
    struct observed_process *process;
    uint32_t *order; /* slots, sums first */
    size_t *part;    /* of a slot */
    size_t slots, parts;
    uint64_t *values; /* parts x room */
    size_t room;
};

/* Returns whether communicators have taken over slots since the file was opened. */
static bool comms_changed(const struct run_reader *run)
{
    uint64_t now = live_comm_changes(run);
    return now != run->header.comm_changes || (now & 1);
}

/* ---- who is who -------------------------------------------------------------------------------------------------- */

static size_t comm_find(const struct observed_process *process, const char *name)
{
    size_t i = 0;
    while (i < process->comm_count && strncmp(process->comms[i].name, name, COMM_NAME_BYTES) != 0)
        i++;
    return i;
}

/* Returns whether a thread has used it, so that it has counters. */
static bool comm_is_used(const struct run_reader *run, uint32_t slot)
{
    for (size_t i = run->comm_blocks[slot]; i < run->comm_blocks[slot + 1]; i++)
        if (run->blocks[i].kind == BLOCK_COMM)
            return true;
    return false;
}

/* Finds the communicator's place. A used communicator without a place gets one. Returns SIZE_MAX if it counts as one of
 * the others. */
static size_t observed_comm_place(struct observed_process *process, const struct comm_record *record, bool used,
                                  size_t most)
{
    char name[COMM_NAME_BYTES];
    label_clean(name, sizeof name, record->name, COMM_NAME_BYTES); /* equal cleaned names are one communicator */
    size_t place = comm_find(process, name);
    if (strcmp(name, COMM_OTHERS) == 0)
        return SIZE_MAX;
    if (place == process->comm_count) {
        if (!used || place >= most || !ARRAY_GROWN(process->comms, place))
            return SIZE_MAX;
        process->comms[place] = (struct observed_comm){.size = record->size};
        memcpy(process->comms[place].name, name, COMM_NAME_BYTES);
        process->comm_count++;
    }
    memcpy(process->comms[place].label, record->label, COMM_LABEL_BYTES);
    return place;
}

static int order_make(struct reading *reading, const struct observation_choice *choice)
{
    const struct run_reader *run = reading->run;
    size_t most = choice->by_comm ? choice->comms_most : 0;
    reading->order = calloc(run->slot_count + 1, sizeof *reading->order);
    reading->part = calloc(run->slot_count + 1, sizeof *reading->part);
    if (!reading->order || !reading->part)
        return -1;
    for (int sums = 1; sums >= 0; sums--)
        for (uint32_t slot = 1; slot < run->slot_count; slot++) {
            const struct comm_record *record = run->comms[slot];
            if (!record || ((record->flags & COMM_SUM) != 0) != sums)
                continue;
            reading->order[reading->slots++] = record->slot;
            reading->part[record->slot] =
                sums ? SIZE_MAX : observed_comm_place(reading->process, record, comm_is_used(run, record->slot), most);
        }
    reading->parts = reading->process->comm_count + 1;
    for (size_t i = 0; i < reading->slots; i++)
        if (reading->part[reading->order[i]] == SIZE_MAX)
            reading->part[reading->order[i]] = reading->process->comm_count;
    return 0;
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

static void slot_take(const struct reading *reading, const struct variable_record *record, uint32_t slot, size_t count)
{
    const struct run_reader *run = reading->run;
    uint64_t *values = reading->values + (slot ? reading->part[slot] : reading->parts - 1) * reading->room;
    figures_blocks_add(run, record, run->comm_blocks[slot], run->comm_blocks[slot + 1], ANY_THREAD, values, count);
    if (slot == 0)
        variable_take(record, BLOCK_LOSSES, 0, run->header.lost, LOSS_COUNT, values, count);
}

static void terms_take(const struct reading *reading, const struct variable_record *record, size_t count)
{
    if (!record->bound)
        slot_take(reading, record, 0, count);
    for (size_t i = 0; record->bound && i < reading->slots; i++) {
        if (i > 0 && reading->order[i - 1] > reading->order[i])
            __atomic_thread_fence(__ATOMIC_ACQUIRE); /* after the sums */
        slot_take(reading, record, reading->order[i], count);
    }
}

/* Copies the variable with only the terms of this sign. Returns their number. */
static unsigned record_signed(struct variable_record *record, const struct variable_record *whole, int sign)
{
    unsigned terms = 0;
    *record = *whole;
    for (unsigned t = 0; t < VARIABLE_TERMS; t++) {
        if (record->terms[t].block && (record->terms[t].weight < 0) != (sign < 0))
            record->terms[t].block = 0;
        terms += record->terms[t].block != 0;
    }
    return terms;
}

static void variable_cells_take(const struct reading *reading, const struct variable_record *record, size_t count)
{
    struct variable_record part;
    size_t accumulators = record->combine == COMBINE_SPAN ? 2 : count;
    for (size_t i = 0; i < reading->parts; i++)
        variable_clear(record, reading->values + i * reading->room, accumulators);
    for (int sign = 1; sign >= -1; sign -= 2) {
        if (record_signed(&part, record, sign))
            terms_take(reading, &part, accumulators);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    }
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

static void part_join(const struct variable_record *record, uint64_t *to, const uint64_t *from, size_t count)
{
    if (record->combine == COMBINE_SPAN) {
        to[0] = metric_joined(COMBINE_HIGH, to[0], from[0]);
        to[1] = metric_joined(COMBINE_LOW, to[1], from[1]);
        return;
    }
    for (size_t i = 0; i < count; i++)
        to[i] = metric_joined((enum variable_combine)record->combine, to[i], from[i]);
}

/* A difference that was seen below 0 is 0. From here on ticks are nanoseconds. */
static uint64_t value_of(const struct reading *reading, const struct variable_record *record, uint64_t cells)
{
    if (record->combine == COMBINE_LOW && cells == LOW_NEUTRAL)
        return cells;
    if (record->combine == COMBINE_SUM && (int64_t)cells < 0)
        return 0;
    return strcmp(record->unit, "ticks") == 0 ? clock_ns(run_reader_scale(reading->run), cells) : cells;
}

static void value_keep(const struct metric *metric, uint64_t *kept, uint64_t value)
{
    if (metric->combine == COMBINE_LOW ? value < *kept : !metric_grows(metric) || value > *kept)
        *kept = value;
}

/* Turns accumulators into figures of a set. */
static int figures_keep(struct observation *observation, const struct reading *reading, struct figure_set *set,
                        const struct variable_record *record, size_t number, uint64_t *values)
{
    struct metric *metric = &observation->metrics.list[number];
    struct figure_row *row = figure_row_make(set, metric, number);
    if (!row)
        return -1;
    variable_finish(record, values);
    for (size_t i = 0; i < record->count; i++) {
        if (metric->shape == SHAPE_SLOTS && !values[i])
            continue;
        size_t slot = metric_slot(&observation->metrics, metric, reading->run, i);
        if (slot < METRIC_SLOTS_MOST && slot >= metric->slots)
            metric->slots = slot + 1;
        if (slot < METRIC_SLOTS_MOST && (row = figure_row_make(set, metric, number)))
            value_keep(metric, &row->values[slot], value_of(reading, record, values[i]));
        if (!row)
            return -1;
    }
    return 0;
}

/* For figures that add up: others = whole - the communicators with their own figures. */
static int others_subtract(struct observation *observation, struct observed_process *process, size_t number)
{
    const struct metric *metric = &observation->metrics.list[number];
    struct figure_row *whole = figure_row_make(&process->whole, metric, number);
    struct figure_row *others = figure_row_make(&process->others, metric, number);
    if (!whole || !others)
        return -1;
    for (size_t i = 0; i < metric->slots; i++) {
        uint64_t rest = whole->values[i];
        for (size_t c = 0; c < process->comm_count; c++) {
            const struct figure_row *row = figure_row(&process->comms[c].figures, number);
            uint64_t part = row && i < row->count ? row->values[i] : 0;
            rest -= part < rest ? part : rest;
        }
        value_keep(metric, &others->values[i], rest);
    }
    return 0;
}

static int variable_read(struct observation *observation, struct reading *reading, const struct variable_record *record,
                         size_t number, bool steady)
{
    struct observed_process *process = reading->process;
    const struct metric *metric = &observation->metrics.list[number];
    size_t bytes = reading->room * sizeof *reading->values;
    uint64_t *others = reading->values + (reading->parts - 1) * reading->room;
    uint64_t *whole = reading->values + reading->parts * reading->room;
    int result = 0;
    memcpy(whole, others, bytes);
    for (size_t i = 0; i + 1 < reading->parts; i++)
        part_join(record, whole, reading->values + i * reading->room, record->count);
    result |= figures_keep(observation, reading, &process->whole, record, number, whole);
    if (!observation->choice.by_comm || !record->bound)
        return result;
    for (size_t i = 0; steady && i + 1 < reading->parts; i++)
        result |= figures_keep(observation, reading, &process->comms[i].figures, record, number,
                               reading->values + i * reading->room);
    if (metric_grows(metric) && record->combine == COMBINE_SUM)
        result |= others_subtract(observation, process, number);
    else if (steady)
        result |= figures_keep(observation, reading, &process->others, record, number, others);
    return result;
}

/* ---- a process --------------------------------------------------------------------------------------------------- */

/* Allocates room for the largest variable, and for SPAN, for each part and for the whole. */
static int reading_begin(struct reading *reading, const struct observation *observation)
{
    const struct run_reader *run = reading->run;
    reading->room = 2;
    for (size_t i = 0; i < run->variable_count; i++)
        if (run->variables[i].count <= METRIC_SLOTS_MOST && run->variables[i].count > reading->room)
            reading->room = run->variables[i].count;
    if (order_make(reading, &observation->choice) != 0)
        return -1;
    reading->values = calloc((reading->parts + 1) * reading->room, sizeof *reading->values);
    return reading->values ? 0 : -1;
}

/* Reads variables from *next on, until communicators have changed under way. The last attempt ignores changes. */
static int variables_read(struct observation *observation, struct reading *reading, size_t *next, bool last,
                          bool seen[METRICS_MOST])
{
    const struct run_reader *run = reading->run;
    for (bool steady = true; *next < run->variable_count; ++*next) {
        const struct variable_record *record = &run->variables[*next];
        int number = metric_number(&observation->metrics, run, record, observation->choice.patterns);
        observation->refused_now += number == METRIC_REFUSED;
        if (number < 0 || seen[number]) /* a damaged file may have a variable twice */
            continue;
        variable_cells_take(reading, record, record->count);
        if (run_reader_is_torn(run)) { /* zeros were read */
            *next = run->variable_count;
            return 0;
        }
        steady = steady && !(record->bound && comms_changed(run));
        if (!steady && !last)
            return 0;
        if (!steady && reading->process->late != observation->looks) {
            reading->process->late = observation->looks;
            observation->late_now++;
        }
        seen[number] = true;
        if (variable_read(observation, reading, record, (size_t)number, steady) != 0)
            return -1;
    }
    return 0;
}

/* Opens the file again. Returns false if it does not exist any more, or if it is a different file. */
static bool file_again(struct run_reader *again, const struct run_reader *run, const char *path)
{
    if (run_reader_open_tables(again, path, run_reader_extent(run)) != 0)
        return false;
    bool same = again->header.job == run->header.job && again->header.pid == run->header.pid &&
                again->header.begin_realtime_ns == run->header.begin_realtime_ns;
    if (!same)
        run_reader_close(again);
    return same;
}

int observation_read(struct observation *observation, struct observed_process *process, const struct run_reader *run,
                     const char *path)
{
    bool seen[METRICS_MOST] = {false}, done = false;
    struct run_reader again;
    size_t next = 0;
    int result = 0;
    for (int attempt = 1; attempt <= READS_MOST && !done && result == 0; attempt++) {
        bool opened = attempt > 1 && file_again(&again, run, path);
        bool last = attempt == READS_MOST || (attempt > 1 && !opened);
        struct reading reading = {.run = opened ? &again : run, .process = process};
        result = reading_begin(&reading, observation) ?: variables_read(observation, &reading, &next, last, seen);
        done = next >= reading.run->variable_count;
        free(reading.order);
        free(reading.part);
        free(reading.values);
        if (opened)
            run_reader_close(&again);
    }
    return result;
}
