/* Running jobs are found and looked at, whatever happens to their processes and files meanwhile. */
#define _GNU_SOURCE
#include "unittest.h"

#include "figures/figures.h"
#include "format/jobfile.h"
#include "live/live.h"
#include "calls.h"
#include "exporter/observation.h"
#include "base/processes.h"
#include "base/processlife.h"
#include "figures/variables.h"
#include "reader/runmap.h"
#include "emulated.h"
#include "runfixture.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOKS_MOST = 600, PAUSE_MS = 50 };

static struct live live;
static char error[512];
static struct fixture fixture;

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static const struct live_job *job_find(uint64_t number)
{
    for (size_t i = 0; i < live.job_count; i++)
        if (live.jobs[i].job == number)
            return &live.jobs[i];
    return NULL;
}

FIXTURE(setup)
{
    fixture_open(&fixture);
    fixture_thread_add(&fixture, 0, 64);
    fixture.run.header->begin_ticks = 1;
    fixture.run.header->phase = RUN_RUNNING;
}

FIXTURE(teardown)
{
    live_close(&live);
    fixture_remove(&fixture);
}

static void open_named(const char *path)
{
    assert_int_equal(live_files_open(&live, &path, 1), 0);
    assert_int_equal(live_look(&live, error), 0);
    EQUALS({live.job_count, 1}, {live.jobs[0].job, 7}, {live.jobs[0].count, 1});
}

static const struct live_process *look(void)
{
    assert_int_equal(live_look(&live, error), 0);
    assert_int_equal(live.job_count, 1);
    return &live.jobs[0].processes[0];
}

TESTS_EACH(setup, teardown)

TEST(a_named_file_is_followed)
{
    open_named(fixture.run.path);
    const struct live_process *process = &live.jobs[0].processes[0];
    assert_true(process->readable && process->here && process->alive && live.jobs[0].alive);
    assert_int_equal(live.jobs[0].since, 1);
    uint64_t before = process->now_ns;
    const char *base = process->run.base;
    assert_int_equal(process->run.slot_count, 0);
    pause_ms(2);
    process = look();
    assert_true(process->now_ns > before + 1000000);
    assert_ptr_equal(process->run.base, base); /* nothing has changed: it is not opened again */

    fixture_comm_add(&fixture, 1, 2, "world");
    process = look();
    assert_string_equal(process->problem, "");
    assert_true(process->run.slot_count == 2 && process->run.comms[1]);
    assert_string_equal(process->run.comms[1]->label, "");
    strcpy(fixture.comms[1]->label, "a new name");
    process = look();
    assert_string_equal(process->run.comms[1]->label, "a new name");

    fixture.run.header->end_ticks = 1000001;
    fixture.run.header->phase = RUN_FINALIZED;
    unlink(fixture.run.path);
    process = look(); /* it has ended and its file is gone, and what it was is there still */
    assert_true(process->readable && live_is_whole(process));
    EQUALS({process->now_ns, 1000000}, {process->run.header.phase, RUN_FINALIZED});
}

TEST(a_thread_is_read_with_its_call)
{
    fixture_comm_add(&fixture, 1, 2, "world");
    fixture_emit(&fixture, 0, (struct event){.begin = 1, .duration = 5000, .kind = CALL_MPI_Barrier, .comm = 1}, NULL);
    open_named(fixture.run.path);
    const struct live_process *process = &live.jobs[0].processes[0];
    struct thread_record *record = fixture.threads[0].record;
    struct live_thread thread;
    live_thread_read(process, 0, &thread);
    assert_true(thread.alive && !thread.state.call && !thread.since_ns);
    assert_int_equal(thread.mpi_ticks, 5000);
    record->state.since = process->now_ticks - 1000;
    record->state.call = CALL_MPI_Barrier;
    record->state.comm = 1;
    live_thread_read(process, 0, &thread);
    assert_int_equal(thread.since_ns, live_between(process, record->state.since, process->now_ticks));
    assert_true(thread.since_ns && !thread.stall_ns && thread.mpi_ticks == 5000);
    assert_ptr_equal(run_reader_comm_record(&process->run, thread.state.comm, thread.state.since),
                     process->run.comms[1]);
    record->stalled = 1; /* as if it were one stall */
    live_thread_read(process, 0, &thread);
    assert_int_equal(thread.stall_ns, thread.since_ns);
    record->end_ticks = process->now_ticks;
    live_thread_read(process, 0, &thread);
    assert_true(!thread.alive && !thread.state.call && !thread.since_ns && thread.mpi_ticks == 5000);
}

/* From one look to the next a process comes out of MPI_Init: it is never in no job that lives. */
TEST(a_starting_process_gets_its_job)
{
    fixture.run.header->phase = RUN_STARTING;
    fixture.run.header->job = 0;
    const char *path = fixture.run.path;
    assert_int_equal(live_files_open(&live, &path, 1), 0);
    assert_int_equal(live_look(&live, error), 0);
    assert_true(live.job_count == 1 && live.jobs[0].job == 0 && live.jobs[0].alive);
    fixture.run.header->job = 7;
    fixture.run.header->phase = RUN_RUNNING;
    for (int i = 0; i < 2; i++) {
        look();
        assert_true(live.jobs[0].job == 7 && live.jobs[0].alive && live.jobs[0].since == 2);
    }
}

TEST(a_directory_gets_more_files)
{
    open_named(fixture.directory);
    char path[128];
    snprintf(path, sizeof path, "%s/noise.mpit", fixture.directory);
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 5000; i++)
        fputc('x', file);
    fclose(file);
    struct run_problem problem;
    struct run second;
    assert_int_equal(run_open(&second, fixture.directory, UINT64_C(1) << 30, 0, &problem), 0);
    second.header->job = 7;
    second.header->world_size = 2;
    second.header->world_rank = 1;
    second.header->phase = RUN_RUNNING;
    for (int i = 0; i < LOOKS_MOST && (live.job_count < 2 || job_find(7)->count < 2); i++) {
        pause_ms(PAUSE_MS);
        assert_int_equal(live_look(&live, error), 0);
    }
    assert_int_equal(job_find(7)->count, 2);
    assert_int_equal(job_find(7)->processes[1].run.header.world_rank, 1);
    const struct live_process *noise = &job_find(0)->processes[0];
    assert_false(noise->readable);
    assert_non_null(strstr(noise->problem, "is not an mpit run file"));
    run_close(&second, RUN_FINALIZED, false);
}

TEST(a_file_that_is_cut_reads_as_zeros_and_is_told)
{
    fixture_comm_add(&fixture, 1, 2, "world");
    open_named(fixture.run.path);
    const struct live_process *process = &live.jobs[0].processes[0];
    const struct figures figures = {&process->run};
    struct figures_comm comm;
    uint32_t at = 0;
    assert_true(figures_comm_next(&figures, &at, &comm));
    figures_one(&figures, "mpit_pending_sends", VARIABLE_LEVEL, &comm);
    assert_true(live_is_whole(process));
    off_t bytes = (off_t)process->run.map->bytes;
    assert_int_equal(truncate(fixture.run.path, RUN_PAGE_BYTES), 0);
    figures_one(&figures, "mpit_pending_sends", VARIABLE_LEVEL, &comm); /* would be a SIGBUS */
    assert_false(live_is_whole(process));
    process = look();
    assert_false(process->readable);
    assert_non_null(strstr(process->problem, "is truncated"));
    assert_int_equal(truncate(fixture.run.path, 0), 0);
    process = look();
    assert_false(process->readable);
    assert_int_equal(truncate(fixture.run.path, bytes), 0);
}

TEST(one_of_several_that_is_missing_is_told)
{
    char path[128];
    snprintf(path, sizeof path, "%s/none", fixture.directory);
    const char *const names[] = {fixture.run.path, path};
    assert_int_equal(live_files_open(&live, names, 2), 0);
    assert_int_equal(live_look(&live, error), -1);
    assert_non_null(strstr(error, " does not exist"));
    assert_int_equal(live_look(&live, error), 0); /* who goes on all the same sees the other */
    assert_int_equal(live.job_count, 1);
    live_close(&live);
}

TEST(what_there_is_not_is_told)
{
    char path[128];
    snprintf(path, sizeof path, "%s/none", fixture.directory);
    const char *name = path;
    assert_int_equal(live_files_open(&live, &name, 1), 0);
    assert_int_equal(live_look(&live, error), -1);
    assert_non_null(strstr(error, " does not exist"));
    mkdir(path, 0700);
    assert_int_equal(live_look(&live, error), -1);
    assert_non_null(strstr(error, "no run file"));
    char results[160];
    snprintf(results, sizeof results, "%s/host.1.mpit", path);
    const struct job_header header = {.magic = JOB_MAGIC, .version = JOB_VERSION, .parts = 1};
    int made = open(results, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(write(made, &header, sizeof header), sizeof header);
    close(made);
    assert_int_equal(live_look(&live, error), -1);
    assert_non_null(strstr(error, "has ended"));
    unlink(results);
    rmdir(path);
}

/* A process of that job; it has run when a byte comes. */
static pid_t child_start(uint64_t job, const char *directory, int ready, bool closes)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct run_problem problem;
    struct run run;
    if (run_open(&run, directory, UINT64_C(1) << 30, 0, &problem) != 0)
        _exit(1);
    run.header->job = job;
    run.header->world_size = 1;
    run.header->world_rank = 0;
    run.header->clock_mult = UINT64_C(1) << 32;
    run.header->phase = RUN_RUNNING;
    if (closes)
        close(run.fd);
    if (write(ready, "x", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static void processes_are_found(const char *directory, bool closes)
{
    int ready[2];
    char byte;
    uint64_t job = (uint64_t)getpid() << 20 | (directory != NULL) << 1 | closes | UINT64_C(1) << 60;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = child_start(job, directory, ready[1], closes);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(live_files_open(&live, NULL, 0), 0);
    for (int i = 0; i < LOOKS_MOST && !job_find(job); i++) {
        assert_int_equal(live_look(&live, error), 0);
        pause_ms(job_find(job) ? 0 : PAUSE_MS);
    }
    assert_non_null(job_find(job));
    assert_true(job_find(job)->alive && job_find(job)->count == 1);
    assert_true(job_find(job)->processes[0].readable && job_find(job)->processes[0].run.header.pid == (uint32_t)pid);
    uint64_t before = job_find(job)->processes[0].now_ns;
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(live_look(&live, error), 0);
    assert_true(job_find(job) && !job_find(job)->alive && !job_find(job)->processes[0].alive);
    assert_true(job_find(job)->processes[0].readable); /* with what it had done */
    assert_true(job_find(job)->processes[0].now_ns >= before);
    close(ready[0]);
    close(ready[1]);
}

/* A program is installed anew, and one that is running was the old one. */
TEST(a_process_whose_program_was_replaced_lives)
{
    if (is_emulated())
        skip();
    char program[96], command[PATH_MAX];
    snprintf(program, sizeof program, "%s/program", fixture.directory);
    snprintf(command, sizeof command, "cp \"$(command -v sleep)\" %s", program);
    assert_int_equal(system(command), 0);
    int ready[2];
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0); /* the child's end is closed when the program has begun */
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(program, program, "600", (char *)NULL);
        _exit(1);
    }
    close(ready[1]);
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 0);
    close(ready[0]);
    struct run_header header = *fixture.run.header;
    header.pid = (uint32_t)pid;
    header.process_start = process_start(header.pid);
    memset(header.program, 0, sizeof header.program);
    assert_non_null(realpath(program, command));
    snprintf(header.program, sizeof header.program, "%.*s", (int)sizeof header.program - 1, command);
    bool before = process_lives(&header);
    unlink(program);
    bool removed = process_lives(&header);
    header.program[strlen(header.program) - 1] = '\0'; /* another one, whose name goes on in another way */
    bool shorter = process_lives(&header);
    strcat(header.program, "m2");
    bool longer = process_lives(&header);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(before && removed);
    assert_false(shorter || longer);
}

/* Durations are told by the clock that nobody sets. */
TEST(a_step_of_the_clock_is_no_time)
{
    struct run_header header = *fixture.run.header;
    for (int hours = -1; hours <= 1; hours++) {
        header.begin_ticks = process_ticks_now(&header);
        header.begin_realtime_ns = realtime_now() + (uint64_t)hours * UINT64_C(3600000000000);
        pause_ms(2);
        uint64_t passed = process_now(&header) - header.begin_realtime_ns;
        assert_in_range(passed, 1000000, UINT64_C(60000000000));
    }
    header.boot[0] = '?'; /* of another kernel: there is no other clock */
    uint64_t before = realtime_now();
    assert_in_range(process_now(&header), before, before + UINT64_C(60000000000));
}

/* Its number is that of a living process here, or of none: neither says anything. */
TEST(a_process_of_another_pid_namespace_is_not_judged_by_its_number)
{
    struct run_header *header = fixture.run.header;
    struct stat st;
    assert_int_equal(stat("/proc/self/ns/pid", &st), 0);
    assert_int_equal(header->pid_namespace, st.st_ino);
    assert_int_equal(process_life(header), LIFE_HERE);
    header->pid_namespace = 0; /* told by its number */
    assert_int_equal(process_life(header), LIFE_HERE);
    header->process_start++; /* an earlier process of this program, which had its number */
    assert_int_equal(process_life(header), LIFE_GONE);
    header->process_start--;
    header->pid_namespace = st.st_ino + 1;
    assert_false(process_is_here(header) || process_lives(header) || process_is_at(header, getpid()));
    assert_int_equal(process_life(header), LIFE_UNSEEN);
    open_named(fixture.run.path);
    const struct live_process *process = &live.jobs[0].processes[0];
    assert_true(process->clock && process->alive && !process->here);
    uint64_t before = process->now_ticks;
    header->pid = INT_MAX; /* of nobody */
    process = look();
    assert_true(process->alive && process->now_ticks > before);
    header->end_realtime_ns = realtime_now(); /* as mpit-run writes it */
    assert_false(look()->alive);
    header->end_realtime_ns = 0;
    header->phase = RUN_EXITED;
    assert_false(look()->alive);
    header->phase = RUN_RUNNING;
    header->pid_namespace = st.st_ino;
    assert_false(look()->alive); /* there is no such process here */
}

/* What was checked at the first look is written over before the next one. */
TEST(a_file_that_is_written_over_harms_nobody)
{
    fixture_comm_add(&fixture, 1, 2, "world");
    fixture_instruments_add(&fixture);
    fixture.run.header->world_size = 2;
    open_named(fixture.run.path);
    const struct run_reader *run = &look()->run;
    int fd = open(fixture.run.path, O_RDWR);
    char *file = mmap(NULL, run->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(file != MAP_FAILED);
    size_t blocks = 0;
    for (uint64_t offset = fixture.run.header->first_block; offset; blocks++) {
        struct tally_block *block = (void *)(file + offset);
        offset = block->next;
        *block = (struct tally_block){
            .kind = BLOCK_THREAD, .thread = UINT32_MAX, .comm = UINT32_MAX, .page = UINT32_MAX, .cells = UINT32_MAX};
    }
    assert_true(blocks > 0 && blocks == run->block_count);
    struct variable_record *records = (void *)(file + fixture.run.header->variables);
    for (size_t i = 0; i < fixture.run.header->variable_count; i++) {
        memset(records[i].name, 'n', sizeof records[i].name);
        records[i].count = 4096;
        for (size_t t = 0; t < VARIABLE_TERMS; t++)
            records[i].terms[t].first = 0xfffffff0u;
    }
    struct call_record *calls = (void *)(file + fixture.run.header->calls);
    memset(calls, 'n', fixture.run.header->call_count * sizeof *calls);
    munmap(file, run->bytes);
    close(fd);
    const char *base = run->base;
    run = &look()->run;
    assert_ptr_equal(run->base, base); /* its head has not changed, so it is not opened again */
    struct observation *observation = calloc(1, sizeof *observation);
    observation->choice = (struct observation_choice){.by_comm = true, .comms_most = 8, .named = true};
    for (int i = 0; i < 2; i++)
        assert_int_equal(observation_take(observation, &live), 0);
    assert_int_equal(observation->job_count, 1);
    assert_true(observation->metrics.count > 20);
    observation_free(observation);
    free(observation);
    for (size_t i = 0; i < run->block_count; i++) {
        assert_true(run->blocks[i].cells < 1 << 20 && run->blocks[i].thread < run->thread_count);
        assert_true((const char *)(tally_cells(&run->blocks[i]) + run->blocks[i].cells) <= run->base + run->bytes);
    }
    for (size_t i = 0; i < run->variable_count; i++)
        assert_string_equal(run->variables[i].name, variables[i].record.name);
    assert_string_equal(run_reader_call_name(run, CALL_MPI_Init), "MPI_Init");
}

/* Its variables find no place, which is told, until those go that no job has. */
TEST(variables_find_place_in_a_full_table)
{
    fixture.run.header->world_size = 2;
    open_named(fixture.run.path);
    struct observation *observation = calloc(1, sizeof *observation);
    observation->choice.named = true;
    for (int i = 0; i < METRICS_MOST; i++) {
        struct variable_record record = {.class = VARIABLE_COUNTER, .count = 1, .combine = COMBINE_SUM};
        snprintf(record.name, sizeof record.name, "mpit_old_%d", i);
        assert_int_equal(metric_number(&observation->metrics, &look()->run, &record, NULL), i);
    }
    assert_int_equal(observation_take(observation, &live), 0);
    assert_true(observation->refused_now > 20);
    assert_int_equal(observation->metrics.count, 0);
    assert_int_equal(observation_take(observation, &live), 0);
    assert_int_equal(observation->refused_now, 0);
    assert_true(observation->metrics.count > 20);
    size_t count = observation->metrics.count;
    assert_int_equal(observation_take(observation, &live), 0);
    assert_int_equal(observation->metrics.count, count);
    observation_free(observation);
    free(observation);
}

TEST(a_process_with_a_directory_is_found)
{
    if (is_emulated())
        skip();
    processes_are_found(fixture.directory, false);
}

TEST(a_process_with_its_run_in_memory_is_found)
{
    if (is_emulated())
        skip();
    processes_are_found(NULL, false);
}

TEST(a_process_that_has_closed_the_descriptor_is_found)
{
    char user[PATH_MAX], spool[PATH_MAX + 8];
    if (is_emulated())
        skip();
    setenv("MPIT_SPOOL", fixture.directory, 1);
    snprintf(user, sizeof user, "%s/mpit-%u", fixture.directory, (unsigned)geteuid());
    snprintf(spool, sizeof spool, "%s/key", user);
    assert_int_equal(mkdir(user, 0700) | mkdir(spool, 0700), 0);
    processes_are_found(spool, true);
    fixture_directory_remove(spool);
    assert_int_equal(rmdir(user), 0);
    unsetenv("MPIT_SPOOL");
}
