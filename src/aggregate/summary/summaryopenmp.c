#include "summary/summaryopenmp.h"

#include "base/number.h"
#include "reader/reader.h"
#include "summary/summarysites.h"

#include <stdlib.h>

/* What may be missing: a region that was open at the end of a killed process is not counted, and its last ones may be behind the end of
 * its run time. */
enum { MISSING_PARTS = 100 };

static bool openmp_is_whole(const struct summary *summary, const struct run_openmp *openmp, struct clock_scale scale,
                            uint64_t end_ticks)
{
    const struct summary_row *row = &summary->rows[0];
    uint64_t open = openmp->open_ticks && end_ticks > openmp->open_ticks ? end_ticks - openmp->open_ticks : 0;
    uint64_t parallel = clock_ns(scale, openmp->parallel_ticks), missing = row->run_ns / MISSING_PARTS;
    bool timed = summary->timed && !summary->timed_mixed && !summary->filter[0] && !row->off_ns;
    /* MPI of threads that are in no team would count as MPI of the thread that computes alone */
    bool own = row->threads <= openmp->threads;
    return openmp->threads && openmp->threads <= UINT16_MAX && !openmp->left_out && timed && own &&
           clock_ns(scale, open) <= missing && parallel <= row->run_ns + missing;
}

/* Any number may come from a damaged file. */
static struct row_openmp openmp_row_of(const struct summary_row *row, const struct run_openmp *openmp,
                                       struct clock_scale scale)
{
    struct row_openmp is = {.threads = openmp->threads,
                            .regions = openmp->regions,
                            .parallel_ns = clock_ns(scale, openmp->parallel_ticks),
                            .mpi_ns = clock_ns(scale, openmp->mpi_ticks),
                            .imbalance_ns = clock_ns(scale, openmp->imbalance_ticks),
                            .overhead_ns = clock_ns(scale, openmp->overhead_ticks)};
    uint64_t alone = less(less(row->run_ns, is.parallel_ns), less(row->mpi_ns, is.mpi_ns));
    uint64_t teams = clock_ns(scale, openmp->team_ticks);
    is.useful_ns = clock_ns(scale, openmp->useful_ticks) + alone;
    is.serial_ns = (is.threads - 1) * alone + less(is.threads * is.parallel_ns, teams);
    return is;
}

/* `path` has room for a frame. */
static int parallel_append(struct summary_sites *sites, const struct run_reader *run,
                           const struct openmp_region *region, struct path_record *path, uint32_t *known)
{
    struct clock_scale scale = run_reader_scale(run);
    path->kind = CALL_COUNT;
    path->frames = region->frame ? 1 : 0;
    path->frame[0] = region->frame;
    struct summary_site *site = summary_path_append(sites, run, path, known);
    if (!site)
        return -1;
    site->kind = CALL_NONE;
    site->hash = region->frame ? site->hash : SITE_OTHERS;
    site->count = region->count;
    site->time_ns = clock_ns(scale, region->ticks);
    site->stall_ns = clock_ns(scale, region->imbalance_ticks);
    site->overhead_ns = clock_ns(scale, region->overhead_ticks);
    site->serial_ns = clock_ns(scale, region->serial_ticks);
    site->least_rank = site->most_rank = -1;
    return 0;
}

int summary_openmp_fill(struct summary *summary, const struct run_reader *run, uint64_t end_ticks)
{
    const struct run_openmp *openmp = run_reader_openmp(run);
    struct clock_scale scale = run_reader_scale(run);
    struct summary_row *row = &summary->rows[0];
    if (!openmp || !openmp_is_whole(summary, openmp, scale, end_ticks))
        return 0;
    uint32_t *known = calloc(PATH_MODULES_MOST, sizeof *known);
    struct path_record *path = calloc(1, sizeof *path + sizeof path->frame[0]);
    int result = known && path ? 0 : -1;
    row->openmp = openmp_row_of(row, openmp, scale);
    const struct row_openmp *is = &row->openmp;
    row->useful_ns = (is->useful_ns + is->serial_ns + is->imbalance_ns + is->overhead_ns) / is->threads;
    for (unsigned i = 0; result == 0 && i < OPENMP_REGIONS; i++)
        if (openmp->region[i].count || openmp->region[i].serial_ticks)
            result = parallel_append(&summary->parallel, run, &openmp->region[i], path, known);
    summary_sites_sort(&summary->parallel);
    free(path);
    free(known);
    return result;
}

struct openmp_sums summary_openmp_sums(const struct summary *summary)
{
    struct openmp_sums sums = {0};
    for (size_t i = 0; i < summary->row_count; i++) {
        const struct summary_row *row = &summary->rows[i];
        const struct row_openmp *is = &row->openmp;
        if (!row->threads)
            continue;
        sums.processes++;
        sums.threads += is->threads ? (double)is->threads : 1;
        sums.useful += (double)(is->threads ? is->useful_ns : row->useful_ns) * 1e-9;
        sums.serial += (double)is->serial_ns * 1e-9;
        sums.imbalance += (double)is->imbalance_ns * 1e-9;
        sums.overhead += (double)is->overhead_ns * 1e-9;
    }
    sums.outside = sums.useful + sums.serial + sums.imbalance + sums.overhead;
    return sums;
}
