/*
 * The threads of a job's processes that have not come to their end, with what they are in and for whom they wait
 * (waiting.h): as the post-mortem prints it, and mpit-top shows it of a job that runs.
 */
#ifndef MPIT_TOOLS_WARD_H
#define MPIT_TOOLS_WARD_H

#include "job/waiting.h"

#include <stdio.h>

/* Looks at all threads. Processes that cannot be seen from here, and have told no end, are taken to live if the job
 * does: if `runs`, or if one of its processes here lives. Returns 0, or -1 without memory. Release it in both cases. */
int ward_open(struct ward *ward, const struct run_job *job, bool runs);
void ward_release(struct ward *ward);

enum { RANKS_TEXT_BYTES = 160 };
/* "rank 3", "ranks 0-2, 5": sorts them. */
void ranks_text(char text[RANKS_TEXT_BYTES], int32_t *ranks, size_t count);
/* For whom a group of threads waits: ", from rank 3 and to rank 5"; nothing, if for nobody. */
void waits_print(const struct patient *const *group, size_t count, FILE *out);
/* "rank 0 waits for rank 1, which waits for rank 0: a deadlock" */
void circle_print(const int32_t *ranks, size_t count, bool sure, FILE *out);

#endif
