#define _GNU_SOURCE
#include "opening.h"

#include "counters.h"
#include "fabric.h"
#include "instruments.h"
#include "job.h"
#include "log.h"
#include "settings.h"
#include "stall.h"
#include "switchboard.h"
#include "tracing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is too long for a path is none; the program's own directory is put in front of a relative one, since it may be
 * left. */
static void directory_read(struct opened *opened)
{
    const char *output = getenv("MPIT_OUTPUT");
    if (!output || !output[0])
        return;
    char here[2048] = "";
    if (output[0] != '/' && !getcwd(here, sizeof here))
        here[0] = '\0';
    int n = snprintf(opened->directory, sizeof opened->directory, "%s%s%s", here, here[0] ? "/" : "", output);
    if (n < 0 || (size_t)n >= sizeof opened->directory)
        opened->directory[0] = '\0';
}

static void run_problem_say(const char *text)
{
    native_say("mpit: %s", text);
}

static bool trace_is_ring(void)
{
    char policy[KNOB_TEXT_BYTES];
    knob_read_text(KNOB_TRACE_POLICY, policy);
    return strcmp(policy, "ring") == 0;
}

/* What MPI_Init will tell, as far as the launcher has told it: of a process that does not come out of there it is all
 * that there is. */
static void launch_note(struct run_header *header, const char *directory)
{
    struct launch launch = job_launch();
    if (launch.rank < 0)
        return;
    header->launched_as = (uint32_t)launch.rank + 1;
    header->launched_size = (uint32_t)launch.size;
    header->job = job_number(directory, launch.size);
}

bool run_start(struct opened *opened)
{
    struct run_problem problem;
    directory_read(opened);
    run_say = run_problem_say;
    clock_open();
    settings_read();
    opened->trace_asked = knob_load(KNOB_TRACE) != 0;
    if (run_open(&book.run, opened->directory[0] ? opened->directory : NULL, knob_load(KNOB_BUFFER_LIMIT_BYTES),
                 knob_load(KNOB_TRACE_LIMIT_BYTES), &problem) != 0) {
        native_say("mpit: no memory for the recorder; nothing is recorded");
        return false;
    }
    if (problem.text[0]) {
        native_say("mpit: %s; this process is counted in memory only", problem.text);
        book.run.said = true;
    } else {
        opened->trace_refused = knob_load(KNOB_TRACE) && !run_has_file(&book.run);
    }
    if (!run_has_file(&book.run))
        knob_store(KNOB_TRACE, 0);
    run_trace_policy(&book.run, trace_is_ring() ? TRACE_RING : TRACE_STOP);
    tracing_begin(knob_load(KNOB_TRACE) != 0);
    switchboard_open();
    counters_open();
    stall_open();
    fabric_open();
    snprintf(book.run.header->mpi, sizeof book.run.header->mpi, "%.63s", native.version);
    launch_note(book.run.header, opened->directory);
    if (book_open() != 0)
        return false;
    counters_publish();
    instrument_run_begin();
    return true;
}
