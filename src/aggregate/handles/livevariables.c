#include "handles/livevariables.h"

#include "handles/objectcells.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAIL " Reading it is async-signal-safe"

#define THREADS(title, kind, dimension, from, enumeration, text)                                                       \
    {                                                                                                                  \
        .record = {.name = (title), .unit = (dimension), .class = VARIABLE_##kind, .combine = COMBINE_NONE},           \
        .extreme = EXTREME_NONE, .source = (from), .names = (enumeration),                                             \
        .description = text " Element i is thread i of the threads that have called MPI, in the order of their first " \
                            "calls. Elements after the last one are 0." TAIL "."                                       \
    }

static const struct variable threads[] = {
    THREADS("mpit_thread_state", STATE, "", SOURCE_THREAD_STATE, NAMES_STATE,
            "State of each thread: not in MPI, at work in it, or stalled, by the purpose of the call."),
    THREADS("mpit_thread_call", STATE, "", SOURCE_THREAD_CALL, NAMES_CALL,
            "MPI function that each thread is in, 0 = none."),
    THREADS("mpit_thread_call_time", LEVEL, "ns", SOURCE_THREAD_TIME, NAMES_NONE,
            "How long each thread has been in its current MPI call, in nanoseconds. 0: it is not in a call, or the "
            "call is not timed (mpit_timing)."),
    THREADS("mpit_thread_id", GENERIC, "", SOURCE_THREAD_ID, NAMES_NONE,
            "The kernel's number of each thread. A later thread may have the element of an ended one."),
};

enum { THREAD_VARIABLES = sizeof threads / sizeof threads[0] };

#define QUEUE(title, from, text)                                                                                       \
    {                                                                                                                  \
        .record = {.name = (title), .unit = "", .class = VARIABLE_LEVEL, .count = 1, .combine = COMBINE_NONE},         \
        .extreme = EXTREME_NONE, .source = (from), .names = NAMES_NONE, .description = text TAIL "."                   \
    }
#define QUEUE_NAME "under MPICH's name, and with its type (MPI_UNSIGNED). "

static const struct variable queues[] = {
    QUEUE("mpit_umq_length_total", SOURCE_UMQ_TOTAL,
          "Unexpected messages of the process: the sum of mpit_umq_length over its current communicators."),
    QUEUE("unexpected_recvq_length", SOURCE_RECVQ_UNEXPECTED, "mpit_umq_length_total " QUEUE_NAME),
    QUEUE("posted_recvq_length", SOURCE_RECVQ_POSTED,
          "mpit_pending_recvs_total " QUEUE_NAME "A receive with an arriving message counts until it is complete."),
};

enum { QUEUE_VARIABLES = sizeof queues / sizeof queues[0] };

#define OBJECT(title, kind, dimension, to, cell, text)                                                                 \
    {                                                                                                                  \
        .record = {.name = (title),                                                                                    \
                   .unit = (dimension),                                                                                \
                   .class = VARIABLE_##kind,                                                                           \
                   .bound = (to),                                                                                      \
                   .count = 1,                                                                                         \
                   .combine = COMBINE_SUM,                                                                             \
                   .terms = {{.block = BLOCK_OBJECT, .weight = 1, .first = (cell), .run = 1, .step = 1}}},             \
        .extreme = EXTREME_NONE, .source = SOURCE_CELLS, .names = NAMES_NONE,                                          \
        .description = text " " COST_OBJECTS TAIL " and wait-free.", .demand = DEMAND_OBJECTS                          \
    }

static const struct variable objects[] = {
    OBJECT("mpit_win_rma_count", COUNTER, "", BOUND_WINDOW, OBJECT_COUNT,
           "This process's accesses to the window that have read or written data at targets."),
    OBJECT("mpit_win_rma_bytes", AGGREGATE, "bytes", BOUND_WINDOW, OBJECT_BYTES,
           "Data that this process has read or written at targets of the window, in bytes."),
    OBJECT("mpit_win_rma_time", TIMER, "ticks", BOUND_WINDOW, OBJECT_TIME,
           "Time inside calls on the window, in nanoseconds."),
    OBJECT("mpit_file_io_count", COUNTER, "", BOUND_FILE, OBJECT_COUNT,
           "This process's completed accesses to the file that have read or written data."),
    OBJECT("mpit_file_io_bytes", AGGREGATE, "bytes", BOUND_FILE, OBJECT_BYTES,
           "Data that this process has read from or written to the file in completed accesses, in bytes."),
    OBJECT("mpit_file_io_time", TIMER, "ticks", BOUND_FILE, OBJECT_TIME,
           "Time inside calls on the file, in nanoseconds."),
};

enum { OBJECT_VARIABLES = sizeof objects / sizeof objects[0] };

static struct variable *live;
static size_t count;

static bool has_total(const struct variable *variable)
{
    const struct variable_record *record = &variable->record;
    return record->bound && record->combine == COMBINE_SUM && record->terms[0].block != BLOCK_PEERS;
}

/* False: no memory. */
static bool total_make(const struct variable *of, struct variable *total)
{
    char *title = NULL, *text = NULL;
    const char *tail = strstr(of->description, TAIL);
    int length = tail ? (int)(tail - of->description) : (int)strlen(of->description);
    if (asprintf(&title, "%s_total", of->record.name) < 0)
        return false;
    if (asprintf(&text, "Sum over all communicators of this process, including freed ones: %.*s" TAIL ".", length,
                 of->description) < 0) {
        free(title);
        return false;
    }
    *total = *of;
    snprintf(total->record.name, VARIABLE_NAME_BYTES, "%.*s", VARIABLE_NAME_BYTES - 1, title);
    total->record.bound = 0;
    total->title = title;
    total->description = text;
    total->difference = DIFFERENCE_TOTAL;
    total->total = true;
    return true;
}

static void live_make(void)
{
    live = calloc(variable_count + THREAD_VARIABLES + QUEUE_VARIABLES + OBJECT_VARIABLES, sizeof *live);
    if (!live)
        return;
    for (size_t i = 0; i < THREAD_VARIABLES; i++)
        live[count++] = threads[i];
    for (size_t i = 0; i < variable_count; i++)
        if (has_total(&variables[i]) && total_make(&variables[i], &live[count]))
            count++;
    for (size_t i = 0; i < QUEUE_VARIABLES; i++)
        live[count++] = queues[i];
    for (size_t i = 0; i < OBJECT_VARIABLES; i++) /* the last: see catalogue.c, never_usable */
        live[count++] = objects[i];
}

size_t live_variable_count(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, live_make);
    return count;
}

const struct variable *live_variable_at(size_t index)
{
    return &live[index];
}

uint64_t live_receives_pending(void)
{
    static const struct variable total = {
        .record = {.class = VARIABLE_LEVEL,
                   .count = 1,
                   .combine = COMBINE_SUM,
                   .terms = {{.block = BLOCK_SHARED,
                              .weight = 1,
                              .first = offsetof(struct shared_cells, recvs.now) / sizeof(uint64_t),
                              .run = 1,
                              .step = 1}}},
        .extreme = EXTREME_NONE,
        .total = true};
    return book_sample(&total, NULL, 0);
}
