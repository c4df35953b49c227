#include "waiting/postmortem.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"
#include "calls.h"
#include "format/label.h"
#include "base/processlife.h"
#include "base/units.h"
#include "report/callplaces.h"
#include "waiting/mismatch.h"
#include "waiting/ward.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CALLERS_SHOWN = 2, ENDING_BYTES = 64 };
enum { WAIT_MS = 2000, WAIT_STEP_MS = 20, WAIT_UNSEEN_MS = 5000, WAIT_STEP_MOST_MS = 500 };

/* Returns whether each waits for the same ranks in the same way. */
static bool waits_are_same(const struct waits *one, const struct waits *other)
{
    bool same = one->count == other->count && one->anybody == other->anybody && one->requests == other->requests &&
                one->collective == other->collective;
    for (size_t i = 0; same && i < one->count; i++) {
        same = false;
        for (size_t k = 0; !same && k < other->count; k++)
            same = one->list[i].rank == other->list[k].rank && one->list[i].kind == other->list[k].kind;
    }
    return same;
}

static bool state_is_same(const struct patient *one, const struct patient *other)
{
    const struct comm_record *a = patient_comm(one), *b = patient_comm(other);
    bool comms = a == b || (a && b && strcmp(a->name, b->name) == 0);
    return comms && one->state.call == other->state.call && one->place == other->place &&
           one->file->header.exit_status == other->file->header.exit_status &&
           one->file->header.phase == other->file->header.phase && one->alive == other->alive &&
           one->unseen == other->unseen &&
           (one->state.call != CALL_NONE || one->last == other->last ||
            (one->last && other->last && strcmp(one->last, other->last) == 0));
}

/* The threads in an order in which those with the same state are neighbors. */
struct neighbour {
    uint64_t hash; /* of the state */
    size_t patient;
};

static uint64_t state_hash(const struct patient *patient)
{
    const struct comm_record *comm = patient_comm(patient);
    uint64_t hash = hash_text(HASH_BEGIN, comm ? comm->name : NULL);
    hash = hash_add(hash_add(hash, patient->state.call), patient->place);
    hash = hash_add(hash_add(hash, patient->file->header.phase), patient->file->header.exit_status);
    hash = hash_add(hash, (uint64_t)patient->alive << 1 | patient->unseen);
    return patient->state.call == CALL_NONE ? hash_text(hash, patient->last) : hash;
}

static int neighbour_order(const void *one, const void *other)
{
    const struct neighbour *a = one, *b = other;
    return ORDER(a->hash, b->hash) ?: ORDER(a->patient, b->patient);
}

/* The caller frees it, and the place of each thread in it. NULL: no memory. */
static struct neighbour *neighbours_find(const struct ward *ward, size_t **places)
{
    struct neighbour *list = calloc(ward->count + 1, sizeof *list);
    *places = calloc(ward->count + 1, sizeof **places);
    for (size_t i = 0; list && i < ward->count; i++)
        list[i] = (struct neighbour){state_hash(&ward->patients[i]), i};
    if (list)
        qsort(list, ward->count, sizeof *list, neighbour_order);
    for (size_t i = 0; list && *places && i < ward->count; i++)
        (*places)[list[i].patient] = i;
    return list;
}

/* ---- as text ----------------------------------------------------------------------------------------------------- */

/* `text`: room for the result. */
static const char *ending(const struct patient *patient, char text[ENDING_BYTES])
{
    uint64_t status = patient->file->header.exit_status;
    if (patient->unseen)
        return patient->alive
                   ? "still running, according to its file"
                   : "crashed, was killed, ended by _exit(), or is still running where this process cannot see it";
    if (patient->alive)
        return "still running";
    switch (patient->file->header.phase) {
    case RUN_ABORTED:
        return "called MPI_Abort";
    case RUN_CLOSED:
        return "closed the last session, then was killed or ended by _exit()";
    case RUN_EXITED:
        if (!(status & EXIT_KNOWN))
            return "ended by exit() or the end of main";
        snprintf(text, ENDING_BYTES, "ended by exit() or the end of main, with status %u", (unsigned)(status & 0xff));
        return text;
    default:
        return patient->file->header.end_signal == SIGINT ? "interrupted (Ctrl-C)"
               : patient->file->header.end_signal         ? "ended by a signal to mpit-run"
                                                          : "crashed, was killed, or ended by _exit()";
    }
}

/* Without a recorded death, only the job's last sign of life is known, and no time of other processes.
 */
static void spent_print(const struct ward *ward, const struct patient *const *group, size_t count, FILE *out)
{
    char time[UNIT_TEXT_BYTES];
    int64_t longest = -1;
    bool seen = true, others = false;
    for (size_t i = 0; i < ward->count; i++)
        others = others || ward->patients[i].alive;
    for (size_t i = 0; i < count; i++) {
        int64_t spent = patient_end(ward, group[i]) - group[i]->since_ns;
        seen = seen && (group[i]->alive || group[i]->end_ns >= 0);
        if (group[i]->since_ns >= 0 && spent > longest)
            longest = spent;
    }
    if (longest < 0)
        return;
    if (seen)
        fprintf(out, ", for %s", text_of_ns(time, (uint64_t)longest));
    else if (others || longest == 0)
        fputs(", until it died at an unknown time", out);
    else
        fprintf(out, ", for %s at least, until it died at an unknown time", text_of_ns(time, (uint64_t)longest));
}

static void group_print(const struct ward *ward, const struct patient *const *group, size_t count, FILE *out)
{
    const struct patient *first = group[0];
    char ranks[RANKS_TEXT_BYTES], title[COMM_TITLE_BYTES], place[CALL_PLACE_BYTES], end[ENDING_BYTES];
    int32_t *list = calloc(count, sizeof *list);
    for (size_t i = 0; list && i < count; i++)
        list[i] = run_rank(&group[i]->file->header);
    ranks_text(ranks, list, list ? count : 0);
    free(list);
    fprintf(out, "             %s: ", ranks);
    const struct comm_record *comm = patient_comm(first);
    const char *at = first->place ? " at " : "";
    call_place_text(ward->places, first->place, CALLERS_SHOWN, place);
    if (first->state.call != CALL_NONE)
        fprintf(out, "in %s%s%s%s%s", first->call, comm ? " on " : "",
                comm ? comm_title(title, comm->name, comm->label) : "", at, place);
    else if (first->last)
        fprintf(out, "outside MPI, after %s%s%s", first->last, at, place);
    else
        fprintf(out, "outside MPI");
    if (first->state.call != CALL_NONE)
        waits_print(group, count, out);
    spent_print(ward, group, count, out);
    fprintf(out, "; %s\n", ending(first, end));
}

enum { DEAD_LINES_MOST = 8 };

/* Returns whether somebody may have waited for long when this thread's process was dead. */
static bool died_early(const struct ward *ward, const struct patient *dead, int64_t last_ns, bool anybody_lives)
{
    size_t i = (size_t)(dead - ward->patients);
    bool first = i == 0 || ward->patients[i - 1].file != dead->file; /* of its rank's threads */
    return first && !dead->alive && (anybody_lives || (dead->end_ns >= 0 && last_ns - dead->end_ns >= WAIT_LONG_NS));
}

/* How a rank went for which others wait. */
static const char *death(const struct patient *dead, char text[ENDING_BYTES])
{
    uint64_t status = dead->file->header.exit_status;
    if (dead->file->header.phase != RUN_EXITED || !(status & EXIT_KNOWN))
        return "died before";
    snprintf(text, ENDING_BYTES, "had left with exit status %u", (unsigned)(status & 0xff));
    return text;
}

/* Prints which ranks wait for dead ranks. This is the reason why they hang, no matter which calls the dead ranks were
 * in. */
static void dead_print(const struct ward *ward, FILE *out)
{
    int32_t *ranks = calloc(ward->count + 1, sizeof *ranks);
    size_t lines = 0;
    int64_t last_ns = INT64_MIN;
    bool anybody_lives = false;
    for (size_t i = 0; i < ward->count; i++) {
        int64_t end_ns = patient_end(ward, &ward->patients[i]);
        last_ns = end_ns > last_ns ? end_ns : last_ns;
        anybody_lives = anybody_lives || ward->patients[i].alive;
    }
    for (size_t i = 0; ranks && i < ward->count && lines < DEAD_LINES_MOST; i++) {
        const struct patient *dead = &ward->patients[i];
        size_t count = 0;
        bool early = died_early(ward, dead, last_ns, anybody_lives);
        for (size_t k = 0; early && k < ward->count; k++)
            if (patient_waits_for_dead(ward, &ward->patients[k], dead))
                ranks[count++] = run_rank(&ward->patients[k].file->header);
        char text[RANKS_TEXT_BYTES], end[ENDING_BYTES];
        if (!count)
            continue;
        ranks_text(text, ranks, count);
        fprintf(out, "             %s wait%s for rank %" PRId32 ", which %s\n", text, text[4] == 's' ? "" : "s",
                run_rank(&dead->file->header), death(dead, end));
        lines++;
    }
    free(ranks);
}

/* MPI_Init returns nowhere before all have called it. So the others may be waiting in it for a process without a run
 * file. */
static void absent_print(const struct ward *ward, FILE *out)
{
    char ranks[MISSING_TEXT_BYTES];
    bool starting = false;
    for (size_t i = 0; i < ward->count && !starting; i++)
        starting = ward->patients[i].file->header.world_size == 0;
    if (starting && run_job_ranks_missing(ward->job, ranks))
        fprintf(out, "             rank%s %s: no run file; MPI_Init was not called, or recording was not possible\n",
                strpbrk(ranks, ",-") ? "s" : "", ranks);
}

/* Prints ranks that wait for each other. */
static void ward_circle_print(const struct ward *ward, FILE *out)
{
    int32_t *ranks;
    bool sure;
    size_t count = waits_circle(ward, &ranks, &sure);
    if (!count)
        return;
    fputs("             ", out);
    circle_print(ranks, count, sure, out);
    fputc('\n', out);
    free(ranks);
}

enum { LINES_EACH = 8 };

/* Takes the threads in the state of thread i, with it. Returns how many. In a small job, ranks that wait for different
 * ones have separate lines. */
static size_t group_take(struct ward *ward, size_t i, const struct neighbour *list, size_t place,
                         const struct patient **group)
{
    size_t count = 0;
    for (size_t n = place; n < ward->count && list[n].hash == list[place].hash; n++) {
        struct patient *other = &ward->patients[list[n].patient];
        if (other->shown || !state_is_same(&ward->patients[i], other) ||
            (ward->count <= LINES_EACH && !waits_are_same(&ward->patients[i].waits, &other->waits)))
            continue;
        other->shown = true;
        group[count++] = other;
    }
    return count;
}

/* Ranks in the same state share a line. `firsts` as in postmortem_print_all, or NULL. */
static void groups_print(struct ward *ward, size_t most, bool *firsts, FILE *out)
{
    const struct patient **group = calloc(ward->count + 1, sizeof *group);
    size_t *places, lines = 0, left = 0;
    struct neighbour *list = neighbours_find(ward, &places);
    for (size_t i = 0; group && list && places && i < ward->count; i++) {
        if (ward->patients[i].shown)
            continue;
        size_t count = group_take(ward, i, list, places[i], group);
        if (firsts)
            firsts[ward->patients[i].file - ward->job->files] = true;
        if (lines++ < most)
            group_print(ward, group, count, out);
        else
            left += count;
    }
    if (left)
        fprintf(out, "             and %zu more\n", left);
    free(group);
    free(list);
    free(places);
}

static void others_hide(struct ward *ward, const struct selection *selection)
{
    for (size_t i = 0; i < ward->count; i++)
        if (!selection_has_rank(selection, run_rank(&ward->patients[i].file->header)))
            ward->patients[i].shown = true;
}

static size_t job_print(const struct run_job *job, const struct selection *selection, size_t most, bool *firsts,
                        FILE *out)
{
    struct ward ward;
    if (job->file_count == 0)
        return 0;
    if (ward_open(&ward, job, false) != 0 || ward_places_find(&ward) != 0)
        errx(1, "no memory");
    bool all_run = true;
    for (size_t i = 0; i < ward.count; i++)
        all_run = all_run && ward.patients[i].alive;
    if (ward.processes) {
        int32_t of = run_job_size(job) > 0 ? run_job_size(job) : (int32_t)job->file_count;
        if (ward.count && all_run)
            fprintf(out, "\n  %zu of %" PRId32 " process%s %s still running:\n", ward.processes, of,
                    of == 1 ? "" : "es", ward.processes == 1 ? "is" : "are");
        else
            fprintf(out, "\n  %zu of %" PRId32 " process%s did not end normally:\n", ward.processes, of,
                    of == 1 ? "" : "es");
        if (selection)
            others_hide(&ward, selection);
        groups_print(&ward, most, firsts, out);
        if (!selection)
            absent_print(&ward, out);
        dead_print(&ward, out);
        mismatches_print(&ward, "             ", LINES_EACH, out);
        ward_circle_print(&ward, out);
    }
    size_t processes = ward.processes;
    ward_release(&ward);
    return processes;
}

size_t postmortem_print(const struct run_job *job, size_t most, FILE *out)
{
    return job_print(job, NULL, most, NULL, out);
}

size_t postmortem_print_all(const struct run_job *job, const struct selection *selection, bool *firsts, FILE *out)
{
    return job_print(job, selection, SIZE_MAX, firsts, out);
}

/* ---- when the command has ended ---------------------------------------------------------------------------------- */

/* Opens a run file whose process has not reached its end. Returns -1 if it is not such a file. */
static int unfinalized_open(const char *path, struct run_header *header)
{
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool good = fd >= 0 && pread(fd, header, sizeof *header, 0) == (ssize_t)sizeof *header &&
                memcmp(header->magic, RUN_MAGIC, sizeof header->magic) == 0 && header->version == RUN_VERSION &&
                header->byte_order == RUN_BYTE_ORDER && header->phase != RUN_FINALIZED;
    header->boot[sizeof header->boot - 1] = header->program[sizeof header->program - 1] = '\0';
    if (good || fd < 0)
        return fd;
    close(fd);
    return -1;
}

/* The same, if its death is also not recorded. */
static int unended_open(const char *path, struct run_header *header)
{
    int fd = unfinalized_open(path, header);
    if (fd < 0 || !header->end_realtime_ns)
        return fd;
    close(fd);
    return -1;
}

volatile sig_atomic_t postmortem_signal;

/* The signal that ends the job, also if the thread that takes it has not run yet: a terminal sends it to all processes at once,
 * and some die first. 0: none. */
static uint64_t ending_signal(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t pending;
    if (!postmortem_signal)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    for (size_t i = 0; !postmortem_signal && i < sizeof numbers / sizeof *numbers; i++)
        if (sigpending(&pending) == 0 && sigismember(&pending, numbers[i]) == 1)
            return (uint64_t)numbers[i];
    return (uint64_t)postmortem_signal;
}

/* Returns true if the process still exists. Otherwise records its end, which was so long ago at most. `just_now`: it is seen at
 * once, perhaps before the signal that ends the job. */
static bool end_write(const char *path, uint64_t ago_ns, bool just_now)
{
    struct run_header header;
    int fd = unended_open(path, &header);
    if (fd < 0)
        return false;
    bool alive = process_lives(&header);
    uint64_t realtime_ns = process_now(&header) - ago_ns,
             signal = !alive && just_now ? ending_signal() : (uint64_t)postmortem_signal;
    /* after a failed write the end stays unknown */
    if (!alive && ((signal && pwrite(fd, &signal, sizeof signal, offsetof(struct run_header, end_signal)) < 0) ||
                   pwrite(fd, &realtime_ns, sizeof realtime_ns, offsetof(struct run_header, end_realtime_ns)) < 0))
        alive = false;
    close(fd);
    return alive;
}

pid_t postmortem_process(const char *path)
{
    struct run_header header;
    int fd = unended_open(path, &header);
    if (fd < 0)
        return 0;
    close(fd);
    return process_lives(&header) ? (pid_t)header.pid : 0;
}

void postmortem_end(const char *path)
{
    end_write(path, 0, true);
}

struct unfinalized {
    size_t here, unseen, gone; /* whether they live */
};

static struct unfinalized unfinalized_count(const char *directory)
{
    struct unfinalized count = {0};
    DIR *stream = opendir(directory);
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        char path[PATH_MAX];
        struct run_header header;
        snprintf(path, sizeof path, "%.3800s/%.255s", directory, entry->d_name);
        int fd = text_ends(entry->d_name, RUN_FILE_SUFFIX) ? unfinalized_open(path, &header) : -1;
        if (fd < 0)
            continue;
        close(fd);
        enum process_life life = process_life(&header);
        count.here += life == LIFE_HERE;
        count.unseen += life == LIFE_UNSEEN;
        count.gone += life == LIFE_GONE;
    }
    if (stream)
        closedir(stream);
    return count;
}

void postmortem_await(const char *directory)
{
    for (int waited = 0, step = WAIT_STEP_MS;; waited += step) {
        struct unfinalized count = unfinalized_count(directory);
        if (count.gone || (!count.here && (!count.unseen || waited >= WAIT_UNSEEN_MS)))
            return;
        nanosleep(&(struct timespec){.tv_nsec = step * 1000000L}, NULL);
        step = step < WAIT_STEP_MOST_MS ? 2 * step : step; /* it reads all files each time */
    }
}

void postmortem_seen(const char *directory)
{
    uint64_t slept_ns = 0;
    for (int waited = 0;; waited += WAIT_STEP_MS) {
        int alive = 0;
        DIR *stream = opendir(directory);
        for (struct dirent *entry; stream && (entry = readdir(stream));) {
            char path[PATH_MAX];
            snprintf(path, sizeof path, "%.3800s/%.255s", directory, entry->d_name);
            if (text_ends(entry->d_name, RUN_FILE_SUFFIX))
                alive += end_write(path, slept_ns, false);
        }
        if (stream)
            closedir(stream);
        if (waited >= WAIT_MS)
            return;
        if (!alive)
            waited = WAIT_MS - WAIT_STEP_MS;
        else if (nanosleep(&(struct timespec){.tv_nsec = WAIT_STEP_MS * 1000000L}, NULL) == 0)
            slept_ns += WAIT_STEP_MS * UINT64_C(1000000);
    }
}
