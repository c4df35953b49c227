/*
 * tracemake DIRECTORY RANKS CALLS
 *
 * A run directory as mpit-run --trace --no-compact leaves it, of so many calls on each rank, without running them:
 * messages around a ring, blocking and not, and now and then a collective. For tests of what reads large traces.
 */
#include "calls.h"
#include "clock.h"
#include "pack.h"
#include "run.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUFFER_EVENTS = 4096, STEP_TICKS = 4000, COLLECTIVE_EVERY = 50, WORLD = 1, BEGIN = 1000 };

struct maker {
    struct run run;
    struct thread_record *thread;
    uint64_t *cell;
    int rank, size;
    uint64_t calls, random;
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
    size_t bytes = events_pack(&maker->packer, maker->buffer, maker->waiting, maker->packed);
    if (!run_trace_append_packed(&maker->run, 0, *maker->cell, maker->waiting, maker->packed, bytes))
        errx(1, "the trace of rank %d cannot be written", maker->rank);
    *maker->cell += maker->waiting;
    maker->waiting = 0;
}

static void put(struct maker *maker, struct event event)
{
    event.comm = WORLD;
    maker->buffer[maker->waiting++] = event;
    maker->calls += event_kind(&event) < CALL_COUNT;
    if (maker->waiting == BUFFER_EVENTS)
        buffer_write(maker);
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
    put(maker, (struct event){sent + 300 + jitter(maker), lasts(maker, 700), CALL_MPI_Waitall, 0, 2, 2, 0});
    put(maker, (struct event){received, CALL_MPI_Irecv, RECORD_RECV_DONE, 0, before, 9, 8});
    put(maker, (struct event){sent, CALL_MPI_Isend, RECORD_SEND_DONE, 0, next, 9, 8});
    if (i % COLLECTIVE_EVERY == 0)
        put(maker, (struct event){at + 3000, lasts(maker, 300), CALL_MPI_Allreduce, 0, PEER_NONE, 8, 8});
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

static void begin(struct maker *maker, const char *directory)
{
    struct run_problem problem;
    uint64_t cell, offset;
    if (run_open(&maker->run, directory, UINT64_C(1) << 30, UINT64_C(1) << 40, &problem) != 0 || problem.text[0])
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
    int ranks = argc == 4 ? atoi(argv[2]) : 0;
    uint64_t calls = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
    if (ranks < 1 || calls < 1)
        errx(2, "usage: tracemake DIRECTORY RANKS CALLS");
    clock_open();
    for (int rank = 0; rank < ranks; rank++) {
        maker = (struct maker){.rank = rank, .size = ranks, .random = 88172645463325252u + (uint64_t)rank};
        begin(&maker, argv[1]);
        uint64_t steps = 0;
        while (maker.calls < calls)
            step(&maker, steps++);
        if (maker.waiting)
            buffer_write(&maker);
        run_close(&maker.run, RUN_FINALIZED, true);
        maker.run.header->end_ticks = BEGIN + 2000 + steps * STEP_TICKS;
    }
    return 0;
}
