/*
 * pagejob DIRECTORY RANKS STEPS [--planted]
 *
 * Makes the run files of a job of so many ranks in DIRECTORY, with traces and tallies that agree, as a recorder would
 * have left them. Ranks stand in a grid. In a step each computes (one in 16 for longer), exchanges messages with its
 * neighbours, every fourth step sends a large one to the rank that is half the job away, and broadcasts in its row;
 * then all do a reduction, which all leave when the last one has come. --planted gives the program, its host and a
 * communicator names that would do harm in a page.
 */
#include "runfixture.h"

#include "clock/clock.h"

#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORLD = 1, ROW = 2, INIT_NS = 2000000, STEP_NS = 1000000, BUFFER_EVENTS = 256, NEIGHBOURS = 4 };

static const char planted_name[] = "</script><script>window.x=1</script><!-- \"'&\\u0022 \xff\xfe \xe2\x80\xae";

struct grid {
    int32_t ranks, columns;
};

struct clerk {
    struct fixture *fixture;
    struct grid grid;
    int32_t rank;
};

static void put(const struct clerk *clerk, struct event event)
{
    fixture_emit(clerk->fixture, 0, event, NULL);
}

static void stalled(const struct clerk *clerk, const struct event *call, uint64_t begin, uint64_t ticks)
{
    put(clerk, (struct event){.begin = begin,
                              .duration = event_kind(call),
                              .kind = RECORD_STALL,
                              .comm = call->comm,
                              .peer = call->peer,
                              .tag = 1,
                              .bytes = ticks});
}

static uint64_t work_ns(int32_t rank, uint64_t step)
{
    uint64_t shifting = (uint64_t)(rank * 7919 + (int32_t)step * 104729) % 97;
    return 300000 + 1000 * shifting + (rank % 16 == 5 ? 150000 : 0);
}

static int32_t row_length(const struct grid *grid, int32_t rank)
{
    int32_t first = rank - rank % grid->columns, rest = grid->ranks - first;
    return rest < grid->columns ? rest : grid->columns;
}

/* Those in the grid that are there, without wrapping around. */
static int neighbours_of(const struct clerk *clerk, int32_t list[NEIGHBOURS])
{
    int32_t rank = clerk->rank, columns = clerk->grid.columns;
    int count = 0;
    if (rank % columns > 0)
        list[count++] = rank - 1;
    if (rank % columns < columns - 1 && rank + 1 < clerk->grid.ranks)
        list[count++] = rank + 1;
    if (rank >= columns)
        list[count++] = rank - columns;
    if (rank + columns < clerk->grid.ranks)
        list[count++] = rank + columns;
    return count;
}

/* Returns when it is done. */
static uint64_t exchange(const struct clerk *clerk, uint64_t at, uint64_t step)
{
    int32_t list[NEIGHBOURS];
    int count = neighbours_of(clerk, list);
    uint64_t bytes = UINT64_C(64) << (step % 6), posted = at;
    for (int i = 0; i < count; i++, at += 500)
        put(clerk, (struct event){at, 400, CALL_MPI_Irecv, WORLD, list[i], 1, bytes});
    uint64_t sent = at;
    for (int i = 0; i < count; i++, at += 500)
        put(clerk, (struct event){at, 400, CALL_MPI_Isend, WORLD, list[i], 1, bytes});
    uint64_t end = at + 2000;
    for (int i = 0; i < count; i++) {
        uint64_t theirs = at - (at - INIT_NS) % STEP_NS + work_ns(list[i], step) + 5000;
        end = theirs > end ? theirs : end;
    }
    struct event wait = {at, (uint32_t)(end - at), CALL_MPI_Waitall, 0, 2 * count, 2 * count, 0};
    put(clerk, wait);
    if (end - at > 4000)
        stalled(clerk, &wait, at + 1000, end - at - 2000);
    for (int i = 0; i < count; i++)
        put(clerk,
            (struct event){posted + (uint64_t)i * 500, CALL_MPI_Irecv, RECORD_RECV_DONE, WORLD, list[i], 1, bytes});
    for (int i = 0; i < count; i++)
        put(clerk,
            (struct event){sent + (uint64_t)i * 500, CALL_MPI_Isend, RECORD_SEND_DONE, WORLD, list[i], 1, bytes});
    return end + 1000;
}

/* Far away, and in the row; times are the same on both sides. */
static void far_and_row(const struct clerk *clerk, uint64_t begin)
{
    int32_t half = clerk->grid.ranks / 2, rank = clerk->rank;
    uint64_t at = begin + 600000;
    if (rank < half)
        put(clerk, (struct event){at, 50000, CALL_MPI_Send, WORLD, rank + half, 2, 1 << 20});
    else if (rank < 2 * half)
        put(clerk, (struct event){at + 100, 50000, CALL_MPI_Recv, WORLD, rank - half, 2, 1 << 20});
    put(clerk, (struct event){begin + 700000, 20000, CALL_MPI_Bcast, ROW, 0, rank % clerk->grid.columns ? 512 : 0,
                              rank % clerk->grid.columns ? 0 : 512});
}

static void step_put(const struct clerk *clerk, uint64_t step)
{
    uint64_t begin = INIT_NS + step * STEP_NS;
    uint64_t at = exchange(clerk, begin + work_ns(clerk->rank, step), step);
    if (step % 4 == 0) {
        far_and_row(clerk, begin);
        at = begin + 730000;
    }
    uint64_t end = begin + 950000;
    struct event reduce = {at, (uint32_t)(end - at), CALL_MPI_Allreduce, WORLD, PEER_NONE, 8, 8};
    put(clerk, reduce);
    stalled(clerk, &reduce, at + 1000, end - at - 3000);
}

static void process_open(const struct clerk *clerk, bool planted)
{
    struct fixture *fixture = clerk->fixture;
    char name[COMM_NAME_BYTES];
    fixture_open(fixture);
    struct run_header *header = fixture->run.header;
    header->job = 42;
    header->world_rank = clerk->rank;
    header->world_size = clerk->grid.ranks;
    header->stall_known = header->timed = 1;
    header->begin_realtime_ns = UINT64_C(1700000000000000000);
    header->init_ticks = INIT_NS;
    snprintf(header->program, sizeof header->program, "%s", planted ? planted_name : "/opt/grid/bin/solver");
    snprintf(header->host, sizeof header->host, "%.30s",
             planted           ? planted_name
             : clerk->rank % 2 ? "node-b"
                               : "node-a");
    snprintf(header->boot, sizeof header->boot, "one");
    fixture_comm_add(fixture, WORLD, clerk->grid.ranks, "MPI_COMM_WORLD");
    fixture->comms[WORLD]->rank = clerk->rank;
    fixture->comms[WORLD]->end_ticks = UINT64_MAX;
    snprintf(name, sizeof name, "MPI_COMM_WORLD/split#1:%d", clerk->rank / clerk->grid.columns);
    fixture_comm_add(fixture, ROW, row_length(&clerk->grid, clerk->rank), name);
    fixture->comms[ROW]->rank = clerk->rank % clerk->grid.columns;
    fixture->comms[ROW]->parent = WORLD;
    fixture->comms[ROW]->end_ticks = UINT64_MAX;
    snprintf(fixture->comms[ROW]->label, sizeof fixture->comms[ROW]->label, "%.90s", planted ? planted_name : "row");
    fixture_thread_add(fixture, 0, BUFFER_EVENTS);
}

static void process_make(const struct clerk *clerk, const char *directory, uint64_t steps, bool planted)
{
    char path[4096];
    struct fixture *fixture = clerk->fixture;
    uint64_t end = INIT_NS + steps * STEP_NS;
    process_open(clerk, planted);
    put(clerk, (struct event){FIXTURE_BEGIN_TICKS, INIT_NS - FIXTURE_BEGIN_TICKS, CALL_MPI_Init, 0, PEER_NONE, 0, 0});
    for (uint64_t step = 0; step < steps; step++)
        step_put(clerk, step);
    put(clerk, (struct event){end, 100000, CALL_MPI_Finalize, 0, PEER_NONE, 0, 0});
    fixture->run.header->finalize_ticks = end;
    fixture_close(fixture, RUN_FINALIZED);
    fixture->run.header->end_ticks = end + 120000;
    snprintf(path, sizeof path, "%s/node.%d%s", directory, clerk->rank, RUN_FILE_SUFFIX);
    if (rename(fixture->run.path, path) != 0)
        err(1, "%s", path);
    fixture_remove(fixture);
}

int main(int argc, char *argv[])
{
    static struct fixture fixture;
    struct clerk clerk = {.fixture = &fixture};
    int32_t ranks = argc > 3 ? atoi(argv[2]) : 0;
    uint64_t steps = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    bool planted = argc > 4 && strcmp(argv[4], "--planted") == 0;
    if (ranks < 2 || ranks > FIXTURE_PAGES * PEERS_PER_PAGE || !steps)
        errx(2, "usage: pagejob DIRECTORY RANKS STEPS [--planted]");
    clerk.grid = (struct grid){ranks, 1};
    while (clerk.grid.columns * clerk.grid.columns < ranks)
        clerk.grid.columns *= 2;
    for (clerk.rank = 0; clerk.rank < ranks; clerk.rank++)
        process_make(&clerk, argv[1], steps, planted);
    return 0;
}
