/*
 * mpit-collect: collects the recordings of this node's processes into the output directory. It is for jobs whose
 * launcher or last process did not do so.
 */
#define _GNU_SOURCE
#include "cures/tracefigures.h"
#include "collect/collect.h"
#include "format/packedrun.h"
#include "collect/drain.h"
#include "jobfile/resultfile.h"
#include "base/options.h"
#include "job/join.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct request {
    bool all, drain, handover, join;
    char **directories;
    size_t count;
    const char *to; /* NULL: each to its own directory */
};

static struct request request;

static const struct tool_option options[] = {
    {"all", NULL, 'a', "collect for all output directories of the user", &request.all},
    {"to", "DIR", 't', "move to DIR, if the output directory cannot be written", &request.to},
    {"join", NULL, 'j', "then make one file of each job in DIR", &request.join},
    {"handover", NULL, 'o', "used by the last process of a job: print only problems", &request.handover},
    {"drain", NULL, 'd', "move traces of running processes that fill the spool", &request.drain},
    {.name = NULL},
};

static const struct command_line command_line = {
    .version = "mpit-collect " MPIT_VERSION "\n",
    .shorts = ":h",
    .head = "Usage: mpit-collect [options] [DIR...]\n"
            "Moves recordings of ended processes of this node to their output directory DIR.\n"
            "DIR may also be a spool directory. mpit-run and the last process of a job do so\n"
            "automatically. After a crash, run mpit-collect on each node of the job, with the\n"
            "same launcher.\n"
            "\n",
    .options = options,
    .column = 16,
    .tail = "\n"
            "Exit status: 0; 1: something could not be collected; 2: bad options\n"
            "Example:  mpirun --map-by ppr:1:node mpit-collect run      (man mpit-collect)\n",
};

/* Live files of dead processes belong to an ended job if they had no write for GONE_SECONDS. */
enum { WAIT_MS = 10000, GONE_SECONDS = 60, LATER = 10 };

static void collect_options_read(int argc, char *argv[])
{
    command_line_next(&command_line, argc, argv);
    request.directories = argv + optind;
    request.count = (size_t)(argc - optind);
    if (request.all && request.to)
        usage_reject("--to cannot be combined with --all");
    if (request.join && (request.drain || request.handover))
        usage_reject("--join cannot be combined with --drain and --handover");
    if (request.all == (request.count > 0))
        usage_reject("nothing to collect is named; allowed are --all, or one or more output directories");
}

/* Sends the results to `to`. Makes the path absolute. */
static void output_take(struct spool *spool, const char *to)
{
    char here[PATH_MAX];
    if (to[0] == '/' || !getcwd(here, sizeof here))
        here[0] = '\0';
    if (snprintf(spool->output, sizeof spool->output, "%s%s%s", here, here[0] ? "/" : "", to) >=
        (int)sizeof spool->output)
        usage_reject("--to '%.100s...' is too long", to);
}

/* Returns whether rank 0 of the job was on this node. */
static bool job_is_of_node(const struct run_job *job)
{
    char host[sizeof job->summary->hosts->name] = "";
    const struct summary_row *row = job->summary ? summary_row_of(job->summary, 0) : NULL;
    return row && gethostname(host, sizeof host - 1) == 0 && strcmp(job->summary->hosts[row->host].name, host) == 0;
}

/* Returns whether the file, a result of this node, has a rank 0. */
static bool file_has_first(const char *directory, const char *name)
{
    struct run_dir file;
    char path[PATH_MAX], error[512];
    snprintf(path, sizeof path, "%.3800s/%.255s", directory, name);
    bool found = run_dir_open(&file, path, error) == 0 && file.job_count && job_is_of_node(&file.jobs[0]);
    run_dir_close(&file);
    return found;
}

/* Returns whether the directory has a job of this node: collectors of several nodes run at the same time, and a lock may
 * hold on one node only. Reads no files of other nodes, which may be many. */
static bool has_job_of_node(const char *directory)
{
    char host[256] = "";
    DIR *stream = gethostname(host, sizeof host - 1) == 0 ? opendir(directory) : NULL;
    bool found = false;
    for (struct dirent *entry; stream && !found && (entry = readdir(stream));)
        found = strncmp(entry->d_name, host, strlen(host)) == 0 && entry->d_name[strlen(host)] == '.' &&
                run_dir_owns(entry->d_name) && file_has_first(directory, entry->d_name);
    if (stream)
        closedir(stream);
    return found;
}

/* The epilog has little time, so files with large traces stay apart. */
static bool is_soon_joined(const struct run_job *job)
{
    enum { MOST = 512 << 20 };
    uint64_t bytes = 0;
    for (size_t i = 0; i < job->piece_count; i++)
        bytes += job->pieces[i].kind ? job->pieces[i].extent.bytes : job->pieces[i].file_bytes;
    return bytes <= MOST;
}

enum joined { JOIN_DONE, JOIN_BUSY, JOIN_FAILED };

/* Joins the files of a job. JOIN_BUSY: another process joins in this directory. */
static enum joined job_join(const struct run_dir *dir, const struct run_job *job)
{
    if (run_job_join(dir, job) == 0)
        return JOIN_DONE;
    if (errno == EWOULDBLOCK)
        return JOIN_BUSY;
    warn("the files of a job in %s stay apart", dir->path);
    return JOIN_FAILED;
}

/* Joins the files of each job in an output directory. */
static int directory_join(const char *given)
{
    struct run_dir dir;
    struct spool spool;
    char error[512];
    if (spool_at(&spool, given)) /* live files stay there */
        given = spool.output;
    int failed = run_dir_open(&dir, given, error);
    for (size_t i = 0; i < dir.problem_count; i++)
        warnx("%s", dir.problems[i]);
    if (failed)
        warnx("%s", error);
    run_dir_tidy(&dir);
    for (size_t i = 0; i < dir.job_count; i++)
        failed |= job_join(&dir, &dir.jobs[i]) == JOIN_FAILED;
    run_dir_close(&dir);
    return failed;
}

/* The same for jobs with rank 0 on this node, after a wait for files of other nodes. Jobs without all ranks stay as they
 * are. Returns the worst that happened. *missing: files of some jobs have not come. */
static enum joined node_join(const char *directory, int wait_ms, bool *missing)
{
    struct run_dir dir;
    char error[512], ranks[MISSING_TEXT_BYTES];
    enum joined worst = JOIN_DONE;
    *missing = false;
    if (!has_job_of_node(directory))
        return JOIN_DONE;
    if (run_dir_open_whole(&dir, directory, wait_ms, error) != 0) {
        warnx("%s", error);
        worst = JOIN_FAILED;
    }
    run_dir_tidy(&dir);
    for (size_t i = 0; i < dir.job_count; i++) {
        const struct run_job *job = &dir.jobs[i];
        bool whole = !run_job_ranks_missing(job, ranks), ours = job_is_of_node(job);
        *missing = *missing || (ours && !whole);
        enum joined joined = ours && whole && is_soon_joined(job) ? job_join(&dir, job) : JOIN_DONE;
        worst = joined > worst ? joined : worst;
    }
    run_dir_close(&dir);
    return worst;
}

/* Returns whether the spool has a mark that is so old. Its results have their names then: who marks it holds the lock. */
static bool join_is_due(const struct spool *spool, int seconds, struct timespec *since)
{
    enum { LOCK_MS = 2000 };
    if (spool->owner != geteuid() || !spool_join_is_asked(spool->path, since))
        return false;
    int lock = spool_lock(spool->path, LOCK_MS);
    if (lock < 0)
        return false; /* it is collected for long, and stays marked */
    close(lock);
    return spool_join_is_asked(spool->path, since) && time(NULL) - since->tv_sec >= seconds;
}

/* Joins, and removes the mark and the spool. For a day the mark stays if this failed, or if another process joins just now.
 * It stays for a minute if files of other nodes are missing: a job may have ended a moment ago. */
static enum joined spool_join(const struct spool *spool, const struct timespec *since, int wait_ms)
{
    enum { DAY = 24 * 60 * 60 };
    bool missing;
    enum joined joined = node_join(spool->output, wait_ms, &missing);
    time_t age = time(NULL) - since->tv_sec;
    if (age < (joined != JOIN_DONE ? DAY : missing ? GONE_SECONDS : 0))
        return joined;
    int lock = spool_lock(spool->path, 0);
    if (lock < 0)
        return joined;
    spool_join_forget(spool->path, since); /* a newer mark stays */
    spool_remove(spool);
    close(lock);
    return joined;
}

/* Collects all spools of the user. `join`: then joins the files of jobs. Else, for files of earlier jobs, it joins only where
 * the mark is old, as no epilog has come. Returns how many spools failed. */
static int all_collect(const struct collect_wish *wish, struct collected *sum, bool told, bool join)
{
    enum { OTHERS_MS = 5000 };
    struct spool_list spools;
    struct timespec since;
    char problem[COLLECT_PROBLEM_BYTES];
    int failed = 0;
    if (spools_find(&spools, NULL) != 0)
        errx(1, "no memory");
    for (size_t i = 0; i < spools.count; i++) {
        bool collected = spools.list[i].owner != geteuid() || collect_spool(&spools.list[i], wish, sum, problem) == 0;
        if (!collected && told)
            warnx("%s", problem);
        failed += !collected;
    }
    for (size_t i = 0; (join || wish->idle_seconds) && i < spools.count; i++)
        if (join_is_due(&spools.list[i], wish->idle_seconds, &since))
            failed += spool_join(&spools.list[i], &since, join ? OTHERS_MS : 0) == JOIN_FAILED;
    spools_release(&spools);
    return failed;
}

/* The process that started it waits for the end of its messages. Later messages would not be read. An end without a
 * message is one of a process that was killed. */
static void words_end(void)
{
    ssize_t told = write(STDOUT_FILENO, "\n", 1);
    (void)told; /* nobody may be left to read it */
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDOUT_FILENO; nothing >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(nothing, fd);
}

/* The program's own resource limits do not apply to its recordings. */
static void limits_lift(void)
{
    static const int kinds[] = {RLIMIT_FSIZE, RLIMIT_AS, RLIMIT_DATA, RLIMIT_NOFILE, RLIMIT_STACK};
    struct rlimit limit;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (getrlimit((__rlimit_resource_t)kinds[i], &limit) == 0 && limit.rlim_cur != limit.rlim_max) {
            limit.rlim_cur = limit.rlim_max;
            setrlimit((__rlimit_resource_t)kinds[i], &limit);
        }
    signal(SIGXFSZ, SIG_IGN);
}

/* If the directory does not exist and this node has no files for it, the user may have made a mistake. This is not an
 * error, because the launcher would end the collectors of other nodes. */
static void no_files_tell(const char *directory)
{
    enum { SHOWN = 5 };
    struct spool_list all;
    if (access(directory, F_OK) == 0 || spools_find(&all, NULL) != 0)
        return;
    warnx("%s: no such directory, and no process of this node has a recording for it%s", directory,
          all.count ? "; live files exist for:" : "");
    for (size_t i = 0; i < all.count && i < SHOWN; i++)
        warnx("  %s", all.list[i].output);
    if (all.count > SHOWN)
        warnx("  and %zu more", all.count - SHOWN);
    spools_release(&all);
}

/* Collects an output directory, or a spool. Returns 0, or -1 with a line on standard error. */
static int directory_collect(const char *given, const struct collect_wish *wish, struct collected *sum)
{
    char path[PATH_MAX], problem[COLLECT_PROBLEM_BYTES];
    struct spool_list spools = {.list = NULL};
    struct spool own;
    const char *output = request.handover || !realpath(given, path) ? given : path;
    bool one = !request.handover && spool_at(&own, given);
    if (!one && spools_find(&spools, output) != 0)
        errx(1, "no memory");
    int failed = 0;
    if (!one && !spools.count && !request.handover)
        no_files_tell(given);
    const size_t count = one ? 1 : spools.count;
    for (size_t i = 0; i < count; i++) {
        struct spool *spool = one ? &own : &spools.list[i];
        struct collect_wish now = *wish;
        now.visible = i + 1 < count ? NULL : wish->visible;
        if (request.to)
            output_take(spool, request.to);
        if (collect_spool(spool, &now, sum, problem) == 0)
            continue;
        warnx("%s", problem);
        failed = -1;
    }
    spools_release(&spools);
    return failed;
}

/* A process of the job started this tool. It must not disturb the ranks, which may be bound to one processor each. A
 * descriptor that the program has closed must not be used for another file. */
static void surroundings_leave(void)
{
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all); /* the kernel removes processors that the job may not use */
    setpriority(PRIO_PROCESS, 0, LATER);
}

static void descriptors_fill(void)
{
    int nothing = open("/dev/null", O_RDWR);
    while (nothing >= 0 && nothing <= STDERR_FILENO)
        nothing = dup(nothing);
    if (nothing >= 0)
        close(nothing);
}

int main(int argc, char *argv[])
{
    descriptors_fill();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL); /* the process that starts it has blocked all signals */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    limits_lift();
    umask(umask(0) & ~(mode_t)0700); /* its own files must stay its own */
    collect_options_read(argc, argv);
    struct collected sum = {.merged = 0};
    struct collect_wish wish = {.wait_ms = WAIT_MS,
                                .join = request.handover              ? JOIN_OF_SITE
                                        : request.all && request.join ? JOIN_ALL
                                                                      : JOIN_NOT,
                                .visible = request.handover ? words_end : NULL,
                                .waiting = request.handover ? words_end : NULL,
                                .traced = trace_figures_of_brief};
    int failed = 0;
    surroundings_leave();
    packed_enable();
    run_dir_choice.totals = true; /* it moves sections */
    if (request.drain)
        return request.count == 1 ? drain_run(request.directories[0]) != 0 : EXIT_USAGE;
    for (size_t i = 0; i < request.count; i++)
        failed += directory_collect(request.directories[i], &wish, &sum) != 0;
    for (size_t i = 0; !request.handover && i < request.count; i++)
        parts_remove(request.to ? request.to : request.directories[i]);
    for (size_t i = 0; request.join && i < request.count; i++)
        failed += directory_join(request.to ? request.to : request.directories[i]) != 0;
    if (request.all)
        failed += all_collect(&wish, &sum, true, request.join);
    if (request.handover)
        words_end();
    if (request.handover && !failed) /* files of earlier jobs that were killed */
        all_collect(&(struct collect_wish){.idle_seconds = GONE_SECONDS,
                                           .join = JOIN_OF_SITE,
                                           .traced = trace_figures_of_brief},
                    &(struct collected){0}, false, false);
    if (!request.handover)
        printf("%zu live files merged, %zu copied, %zu still in use, %zu left\n", sum.merged, sum.kept, sum.at_work,
               sum.left);
    return failed ? 1 : 0;
}
