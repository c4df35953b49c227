#define _GNU_SOURCE
#include "otf2.h"

#include "otf2_definitions.h"
#include "otf2_markers.h"
#include "otf2_process.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each thread of the process that is being converted has one of the former in memory. */
enum { EVENT_CHUNK_BYTES = 1 << 20, DEFINITION_CHUNK_BYTES = 4 << 20, NFTW_DESCRIPTORS = 16 };

static OTF2_FlushType flush_always(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
    (void)data, (void)type, (void)location, (void)caller, (void) final;
    return OTF2_FLUSH;
}

/* No function for after the flush: it would put BufferFlush events into a trace in which nothing was flushed. */
static const OTF2_FlushCallbacks flush_callbacks = {.otf2_pre_flush = flush_always};

/* OTF2 tells the cause of an error here, and only its number where it returns. */
static OTF2_ErrorCode error_keep(void *data, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code,
                                 const char *format, va_list args)
{
    (void)file, (void)line, (void)function;
    struct otf2_report *report = data;
    char text[OTF2_ERROR_BYTES / 2];
    if (code == OTF2_WARNING || code == OTF2_DEPRECATED)
        return code;
    vsnprintf(text, sizeof text, format, args);
    report_error(report, "OTF2: %s (%s)", text, OTF2_Error_GetDescription(code));
    return code;
}

static int entry_remove(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

/* No fault: an archive has one MPI_COMM_WORLD. */
static void foreign_tell(const struct trace_job *job, struct otf2_report *report)
{
    char messages[96] = "";
    if (!job->foreign_name)
        return;
    if (job->foreign_sent || job->foreign_received)
        snprintf(messages, sizeof messages, " (this job sent %" PRIu64 " and received %" PRIu64 ")", job->foreign_sent,
                 job->foreign_received);
    report_warning(
        report,
        "note: an archive has one job. Communicators with processes of other jobs (the first: %s) are not in "
        "it: of what happened on them it has the calls, and no messages%s and collectives",
        job->foreign_name, messages);
}

static int events_write(OTF2_Archive *archive, struct trace_job *job, struct trace_comms *comms,
                        struct trace_objects *objects, struct trace_strings *strings, struct otf2_report *report)
{
    if (OTF2_Archive_OpenEvtFiles(archive) != OTF2_SUCCESS)
        return report_error(report, "no events can be written");
    for (int32_t r = 0; r < job->size; r++) {
        uint32_t program = trace_strings_id(strings, job->ranks[r].run ? job->ranks[r].run->header.program : "");
        if (program == UINT32_MAX)
            return report_no_memory(report);
        if (trace_process_write(job, comms, objects, r, archive, program, report) != 0)
            return -1;
    }
    foreign_tell(job, report);
    if (OTF2_Archive_CloseEvtFiles(archive) != OTF2_SUCCESS)
        return report_error(report, "the events could not be written");
    return 0;
}

static int archive_fill(OTF2_Archive *archive, struct trace_job *job, struct trace_comms *comms,
                        struct otf2_report *report)
{
    struct trace_strings strings = {0};
    struct trace_objects objects;
    if (OTF2_Archive_SetFlushCallbacks(archive, &flush_callbacks, NULL) != OTF2_SUCCESS ||
        OTF2_Archive_SetSerialCollectiveCallbacks(archive) != OTF2_SUCCESS ||
        OTF2_Archive_SetCreator(archive, "mpit") != OTF2_SUCCESS)
        return report_error(report, "the archive cannot be prepared");
    if (job->selection &&
        OTF2_Archive_SetProperty(archive, "MPIT::SELECTION", job->selection->described, true) != OTF2_SUCCESS)
        return report_error(report, "the archive cannot say what was selected");
    int result = trace_objects_open(&objects, job, comms, report);
    if (result == 0)
        result = events_write(archive, job, comms, &objects, &strings, report);
    if (result == 0)
        result = trace_definitions_write(archive, job, comms, &objects, &strings, report);
    if (result == 0)
        result = trace_markers_write(archive, job, report);
    trace_objects_release(&objects);
    trace_strings_release(&strings);
    return result;
}

static int archive_make(const char *directory, struct trace_job *job, struct trace_comms *comms,
                        struct otf2_report *report)
{
    OTF2_ErrorCallback before = OTF2_Error_RegisterCallback(error_keep, report);
    OTF2_Archive *archive = OTF2_Archive_Open(directory, "traces", OTF2_FILEMODE_WRITE, EVENT_CHUNK_BYTES,
                                              DEFINITION_CHUNK_BYTES, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    int result = archive ? archive_fill(archive, job, comms, report) : report_error(report, "no archive can be made");
    if (archive && OTF2_Archive_Close(archive) != OTF2_SUCCESS)
        result = report_error(report, "the archive's anchor could not be written");
    OTF2_Error_RegisterCallback(before, NULL);
    return report->error[0] ? -1 : result; /* also what OTF2 told and did not return */
}

/* Renames, but not over what somebody else has made there in the meantime. */
static int directory_publish(const char *made, const char *directory)
{
    if (renameat2(AT_FDCWD, made, AT_FDCWD, directory, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS) /* file systems that do not know the flag */
        return -1;
    struct stat st;
    if (lstat(directory, &st) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(made, directory);
}

/* What OTF2 tells names the directory that it was given; the user knows the other one. */
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

static int job_convert(struct trace_job *job, const char *directory, struct otf2_report *report)
{
    char path[PATH_MAX];
    size_t length = strlen(directory);
    while (length > 1 && directory[length - 1] == '/')
        length--;
    int n = snprintf(path, sizeof path, "%.*s.partial.%d", (int)length, directory, (int)getpid());
    if (length == 0 || n < 0 || (size_t)n >= sizeof path)
        return report_error(report, "\"%s\" is no name for a directory", directory);
    if (mkdir(path, 0777) != 0)
        return report_error(report, "the archive %s cannot be made: %s", directory, strerror(errno));
    struct trace_comms comms;
    int result = trace_comms_open(&comms, job, report);
    trace_comms_select(&comms, job);
    if (result == 0)
        result = archive_make(path, job, &comms, report);
    trace_comms_release(&comms);
    if (result == 0 && directory_publish(path, directory) != 0)
        result = report_error(report, "the archive cannot be put at %s: %s", directory, strerror(errno));
    if (result != 0) {
        nftw(path, entry_remove, NFTW_DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
        name_restore(report, path, directory);
    }
    return result;
}

int otf2_convert(const struct run_reader *runs, size_t count, const char *directory, struct otf2_report *report)
{
    return otf2_convert_selection(runs, count, NULL, directory, report);
}

int otf2_convert_selection(const struct run_reader *runs, size_t count, const struct selection *selection,
                           const char *directory, struct otf2_report *report)
{
    struct stat st;
    struct trace_job job;
    *report = (struct otf2_report){0};
    if (lstat(directory, &st) == 0)
        return report_error(report, "%s is already there; name a directory that is not, or remove it", directory);
    int result = trace_job_open(&job, runs, count, report);
    if (result == 0 && selection && selection_is_given(selection))
        trace_job_select(&job, selection, report);
    if (result == 0)
        result = job_convert(&job, directory, report);
    trace_job_release(&job);
    return result;
}
