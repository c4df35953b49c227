/*
 * The jobs of a run directory, by their numbers. For the code that reads its files.
 */
#ifndef MPIT_TOOLS_RUNJOBS_H
#define MPIT_TOOLS_RUNJOBS_H

#include "base/array.h"
#include "job/rundir.h"

#include <err.h>

/* Makes room for one more than `count` elements. Without memory the tool ends. */
static inline void *array_enlarge(void *array, size_t count, size_t element)
{
    void *longer = array_grow(array, count, element);
    if (!longer)
        err(1, "no memory");
    return longer;
}

/* The job with this number, which is made if it is not known. Valid until the next job is made. */
struct run_job *run_job_numbered(struct run_dir *dir, uint64_t number);
/* The job that these processes belong to, with their ranks noted. It has this number, or a later one. */
struct run_job *run_job_of(struct run_dir *dir, uint64_t number, struct run_span span, const struct summary_row *rows,
                           size_t count);

#endif
