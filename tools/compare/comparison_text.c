#include "compare/comparison.h"

#include "base/units.h"

#include <inttypes.h>
#include <string.h>

enum { LINES_MOST = 10, NAME_COLUMNS = 40 };

static const char *percent_text(char text[UNIT_TEXT_BYTES], double old, double new)
{
    if (old > 0)
        snprintf(text, UNIT_TEXT_BYTES, "%+.1f %%", (new - old) / old * 100);
    else
        snprintf(text, UNIT_TEXT_BYTES, "%s", new > 0 ? "new" : "-");
    return text;
}

static void name_print(const char *name, FILE *out)
{
    if (strlen(name) > NAME_COLUMNS) /* complete, on a line of its own */
        fprintf(out, "  %s\n  %-*s", name, NAME_COLUMNS, "");
    else
        fprintf(out, "  %-*s", NAME_COLUMNS, name);
}

static void time_print(const struct comparison_row *row, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES];
    double old = row->sets[0][VALUE_TIME].median, new = row->sets[1][VALUE_TIME].median;
    name_print(row->name, out);
    fprintf(out, " %9s -> %9s  %9s\n", text_of_seconds(a, old), text_of_seconds(b, new), percent_text(c, old, new));
}

static void count_print(const struct comparison_row *row, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES];
    const struct compared_set *old = row->sets[0], *new = row->sets[1];
    name_print(row->kind == COMPARED_RUN ? "messages of all" : row->name, out);
    fprintf(out, " %9s -> %9s  %9s", text_of_count(a, (uint64_t)old[VALUE_COUNT].median),
            text_of_count(b, (uint64_t) new[VALUE_COUNT].median),
            percent_text(c, old[VALUE_COUNT].median, new[VALUE_COUNT].median));
    if (old[VALUE_BYTES].median != new[VALUE_BYTES].median)
        fprintf(out, "  %s -> %s", text_of_bytes(a, (uint64_t)old[VALUE_BYTES].median),
                text_of_bytes(b, (uint64_t) new[VALUE_BYTES].median));
    fputc('\n', out);
}

static void share_change_print(const struct comparison_row *row, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
    text_of_share(a, row->sets[0][VALUE_TIME].median, 1);
    text_of_share(b, row->sets[1][VALUE_TIME].median, 1);
    if (row->kind == COMPARED_FINDING)
        fprintf(out, "  %-8s %7s -> %7s  %s\n", comparison_finding_word(row), a, b, row->name);
    else
        fprintf(out, "  %-25s %7s -> %7s\n", row->name, a, b);
}

/* Efficiencies first, then what stands out in one of the sets. */
static void shares_print(const struct comparison *comparison, FILE *out)
{
    for (enum comparison_kind kind = COMPARED_TIMED; kind < COMPARED_KINDS; kind++) {
        bool titled = kind != COMPARED_FINDING;
        for (size_t i = 0; i < comparison->count; i++) {
            if (comparison->rows[i].kind != kind)
                continue;
            if (!titled)
                fprintf(out, "What stands out, of the run\n");
            titled = true;
            share_change_print(&comparison->rows[i], out);
        }
    }
}

void comparison_head_print(const struct comparison *comparison, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], d[UNIT_TEXT_BYTES];
    const struct comparison_row *run = comparison_run(comparison);
    const struct compared_set *old = &run->sets[0][VALUE_TIME], *new = &run->sets[1][VALUE_TIME];
    bool differs = comparison_time_differs(comparison, run), several = comparison->runs[0] + comparison->runs[1] > 2;
    if (comparison_ranks_differ(comparison))
        fprintf(out,
                "The runs have different numbers of ranks (%" PRIu32 " to %" PRIu32 "): times and counts cannot be "
                "compared directly. Use --scaling\n",
                comparison->least_ranks, comparison->most_ranks);
    fprintf(out, "run time %s -> %s (%s): ", text_of_seconds(a, old->median), text_of_seconds(b, new->median),
            percent_text(c, old->median, new->median));
    if (comparison->programs[0])
        fprintf(out, "no verdict, as these are different programs (%s, %s)\n", comparison->programs[0],
                comparison->programs[1]);
    else
        fprintf(out, "%s\n",
                !differs                    ? "no difference beyond the noise"
                : new->median < old->median ? "faster"
                                            : "slower");
    if (several)
        fprintf(out, "  medians of %u and %u runs: %s to %s, and %s to %s\n", comparison->runs[0], comparison->runs[1],
                text_of_seconds(a, old->least), text_of_seconds(b, old->most), text_of_seconds(c, new->least),
                text_of_seconds(d, new->most));
    shares_print(comparison, out);
}

static bool counts_are_shown(const struct comparison *comparison, const struct comparison_row *row)
{
    (void)comparison;
    return comparison_counts_differ(row);
}

/* Prints the first rows of two kinds that differ. Returns whether there are some. */
static bool rows_print(const struct comparison *comparison, enum comparison_kind kind, enum comparison_kind other,
                       bool (*differs)(const struct comparison *, const struct comparison_row *),
                       void (*print)(const struct comparison_row *, FILE *), const char *title, FILE *out)
{
    size_t found = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        const struct comparison_row *row = &comparison->rows[i];
        if ((row->kind != kind && row->kind != other) || !differs(comparison, row))
            continue;
        if (!found)
            fprintf(out, "\n%s\n", title);
        if (found++ < LINES_MOST)
            print(row, out);
    }
    if (found > LINES_MOST)
        fprintf(out, "  %zu more: --json\n", found - LINES_MOST);
    return found > 0;
}

void comparison_print(const struct comparison *comparison, FILE *out)
{
    static const struct {
        enum comparison_kind kind;
        const char *title;
    } times[] = {{COMPARED_SITE, "Call sites whose time changed, over all ranks"},
                 {COMPARED_RANK, "Ranks whose time outside of MPI changed"},
                 {COMPARED_COMM, "Communicators whose time changed, over all ranks"}};
    comparison_head_print(comparison, out);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        rows_print(comparison, times[i].kind, times[i].kind, comparison_time_differs, time_print, times[i].title, out);
    if (!rows_print(comparison, COMPARED_RUN, COMPARED_SITE, counts_are_shown, count_print,
                    "Counts that differ: calls, or messages", out))
        fprintf(out, "\nCalls, messages and bytes are the same everywhere.\n");
}
