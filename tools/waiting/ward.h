/*
 * The threads of a job's processes that did not reach their end: their calls, and the ranks for which they wait
 * (waiting.h). The post-mortem prints them, and mpit-top shows them for a running job.
 */
#ifndef MPIT_TOOLS_WARD_H
#define MPIT_TOOLS_WARD_H

#include "waiting/waiting.h"

#include <stdio.h>

/* Reads all threads. A process that cannot be seen from here, and has no recorded end, counts as alive if the job does.
 * The job does if `runs` is true, or if one of its processes here lives. Returns 0, or -1 without memory. Release it in
 * both cases. */
int ward_open(struct ward *ward, const struct run_job *job, bool runs);
/* For run_dir_look: reads the threads of a process when its file is opened, unless the process lives and goes on. Then
 * ward_open does not wake the file. */
void ward_note(struct run_reader *file);
/* Looks up the places of the calls. Returns 0, or -1 without memory. */
int ward_places_find(struct ward *ward);
void ward_release(struct ward *ward);

enum { RANKS_TEXT_BYTES = 160 };
/* Writes "rank 3", or "ranks 0-2, 5". Sorts the ranks. */
void ranks_text(char text[RANKS_TEXT_BYTES], int32_t *ranks, size_t count);
/* Prints the ranks for which a group of threads waits, like ", from rank 3 and to rank 5". Prints nothing if there are
 * none. */
void waits_print(const struct patient *const *group, size_t count, FILE *out);
/* "rank 0 waits for rank 1, which waits for rank 0: a deadlock" */
void circle_print(const int32_t *ranks, size_t count, bool sure, FILE *out);

#endif
