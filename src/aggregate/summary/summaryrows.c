/* The processes in a summary, their hosts, and the origin of the job. */
#include "summary/summary.h"

#include "base/array.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The place of `name` in the sorted hosts, added if needed. Returns -1 without memory. */
static int64_t host_place(struct summary *summary, const char *name)
{
    bool found;
    size_t place = ARRAY_PLACE(i, summary->host_count,
                               strncmp(name, summary->hosts[i].name, sizeof summary->hosts[i].name - 1), &found);
    if (found)
        return (int64_t)place;
    if (!ARRAY_RESIZED(summary->hosts, summary->host_count + 1))
        return -1;
    memmove(&summary->hosts[place + 1], &summary->hosts[place], (summary->host_count - place) * sizeof *summary->hosts);
    memset(&summary->hosts[place], 0, sizeof summary->hosts[place]);
    snprintf(summary->hosts[place].name, sizeof summary->hosts[place].name, "%s", name);
    summary->host_count++;
    for (size_t i = 0; i < summary->row_count; i++)
        summary->rows[i].host += summary->rows[i].host >= place;
    return (int64_t)place;
}

static int row_order(const struct summary_row *a, const struct summary_row *b)
{
    return ORDER(a->rank, b->rank) ?: ORDER(a->pid, b->pid);
}

int summary_row_add(struct summary *summary, struct summary_row row, const char *host)
{
    int64_t place = host_place(summary, host);
    struct summary_row *rows =
        place < 0 ? NULL : reallocarray(summary->rows, summary->row_count + 1, sizeof *summary->rows);
    if (!rows)
        return -1;
    summary->rows = rows;
    row.host = row.better_host = (uint32_t)place;
    size_t at = summary->row_count;
    while (at > 0 && row_order(&rows[at - 1], &row) > 0)
        at--;
    memmove(&rows[at + 1], &rows[at], (summary->row_count - at) * sizeof *rows);
    rows[at] = row;
    summary->row_count++;
    return 0;
}

static void origin_merge(struct summary_origin *origin, const struct summary_origin *other)
{
    uint64_t begin = origin->begin_ns, end = origin->end_ns;
    bool first = !begin && !end && !origin->told;
    if (first || (other->told && (!origin->told || (uint32_t)other->rank < (uint32_t)origin->rank)))
        *origin = *other;
    origin->begin_ns = first || (other->begin_ns && other->begin_ns < begin) ? other->begin_ns : begin;
    origin->end_ns = first || other->end_ns > end ? other->end_ns : end;
}

/* Both lists are sorted: one walk merges them. */
int summary_rows_merge(struct summary *summary, const struct summary *other)
{
    size_t a = 0, b = 0, count = 0;
    origin_merge(&summary->origin, &other->origin);
    for (size_t i = 0; i < other->host_count; i++)
        if (host_place(summary, other->hosts[i].name) < 0)
            return -1;
    struct summary_row *rows = calloc(summary->row_count + other->row_count + 1, sizeof *rows);
    if (!rows)
        return -1;
    while (a < summary->row_count || b < other->row_count) {
        bool mine =
            b == other->row_count || (a < summary->row_count && row_order(&summary->rows[a], &other->rows[b]) <= 0);
        rows[count] = mine ? summary->rows[a++] : other->rows[b++];
        if (!mine)
            rows[count].host = (uint32_t)host_place(summary, other->hosts[rows[count].host].name);
        rows[count].better_host = rows[count].host;
        count++;
    }
    free(summary->rows);
    summary->rows = rows;
    summary->row_count = count;
    return 0;
}

const struct summary_row *summary_row_of(const struct summary *summary, int32_t rank)
{
    bool found;
    size_t place = ARRAY_PLACE(i, summary->row_count, ORDER(rank, summary->rows[i].rank), &found);
    return found ? &summary->rows[place] : NULL;
}

bool summary_missing_next(const struct summary *summary, struct missing_ranks *missing)
{
    int64_t size = summary->row_count ? (int32_t)summary->world_size : 0, rank = missing->last + 1;
    while (missing->at < summary->row_count && summary->rows[missing->at].rank <= rank)
        rank += summary->rows[missing->at++].rank == rank;
    int64_t next = missing->at < summary->row_count ? summary->rows[missing->at].rank : size;
    missing->first = rank;
    missing->last = (next < size ? next : size) - 1;
    return rank < size;
}

bool summary_missing(const struct summary *summary, char text[SUMMARY_MISSING_BYTES])
{
    size_t used = 0;
    text[0] = '\0';
    for (struct missing_ranks missing = {.last = -1}; summary_missing_next(summary, &missing);) {
        if (used + 32 >= SUMMARY_MISSING_BYTES) {
            snprintf(text + used, SUMMARY_MISSING_BYTES - used, ", ...");
            break;
        }
        used +=
            (size_t)snprintf(text + used, SUMMARY_MISSING_BYTES - used, "%s%" PRId64, used ? ", " : "", missing.first);
        if (missing.last > missing.first)
            used += (size_t)snprintf(text + used, SUMMARY_MISSING_BYTES - used, "-%" PRId64, missing.last);
    }
    return used > 0;
}

void summary_hosts(const struct summary *summary, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < summary->host_count; i++) {
        if (used + sizeof summary->hosts->name + 8 > bytes) {
            snprintf(text + used, bytes - used, ", ...");
            return;
        }
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", summary->hosts[i].name);
    }
}
