/*
 * The command line of mpit-dump.
 */
#ifndef MPIT_TOOLS_DUMPREQUEST_H
#define MPIT_TOOLS_DUMPREQUEST_H

#include "archive/otf2.h"
#include "compare/compared.h"
#include "compare/scaledruns.h"
#include "cures/questions.h"
#include "job/select.h"
#include "script/script.h"

enum mode {
    MODE_NONE,
    MODE_SUMMARY,
    MODE_JSON,
    MODE_CALLPATHS,
    MODE_DIFF,
    MODE_SCALING,
    MODE_EVENTS,
    MODE_CRASH,
    MODE_CSV,
    MODE_OTF2,
    MODE_EXPORT,
    MODE_PERFETTO,
    MODE_VERIFY,
    MODE_ANALYZE,
    MODE_WHAT_IF,
    MODE_PROFILE,
    MODE_PPROF,
    MODE_HTML,
    MODE_SQLITE
};

/* The request of the command line. */
enum export_format { EXPORT_GOAL = SCRIPT_GOAL, EXPORT_SIMGRID = SCRIPT_SIMGRID, EXPORT_PLACEMENT };

struct request {
    enum mode mode;
    const char *target; /* of the modes that write files */
    struct otf2_manner manner;
    const char *run;
    bool unnamed;  /* run is the newest one in this directory */
    bool json;     /* mode_has_json */
    bool internal; /* mode_has_stacks */
    bool any_owner;
    bool full; /* the summary as text, with all tables */
    struct selection selection;
    struct diff_request diff; /* of MODE_DIFF */
    struct scaling_request scaling;
    char *const *history;                      /* several runs of MODE_HTML, up to NULL */
    struct question questions[QUESTIONS_MOST]; /* of MODE_WHAT_IF */
    size_t question_count;
    enum export_format format; /* of MODE_EXPORT */
};

/* Returns whether the output is made from counters, which are counted again for a part (jobpart.h). */
bool mode_has_tallies(enum mode mode);

/* Reads the command line. An error ends the tool, and so do --help and --version. */
struct request request_read(int argc, char *argv[]);

#endif
