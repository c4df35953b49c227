#include "compare/comparison.h"

#include <string.h>

static json_t *set_json(const struct compared_set *set)
{
    return json_pack("{s:f, s:f, s:f, s:i}", "median", set->median, "min", set->least, "max", set->most, "runs",
                     (int)set->runs);
}

static json_t *value_json(const struct comparison_row *row, enum comparison_value value)
{
    double old = row->sets[0][value].median, new = row->sets[1][value].median;
    return json_pack("{s:o, s:o, s:o}", "old", set_json(&row->sets[0][value]), "new", set_json(&row->sets[1][value]),
                     "change", old > 0 ? json_real((new - old) / old) : json_null());
}

static json_t *share_json(const struct comparison_row *row)
{
    json_t *json = json_pack("{s:s%, s:o, s:o}", "name", row->name, strlen(row->name), "old",
                             set_json(&row->sets[0][VALUE_TIME]), "new", set_json(&row->sets[1][VALUE_TIME]));
    if (row->kind == COMPARED_FINDING)
        json_object_set_new(json, "word", json_string(comparison_finding_word(row)));
    return json;
}

static json_t *rank_count_json(uint32_t ranks)
{
    return ranks ? json_integer(ranks) : json_null();
}

json_t *comparison_json(const struct comparison *comparison)
{
    static const char *const kinds[COMPARED_TIMED] = {"run", "function", "callsite", "communicator", "rank"};
    json_t *rows = json_array(), *findings = json_array(), *efficiencies = json_array();
    for (size_t i = 0; i < comparison->count; i++) {
        const struct comparison_row *row = &comparison->rows[i];
        if (row->kind >= COMPARED_TIMED) {
            json_array_append_new(row->kind == COMPARED_FINDING ? findings : efficiencies, share_json(row));
            continue;
        }
        json_array_append_new(rows,
                              json_pack("{s:s, s:s%, s:o, s:o, s:o, s:b, s:b}", "kind", kinds[row->kind], "name",
                                        row->name, strlen(row->name), "seconds", value_json(row, VALUE_TIME), "count",
                                        value_json(row, VALUE_COUNT), "bytes", value_json(row, VALUE_BYTES),
                                        "time_differs", (int)comparison_time_differs(comparison, row), "counts_differ",
                                        (int)comparison_counts_differ(row)));
    }
    return json_pack("{s:i, s:i, s:i, s:b, s:b, s:o, s:o, s:o, s:o, s:o}", "version", 1, "old_runs",
                     (int)comparison->runs[0], "new_runs", (int)comparison->runs[1], "ranks_differ",
                     (int)comparison_ranks_differ(comparison), "programs_differ", comparison->programs[0] != NULL,
                     "findings", findings, "efficiencies", efficiencies, "least_ranks",
                     rank_count_json(comparison->least_ranks), "most_ranks", rank_count_json(comparison->most_ranks),
                     "rows", rows);
}
