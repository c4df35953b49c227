#include "progress/stall.h"

#include "progress/polling.h"
#include "progress/processor.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

uint8_t stall_may_wait[CALL_COUNT];
struct stall_rest stall_rest;
uint32_t stall_patience = PATIENCE_LEAST;

static struct clock_scale scale;
static uint32_t patience_ticks = 4000, long_ticks = 200000;

/* True if the call may wait, by its name: the standard names calls that do not wait so. MPI_Init begins like a
 * nonblocking call, and its waits for other processes are not watched. */
static bool waits(const char *name)
{
    static const char *const never[] = {"MPI_Test",     "MPI_I",         "MPI_Start",    "MPI_Request_get_status",
                                        "MPI_Pready",   "MPI_Parrived",  "MPI_Win_test", "MPI_File_i",
                                        "MPI_Comm_i",   "MPI_Session_i", "MPI_Cancel",   "MPI_Request_free",
                                        "MPI_Grequest", "MPI_Buffer_i"};
    if (strncmp(name, "MPI_Intercomm_", strlen("MPI_Intercomm_")) == 0)
        return true;
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
        if (strncmp(name, never[i], strlen(never[i])) == 0)
            return false;
    return true;
}

void stall_open(void)
{
    for (size_t i = 1; i < CALL_COUNT; i++)
        stall_may_wait[i] = waits(call_table[i].name) && !call_table[i].local;
}

static inline void stalled_show(struct log *log, uint64_t since)
{
    RELAXED_STORE(&log->own.record->stalled, since);
}

static void stall_begin(struct log *log, uint64_t since)
{
    struct stall *stall = &log->stall;
    stall->since = since;
    stall->left = 0;
    stall->slept = true;
    RELAXED_STORE(&stall_rest.calls, 0);
    if (RELAXED_LOAD(&stall_rest.rests))
        stall_opal_rest_end();
    if (stall->times++ == 0) {
        stall->ticks = 0;
        stall->first = stall->since;
    }
    stalled_show(log, stall->since - stall->ticks);
}

/* Polls that read the clock teach their length if they were many. A sleep among them is limited to this. */
enum { LEARNED_FROM = 8, PATIENCE_NS = 2000 };

/* Longer work, and longer polls, may have been without a processor. Then so many stalls begin with a look at the
 * thread's time on a processor. */
enum { LONG_NS = 100000, CROWDED = 64 };

void stall_scale(struct log *log, struct clock_scale known, bool yields)
{
    scale = known;
    patience_ticks = (uint32_t)clock_ticks(scale, PATIENCE_NS);
    long_ticks = (uint32_t)clock_ticks(scale, LONG_NS);
    if (yields)
        stall_patience = 0;
    if (yields && log)
        log->stall.patience = 0;
}

static void idle_learn(struct stall *stall, uint64_t now)
{
    stall->patience = stall_patience ? stall->patience : 0;
    if (!stall_patience || stall->polls < LEARNED_FROM)
        return;
    uint64_t idle = (now - stall->watched) / stall->polls, most = patience_ticks / 4;
    idle = idle < most ? idle : most;
    /* longer ones may have been without a processor */
    stall->idle = stall->idle && idle > stall->idle ? (uint32_t)((stall->idle * 15 + idle) / 16) : (uint32_t)idle;
    stall->patience = stall->idle ? patience_ticks / stall->idle : PATIENCE_MOST;
    if (stall->patience > PATIENCE_MOST)
        stall->patience = PATIENCE_MOST;
    if (stall->patience < PATIENCE_LEAST)
        stall->patience = PATIENCE_LEAST;
}

static void stall_pause(struct log *log, uint64_t now)
{
    struct stall *stall = &log->stall;
    idle_learn(stall, now);
    if (stall_patience || now - stall->since > patience_ticks) /* where polls yield it may be a short wait: work */
        stall->ticks += now - stall->since;
    stall->since = 0;
    stall->polling = stall->patience; /* it waits anew, and the thread is in no poll any more */
    stall->working = now;
    if (!stall->work)
        stall->work = now;
    stalled_show(log, 0);
}

static void processor_look(struct stall *stall)
{
    stall->looked = clock_now();
    stall->processor = processor_time(scale);
}

/* Returns how long the call had no processor since its last stall, at least. It cannot have worked then. Calls on files
 * may sleep in the system, which is work. */
static uint64_t without_processor(struct log *log, uint64_t now)
{
    struct stall *stall = &log->stall;
    uint64_t looked = stall->looked, before = stall->processor, working = now - stall->working;
    if (working <= long_ticks || call_table[log->state->call].fold == FOLD_IO)
        return 0;
    stall->crowded = CROWDED;
    if (looked < log->state->since)
        return 0;
    processor_look(stall);
    uint64_t passed = now - looked, used = stall->processor - before, without = passed > used ? passed - used : 0;
    if (without > working / 2 && stall->work == stall->working)
        stall->work = 0; /* samples say the same */
    return without < working ? without : working;
}

/* In a stall, or before the poll that may begin one. */
void stall_poll_begin(struct log *log)
{
    struct stall *stall = &log->stall;
    uint64_t now = clock_now();
    if (stall->since && now - stall->since > long_ticks && now - stall->looked > long_ticks) {
        if (now - stall->poll > long_ticks)
            stall->crowded = CROWDED;
        processor_look(stall);
    }
    stall->poll = now;
    stall->polls++;
}

/* The stall began with the first empty poll, after the last work. If the call has moved data before, as in a large
 * transfer, the few empty polls between two pieces count as work. */
static void patience_end(struct log *log)
{
    struct stall *stall = &log->stall;
    uint64_t now = stall->poll, spent = (uint64_t)stall->patience * stall->idle, call = log->state->since;
    uint64_t working = stall->working > call ? stall->working : call;
    stall->watched = now;
    stall->polls = 1;
    if (stall->moved == call)
        spent = 0;
    now = now - working > spent ? now - spent : working;
    if (stall->times)
        stall->ticks += without_processor(log, now);
    stall_begin(log, now);
    if (stall->crowded && stall->crowded--)
        processor_look(stall);
}

void poll_outermost_end(struct log *log)
{
    struct stall *stall = &log->stall;
    if (stall->found) {
        stall_pause(log, stall->poll);
        poll_moved(log);
    } else if (stall->since == 0) {
        patience_end(log);
    }
}

/* It counts like polls that do not go the quick way. */
void poll_quick_leave(struct log *log, bool found)
{
    if (log->stall.since == 0)
        log->stall.left++;
    poll_end(log, found);
}

void poll_found(void)
{
    struct log *log = thread_log;
    if (!log)
        return;
    if (RELAXED_LOAD(&stall_rest.rests) && poll_is_quick(log)) { /* if in a poll, in one that is not watched */
        if (stall_waiting()) {
            stall_opal_rest_end();
            poll_moved(log);
        }
        return;
    }
    log->stall.polling |= POLL_INSIDE_FOUND; /* the whole word, which is read next: storing a byte would delay that */
}

/* A stall that polls began goes on after the sleep. So does a stall inside of a poll, whose end says if it found
 * something. */
struct log *sleep_begin(void)
{
    struct log *log = stall_waiting();
    if (!log || log->stall.since)
        return NULL;
    log->stall.kept = log->stall.left;
    stall_begin(log, clock_now());
    log->stall.polls = 0;
    log->stall.watched = log->stall.since;
    return log;
}

void sleep_end(struct log *log)
{
    if (!log->stall.since)
        return;
    if (log->stall.depth) {
        log->stall.poll = clock_now(); /* a find of this poll counts from now on */
        return;
    }
    stall_pause(log, clock_now());
    log->stall.left = log->stall.kept; /* MPICH 5 sleeps after each poll, so its empty polls are counted on */
}

bool stall_end(struct log *log, const struct probe *probe, const struct event *call, uint64_t duration,
               struct event *record)
{
    struct stall *stall = &log->stall;
    uint64_t ticks = stall->ticks, end = probe->begin + duration;
    if (stall->since && end > stall->since)
        ticks += end - stall->since;
    else if (!stall->since && end > stall->working)
        ticks += without_processor(log, end);
    *record = (struct event){.begin = stall->first,
                             .duration = event_kind(call),
                             .kind = RECORD_STALL,
                             .comm = call->comm,
                             .peer = call->peer,
                             .tag = stall->times < INT32_MAX ? (int32_t)stall->times : INT32_MAX,
                             .bytes = ticks < duration ? ticks : duration};
    stall_forget(log);
    return duration != 0 && record->bytes != 0;
}

void stall_forget(struct log *log)
{
    log->stall.since = 0;
    log->stall.times = 0;
    log->stall.polling = log->stall.patience;
    stalled_show(log, 0);
}
