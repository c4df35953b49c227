/*
 * filters_times N RUN: were the calls of this run timed as mpit_timing N says?
 *
 *   1   each kind of call that was made has a time
 *   0   none has, nor has a message
 */
#include "figures/cells.h"
#include "job/rundir.h"

#include <stdio.h>
#include <stdlib.h>

static unsigned long long n;
static uint64_t sum;
static int bad;

static bool always_timed(unsigned kind)
{
    return kind == CALL_MPI_Init || kind == CALL_MPI_Init_thread || kind == CALL_MPI_Finalize;
}

static void time_check(const char *file, const char *what, uint64_t ticks)
{
    sum += ticks;
    if (n || !ticks)
        return;
    printf("%s: %s has %llu ticks\n", file, what, (unsigned long long)ticks);
    bad++;
}

static void thread_check(const char *file, const struct thread_cells *cells)
{
    for (unsigned kind = 1; kind < CALL_COUNT; kind++) {
        if (always_timed(kind))
            continue;
        time_check(file, call_table[kind].name, cells->call_time[kind]);
        if (n == 1 && cells->call_count[kind] && !cells->call_time[kind]) {
            printf("%s: %s took no time\n", file, call_table[kind].name);
            bad++;
        }
    }
}

static void comm_check(const char *file, const struct comm_cells *cells)
{
    time_check(file, "p2p_time", cells->p2p_time);
    time_check(file, "wait_time", cells->wait_time);
    time_check(file, "transfer_time", cells->transfer_time);
    if (n == 0 && cells->span_first != LOW_NEUTRAL) {
        printf("%s: a span without times\n", file);
        bad++;
    }
}

static void run_check(const char *file, const struct run_reader *reader)
{
    if (reader->header.timed != n)
        bad += printf("%s: timing %llu\n", file, (unsigned long long)reader->header.timed);
    for (size_t b = 0; b < reader->block_count; b++) {
        const struct run_block *block = &reader->blocks[b];
        if (block->kind == BLOCK_THREAD)
            thread_check(file, (const struct thread_cells *)tally_cells(block));
        else if (block->kind == BLOCK_COMM)
            comm_check(file, (const struct comm_cells *)tally_cells(block));
    }
}

int main(int argc, char *argv[])
{
    struct run_dir dir;
    char error[512];
    size_t files = 0;
    n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    if (argc != 3 || run_dir_open(&dir, argv[2], error) != 0) {
        printf("%s\n", argc == 3 ? error : "which run?");
        return 1;
    }
    for (size_t i = 0; i < dir.job_count; i++)
        for (size_t k = 0; k < dir.jobs[i].file_count; k++, files++)
            run_check(argv[2], run_job_file(&dir.jobs[i], k));
    if (!files || (n != 0) != (sum != 0))
        bad += printf("%zu processes with %llu ticks\n", files, (unsigned long long)sum);
    run_dir_close(&dir);
    return bad != 0;
}
