#include "compare/scaling.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

enum { FIGURES = 4 }; /* of a run that have a median */

static int by_ranks(const void *one, const void *other)
{
    const struct scaling_run *a = one, *b = other;
    return ORDER(a->ranks, b->ranks);
}

/* A figure that one run lacks has no median. */
static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, double_order);
    return values[0] < 0 ? -1 : (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Returns the medians of runs with equal ranks. `values`: room for `count` of each figure. */
static struct scaling_run runs_median(const struct scaling_run *runs, size_t count, double *values)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = runs[i].seconds;
        values[count + i] = runs[i].mean;
        values[2 * count + i] = runs[i].max;
        values[3 * count + i] = runs[i].ideal;
    }
    return (struct scaling_run){.ranks = runs->ranks,
                                .seconds = median_of(values, count),
                                .mean = median_of(values + count, count),
                                .max = median_of(values + 2 * count, count),
                                .ideal = median_of(values + 3 * count, count)};
}

/* Negative: not known. */
static double known_ratio(double part, double whole)
{
    return part < 0 || whole < 0 ? -1 : whole > 0 ? part / whole : part > 0 ? -1 : 1;
}

static double known_share(double part, double whole)
{
    double value = known_ratio(part, whole);
    return value > 1 ? 1 : value;
}

static double efficiency_product(double one, double other)
{
    return one < 0 || other < 0 ? -1 : one * other;
}

static void scaling_row_fill(struct scaling_row *row, const struct scaling_run *first, bool weak)
{
    const struct scaling_run *run = &row->median;
    double larger = (double)run->ranks / (double)first->ranks, computed = known_ratio(first->mean, run->mean);
    double faster = run->seconds > 0 && first->seconds > 0 ? first->seconds / run->seconds : -1;
    row->speedup = weak ? efficiency_product(larger, faster) : faster;
    row->factors[FACTOR_COMPUTATION] = weak || computed < 0 ? computed : computed / larger;
    row->factors[FACTOR_PARALLEL] = known_share(run->mean, run->seconds);
    row->factors[FACTOR_BALANCE] = known_share(run->mean, run->max);
    row->factors[FACTOR_COMMUNICATION] = known_share(run->max, run->seconds);
    row->factors[FACTOR_SERIALIZATION] = known_share(run->max, run->ideal);
    row->factors[FACTOR_TRANSFER] = known_share(run->ideal, run->seconds);
    row->factors[FACTOR_GLOBAL] = efficiency_product(row->factors[FACTOR_PARALLEL], row->factors[FACTOR_COMPUTATION]);
}

int scaling_make(struct scaling *scaling, struct scaling_run *runs, size_t count, bool weak)
{
    double *values = calloc(count * FIGURES + 1, sizeof *values);
    *scaling = (struct scaling){.weak = weak, .rows = calloc(count + 1, sizeof *scaling->rows)};
    if (values && scaling->rows && count)
        qsort(runs, count, sizeof *runs, by_ranks);
    for (size_t i = 0, end; values && scaling->rows && i < count; i = end) {
        struct scaling_row *row = &scaling->rows[scaling->count++];
        for (end = i; end < count && runs[end].ranks == runs[i].ranks; end++)
            continue;
        row->runs = end - i;
        row->median = runs_median(runs + i, end - i, values);
        scaling_row_fill(row, &scaling->rows[0].median, weak);
    }
    int result = values && scaling->rows ? 0 : -1;
    free(values);
    return result;
}

void scaling_release(struct scaling *scaling)
{
    free(scaling->rows);
    *scaling = (struct scaling){.count = 0};
}

double scaling_growth(const struct scaling *scaling)
{
    const struct scaling_run *first = &scaling->rows[0].median, *last = &scaling->rows[scaling->count - 1].median;
    double grown = first->mean > 0 ? known_ratio(last->mean, first->mean) : -1;
    return efficiency_product(grown, (double)last->ranks / (double)first->ranks);
}

/* With strong scaling the growth is near 1, with weak scaling near the factor of the ranks. */
bool scaling_is_doubtful(const struct scaling *scaling)
{
    double growth = scaling_growth(scaling);
    double larger = (double)scaling->rows[scaling->count - 1].median.ranks / (double)scaling->rows[0].median.ranks;
    return growth >= 0 && (growth > sqrt(larger)) != scaling->weak;
}

enum scaling_factor scaling_limit(const struct scaling *scaling)
{
    const double *first = scaling->rows[0].factors, *last = scaling->rows[scaling->count - 1].factors;
    bool parts = first[FACTOR_SERIALIZATION] >= 0 && last[FACTOR_SERIALIZATION] >= 0;
    enum scaling_factor limit = FACTOR_GLOBAL;
    double least = 1;
    for (enum scaling_factor i = FACTOR_COMPUTATION; i < FACTORS; i++) {
        bool is_part = i == FACTOR_SERIALIZATION || i == FACTOR_TRANSFER;
        if (i == FACTOR_PARALLEL || (i == FACTOR_COMMUNICATION ? parts : is_part && !parts) || first[i] <= 0 ||
            last[i] < 0 || last[i] / first[i] >= least)
            continue;
        least = last[i] / first[i];
        limit = i;
    }
    return limit;
}
