/*
 * A run directory: what the processes of one recorded command left, put together job by job.
 *
 *   run_dir -> jobs[] -> files[]   run files of the job's processes (NAME.mpit), by world rank
 *                     -> summary   of the whole job: NAME.summary, or made from the run files
 *
 * A job is one MPI_COMM_WORLD. A file that cannot be read is named in problems[] and left out; the others count.
 * A path that names one run file or one summary is taken as a directory with nothing else in it.
 */
#ifndef MPIT_TOOLS_RUNDIR_H
#define MPIT_TOOLS_RUNDIR_H

#include "reader/reader.h"
#include "summary/summary.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What of a job is to be shown, where that is not all (jobpart.h). */
struct selection;
struct run_part {
    const struct selection *selection;
    bool anew;        /* counted anew from the trace: what is of whole processes is not known */
    int32_t wanted;   /* ranks that were chosen, */
    size_t found;     /* and how many of them left a file */
    uint64_t missing; /* events of theirs that are not in the trace */
    bool switched;    /* the trace was on for a part of the time */
    /* File i, whose tallies are those of the part; NULL: it has none of it. To be given back before the next one. */
    const struct run_reader *(*take)(struct run_part *part, size_t i);
    void (*give_back)(struct run_part *part, size_t i);
};

struct run_job {
    uint64_t job;
    /* By world rank, before these those who had none yet; their headers can be read, for more see run_job_file. */
    struct run_reader *files;
    size_t file_count;
    struct summary *stored;  /* from .summary files: processes that left no run file; NULL: none */
    struct summary *summary; /* what to show; NULL only without memory */
    char **parts;            /* the .summary files, one of each node as a rule */
    size_t part_count;
    bool from_files;       /* the summary was made from the run files */
    struct run_part *part; /* NULL: all of the job is shown */
};

struct run_dir {
    char *path;
    struct run_job *jobs;
    size_t job_count;
    void *numbers;   /* of the jobs, in a tree (search.h) */
    char **problems; /* "FILE is truncated: ..." */
    size_t problem_count;
    bool named;     /* one file, which is taken whoever owns it */
    uid_t owner;    /* of the directory */
    size_t foreign; /* files that were left out for their owners */
    bool vanished;  /* a live file was collected while the directory was read */
    size_t passing; /* live files that were left out, since a result has their figures */
    char **notes;   /* which processes of a job left no run file where there should be one */
    size_t note_count;
};

/*
 * A file in a directory whose owner is neither the directory's, nor who looks, nor root is left out, and is a problem:
 * where many may write, one of them may have put it there. After this call such files are taken.
 */
void run_dir_any_owner(void);

/*
 * Returns 0, or -1 with a reason: no such directory, none of a run, nothing in it that can be read. In both cases
 * problems[] may hold something, and run_dir_close is due.
 */
int run_dir_open(struct run_dir *dir, const char *path, char error[512]);
void run_dir_close(struct run_dir *dir);

/* Whether a process of the job was to keep all of its events. */
bool run_job_has_trace(const struct run_job *job);
/* Whether there is something of it to convert: it has, and a process of it got through MPI_Init. */
bool run_job_converts(const struct run_job *job);
/* How many jobs have, and how many have a trace alone; with a reason where none has. */
size_t run_dir_converts(const struct run_dir *dir, size_t *left_out, char error[512]);

/* File i, to be looked into until many others were; run_reader_rest when done. Ends the tool when the file has gone. */
const struct run_reader *run_job_file(const struct run_job *job, size_t i);

/* Ends the tool: what is wrong with file i. */
__attribute__((noreturn)) void run_job_file_reject(const struct run_job *job, size_t i, const char *reason);

/* File i for its tallies, which are those of the part that is shown; NULL: it has none of that. */
const struct run_reader *run_job_tallies(const struct run_job *job, size_t i);
void run_job_tallies_rest(const struct run_job *job, size_t i);
/* Makes one .summary file of several. Returns 0, or -1 with errno: they stay as they are. */
int run_job_unite(struct run_job *job);
/* Makes the summary of the part that is shown. */
void run_job_summarize(struct run_job *job);

/* How many processes the job has; 0: not known. */
int32_t run_job_size(const struct run_job *job);
enum { MISSING_TEXT_BYTES = SUMMARY_MISSING_BYTES };
/* Which of them left nothing that can be read: "2-3, 5". False: none. */
bool run_job_ranks_missing(const struct run_job *job, char text[MISSING_TEXT_BYTES]);

/* Whether all processes of the job have left a readable run file. */
bool run_job_is_complete(const struct run_job *job);

/* Whether a directory entry of this name is mpit's: a run file or a summary. */
bool run_dir_owns(const char *name);
/* How many such entries the directory has; -1 when it cannot be read. */
long run_dir_count(const char *path);

#endif
