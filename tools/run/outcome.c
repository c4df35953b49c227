#define _GNU_SOURCE
#include "run/outcome.h"

#include "cures/tracefigures.h"
#include "archive/archive.h"
#include "run/collectchild.h"
#include "run/programs.h"
#include "waiting/postmortem.h"
#include "profile/jobnames.h"
#include "base/ranklist.h"
#include "base/text.h"
#include "job/join.h"
#include "jobfile/summaryfile.h"
#include "job/rundir.h"
#include "writer/spool.h"
#include "report/summary_json.h"
#include "report/summary_screen.h"
#include "report/summary_text.h"
#include "job/timeline.h"

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINES_MOST = 6,
    OTHERS_MS = 2000 /* results of other hosts may come later */
};

static void nothing_say(const struct outcome *outcome)
{
    char ended[64] = "", reason[PROGRAM_REASON_BYTES] = "MPIT_DISABLE is set, which switches recording off";
    if (!outcome->disabled) {
        programs_explain(outcome->words, outcome->status, reason);
        if (outcome->status != 0)
            snprintf(ended, sizeof ended, "the command ended with exit status %d; ", outcome->status);
    }
    warnx("no MPI process recorded: %s%s", ended, reason);
    output_dir_drop(outcome->output);
}

static int summaries_write(const struct run_dir *dir, bool full, FILE *out)
{
    for (size_t i = 0; i < dir->job_count; i++) {
        if (i > 0)
            fputc('\n', out);
        if (dir->job_count > 1)
            fprintf(out, "job %zu of %zu (%016" PRIx64 ")\n", i + 1, dir->job_count, dir->jobs[i].job);
        if (!full) {
            summary_screen_print(dir->jobs[i].summary, out);
            continue;
        }
        summary_print(dir->jobs[i].summary, out);
        timeline_print(dir->jobs[i].files, dir->jobs[i].file_count, out);
    }
    return ferror(out) ? -1 : 0;
}

/* Returns 0 or an errno. */
static int summary_to_file(const struct run_dir *dir, const char *path)
{
    FILE *out = fopen(path, "w");
    if (!out)
        return errno;
    errno = 0;
    int result = text_ends(path, ".json") ? summary_write_json(dir, out) : summaries_write(dir, true, out),
        problem = errno;
    if (fclose(out) != 0)
        return errno;
    return result == 0 ? 0 : problem ? problem : EIO;
}

/* Says how the command ended, if not well, and which processes did not reach their end. */
static void end_show(const struct outcome *outcome, const struct run_dir *dir)
{
    bool badly = false;
    int by = postmortem_signal;
    if (by)
        fprintf(stderr, "\nmpit-run: %s; the command ended with exit status %d\n",
                by == SIGINT ? "interrupted (Ctrl-C)" : strsignal(by), outcome->status);
    else if (outcome->killed_by)
        fprintf(stderr, "\nmpit-run: the command was killed by signal %d (%s)\n", outcome->killed_by,
                strsignal(outcome->killed_by));
    else if (outcome->status)
        fprintf(stderr, "\nmpit-run: the command ended with exit status %d\n", outcome->status);
    for (size_t i = 0; i < dir->job_count; i++)
        badly = postmortem_print(&dir->jobs[i], LINES_MOST, stderr) || badly;
    if (badly)
        fprintf(stderr, "  mpit-dump --crash %s shows the last calls of each\n", outcome->output->given);
}

static void summary_show(const struct outcome *outcome, const struct run_dir *dir)
{
    const char *path = outcome->summary;
    bool to_stdout = path && strcmp(path, "-") == 0;
    if (!path && outcome->quiet)
        return;
    if (path && !to_stdout) {
        int problem = summary_to_file(dir, path);
        if (!problem)
            return;
        warnx("the summary cannot be written to %s: %s. It follows here", path, strerror(problem));
    }
    FILE *out = to_stdout ? stdout : stderr;
    fprintf(out, "\n"); /* separated from the program's output */
    if (summaries_write(dir, outcome->full || path, out) != 0 || fflush(out) != 0)
        warn("the summary cannot be written to the terminal");
}

static bool has_traces(const struct run_dir *dir)
{
    for (size_t i = 0; i < dir->job_count; i++)
        if (run_job_has_trace(&dir->jobs[i]) && !dir->jobs[i].trace_goes)
            return true;
    return false;
}

/* The option of the next mpit-dump: it shows more than the summary did. */
static const char *next_option(const struct outcome *outcome, const struct run_dir *dir)
{
    bool all_seen = outcome->full || outcome->summary;
    return !all_seen ? "--full" : has_traces(dir) ? "--analyze" : "--html";
}

static bool has_samples(const struct run_dir *dir)
{
    for (size_t i = 0; i < dir->job_count; i++)
        for (size_t k = 0; k < dir->jobs[i].file_count; k++)
            if (dir->jobs[i].files[k].header.samples_hz)
                return true;
    return false;
}

/* Checks the list of ranks here. Otherwise an error would show only later, as missing samples. */
static void sample_ranks_check(const char *ranks, const struct run_dir *dir)
{
    int size = 0;
    for (size_t i = 0; i < dir->job_count; i++)
        if (dir->jobs[i].summary && (int)dir->jobs[i].summary->world_size > size)
            size = (int)dir->jobs[i].summary->world_size;
    for (int rank = 0; rank < size; rank++)
        if (rank_list_has(ranks, rank))
            return;
    if (size)
        warnx("no samples were taken: --sample-ranks %.100s selects no rank of the job (0 to %d)", ranks, size - 1);
}

/* Collects the recordings of this node's processes into the output directory. Returns false if that failed, which it
 * has reported. */
static bool results_collect(const struct outcome *outcome)
{
    enum { LOCK_MS = 30000, PATIENCE_MS = 2000, PATIENCE_TRACE_MS = 10000 };
    const char *spool = outcome->output->spool, *given = outcome->output->given;
    char problem[COLLECT_PROBLEM_BYTES];
    struct collected sum = {.merged = 0};
    if (spool[0]) {
        postmortem_seen(spool);
        spool_unwatch(spool);
    }
    enum collect_end end = collect_child(outcome->output->path,
                                         &(struct collect_wish){.wait_ms = LOCK_MS, .traced = trace_figures_of_brief},
                                         outcome->otf2 ? PATIENCE_TRACE_MS : PATIENCE_MS, &sum, problem);
    if (end == COLLECT_STUCK)
        warnx("the output directory %s is slow, and mpit-run does not wait for it. The results will be there later; "
              "until then they are in %s. \"mpit-collect %s\" moves them",
              given, spool, given);
    else if (end == COLLECT_FAILED)
        warnx("%s", problem);
    else if (sum.at_work)
        warnx("note: %zu processes of the job are still running; run mpit-collect %s when they have ended", sum.at_work,
              given);
    return end == COLLECT_DONE;
}

/* Reports the files that stay in the spool. */
static void spool_show(const struct outcome *outcome)
{
    struct run_dir dir;
    char error[512];
    if (!outcome->output->spool[0])
        return;
    bool some = run_dir_count(outcome->output->spool) > 0;
    if (some && run_dir_open(&dir, outcome->output->spool, error) == 0)
        summary_show(outcome, &dir); /* without its traces: the user has waited for the directory already */
    if (some)
        run_dir_close(&dir);
}

/* Takes what the trace of the job has told. Returns whether that has to be stored beside it. */
static bool figures_take(struct run_job *job, const struct run_dir *shown)
{
    for (size_t i = 0; i < shown->job_count; i++) {
        const struct run_job *from = &shown->jobs[i];
        if (from->job != job->job || !from->summary || !job->summary)
            continue;
        const struct summary_traced *told = &from->summary->traced, *stored = &job->summary->traced;
        bool is_stored = stored->replayed && stored->engine == told->engine;
        summary_traced_take(job->summary, from->summary);
        job->trace_goes = from->trace_goes;
        return told->there && told->replayed && !is_stored;
    }
    return false;
}

/* For later tools: the figures of a trace, beside it. */
static void figures_store(const struct run_dir *dir, const struct run_job *job)
{
    struct section_header *section = summary_section_make(job->summary, SECTION_TOTAL);
    if (!section || run_job_append(dir, job, section) != 0)
        warn("note: the findings cannot be stored in %s; all tools find them again", dir->path);
    free(section);
}

/* Each job becomes one file. It is opened again, since names are stored now. */
static void files_join(const char *given, const struct run_dir *shown)
{
    struct run_dir dir;
    char error[512];
    run_dir_choice.totals = true;
    if (run_dir_open(&dir, given, error) == 0)
        for (size_t i = 0; i < dir.job_count; i++) {
            struct run_job *job = &dir.jobs[i];
            bool told = figures_take(job, shown);
            if (told && !job->trace_goes && run_job_is_one_file(job))
                figures_store(&dir, job);
            else if (run_job_join(&dir, job) != 0 && errno != EWOULDBLOCK) /* another process joins */
                warn("note: the files of a job in %s stay apart; all tools read them", given);
        }
    run_dir_close(&dir);
}

void outcome_show(const struct outcome *outcome)
{
    struct run_dir dir;
    char error[512], archive[PATH_MAX + 8];
    const char *given = outcome->output->given;
    signal(SIGPIPE, SIG_IGN); /* the reader of the summary may be gone, and the archive is still made */
    signal(SIGXFSZ, SIG_IGN); /* a failed write is reported, without effect on the exit status */
    if (!results_collect(outcome)) {
        if (outcome->otf2)
            warnx("no OTF2 archive was written, because the trace is not in %s yet. When it is there, mpit-dump --otf2 "
                  "%s/otf2 %s writes one",
                  given, given, given);
        spool_show(outcome);
        return;
    }
    if (run_dir_count(outcome->output->path) == 0) {
        nothing_say(outcome);
        return;
    }
    bool awaited = outcome->behind && outcome->status == 0;
    int opened = run_dir_open_whole(&dir, given, awaited ? OTHERS_MS : 0, error);
    for (size_t i = 0; i < dir.problem_count; i++)
        warnx("%s", dir.problems[i]);
    for (size_t i = 0; i < dir.note_count; i++)
        warnx("note: %s", dir.notes[i]);
    if (opened != 0) {
        warnx("%s", error);
        run_dir_close(&dir);
        return;
    }
    if (!outcome->quiet)
        end_show(outcome, &dir);
    trace_figures_fill(&dir);
    for (size_t i = 0; i < dir.job_count; i++)
        if (dir.jobs[i].trace_goes)
            dir.jobs[i].summary->traced.there = false; /* files_join drops it */
    summary_show(outcome, &dir);
    if (outcome->sample_ranks)
        sample_ranks_check(outcome->sample_ranks, &dir);
    snprintf(archive, sizeof archive, "%s/otf2", given);
    bool converted = outcome->otf2 && archive_write(&dir, archive, &(struct otf2_manner){0}, error) == 0;
    if (outcome->otf2 && !converted)
        warnx("no OTF2 archive was written: %s", error);
    job_names_store(&dir, outcome->quiet);
    if (!outcome->quiet)
        fprintf(stderr, "\nmpit-run: recorded in %s%s; next: mpit-dump %s %s%s\n", given,
                !converted          ? ""
                : dir.job_count > 1 ? " (OTF2 archives: otf2/JOB/traces.otf2)"
                                    : " (OTF2 archive: otf2/traces.otf2)",
                next_option(outcome, &dir), given, has_samples(&dir) ? ", mpit-dump --profile for the samples" : "");
    files_join(given, &dir);
    run_dir_close(&dir);
}
