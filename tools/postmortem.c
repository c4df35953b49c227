#define _GNU_SOURCE
#include "postmortem.h"

#include "calls.h"
#include "label.h"
#include "processlife.h"
#include "units.h"
#include "waiting.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LAST_RECORDS = 64, LIST_BYTES = 160, WAIT_MS = 2000, WAIT_STEP_MS = 20 };

static bool is_call_record(const struct event *event)
{
    return event_kind(event) < RECORD_FIRST && event_kind(event) != CALL_NONE;
}

static void sign_of_life(struct ward *ward, int64_t ns)
{
    if (ns > ward->end_ns)
        ward->end_ns = ns;
}

/* A name that stays when the file is put to rest. */
static const char *call_name(const struct run_reader *file, unsigned kind)
{
    const char *name = run_reader_call_name(file, kind);
    for (unsigned i = 0; i < CALL_COUNT; i++) {
        unsigned known = (kind + i) % CALL_COUNT; /* most likely it has the number that it has here */
        if (strcmp(call_table[known].name, name) == 0)
            return call_table[known].name;
    }
    return "a call of another version";
}

/* The thread's last call, and when it returned. */
static const char *last_call(const struct run_reader *file, uint32_t thread, uint64_t *ticks)
{
    struct event_cursor cursor;
    const char *name = NULL;
    *ticks = 0;
    event_cursor_open(&cursor, file, thread);
    if (cursor.end > LAST_RECORDS)
        event_cursor_skip(&cursor, cursor.end - LAST_RECORDS);
    const struct event *event = event_cursor_next(&cursor);
    while (event) {
        struct event call = *event;
        event = event_cursor_next(&cursor);
        const struct event_extension *more =
            (call.kind & EVENT_WIDE) && event && event_kind(event) == RECORD_EXTENSION ? (const void *)event : NULL;
        if (!is_call_record(&call) || (call.kind & EVENT_NESTED))
            continue;
        name = call_name(file, event_kind(&call));
        *ticks = call.begin + event_duration(&call, more);
    }
    event_cursor_close(&cursor);
    return name;
}

static uint64_t realtime_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int patients_find(struct ward *ward)
{
    size_t most = 0;
    for (size_t i = 0; i < ward->job->file_count; i++)
        most += ward->job->files[i].thread_count;
    if (!(ward->patients = calloc(most + 1, sizeof *ward->patients)))
        return -1;
    for (size_t i = 0; i < ward->job->file_count; i++) {
        const struct run_reader *file = run_job_file(ward->job, i);
        bool ended = file->header.phase == RUN_FINALIZED, alive = !ended && process_lives(&file->header);
        ward->processes += !ended;
        if (ended && file->header.end_ticks)
            sign_of_life(ward, timeline_ns(&ward->line, file, file->header.end_ticks));
        uint64_t realtime = alive ? realtime_now() : file->header.end_realtime_ns;
        int64_t end_ns = -1;
        if (realtime > file->header.begin_realtime_ns) {
            end_ns = timeline_ns(&ward->line, file, file->header.begin_ticks) +
                     (int64_t)(realtime - file->header.begin_realtime_ns);
            sign_of_life(ward, end_ns);
        }
        for (uint32_t thread = 0; thread < file->thread_count; thread++) {
            const struct thread_record *record = file->threads[thread];
            if (!record || (record->end_ticks && thread))
                continue;
            uint64_t left;
            struct patient patient = {
                .file = file, .thread = thread, .state = record->state, .alive = alive, .end_ns = end_ns};
            patient.call = call_name(file, patient.state.call);
            patient.last = last_call(file, thread, &left);
            uint64_t since = patient.state.call != CALL_NONE ? patient.state.since : left;
            patient.since_ns = since ? timeline_ns(&ward->line, file, since) : -1;
            if (since)
                sign_of_life(ward, patient.since_ns);
            if (!ended)
                ward->patients[ward->count++] = patient;
        }
        run_reader_rest(file);
    }
    return 0;
}

static bool state_is_same(const struct patient *one, const struct patient *other)
{
    const struct comm_record *a = patient_comm(one), *b = patient_comm(other);
    bool comms = a == b || (a && b && strcmp(a->name, b->name) == 0);
    return comms && one->state.call == other->state.call && one->file->header.phase == other->file->header.phase &&
           one->alive == other->alive &&
           (one->state.call != CALL_NONE || one->last == other->last ||
            (one->last && other->last && strcmp(one->last, other->last) == 0));
}

/* ---- as text -------------------------------------------------------------------------------------------------------
 */

__attribute__((format(printf, 2, 3))) static void text_add(char text[LIST_BYTES], const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, LIST_BYTES - used, format, args);
    va_end(args);
}

static int rank_order(const void *one, const void *other)
{
    int32_t a = *(const int32_t *)one, b = *(const int32_t *)other;
    return (a > b) - (a < b);
}

/* "rank 3", "ranks 0-2, 5": sorts them. */
static void ranks_text(char text[LIST_BYTES], int32_t *ranks, size_t count)
{
    qsort(ranks, count, sizeof *ranks, rank_order);
    size_t different = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || ranks[i] != ranks[i - 1])
            ranks[different++] = ranks[i];
    snprintf(text, LIST_BYTES, different == 1 ? "rank" : "ranks");
    for (size_t i = 0; i < different; i++) {
        size_t last = i;
        while (last + 1 < different && ranks[last + 1] == ranks[last] + 1)
            last++;
        if (strlen(text) + 40 > LIST_BYTES) {
            text_add(text, ", ...");
            return;
        }
        if (ranks[i] < 0)
            text_add(text, "%s (not known)", i ? "," : "");
        else if (last > i)
            text_add(text, "%s %" PRId32 "-%" PRId32, i ? "," : "", ranks[i], ranks[last]);
        else
            text_add(text, "%s %" PRId32, i ? "," : "", ranks[i]);
        i = last;
    }
}

static const char *ending(const struct patient *patient)
{
    if (patient->alive)
        return "runs still";
    switch (patient->file->header.phase) {
    case RUN_ABORTED:
        return "called MPI_Abort";
    case RUN_CLOSED:
        return "had closed the last session, and was killed or ended by _exit()";
    case RUN_EXITED:
        return "ended by exit() or the end of main";
    default:
        return "was killed, or ended by _exit()";
    }
}

/* The ranks that a group of threads waits for in one way; "" = none. */
static void waits_text(char text[LIST_BYTES], const struct patient *const *group, size_t count, enum wait_kind kind)
{
    size_t most = 0, found = 0;
    for (size_t i = 0; i < count; i++)
        most += group[i]->waits.count;
    int32_t *ranks = calloc(most + 1, sizeof *ranks);
    for (size_t i = 0; ranks && i < count; i++)
        for (size_t k = 0; k < group[i]->waits.count; k++)
            if (group[i]->waits.list[k].kind == kind && group[i]->waits.list[k].rank >= 0)
                ranks[found++] = group[i]->waits.list[k].rank;
    text[0] = '\0';
    if (found)
        ranks_text(text, ranks, found);
    free(ranks);
}

/* For whom a group of threads waits. */
static void waits_print(const struct patient *const *group, size_t count, FILE *out)
{
    static const char *const words[WAIT_KINDS] = {
        [WAIT_FROM] = "from", [WAIT_TO] = "to", [WAIT_AT] = "at", [WAIT_ALL] = "which has not entered:"};
    bool anybody = false, requests = false, collective = false;
    const char *between = ", ";
    for (size_t i = 0; i < count; i++) {
        anybody = anybody || group[i]->waits.anybody;
        requests = requests || group[i]->waits.requests;
        collective = collective || group[i]->waits.collective;
    }
    for (enum wait_kind kind = 0; kind < WAIT_KINDS; kind++) {
        char text[LIST_BYTES];
        waits_text(text, group, count, kind);
        const char *word = words[kind];
        if (kind == WAIT_ALL && (strchr(text, ',') || strchr(text, '-')))
            word = "which have not entered:";
        if (text[0] || (kind == WAIT_FROM && anybody)) {
            fprintf(out, "%s%s%s %s%s", between, requests ? kind == WAIT_TO ? "sending " : "receiving " : "", word,
                    text,
                    kind != WAIT_FROM || !anybody ? ""
                    : text[0]                     ? " and anybody"
                                                  : "anybody");
            between = " and ";
        }
    }
    if (collective)
        fprintf(out, "%sin a nonblocking collective", between);
}

static void group_print(const struct ward *ward, const struct patient *const *group, size_t count, FILE *out)
{
    const struct patient *first = group[0];
    char ranks[LIST_BYTES], time[UNIT_TEXT_BYTES], title[COMM_TITLE_BYTES];
    int32_t *list = calloc(count, sizeof *list);
    int64_t longest = -1;
    for (size_t i = 0; i < count; i++) {
        if (list)
            list[i] = group[i]->file->header.world_size > 0 ? group[i]->file->header.world_rank : -1;
        int64_t spent = patient_end(ward, group[i]) - group[i]->since_ns;
        if (group[i]->since_ns >= 0 && spent > longest)
            longest = spent;
    }
    ranks_text(ranks, list, list ? count : 0);
    free(list);
    fprintf(out, "             %s: ", ranks);
    const struct comm_record *comm = patient_comm(first);
    if (first->state.call != CALL_NONE)
        fprintf(out, "in %s%s%s", first->call, comm ? " on " : "",
                comm ? comm_title(title, comm->name, comm->label) : "");
    else if (first->last)
        fprintf(out, "outside MPI, after %s", first->last);
    else
        fprintf(out, "outside MPI");
    if (first->state.call != CALL_NONE)
        waits_print(group, count, out);
    if (longest >= 0)
        fprintf(out, ", for %s", text_of_ns(time, (uint64_t)longest));
    fprintf(out, "; %s\n", ending(first));
}

/* Ranks that wait for each other, in a circle. */
static void circle_print(const struct ward *ward, FILE *out)
{
    int32_t *ranks;
    bool sure;
    size_t count = waits_circle(ward, &ranks, &sure);
    if (!count)
        return;
    fprintf(out, "             rank %" PRId32, ranks[0]);
    for (size_t i = 1; i <= count; i++)
        fprintf(out, " waits for rank %" PRId32 "%s", ranks[i % count], i == count ? "" : ", which");
    fprintf(out, ": %sa deadlock\n", sure ? "" : "probably ");
    free(ranks);
}

enum { DEAD_LINES_MOST = 8 };

/* Who waits for ranks that are dead: that is what keeps them, whatever those were in when they died. */
static void dead_print(const struct ward *ward, FILE *out)
{
    int32_t *ranks = calloc(ward->count + 1, sizeof *ranks);
    size_t lines = 0;
    for (size_t i = 0; ranks && i < ward->count && lines < DEAD_LINES_MOST; i++) {
        const struct patient *dead = &ward->patients[i];
        size_t count = 0;
        bool first = i == 0 || ward->patients[i - 1].file != dead->file; /* of its rank's threads */
        for (size_t k = 0; first && k < ward->count; k++)
            if (patient_waits_for_dead(ward, &ward->patients[k], dead))
                ranks[count++] = ward->patients[k].file->header.world_rank;
        char text[LIST_BYTES];
        if (!count)
            continue;
        ranks_text(text, ranks, count);
        fprintf(out, "             %s wait%s for rank %" PRId32 ", which had died before\n", text,
                text[4] == 's' ? "" : "s", dead->file->header.world_rank);
        lines++;
    }
    free(ranks);
}

static void groups_print(struct ward *ward, size_t most, FILE *out)
{
    const struct patient **group = calloc(ward->count + 1, sizeof *group);
    size_t lines = 0, left = 0;
    for (size_t i = 0; group && i < ward->count; i++) {
        if (ward->patients[i].shown)
            continue;
        size_t count = 0;
        for (size_t k = i; k < ward->count; k++)
            if (!ward->patients[k].shown && state_is_same(&ward->patients[i], &ward->patients[k])) {
                ward->patients[k].shown = true;
                group[count++] = &ward->patients[k];
            }
        if (lines++ < most)
            group_print(ward, group, count, out);
        else
            left += count;
    }
    if (left)
        fprintf(out, "             and %zu more\n", left);
    free(group);
}

size_t postmortem_print(const struct run_job *job, size_t most, FILE *out)
{
    struct ward ward = {.job = job};
    if (job->file_count == 0)
        return 0;
    if (timeline_open(&ward.line, job->files, job->file_count, true) != 0 || patients_find(&ward) != 0 ||
        waits_find(&ward) != 0)
        errx(1, "no memory");
    if (ward.processes) {
        fprintf(out, "\n  %zu of %" PRId32 " process%s did not come to %s end:\n", ward.processes,
                job->files[0].header.world_size > 0 ? job->files[job->file_count - 1].header.world_size
                                                    : (int32_t)job->file_count,
                job->file_count == 1 ? "" : "es", ward.processes == 1 ? "its" : "their");
        groups_print(&ward, most, out);
        dead_print(&ward, out);
        circle_print(&ward, out);
    }
    waits_release(&ward);
    free(ward.patients);
    timeline_release(&ward.line);
    return ward.processes;
}

/* ---- when the command has ended ------------------------------------------------------------------------------------
 */

/* Opens a run file whose process has not told its end, and has none written. -1: it is none such. */
static int unended_open(const char *path, struct run_header *header)
{
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool good = fd >= 0 && pread(fd, header, sizeof *header, 0) == (ssize_t)sizeof *header &&
                memcmp(header->magic, RUN_MAGIC, sizeof header->magic) == 0 && header->version == RUN_VERSION &&
                header->byte_order == RUN_BYTE_ORDER && header->phase != RUN_FINALIZED && !header->end_realtime_ns;
    header->boot[sizeof header->boot - 1] = header->program[sizeof header->program - 1] = '\0';
    if (good || fd < 0)
        return fd;
    close(fd);
    return -1;
}

/* True: the process is there still. If not, its end is written. */
static bool end_write(const char *path, uint64_t realtime_ns)
{
    struct run_header header;
    int fd = unended_open(path, &header);
    if (fd < 0)
        return false;
    bool alive = process_lives(&header);
    /* what cannot be written stays unknown */
    if (!alive && pwrite(fd, &realtime_ns, sizeof realtime_ns, offsetof(struct run_header, end_realtime_ns)) < 0)
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
    end_write(path, realtime_now());
}

void postmortem_seen(const char *directory)
{
    uint64_t ns = realtime_now();
    for (int waited = 0;; waited += WAIT_STEP_MS) {
        int alive = 0;
        DIR *stream = opendir(directory);
        for (struct dirent *entry; stream && (entry = readdir(stream));) {
            char path[PATH_MAX];
            size_t length = strlen(entry->d_name);
            snprintf(path, sizeof path, "%.3800s/%.255s", directory, entry->d_name);
            if (length > strlen(RUN_FILE_SUFFIX) &&
                strcmp(entry->d_name + length - strlen(RUN_FILE_SUFFIX), RUN_FILE_SUFFIX) == 0)
                alive += end_write(path, ns);
            else if (strstr(entry->d_name, SUMMARY_SUFFIX ".part") && waited >= WAIT_MS)
                unlink(path);
        }
        if (stream)
            closedir(stream);
        if (waited >= WAIT_MS)
            return;
        if (!alive)
            waited = WAIT_MS - WAIT_STEP_MS;
        else
            nanosleep(&(struct timespec){.tv_nsec = WAIT_STEP_MS * 1000000L}, NULL);
    }
}
