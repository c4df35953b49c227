#define _GNU_SOURCE
#include "report/summary_openmp.h"

#include "base/array.h"
#include "base/units.h"
#include "job/jsonvalue.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { REGIONS_SHOWN = 10 };

const char *parallel_place_text(const struct summary *summary, const struct summary_site *site,
                                char text[SITE_PLACE_BYTES])
{
    if (!site->frame_count)
        return strcpy(text, "(other places)");
    return frame_place_text(&summary->parallel, &summary->parallel.frames[site->first_frame], text);
}

/* ---- cores used -------------------------------------------------------------------------------------------------- */

struct cores_used cores_used_of(const struct summary *summary, const struct summary_row *row)
{
    struct cores_used used = {0, 0};
    double outside = (double)row->useful_ns, helpers = (double)row->usage.helper_ns;
    double all = (double)row->usage.user_ns + (double)row->usage.system_ns;
    bool known = row->usage.known & USAGE_DELAY && row->usage.helpers && row->threads == 1 && !row->off_ns;
    if (!known || row->openmp.threads || !summary->timed || summary->timed_mixed || outside <= 0)
        return used;
    double main = all > helpers ? all - helpers : 0, mpi = (double)row->mpi_ns;
    used.least = (helpers + (main > mpi ? main - mpi : 0)) / outside;
    used.most = (helpers + (main < outside ? main : outside)) / outside;
    used.most = used.most > used.least ? used.most : used.least;
    return used;
}

json_t *cores_used_json(const struct summary *summary, const struct summary_row *row)
{
    struct cores_used used = cores_used_of(summary, row);
    return used.most > 0 ? json_pack("{s:o, s:o}", "least", figure_json(used.least), "most", figure_json(used.most))
                         : json_null();
}

/* Of the rank that used most. */
static void cores_print(const struct summary *summary, FILE *out)
{
    const struct summary_row *most = NULL;
    struct cores_used used = {0, 0};
    for (size_t i = 0; i < summary->row_count; i++) {
        struct cores_used is = cores_used_of(summary, &summary->rows[i]);
        if (is.most > used.most) {
            used = is;
            most = &summary->rows[i];
        }
    }
    if (!most)
        return;
    fprintf(out, "  cores used %.2f", used.least);
    if (used.most - used.least > 0.02 * used.most)
        fprintf(out, " to %.2f", used.most);
    fprintf(out,
            " between calls of MPI, at most (rank %" PRId32 " with %" PRIu64 " threads, which may run on %" PRIu32
            ")\n",
            most->rank, most->usage.helpers + 1, most->processors);
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

/* Thread time that others do not use because of the region. What is serial after it counts as well. */
static uint64_t lost_of(const struct summary_site *site)
{
    return site->stall_ns + site->overhead_ns + site->serial_ns;
}

static int by_loss(const void *one, const void *other)
{
    const struct summary_site *a = *(const struct summary_site *const *)one,
                              *b = *(const struct summary_site *const *)other;
    return ORDER(lost_of(b), lost_of(a)) ?: ORDER(a->hash, b->hash);
}

static const struct summary_site **parallel_by_loss(const struct summary *summary)
{
    const struct summary_site **order = calloc(summary->parallel.count + 1, sizeof *order);
    for (uint64_t i = 0; order && i < summary->parallel.count; i++)
        order[i] = &summary->parallel.list[i];
    if (order)
        qsort(order, summary->parallel.count, sizeof *order, by_loss);
    return order;
}

static void parallel_print(const struct summary *summary, FILE *out)
{
    const struct summary_site **order = parallel_by_loss(summary);
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], d[UNIT_TEXT_BYTES], e[UNIT_TEXT_BYTES],
        place[SITE_PLACE_BYTES];
    if (order && summary->parallel.count)
        fprintf(out,
                "  Parallel regions, sums over all ranks. Imbalance and overhead are idle time of threads\n"
                "  %10s %9s %10s %9s %12s\n",
                "entered", "time", "imbalance", "overhead", "serial after");
    for (uint64_t i = 0; order && i < summary->parallel.count && i < REGIONS_SHOWN; i++)
        fprintf(out, "  %10s %9s %10s %9s %12s  %s\n", text_of_count(a, order[i]->count),
                text_of_ns(b, order[i]->time_ns), text_of_ns(c, order[i]->stall_ns),
                text_of_ns(d, order[i]->overhead_ns), text_of_ns(e, order[i]->serial_ns),
                parallel_place_text(summary, order[i], place));
    free(order);
}

static void threads_print(const struct summary *summary, FILE *out)
{
    struct openmp_sums sums = summary_openmp_sums(summary);
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], d[UNIT_TEXT_BYTES];
    fprintf(out,
            "  threads    %.0f on %.0f ranks; of their time outside of MPI: %s useful,\n"
            "             idle %s in serial parts, %s by imbalance, %s by overhead\n",
            sums.threads, sums.processes, text_of_share(a, sums.useful, sums.outside),
            text_of_share(b, sums.serial, sums.outside), text_of_share(c, sums.imbalance, sums.outside),
            text_of_share(d, sums.overhead, sums.outside));
}

void summary_openmp_print(const struct summary *summary, FILE *out)
{
    bool openmp = false, cores = false;
    for (size_t i = 0; i < summary->row_count; i++) {
        openmp |= summary->rows[i].openmp.threads > 0;
        cores |= cores_used_of(summary, &summary->rows[i]).most > 0;
    }
    if (openmp || cores)
        fprintf(out, "\nThreads%s\n", openmp ? " of OpenMP" : "");
    if (openmp)
        threads_print(summary, out);
    if (cores)
        cores_print(summary, out);
    if (openmp)
        parallel_print(summary, out);
}

json_t *summary_parallel_json(const struct summary *summary)
{
    const struct summary_site **order = parallel_by_loss(summary);
    json_t *list = json_array();
    for (uint64_t i = 0; order && i < summary->parallel.count; i++) {
        const struct summary_site *site = order[i];
        const struct summary_frame *frame = site->frame_count ? &summary->parallel.frames[site->first_frame] : NULL;
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "count", count_json(site->count), "time_ns",
                            count_json(site->time_ns), "imbalance_ns", count_json(site->stall_ns), "overhead_ns",
                            count_json(site->overhead_ns), "serial_after_ns", count_json(site->serial_ns), "function",
                            text_json(frame ? summary_text(&summary->parallel, frame->function) : NULL), "file",
                            text_json(frame ? summary_text(&summary->parallel, frame->file) : NULL), "line",
                            known_count_json(frame && frame->line, frame ? frame->line : 0)));
    }
    free(order);
    return list;
}
