#include "compare/compared.h"

#include "cures/tracefigures.h"
#include "base/options.h"
#include "base/outputfile.h"
#include "compare/comparison.h"
#include "format/label.h"
#include "job/jsonvalue.h"
#include "findings/findings.h"

#include <err.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Times of a run whose ranks had no processor when they wanted one are not the program's alone. */
static void blur_tell(const struct summary *summary, const char *path)
{
    struct findings findings;
    findings_find(&findings, summary);
    if (findings.lack[0])
        warnx("note: %s: %.*s Its times may be longer for that.", path, findings.lack_fact, findings.lack);
}

const struct summary *compared_open(struct run_dir *dir, const char *path)
{
    char error[512];
    int opened = run_dir_open(dir, path, error);
    for (size_t i = 0; i < dir->problem_count; i++)
        warnx("%s", dir->problems[i]);
    if (opened != 0)
        errx(1, "%s", error);
    if (dir->job_count != 1 || !dir->jobs[0].summary)
        errx(1, "%s has %zu jobs, but must have one: put each job into a directory of its own, or name its job file",
             path, dir->job_count);
    trace_figures_fill(dir);
    blur_tell(dir->jobs[0].summary, path);
    return dir->jobs[0].summary;
}

static int limits_judge(const struct comparison *comparison, const struct diff_request *request)
{
    int status = 0;
    char reason[LIMIT_REASON_BYTES];
    for (unsigned i = 0; i < request->limit_count; i++) {
        int broken = comparison_judge(comparison, request->limits[i], reason);
        if (broken < 0)
            errx(EXIT_USAGE, "--fail: %s", reason);
        if (broken)
            warnx("limit broken: %s", reason);
        status = broken ? EXIT_LIMIT : status;
    }
    return status;
}

int diff_run(const struct diff_request *request)
{
    unsigned all = request->old + request->new;
    struct run_dir *dirs = calloc(all, sizeof *dirs);
    const struct summary **summaries = calloc(all, sizeof *summaries);
    struct comparison comparison = {.count = 0};
    if (!dirs || !summaries)
        err(1, "no memory");
    for (unsigned i = 0; i < all; i++)
        summaries[i] = compared_open(&dirs[i], request->runs[i]);
    if (comparison_make(&comparison, summaries, request->old, request->new) != 0)
        err(1, "no memory");
    int status = limits_judge(&comparison, request);
    if (request->page) {
        if (comparison_page(&comparison, request->runs, request->page) != 0)
            exit(1);
        output_say(request->page);
    } else if (request->json) {
        json_show(comparison_json(&comparison), 12, "the comparison");
    } else {
        comparison_print(&comparison, stdout);
    }
    comparison_release(&comparison);
    for (unsigned i = 0; i < all; i++)
        run_dir_close(&dirs[i]);
    free(dirs);
    free(summaries);
    return status;
}

json_t *run_names_json(char *const *runs, unsigned count)
{
    char name[PATH_MAX];
    json_t *names = json_array();
    for (unsigned i = 0; i < count; i++) {
        label_clean(name, sizeof name, runs[i], strlen(runs[i]));
        json_array_append_new(names, json_string(name));
    }
    return names;
}
