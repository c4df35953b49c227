#include "job/summarysums.h"

#include <err.h>
#include <stdlib.h>

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
