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

/* Two processes of a number may have run one after the other, so their times and messages count, too. */
static bool is_same_process(const struct summary *one, const struct summary_row *a, const struct summary *other,
                            const struct summary_row *b)
{
    return a && a->pid == b->pid && a->phase == b->phase && a->run_ns == b->run_ns && a->mpi_ns == b->mpi_ns &&
           a->sent == b->sent && a->received == b->received &&
           strcmp(one->hosts[a->host].name, other->hosts[b->host].name) == 0;
}

bool summary_sums_has(const struct summary_sums *sums, const struct summary *part)
{
    bool all = part->row_count > 0;
    for (size_t i = 0; all && i < part->row_count; i++) {
        const struct summary_row *row = &part->rows[i];
        all = false;
        for (size_t k = 0; !all && k < sizeof sums->parts / sizeof *sums->parts; k++)
            all =
                sums->parts[k] && is_same_process(sums->parts[k], summary_row_of(sums->parts[k], row->rank), part, row);
    }
    return all;
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
    for (size_t k = 0; k < sizeof sums->parts / sizeof *sums->parts; k++)
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
