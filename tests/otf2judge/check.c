#define _GNU_SOURCE
#include "check.h"

#include "check_archive.h"
#include "check_report.h"

#include <jansson.h>

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 1000, IDLE_CPU_MOST_S = 60, IDLE_MOST_S = 600 };

enum { TOLD_FINDING, TOLD_COMM, TOLD_UNREADABLE, TOLD_END };

/* A message in the pipe, written at once. */
struct told {
    int what;
    union {
        struct check_finding finding;
        struct check_comm_figures comm;
        struct check_figures figures;
        char text[CHECK_TEXT_BYTES];
    };
};
_Static_assert(sizeof(struct told) <= PIPE_BUF, "a message is written at once");

/* ---- the child --------------------------------------------------------------------------------------------------- */

static int child_pipe;
static volatile uint64_t *progress; /* shared: progress count of the child */

static void parent_tell(const struct told *told)
{
    ssize_t written;
    do
        written = write(child_pipe, told, sizeof *told);
    while (written < 0 && errno == EINTR);
    if (written != (ssize_t)sizeof *told)
        _exit(2);
}

static void finding_tell(const struct check_finding *finding)
{
    parent_tell(&(struct told){.what = TOLD_FINDING, .finding = *finding});
}

static void comm_tell(const struct check_comm_figures *comm)
{
    parent_tell(&(struct told){.what = TOLD_COMM, .comm = *comm});
}

static void unreadable_tell(const char *text)
{
    struct told told = {.what = TOLD_UNREADABLE};
    snprintf(told.text, sizeof told.text, "%s", text);
    parent_tell(&told);
    _exit(2);
}

static void progress_tell(uint64_t events)
{
    (void)events;
    (*progress)++;
}

/* Sanitizers reserve terabytes of addresses. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { BOUNDS_MEMORY = false };
#elif defined(__has_feature)
enum { BOUNDS_MEMORY = !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer) };
#else
enum { BOUNDS_MEMORY = true };
#endif

/* A damaged file can request any amount of memory. Many locations need many files. */
static void limits_set(void)
{
    struct rlimit limit;
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (BOUNDS_MEMORY && getrlimit(RLIMIT_AS, &limit) == 0 &&
        (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > memory)) {
        limit.rlim_cur = memory;
        setrlimit(RLIMIT_AS, &limit);
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    limit = (struct rlimit){0, 0};
    setrlimit(RLIMIT_CORE, &limit);
}

_Noreturn static void child_main(const char *anchor, int pipe, int output, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(2);
    child_pipe = pipe;
    dup2(output, STDOUT_FILENO); /* the library's own messages are for the parent */
    dup2(output, STDERR_FILENO);
    limits_set();
    check_listener = (struct check_listener){finding_tell, unreadable_tell, comm_tell, progress_tell};
    check_archive(anchor);
    parent_tell(&(struct told){.what = TOLD_END, .figures = check_figures});
    _exit(0);
}

/* ---- the parent -------------------------------------------------------------------------------------------------- */

struct check {
    const char *path;
    bool json;
    pid_t child;
    int pipe, output;
    struct check_figures figures;
    uint64_t shown[RULE_COUNT];
    json_t *findings, *comms;
    char unreadable[CHECK_TEXT_BYTES];
    bool ended;
};

static json_t *uint_json(uint64_t number)
{
    return json_integer((json_int_t)number);
}

static json_t *check_finding_json(const struct check_finding *finding)
{
    const struct check_place *place = &finding->place;
    json_t *object = json_object();
    json_object_set_new(object, "rule", json_string(check_rules[finding->rule].identifier));
    json_object_set_new(object, "severity", json_string(check_rules[finding->rule].is_error ? "error" : "warning"));
    if (place->rank >= 0)
        json_object_set_new(object, "rank", json_integer(place->rank));
    if (place->thread >= 0)
        json_object_set_new(object, "thread", json_integer(place->thread));
    if (place->has_location)
        json_object_set_new(object, "location", uint_json(place->location));
    if (place->has_time)
        json_object_set_new(object, "time", uint_json(place->time));
    if (finding->record[0])
        json_object_set_new(object, "record", json_string(finding->record));
    json_t *text = json_string(finding->text);
    json_object_set_new(object, "text", text ? text : json_string("(a name in it is not UTF-8)"));
    return object;
}

static void finding_print(const struct check_finding *finding)
{
    const struct check_place *place = &finding->place;
    printf("%s %s",
           check_rules[finding->rule].is_error ? "error:  " : "warning:", check_rules[finding->rule].identifier);
    if (place->rank >= 0)
        printf(", rank %" PRId64, place->rank);
    if (place->thread >= 0)
        printf(", thread %" PRId64, place->thread);
    if (place->has_location)
        printf(", location %" PRIu64, place->location);
    if (place->has_time)
        printf(", time %" PRIu64, place->time);
    if (finding->record[0])
        printf(", %s", finding->record);
    printf(": %s\n", finding->text);
}

static void comm_json_add(json_t *comms, const struct check_comm_figures *comm)
{
    const struct {
        const char *name;
        uint64_t value;
    } figures[] = {{"comms", 1},
                   {"sends", comm->sends},
                   {"send_bytes", comm->send_bytes},
                   {"recvs", comm->receives},
                   {"recv_bytes", comm->recv_bytes},
                   {"collectives", comm->collectives},
                   {"collective_bytes_in", comm->bytes_in},
                   {"collective_bytes_out", comm->bytes_out}};
    json_t *object = json_object_get(comms, comm->name);
    if (!object && json_object_set_new(comms, comm->name, object = json_object()) != 0)
        return; /* the name is not UTF-8 */
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        uint64_t before = (uint64_t)json_integer_value(json_object_get(object, figures[i].name));
        json_object_set_new(object, figures[i].name, uint_json(before + figures[i].value));
    }
}

static void told_take(struct check *check, struct told *told)
{
    switch (told->what) {
    case TOLD_FINDING:
        if ((unsigned)told->finding.rule >= RULE_COUNT)
            break;
        check->shown[told->finding.rule]++;
        if (check->json)
            json_array_append_new(check->findings, check_finding_json(&told->finding));
        else
            finding_print(&told->finding);
        break;
    case TOLD_COMM:
        if (check->json)
            comm_json_add(check->comms, &told->comm);
        break;
    case TOLD_UNREADABLE:
        snprintf(check->unreadable, sizeof check->unreadable, "%s", told->text);
        break;
    case TOLD_END:
        check->figures = told->figures;
        check->ended = true;
        break;
    default:
        break;
    }
}

static double child_cpu_seconds(pid_t child)
{
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(child, &clock) != 0 || clock_gettime(clock, &time) != 0)
        return 0;
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* The child has made no progress for long: it computes, or waits for an event that does not come. */
static bool child_is_stuck(const struct check *check, uint64_t *seen, double *cpu, unsigned *idle_ms)
{
    if (*progress != *seen) {
        *seen = *progress;
        *cpu = child_cpu_seconds(check->child);
        *idle_ms = 0;
        return false;
    }
    *idle_ms += POLL_MS;
    return child_cpu_seconds(check->child) - *cpu > IDLE_CPU_MOST_S || *idle_ms > IDLE_MOST_S * 1000u;
}

static void child_listen(struct check *check)
{
    struct pollfd poll_fd = {.fd = check->pipe, .events = POLLIN};
    uint64_t seen = 0;
    double cpu = 0;
    unsigned idle_ms = 0;
    for (;;) {
        struct told told;
        int ready = poll(&poll_fd, 1, POLL_MS);
        if (ready > 0) {
            ssize_t bytes = read(check->pipe, &told, sizeof told);
            if (bytes < 0 && errno == EINTR)
                continue;
            if (bytes != (ssize_t)sizeof told)
                return;
            (*progress)++;
            told_take(check, &told);
        } else if (ready == 0 && child_is_stuck(check, &seen, &cpu, &idle_ms)) {
            kill(check->child, SIGKILL);
            snprintf(check->unreadable, sizeof check->unreadable, "the OTF2 library does not finish reading it");
            return;
        }
    }
}

/* The last line that the library printed before it ended the process. */
static void child_last_words(int output, char *text, size_t size)
{
    off_t end = lseek(output, 0, SEEK_END);
    off_t begin = end > (off_t)size - 1 ? end - (off_t)size + 1 : 0;
    ssize_t bytes = pread(output, text, size - 1, begin);
    text[bytes > 0 ? bytes : 0] = '\0';
    size_t length = strlen(text);
    while (length && text[length - 1] == '\n')
        text[--length] = '\0';
    char *line = strrchr(text, '\n');
    if (line)
        memmove(text, line + 1, strlen(line));
}

static void child_end(struct check *check)
{
    int status;
    char words[256];
    while (waitpid(check->child, &status, 0) < 0)
        if (errno != EINTR)
            return;
    if (check->ended || check->unreadable[0])
        return;
    child_last_words(check->output, words, sizeof words);
    if (WIFSIGNALED(status))
        snprintf(check->unreadable, sizeof check->unreadable, "the OTF2 library ended with signal %d (%s) on it%s%s",
                 WTERMSIG(status), strsignal(WTERMSIG(status)), words[0] ? ": " : "", words);
    else
        snprintf(check->unreadable, sizeof check->unreadable, "the OTF2 library ended the process on it%s%s",
                 words[0] ? ": " : "", words);
}

/* ---- what is shown ----------------------------------------------------------------------------------------------- */

static uint64_t findings_count(const struct check *check, bool errors)
{
    uint64_t sum = 0;
    for (int rule = 0; rule < RULE_COUNT; rule++) {
        uint64_t found = check->ended ? check->figures.found[rule] : check->shown[rule];
        sum += check_rules[rule].is_error == errors ? found : 0;
    }
    return sum;
}

static void text_close(const struct check *check)
{
    const struct check_figures *f = &check->figures;
    uint64_t errors = findings_count(check, true), warnings = findings_count(check, false);
    if (!check->ended)
        return;
    for (int rule = 0; rule < RULE_COUNT; rule++)
        if (f->found[rule] > check->shown[rule])
            printf("... and %" PRIu64 " more of %s\n", f->found[rule] - check->shown[rule],
                   check_rules[rule].identifier);
    printf("%s: %" PRIu64 " errors, %" PRIu64 " warnings; %" PRIu64 " processes, %" PRIu64 " locations, %" PRIu64
           " definitions, %" PRIu64 " events, %" PRIu64 " messages matched, %" PRIu64 " collectives matched, %" PRIu64
           " RMA and %" PRIu64 " I/O operations\n",
           errors ? "not sound" : "sound", errors, warnings, f->processes, f->locations, f->definitions, f->events,
           f->messages, f->collectives, f->rma_operations, f->io_operations);
}

static json_t *figures_json(const struct check_figures *f)
{
    const struct {
        const char *name;
        uint64_t value;
    } figures[] = {{"processes", f->processes},
                   {"locations", f->locations},
                   {"definitions", f->definitions},
                   {"events", f->events},
                   {"enters", f->enters},
                   {"user_enters", f->user_enters},
                   {"samples", f->samples},
                   {"sends", f->sends},
                   {"send_bytes", f->send_bytes},
                   {"recvs", f->receives},
                   {"recv_bytes", f->recv_bytes},
                   {"messages_matched", f->messages},
                   {"collective_calls", f->collective_calls},
                   {"collectives_matched", f->collectives},
                   {"rma_operations", f->rma_operations},
                   {"io_operations", f->io_operations}};
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        json_object_set_new(object, figures[i].name, uint_json(figures[i].value));
    return object;
}

static json_t *verdict_json(const struct check *check)
{
    uint64_t errors = findings_count(check, true);
    json_t *object = json_object(), *rules = json_object();
    for (int rule = 0; rule < RULE_COUNT; rule++) {
        uint64_t found = check->ended ? check->figures.found[rule] : check->shown[rule];
        if (found)
            json_object_set_new(rules, check_rules[rule].identifier, uint_json(found));
    }
    json_object_set_new(object, "archive", json_string(check->path));
    json_object_set_new(object, "verdict", json_string(!check->ended ? "unreadable" : errors ? "not sound" : "sound"));
    if (!check->ended)
        json_object_set_new(object, "reason", json_string(check->unreadable));
    json_object_set_new(object, "errors", uint_json(errors));
    json_object_set_new(object, "warnings", uint_json(findings_count(check, false)));
    json_object_set_new(object, "found", rules);
    json_object_set(object, "findings", check->findings);
    if (check->ended) {
        json_object_set_new(object, "figures", figures_json(&check->figures));
        json_object_set(object, "communicators", check->comms);
    }
    return object;
}

/* ---- the archive ------------------------------------------------------------------------------------------------- */

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Finds the only anchor in a directory whose anchor has another name. */
static bool anchor_search(const char *directory, char anchor[PATH_MAX])
{
    char pattern[PATH_MAX];
    glob_t found;
    if (snprintf(pattern, sizeof pattern, "%s/*.otf2", directory) >= (int)sizeof pattern)
        return false;
    if (glob(pattern, 0, NULL, &found) != 0)
        return false;
    bool one = found.gl_pathc == 1 && is_file(found.gl_pathv[0]) &&
               snprintf(anchor, PATH_MAX, "%s", found.gl_pathv[0]) < PATH_MAX;
    globfree(&found);
    return one;
}

static bool anchor_find(const char *path, char anchor[PATH_MAX])
{
    static const char *const places[] = {"", "/traces.otf2", "/otf2/traces.otf2"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (snprintf(anchor, PATH_MAX, "%s%s", path, places[i]) < PATH_MAX && is_file(anchor))
            return true;
    return anchor_search(path, anchor);
}

static void child_start(struct check *check, const char *anchor)
{
    int ends[2];
    pid_t parent = getpid();
    check->output = memfd_create("otf2", MFD_CLOEXEC);
    progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (check->output < 0 || progress == MAP_FAILED || pipe2(ends, O_CLOEXEC) != 0)
        err(2, "the check cannot start");
    fflush(NULL);
    check->child = fork();
    if (check->child < 0)
        err(2, "the check cannot start");
    if (check->child == 0) {
        close(ends[0]);
        child_main(anchor, ends[1], check->output, parent);
    }
    close(ends[1]);
    check->pipe = ends[0];
}

/* Returns the check's status. *verdict gets the JSON of the check. If `verdict` is NULL, the check is printed. */
static int archive_judge(const char *path, const char *anchor, json_t **verdict)
{
    struct check check = {.path = path, .json = verdict};
    if (verdict) {
        check.findings = json_array();
        check.comms = json_object();
    }
    child_start(&check, anchor);
    child_listen(&check);
    child_end(&check);
    if (verdict)
        *verdict = verdict_json(&check);
    else
        text_close(&check);
    if (!check.ended) {
        fflush(stdout);
        warnx("%s cannot be read: %s", anchor, check.unreadable);
    }
    json_decref(check.findings);
    json_decref(check.comms);
    close(check.pipe);
    close(check.output);
    munmap((void *)(uintptr_t)progress, sizeof *progress);
    return !check.ended ? 2 : findings_count(&check, true) ? 1 : 0;
}

static void json_print(const json_t *object)
{
    json_dumpf(object, stdout, JSON_INDENT(2) | JSON_SORT_KEYS);
    putchar('\n');
}

/* Checks the archives of several jobs, each in its own directory there. Returns the worst status, or -1 if there is no
 * archive. */
static int archives_judge(const char *path, json_t *verdicts)
{
    struct dirent **names;
    int count = scandir(path, &names, NULL, alphasort), status = -1;
    for (int i = 0; i < count; i++) {
        char directory[PATH_MAX], anchor[PATH_MAX];
        json_t *verdict = NULL;
        if (names[i]->d_name[0] != '.' &&
            snprintf(directory, sizeof directory, "%s/%s", path, names[i]->d_name) < (int)sizeof directory &&
            snprintf(anchor, sizeof anchor, "%s/traces.otf2", directory) < (int)sizeof anchor && is_file(anchor)) {
            if (!verdicts)
                printf("%s\n", directory);
            int result = archive_judge(directory, anchor, verdicts ? &verdict : NULL);
            json_array_append_new(verdicts, verdict);
            status = result > status ? result : status;
        }
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return status;
}

int check_run(const char *path, bool json)
{
    char anchor[PATH_MAX], below[PATH_MAX];
    json_t *shown = NULL;
    int status;
    if (anchor_find(path, anchor)) {
        status = archive_judge(path, anchor, json ? &shown : NULL);
    } else {
        json_t *verdicts = json ? json_array() : NULL;
        status = archives_judge(path, verdicts);
        if (status < 0 && snprintf(below, sizeof below, "%s/otf2", path) < (int)sizeof below)
            status = archives_judge(below, verdicts);
        shown = json ? json_pack("{s:o}", "archives", verdicts) : NULL;
    }
    if (status < 0)
        warnx("%s is not an OTF2 archive: neither a file nor a directory with a traces.otf2", path);
    else if (json)
        json_print(shown);
    json_decref(shown);
    return status < 0 ? 2 : status;
}
