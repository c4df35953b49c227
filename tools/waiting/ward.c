#include "waiting/ward.h"

#include "calls.h"
#include "base/processlife.h"
#include "report/callplaces.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { LAST_RECORDS = 64 };

/* ---- who --------------------------------------------------------------------------------------------------------- */

static bool is_call_record(const struct event *event)
{
    return event_kind(event) < RECORD_FIRST && event_kind(event) != CALL_NONE;
}

static void sign_of_life(struct ward *ward, int64_t ns)
{
    if (ns > ward->end_ns)
        ward->end_ns = ns;
}

/* Returns the name of a call, which stays valid when the file is unmapped. */
static const char *call_name(const struct run_reader *file, unsigned kind)
{
    const char *name = run_reader_call_name(file, kind);
    for (unsigned i = 0; i < CALL_COUNT; i++) {
        unsigned known = (kind + i) % CALL_COUNT; /* it probably has the same number here */
        if (strcmp(call_table[known].name, name) == 0)
            return call_table[known].name;
    }
    return "a call of another version";
}

/* The thread's last call, its call path, and when it returned. */
static const char *last_call(const struct run_reader *file, struct patient *patient, uint64_t *ticks)
{
    struct event_cursor cursor;
    const char *name = NULL;
    patient->path = 0;
    *ticks = 0;
    event_cursor_open(&cursor, file, patient->thread);
    patient->written = cursor.end;
    if (cursor.end > LAST_RECORDS)
        event_cursor_skip(&cursor, cursor.end - LAST_RECORDS);
    const struct event *event = event_cursor_next(&cursor);
    while (event) {
        struct event call = *event;
        uint32_t call_path = cursor.path; /* reading on changes that */
        event = event_cursor_next(&cursor);
        const struct event_extension *more =
            (call.kind & EVENT_WIDE) && event && event_kind(event) == RECORD_EXTENSION ? (const void *)event : NULL;
        if (!is_call_record(&call) || (call.kind & EVENT_NESTED))
            continue;
        name = call_name(file, event_kind(&call));
        patient->path = call_path;
        *ticks = call.begin + event_duration(&call, more);
    }
    event_cursor_close(&cursor);
    return name;
}

/* Returns LIFE_GONE for a process that has reached its end. */
static enum process_life life_of(const struct run_reader *file)
{
    return file->header.phase == RUN_FINALIZED ? LIFE_GONE : process_life(&file->header);
}

/* Reads the threads of a file that is awake, except what the other files tell. Returns how many. */
static size_t patients_read(const struct run_reader *file, struct patient *list)
{
    size_t count = 0;
    for (uint32_t thread = 0; thread < file->thread_count; thread++) {
        const struct thread_record *record = file->threads[thread];
        if (!record || (record->end_ticks && thread))
            continue;
        uint64_t left;
        struct patient patient = {.file = file, .thread = thread, .state = record->state};
        patient.call = call_name(file, patient.state.call);
        patient.last = last_call(file, &patient, &left);
        bool inside = patient.state.call != CALL_NONE;
        if (inside)
            patient.path = patient.state.path;
        patient.since = inside ? patient.state.since : left;
        patient_read(&patient);
        list[count++] = patient;
    }
    return count;
}

struct noted {
    size_t count;
    struct patient list[];
};

void ward_note(struct run_reader *file)
{
    if (file->header.phase == RUN_FINALIZED || life_of(file) == LIFE_HERE)
        return;
    struct noted *noted = calloc(1, sizeof *noted + file->thread_count * sizeof *noted->list);
    if (noted)
        noted->count = patients_read(file, noted->list);
    file->noted = noted;
}

/* Writes the threads of file i. Returns how many. */
static size_t patients_take(const struct run_job *job, size_t i, struct patient *list)
{
    const struct noted *noted = job->files[i].noted;
    if (noted) {
        memcpy(list, noted->list, noted->count * sizeof *list);
        return noted->count;
    }
    const struct run_reader *file = run_job_file(job, i);
    size_t count = patients_read(file, list);
    run_reader_rest(file);
    return count;
}

static int patients_find(struct ward *ward, bool runs)
{
    size_t most = 0;
    for (size_t i = 0; i < ward->job->file_count; i++) {
        most += ward->job->files[i].thread_count;
        runs = runs || life_of(&ward->job->files[i]) == LIFE_HERE;
    }
    if (!(ward->patients = calloc(most + 1, sizeof *ward->patients)))
        return -1;
    for (size_t i = 0; i < ward->job->file_count; i++) {
        const struct run_reader *file = &ward->job->files[i];
        enum process_life life = life_of(file);
        bool ended = file->header.phase == RUN_FINALIZED, unseen = life == LIFE_UNSEEN;
        bool alive = life == LIFE_HERE || (unseen && runs);
        ward->processes += !ended;
        if (ended && file->header.end_ticks)
            sign_of_life(ward, timeline_ns(&ward->line, file, file->header.end_ticks));
        uint64_t realtime = alive ? process_now(&file->header) : file->header.end_realtime_ns;
        int64_t end_ns = -1;
        if (realtime > file->header.begin_realtime_ns) {
            end_ns = timeline_ns(&ward->line, file, file->header.begin_ticks) +
                     (int64_t)(realtime - file->header.begin_realtime_ns);
            sign_of_life(ward, end_ns);
        }
        if (ended) /* its end is in the header, and comes after its last call */
            continue;
        struct patient *list = &ward->patients[ward->count];
        size_t count = patients_take(ward->job, i, list);
        ward->count += count;
        for (struct patient *patient = list; patient < list + count; patient++) {
            patient->file = file;
            patient->alive = alive;
            patient->unseen = unseen;
            patient->end_ns = end_ns;
            patient->since_ns = patient->since ? timeline_ns(&ward->line, file, patient->since) : -1;
            if (patient->since)
                sign_of_life(ward, patient->since_ns);
        }
    }
    return 0;
}

int ward_open(struct ward *ward, const struct run_job *job, bool runs)
{
    *ward = (struct ward){.job = job};
    if (timeline_open(&ward->line, job->files, job->file_count, true) != 0 || patients_find(ward, runs) != 0 ||
        waits_find(ward) != 0)
        return -1;
    return 0;
}

int ward_places_find(struct ward *ward)
{
    ward->places = call_places_open(ward->job->names);
    for (size_t i = 0; ward->places && i < ward->count; i++) {
        struct patient *patient = &ward->patients[i];
        patient->place = call_place_find(ward->places, patient->file, patient->path);
    }
    return ward->places ? 0 : -1;
}

void ward_release(struct ward *ward)
{
    call_places_close(ward->places);
    waits_release(ward);
    free(ward->patients);
    timeline_release(&ward->line);
}

/* ---- as text ----------------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void ranks_text_add(char text[RANKS_TEXT_BYTES], const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, RANKS_TEXT_BYTES - used, format, args);
    va_end(args);
}

static int number_order(const void *one, const void *other)
{
    int32_t a = *(const int32_t *)one, b = *(const int32_t *)other;
    return (a > b) - (a < b);
}

void ranks_text(char text[RANKS_TEXT_BYTES], int32_t *ranks, size_t count)
{
    qsort(ranks, count, sizeof *ranks, number_order);
    size_t different = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || ranks[i] != ranks[i - 1])
            ranks[different++] = ranks[i];
    snprintf(text, RANKS_TEXT_BYTES, different == 1 ? "rank" : "ranks");
    for (size_t i = 0; i < different; i++) {
        size_t last = i;
        while (last + 1 < different && ranks[last + 1] == ranks[last] + 1)
            last++;
        if (strlen(text) + 40 > RANKS_TEXT_BYTES) {
            ranks_text_add(text, ", ...");
            return;
        }
        if (ranks[i] < 0)
            ranks_text_add(text, "%s (unknown)", i ? "," : "");
        else if (last > i)
            ranks_text_add(text, "%s %" PRId32 "-%" PRId32, i ? "," : "", ranks[i], ranks[last]);
        else
            ranks_text_add(text, "%s %" PRId32, i ? "," : "", ranks[i]);
        i = last;
    }
}

static int list_order(const void *one, const void *other)
{
    const struct waits *a = *(const struct waits *const *)one, *b = *(const struct waits *const *)other;
    return ((uintptr_t)a->list > (uintptr_t)b->list) - ((uintptr_t)a->list < (uintptr_t)b->list);
}

/* Lists the waits of a group, each list that threads share once. Returns how many. */
static size_t lists_find(const struct waits **lists, const struct patient *const *group, size_t count)
{
    size_t different = 0;
    for (size_t i = 0; i < count; i++)
        lists[i] = &group[i]->waits;
    qsort(lists, count, sizeof(struct waits *), list_order);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || lists[i]->list != lists[different - 1]->list)
            lists[different++] = lists[i];
    return different;
}

/* Writes the ranks that a group of threads waits for in one way, or "" for none. */
static void waits_text(char text[RANKS_TEXT_BYTES], const struct patient *const *group, size_t count,
                       enum wait_kind kind)
{
    size_t most = 0, found = 0;
    const struct waits **lists = calloc(count + 1, sizeof(struct waits *));
    count = lists ? lists_find(lists, group, count) : 0;
    for (size_t i = 0; i < count; i++)
        most += lists[i]->count;
    int32_t *ranks = calloc(most + 1, sizeof *ranks);
    for (size_t i = 0; ranks && i < count; i++)
        for (size_t k = 0; k < lists[i]->count; k++)
            if (lists[i]->list[k].kind == kind && lists[i]->list[k].rank >= 0)
                ranks[found++] = lists[i]->list[k].rank;
    text[0] = '\0';
    if (found)
        ranks_text(text, ranks, found);
    free(ranks);
    free(lists);
}

void waits_print(const struct patient *const *group, size_t count, FILE *out)
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
        char text[RANKS_TEXT_BYTES];
        waits_text(text, group, count, kind);
        const char *word = words[kind];
        if (kind == WAIT_ALL && (strchr(text, ',') || strchr(text, '-')))
            word = "which have not entered:";
        if (text[0] || (kind == WAIT_FROM && anybody)) {
            const char *doing = !requests || kind == WAIT_ALL ? "" : kind == WAIT_TO ? "sending " : "receiving ";
            fprintf(out, "%s%s%s %s%s", kind == WAIT_ALL && collective ? ", in a nonblocking collective, " : between,
                    doing, word, text,
                    kind != WAIT_FROM || !anybody ? ""
                    : text[0]                     ? " and any rank"
                                                  : "any rank");
            between = " and ";
            collective = collective && kind != WAIT_ALL;
        }
    }
    if (collective)
        fprintf(out, "%sin a nonblocking collective", between);
}

void circle_print(const int32_t *ranks, size_t count, bool sure, FILE *out)
{
    enum { SHOWN_MOST = 64 };
    fprintf(out, "rank %" PRId32, ranks[0]);
    for (size_t i = 1; i <= count; i++)
        if (i < SHOWN_MOST || i == count)
            fprintf(out, " waits for rank %" PRId32 "%s", ranks[i % count], i == count ? "" : ", which");
        else if (i == SHOWN_MOST)
            fprintf(out, " waits for %zu more ranks in turn, the last of which", count - SHOWN_MOST);
    fprintf(out, ": %sa deadlock", sure ? "" : "probably ");
}
