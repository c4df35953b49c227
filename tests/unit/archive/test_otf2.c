/* Run files made by hand -> otf2_convert -> read back with the OTF2 library, and judged by otf2judge. */
#define _GNU_SOURCE
#include "unittest.h"

#include "archivefixture.h"
#include "calls.h"
#include "figures/variables.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned entries_left(void)
{
    unsigned count = 0;
    DIR *dir = opendir(job.directory);
    for (struct dirent *entry; (entry = readdir(dir));)
        count += strncmp(entry->d_name, "archive", 7) == 0;
    closedir(dir);
    return count;
}

static void instrument_make(uint32_t id, enum instrument_kind kind, const char *name)
{
    uint64_t offset;
    struct run *run = &job.ranks[0].run;
    struct instrument_record *record = run_alloc(run, sizeof *record, &offset);
    record->id = id;
    record->kind = kind;
    record->class = VARIABLE_LEVEL;
    record->type = 4;
    record->count = 1;
    snprintf(record->name, sizeof record->name, "%s", name);
    run_link(run, &run->header->first_instrument, &record->next, offset);
}

/* An archive that has failed is not closed (tools/archive/otf2.c says why), which the leak sanitizer holds against it.
 */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libopen-trace-format2";
}

TESTS_EACH(archive_name, job_directory_remove)

/* Each region is one event, written when it was left: behind all that happened inside. */
TEST(regions_are_entered_before_what_is_inside)
{
    rank_make(0, 1);
    instrument_make(1, INSTRUMENT_REGION, "outer");
    instrument_make(2, INSTRUMENT_REGION, "callback");
    instrument_make(3, INSTRUMENT_VARIABLE, "level");
    PUT(0, 2000, 50, CALL_MPI_Barrier, .peer = PEER_NONE);
    PUT_IN(0, 0, 3100, 100, EVENT_REGION, .peer = 2);
    PUT(0, 3000, 500, CALL_MPI_Allreduce, .peer = PEER_NONE, .tag = 8, .bytes = 8);
    PUT_IN(0, 0, 3600, 0, EVENT_METRIC, .peer = 3, .bytes = 17);
    PUT_IN(0, 0, 1500, 2500, EVENT_REGION, .peer = 1);
    PUT_IN(0, 0, 4500, 0, EVENT_METRIC, .peer = 9, .bytes = 17); /* nobody's */
    rank_end(0, RUN_FINALIZED);
    if (archive_convert(1) != 0)
        fail_msg("%s", archive.report.error);
    assert_int_equal(archive.report.warning_count, 1);
    archive_judge(true);
    const uint64_t order[] = {0, 2, 1002, 3, 1, 1001, 1003, 1000};
    assert_int_equal(seen.enters, 4);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(seen.order[i], order[i]);
}

/* What no program does: a region that begins inside of a call and ends behind it. */
TEST(region_that_crosses_a_call_ends_with_it)
{
    rank_make(0, 1);
    instrument_make(1, INSTRUMENT_REGION, "crossing");
    PUT(0, 2000, 50, CALL_MPI_Barrier, .peer = PEER_NONE);
    PUT_IN(0, 0, 2010, 1000, EVENT_REGION, .peer = 1);
    PUT_IN(0, 0, 1990, 20, EVENT_REGION, .peer = 1);
    rank_end(0, RUN_FINALIZED);
    if (archive_convert(1) != 0)
        fail_msg("%s", archive.report.error);
    archive_judge(true);
    assert_int_equal(seen.enters, 3);
}

TEST(messages_of_two_ranks_have_both_ends)
{
    rank_make(0, 2);
    rank_make(1, 2);
    PUT(0, 2000, 50, CALL_MPI_Send, .peer = 1, .tag = 7, .bytes = 100);
    PUT(0, 2100, 50, CALL_MPI_Send, .peer = PEER_PROC_NULL, .bytes = 100);
    PUT(0, 2200, 50, CALL_MPI_Sendrecv, .peer = 1, .tag = 8, .bytes = 10);
    PUT(0, 2200, 0, RECORD_RECEIVE, .peer = 1, .tag = 9, .bytes = 20);
    PUT(0, 2300, 50, CALL_MPI_Isend, .peer = 1, .tag = 1, .bytes = 1000);
    PUT(0, 2400, 50, CALL_MPI_Isend, .peer = 1, .tag = 2, .bytes = 2000);
    PUT(0, 2500, 90, CALL_MPI_Waitall, .peer = 2, .tag = 2);
    PUT(0, 2300, CALL_MPI_Isend, RECORD_SEND_DONE, .peer = 1, .tag = 1, .bytes = 1000);
    PUT(0, 2400, CALL_MPI_Isend, RECORD_SEND_DONE, .peer = 1, .tag = 2, .bytes = 2000);
    PUT(1, 2001, 60, CALL_MPI_Recv, .peer = 0, .tag = 7, .bytes = 100);
    PUT(1, 2210, 60, CALL_MPI_Sendrecv, .peer = 0, .tag = 9, .bytes = 20);
    PUT(1, 2210, 0, RECORD_RECEIVE, .peer = 0, .tag = 8, .bytes = 10);
    PUT(1, 2300, 10, CALL_MPI_Irecv, .peer = PEER_ANY, .tag = TAG_ANY, .bytes = 4000);
    PUT(1, 2320, 10, CALL_MPI_Irecv, .peer = 0, .tag = 2, .bytes = 4000);
    PUT(1, 2340, 10, CALL_MPI_Irecv, .peer = PEER_PROC_NULL, .tag = 2, .bytes = 4000);
    PUT(1, 2400, 10, CALL_MPI_Test, .peer = 0, .tag = 1, .bytes = 2300);
    PUT(1, 2500, 90, CALL_MPI_Waitall, .peer = 3, .tag = 3);
    PUT(1, 2300, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 0, .tag = 1, .bytes = 1000);
    PUT(1, 2320, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 0, .tag = 2, .bytes = 2000);
    PUT(1, 2340, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = PEER_PROC_NULL);
    rank_end(0, RUN_FINALIZED);
    rank_end(1, RUN_FINALIZED);
    if (archive_convert(2) != 0)
        fail_msg("%s", archive.report.error);
    EQUALS({archive.report.warning_count, 0}, {archive.report.locations, 2});
    archive_judge(true);
    EQUALS({seen.enters, 13}, {seen.sends, 3}, {seen.recvs, 3}, {seen.isends, 2}, {seen.isend_completes, 2},
           {seen.irecv_requests, 2}, {seen.irecvs, 2}, {seen.tests, 1}, {seen.sent, 3130}, {seen.received, 3130},
           {seen.programs, 2}, {seen.program_ends, 2}, {seen.comms, 2});
}

TEST(collectives_and_communicators_stand_in_pairs)
{
    for (int r = 0; r < 3; r++) {
        rank_make(r, 3);
        PUT(r, 2000, 50, CALL_MPI_Bcast, .peer = 0, .bytes = r == 0 ? 8 : 0, .tag = r == 0 ? 0 : 8);
        PUT(r, 2100, UINT32_MAX, CALL_MPI_Allreduce | EVENT_WIDE, .peer = PEER_NONE, .bytes = 1);
        struct event_extension more = {.duration = 60, .kind = RECORD_EXTENSION, .bytes_out = UINT64_C(3) << 31};
        struct event record;
        memcpy(&record, &more, sizeof record);
        event_put(r, 0, record);
        PUT(r, 2200, 10, CALL_MPI_Ibarrier, .peer = PEER_NONE);
        PUT(r, 2250, 10, CALL_MPI_Wait, .peer = 1, .tag = 1);
        PUT(r, 2200, CALL_MPI_Ibarrier, RECORD_COLL_DONE, .peer = PEER_NONE);
        PUT(r, 2300, 50, CALL_MPI_Comm_split, .peer = PEER_NONE);
        comm_make(
            r,
            (struct comm_record){
                .slot = 3, .parent = WORLD, .size = r == 2 ? 1 : 2, .rank = r % 2, .name = "MPI_COMM_WORLD/split#1"});
        PUT_IN(3, r, 2350, 0, RECORD_CREATED, .peer = WORLD);
        PUT(r, 2400, 10, CALL_MPI_Comm_idup, .peer = PEER_NONE);
        comm_make(
            r, (struct comm_record){.slot = 4, .parent = WORLD, .size = 3, .rank = r, .name = "MPI_COMM_WORLD/idup#2"});
        PUT(r, 2450, 10, CALL_MPI_Wait, .peer = 1, .tag = 1);
        PUT(r, 2400, CALL_MPI_Comm_idup, RECORD_COMM_DONE, .peer = PEER_NONE);
        PUT_IN(4, r, 2460, 0, RECORD_CREATED, .peer = WORLD);
        PUT(r, 2500, 10, CALL_MPI_Barrier | EVENT_FAILED, .peer = PEER_NONE);
        PUT(r, 2600, 10, CALL_MPI_Comm_free, .peer = PEER_NONE);
        PUT_IN(3, r, 2610, 0, RECORD_DESTROYED, .peer = PEER_NONE);
        rank_end(r, RUN_FINALIZED);
    }
    assert_int_equal(archive_convert(3), 0);
    archive_judge(true);
    EQUALS({seen.enters, 3 * 9}, {seen.begins, 3 * 4}, {seen.ends, 3 * 4}, {seen.collective_requests, 3 * 2},
           {seen.collective_completes, 3 * 2}, {seen.creates, 3 * 2}, {seen.destroys, 3}, {seen.coll_sent, 8 + 3},
           {seen.coll_received, 16 + (UINT64_C(9) << 31)});
    assert_int_equal(seen.comms, 5); /* world, self, two of the split, the duplicate */
}

TEST(nested_calls_stand_inside_of_their_caller)
{
    /* regions are numbered as the table of calls has them: send, probe, iprobe, barrier, free */
    static const uint64_t expected[] = {0, 1000, 4, 2, 1, 1001, 1002, 3, 1003, 1004};
    rank_make(0, 1);
    PUT(0, 1990, 5, CALL_MPI_Send, .peer = PEER_PROC_NULL);
    PUT(0, 2020, 10, CALL_MPI_Probe | EVENT_NESTED, .peer = 0);
    PUT(0, 2010, 30, CALL_MPI_Iprobe | EVENT_NESTED, .peer = 0);
    PUT(0, 2050, 10, CALL_MPI_Barrier | EVENT_NESTED, .peer = PEER_NONE);
    PUT(0, 2000, 100, CALL_MPI_Comm_free, .peer = PEER_NONE);
    rank_end(0, RUN_FINALIZED);
    assert_int_equal(archive_convert(1), 0);
    archive_judge(true);
    assert_int_equal(seen.ordered, sizeof expected / sizeof *expected);
    assert_memory_equal(seen.order, expected, sizeof expected);
}

TEST(killed_rank_and_missing_file_leave_a_readable_archive)
{
    rank_make(0, 3);
    rank_make(1, 3);
    PUT(0, 2000, 50, CALL_MPI_Send, .peer = 2, .tag = 7, .bytes = 100);
    PUT(0, 2100, 50, CALL_MPI_Isend, .peer = 1, .tag = 7, .bytes = 100);
    PUT(1, 2100, 50, CALL_MPI_Recv, .peer = 0, .tag = 7, .bytes = 100);
    rank_end(0, RUN_RUNNING);
    rank_end(1, RUN_FINALIZED);
    assert_int_equal(archive_convert(2), 0);
    assert_int_equal(archive.report.warning_count, 2); /* the missing file; the member of MPI_COMM_WORLD */
    assert_int_equal(archive.report.locations, 3);
    archive_judge(true);
    EQUALS({seen.enters, 3}, {seen.programs, 1});
}

/* Its last receive and the Isend's completion are there, what was before them is not. */
TEST(cut_trace_has_neither_begin_nor_end_of_its_program)
{
    rank_make(0, 3);
    for (int i = 0; i < CHUNK_EVENTS; i++)
        PUT(0, 2000 + 10 * (uint64_t)i, 5, CALL_MPI_Isend, .peer = 1, .tag = i, .bytes = 1);
    uint64_t late = 2000 + 10 * (uint64_t)CHUNK_EVENTS;
    struct event *ring = (struct event *)(job.ranks[0].chunks[0] + 1); /* it wraps: three events are lost */
    ring[0] = (struct event){late, 5, CALL_MPI_Waitall, WORLD, 2, 2, 0};
    ring[1] = (struct event){2000, CALL_MPI_Isend, RECORD_SEND_DONE, WORLD, 1, 0, 1};
    ring[2] = (struct event){2990, CALL_MPI_Isend, RECORD_SEND_DONE, WORLD, 1, 99, 1};
    *job.ranks[0].cells[0] += 3;
    rank_make(1, 3);
    PUT(1, 2100, 50, CALL_MPI_Send, .peer = 2, .tag = 7, .bytes = 100);
    job.ranks[1].run.header->lost[LOSS_TRACE_LIMIT] = 1;
    rank_make(2, 3);
    PUT(2, 2100, 50, CALL_MPI_Send, .peer = 0, .tag = 7, .bytes = 100);
    for (int r = 0; r < 3; r++)
        rank_end(r, RUN_FINALIZED);
    if (archive_convert(3) != 0)
        fail_msg("%s", archive.report.error);
    archive_judge(true);
    assert_int_equal(seen.programs, 1); /* rank 2's */
    EQUALS({seen.program_ends, 1}, {seen.isends, CHUNK_EVENTS - 3}, {seen.isend_completes, 1});
}

TEST(locations_and_groups_have_names)
{
    for (int r = 0; r < 3; r++) {
        rank_make(r, 3);
        PUT(r, 2000, 50, CALL_MPI_Barrier, .peer = PEER_NONE);
        comm_make(r, (struct comm_record){.slot = 3,
                                          .parent = WORLD,
                                          .size = r == 0 ? 1 : 2,
                                          .rank = r == 2,
                                          .remote_size = r == 0 ? 2 : 1,
                                          .flags = COMM_INTER,
                                          .name = "inter"});
    }
    thread_make(&job.ranks[1], 1);
    for (int r = 0; r < 3; r++)
        rank_end(r, RUN_FINALIZED);
    assert_int_equal(archive_convert(3), 0);
    archive_judge(true);
    assert_string_equal(seen.location_names, "rank 0 thread 0;rank 1 thread 0;rank 1 thread 1;rank 2 thread 0;");
    assert_string_equal(seen.group_names, "MPI ranks;MPI_COMM_WORLD;MPI_COMM_SELF;inter;inter (remote group);");
}

TEST(damaged_events_are_left_out)
{
    rank_make(0, 1);
    PUT(0, 2000, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 0, .tag = 7, .bytes = 3); /* without its call */
    PUT(0, 2000, 50, CALL_MPI_Send, .peer = 12, .bytes = 100);                       /* no such rank */
    PUT_IN(99, 0, 2050, 50, CALL_MPI_Send, .peer = 0, .bytes = 100);                 /* no such communicator */
    PUT(0, 2100, 50, CALL_COUNT, .peer = 0);                                         /* no such call */
    PUT(0, 2150, 50, 0);
    PUT(0, UINT64_MAX - 5, UINT32_MAX, CALL_MPI_Barrier, .peer = PEER_NONE);
    PUT(0, 5, 50, CALL_MPI_Wait, .peer = 2, .tag = 2);
    PUT(0, 1234, CALL_MPI_Isend, RECORD_SEND_DONE, .peer = 0, .bytes = 5); /* its post was lost */
    PUT(0, 1235, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 0, .bytes = 5);
    PUT(0, 1235, CALL_MPI_Ibcast, RECORD_COLL_DONE, .peer = 0, .bytes = 5);
    rank_end(0, RUN_RUNNING);
    assert_int_equal(archive_convert(1), 0);
    assert_true(archive.report.warning_count >= 4);
    archive_judge(true);
    EQUALS({seen.enters, 4}, {seen.sends + seen.isends + seen.isend_completes + seen.collective_completes, 0},
           {seen.recvs, 1});
}

TEST(inter_communicator_has_two_groups)
{
    for (int r = 0; r < 3; r++) {
        rank_make(r, 3);
        comm_make(r, (struct comm_record){.slot = 3,
                                          .parent = WORLD,
                                          .size = r == 0 ? 1 : 2,
                                          .rank = r == 2,
                                          .remote_size = r == 0 ? 2 : 1,
                                          .flags = COMM_INTER,
                                          .name = "inter"});
        PUT_IN(3, r, 2000, 10, CALL_MPI_Reduce, .peer = r == 0 ? PEER_ROOT : 0);
    }
    PUT_IN(3, 0, 3000, 10, CALL_MPI_Send, .peer = 1, .tag = 1, .bytes = 4);
    PUT_IN(3, 2, 3000, 20, CALL_MPI_Recv, .peer = 0, .tag = 1, .bytes = 4);
    for (int r = 0; r < 3; r++)
        rank_end(r, RUN_FINALIZED);
    assert_int_equal(archive_convert(3), 0);
    assert_int_equal(archive.report.warning_count, 0);
    archive_judge(true);
    EQUALS({seen.inter_comms, 1}, {seen.sends, 1}, {seen.recvs, 1});
}

TEST(check_finds_a_message_that_nobody_received)
{
    rank_make(0, 1);
    PUT(0, 2000, 50, CALL_MPI_Send, .peer = 0, .tag = 7, .bytes = 100);
    rank_end(0, RUN_FINALIZED);
    assert_int_equal(archive_convert(1), 0);
    archive_judge(false);
}

/* Records that were never written are a gap, and nobody is blamed for what may have been in it. */
TEST(damaged_records_are_a_gap)
{
    for (int r = 0; r < 2; r++)
        rank_make(r, 2);
    PUT(0, 2000, 50, CALL_MPI_Send, .peer = 1, .tag = 7, .bytes = 100);
    PUT(0, 2100, 50, CALL_MPI_Send, .peer = 1, .tag = 7, .bytes = 100);
    PUT(1, 2100, 50, CALL_MPI_Recv, .peer = 0, .tag = 7, .bytes = 100);
    event_put(1, 0, (struct event){0});
    PUT(1, 2300, 50, CALL_MPI_Iprobe, .peer = 0, .tag = 7);
    for (int r = 0; r < 2; r++)
        rank_end(r, RUN_FINALIZED);
    assert_int_equal(archive_convert(2), 0);
    assert_int_equal(archive.report.warning_count, 1);
    archive_judge(true);
    EQUALS({seen.sends, 2}, {seen.recvs, 1});
}

TEST(existing_target_is_not_touched)
{
    rank_make(0, 1);
    rank_end(0, RUN_FINALIZED);
    assert_int_equal(mkdir(archive.target, 0700), 0);
    assert_int_equal(archive_convert(1), -1);
    assert_non_null(strstr(archive.report.error, "exists already"));
    assert_int_equal(rmdir(archive.target), 0); /* still empty */
    assert_int_equal(entries_left(), 0);
}

TEST(messages_name_what_the_user_gave)
{
    rank_make(0, 1);
    rank_end(0, RUN_FINALIZED);
    snprintf(archive.target, sizeof archive.target, "%s/nowhere/archive", job.directory);
    assert_int_equal(archive_convert(1), -1);
    assert_non_null(strstr(archive.report.error, archive.target));
    assert_null(strstr(archive.report.error, "partial"));
    assert_int_equal(entries_left(), 0);
}

TEST(failure_leaves_nothing_behind)
{
    struct rlimit before, small = {4096, RLIM_INFINITY};
    rank_make(0, 1);
    for (int i = 0; i < 1000; i++)
        PUT(0, 2000 + 10 * (uint64_t)i, 5, CALL_MPI_Send, .peer = 0, .tag = i, .bytes = 1u << 20);
    rank_end(0, RUN_FINALIZED);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    int result = archive_convert(1);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(result, -1);
    assert_true(archive.report.error[0] != '\0');
    assert_null(strstr(archive.report.error, "partial"));
    assert_int_equal(entries_left(), 0);
}

TEST(files_that_do_not_fit_are_refused)
{
    rank_make(0, 2);
    rank_make(1, 2);
    job.ranks[1].run.header->job = 43;
    rank_end(0, RUN_FINALIZED);
    rank_end(1, RUN_FINALIZED);
    assert_int_equal(archive_convert(2), -1);
    assert_non_null(strstr(archive.report.error, "different jobs"));
    job.ranks[1].run.header->job = 42;
    job.ranks[1].run.header->world_rank = 0;
    assert_int_equal(archive_convert(2), -1);
    assert_non_null(strstr(archive.report.error, "two run files of rank 0"));
    assert_int_equal(otf2_convert(archive.readers, 0, archive.target, &(struct otf2_manner){0}, &archive.report), -1);
    assert_int_equal(entries_left(), 0);
}
