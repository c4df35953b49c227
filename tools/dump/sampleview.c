#include "dump/sampleview.h"

#include "base/outputfile.h"
#include "job/jsonvalue.h"
#include "profile/pprof.h"
#include "profile/profile.h"

#include <err.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

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
    json_show(json_pack("{s:i, s:s, s:o}", "version", 1, "mpit", MPIT_VERSION, "jobs", jobs), 0, "the profile");
    return 0;
}

/* Returns the only job with samples. */
static const struct run_job *sampled_job(const struct run_dir *dir)
{
    const struct run_job *job = dir->jobs;
    size_t count = sampled_jobs(dir);
    while (!run_job_has_samples(job))
        job++;
    if (count > 1)
        errx(1, "%s has samples of %zu jobs, but a profile for pprof has one job; name the file of a job, like %s",
             dir->path, count, job->pieces[0].path);
    return job;
}

int sampleview_pprof(const struct run_dir *dir, const struct sample_request *request)
{
    char error[OUTPUT_ERROR_BYTES] = "";
    struct stacks stacks;
    int failed = 0;
    const struct run_job *job = sampled_job(dir);
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
