/*
 * How a job differs from the usual: other jobs of the same program and size that ended well. For each figure the median
 * and the range of these jobs. A figure is unusual if it is outside of the range, and differs from the median by more
 * than 5 %.
 */
#ifndef MPIT_TOOLS_USUAL_H
#define MPIT_TOOLS_USUAL_H

#include "jobs/jobtable.h"

#include <jansson.h>
#include <stdio.h>

/* At least so many other jobs are needed. */
enum { USUAL_LEAST = 3, USUAL_FIGURES = 7 };

struct usual_figure {
    enum job_column column;
    bool known; /* of the job, and of enough others */
    double value, median, least, most;
    size_t others;
    bool unusual;
};

struct usual {
    sqlite3_stmt *job; /* its row */
    size_t others;     /* jobs of the same program and size */
    struct usual_figure figures[USUAL_FIGURES];
};

/* `name`: the number of the batch system, mpit's own, or a file. Returns false with a reason: there is no such job. */
bool usual_find(struct usual *usual, struct job_table *table, const char *name, char error[128]);
void usual_print(const struct usual *usual, FILE *out);
/* A new reference. */
json_t *usual_json(const struct usual *usual);
void usual_release(struct usual *usual);

#endif
