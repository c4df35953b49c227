/*
 * Output directories with patterns, as administrators write them for all jobs:
 *
 *   %Y %m %d   the date when the process began to record, in local time: 2026, 11, 27
 *   %u         the user
 *   %p         the program, without its folder
 *   %j         the batch system's number of the job. Without a batch system, mpit's own number of it
 *   %h         the host
 *   %%         %
 *
 * Characters of a value other than letters, digits and . _ - become _. So no value adds a folder.
 */
#ifndef MPIT_SITE_OUTPUTPATTERN_H
#define MPIT_SITE_OUTPUTPATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct output_values {
    time_t time;
    const char *user, *program, *job, *host; /* "" becomes unknown */
};

/* Returns true, or false with the reason. Then `path` is empty. */
bool output_expand(const char *pattern, const struct output_values *values, char *path, size_t bytes, char reason[128]);

#endif
