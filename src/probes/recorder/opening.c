#define _GNU_SOURCE
#include "recorder/opening.h"

#include "base/hash.h"
#include "counters/counters.h"
#include "fabric/fabric.h"
#include "recorder/handover.h"
#include "instruments/instruments.h"
#include "recorder/job.h"
#include "thread/log.h"
#include "recorder/origin.h"
#include "writer/room.h"
#include "writer/runguard.h"
#include "settings/settings.h"
#include "writer/spool.h"
#include "progress/stall.h"
#include "wrappers/switchboard.h"
#include "settings/tracing.h"
#include "site/hide.h"
#include "site/outputpattern.h"
#include "site/setting.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A relative path gets the working directory in front, because the program may leave it. A text that is too long counts
 * as not set. */
static void absolute_write(char path[PATH_MAX], const char *output)
{
    char here[2048] = "";
    if (output[0] != '/' && !getcwd(here, sizeof here))
        here[0] = '\0';
    int n = snprintf(path, PATH_MAX, "%s%s%s", here, here[0] ? "/" : "", output);
    if (n < 0 || n >= PATH_MAX)
        path[0] = '\0';
    spool_path_clean(path);
}

/* Puts the date, the user, the job and so on into the pattern. */
static bool pattern_expand(const struct opened *opened, const char *pattern, char path[PATH_MAX], char reason[128])
{
    char user[ORIGIN_USER_BYTES], program[NAME_MAX + 1], scheduler[ORIGIN_JOB_BYTES] = "", number[24], host[64] = "";
    struct launch launch = job_launch();
    origin_user(user);
    if (!user[0])
        snprintf(user, sizeof user, "%lu", (unsigned long)geteuid());
    origin_program(program);
    batch_job(scheduler);
    snprintf(number, sizeof number, "%016" PRIx64, job_number(opened->asked, launch.size > 0 ? launch.size : 1));
    gethostname(host, sizeof host - 1);
    const char *blank = strchr(scheduler, ' ');
    struct output_values values = {time(NULL), user, program, blank ? blank + 1 : number, host};
    return output_expand(pattern, &values, path, PATH_MAX, reason);
}

/* What the site writes holds for all jobs, wherever they start. */
static bool is_of_any_place(const char *output)
{
    return output[0] == '/' && !strchr(output, '"') && !strstr(output, " #") && !strstr(output, "\t#");
}

static void directory_read(struct opened *opened)
{
    const char *output = setting("MPIT_OUTPUT");
    char path[PATH_MAX], reason[128] = "", place[SETTING_PLACE_BYTES];
    if (!output || !output[0])
        return;
    absolute_write(opened->asked, output);
    if (setting_is_of_site("MPIT_OUTPUT") && !is_of_any_place(output))
        snprintf(reason, sizeof reason, "allowed is an absolute path, without quotes or a comment");
    else if (!strchr(output, '%'))
        strcpy(opened->directory, opened->asked);
    else if (pattern_expand(opened, output, path, reason))
        absolute_write(opened->directory, path);
    if (reason[0])
        snprintf(opened->problem, sizeof opened->problem, "%sMPIT_OUTPUT=%.200s cannot be used: %s",
                 setting_place("MPIT_OUTPUT", place), output, reason);
}

static bool trace_is_ring(void)
{
    char policy[KNOB_TEXT_BYTES];
    knob_read_text(KNOB_TRACE_POLICY, policy);
    return strcmp(policy, "ring") == 0;
}

/* Notes rank and size, as far as the launcher tells them before MPI_Init does. A process that never returns from
 * MPI_Init has only these. */
static void launch_note(struct run_header *header, const char *directory)
{
    struct launch launch = job_launch();
    if (launch.rank < 0)
        return;
    header->launched_as = (uint32_t)launch.rank + 1;
    header->launched_size = (uint32_t)launch.size;
    header->job = job_number(directory, launch.size);
}

void spool_share_set(const struct opened *opened, uint64_t part)
{
    struct launch launch = job_launch();
    int32_t nodes = launch.nodes > 0 ? launch.nodes : 1;
    int32_t here = launch.local_size > 0 ? launch.local_size : (launch.size + nodes - 1) / nodes;
    if (knob_load(KNOB_TRACE) && opened->spool[0] && run_has_file(&book.run) && !book.run.detached)
        room_in(book.run.header)->share = room_share(opened->spool, 0, (uint64_t)here * part);
}

/* A ring is never moved while it is written, so it must fit into the spool. */
static void spool_limit_set(const struct opened *opened)
{
    struct run *run = &book.run;
    uint64_t most = knob_load(KNOB_SPOOL_LIMIT_BYTES);
    if (!run_has_file(run))
        return;
    run->header->spool_limit = most;
    if (run->places && (!run->trace_limit || run->trace_limit > most))
        (void)!run_limits_set(run, run->memory_limit, most); /* false: the trace is longer already */
    if (!opened->trace_asked)
        return;
    spool_share_set(opened, EARLY_PART);
    handover_drain(opened->spool, opened->directory);
}

/* The bytes that a brief trace of a process may have. 0: too few to tell anything. */
static uint64_t brief_limit(void)
{
    enum { JOB_MOST = 256 << 20, MOST = 8 << 20, LEAST = 128 << 10 };
    const struct launch launch = job_launch();
    uint64_t share = (uint64_t)JOB_MOST / (uint64_t)(launch.size > 0 ? launch.size : 1);
    return share < LEAST ? 0 : share < MOST ? share : MOST;
}

static void brief_begin(struct opened *opened)
{
    uint64_t most = brief_limit();
    opened->clocks_asked = most != 0;
    if (!most || !run_has_file(&book.run) || !run_limits_set(&book.run, book.run.memory_limit, most))
        return;
    run_trace_policy(&book.run, TRACE_BRIEF);
    if (book.run.header->trace_policy != TRACE_BRIEF)
        return;
    knob_store(KNOB_TRACE, TRACE_BRIEFLY);
    room_in(book.run.header)->share = ROOM_FIRST_BYTES; /* until MPI_Init has returned */
}

static const char *said_in = ""; /* the spool, where each remark is made once */

void opened_say(const char *format, ...)
{
    char line[1024];
    va_list args;
    uint64_t hash = book.run.header ? book.run.header->job : 0;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    hash = hash_text(hash, n > 0 ? line : "");
    bool first = said_in[0] ? spool_speaks_first(said_in, hash) : !book.run.header || run_rank(book.run.header) <= 0;
    if (n > 0 && first)
        native_say("%s", line);
}

static void run_problem_say(const char *text)
{
    opened_say("mpit: %s", text);
}

/* Opens the live file in the spool. Between the two steps, a process that collects another job may remove the spool. */
static bool live_open(struct opened *opened, struct run_problem *problem)
{
    enum { TRIES = 5 };
    char reason[SPOOL_PROBLEM_BYTES] = "";
    int result = -1;
    for (int i = 0; i < TRIES; i++) {
        bool spool = opened->directory[0] && spool_make(opened->directory, opened->spool, reason) == 0;
        result = run_open(&book.run, spool ? opened->spool : NULL, knob_load(KNOB_BUFFER_LIMIT_BYTES),
                          knob_load(KNOB_TRACE_LIMIT_BYTES), problem);
        if (!spool || result != 0 || run_has_file(&book.run) || problem->error != ENOENT)
            break;
        run_abandon(&book.run);
    }
    if (result == 0 && !run_has_file(&book.run))
        opened->spool[0] = '\0';
    said_in = opened->spool;
    bool told = opened->spool[0] && spool_is_watched(opened->spool); /* by mpit-run on this node */
    if (reason[0] && !problem->text[0] && !told)
        snprintf(problem->text, sizeof problem->text, "%s", reason);
    return result == 0;
}

bool run_start(struct opened *opened)
{
    struct run_problem problem;
    const char *reduce = setting("MPIT_REDUCE"), *briefly = setting("MPIT_BRIEF");
    hide_read();
    directory_read(opened);
    run_say = run_problem_say;
    clock_open();
    settings_read();
    opened->trace_asked = opened->clocks_asked = knob_load(KNOB_TRACE) != 0;
    bool brief = !opened->trace_asked && briefly && strcmp(briefly, "1") == 0 && !trace_is_ring();
    if (!live_open(opened, &problem)) {
        native_say("mpit: no memory for the recorder; nothing is recorded");
        return false;
    }
    if (problem.text[0]) {
        opened_say("mpit: %s%s", problem.text,
                   run_has_file(&book.run) ? "" : "; this process is counted in memory only");
        book.run.said = !run_has_file(&book.run);
    } else {
        opened->trace_refused = opened->trace_asked && !run_has_file(&book.run);
    }
    run_guard(&book.run);
    book.run.header->apart = reduce && strcmp(reduce, "0") == 0;
    if (!run_has_file(&book.run))
        knob_store(KNOB_TRACE, 0);
    run_trace_policy(&book.run, trace_is_ring() ? TRACE_RING : TRACE_STOP);
    spool_limit_set(opened);
    if (brief)
        brief_begin(opened);
    tracing_begin(knob_load(KNOB_TRACE) != 0);
    switchboard_open();
    counters_open();
    stall_open();
    fabric_open();
    snprintf(book.run.header->mpi, sizeof book.run.header->mpi, "%.63s", native.version);
    launch_note(book.run.header, opened->asked);
    (void)book_open(); /* without memory all calls are lost, and counted (log_refuse) */
    origin_note(&book.run);
    counters_publish();
    instrument_run_begin();
    return true;
}
