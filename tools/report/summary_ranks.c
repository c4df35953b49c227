#define _GNU_SOURCE
#include "report/summary_ranks.h"

#include "base/array.h"
#include "base/units.h"
#include "job/jsonvalue.h"
#include "report/summary_openmp.h"
#include "summaryjson.h"

#include <stdlib.h>

enum { RANKS_SHOWN = 32 };

/* Files of versions before figures by rank have rows without any. So has a process without figures. */
static bool any_figures(const struct summary *summary)
{
    for (size_t i = 0; i < summary->row_count; i++)
        if (row_has_figures(&summary->rows[i]))
            return true;
    return false;
}

static void row_print(const struct summary *summary, const struct summary_row *row, FILE *out)
{
    char rank[UNIT_TEXT_BYTES], a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], d[UNIT_TEXT_BYTES],
        e[UNIT_TEXT_BYTES], f[UNIT_TEXT_BYTES];
    bool timed = summary->timed || summary->timed_mixed;
    text_of_rank(rank, row->rank);
    if (!row_has_figures(row)) {
        fprintf(out, "  %6s %9s %9s %9s %9s %10s %9s  %s\n", rank, "-", "-", "-", "-", "-", "-",
                summary->hosts[row->host].name);
        return;
    }
    fprintf(out, "  %6s %9s %9s %9s %9s %10s %9s  %s\n", rank, text_of_ns(a, row->run_ns),
            timed ? text_of_ns(b, row->useful_ns) : "-", timed ? text_of_ns(c, row->mpi_ns) : "-",
            timed && summary->stall_known ? text_of_ns(d, row->stall_ns) : "-", text_of_count(e, row->sent),
            text_of_bytes(f, row->sent_bytes), summary->hosts[row->host].name);
}

/* The rank that has waited most is beside the rank that it waited for. */
static int by_useful(const void *one, const void *other)
{
    const struct summary_row *a = *(const struct summary_row *const *)one,
                             *b = *(const struct summary_row *const *)other;
    return ORDER(b->useful_ns, a->useful_ns) ?: ORDER(a, b);
}

void summary_ranks_print(const struct summary *summary, FILE *out)
{
    const struct summary_row **order = calloc(summary->row_count + 1, sizeof *order);
    size_t count = summary->row_count, half = RANKS_SHOWN / 2;
    if (!order || !any_figures(summary)) {
        free(order);
        return;
    }
    for (size_t i = 0; i < count; i++)
        order[i] = &summary->rows[i];
    if (count > RANKS_SHOWN)
        qsort(order, count, sizeof *order, by_useful);
    fprintf(out, "\nRanks%s\n  %6s %9s %9s %9s %9s %10s %9s  %s\n",
            count > RANKS_SHOWN ? " with the most and the least time outside of MPI" : "", "rank", "run", "not MPI",
            "MPI", "stalled", "messages", "sent", "host");
    for (size_t i = 0; i < count; i++) {
        if (count > RANKS_SHOWN && i == half) {
            i = count - half;
            fprintf(out, "  ...\n");
        }
        row_print(summary, order[i], out);
    }
    free(order);
}

void summary_efficiency_print(const struct summary *summary, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES];
    struct efficiency is = summary_efficiency(summary);
    const char *reason = is.known ? NULL : efficiency_obstacle(summary);
    if (reason)
        fprintf(out, "  efficiency unknown: %s\n", reason);
    if (is.threaded) {
        fprintf(out, "  efficiency %s = MPI %s x OpenMP %s\n", text_of_share(a, is.parallel, 1),
                text_of_share(b, is.mpi, 1), text_of_share(c, is.openmp, 1));
        fprintf(out, "             OpenMP = serial %s x balance %s x scheduling %s\n",
                text_of_share(a, is.openmp_serial, 1), text_of_share(b, is.openmp_balance, 1),
                text_of_share(c, is.openmp_scheduling, 1));
    }
    const char *alone = "";
    for (size_t i = 0; i < summary->row_count && !is.threaded; i++)
        alone = cores_used_of(summary, &summary->rows[i]).most > 0 ? " (MPI alone)" : alone;
    if (is.threaded)
        fprintf(out, "             MPI = load balance %s x communication %s\n", text_of_share(a, is.load_balance, 1),
                text_of_share(b, is.communication, 1));
    else if (is.known)
        fprintf(out, "  efficiency %s%s = load balance %s x communication %s\n", text_of_share(a, is.parallel, 1),
                alone, text_of_share(b, is.load_balance, 1), text_of_share(c, is.communication, 1));
    if (is.split)
        fprintf(out, "             communication = serialization %s x transfer %s\n",
                text_of_share(a, is.serialization, 1), text_of_share(b, is.transfer, 1));
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static json_t *row_json(const struct summary *summary, const struct summary_row *row)
{
    const struct summary_known known = summary_known_of_row(summary, row);
    json_t *json = json_object();
    summary_row_json_add(json, row, &known);
    if (row->rank >= 0)
        json_object_set_new(json, "rank", json_integer(row->rank));
    json_object_set_new(json, "cores_used", cores_used_json(summary, row));
    json_object_set_new(json, "host", json_string(summary->hosts[row->host].name));
    if (known.placed)
        json_object_set_new(json, "better_host", json_string(summary->hosts[row->better_host].name));
    return json;
}

json_t *summary_ranks_json(const struct summary *summary)
{
    return any_figures(summary) ? JSON_LIST(i, summary->row_count, row_json(summary, &summary->rows[i])) : json_null();
}

static json_t *known_figure_json(bool known, double figure)
{
    return known ? figure_json(figure) : json_null();
}

/* Serialization and transfer need a trace. */
json_t *efficiency_json(const struct efficiency *is)
{
    json_t *json = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "parallel", known_figure_json(is->known, is->parallel), "load_balance",
        known_figure_json(is->known, is->load_balance), "load_balance_in_node",
        known_figure_json(is->known, is->load_balance_in_node), "load_balance_between_nodes",
        known_figure_json(is->known, is->load_balance_between_nodes), "communication",
        known_figure_json(is->known, is->communication), "serialization",
        known_figure_json(is->split, is->serialization), "transfer", known_figure_json(is->split, is->transfer));
    json_object_set_new(json, "mpi", known_figure_json(is->known, is->mpi));
    json_object_set_new(json, "openmp", known_figure_json(is->threaded, is->openmp));
    json_object_set_new(json, "openmp_serial", known_figure_json(is->threaded, is->openmp_serial));
    json_object_set_new(json, "openmp_balance", known_figure_json(is->threaded, is->openmp_balance));
    json_object_set_new(json, "openmp_scheduling", known_figure_json(is->threaded, is->openmp_scheduling));
    return json;
}

json_t *summary_efficiency_json(const struct summary *summary)
{
    struct efficiency is = summary_efficiency(summary);
    return efficiency_json(&is);
}
