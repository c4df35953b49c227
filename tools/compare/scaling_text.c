#include "compare/scaling.h"

#include "base/units.h"

#include <inttypes.h>

static const struct {
    const char *title, *name; /* of the column, in a sentence */
    int columns;
} factor_texts[FACTORS] = {
    [FACTOR_GLOBAL] = {"global", "global efficiency", 8},
    [FACTOR_COMPUTATION] = {"computation", "computation scaling", 13},
    [FACTOR_PARALLEL] = {"parallel", "parallel efficiency", 10},
    [FACTOR_BALANCE] = {"balance", "load balance", 9},
    [FACTOR_COMMUNICATION] = {"comm", "communication efficiency", 7},
    [FACTOR_SERIALIZATION] = {"serial", "serialization", 8},
    [FACTOR_TRANSFER] = {"transfer", "transfer", 10},
};

static bool is_shown(const struct scaling *scaling, enum scaling_factor factor)
{
    if (factor < FACTOR_SERIALIZATION)
        return true;
    for (size_t i = 0; i < scaling->count; i++)
        if (scaling->rows[i].factors[factor] >= 0)
            return true;
    return false;
}

static bool has_sets(const struct scaling *scaling)
{
    for (size_t i = 0; i < scaling->count; i++)
        if (scaling->rows[i].runs > 1)
            return true;
    return false;
}

static void number_print(double number, int columns, int digits, FILE *out)
{
    if (number < 0)
        fprintf(out, "%*s", columns, "-");
    else
        fprintf(out, "%*.*f", columns, digits, number);
}

static void scaling_row_print(const struct scaling *scaling, const struct scaling_row *row, FILE *out)
{
    char text[UNIT_TEXT_BYTES];
    fprintf(out, "%6" PRIu32, row->median.ranks);
    if (has_sets(scaling))
        fprintf(out, "%6zu", row->runs);
    fprintf(out, "%10s", text_of_seconds(text, row->median.seconds));
    number_print(row->speedup, 9, 2, out);
    for (enum scaling_factor i = FACTOR_GLOBAL; i < FACTORS; i++)
        if (is_shown(scaling, i))
            number_print(row->factors[i] < 0 ? -1 : row->factors[i] * 100, factor_texts[i].columns, 1, out);
    fputc('\n', out);
}

static void meaning_print(const struct scaling *scaling, FILE *out)
{
    fprintf(out, "\nEfficiencies in %%. global = computation x parallel, parallel = balance x comm%s\n",
            is_shown(scaling, FACTOR_SERIALIZATION) ? ",\ncomm = serial x transfer" : "");
    fprintf(out, scaling->weak
                     ? "computation: mean compute time of a rank in the smallest run, divided by that in this run\n"
                     : "computation: compute time of all ranks in the smallest run, divided by that in this run\n");
}

static void limit_print(const struct scaling *scaling, FILE *out)
{
    const struct scaling_row *first = &scaling->rows[0], *last = &scaling->rows[scaling->count - 1];
    enum scaling_factor limit = scaling_limit(scaling);
    if (last->factors[FACTOR_GLOBAL] < 0 || first->factors[FACTOR_GLOBAL] < 0)
        return;
    fprintf(out, "From %" PRIu32 " to %" PRIu32 " ranks the global efficiency goes from %.1f %% to %.1f %%.\n",
            first->median.ranks, last->median.ranks, first->factors[FACTOR_GLOBAL] * 100,
            last->factors[FACTOR_GLOBAL] * 100);
    if (limit != FACTOR_GLOBAL && last->factors[FACTOR_GLOBAL] < first->factors[FACTOR_GLOBAL])
        fprintf(out, "The %s loses most: from %.1f %% to %.1f %%.\n", factor_texts[limit].name,
                first->factors[limit] * 100, last->factors[limit] * 100);
}

static void scaling_doubt_print(const struct scaling *scaling, FILE *out)
{
    if (!scaling_is_doubtful(scaling))
        return;
    fprintf(out, "Together, the ranks of the largest run computed %.2f times as long as those of the smallest.\n",
            scaling_growth(scaling));
    fprintf(out, scaling->weak ? "If all runs had the same work, leave out --weak.\n"
                               : "If the work grew with the ranks, use --weak.\n");
}

void scaling_print(const struct scaling *scaling, FILE *out)
{
    fprintf(out, "%s scaling: %s\n\n", scaling->weak ? "Weak" : "Strong",
            scaling->weak ? "the work grows with the ranks" : "all runs have the same work (--weak: it grows)");
    fprintf(out, " ranks%s      time  speedup", has_sets(scaling) ? "  runs" : "");
    for (enum scaling_factor i = FACTOR_GLOBAL; i < FACTORS; i++)
        if (is_shown(scaling, i))
            fprintf(out, "%*s", factor_texts[i].columns, factor_texts[i].title);
    fputc('\n', out);
    for (size_t i = 0; i < scaling->count; i++)
        scaling_row_print(scaling, &scaling->rows[i], out);
    meaning_print(scaling, out);
    limit_print(scaling, out);
    scaling_doubt_print(scaling, out);
}
