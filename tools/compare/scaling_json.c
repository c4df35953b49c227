#include "compare/scaling.h"

#include "job/jsonvalue.h"

static json_t *known_json(double figure)
{
    return figure < 0 ? json_null() : json_real(figure);
}

static json_t *scaling_row_json(const struct scaling_row *row)
{
    const struct scaling_run *median = &row->median;
    const double *factors = row->factors;
    json_t *efficiency = json_pack(
        "{s:o, s:o, s:o, s:o, s:o}", "parallel", known_json(factors[FACTOR_PARALLEL]), "load_balance",
        known_json(factors[FACTOR_BALANCE]), "communication", known_json(factors[FACTOR_COMMUNICATION]),
        "serialization", known_json(factors[FACTOR_SERIALIZATION]), "transfer", known_json(factors[FACTOR_TRANSFER]));
    return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "ranks", (json_int_t)median->ranks, "runs",
                     (json_int_t)row->runs, "seconds", known_json(median->seconds), "useful_seconds",
                     known_json(median->mean < 0 ? -1 : median->mean * median->ranks), "speedup",
                     known_json(row->speedup), "efficiency", efficiency, "computation_scaling",
                     known_json(factors[FACTOR_COMPUTATION]), "global_efficiency", known_json(factors[FACTOR_GLOBAL]));
}

json_t *scaling_json(const struct scaling *scaling)
{
    return json_pack("{s:i, s:s, s:b, s:o}", "version", 1, "scaling", scaling->weak ? "weak" : "strong", "doubtful",
                     (int)scaling_is_doubtful(scaling), "rows",
                     JSON_LIST(i, scaling->count, scaling_row_json(&scaling->rows[i])));
}
