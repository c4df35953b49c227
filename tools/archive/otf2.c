#include "archive/otf2.h"

#include "archive/otf2_archive.h"
#include "definitions/otf2_callpaths.h"
#include "definitions/otf2_definitions.h"
#include "definitions/otf2_markers.h"
#include "definitions/otf2_numbers.h"
#include "archive/otf2_workers.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sizes of definitions. */
enum { DEFINITION_ENTRY_BYTES = 20, DEFINITION_REST_BYTES = 1 << 16 };

/* Not an error: an archive has one MPI_COMM_WORLD. */
static void foreign_tell(const struct trace_job *job, struct otf2_report *report)
{
    char messages[96] = "";
    uint64_t sent = 0, received = 0;
    if (!job->foreign_name)
        return;
    for (int32_t r = 0; r < job->size; r++) {
        sent += job->ranks[r].losses[TRACE_LOSS_FOREIGN_SENT];
        received += job->ranks[r].losses[TRACE_LOSS_FOREIGN_RECEIVED];
    }
    if (sent || received)
        snprintf(messages, sizeof messages, " (this job sent %" PRIu64 " and received %" PRIu64 ")", sent, received);
    report_warning(report,
                   "note: an archive has one job. Communicators with processes of other jobs (the first: %s) are left "
                   "out: the archive has the calls on them, but no messages%s and collectives",
                   job->foreign_name, messages);
}

/* The input and options of one archive. */
struct conversion {
    struct trace_job job;
    struct trace_comms comms;
    struct trace_objects objects;
    struct trace_strings strings;
    OTF2_StringRef *programs; /* of each rank */
    struct trace_callpaths callpaths;
    struct archive_content content;
    unsigned threads;
    const struct team *team;
    OTF2_Archive *archive;
    struct otf2_report *report;
};

/*
 * Either all processes of the team continue, or all stop. A signal at one of them also counts. It is on its way to the
 * others, or it was meant for the process that is to stop.
 */
static int agree(const struct conversion *c, int result)
{
    struct otf2_report *report = c->report;
    report->signal = (int)team_largest(c->team, (uint64_t)interrupt_seen());
    if (report->signal)
        report_error(report, "interrupted (%s)", strsignal(report->signal));
    return team_failed(c->team, result != 0 || report->error[0], report->error, sizeof report->error) ? -1 : 0;
}

/* Every process gives the same texts the same numbers. */
static int programs_name(struct conversion *c)
{
    c->programs = malloc(((size_t)c->job.size + 1) * sizeof *c->programs);
    for (int32_t r = 0; c->programs && r < c->job.size; r++) {
        const struct run_reader *run = c->job.ranks[r].run;
        c->programs[r] = trace_strings_id(&c->strings, run ? run->header.program : "");
        if (c->programs[r] == UINT32_MAX)
            return report_no_memory(c->report);
    }
    return c->programs ? 0 : report_no_memory(c->report);
}

static int events_write(struct conversion *c)
{
    int result =
        OTF2_Archive_OpenEvtFiles(c->archive) != OTF2_SUCCESS ? report_error(c->report, "no events can be written") : 0;
    result = agree(c, result);
    if (result == 0)
        result = agree(c, trace_ranks_write(&c->job, &c->comms, &c->objects, c->archive, c->programs, c->threads,
                                            c->team, c->report));
    if (result == 0 && OTF2_Archive_CloseEvtFiles(c->archive) != OTF2_SUCCESS)
        result = report_error(c->report, "the events could not be written");
    return agree(c, result);
}

/* A definition must fit into a chunk: groups name ranks, and mapping tables have two numbers for each entry. OTF2
 * clears a chunk for each location, so chunks are not larger than needed. */
static int definitions_bound(struct conversion *c)
{
    uint64_t entries = trace_numbers_most(&c->objects), bytes;
    uint64_t others[] = {(uint64_t)c->job.size, c->content.region_count + (uint64_t)c->callpaths.function_count,
                         c->report->locations};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        entries = others[i] > entries ? others[i] : entries;
    bytes = team_largest(c->team, DEFINITION_REST_BYTES + DEFINITION_ENTRY_BYTES * entries);
    bytes = bytes < OTF2_CHUNK_SIZE_MIN   ? OTF2_CHUNK_SIZE_MIN
            : bytes > OTF2_CHUNK_SIZE_MAX ? OTF2_CHUNK_SIZE_MAX
                                          : bytes;
    if (OTF2_Archive_SetDefChunkSize(c->archive, c->team->rank ? OTF2_UNDEFINED_UINT64 : bytes) != OTF2_SUCCESS)
        return report_error(c->report, "no definitions can be written");
    return 0;
}

static bool collectives_set(struct conversion *c)
{
    return c->team->mpi ? c->team->prepare(c->archive) == 0
                        : OTF2_Archive_SetSerialCollectiveCallbacks(c->archive) == OTF2_SUCCESS;
}

static int archive_fill(struct conversion *c)
{
    int result = agree(c, otf2_archive_prepare(c->archive, c->report));
    if (result == 0 && !collectives_set(c))
        result = report_error(c->report, "the archive cannot be prepared");
    if (result == 0 && c->job.selection &&
        OTF2_Archive_SetProperty(c->archive, "MPIT::SELECTION", c->job.selection->described, true) != OTF2_SUCCESS)
        result = report_error(c->report, "the selection cannot be written to the archive");
    result = agree(c, result)
                 ?: events_write(c)
                 ?: agree(c, trace_ranks_gather(&c->job, &c->comms, c->team, c->report))
                 ?: agree(c, trace_numbers_gather(&c->objects, c->team, c->report))
                 ?: agree(c, definitions_bound(c))
                 ?: agree(c, trace_definitions_write(c->archive, &c->job, &c->comms, &c->objects, &c->strings, c->team,
                                                     c->report));
    if (result == 0) /* one file of the archive */
        result = agree(c, c->team->rank == 0 ? trace_markers_write(c->archive, &c->job, c->report) : 0);
    if (result != 0)
        return result;
    foreign_tell(&c->job, c->report);
    trace_losses_tell(&c->job, c->report);
    return 0;
}

/*
 * After a failure the files are not closed, but left as they are. OTF2 3.0 frees a file's buffer when a write fails,
 * and writes it again when the file is closed.
 */
static int archive_make(struct conversion *c, const char *directory)
{
    OTF2_ErrorCallback before = OTF2_Error_RegisterCallback(otf2_error_keep, c->report);
    c->archive = otf2_archive_open(directory);
    int result = agree(c, c->archive ? 0 : report_error(c->report, "the archive cannot be created"));
    if (result == 0)
        result = archive_fill(c);
    if (result == 0 && OTF2_Archive_Close(c->archive) != OTF2_SUCCESS)
        result = report_error(c->report, "the archive's anchor could not be written");
    OTF2_Error_RegisterCallback(before, NULL);
    return agree(c, result); /* also errors that OTF2 reported but did not return */
}

/* Messages of OTF2 name the directory that it was given. Replaces it by the directory that the user knows. */
static void name_restore(struct otf2_report *report, const char *made, const char *directory)
{
    char text[OTF2_ERROR_BYTES];
    const char *found = strstr(report->error, made);
    if (!found)
        return;
    snprintf(text, sizeof text, "%.*s%s%s", (int)(found - report->error), report->error, directory,
             found + strlen(made));
    memcpy(report->error, text, sizeof text);
}

/* The archive is first made in a directory next to the wanted one. The first process of the team makes it, and all use
 * its name. */
static int directory_make(const struct conversion *c, const char *directory, char path[PATH_MAX])
{
    size_t length = strlen(directory);
    while (length > 1 && directory[length - 1] == '/')
        length--;
    int result = 0;
    memset(path, 0, PATH_MAX);
    if (c->team->rank == 0) {
        int n = snprintf(path, PATH_MAX, "%.*s.partial.%d", (int)length, directory, (int)getpid());
        struct stat st;
        if (lstat(directory, &st) == 0)
            result = report_error(c->report, "%s exists already; name a new directory, or remove it", directory);
        else if (length == 0 || n < 0 || n >= PATH_MAX)
            result = report_error(c->report, "\"%s\" is not a name for a directory", directory);
        else if (mkdir(path, 0777) != 0)
            result = report_error(c->report, "the archive %s cannot be created: %s", directory, strerror(errno));
    }
    if (agree(c, result) != 0) {
        if (c->team->rank == 0 && result == 0)
            rmdir(path);
        return -1;
    }
    team_spread(c->team, path, PATH_MAX, 0);
    return 0;
}

/* A signal can only stop the conversion before the archive has its name. After that the archive is complete, and
 * stays. */
static int archive_place(struct conversion *c, const char *path, const char *directory, int result)
{
    bool first = c->team->rank == 0;
    if (result == 0 && first && otf2_directory_publish(path, directory) != 0)
        result = report_error(c->report, "the archive cannot be moved to %s: %s", directory, strerror(errno));
    if (team_failed(c->team, result != 0, c->report->error, sizeof c->report->error))
        result = -1;
    if (result != 0 && first)
        otf2_directory_remove(path);
    team_meet(c->team); /* launchers end a job whose first process has failed */
    if (result != 0)
        name_restore(c->report, path, directory);
    return result;
}

/* All processes of the team have read the same. */
static int job_compare(const struct conversion *c)
{
    const uint64_t figures[] = {c->job.job,
                                (uint64_t)c->job.size,
                                trace_job_records(&c->job, 0, 1),
                                c->comms.count,
                                c->strings.count,
                                c->job.instruments.region_count,
                                c->job.instruments.metric_count,
                                c->job.host_count,
                                c->objects.names.count};
    bool same = true;
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        same = team_same(c->team, figures[i]) && same;
    return same ? 0 : report_error(c->report, "the run " TEAM_DIFFERS);
}

static int job_convert(struct conversion *c, const struct run_reader *runs, size_t count,
                       const struct selection *selection, const char *directory)
{
    char path[PATH_MAX];
    int result = trace_job_open(&c->job, runs, count, c->report);
    c->job.archive = &c->content;
    if (result == 0 && selection && selection_is_given(selection))
        trace_job_select(&c->job, selection, c->report);
    if (result == 0)
        result = trace_comms_open(&c->comms, &c->job, c->report);
    if (result == 0)
        trace_comms_select(&c->comms, &c->job);
    if (result == 0)
        result = trace_objects_open(&c->objects, &c->job, &c->comms, c->report);
    if (result == 0)
        result = programs_name(c);
    if (agree(c, result) != 0 || agree(c, job_compare(c)) != 0 ||
        agree(c, trace_callpaths_open(&c->callpaths, &c->job, c->team, c->report)) != 0)
        return -1;
    if (c->callpaths.context_count)
        c->content.callpaths = &c->callpaths;
    if (directory_make(c, directory, path) != 0)
        return -1;
    return archive_place(c, path, directory, archive_make(c, path));
}

int otf2_convert(const struct run_reader *runs, size_t count, const char *directory, const struct otf2_manner *manner,
                 struct otf2_report *report)
{
    struct conversion c = {
        .threads = manner->threads, .team = manner->team ? manner->team : &team_of_one, .report = report};
    c.callpaths.functions_written = manner->functions;
    c.callpaths.names = manner->names;
    *report = (struct otf2_report){0};
    interrupts_catch();
    int result = job_convert(&c, runs, count, manner->selection, directory);
    interrupts_release();
    if (!report->signal)
        report->signal = interrupt_seen(); /* too late for this archive, in time for the next */
    free(c.programs);
    trace_strings_release(&c.strings);
    trace_objects_release(&c.objects);
    trace_comms_release(&c.comms);
    trace_callpaths_release(&c.callpaths, &c.job);
    trace_job_release(&c.job);
    return result;
}
