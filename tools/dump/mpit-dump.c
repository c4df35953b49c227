/*
 * mpit-dump: shows and converts a run directory.
 */
#include "analysis/analysis_report.h"
#include "analysis/sampled.h"
#include "cures/sensitivity.h"
#include "cures/tracefigures.h"
#include "archive/archive.h"
#include "database/database_write.h"
#include "format/packedrun.h"
#include "dump/dumprequest.h"
#include "dump/eventcsv.h"
#include "dump/eventlist.h"
#include "job/jobpart.h"
#include "job/jsonvalue.h"
#include "base/options.h"
#include "base/outputfile.h"
#include "dump/pathlist.h"
#include "jobs/historypage.h"
#include "page/page.h"
#include "placement/placementfiles.h"
#include "waiting/postmortem.h"
#include "replay/replay.h"
#include "job/rundir.h"
#include "waiting/ward.h"
#include "dump/sampleview.h"
#include "job/selectcheck.h"
#include "report/summary_json.h"
#include "report/summary_screen.h"
#include "report/summary_sites.h"
#include "report/summary_text.h"
#include "archive/team.h"
#include "job/timeline.h"
#include "dump/traceevents.h"

#include <err.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>

enum { LINES_MOST = 20, LAST_RECORDS = 20 };

static void process_title_print(const struct run_header *header)
{
    if (run_rank(header) >= 0)
        printf("rank %" PRId32, run_rank(header));
    else
        printf("process %" PRIu32 " (no rank yet)", header->pid);
}

static int verify(const struct run_dir *dir)
{
    int status = 0;
    for (size_t i = 0; i < dir->job_count; i++) {
        const struct run_job *job = &dir->jobs[i];
        job_title_print(dir, i);
        for (size_t k = 0; k < job->file_count; k++) {
            char report[4096] = "";
            int different = replay_verify(run_job_file(job, k), report, sizeof report);
            run_reader_rest(&job->files[k]);
            process_title_print(&job->files[k].header);
            if (different == 0)
                printf(": the replayed trace equals the counters\n");
            else if (different < 0)
                printf(": cannot be compared: %s\n",
                       report[0] ? report : "its trace is not complete (mpit-run --trace records all of it)");
            else
                printf(": %d counters differ\n%s\n", different, report);
            status |= different != 0;
        }
        if (job->file_count == 0) {
            printf("nothing to replay: this job has only a summary (mpit-run --trace records every event)\n");
            status = 1;
        }
    }
    return status;
}

/* Prints the available events. Without a trace the request fails. */
static int events(const struct run_dir *dir, const struct selection *selection, bool csv)
{
    int status = 0;
    if (csv)
        csv_head(stdout);
    for (size_t i = 0; i < dir->job_count; i++) {
        const struct run_job *job = &dir->jobs[i];
        char title[64] = "";
        if (!csv)
            job_title_print(dir, i);
        if (events_print(job, selection, csv ? i + 1 : 0, stdout) != 0)
            errx(1, "out of memory for the list of events");
        if (run_job_has_trace(job))
            continue;
        if (dir->job_count > 1)
            snprintf(title, sizeof title, ", job %zu of %zu,", i + 1, dir->job_count);
        fflush(stdout);
        warnx("%s%s was recorded without --trace: %s; mpit-run --trace records every event", dir->path, title,
              job->file_count ? "it has only the last events of each thread" : "it has no events");
        status = 1;
    }
    return status;
}

/* Prints the processes of a job that did not reach their end, and the last calls of each. */
static void job_crash(const struct run_job *job, const struct selection *selection)
{
    bool *firsts = calloc(job->file_count + 1, sizeof *firsts);
    bool ended = firsts && !postmortem_print_all(job, selection, firsts, stdout);
    puts(ended ? "all known processes ended normally" : "");
    if (!firsts || (!ended && events_print_last(job, selection, LAST_RECORDS, firsts, stdout) != 0))
        errx(1, "out of memory for the list of events");
    free(firsts);
}

static int crash(const struct run_dir *dir, const struct selection *selection)
{
    for (size_t i = 0; i < dir->job_count; i++) {
        job_title_print(dir, i);
        job_crash(&dir->jobs[i], selection);
    }
    return 0;
}

/* Prints an analysis, or returns its JSON. Returns false without memory. */
static bool analysis_show(struct analysis *analysis, const struct run_job *job, bool as_json, json_t **json)
{
    struct sensitivity sensitivity;
    if (analysis_join_samples(analysis, job) != 0 || sensitivity_find(&sensitivity, analysis) != 0)
        return false;
    if (!as_json && analysis_print(analysis, stdout) != 0)
        return false;
    if (!as_json)
        sensitivity_print(&sensitivity, stdout);
    *json = as_json ? analysis_json(analysis, false) : NULL;
    return !as_json || (*json && json_object_set_new(*json, "network", sensitivity_json(&sensitivity)) == 0);
}

/* The same of the answers to the user's questions. */
static bool answers_show(const struct analysis *analysis, const struct request *request, json_t **json, int *status)
{
    struct answers answers;
    const char *why;
    if (questions_ask(&answers, analysis, request->questions, request->question_count, &why) != 0) {
        if (why)
            warnx("the trace cannot be replayed: %s", why);
        *status = 1;
        return why != NULL;
    }
    for (size_t i = 0; i < answers.count; i++)
        *status |= answers.why[i] != NULL;
    if (!request->json)
        answers_print(&answers, stdout);
    return !request->json || (*json = answers_json(&answers));
}

/* Analyzes one job. Returns its JSON. Returns NULL after it was printed, or if it could not be analyzed (then *status
 * is 1). */
static json_t *job_analyze(const struct run_dir *dir, size_t i, const struct request *request, int *status)
{
    const struct run_job *job = &dir->jobs[i];
    struct analysis analysis;
    json_t *json = NULL;
    int result = analysis_open(&analysis, job->files, job->file_count, &request->selection, job->names)
                     ?: analysis_join_phases(&analysis);
    if (result != 0) {
        fflush(stdout);
        warnx("%s%s%s", dir->path, job->file_count ? " cannot be analysed: " : ": ",
              job->file_count ? analysis.report.error
                              : "it has no events to analyse; mpit-run --trace records every event");
        *status = 1;
    } else if (request->mode == MODE_WHAT_IF ? !answers_show(&analysis, request, &json, status)
                                             : !analysis_show(&analysis, job, request->json, &json)) {
        errx(1, "out of memory for the analysis");
    }
    analysis_release(&analysis);
    return json;
}

static int analyze(const struct run_dir *dir, const struct request *request)
{
    json_t *jobs = json_array();
    int status = 0;
    for (size_t i = 0; i < dir->job_count; i++) {
        if (!request->json)
            job_title_print(dir, i);
        json_t *json = job_analyze(dir, i, request, &status);
        if (json)
            json_array_append_new(jobs, json);
    }
    if (request->json)
        json_show(json_pack("{s:i, s:s, s:o}", "version", 1, "mpit", MPIT_VERSION, "jobs", jobs), 0, "the analysis");
    else
        json_decref(jobs);
    return status;
}

static void warnings_tell(const struct otf2_report *report)
{
    size_t kept = report->warning_count < OTF2_WARNINGS_MAX ? report->warning_count : OTF2_WARNINGS_MAX;
    for (size_t i = 0; i < kept; i++)
        warnx("%s", report->warnings[i]);
    if (kept < report->warning_count)
        warnx("... and %zu more", report->warning_count - kept);
}

/* All jobs that have a trace. */
static int trace_events_fill(const struct run_dir *dir, const struct request *request, FILE *out,
                             char error[OUTPUT_ERROR_BYTES])
{
    struct otf2_report *report = calloc(1, sizeof *report);
    struct trace_events events;
    int result = report ? 0 : -1;
    snprintf(error, OUTPUT_ERROR_BYTES, "%s", report ? "" : "out of memory for the conversion");
    trace_events_begin(&events, out);
    for (size_t i = 0; result == 0 && i < dir->job_count; i++) {
        char title[64] = "";
        if (!run_job_converts(&dir->jobs[i]))
            continue;
        if (dir->job_count > 1)
            snprintf(title, sizeof title, "job %zu, ", i + 1);
        result = trace_events_write(&events, &dir->jobs[i], &request->selection, title, report);
        warnings_tell(report);
        snprintf(error, OUTPUT_ERROR_BYTES, "%s", report->error);
    }
    trace_events_end(&events);
    free(report);
    return result;
}

static int perfetto(const struct run_dir *dir, const struct request *request)
{
    char error[OUTPUT_ERROR_BYTES];
    size_t left_out;
    size_t converted = run_dir_converts(dir, &left_out, error);
    if (!converted)
        errx(1, "%s", error);
    if (left_out)
        warnx("note: %zu of %zu jobs are left out: MPI_Init returned in none of their processes", left_out,
              left_out + converted);
    FILE *out = output_file_open(request->target, error);
    if (!out)
        errx(1, "%s", error);
    int failed = trace_events_fill(dir, request, out, error);
    if (output_file_close(out, request->target, failed, error) != 0)
        errx(1, "%s", error);
    return 0;
}

static int placement_export(const struct run_dir *dir, const char *directory)
{
    char error[OUTPUT_ERROR_BYTES];
    trace_figures_fill(dir);
    if (placement_files_write(&dir->jobs[0], directory, error) != 0)
        errx(1, "%s: %s", dir->path, error);
    return 0;
}

/* A simulator replays one job. */
static int export(const struct run_dir *dir, const struct request *request)
{
    char error[OUTPUT_ERROR_BYTES];
    uint64_t left_out;
    if (dir->job_count != 1)
        errx(1, "%s has %zu jobs; allowed is one: name its file", dir->path, dir->job_count);
    if (request->format == EXPORT_PLACEMENT)
        return placement_export(dir, request->target);
    if (script_write(&dir->jobs[0], (enum script_format)request->format, request->target, &left_out, error) != 0)
        errx(1, "%s: %s", dir->path, error);
    if (left_out)
        warnx("note: %" PRIu64
              " collective operations are left out: of neighbors, between two groups, or without some members",
              left_out);
    return 0;
}

static int sqlite(const struct run_dir *dir, const char *path)
{
    char error[OUTPUT_ERROR_BYTES] = "";
    trace_figures_fill(dir);
    if (database_write(dir, path, error) != 0)
        errx(1, "%s", error);
    return 0;
}

/* A part has no first screen: what stands out in it is not known. */
static int summary(const struct run_dir *dir, bool full)
{
    trace_figures_fill(dir);
    for (size_t i = 0; i < dir->job_count; i++) {
        const struct run_job *job = &dir->jobs[i];
        job_title_print(dir, i);
        if (job->part)
            summary_print_part(job->summary, job->part, stdout);
        else if (full)
            summary_print(job->summary, stdout);
        else
            summary_screen_print(job->summary, stdout);
        if (full || job->part)
            timeline_print(job->files, job->file_count, stdout);
        if (!job->part) /* a call that did not return is in no part */
            postmortem_print(job, LINES_MOST, stdout);
    }
    if (!full && dir->job_count && !dir->jobs[0].part)
        printf("\nNext: mpit-dump --full %s, or with --html FILE\n", dir->path);
    return 0;
}

static int callpaths(const struct run_dir *dir, bool json)
{
    if (json && pathlist_write_json(dir, stdout) != 0)
        err(1, "the call paths cannot be written");
    if (json)
        return 0;
    for (size_t i = 0; i < dir->job_count; i++) {
        job_title_print(dir, i);
        summary_callpaths_print(dir->jobs[i].summary, stdout);
    }
    return 0;
}

static int show(const struct run_dir *dir, const struct request *request)
{
    const struct sample_request samples = {&request->selection, request->internal, request->json, request->target};
    switch (request->mode) {
    case MODE_PROFILE:
        return sampleview_profile(dir, &samples);
    case MODE_PPROF:
        return sampleview_pprof(dir, &samples);
    case MODE_HTML:
        return page_write(dir, request->target);
    case MODE_SQLITE:
        return sqlite(dir, request->target);
    case MODE_JSON:
        trace_figures_fill(dir);
        if (summary_write_json(dir, stdout) != 0)
            err(1, "the summary cannot be written");
        return 0;
    case MODE_CALLPATHS:
        return callpaths(dir, request->json);
    case MODE_VERIFY:
        return verify(dir);
    case MODE_EVENTS:
        return events(dir, &request->selection, false);
    case MODE_CRASH:
        return crash(dir, &request->selection);
    case MODE_CSV:
        return events(dir, &request->selection, true);
    case MODE_PERFETTO:
        return perfetto(dir, request);
    case MODE_EXPORT:
        return export(dir, request);
    case MODE_ANALYZE:
    case MODE_WHAT_IF:
        return analyze(dir, request);
    default:
        return summary(dir, request->full);
    }
}

/* Prints the reason once, and ends all processes of the team. */
__attribute__((noreturn)) static void fail_together(const char *error)
{
    team_work(false);
    errx(1, "%s", error);
}

static void problems_print(const struct run_dir *dir)
{
    for (size_t i = 0; i < dir->problem_count; i++)
        warnx("%s", dir->problems[i]);
    for (size_t i = 0; i < dir->note_count; i++)
        warnx("note: %s", dir->notes[i]);
}

/* All processes of the team take part. */
static int otf2(const struct request *request, const struct team *team)
{
    struct run_dir dir;
    char error[512] = "";
    struct otf2_manner manner = request->manner;
    manner.team = team;
    manner.selection = &request->selection;
    team_work(true);
    if (team_failed(team, team->rank == 0 && archive_target_check(request->target, error) != 0, error, sizeof error))
        fail_together(error);
    int opened = run_dir_open(&dir, request->run, error);
    if (team->rank == 0)
        problems_print(&dir);
    if (team_failed(team, opened != 0, error, sizeof error))
        fail_together(error);
    bool wrong = selection_check(&request->selection, &dir, error) != 0;
    if (team_failed(team, wrong, error, sizeof error)) {
        team_work(false);
        errx(EXIT_USAGE, "%s", error);
    }
    if (archive_write(&dir, request->target, &manner, error) != 0)
        fail_together(error);
    if (team->rank == 0)
        output_say(request->target);
    int status = dir.problem_count != 0;
    run_dir_close(&dir);
    team_work(false);
    return status;
}

/* Returns the tool's status. A reader of the traces may have found a damaged or inconsistent file. */
static int status_final(const struct request *request, int status)
{
    if (packed_trouble_seen() != PACKED_SOUND)
        warnx("%s %s: its events cannot be read and are missing here%s", request->run,
              packed_trouble_seen() == PACKED_DAMAGED ? "is damaged" : "does not fit into memory",
              request->mode == MODE_VERIFY ? "" : "; mpit-dump --verify names the ranks");
    return packed_trouble_seen() == PACKED_SOUND ? status : 1;
}

int main(int argc, char *argv[])
{
    setlocale(LC_CTYPE, ""); /* the bars are drawn in the terminal's character set */
    output_guard();
    const struct team *team = team_join(&argc, &argv);
    struct request request = request_read(argc, argv);
    struct run_dir dir;
    char error[512];
    if (team->mpi && request.mode != MODE_OTF2)
        usage_reject("this program runs under MPI and only writes archives (--otf2 DIR); use mpit-dump for all else");
    if (request.any_owner)
        run_dir_choice.any_owner = true;
    if (request.unnamed && team->rank == 0)
        warnx("this is the newest run here, %s", request.run);
    if (request.mode == MODE_OTF2) {
        int status = otf2(&request, team);
        output_close();
        return status_final(&request, status);
    }
    if (request.mode == MODE_DIFF || request.mode == MODE_SCALING || request.history) {
        int status = request.mode == MODE_DIFF      ? diff_run(&request.diff)
                     : request.mode == MODE_SCALING ? scaling_run(&request.scaling)
                                                    : history_page_of_runs(request.history, request.target);
        output_close();
        return status;
    }
    if (request.mode <= MODE_JSON && !selection_is_given(&request.selection))
        run_dir_choice.brief = true;
    if (request.mode == MODE_CRASH) {
        run_dir_choice.no_figures = true;
        run_dir_choice.look = ward_note;
    }
    int opened = run_dir_open(&dir, request.run, error);
    problems_print(&dir);
    if (opened != 0)
        errx(1, "%s", error);
    char problem[SELECT_PROBLEM_BYTES];
    if (selection_check(&request.selection, &dir, problem) != 0)
        errx(EXIT_USAGE, "%s", problem);
    bool in_part = selection_is_given(&request.selection) && mode_has_tallies(request.mode);
    struct job_part *parts = in_part ? job_parts_open(&dir, &request.selection, error) : NULL;
    if (in_part && !parts)
        errx(1, "%s: %s", dir.path, error);
    int status = show(&dir, &request);
    if (status == 0 && request.target)
        output_say(request.target);
    job_parts_close(&dir, parts);
    if (dir.problem_count)
        status = 1;
    run_dir_close(&dir);
    selection_release(&request.selection);
    output_close();
    return status_final(&request, status);
}
