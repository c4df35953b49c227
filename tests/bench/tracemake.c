/*
 * tracemake DIRECTORY RANKS CALLS [REGIONS]
 *
 * A run directory with the live files of a job with a trace, of so many calls on each rank, without running them:
 * messages around a ring, blocking and not, and now and then a collective. With REGIONS, so many regions of another
 * library for each four calls, in regions for each step, phase and all of it, one inside of a call, and a sample. For
 * tests of what reads large traces.
 */
#include "calls.h"
#include "clock/clock.h"
#include "format/pack.h"
#include "traceappend.h"
#include "figures/variables.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_EVENTS = 4096, STEP_TICKS = 4000, COLLECTIVE_EVERY = 50, WORLD = 1, BEGIN = 1000 };
enum { REGIONS_MOST = 100, PHASE_STEPS = 10000, KERNELS_FROM = 3520, KERNEL_TICKS = 4 };
enum instrument { SOLVER = 1, PHASE, STEP, KERNEL, CALLBACK, LEVEL, INSTRUMENTS_END };

struct maker {
    struct run run;
    struct thread_record *thread;
    uint64_t *cell;
    int rank, size;
    uint64_t calls, random;
    int regions;
    uint32_t waiting; /* events in the buffer */
    struct event buffer[BUFFER_EVENTS];
    unsigned char packed[BUFFER_EVENTS * PACK_MOST];
    struct packer packer;
};

/* xorshift */
static uint64_t jitter(struct maker *maker)
{
    maker->random ^= maker->random << 13;
    maker->random ^= maker->random >> 7;
    maker->random ^= maker->random << 17;
    return maker->random % 200;
}

static void buffer_write(struct maker *maker)
{
    packer_begin(&maker->packer, maker->buffer, maker->packed);
    size_t bytes = packer_go_on(&maker->packer, maker->buffer + maker->waiting);
    if (!run_trace_append_packed(&maker->run, 0, *maker->cell, maker->waiting, maker->packed, bytes))
        errx(1, "the trace of rank %d cannot be written", maker->rank);
    *maker->cell += maker->waiting;
    maker->waiting = 0;
}

static void record_put(struct maker *maker, struct event event)
{
    maker->buffer[maker->waiting++] = event;
    if (maker->waiting == BUFFER_EVENTS)
        buffer_write(maker);
}

static void put(struct maker *maker, struct event event)
{
    event.comm = WORLD;
    maker->calls += event_kind(&event) < CALL_COUNT;
    record_put(maker, event);
}

static void region_put(struct maker *maker, enum instrument region, uint64_t begin, uint64_t end)
{
    bool wide = end - begin >= EVENT_DURATION_WIDE;
    struct event_extension extension = {.duration = end - begin, .kind = RECORD_EXTENSION};
    struct event event = {.begin = begin, .kind = EVENT_REGION, .peer = (int32_t)region};
    event.duration = wide ? EVENT_DURATION_WIDE : (uint32_t)(end - begin);
    if (!maker->regions)
        return;
    event.kind |= wide ? EVENT_WIDE : 0;
    record_put(maker, event);
    memcpy(&event, &extension, sizeof event);
    if (wide)
        record_put(maker, event);
}

/* At the end of a step, `begin`: of it. */
static void regions_put(struct maker *maker, uint64_t i, uint64_t begin)
{
    uint64_t phase = begin - i % PHASE_STEPS * STEP_TICKS;
    for (int k = 0; k < maker->regions; k++)
        region_put(maker, KERNEL, begin + KERNELS_FROM + (uint64_t)k * KERNEL_TICKS,
                   begin + KERNELS_FROM + (uint64_t)k * KERNEL_TICKS + KERNEL_TICKS - 1);
    region_put(maker, STEP, begin, begin + STEP_TICKS - 3);
    if (i % PHASE_STEPS == PHASE_STEPS - 1)
        region_put(maker, PHASE, phase, begin + STEP_TICKS - 2);
    if (maker->regions)
        record_put(maker,
                   (struct event){.begin = begin + STEP_TICKS - 1, .kind = EVENT_METRIC, .peer = LEVEL, .bytes = i});
}

static uint32_t lasts(struct maker *maker, uint32_t least)
{
    return least + (uint32_t)jitter(maker);
}

/* One turn of the program's loop: four calls, three records behind them. */
static void step(struct maker *maker, uint64_t i)
{
    uint64_t at = BEGIN + 1000 + i * STEP_TICKS + jitter(maker);
    int next = (maker->rank + 1) % maker->size, before = (maker->rank + maker->size - 1) % maker->size;
    int tag = (int)(i % 5);
    uint64_t bytes = 8 + i % 7;
    put(maker, (struct event){at, lasts(maker, 700), CALL_MPI_Sendrecv, 0, next, tag, bytes});
    put(maker, (struct event){at, 0, RECORD_RECEIVE, 0, before, tag, bytes});
    uint64_t received = at + 1000 + jitter(maker), sent = received + 300 + jitter(maker);
    put(maker, (struct event){received, lasts(maker, 50), CALL_MPI_Irecv, 0, before, 9, 64});
    put(maker, (struct event){sent, lasts(maker, 50), CALL_MPI_Isend, 0, next, 9, 8});
    uint64_t waits = sent + 300 + jitter(maker);
    region_put(maker, CALLBACK, waits + 100, waits + 200);
    put(maker, (struct event){waits, lasts(maker, 700), CALL_MPI_Waitall, 0, 2, 2, 0});
    put(maker, (struct event){received, CALL_MPI_Irecv, RECORD_RECV_DONE, 0, before, 9, 8});
    put(maker, (struct event){sent, CALL_MPI_Isend, RECORD_SEND_DONE, 0, next, 9, 8});
    if (i % COLLECTIVE_EVERY == 0)
        put(maker, (struct event){at + 3000, lasts(maker, 300), CALL_MPI_Allreduce, 0, PEER_NONE, 8, 8});
    regions_put(maker, i, BEGIN + 1000 + i * STEP_TICKS);
}

static void calls_name(struct run *run)
{
    uint64_t offset;
    struct call_record *calls = run_alloc(run, CALL_COUNT * sizeof *calls, &offset);
    if (!calls)
        errx(1, "no memory");
    for (int kind = 0; kind < CALL_COUNT; kind++) {
        snprintf(calls[kind].name, sizeof calls[kind].name, "%s", call_table[kind].name);
        calls[kind].class = call_table[kind].class;
        calls[kind].role = call_table[kind].role;
    }
    run->header->calls = offset;
    run->header->call_count = CALL_COUNT;
}

static void instruments_name(struct run *run)
{
    static const char *const names[INSTRUMENTS_END] = {[SOLVER] = "solver", [PHASE] = "phase",       [STEP] = "step",
                                                       [KERNEL] = "kernel", [CALLBACK] = "callback", [LEVEL] = "level"};
    for (uint32_t id = SOLVER; id < INSTRUMENTS_END; id++) {
        uint64_t offset;
        struct instrument_record *record = run_alloc(run, sizeof *record, &offset);
        if (!record)
            errx(1, "no memory");
        *record = (struct instrument_record){.id = id, .class = VARIABLE_LEVEL, .type = 4, .count = 1};
        record->kind = id == LEVEL ? INSTRUMENT_VARIABLE : INSTRUMENT_REGION;
        snprintf(record->name, sizeof record->name, "%s", names[id]);
        run_link(run, &run->header->first_instrument, &record->next, offset);
    }
}

static void begin(struct maker *maker, const char *directory)
{
    struct run_problem problem;
    uint64_t cell, offset;
    if (run_directory_make(directory, NULL) != 0 ||
        run_open(&maker->run, directory, UINT64_C(1) << 30, UINT64_C(1) << 40, &problem) != 0 || problem.text[0])
        errx(1, "%s", problem.text);
    struct run_header *header = maker->run.header;
    header->job = 42;
    header->world_rank = maker->rank;
    header->world_size = maker->size;
    header->traced = 1;
    header->clock_kind = CLOCK_KIND_MONOTONIC;
    header->clock_mult = UINT64_C(1) << 32;
    header->begin_ticks = BEGIN;
    header->begin_realtime_ns = UINT64_C(1700000000000000000);
    snprintf(header->program, sizeof header->program, "tracemake");
    calls_name(&maker->run);
    if (maker->regions)
        instruments_name(&maker->run);
    maker->cell = run_alloc(&maker->run, sizeof *maker->cell, &cell);
    maker->thread = run_alloc(&maker->run, sizeof *maker->thread, &offset);
    maker->thread->events_cell = cell;
    run_link(&maker->run, &header->first_thread, &maker->thread->next, offset);
    struct comm_record *comm = run_alloc(&maker->run, sizeof *comm, &offset);
    *comm = (struct comm_record){.slot = WORLD, .size = maker->size, .rank = maker->rank, .name = "MPI_COMM_WORLD"};
    run_link(&maker->run, &header->first_comm, &comm->next, offset);
}

int main(int argc, char *argv[])
{
    static struct maker maker;
    bool given = argc == 4 || argc == 5;
    int ranks = given ? atoi(argv[2]) : 0, regions = argc == 5 ? atoi(argv[4]) : 0;
    uint64_t calls = given ? strtoull(argv[3], NULL, 10) : 0;
    if (ranks < 1 || calls < 1 || regions < 0 || regions > REGIONS_MOST)
        errx(2, "usage: tracemake DIRECTORY RANKS CALLS [REGIONS]");
    clock_open();
    for (int rank = 0; rank < ranks; rank++) {
        char path[4096], place[4096];
        maker = (struct maker){
            .rank = rank, .size = ranks, .random = 88172645463325252u + (uint64_t)rank, .regions = regions};
        begin(&maker, argv[1]);
        snprintf(path, sizeof path, "%s", maker.run.path);
        snprintf(place, sizeof place, "%.4000s/rank%d" RUN_FILE_SUFFIX, argv[1], rank); /* names by PID are limited */
        uint64_t steps = 0;
        while (maker.calls < calls)
            step(&maker, steps++);
        region_put(&maker, SOLVER, BEGIN + 1000, BEGIN + 1000 + steps * STEP_TICKS);
        if (maker.waiting)
            buffer_write(&maker);
        run_close(&maker.run, RUN_FINALIZED, true);
        maker.run.header->end_ticks = BEGIN + 2000 + steps * STEP_TICKS;
        if (rename(path, place) != 0)
            err(1, "%s", place);
    }
    return 0;
}
