#define _GNU_SOURCE
#include "report/summary_phases.h"

#include "base/units.h"
#include "job/jsonvalue.h"
#include "summaryjson.h"
#include "report/summary_head.h"
#include "report/summary_ranks.h"
#include "summary/efficiency.h"
#include "summary/summaryphases.h"

#include <inttypes.h>
#include <string.h>

enum { PHASE_COLUMNS = 24, RANK_TEXT_BYTES = UNIT_TEXT_BYTES + 16 };

/* A phase over its ranks. Times are seconds. */
struct phase_figures {
    const struct summary_phase *first; /* of `ranks` lines */
    size_t ranks;
    uint64_t count, calls;
    struct summary_spread recorded, mpi, stalled;
    double off;
    struct efficiency efficiency;
};

/* The phase whose lines begin at place `at`. */
static struct phase_figures phase_at(const struct summary *summary, size_t at)
{
    struct phase_figures is = {.first = &summary->phases[at]};
    is.ranks = summary_phase_lines(summary, at);
    for (size_t i = 0; i < is.ranks; i++) {
        const struct summary_phase *phase = &is.first[i];
        summary_spread_add(&is.recorded, (double)phase_recorded_ns(phase) * 1e-9, phase->rank, i == 0);
        summary_spread_add(&is.mpi, (double)phase->mpi_ns * 1e-9, phase->rank, i == 0);
        summary_spread_add(&is.stalled, (double)phase->stall_ns * 1e-9, phase->rank, i == 0);
        is.off += (double)phase->off_ns * 1e-9;
        is.count += phase->count;
        is.calls += phase->calls;
    }
    is.efficiency = summary_phase_efficiency(summary, is.first, is.ranks);
    return is;
}

static const char *phase_extreme_text(char text[RANK_TEXT_BYTES], double seconds, int32_t rank)
{
    char figure[UNIT_TEXT_BYTES];
    snprintf(text, RANK_TEXT_BYTES, "%s (%" PRId32 ")", text_of_seconds(figure, seconds), rank);
    return text;
}

static void phase_print(const struct summary *summary, const struct phase_figures *is, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], d[UNIT_TEXT_BYTES], e[UNIT_TEXT_BYTES],
        f[UNIT_TEXT_BYTES], g[UNIT_TEXT_BYTES], least[RANK_TEXT_BYTES], most[RANK_TEXT_BYTES];
    bool timed = !summary_is_never_timed(summary);
    const char *name = is->first->name;
    if (strlen(name) > PHASE_COLUMNS) { /* complete, on a line of its own */
        fprintf(out, "  %s\n", name);
        name = "";
    }
    fprintf(out, "  %-*s %6zu %10s %9s %14s %14s %8s %8s %10s %8s %12s\n", PHASE_COLUMNS, name, is->ranks,
            text_of_count(a, is->count), text_of_seconds(b, is->recorded.sum / (double)is->ranks),
            phase_extreme_text(least, is->recorded.min, is->recorded.min_rank),
            phase_extreme_text(most, is->recorded.max, is->recorded.max_rank),
            timed ? text_of_share(c, is->mpi.sum, is->recorded.sum) : "-",
            timed && summary->stall_known ? text_of_share(d, is->stalled.sum, is->mpi.sum) : "-",
            is->efficiency.known ? text_of_share(f, is->efficiency.parallel, 1) : "-",
            is->efficiency.known ? text_of_share(g, is->efficiency.load_balance, 1) : "-", text_of_count(e, is->calls));
}

/* Phases, or regions. */
void summary_phases_print(const struct summary *summary, bool regions, FILE *out)
{
    struct phase_figures is;
    bool titled = false;
    for (size_t at = 0; at < summary->phase_count; at += is.ranks) {
        is = phase_at(summary, at);
        if (is.first->region != regions || (regions && !is.calls))
            continue;
        if (!titled)
            fprintf(out,
                    "\n%s, of the threads that were in them\n  %-*s %6s %10s %9s %14s %14s %8s %8s %10s %8s %12s\n",
                    regions ? "Regions of the program and its libraries with MPI in them" : "Phases of MPI_Pcontrol",
                    PHASE_COLUMNS, "", "ranks", "times", "mean", "least (rank)", "most (rank)", "in MPI", "stalled",
                    "efficiency", "balance", "MPI calls");
        titled = true;
        phase_print(summary, &is, out);
    }
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static json_t *phase_spread_json(bool known, const struct summary_spread *spread, size_t ranks)
{
    if (!known)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:i, s:i}", "mean", figure_json(spread->sum / (double)ranks), "min",
                     figure_json(spread->min), "max", figure_json(spread->max), "min_rank", (int)spread->min_rank,
                     "max_rank", (int)spread->max_rank);
}

static json_t *rank_json(const struct summary *summary, const struct summary_phase *phase)
{
    const struct summary_known known = summary_known_of(summary, CALL_NONE);
    json_t *json = json_object();
    summary_phase_json_add(json, phase, &known);
    if (phase->rank >= 0)
        json_object_set_new(json, "rank", json_integer(phase->rank));
    return json;
}

static json_t *phase_json(const struct summary *summary, const struct phase_figures *is)
{
    bool timed = !summary_is_never_timed(summary);
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", text_json(is->first->name), "ranks",
                     count_json(is->ranks), "count", count_json(is->count), "calls", count_json(is->calls),
                     "recorded_seconds", phase_spread_json(true, &is->recorded, is->ranks), "off_seconds",
                     figure_json(is->off), "mpi_seconds", phase_spread_json(timed, &is->mpi, is->ranks),
                     "stalled_seconds", phase_spread_json(timed && summary->stall_known, &is->stalled, is->ranks),
                     "efficiency", efficiency_json(&is->efficiency), "by_rank",
                     JSON_LIST(i, is->ranks, rank_json(summary, is->first + i)));
}

json_t *summary_phases_json(const struct summary *summary, bool regions)
{
    json_t *list = json_array();
    struct phase_figures is;
    for (size_t at = 0; at < summary->phase_count; at += is.ranks) {
        is = phase_at(summary, at);
        if (is.first->region == regions)
            json_array_append_new(list, phase_json(summary, &is));
    }
    return list;
}
