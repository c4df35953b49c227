/*
 * A run directory: the files of the processes of one recorded command, grouped by job.
 *
 *   run_dir -> jobs[] -> files[]   the runs of the job's processes, by world rank
 *                     -> summary   of the whole job: stored, or made from the runs
 *                     -> names     of functions and lines, if mpit-run has stored them
 *                     -> pieces[]  where all these come from: sections of job files (jobindex.h), or live files
 *
 * A job is one MPI_COMM_WORLD. A launcher may give a number again when its process numbers come round. If a job has a
 * rank already, and a file has it at another time, the file begins a new job with the next free number.
 *
 * An unreadable file is named in problems[] and left out. The others count. A process that is there twice counts once. A
 * path that names one file is treated as a directory with only this file.
 */
#ifndef MPIT_TOOLS_RUNDIR_H
#define MPIT_TOOLS_RUNDIR_H

#include "base/linkage.h"
#include "reader/reader.h"
#include "summary/summary.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Nanoseconds since the epoch. */
struct run_span {
    uint64_t begin, end;
};

/* The part of a job to show, unless it is all (jobpart.h). */
struct selection;
struct summary_sums;
struct run_part {
    const struct selection *selection;
    bool anew;        /* counted again from the trace, so figures of whole processes are not known */
    int32_t wanted;   /* ranks that were chosen, */
    size_t found;     /* and how many of them have a file, or a row */
    bool rows;        /* there are no files: only figures by rank, from the summary */
    uint64_t missing; /* their events that are not in the trace */
    bool switched;    /* the trace was on for a part of the time */
    /* Returns file i, with the accumulators of the part, or NULL if the part has none of it. Return it before you take
     * the next. */
    const struct run_reader *(*take)(struct run_part *part, size_t i);
    void (*give_back)(struct run_part *part, size_t i);
};

/* A section of a job file, or a live file. */
struct run_piece {
    char *path;
    uint32_t kind;            /* enum section_kind. 0: a live file */
    struct run_extent extent; /* in the file as it was before it was read */
    uint64_t file_bytes;      /* likewise before */
};

struct run_job {
    uint64_t job;
    struct run_span span; /* of its processes that are known so far, */
    unsigned char *ranks; /* and a bit for each rank of them */
    size_t rank_bytes;
    /* Sorted by world rank, after the files without a rank. Their headers can be read. For more see run_job_file. */
    struct run_reader *files;
    size_t file_count;
    /* Sums of these files, and of stored summaries, until all files were read. NULL: none */
    struct summary_sums *sums, *stored_sums;
    struct summary *stored;  /* from sections of summaries: processes without a run, or NULL for none */
    struct summary *summary; /* the summary to show. NULL only without memory */
    struct run_piece *pieces;
    size_t piece_count;
    bool torn;                  /* one of its files has sections that are not among these */
    bool trace_goes;            /* nobody asked for it, and what it tells is in the summary (tracefigures.h) */
    struct run_part *part;      /* NULL: all of the job is shown */
    struct stored_names *names; /* of functions and lines (storednames.h), or NULL */
};

struct run_dir {
    char *path;
    struct run_job *jobs;
    size_t job_count;
    void *numbers;   /* of the jobs, in a tree (search.h) */
    void *processes; /* those that were read, by identity (run_identity), likewise */
    char **problems; /* "FILE is truncated: ..." */
    size_t problem_count;
    bool brief;               /* there are so many files that the choice of this name holds */
    bool named;               /* one named file, which is accepted with any owner */
    uid_t owner;              /* of the directory */
    size_t foreign;           /* files that were left out for their owners */
    bool vanished;            /* a file was collected, joined or written while the directory was read */
    struct run_piece *spares; /* files that have nothing that others have not. They are left out */
    size_t spare_count;
    int *unnamed; /* descriptors of files that were made to read them (drainedrun.h) */
    size_t unnamed_count;
    bool busy;    /* a collector has the spool */
    char **notes; /* which processes of a job have no run file, but should have one */
    size_t note_count;
};

/* How directories are opened from now on. */
extern struct run_dir_choice {
    /* A file is left out, and is a problem, if its owner is not the directory's owner, the caller, or root. In a directory
     * that many users may write, another user may have put it there. true: such files are accepted. */
    bool any_owner;
    /* Of very many files only the headers are kept, once their figures were summed: files of processes that have ended,
     * without a trace and samples. run_job_file opens such a file again. For tools that show summaries. */
    bool brief;
    /* Job files with a total are not opened any further: the total says which processes there are. For tools that move
     * sections. */
    bool totals;
    bool no_figures; /* summaries only say which processes there are. For tools that show no summary */
    /* NULL, or sees each run file when it was opened. So a tool need not wake very many files again. */
    void (*look)(struct run_reader *file);
} run_dir_choice;

/*
 * Returns 0, or -1 with a reason: the directory does not exist, is not a run, or has no readable file. In both cases
 * problems[] may have entries, and the caller must call run_dir_close.
 */
MUST_CHECK int run_dir_open(struct run_dir *dir, const char *path, char error[512]);
/* The same. While ranks of a job are missing it waits for files of other nodes, until none has come for wait_ms, and for
 * RUN_DIR_WAITS times as long at most: in a directory of many jobs files may come all the time. */
enum { RUN_DIR_WAITS = 6 };
MUST_CHECK int run_dir_open_whole(struct run_dir *dir, const char *path, int wait_ms, char error[512]);
void run_dir_close(struct run_dir *dir);

/* Returns whether a process with this identity (run_identity) has a section of its own, and all of it can be read. */
bool run_dir_reads(const struct run_dir *dir, uint64_t process);

/* Returns whether the trace of a process goes when its figures are made: a brief one (TRACE_BRIEF), of a process that ended
 * well and is not kept for something else. */
bool run_trace_is_brief(const struct run_header *header);
/* Returns whether a process of the job was set to keep all of its events. */
bool run_job_has_trace(const struct run_job *job);
/* Returns whether the job can be converted: it has a trace, and a process has returned from MPI_Init. */
bool run_job_converts(const struct run_job *job);
/* Returns how many jobs can be converted. *left_out gets how many jobs have a trace but cannot be converted. error gets
 * the reason for the case that none can. */
size_t run_dir_converts(const struct run_dir *dir, size_t *left_out, char error[512]);

/* Returns file i, readable until many other files were returned. Call run_reader_rest when done. Ends the tool if the
 * file is gone. */
const struct run_reader *run_job_file(const struct run_job *job, size_t i);

/* Ends the tool, with the problem of file i. */
__attribute__((noreturn)) void run_job_file_reject(const struct run_job *job, size_t i, const char *reason);

/* Returns file i for the accumulators of the shown part, or NULL if the part has none of it. */
const struct run_reader *run_job_tallies(const struct run_job *job, size_t i);
void run_job_tallies_rest(const struct run_job *job, size_t i);
/* Makes the summary of the part that is shown. */
void run_job_summarize(struct run_job *job);

/* Returns the number of processes of the job, or 0 if it is not known. */
int32_t run_job_size(const struct run_job *job);
enum { MISSING_TEXT_BYTES = SUMMARY_MISSING_BYTES };
/* Writes the ranks without a readable file: "2-3, 5". Returns false if there are none. */
bool run_job_ranks_missing(const struct run_job *job, char text[MISSING_TEXT_BYTES]);

/* Returns whether a directory entry of this name is mpit's: a job file or a live file. */
bool run_dir_owns(const char *name);
/* Returns how many such entries the directory has, or -1 if it cannot be read. */
long run_dir_count(const char *path);

#endif
