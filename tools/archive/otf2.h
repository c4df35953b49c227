/*
 * Converts run files of one job to an OTF2 archive, for Vampir and other readers.
 *
 *   run_reader[] ──> trace_job ──> trace_comms        the processes, one time line, communicators matched by name
 *                       │          trace_objects      windows and files, numbered as they are used
 *                       │
 *                       │   for each rank, several at a time                       (otf2_workers.c, otf2_process.c)
 *                       └─> call_stream ─> trace_requests ─> nesting ─> events      one OTF2 location a thread
 *                                                                        │
 *                           definitions, written last  <─────────────────┘ counts, range of time, used objects
 *
 * Memory grows with the requests and accesses under way, with the depth of nested calls and regions, and with the
 * number of windows, files, and communicators and their members. It does not grow with the length of the trace. With
 * regions of other libraries it grows with the square root of the length (regionschedule.h).
 */
#ifndef MPIT_TOOLS_OTF2_H
#define MPIT_TOOLS_OTF2_H

#include "job/select.h"
#include "reader/reader.h"
#include "trace/tracereport.h"

#include <stddef.h>
#include <stdint.h>

struct team;
struct stored_names;

struct otf2_manner {
    unsigned threads;        /* 0: as many as there are processors to use */
    const struct team *team; /* processes that make the archive together (team.h), each with all run files, or NULL for
                              * one process */
    /* A part of the job, or NULL for all. Ranks that are left out keep an empty location, since communicators count
     * their members. Messages and collectives are in the archive only if all their ends are. The archive's property
     * MPIT::SELECTION holds the request of the user. */
    const struct selection *selection;
    bool functions;                   /* with regions for the program's functions on call paths */
    const struct stored_names *names; /* of functions and lines, stored with the job (storednames.h), or NULL */
};

/*
 * Converts all run files of one job into the new directory `directory` (its anchor: traces.otf2). If a directory or
 * file of this name exists, that is an error. Returns 0, or -1 with report->error set. After an error no file is left.
 * All processes of the team return the same.
 */
int otf2_convert(const struct run_reader *runs, size_t count, const char *directory, const struct otf2_manner *manner,
                 struct otf2_report *report);

/* Removes a directory with all its contents. */
void otf2_directory_remove(const char *path);

#endif
