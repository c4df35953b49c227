/*
 * filters_times N RUN_FILE...: were the calls in these run files timed as mpit_timing N says?
 *
 *   1   each kind of call that was made has a time
 *   0   none has, nor has a message
 */
#include "figures/cells.h"
#include "format/compact.h"
#include "reader/reader.h"

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

int main(int argc, char *argv[])
{
    compact_enable();
    n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    for (int i = 2; i < argc; i++) {
        struct run_reader reader;
        if (run_reader_open(&reader, argv[i]) != 0) {
            printf("%s\n", reader.error);
            return 1;
        }
        if (reader.header.timed != n)
            bad += printf("%s: timing %llu\n", argv[i], (unsigned long long)reader.header.timed);
        for (size_t b = 0; b < reader.block_count; b++) {
            const struct run_block *block = &reader.blocks[b];
            if (block->kind == BLOCK_THREAD)
                thread_check(argv[i], (const struct thread_cells *)tally_cells(block));
            else if (block->kind == BLOCK_COMM)
                comm_check(argv[i], (const struct comm_cells *)tally_cells(block));
        }
        run_reader_close(&reader);
    }
    if (argc < 3 || (n != 0) != (sum != 0))
        bad += printf("%d files with %llu ticks\n", argc - 2, (unsigned long long)sum);
    return bad != 0;
}
