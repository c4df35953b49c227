/*
 * mpit-dump: shows what a run directory holds, and converts it.
 */
#define _GNU_SOURCE
#include "archive.h"
#include "eventlist.h"
#include "options.h"
#include "postmortem.h"
#include "replay.h"
#include "rundir.h"
#include "summary_json.h"
#include "summary_text.h"

#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: mpit-dump [option] RUN\n"
    "Shows what mpit-run recorded. RUN is a run directory, or one .mpit or .summary file of it.\n"
    "\n"
    "  --summary    times, messages and sizes of each job, as text (the default)\n"
    "  --json       the same as JSON; summary-json.md in the documentation describes it\n"
    "  --events     every event that was kept, one a line, all ranks in the order of time; without a trace\n"
    "               the last ones of each thread, if any are left, and exit status 1\n"
    "  --crash      the processes that did not come to their end: what they were in, and their last calls\n"
    "  --otf2 DIR   writes an OTF2 archive, for Vampir and its like, to the new directory DIR\n"
    "  --verify     replays the trace and compares it with the tallies, cell for cell\n"
    "  --help, --version\n"
    "\n"
    "A file that cannot be read is named and left out; the exit status is then 1.\n"
    "\n"
    "Example:  mpit-run --trace --output run mpirun -n 4 ./app && mpit-dump --otf2 archive run\n";

enum mode {
    MODE_NONE,
    MODE_SUMMARY,
    MODE_JSON,
    MODE_EVENTS,
    MODE_CRASH,
    MODE_OTF2,
    MODE_VERIFY,
    MODE_HELP,
    MODE_VERSION
};

enum { LINES_MOST = 20, LAST_RECORDS = 20 };

struct request {
    enum mode mode;
    const char *target; /* of MODE_OTF2 */
    const char *run;
};

static struct request request_read(int argc, char *argv[])
{
    static const struct option options[] = {{"summary", no_argument, NULL, MODE_SUMMARY},
                                            {"json", no_argument, NULL, MODE_JSON},
                                            {"events", no_argument, NULL, MODE_EVENTS},
                                            {"otf2", required_argument, NULL, MODE_OTF2},
                                            {"verify", no_argument, NULL, MODE_VERIFY},
                                            {"crash", no_argument, NULL, MODE_CRASH},
                                            {"help", no_argument, NULL, MODE_HELP},
                                            {"version", no_argument, NULL, MODE_VERSION},
                                            {NULL, 0, NULL, 0}};
    struct request request = {.mode = MODE_NONE};
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
        if (option == MODE_HELP || option == 'h')
            text_and_exit(help);
        if (option == MODE_VERSION)
            text_and_exit("mpit-dump " MPIT_VERSION "\n");
        if (option == ':' || option == '?')
            option_reject(option, argv);
        if (request.mode != MODE_NONE && request.mode != (enum mode)option)
            usage_reject("only one of --summary, --json, --events, --crash, --otf2 and --verify at a time");
        request.mode = (enum mode)option;
        if (option == MODE_OTF2)
            request.target = optarg;
    }
    if (optind == argc)
        usage_reject("which run? A run directory, or a file of one, is missing");
    if (optind + 1 < argc)
        usage_reject("one run at a time: '%s' is one too many", argv[optind + 1]);
    request.run = argv[optind];
    return request;
}

static void job_title(const struct run_dir *dir, size_t i)
{
    if (dir->job_count > 1)
        printf("%sjob %zu of %zu (%016" PRIx64 ")\n", i ? "\n" : "", i + 1, dir->job_count, dir->jobs[i].job);
}

static void process_title(const struct run_header *header)
{
    if (header->world_rank >= 0 && header->world_size > 0)
        printf("rank %" PRId32, header->world_rank);
    else
        printf("process %" PRIu32 " (no rank yet)", header->pid);
}

static int verify(const struct run_dir *dir)
{
    int status = 0;
    for (size_t i = 0; i < dir->job_count; i++) {
        const struct run_job *job = &dir->jobs[i];
        job_title(dir, i);
        for (size_t k = 0; k < job->file_count; k++) {
            char report[4096] = "";
            int different = replay_verify(&job->files[k], report, sizeof report);
            process_title(&job->files[k].header);
            if (different == 0)
                printf(": the replayed trace equals the tallies\n");
            else if (different < 0)
                printf(": cannot be compared: %s\n",
                       report[0] ? report : "its trace is not complete (mpit-run --trace keeps it)");
            else
                printf(": %d cells differ\n%s\n", different, report);
            status |= different != 0;
        }
        if (job->file_count == 0) {
            printf("only a summary is left of this job, nothing to replay (mpit-run --trace keeps every event)\n");
            status = 1;
        }
    }
    return status;
}

/* What there is of them. Without a trace that is not what was asked for, and so a failure. */
static int events(const struct run_dir *dir)
{
    int status = 0;
    for (size_t i = 0; i < dir->job_count; i++) {
        const struct run_job *job = &dir->jobs[i];
        char title[64] = "";
        job_title(dir, i);
        if (events_print(job, stdout) != 0)
            errx(1, "no memory to list the events");
        if (run_job_has_trace(job))
            continue;
        if (dir->job_count > 1)
            snprintf(title, sizeof title, ", job %zu of %zu,", i + 1, dir->job_count);
        fflush(stdout);
        warnx("%s%s was recorded without --trace: %s; mpit-run --trace keeps every event", dir->path, title,
              job->file_count ? "only what the buffers of its threads still held is here" : "no events are left");
        status = 1;
    }
    return status;
}

/* Who did not come to an end, and the last calls of each. */
static int crash(const struct run_dir *dir)
{
    for (size_t i = 0; i < dir->job_count; i++) {
        job_title(dir, i);
        if (!postmortem_print(&dir->jobs[i], SIZE_MAX, stdout)) {
            printf("all processes that are known of came to their end\n");
            continue;
        }
        printf("\n");
        if (events_print_last(&dir->jobs[i], LAST_RECORDS, stdout) != 0)
            errx(1, "no memory to list the events");
    }
    return 0;
}

static int show(const struct run_dir *dir, const struct request *request)
{
    char error[512] = "";
    switch (request->mode) {
    case MODE_JSON:
        if (summary_write_json(dir, stdout) != 0)
            err(1, "the summary cannot be written");
        return 0;
    case MODE_OTF2:
        if (archive_write(dir, request->target, error) != 0)
            errx(1, "%s", error);
        return 0;
    case MODE_VERIFY:
        return verify(dir);
    case MODE_EVENTS:
        return events(dir);
    case MODE_CRASH:
        return crash(dir);
    default:
        for (size_t i = 0; i < dir->job_count; i++) {
            job_title(dir, i);
            summary_print(dir->jobs[i].summary, stdout);
            postmortem_print(&dir->jobs[i], LINES_MOST, stdout);
        }
        return 0;
    }
}

int main(int argc, char *argv[])
{
    setlocale(LC_CTYPE, ""); /* the bars are drawn in the terminal's character set */
    struct request request = request_read(argc, argv);
    struct run_dir dir;
    char error[512];
    if (request.mode == MODE_OTF2 && archive_target_check(request.target, error) != 0)
        errx(1, "%s", error);
    int opened = run_dir_open(&dir, request.run, error);
    for (size_t i = 0; i < dir.problem_count; i++)
        warnx("%s", dir.problems[i]);
    for (size_t i = 0; i < dir.note_count; i++)
        warnx("note: %s", dir.notes[i]);
    if (opened != 0)
        errx(1, "%s", error);
    int status = show(&dir, &request);
    if (dir.problem_count)
        status = 1;
    run_dir_close(&dir);
    output_close();
    return status;
}
