#define _GNU_SOURCE
#include "dump/sampleview.h"

#include "archive/archive.h"
#include "profile/folded.h"
#include "base/interrupt.h"
#include "format/label.h"
#include "profile/otf2_samples.h"
#include "base/outputfile.h"
#include "profile/pprof.h"
#include "profile/profile.h"

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static size_t sampled_jobs(const struct run_dir *dir)
{
    size_t count = 0;
    for (size_t i = 0; i < dir->job_count; i++)
        count += run_job_has_samples(&dir->jobs[i]);
    if (!count)
        errx(1, "%s has no samples; mpit-run --sample HZ takes samples, in the ranks that --sample-ranks names",
             dir->path);
    return count;
}

/* All outputs have the same status and message if there are no samples, and leave no file. */
static const char nothing[] = "the selected part has no samples";

static void notes_print(const struct stacks *stacks)
{
    char note[SYMBOLS_NOTE_BYTES];
    for (size_t i = 0; symbols_note(stacks->symbols, i, note); i++)
        warnx("%s", note);
    if (stacks->lost)
        warnx("%" PRIu64 " samples were lost: their buffer was full", stacks->lost);
    if (stacks->damaged)
        warnx("the samples of %" PRIu64 " threads are damaged; all samples after the damage are left out",
              stacks->damaged);
}

void job_title_print(const struct run_dir *dir, size_t i)
{
    if (dir->job_count > 1)
        printf("%sjob %zu of %zu (%016" PRIx64 ")\n", i ? "\n" : "", i + 1, dir->job_count, dir->jobs[i].job);
}

static int failed_for(char error[OUTPUT_ERROR_BYTES], const char *text)
{
    snprintf(error, OUTPUT_ERROR_BYTES, "%s", text);
    return 1;
}

int sampleview_profile(const struct run_dir *dir, const struct sample_request *request)
{
    json_t *jobs = json_array();
    bool any = false;
    sampled_jobs(dir);
    for (size_t i = 0; i < dir->job_count; i++) {
        struct profile profile;
        json_t *json = NULL;
        if (!run_job_has_samples(&dir->jobs[i]))
            continue;
        if (profile_open(&profile, &dir->jobs[i], request->selection, request->internal) != 0)
            errx(1, "out of memory for the profile");
        if (!profile.sum.ns) {
            profile_release(&profile);
            continue;
        }
        if (!request->json)
            job_title_print(dir, i);
        if (request->json ? !(json = profile_json(&profile)) : profile_print(&profile, stdout) != 0)
            errx(1, "out of memory for the profile");
        any = true;
        if (json)
            json_array_append_new(jobs, json);
        profile_release(&profile);
    }
    if (!any)
        errx(1, "%s", nothing);
    if (!request->json) {
        json_decref(jobs);
        return 0;
    }
    json_t *document = json_pack("{s:i, s:s, s:o}", "version", 1, "mpit", MPIT_VERSION, "jobs", jobs);
    if (!document || json_dumpf(document, stdout, JSON_INDENT(2)) != 0 || putchar('\n') == EOF)
        err(1, "the profile cannot be written");
    json_decref(document);
    return 0;
}

int sampleview_folded(const struct run_dir *dir, const struct sample_request *request)
{
    char error[OUTPUT_ERROR_BYTES] = "";
    int failed = 0;
    uint64_t taken = 0;
    sampled_jobs(dir);
    FILE *out = output_file_open(request->target, error);
    if (!out)
        errx(1, "%s", error);
    for (size_t i = 0; i < dir->job_count && !failed; i++) {
        struct stacks stacks;
        char title[64] = "";
        if (dir->job_count > 1)
            snprintf(title, sizeof title, "job %zu, ", i + 1);
        failed = stacks_open(&stacks, &dir->jobs[i], request->selection, request->internal) != 0 ||
                 folded_write(&stacks, title, out) != 0;
        if (failed)
            snprintf(error, sizeof error, "out of memory for the folded stacks");
        else
            notes_print(&stacks);
        taken += stacks.taken;
        stacks_release(&stacks);
    }
    if (!failed && !taken)
        failed = failed_for(error, nothing);
    if (output_file_close(out, request->target, failed, error) != 0)
        errx(1, "%s", error);
    return 0;
}

/* Returns the only job with samples. `what` names the output, which has room for one job. */
static const struct run_job *sampled_job(const struct run_dir *dir, const char *what)
{
    const struct run_job *job = dir->jobs;
    if (sampled_jobs(dir) > 1)
        errx(1, "%s has samples of several jobs, but %s shows one; name a file of one job, or use --folded", dir->path,
             what);
    while (!run_job_has_samples(job))
        job++;
    return job;
}

int sampleview_flamegraph(const struct run_dir *dir, const struct sample_request *request)
{
    char error[OUTPUT_ERROR_BYTES] = "";
    struct profile profile;
    int failed = 0;
    const struct run_job *job = sampled_job(dir, "a flame graph");
    FILE *out = output_file_open(request->target, error);
    if (!out)
        errx(1, "%s", error);
    if (profile_open(&profile, job, request->selection, request->internal) != 0) {
        failed = failed_for(error, "out of memory for the flame graph");
    } else if (!profile.sum.ns) {
        failed = failed_for(error, nothing);
    } else {
        char program[sizeof job->files[0].header.program];
        label_clean(program, sizeof program, job->files[0].header.program, sizeof program);
        const char *slash = strrchr(program, '/');
        flamegraph_write(&profile, slash ? slash + 1 : program, out);
        notes_print(&profile.stacks);
    }
    profile_release(&profile);
    if (output_file_close(out, request->target, failed, error) != 0)
        errx(1, "%s", error);
    return 0;
}

int sampleview_pprof(const struct run_dir *dir, const struct sample_request *request)
{
    char error[OUTPUT_ERROR_BYTES] = "";
    struct stacks stacks;
    int failed = 0;
    const struct run_job *job = sampled_job(dir, "a profile for pprof");
    FILE *out = output_file_open(request->target, error);
    if (!out)
        errx(1, "%s", error);
    if (stacks_open(&stacks, job, request->selection, request->internal) != 0 || pprof_write(&stacks, out) != 0)
        failed = failed_for(error, "out of memory for the conversion of the samples");
    else if (!stacks.taken)
        failed = failed_for(error, nothing);
    else
        notes_print(&stacks);
    stacks_release(&stacks);
    if (output_file_close(out, request->target, failed, error) != 0)
        errx(1, "%s", error);
    return 0;
}

static int sample_see(void *data, const struct stack_sample *sample)
{
    (void)data;
    (void)sample;
    return 1;
}

/* With several jobs, the selection may leave out all of one. That job has no archive. */
static bool job_is_chosen(const struct run_job *job, const struct sample_request *request)
{
    struct stacks stacks;
    int seen = stacks_open(&stacks, job, request->selection, request->internal);
    if (seen == 0)
        seen = stacks_walk(&stacks, sample_see, NULL);
    stacks_release(&stacks);
    if (seen < 0)
        errx(1, "out of memory for the conversion of the samples");
    return seen > 0;
}

static int job_archive(const struct run_job *job, const struct sample_request *request, const char *path,
                       struct otf2_report *report)
{
    struct stacks stacks;
    int result = stacks_open(&stacks, job, request->selection, request->internal);
    if (result != 0)
        snprintf(report->error, sizeof report->error, "out of memory for the conversion of the samples");
    else
        result = otf2_samples_write(&stacks, path, report);
    if (result == 0)
        notes_print(&stacks);
    stacks_release(&stacks);
    return result;
}

int sampleview_otf2(const struct run_dir *dir, const struct sample_request *request)
{
    static struct otf2_report report;
    char error[512], path[PATH_MAX];
    size_t chosen = 0;
    int result = 0;
    bool several = sampled_jobs(dir) > 1;
    for (size_t i = 0; i < dir->job_count && several; i++)
        chosen += run_job_has_samples(&dir->jobs[i]) && job_is_chosen(&dir->jobs[i], request);
    if (several && !chosen)
        errx(1, "%s", nothing);
    if (archive_target_check(request->target, error) != 0)
        errx(1, "%s", error);
    if (several && mkdir(request->target, 0777) != 0)
        err(1, "%s cannot be created", request->target);
    for (size_t i = 0; i < dir->job_count && result == 0; i++) {
        if (!run_job_has_samples(&dir->jobs[i]) || (several && !job_is_chosen(&dir->jobs[i], request)))
            continue;
        int n = several ? snprintf(path, sizeof path, "%s/%016" PRIx64, request->target, dir->jobs[i].job)
                        : snprintf(path, sizeof path, "%s", request->target);
        if (n >= (int)sizeof path)
            errx(1, "the path of the archive is too long");
        result = job_archive(&dir->jobs[i], request, path, &report);
    }
    if (result != 0 && several)
        otf2_directory_remove(request->target);
    if (result != 0)
        warnx("%s", report.error);
    if (report.signal)
        interrupt_die(report.signal);
    return result != 0;
}
