/* A run begins in this process: its settings, its file, and all that counts. */
#ifndef MPIT_PROBES_OPENING_H
#define MPIT_PROBES_OPENING_H

#include <stdbool.h>
#include <stdint.h>

struct opened {
    char directory[4096]; /* the output directory, absolute. "" = none */
    char problem[640];    /* why MPIT_OUTPUT cannot be used. "": it can */
    char asked[4096];     /* MPIT_OUTPUT when the program started: the same, or its pattern */
    char spool[4096];     /* the directory of the live file (spool.h). "" = it is memory of this process */
    bool trace_asked;     /* in all processes alike, even if this one has no file for it */
    bool clocks_asked;    /* likewise: the clocks of nodes are measured, for a trace or a brief one */
    bool trace_refused;   /* there is none */
    bool samples_refused; /* samples are wanted, and cannot be taken */
    bool by_session;      /* the run began with a session, or without MPI */
};

/* False: there is no memory for it, which was reported, and nothing is recorded. Once in a process, by one thread. */
bool run_start(struct opened *opened);

/* Shares out the room of the node for traces, until mpit-collect does it anew. `part`: only so small a part of it. MPI_Init
 * takes memory, so it is EARLY_PART before, and 1 after it. */
enum { EARLY_PART = 4 };
void spool_share_set(const struct opened *opened, uint64_t part);

/* Prints a line once for each job on a node. */
void opened_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
