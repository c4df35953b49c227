/*
 * manyfiles FILE DIRECTORY COUNT JOBS [END]: the run directory of JOBS jobs that have COUNT processes together, out of
 * one run file: copies with other ranks, hosts and numbers of the job. What is nothing but zeros becomes a hole. Names
 * do not follow the ranks, as those of a launcher do not.
 *
 * With an END no process has reached its own: all were killed at one time, after they had waited for a minute in
 *     barrier   MPI_Barrier, but the process in the middle: it waits for a message of rank 0
 *     halves    MPI_Barrier, but the upper half of them: each waits for a message of a rank of the lower half
 *     ring      MPI_Recv, each for a message of the next rank
 *     rows      MPI_Allreduce on the communicator of their row, but for the first of each row, which was outside of MPI
 */
#include "calls.h"
#include "format/runfile.h"

#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANKS_OF_HOST = 64, STEP = 7919 }; /* a prime: i * STEP modulo a job's size takes all values */

/* The run file, and the places in it that an end changes. */
static struct {
    char *bytes;
    size_t count;
    struct thread_record *thread;
    struct comm_record *world, *row; /* row: another communicator, which becomes that of a row */
} run;

static void run_places_find(void)
{
    const struct run_header *header = (const struct run_header *)run.bytes;
    run.thread = (struct thread_record *)(run.bytes + header->first_thread);
    for (uint64_t at = header->first_comm; at; at = ((struct comm_record *)(run.bytes + at))->next) {
        struct comm_record *comm = (struct comm_record *)(run.bytes + at);
        if (strcmp(comm->name, "MPI_COMM_WORLD") == 0)
            run.world = comm;
        else if (strcmp(comm->name, "MPI_COMM_SELF") != 0 && !(comm->flags & COMM_SUM))
            run.row = comm;
    }
    if (!header->first_thread || !run.world || !run.row)
        errx(1, "the run file has no thread, or not enough communicators");
}

static void state_set(struct run_header *header, uint32_t call, const struct comm_record *comm, int32_t peer)
{
    run.thread->state = (struct thread_state){
        .since = call ? header->end_ticks : 0, .call = call, .comm = call ? comm->slot : 0, .peer = peer};
}

/* Takes the end of the process away. */
static void end_set(struct run_header *header, const char *end)
{
    int32_t rank = header->world_rank, size = header->world_size, side = 1, half = size / 2;
    while ((side + 1) * (side + 1) <= size)
        side++;
    run.world->rank = rank;
    run.world->size = size;
    run.row->rank = rank % side;
    run.row->size = side;
    snprintf(run.row->name, sizeof run.row->name, "MPI_COMM_WORLD/split#1:%" PRId32, rank / side);
    run.row->label[0] = '\0';
    if (strcmp(end, "ring") == 0)
        state_set(header, CALL_MPI_Recv, run.world, (rank + 1) % size);
    else if (strcmp(end, "rows") == 0)
        state_set(header, rank % side ? CALL_MPI_Allreduce : CALL_NONE, run.row, 0);
    else if (strcmp(end, "halves") == 0 && rank >= half)
        state_set(header, CALL_MPI_Recv, run.world, rank - half);
    else if (strcmp(end, "barrier") == 0 && rank == half)
        state_set(header, CALL_MPI_Recv, run.world, 0);
    else if (strcmp(end, "halves") == 0 || strcmp(end, "barrier") == 0)
        state_set(header, CALL_MPI_Barrier, run.world, 0);
    else
        errx(2, "unknown end: %s", end);
    header->end_realtime_ns += UINT64_C(60000000000);
    header->phase = RUN_RUNNING;
    header->end_ticks = header->finalize_ticks = 0;
    header->boot[0] = '\0';
}

static bool is_zero(const char *page)
{
    static const char zeros[RUN_PAGE_BYTES];
    return memcmp(page, zeros, sizeof zeros) == 0;
}

static void run_write(const char *path, const struct run_header *header)
{
    const char *file = run.bytes;
    size_t bytes = run.count;
    char first[RUN_PAGE_BYTES];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd < 0)
        err(1, "%s", path);
    memcpy(first, file, sizeof first);
    memcpy(first, header, sizeof *header);
    bool good = ftruncate(fd, (off_t)bytes) == 0 && pwrite(fd, first, sizeof first, 0) == sizeof first;
    for (size_t at = RUN_PAGE_BYTES, end; good && at < bytes; at = end) {
        for (end = at; end < bytes && !is_zero(file + end); end += RUN_PAGE_BYTES)
            continue;
        good = end == at || pwrite(fd, file + at, end - at, (off_t)at) == (ssize_t)(end - at);
        end += end == at ? RUN_PAGE_BYTES : 0;
    }
    if (close(fd) != 0 || !good)
        err(1, "%s", path);
}

int main(int argc, char *argv[])
{
    if (argc != 5 && argc != 6)
        errx(2, "usage: manyfiles FILE DIRECTORY COUNT JOBS [barrier|halves|ring|rows]");
    struct stat st;
    uint32_t count = (uint32_t)strtoul(argv[3], NULL, 0), jobs = (uint32_t)strtoul(argv[4], NULL, 0);
    int fd = open(argv[1], O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0)
        err(1, "%s", argv[1]);
    struct run_header header, whole;
    run.count = (size_t)st.st_size;
    run.bytes = mmap(NULL, run.count, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (run.bytes == MAP_FAILED || run.count % RUN_PAGE_BYTES || !jobs || count % jobs)
        errx(1, "%s is no run file, or %u processes do not fit %u jobs", argv[1], count, jobs);
    memcpy(&whole, run.bytes, sizeof whole);
    if (argc == 6)
        run_places_find();
    if (mkdir(argv[2], 0777) != 0)
        err(1, "%s", argv[2]);
    uint32_t size = count / jobs, step = size % STEP ? STEP : 1;
    for (uint32_t i = 0; i < count; i++) {
        char path[512];
        header = whole;
        header.world_rank = (int32_t)((uint64_t)(i / jobs) * step % size);
        header.world_size = (int32_t)size;
        header.job = UINT64_C(0x1000) + i % jobs;
        header.pid = 1000 + i;
        snprintf(header.host, sizeof header.host, "host%05" PRId32, header.world_rank / RANKS_OF_HOST);
        snprintf(path, sizeof path, "%s/%s.%u" RUN_FILE_SUFFIX, argv[2], header.host, header.pid);
        if (argc == 6)
            end_set(&header, argv[5]);
        run_write(path, &header);
    }
    return 0;
}
