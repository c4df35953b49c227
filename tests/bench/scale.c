/*
 * scale RANKS
 * scale RANKS NODES DIRECTORY: the parts of mpit that all ranks of a job share, carried on to jobs that no machine here can run.
 *
 * The summary's reduction is the code of the library itself (summary_pack, _unpack, _merge), along a binomial
 * tree, for a job whose processes form a square: each is in MPI_COMM_WORLD, MPI_COMM_SELF,
 * its row and its column. The tree is walked in depth, so that only the parts of one path are in memory; the time of a
 * process is when its own work and that of the processes it waits for is done. The totals are compared.
 *
 * Prints one line for each number of ranks: RANKS lines root_ms work_ms message_KiB part_KiB
 *     lines        communicators in the summary of the job
 *     root_ms      from the last process's part to the summary of the job, the network apart
 *     work_ms      of that at rank 0 itself
 *     message_KiB  the longest message
 *     path_KiB     the most memory of parts that a process has at once: its own and the one that arrives
 *
 * With a directory: writes the summaries of such a job's nodes there, as mpit-collect does, for tools to read.
 */
#include "jobfile/summaryfile.h"
#include "format/runfile.h"
#include "jobfile/jobwriter.h"
#include "summary/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static struct {
    long ranks, side;
    size_t message_bytes, part_bytes;
    double root_work;
} job;

static void line_fill(struct summary_comm *line, const char *name, long size)
{
    *line = (struct summary_comm){.size = (int32_t)size, .ranks = 1, .merged = 1, .send_count = 3, .send_bytes = 24};
    snprintf(line->name, sizeof line->name, "%s", name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct summary_comm *)a)->name, ((const struct summary_comm *)b)->name);
}

static struct summary rank_part_make(long rank)
{
    char row[64], column[64];
    struct summary part = {.ranks = 1, .world_size = (uint32_t)job.ranks, .threads = 1, .events = 10};
    part.run_seconds = part.mpi_seconds = part.mpi_share =
        (struct summary_spread){(double)rank, (double)rank, (double)rank, (int32_t)rank, (int32_t)rank};
    part.comms = calloc(4, sizeof *part.comms);
    if (!part.comms)
        exit(1);
    part.comm_count = 4;
    snprintf(row, sizeof row, "MPI_COMM_WORLD/split#1:%ld", rank / job.side);
    snprintf(column, sizeof column, "MPI_COMM_WORLD/split#2:%ld", rank % job.side);
    line_fill(&part.comms[0], "MPI_COMM_WORLD", job.ranks);
    line_fill(&part.comms[1], "MPI_COMM_SELF", 1);
    line_fill(&part.comms[2], row, job.side);
    line_fill(&part.comms[3], column, job.side);
    qsort(part.comms, part.comm_count, sizeof *part.comms, by_name);
    return part;
}

/* The part of a rank as a process on a node leaves it, with its row. */
static struct summary process_make(long rank, long node)
{
    struct summary part = rank_part_make(rank);
    part.job = 0x5ca1e;
    snprintf(part.program, sizeof part.program, "scale");
    part.rows = calloc(1, sizeof *part.rows);
    part.hosts = calloc(1, sizeof *part.hosts);
    if (!part.rows || !part.hosts)
        exit(1);
    part.row_count = part.host_count = 1;
    part.rows[0] = (struct summary_row){.rank = (int32_t)rank,
                                        .pid = (uint32_t)(1000 + rank),
                                        .phase = RUN_FINALIZED,
                                        .run_ns = 1000000000 + (uint64_t)rank,
                                        .mpi_ns = (uint64_t)(rank * 7919 % 1000003) * 500,
                                        .sent = 12,
                                        .sent_bytes = 96,
                                        .threads = 1};
    snprintf(part.hosts[0].name, sizeof part.hosts[0].name, "node%05ld", node);
    return part;
}

static void node_write(const char *directory, long node, long first, long end)
{
    char path[4096];
    struct summary whole = {.ranks = 0};
    for (long rank = first; rank < end; rank++) {
        struct summary part = process_make(rank, node);
        if (summary_merge(&whole, &part) != 0)
            exit(1);
        summary_release(&part);
    }
    snprintf(path, sizeof path, "%.3900s/node%05ld.%ld" RUN_FILE_SUFFIX, directory, node, 1000 + first);
    struct job_writer writer;
    struct section_header *section = summary_section_make_whole(&whole, SECTION_SUMMARY);
    FILE *out = section ? fopen(path, "w+") : NULL;
    if (!out || job_writer_begin(&writer, fileno(out), whole.job, 1) != 0 ||
        job_writer_section(&writer, section) != 0 || job_writer_end(&writer) != 0) {
        perror(path);
        exit(1);
    }
    job_writer_release(&writer);
    fclose(out);
    free(section);
    summary_release(&whole);
}

static int nodes_write(long nodes, const char *directory)
{
    for (long node = 0; node < nodes; node++)
        node_write(directory, node, job.ranks * node / nodes, job.ranks * (node + 1) / nodes);
    return 0;
}

static size_t part_bytes(const struct summary *part)
{
    return sizeof *part + part->comm_count * sizeof *part->comms;
}

/* What rank `rank` has when it has taken in the ranks rank + 1 ... rank + span - 1; *done is when, on its own clock. */
static struct summary subtree(long rank, long span, double *done)
{
    struct summary part = rank_part_make(rank);
    *done = 0;
    for (long bit = 1; bit < span; bit <<= 1) {
        if (rank + bit >= job.ranks)
            break;
        double theirs, begin;
        char error[128];
        size_t bytes;
        struct summary child = subtree(rank + bit, bit, &theirs), arrived;
        begin = now_ms();
        void *message = summary_pack(&child, &bytes);
        theirs += now_ms() - begin;
        summary_release(&child);
        begin = now_ms();
        if (!message || summary_unpack(&arrived, message, bytes, error) != 0 || summary_merge(&part, &arrived) != 0)
            exit(1);
        double work = now_ms() - begin;
        *done = (theirs > *done ? theirs : *done) + work;
        job.root_work += rank == 0 ? work : 0;
        if (bytes > job.message_bytes)
            job.message_bytes = bytes;
        if (part_bytes(&part) + part_bytes(&arrived) + bytes > job.part_bytes)
            job.part_bytes = part_bytes(&part) + part_bytes(&arrived) + bytes;
        summary_release(&arrived);
        free(message);
    }
    return part;
}

static int totals_compare(const struct summary *whole)
{
    uint64_t sends = 0;
    for (size_t i = 0; i < whole->comm_count; i++)
        sends += whole->comms[i].send_count;
    double sum = (double)job.ranks * (double)(job.ranks - 1) / 2;
    if (whole->ranks == (uint32_t)job.ranks && whole->events == 10 * (uint64_t)job.ranks &&
        sends == 12 * (uint64_t)job.ranks && whole->run_seconds.sum == sum && whole->run_seconds.min_rank == 0 &&
        whole->run_seconds.max_rank == (int32_t)job.ranks - 1)
        return 0;
    fprintf(stderr, "scale: of %ld ranks there are %u in the sum, with %llu messages\n", job.ranks, whole->ranks,
            (unsigned long long)sends);
    return 1;
}

int main(int argc, char *argv[])
{
    char *end = argc == 2 || argc == 4 ? argv[1] : NULL;
    long nodes = argc == 4 ? atol(argv[2]) : 1;
    job.ranks = end ? strtol(argv[1], &end, 10) : 0;
    if (job.ranks < 1 || job.ranks > 10000000 || *end || nodes < 1 || nodes > job.ranks) {
        fprintf(stderr, "usage: scale RANKS (1 to 10000000) [NODES DIRECTORY]\n");
        return 2;
    }
    for (job.side = 1; (job.side + 1) * (job.side + 1) <= job.ranks;)
        job.side++;
    if (argc == 4)
        return nodes_write(nodes, argv[3]);
    long span = 1;
    while (span < job.ranks)
        span <<= 1;
    double done;
    struct summary whole = subtree(0, span, &done);
    printf("%ld %zu %.1f %.1f %.0f %.0f\n", job.ranks, whole.comm_count, done, job.root_work,
           (double)job.message_bytes / 1024, (double)job.part_bytes / 1024);
    int status = totals_compare(&whole);
    summary_release(&whole);
    return status;
}
