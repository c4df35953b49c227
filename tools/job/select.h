/*
 * The selected part of a job: filters that all outputs share.
 *
 *     ranks        0,4-7,12-      processes, by their rank in MPI_COMM_WORLD
 *     window       1.5:2.25       seconds since the job began (also 10ms:, :3s, 200us:1ms), either end may be missing
 *     comms        NAME           communicators by mpit's or the program's name, * and ? as in file names
 *     functions    p2p,-MPI_Send  as in mpit_filter
 *
 * A filter that the user did not set accepts everything. A call is in the window if any part of it is.
 */
#ifndef MPIT_TOOLS_SELECT_H
#define MPIT_TOOLS_SELECT_H

#include "base/linkage.h"
#include "calls.h"
#include "base/ranklist.h"
#include "reader/reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SELECT_COMMS_MAX = 64, SELECT_PROBLEM_BYTES = 512 };

struct selection {
    struct rank_range *ranks; /* NULL: all */
    size_t rank_count;
    bool windowed;
    int64_t from_ns, to_ns;
    const char *comms[SELECT_COMMS_MAX]; /* patterns, the caller's */
    size_t comm_count;
    bool by_function;
    char described[SELECT_PROBLEM_BYTES]; /* the user's text, as far as it fits */
    bool left_out[CALL_COUNT];
};

/* Each function reads one option's text. Returns 0, or -1 with the error in `problem`. */
MUST_CHECK int selection_ranks(struct selection *selection, const char *text, char problem[SELECT_PROBLEM_BYTES]);
MUST_CHECK int selection_window(struct selection *selection, const char *text, char problem[SELECT_PROBLEM_BYTES]);
MUST_CHECK int selection_comm(struct selection *selection, const char *text, char problem[SELECT_PROBLEM_BYTES]);
MUST_CHECK int selection_functions(struct selection *selection, const char *text, char problem[SELECT_PROBLEM_BYTES]);
/* Adds the option to `described`. */
void selection_describe(struct selection *selection, const char *option, const char *text);
void selection_release(struct selection *selection);

/* Returns whether any filter is set. */
bool selection_is_given(const struct selection *selection);
/* Returns whether it may leave out calls of the selected ranks. */
bool selection_cuts_calls(const struct selection *selection);
bool selection_has_rank(const struct selection *selection, int32_t world_rank);
/* Returns how many of the ranks 0 .. size - 1 are selected. */
int32_t selection_ranks_below(const struct selection *selection, int32_t size);
/* Nanoseconds since the job began. */
bool selection_has_time(const struct selection *selection, int64_t begin_ns, int64_t end_ns);
/* Returns the duration of a call, or of a record between calls. A metric has no duration, and a different value in that
 * field. */
int64_t selection_ns(const struct run_reader *run, const struct event *event, const struct event_extension *more);
/* Returns whether the name matches the pattern. * matches any characters, ? matches one, and any other character
 * matches itself. */
bool selection_name_fits(const char *pattern, const char *name);
/* NULL names: a call without a communicator. */
bool selection_has_comm(const struct selection *selection, const char *name, const char *label);
/* Kinds that this version does not know pass unless functions are selected. */
bool selection_has_function(const struct selection *selection, unsigned kind);
/* Applies all filters to a call, or to an event between calls, of a run. */
bool selection_has_call(const struct selection *selection, const struct run_reader *run, const struct event *event,
                        int64_t begin_ns, int64_t end_ns);

#endif
