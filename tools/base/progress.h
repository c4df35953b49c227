/*
 * Progress of a long operation, as one line on a terminal:
 *
 *     42 %   8.1 million records a second, 0:35 left
 *
 * The line is drawn again at most five times a second, and removed at the end. If standard error is not a terminal, it
 * is not drawn. Several threads may add to it.
 */
#ifndef MPIT_TOOLS_PROGRESS_H
#define MPIT_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    uint64_t total, done;
    uint64_t begin_ns, next_ns; /* next_ns: when to draw again, UINT64_MAX = never */
    bool drawn;
};

enum { PROGRESS_TEXT_BYTES = 96 };

/* `wanted` false: never drawn. */
void progress_begin(struct progress *progress, uint64_t total, bool wanted);
void progress_add(struct progress *progress, uint64_t records);
void progress_end(struct progress *progress);

/* Formats the line for this elapsed time. */
void progress_text(const struct progress *progress, uint64_t elapsed_ns, char text[PROGRESS_TEXT_BYTES]);

#endif
