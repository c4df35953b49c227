#include "compare/scaledruns.h"

#include "base/outputfile.h"
#include "compare/compared.h"
#include "compare/scaling.h"
#include "job/jsonvalue.h"
#include "page/page.h"
#include "report/summary_ranks.h"
#include "summary/efficiency.h"

#include <err.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Runs that differ in more than their ranks. */
static void difference_tell(const struct summary *first, const char *first_path, const struct summary *other,
                            const char *path)
{
    if (strcmp(basename(first->program), basename(other->program)) != 0)
        errx(1, "the runs are of different programs: %s has %s, %s has %s", first_path, basename(first->program), path,
             basename(other->program));
    if (strcmp(first->mpi, other->mpi) != 0)
        warnx("the runs are of different MPI libraries: %s has %s, %s has %s", first_path, first->mpi, path,
              other->mpi);
}

static void incomplete_tell(const struct summary *summary, const char *path)
{
    if (summary->ranks < summary->world_size)
        warnx("%s: %" PRIu32 " of %" PRIu32 " ranks are missing; its figures are of the others", path,
              summary->world_size - summary->ranks, summary->world_size);
    if (summary->ended_badly)
        warnx("%s: %" PRIu32 " ranks did not reach MPI_Finalize; their figures end earlier", path,
              summary->ended_badly);
    if (!summary_efficiency(summary).known)
        warnx("%s: its efficiencies are not known (calls were filtered, not timed or not recorded)", path);
}

/* The time on a network that takes no time, as the summary tells it. */
static double ideal_of(const struct summary *summary, double max)
{
    json_t *json = summary_efficiency_json(summary);
    double serialization = json_number_value(json_object_get(json, "serialization"));
    json_decref(json);
    return serialization > 0 ? max / serialization : -1;
}

static struct scaling_run run_figures_of(const struct summary *summary)
{
    struct efficiency is = summary_efficiency(summary);
    struct scaling_run run = {
        .ranks = summary->world_size, .seconds = summary->run_seconds.max, .mean = -1, .max = -1, .ideal = -1};
    if (!is.known)
        return run;
    run.seconds = is.run;
    run.mean = is.mean;
    run.max = is.max;
    run.ideal = ideal_of(summary, is.max);
    return run;
}

static int scaling_show(const struct scaling *scaling, const struct scaling_request *request)
{
    if (request->page) {
        json_t *document = json_pack("{s:s, s:o, s:o}", "mpit", MPIT_VERSION, "runs",
                                     run_names_json(request->runs, request->count), "scaling", scaling_json(scaling));
        int status = page_write_document(document, request->page);
        if (status == 0)
            output_say(request->page);
        return status;
    }
    if (request->json)
        json_show(scaling_json(scaling), 12, "the scaling");
    else
        scaling_print(scaling, stdout);
    return 0;
}

int scaling_run(const struct scaling_request *request)
{
    struct run_dir *dirs = calloc(request->count, sizeof *dirs);
    struct scaling_run *runs = calloc(request->count, sizeof *runs);
    const struct summary *first = NULL;
    struct scaling scaling;
    if (!dirs || !runs)
        err(1, "no memory");
    for (unsigned i = 0; i < request->count; i++) {
        const struct summary *summary = compared_open(&dirs[i], request->runs[i]);
        if (!summary->world_size || !(summary->run_seconds.max > 0))
            errx(1, "%s: its number of ranks or its run time is not known", request->runs[i]);
        first = first ? first : summary;
        difference_tell(first, request->runs[0], summary, request->runs[i]);
        incomplete_tell(summary, request->runs[i]);
        runs[i] = run_figures_of(summary);
    }
    if (scaling_make(&scaling, runs, request->count, request->weak) != 0)
        err(1, "no memory");
    if (scaling.count < 2)
        errx(1,
             "all runs have %" PRIu32 " ranks; --scaling needs runs with different numbers of ranks, and --diff "
             "compares runs with equal ones",
             scaling.rows[0].median.ranks);
    int status = scaling_show(&scaling, request);
    scaling_release(&scaling);
    for (unsigned i = 0; i < request->count; i++)
        run_dir_close(&dirs[i]);
    free(dirs);
    free(runs);
    return status;
}
