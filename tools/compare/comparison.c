#include "compare/comparison.h"

#include "base/array.h"
#include "base/spelling.h"
#include "findings/findings.h"
#include "summary/efficiency.h"
#include "symbols/siteplaces.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 1024, NS_PER_SECOND = 1000000000 };

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* A builder of rows: values are added to the row of a name, for one run. */
struct builder {
    struct comparison *comparison;
    unsigned run, all; /* the run that is being added, and how many there are */
    bool failed;
};

static struct comparison_row *row_of(struct builder *builder, enum comparison_kind kind, const char *name)
{
    struct comparison *comparison = builder->comparison;
    for (size_t i = 0; i < comparison->count; i++)
        if (comparison->rows[i].kind == kind && strcmp(comparison->rows[i].name, name) == 0)
            return &comparison->rows[i];
    struct comparison_row row = {.kind = kind,
                                 .name = strdup(name),
                                 .values = calloc((size_t)builder->all * VALUE_KINDS, sizeof(double)),
                                 .has = calloc(builder->all, sizeof(bool))};
    if (!ARRAY_GROWN(comparison->rows, comparison->count) || !row.name || !row.values || !row.has) {
        free(row.name);
        free(row.values);
        free(row.has);
        builder->failed = true;
        return NULL;
    }
    comparison->rows[comparison->count] = row;
    return &comparison->rows[comparison->count++];
}

static void row_add(struct builder *builder, enum comparison_kind kind, const char *name, double seconds,
                    uint64_t count, uint64_t bytes)
{
    struct comparison_row *row = row_of(builder, kind, name);
    if (!row)
        return;
    double *values = &row->values[builder->run * VALUE_KINDS];
    values[VALUE_TIME] += seconds;
    values[VALUE_COUNT] += (double)count;
    values[VALUE_BYTES] += (double)bytes;
    row->has[builder->run] = true;
}

/* "MPI_Waitall in exchange < step < main" */
static void site_row_name(const struct summary_sites *sites, const struct summary_site *site, char name[NAME_BYTES])
{
    size_t used = (size_t)snprintf(name, NAME_BYTES, "%s", call_table[site->kind].name);
    const char *between = " in ";
    for (uint32_t i = 0; i < site->frame_count && used < NAME_BYTES; i++, between = " < ") {
        const struct summary_frame *frame = &sites->frames[site->first_frame + i];
        const char *function = summary_text(sites, frame->function);
        used += (size_t)snprintf(name + used, NAME_BYTES - used, "%s%s", between, function ? function : "?");
    }
}

/* "load imbalance of rank 2 in exchange": without lines and numbers, so that findings of two versions are the same */
static void finding_row_name(const struct summary *summary, const struct finding *finding, char name[NAME_BYTES])
{
    const struct summary_site *at = finding->around[0] ? finding->around[0] : finding->site;
    const struct summary_frame *frame = at ? site_place_frame(&summary->sites, at) : NULL;
    const char *function = frame ? summary_text(&summary->sites, frame->function) : NULL;
    size_t used = (size_t)snprintf(name, NAME_BYTES, "%s", finding->rule);
    for (char *word = name; (word = strchr(word, '_'));)
        *word = ' ';
    for (size_t i = 0; i < finding->causes.count && used < NAME_BYTES; i++)
        used += (size_t)snprintf(name + used, NAME_BYTES - used, i ? ", %" PRId32 : " of rank %" PRId32,
                                 finding->causes.ranks[i]);
    if (function && used < NAME_BYTES)
        snprintf(name + used, NAME_BYTES - used, " in %s", function);
}

static void shares_add(struct builder *builder, const struct summary *summary)
{
    char name[NAME_BYTES];
    const struct efficiency is = summary_efficiency(summary);
    struct findings *findings = malloc(sizeof *findings);
    builder->failed |= !findings;
    if (!findings)
        return;
    findings_find(findings, summary);
    for (size_t i = 0; i < findings->count; i++) {
        finding_row_name(summary, &findings->list[i], name);
        if (!findings->list[i].note)
            row_add(builder, COMPARED_FINDING, name, findings->list[i].share_of_run, 0, 0);
    }
    free(findings);
    if (!is.known)
        return;
    row_add(builder, COMPARED_EFFICIENCY, "parallel efficiency", is.parallel, 0, 0);
    if (is.threaded)
        row_add(builder, COMPARED_EFFICIENCY, "OpenMP efficiency", is.openmp, 0, 0);
    row_add(builder, COMPARED_EFFICIENCY, "load balance", is.load_balance, 0, 0);
    row_add(builder, COMPARED_EFFICIENCY, "communication efficiency", is.communication, 0, 0);
}

static void ranks_add(struct comparison *comparison, uint32_t ranks)
{
    if (!ranks)
        return;
    if (!comparison->least_ranks || ranks < comparison->least_ranks)
        comparison->least_ranks = ranks;
    if (ranks > comparison->most_ranks)
        comparison->most_ranks = ranks;
}

static void comparison_run_add(struct builder *builder, const struct summary *summary)
{
    char name[NAME_BYTES];
    uint64_t messages = 0, bytes = 0;
    ranks_add(builder->comparison, summary->world_size);
    shares_add(builder, summary);
    for (size_t i = 0; i < summary->comm_count; i++) {
        const struct summary_comm *comm = &summary->comms[i];
        messages += comm->send_count;
        bytes += comm->send_bytes;
        row_add(builder, COMPARED_COMM, comm->name, (double)comm->comm_time_ns / NS_PER_SECOND, comm->send_count,
                comm->send_bytes);
    }
    row_add(builder, COMPARED_RUN, "run", summary->run_seconds.max, messages, bytes);
    for (size_t kind = 1; kind < CALL_COUNT; kind++)
        if (summary->calls[kind].count)
            row_add(builder, COMPARED_FUNCTION, call_table[kind].name,
                    (double)summary->calls[kind].time_ns / NS_PER_SECOND, summary->calls[kind].count, 0);
    for (uint64_t i = 0; i < summary->sites.count; i++) {
        const struct summary_site *site = &summary->sites.list[i];
        site_row_name(&summary->sites, site, name);
        row_add(builder, COMPARED_SITE, site->hash == SITE_OTHERS ? "(other places)" : name,
                (double)site->time_ns / NS_PER_SECOND, site->count, site->bytes_out);
    }
    for (size_t i = 0; i < summary->row_count; i++) {
        const struct summary_row *rank = &summary->rows[i];
        snprintf(name, sizeof name, "rank %" PRId32, rank->rank);
        if (rank->run_ns)
            row_add(builder, COMPARED_RANK, name, (double)rank->useful_ns / NS_PER_SECOND, rank->sent,
                    rank->sent_bytes);
    }
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

/* A run without the row has the value 0. */
static bool run_set_make(struct compared_set *set, const struct comparison_row *row, unsigned first, unsigned runs,
                         enum comparison_value value)
{
    double *values = calloc(runs, sizeof *values);
    if (!values)
        return false;
    for (unsigned i = 0; i < runs; i++) {
        values[i] = row->values[(first + i) * VALUE_KINDS + value];
        set->runs += row->has[first + i];
    }
    qsort(values, runs, sizeof *values, double_order);
    set->least = values[0];
    set->most = values[runs - 1];
    set->median = (values[(runs - 1) / 2] + values[runs / 2]) / 2;
    free(values);
    return true;
}

static double change_of(const struct comparison_row *row)
{
    double change = row->sets[1][VALUE_TIME].median - row->sets[0][VALUE_TIME].median;
    return change < 0 ? -change : change;
}

/* The row of the run first, then the largest changes of time. */
static int by_change(const void *one, const void *other)
{
    const struct comparison_row *a = one, *b = other;
    if ((a->kind == COMPARED_RUN) != (b->kind == COMPARED_RUN))
        return a->kind == COMPARED_RUN ? -1 : 1;
    if (a->kind == COMPARED_EFFICIENCY && b->kind == COMPARED_EFFICIENCY) /* the product first */
        return strcmp(b->name, a->name);
    double x = change_of(a), y = change_of(b);
    return ORDER(y, x) ?: strcmp(a->name, b->name);
}

int comparison_make(struct comparison *comparison, const struct summary *const *summaries, unsigned old, unsigned new)
{
    struct builder builder = {.comparison = comparison, .all = old + new};
    *comparison = (struct comparison){.runs = {old, new}};
    for (; builder.run < builder.all; builder.run++) {
        const char *first = basename(summaries[0]->program), *program = basename(summaries[builder.run]->program);
        if (strcmp(first, program) != 0) {
            comparison->programs[0] = first;
            comparison->programs[1] = program;
        }
        comparison_run_add(&builder, summaries[builder.run]);
    }
    for (size_t i = 0; i < comparison->count; i++)
        for (unsigned value = 0; value < VALUE_KINDS; value++) {
            struct comparison_row *row = &comparison->rows[i];
            if (!run_set_make(&row->sets[0][value], row, 0, old, (enum comparison_value)value) ||
                !run_set_make(&row->sets[1][value], row, old, new, (enum comparison_value)value))
                builder.failed = true;
        }
    if (!builder.failed)
        qsort(comparison->rows, comparison->count, sizeof *comparison->rows, by_change);
    return builder.failed ? -1 : 0;
}

void comparison_release(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->count; i++) {
        free(comparison->rows[i].name);
        free(comparison->rows[i].values);
        free(comparison->rows[i].has);
    }
    free(comparison->rows);
    *comparison = (struct comparison){.count = 0};
}

const struct comparison_row *comparison_run(const struct comparison *comparison)
{
    return &comparison->rows[0];
}

/* ---- judgement --------------------------------------------------------------------------------------------------- */

bool comparison_ranks_differ(const struct comparison *comparison)
{
    return comparison->least_ranks != comparison->most_ranks;
}

bool comparison_time_differs(const struct comparison *comparison, const struct comparison_row *row)
{
    const struct compared_set *old = &row->sets[0][VALUE_TIME], *new = &row->sets[1][VALUE_TIME];
    const struct compared_set *whole = &comparison_run(comparison)->sets[0][VALUE_TIME];
    double change = change_of(row), larger = old->median > new->median ? old->median : new->median;
    if (change * 100 < whole->median)
        return false;
    if (comparison->runs[0] > 1 && comparison->runs[1] > 1)
        return old->most < new->least || new->most < old->least;
    return change * 20 > larger;
}

const char *comparison_finding_word(const struct comparison_row *row)
{
    double old = row->sets[0][VALUE_TIME].median, new = row->sets[1][VALUE_TIME].median;
    return new <= 0 ? "gone" : old <= 0 ? "new" : new < 0.9 * old ? "smaller" : new > 1.1 * old ? "larger" : "same";
}

bool comparison_counts_differ(const struct comparison_row *row)
{
    for (unsigned value = VALUE_COUNT; value < VALUE_KINDS; value++) {
        const struct compared_set *old = &row->sets[0][value], *new = &row->sets[1][value];
        if (old->most < new->least || new->most < old->least)
            return true;
    }
    return false;
}

/* What a limit may be set on. */
static const struct {
    const char *name;
    enum comparison_value value;
} limited[] = {{"time", VALUE_TIME}, {"messages", VALUE_COUNT}, {"count", VALUE_COUNT}, {"bytes", VALUE_BYTES}};

#define LIMITS_ALLOWED                                                                                                 \
    "allowed are time, messages and bytes, or MPI_NAME.time and MPI_NAME.count, then > or < and percent"

static const struct comparison_row *row_named(const struct comparison *comparison, const char *name, size_t length)
{
    for (size_t i = 0; i < comparison->count; i++) {
        const struct comparison_row *row = &comparison->rows[i];
        if (row->kind == COMPARED_FUNCTION && strlen(row->name) == length && strncmp(row->name, name, length) == 0)
            return row;
    }
    return NULL;
}

/* Returns true if the word is a function that mpit records. If not, `reason` has the nearest one. */
static bool function_check(const char *limit, size_t length, char reason[LIMIT_REASON_BYTES])
{
    char word[CALL_NAME_BYTES];
    struct spelling like = {.word = word};
    snprintf(word, sizeof word, "%.*s", (int)length, limit);
    for (unsigned kind = 1; kind < CALL_COUNT; kind++) {
        if (strcmp(word, call_table[kind].name) == 0)
            return true;
        spelling_try(&like, call_table[kind].name);
    }
    snprintf(reason, LIMIT_REASON_BYTES, "'%.60s': mpit records no function %s%s%s%s", limit, word,
             like.nearest ? "; did you mean " : "", like.nearest ? like.nearest : "", like.nearest ? "?" : "");
    return false;
}

int comparison_judge(const struct comparison *comparison, const char *limit, char reason[LIMIT_REASON_BYTES])
{
    size_t name = strcspn(limit, "<>"), function = strcspn(limit, ".<>");
    bool of_function = limit[function] == '.' && function < name;
    const char *what = of_function ? limit + function + 1 : limit;
    size_t length = (size_t)(limit + name - what), i = 0;
    char *end = NULL;
    double percent = limit[name] ? strtod(limit + name + 1, &end) : 0;
    while (i < sizeof limited / sizeof limited[0] &&
           (strlen(limited[i].name) != length || strncmp(limited[i].name, what, length) != 0))
        i++;
    bool is_function = strncmp(limit, "MPI_", 4) == 0;
    if (!end || end == limit + name + 1 || strcmp(end, "%") != 0 || i == sizeof limited / sizeof limited[0] ||
        of_function != is_function || (strcmp(limited[i].name, "count") == 0) > of_function) {
        snprintf(reason, LIMIT_REASON_BYTES, "'%.60s' is no limit; " LIMITS_ALLOWED ": 'time>5%%'", limit);
        return -1;
    }
    if (of_function && !function_check(limit, function, reason))
        return -1;
    const struct comparison_row *row =
        of_function ? row_named(comparison, limit, function) : comparison_run(comparison);
    double old = row ? row->sets[0][limited[i].value].median : 0, new = row ? row->sets[1][limited[i].value].median : 0;
    double change = old > 0 ? (new - old) / old * 100 : new > 0 ? 1e9 : 0;
    bool broken = limit[name] == '>' ? change > percent : change < percent;
    if (broken && old > 0)
        snprintf(reason, LIMIT_REASON_BYTES, "%.*s changed by %+.1f %% (from %g to %g), and the limit is %s", (int)name,
                 limit, change, old, new, limit + name);
    else if (broken)
        snprintf(reason, LIMIT_REASON_BYTES, "%.*s is new (%g), and the limit is %s", (int)name, limit, new,
                 limit + name);
    return broken;
}
