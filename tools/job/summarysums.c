#include "job/summarysums.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

struct summary *summary_join(struct summary *whole, struct summary *part)
{
    if (!whole || !part)
        return whole ? whole : part;
    if (summary_merge(whole, part) != 0)
        err(1, "no memory");
    summary_release(part);
    free(part);
    return whole;
}

void summary_sums_add(struct summary_sums *sums, struct summary *part)
{
    size_t k = 0;
    for (; sums->parts[k]; k++) {
        part = summary_join(sums->parts[k], part);
        sums->parts[k] = NULL;
    }
    sums->parts[k] = part;
}

/* A process number can be used again. So two rows are of one process only if their times and messages are equal, too. */
static bool is_same_process(const struct summary *one, const struct summary_row *a, const struct summary *other,
                            const struct summary_row *b)
{
    return a->pid == b->pid && a->phase == b->phase && a->run_ns == b->run_ns && a->mpi_ns == b->mpi_ns &&
           a->sent == b->sent && a->received == b->received &&
           strcmp(one->hosts[a->host].name, other->hosts[b->host].name) == 0;
}

static bool summary_has(const struct summary *summary, const struct summary *other, const struct summary_row *row)
{
    const struct summary_row *own = summary_row_of(summary, row->rank), *end = summary->rows + summary->row_count;
    for (; own && own < end && own->rank == row->rank; own++)
        if (is_same_process(summary, own, other, row))
            return true;
    return false;
}

enum { PARTS = sizeof((struct summary_sums *)0)->parts / sizeof(struct summary *) };

bool summary_sums_have(const struct summary_sums *sums, const struct summary *part)
{
    bool all = part->row_count > 0;
    for (size_t i = 0; all && i < part->row_count; i++) {
        all = false;
        for (size_t k = 0; !all && k < PARTS; k++)
            all = sums->parts[k] && summary_has(sums->parts[k], part, &part->rows[i]);
    }
    return all;
}

/* The same the other way round. */
static bool summary_has_sums(const struct summary *part, const struct summary_sums *sums)
{
    size_t rows = 0;
    for (size_t k = 0; k < PARTS; k++)
        for (size_t i = 0; sums->parts[k] && i < sums->parts[k]->row_count; i++, rows++)
            if (!summary_has(part, sums->parts[k], &sums->parts[k]->rows[i]))
                return false;
    return rows > 0;
}

bool summary_sums_add_once(struct summary_sums *sums, struct summary *part)
{
    bool had = summary_sums_have(sums, part);
    struct summary *left = had ? part : summary_has_sums(part, sums) ? summary_sums_end(sums) : NULL;
    if (left && !had)
        *sums = (struct summary_sums){{NULL}};
    if (left) {
        summary_release(left);
        free(left);
    }
    if (!had)
        summary_sums_add(sums, part);
    return !had;
}

void summary_sums_add_file(struct summary_sums *sums, const struct run_reader *file, bool figures)
{
    struct summary *sum = calloc(1, sizeof *sum);
    if (!sum || (figures ? summary_of_run : summary_of_process)(sum, file) != 0)
        err(1, "no memory");
    summary_sums_add(sums, sum);
}

struct summary *summary_sums_end(struct summary_sums *sums)
{
    struct summary *whole = NULL;
    for (size_t k = 0; k < PARTS; k++)
        whole = summary_join(sums->parts[k], whole);
    return whole;
}

struct summary_sums *summary_sums_of(struct summary_sums **sums)
{
    if (!*sums && !(*sums = calloc(1, sizeof **sums)))
        err(1, "no memory");
    return *sums;
}

struct summary *summary_sums_take(struct summary_sums **sums)
{
    struct summary *sum = *sums ? summary_sums_end(*sums) : NULL;
    free(*sums);
    *sums = NULL;
    return sum;
}
