#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "jobfixture.h"

#include "calls.h"
#include "clock.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

struct job_fixture job;

static int entry_remove(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

int job_directory_make(void **state)
{
    (void)state;
    snprintf(job.directory, sizeof job.directory, "/tmp/test_otf2.XXXXXX");
    return mkdtemp(job.directory) ? 0 : -1;
}

int job_directory_remove(void **state)
{
    (void)state;
    return nftw(job.directory, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static void calls_make(struct run *run)
{
    uint64_t offset;
    struct call_record *calls = run_alloc(run, CALL_COUNT * sizeof *calls, &offset);
    for (int kind = 0; kind < CALL_COUNT; kind++) {
        snprintf(calls[kind].name, sizeof calls[kind].name, "%s", call_table[kind].name);
        calls[kind].class = call_table[kind].class;
        calls[kind].role = call_table[kind].role;
    }
    run->header->calls = offset;
    run->header->call_count = CALL_COUNT;
}

void thread_make(struct rank_fixture *maker, uint32_t thread)
{
    uint64_t cell, offset;
    maker->cells[thread] = run_alloc(&maker->run, sizeof(uint64_t), &cell);
    struct thread_record *record = run_alloc(&maker->run, sizeof *record, &offset);
    record->index = thread;
    record->events_cell = cell;
    maker->threads[thread] = record;
    run_link(&maker->run, &maker->run.header->first_thread, &record->next, offset);
    maker->chunks[thread] = run_ring_open(&maker->run, thread, CHUNK_EVENTS);
    assert_non_null(maker->chunks[thread]);
}

void comm_make(int rank, struct comm_record filled)
{
    uint64_t offset;
    struct run *run = &job.ranks[rank].run;
    struct comm_record *record = run_alloc(run, sizeof *record, &offset);
    *record = filled;
    run_link(run, &run->header->first_comm, &record->next, offset);
}

void rank_make(int rank, int size)
{
    struct run_problem problem;
    struct rank_fixture *maker = &job.ranks[rank];
    clock_open();
    assert_int_equal(run_open(&maker->run, job.directory, UINT64_C(1) << 30, 0, &problem), 0);
    struct run_header *header = maker->run.header;
    header->job = 42;
    header->world_rank = rank;
    header->world_size = size;
    header->traced = 1;
    header->clock_kind = CLOCK_KIND_MONOTONIC;
    header->clock_mult = UINT64_C(1) << 32;
    header->begin_ticks = BEGIN + (uint64_t)rank;
    header->begin_realtime_ns = UINT64_C(1700000000000000000) + (uint64_t)rank;
    calls_make(&maker->run);
    thread_make(maker, 0);
    comm_make(rank, (struct comm_record){.slot = WORLD, .size = size, .rank = rank, .name = "MPI_COMM_WORLD"});
    comm_make(rank, (struct comm_record){.slot = SELF, .size = 1, .name = "MPI_COMM_SELF"});
}

void event_put(int rank, int thread, struct event event)
{
    struct rank_fixture *maker = &job.ranks[rank];
    struct event *events = (struct event *)(maker->chunks[thread] + 1);
    uint64_t number = *maker->cells[thread];
    assert_true(number < CHUNK_EVENTS);
    events[number] = event;
    *maker->cells[thread] = number + 1;
}

void rank_end(int rank, enum run_phase phase)
{
    run_close(&job.ranks[rank].run, phase, true);
    job.ranks[rank].run.header->end_ticks = phase == RUN_FINALIZED ? END : 0;
}
