/*
 * How a program behaves with more ranks, after POP (pop-coe.eu): a row for each number of ranks.
 *
 *   summary of each run ──> T, mean(U), max(U) ──> medians of the runs with equal ranks ──> factors of each row
 *
 * U = useful time of a process (outside of MPI), T = the longest run time, N = ranks, 0 = the row with the fewest.
 *
 *                            strong scaling: equal work     weak scaling: work grows with the ranks
 *   speedup                  T0 / T                         (N / N0) T0 / T
 *   computation scaling      N0 mean(U0) / (N mean(U))      mean(U0) / mean(U)
 *   global efficiency        = parallel efficiency x computation scaling
 *
 * So global efficiency falls as speedup / (N / N0) does. Efficiencies are those of summary/efficiency.h, of medians.
 */
#ifndef MPIT_TOOLS_SCALING_H
#define MPIT_TOOLS_SCALING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The figures of a run. The other figures follow from them. */
struct scaling_run {
    uint32_t ranks;
    double seconds;   /* T */
    double mean, max; /* U, in seconds. Negative: not known */
    double ideal;     /* T on a network that takes no time, in seconds. Negative: not known */
};

enum scaling_factor {
    FACTOR_GLOBAL,
    FACTOR_COMPUTATION,
    FACTOR_PARALLEL,
    FACTOR_BALANCE,
    FACTOR_COMMUNICATION,
    FACTOR_SERIALIZATION,
    FACTOR_TRANSFER,
    FACTORS
};

struct scaling_row {
    struct scaling_run median;
    size_t runs;             /* with this number of ranks */
    double speedup;          /* negative: not known */
    double factors[FACTORS]; /* likewise */
};

struct scaling {
    bool weak;
    struct scaling_row *rows; /* by ranks */
    size_t count;
};

/* Sorts the runs. Returns 0, or -1 without memory. Release it in both cases. */
int scaling_make(struct scaling *scaling, struct scaling_run *runs, size_t count, bool weak);
void scaling_release(struct scaling *scaling);

/* How much longer all ranks of the last row computed together than all ranks of the first. Negative: not known. */
double scaling_growth(const struct scaling *scaling);
/* The growth looks like that of the other kind of scaling. */
bool scaling_is_doubtful(const struct scaling *scaling);
/* The factor that fell most from the first row to the last: of computation, balance and communication, or the parts of
 * communication. FACTOR_GLOBAL: none fell, or none is known. */
enum scaling_factor scaling_limit(const struct scaling *scaling);

void scaling_print(const struct scaling *scaling, FILE *out);
json_t *scaling_json(const struct scaling *scaling);

#endif
