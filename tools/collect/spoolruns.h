/*
 * The runs in a spool: its live files, opened.
 */
#ifndef MPIT_TOOLS_SPOOLRUNS_H
#define MPIT_TOOLS_SPOOLRUNS_H

#include "base/linkage.h"
#include "base/spools.h"
#include "reader/reader.h"

/* A run, and how far the collector (collect.c) has come with it. */
struct spool_run {
    struct run_reader reader;
    uint64_t drained_end; /* as in its room: where the drained part of its trace ends. 0: there is none */
    bool gone;            /* a job file had it before */
    bool brief;           /* its trace goes when its figures are made */
    bool summed;          /* it is in a sum that is being made */
    bool brought;         /* its section is written, or it is in the summary */
    size_t result;        /* the number of its job file, from 1 on. 0: it has none */
};

struct spool_runs {
    struct spool_run *list; /* by job, then by rank */
    size_t count;
};

/* A file without an output directory, or an unreadable file, is removed after a day. */
enum { FORGET_SECONDS = 24 * 60 * 60 };

/* Opens the runs of a spool. *others: so many files cannot be read, or not yet. Returns 0, or -1 with errno. Close in both
 * cases. */
MUST_CHECK int spool_runs_open(struct spool_runs *runs, const struct spool *spool, size_t *others);
void spool_runs_close(struct spool_runs *runs);

/* Returns whether nobody has written to the file for so long. */
bool file_is_idle(const char *path, int seconds);
/* The same for all live files of a spool. */
bool spool_is_idle(const struct spool *spool, int seconds);
/* Returns whether all live files of a spool have the mark. *left: there are some. */
bool spool_is_marked(const struct spool *spool, bool *left);

/* As run_file_has_ended. */
bool spool_run_has_ended(const struct spool_run *run);
/* There may be more live files than maps. Returns false with errno if the file cannot be read again. */
bool spool_run_wake(const struct spool_run *run);
/* Marks the run (header.collected): waiting processes know that its result can be seen. */
void spool_run_mark(const struct spool_run *run);
/* The path of the drained part of its trace. */
void spool_run_part(const struct spool *spool, const struct spool_run *run, char path[PATH_MAX]);
/* Removes its files. Returns 0, or -1 with errno and the path. */
MUST_CHECK int spool_run_remove(const struct spool *spool, const struct spool_run *run, char path[PATH_MAX]);

#endif
