/*
 * Call paths in an archive: the functions of the program on the paths to its calls of MPI.
 *
 *   place of a call (callplaces.h) ──> context ──> function, line in it
 *                                         │
 *                                         └─> context of its caller ──> ... ──> main
 *
 * Contexts are shared: each is the end of one path. All processes of a team give a place the same number. Only the first
 * one looks up names, since the program may not be readable on all nodes. It spreads the contexts.
 */
#ifndef MPIT_TOOLS_OTF2_CALLPATHS_H
#define MPIT_TOOLS_OTF2_CALLPATHS_H

#include "definitions/otf2_content.h"
#include "archive/team.h"
#include "definitions/otf2_strings.h"

enum { NO_CONTEXT = UINT32_MAX, CALLPATH_ATTRIBUTE = 0 };

struct trace_context {
    uint32_t function, line_place; /* numbers of a function and of a source code location */
    uint32_t caller;               /* context, or NO_CONTEXT */
    uint32_t depth;                /* how many callers */
};

struct trace_function {
    const char *name, *file; /* file: of its first known line, or NULL */
};

struct trace_line {
    const char *file;
    uint32_t line;
};

struct trace_callpaths {
    uint32_t **places; /* by world rank: places by number of the path. NULL: none */
    uint32_t *context; /* by place, from 1 on: of its innermost function, or NO_CONTEXT */
    uint32_t place_count;
    struct trace_context *contexts;
    uint32_t context_count, function_count;
    bool functions_written;           /* functions are regions in the event files */
    const struct stored_names *names; /* that are stored with the job, or NULL */
    /* only of the team's first process */
    struct trace_function *functions;
    struct trace_line *lines;
    uint32_t line_count;
    struct trace_strings texts;
};

/* Returns 0, or -1 with the report's error set. All processes of the team call it. Release it in both cases. */
int trace_callpaths_open(struct trace_callpaths *paths, const struct trace_job *job, const struct team *team,
                         struct otf2_report *report);
void trace_callpaths_release(struct trace_callpaths *paths, const struct trace_job *job);

/* The context of a path of a rank, or NO_CONTEXT. */
static inline uint32_t trace_context_of(const struct trace_callpaths *paths, const struct trace_rank *rank,
                                        const uint32_t *places, uint32_t path)
{
    return places && path < rank->run->path_count ? paths->context[places[path]] : (uint32_t)NO_CONTEXT;
}

/* The region of a function in event files: after those of the calls (trace_region_number). */
static inline uint32_t trace_function_region(const struct trace_job *job, uint32_t function)
{
    return job->instruments.region_count + CALL_COUNT + function;
}

#endif
