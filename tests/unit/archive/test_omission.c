/* What an archive cannot have, and what is said of it; texts that no archive and no line may have as they are. */
#define _GNU_SOURCE
#include "unittest.h"

#include "archivefixture.h"
#include "calls.h"
#include "summary/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { FAR = 3, NEAR = 4 };

/* Converts the files of `count` ranks and reads the archive, which otf2judge has to find sound. */
static void archive_make(int count)
{
    for (int r = 0; r < count; r++)
        rank_end(r, RUN_FINALIZED);
    if (archive_convert(count) != 0)
        fail_msg("%s", archive.report.error);
    archive_judge(true);
}

static void warning_is(size_t number, const char *const *parts, size_t count)
{
    assert_true(number < archive.report.warning_count);
    for (size_t i = 0; i < count; i++)
        if (!strstr(archive.report.warnings[number], parts[i]))
            fail_msg("'%s' is not in '%s'", parts[i], archive.report.warnings[number]);
}
#define WARNING_IS(number, ...)                                                                                        \
    warning_is(number, (const char *const[]){__VA_ARGS__}, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))

/* One process's part of every kind of collective: blocking, nonblocking, persistent, the making of a communicator. */
static void collectives_put(int rank)
{
    PUT(rank, 2000, 10, CALL_MPI_Barrier, .peer = PEER_NONE);
    PUT(rank, 2100, 10, CALL_MPI_Ibarrier, .peer = PEER_NONE);
    PUT_IN(0, rank, 2200, 10, CALL_MPI_Wait, .peer = 1, .tag = 1);
    PUT(rank, 2100, CALL_MPI_Ibarrier, RECORD_COLL_DONE, .peer = PEER_NONE);
    PUT(rank, 2300, 10, CALL_MPI_Allreduce_init, .peer = PEER_NONE);
    PUT_IN(0, rank, 2400, 10, CALL_MPI_Start, .peer = 1, .tag = 1);
    PUT(rank, 2400, CALL_MPI_Allreduce_init, RECORD_COLL_POSTED, .peer = PEER_NONE);
    PUT_IN(0, rank, 2500, 10, CALL_MPI_Wait, .peer = 1, .tag = 1);
    PUT(rank, 2400, CALL_MPI_Allreduce_init, RECORD_COLL_DONE, .peer = PEER_NONE, .tag = 8, .bytes = 8);
    PUT(rank, 2600, 10, CALL_MPI_Comm_dup, .peer = PEER_NONE);
}

TESTS_EACH(archive_name, job_directory_remove)

TEST(where_recording_was_off_no_collective_is_left)
{
    for (int off = 0; off < 2; off++) {
        for (int r = 0; r < 2; r++) {
            rank_make(r, 2);
            job.ranks[r].run.header->off_count = (uint64_t)off;
            collectives_put(r);
        }
        snprintf(archive.target, sizeof archive.target, "%s/archive-%d", job.directory, off);
        archive_make(2);
        EQUALS({seen.enters, 14}, {seen.collective_requests, off ? 0 : 4}, {seen.collective_completes, off ? 0 : 4},
               {seen.begins, off ? 0 : 4}, {archive.report.warning_count, off});
        for (int r = 0; r < 2; r++)
            remove(job.ranks[r].run.path);
    }
    WARNING_IS(0, "recording was off for a while (MPI_Pcontrol)", "no messages and collectives");
}

/* Two of its three processes are children of a spawn: none of them is in this job. */
TEST(what_other_jobs_have_a_part_in_is_said_once)
{
    for (int r = 0; r < 2; r++) {
        rank_make(r, 2);
        comm_make(r, (struct comm_record){.slot = FAR,
                                          .parent = WORLD,
                                          .size = 2,
                                          .rank = r,
                                          .remote_size = 3,
                                          .flags = COMM_INTER | COMM_FOREIGN,
                                          .name = "spawn:2+3#1"});
        PUT_IN(FAR, r, 2000, 10, CALL_MPI_Send, .peer = 2, .tag = 1, .bytes = 4);
        PUT_IN(FAR, r, 2100, 10, CALL_MPI_Recv, .peer = 2, .tag = 1, .bytes = 4);
        PUT_IN(FAR, r, 2200, 10, CALL_MPI_Irecv, .peer = PEER_ANY, .tag = 1);
        PUT_IN(FAR, r, 2250, 10, CALL_MPI_Isend, .peer = 1, .tag = 1, .bytes = 4);
        PUT_IN(0, r, 2300, 10, CALL_MPI_Waitall, .peer = 2, .tag = 2);
        PUT_IN(FAR, r, 2200, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 1, .tag = 1, .bytes = 4);
        PUT_IN(FAR, r, 2250, CALL_MPI_Isend, RECORD_SEND_DONE, .peer = 1, .tag = 1, .bytes = 4);
        PUT_IN(FAR, r, 2400, 10, CALL_MPI_Barrier, .peer = PEER_NONE);
    }
    archive_make(2);
    EQUALS({seen.enters, 12}, {seen.sends + seen.recvs + seen.isends + seen.irecvs + seen.begins, 0},
           {archive.report.warning_count, 1});
    WARNING_IS(0, "note: ", "spawn:2+3#1", "this job sent 4 and received 4");
}

/* A slot of which there is no record is another matter than a communicator that is known and cannot be told. */
TEST(what_is_not_known_is_told_from_what_is_left_out)
{
    rank_make(0, 2);
    rank_make(1, 2);
    comm_make(0, (struct comm_record){
                     .slot = NEAR, .parent = WORLD, .size = 1, .remote_size = 1, .flags = COMM_INTER, .name = "half"});
    PUT_IN(NEAR, 0, 2000, 10, CALL_MPI_Send, .peer = 0, .tag = 1, .bytes = 4);
    PUT_IN(99, 0, 2100, 10, CALL_MPI_Send, .peer = 0, .tag = 1, .bytes = 4);
    PUT_IN(99, 0, 2200, 10, CALL_MPI_Recv, .peer = 0, .tag = 1, .bytes = 4);
    archive_make(2);
    EQUALS({seen.sends + seen.recvs, 0}, {archive.report.warning_count, 3});
    WARNING_IS(0, "half: its two groups are unknown; its messages are left out");
    WARNING_IS(1, "rank 0: 2 sends and receives are left out: their communicator has no record");
    WARNING_IS(2, "rank 0: 1 sends and receives are left out: their communicators are left out");
}

TEST(names_are_one_line_of_utf8)
{
    rank_make(0, 1);
    comm_make(0, (struct comm_record){.slot = FAR,
                                      .parent = WORLD,
                                      .size = 1,
                                      .name = "from_group:\xff\n\x1b[31m#1",
                                      .label = "gr\xc3\xbc\xc3\x9f \"x\" \\ \xc3"});
    PUT_IN(FAR, 0, 2000, 10, CALL_MPI_Barrier, .peer = PEER_NONE);
    struct run_header *header = job.ranks[0].run.header;
    strcpy(header->program, "a\nb\xff");
    strcpy(header->filter, "p2p,\ncoll");
    archive_make(1);
    assert_non_null(strstr(seen.comm_names, "from_group:???[31m#1 \"gr\xc3\xbc\xc3\x9f \\\"x\\\" \\\\ ?\";"));

    struct run_reader reader;
    struct summary summary;
    assert_int_equal(run_reader_open(&reader, job.ranks[0].run.path), 0);
    assert_int_equal(summary_of_run(&summary, &reader), 0);
    assert_string_equal(summary.program, "a?b?");
    assert_string_equal(summary.filter, "p2p,?coll");
    bool found = false;
    for (size_t i = 0; i < summary.comm_count; i++)
        found = found || strcmp(summary.comms[i].name, "from_group:???[31m#1") == 0;
    assert_true(found);
    summary_release(&summary);
    run_reader_close(&reader);
}
