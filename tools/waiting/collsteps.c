#include "waiting/collsteps.h"

#include "base/array.h"
#include "calls.h"
#include "figures/figures.h"
#include "trace/callstream.h"
#include "trace/jointcalls.h"
#include "trace/pending.h"
#include "trace/requestpairs.h"

#include <stdlib.h>
#include <string.h>

/* Of a job with few files more records of each thread are looked at. */
enum { FILES_FEW = 32, FILES_MOST = 512, RECORDS_MOST = 1 << 12, RECORDS_FEW = 1 << 9 };

int step_comm_order(const struct step *a, const struct step *b)
{
    return strcmp(a->comm->name, b->comm->name);
}

static int collstep_order(const void *one, const void *other)
{
    const struct step *a = one, *b = other;
    return step_comm_order(a, b) ?: ORDER(a->number, b->number) ?: ORDER(a->made, b->made) ?: ORDER(a->file, b->file);
}

/* The steps of a process, by communicator. */
static int begun_order(const void *one, const void *other)
{
    const struct step *a = one, *b = other;
    return ORDER((uintptr_t)a->comm, (uintptr_t)b->comm) ?: ORDER(a->begin, b->begin);
}

static bool collstep_add(struct steps *steps, const struct step *step)
{
    const struct comm_record *comm = step->comm;
    if (!comm || (int64_t)comm->size + comm->remote_size < 2)
        return true;
    if (!ARRAY_GROWN(steps->list, steps->count))
        return false;
    steps->list[steps->count] = *step;
    if (comm->remote_size) {
        steps->list[steps->count].root = -1;
        steps->list[steps->count].bytes = BYTES_UNKNOWN;
        steps->list[steps->count].reduction = REDUCTION_UNKNOWN;
    }
    steps->count++;
    return true;
}

/* Returns whether the call begins a collective, or makes a communicator. */
static bool call_is_step(const struct run_reader *file, uint32_t call)
{
    bool known =
        call != CALL_NONE && call < CALL_COUNT && strcmp(run_reader_call_name(file, call), call_table[call].name) == 0;
    return known && (call_makes_comm(call) || call_table[call].fold == FOLD_POST_COLL ||
                     (call_table[call].fold == FOLD_COLL && call_table[call].class == CLASS_COLLECTIVE));
}

/* The bytes of a collective that has one size for all. */
static uint64_t agreed_bytes(uint32_t kind, uint64_t in, uint64_t out)
{
    if (call_table[kind].fold != FOLD_COLL)
        return BYTES_UNKNOWN;
    switch ((enum collective)call_table[kind].op) {
    case COLLECTIVE_BCAST:
    case COLLECTIVE_REDUCE:
    case COLLECTIVE_ALLREDUCE:
        return in > out ? in : out;
    case COLLECTIVE_SCAN:
    case COLLECTIVE_EXSCAN:
        return in;
    case COLLECTIVE_REDUCE_SCATTER_BLOCK:
        return out;
    default:
        return BYTES_UNKNOWN;
    }
}

/* What is known of a process. */
struct history {
    const struct run_reader *file;
    size_t place;
    uint64_t records; /* so many of each thread are looked at */
    uint64_t from;    /* since then all calls of all threads are known. 0: always */
    bool posts;       /* it has nonblocking collectives */
    bool odd;         /* some collectives are counted that are no steps, or the other way round */
    struct steps own;
};

static bool history_call_take(struct history *history, const struct traced_call *call)
{
    const struct event *event = &call->event;
    uint32_t kind = event_kind(event);
    if (call_is_mark(call) || !call_is_step(history->file, kind))
        return true;
    bool makes = call_makes_comm(kind), fails = event->kind & EVENT_FAILED;
    history->odd = history->odd || event->kind & EVENT_NESTED || (fails && !makes);
    return fails ||
           collstep_add(&history->own,
                        &(struct step){.comm = run_reader_comm_record(history->file, event->comm, event->begin),
                                       .begin = event->begin,
                                       .makes = makes,
                                       .call = kind,
                                       .root = event->peer,
                                       .reduction = call->reduction,
                                       .bytes = agreed_bytes(kind, event->bytes, call->bytes_out),
                                       .file = history->place,
                                       .path = call->path});
}

/* Takes the last calls of a thread. */
static bool history_thread_take(struct history *history, uint32_t thread)
{
    struct call_stream stream;
    struct traced_call call = {0};
    int got;
    bool good = true;
    call_stream_open_last(&stream, history->file, thread, history->records);
    uint64_t missing = stream.cursor.end > history->records ? UINT64_MAX : 0; /* before the present call */
    while (good && (got = call_stream_next(&stream, &call)) != 0) {
        good = got > 0 && history_call_take(history, &call);
        if (stream.cursor.missing != missing) {
            missing = stream.cursor.missing;
            history->from = call.end > history->from ? call.end : history->from;
        }
    }
    call_stream_close(&stream);
    free(call.parts);
    return good;
}

/* Returns how many collectives the process has begun there that are over, or posted. False: not known. */
static bool begun_count(const struct run_reader *file, const struct comm_record *comm, const struct pending *pending,
                        long pending_count, uint64_t *begun)
{
    const struct figures figures = {file};
    struct figures_comm of;
    bool known = false;
    for (uint32_t at = 0; !known && figures_comm_next(&figures, &at, &of);)
        if (!of.is_sum && of.slot == comm->slot && strcmp(of.name, comm->name) == 0) {
            *begun = figures_one(&figures, "mpit_coll_count", VARIABLE_COUNTER, &of);
            known = true;
        }
    for (long i = 0; i < pending_count; i++)
        *begun += pending[i].class == REQUEST_IS_COLL && file->comms[pending[i].comm] == comm;
    return known;
}

/* Numbers the steps of a process on one communicator from their end. Returns how many of them are known: the last ones. */
static size_t steps_number(struct step *list, size_t count, uint64_t begun, uint64_t from)
{
    size_t ended = 0, first = 0;
    while (first < count && list[first].begin < from)
        first++;
    for (size_t i = first; i < count; i++)
        ended += !list[i].makes && !list[i].inside;
    if (count > 1 && list[count - 1].begin == list[count - 2].begin)
        return 0; /* it has ended */
    if (ended > begun || (ended < begun && !from))
        return 0; /* other calls were counted */
    uint64_t number = begun - ended;
    uint32_t made = from ? MADE_UNKNOWN : 0;
    for (size_t i = first; i < count; i++) {
        list[i].number = number + 1;
        list[i].made = made;
        made = !list[i].makes ? 0 : made == MADE_UNKNOWN ? made : made + 1;
        number += !list[i].makes;
    }
    while (first < count && list[first].makes && list[first].made == MADE_UNKNOWN)
        first++;
    return count - first;
}

/* Takes the step that a thread is in. */
static bool patient_take(const struct patient *patient, size_t place, bool alone, struct steps *steps)
{
    uint32_t call = patient->state.call;
    uint64_t agreed = call_makes_comm(call) ? 0 : patient->state.agreed, bytes = agreed & AGREED_BYTES;
    if (!call_is_step(patient->file, call) || strcmp(patient->call, call_table[call].name) != 0 ||
        call_table[call].fold == FOLD_POST_COLL || (alone && call_makes_comm(call)))
        return true;
    return collstep_add(steps,
                        &(struct step){.comm = patient_comm(patient),
                                       .begin = patient->since,
                                       .number = patient->done + 1,
                                       .made = MADE_UNKNOWN,
                                       .makes = call_makes_comm(call),
                                       .inside = true,
                                       .call = call,
                                       .root = patient->state.peer,
                                       .reduction = (uint32_t)(agreed >> EVENT_REDUCTION_SHIFT),
                                       .bytes = bytes < AGREED_BYTES ? agreed_bytes(call, bytes, bytes) : BYTES_UNKNOWN,
                                       .file = place,
                                       .path = patient->path});
}

/* How long a thread has to be in its state, so that its counters fit to it: of a running process, which may go on while it is
 * read, and of one that was killed. */
enum { KILLED_NS = 1000000 };

static bool is_settled(const struct ward *ward, size_t place)
{
    for (size_t k = ward->first_of_file[place]; k < ward->first_of_file[place + 1]; k++) {
        const struct patient *patient = &ward->patients[k];
        int64_t least = patient->alive ? WAIT_LONG_NS : patient->state.call != CALL_NONE ? KILLED_NS : 0;
        if (least && (patient->since_ns < 0 || patient_end(ward, patient) - patient->since_ns < least))
            return false;
    }
    return true;
}

/* A running process has gone on since its state was read. */
static bool has_gone_on(const struct ward *ward, const struct history *history)
{
    const struct run_reader *file = history->file;
    for (size_t k = ward->first_of_file[history->place]; k < ward->first_of_file[history->place + 1]; k++) {
        const struct patient *patient = &ward->patients[k];
        struct event_cursor cursor;
        event_cursor_open(&cursor, file, patient->thread);
        bool same =
            cursor.end == patient->written && file->threads[patient->thread]->state.since == patient->state.since;
        event_cursor_close(&cursor);
        if (patient->alive && !same)
            return true;
    }
    return false;
}

/* All collectives were recorded, in the order of their calls. Persistent ones may begin in any order. */
static bool is_sound(struct history *history)
{
    const struct run_header *header = &history->file->header;
    uint64_t counts[CALL_COUNT];
    bool sound = !header->off_count && !header->filter[0] && header->traced != TRACED_IN_PART && header->timed &&
                 !header->timed_changed;
    for (size_t i = 0; i < LOSS_COUNT; i++)
        sound = sound && (!header->lost[i] || i == LOSS_TRACE_LIMIT || i == LOSS_CALL_PATHS);
    size_t kinds = sound ? calls_read(history->file, counts) : 0;
    for (size_t i = 0; i < kinds; i++) {
        sound = sound && !(counts[i] && call_table[i].fold == FOLD_COLL_INIT);
        history->posts = history->posts || (counts[i] && call_table[i].fold == FOLD_POST_COLL);
    }
    return sound;
}

static bool history_read(struct history *history, const struct ward *ward)
{
    bool good = true;
    for (uint32_t thread = 0; good && thread < history->file->thread_count; thread++)
        good = !history->file->threads[thread] || history_thread_take(history, thread);
    for (size_t k = ward ? ward->first_of_file[history->place] : 0;
         good && ward && k < ward->first_of_file[history->place + 1]; k++)
        good = patient_take(&ward->patients[k], history->place, false, &history->own);
    if (history->own.count)
        qsort(history->own.list, history->own.count, sizeof *history->own.list, begun_order);
    return good;
}

/* Takes the steps of a process that have numbers. */
static bool history_take(const struct history *history, struct steps *steps)
{
    struct pending *pending = NULL;
    struct step *list = history->own.list;
    bool whole = true, good = true;
    long count = history->posts ? pending_find(history->file, &pending, &whole) : 0;
    for (size_t i = 0, end; good && count >= 0 && whole && i < history->own.count; i = end) {
        uint64_t begun = 0;
        for (end = i + 1; end < history->own.count && list[end].comm == list[i].comm;)
            end++;
        if (!begun_count(history->file, list[i].comm, pending, count, &begun))
            continue;
        size_t known = steps_number(&list[i], end - i, begun, history->from);
        for (size_t k = end - known; good && k < end; k++)
            good = collstep_add(steps, &list[k]);
    }
    free(pending);
    return good;
}

/* `settled`: its counters fit to its state. Else it was killed at an unknown time, and all its calls tell whether the last
 * one had ended. */
static bool history_steps_take(const struct run_job *job, const struct ward *ward, size_t place, bool settled,
                               struct steps *steps)
{
    struct history history = {.file = run_job_file(job, place),
                              .place = place,
                              .records = job->file_count > FILES_FEW ? RECORDS_FEW : RECORDS_MOST};
    bool good = !is_sound(&history) || history_read(&history, ward);
    if (good && !history.odd && (settled || !history.from) && !(ward && has_gone_on(ward, &history)))
        good = history_take(&history, steps);
    free(history.own.list);
    run_reader_rest(history.file);
    return good;
}

static bool waits_in_step(const struct patient *patient)
{
    return patient->waits.collective || call_is_step(patient->file, patient->state.call);
}

static bool anybody_waits(const struct ward *ward)
{
    bool any = false;
    for (size_t i = 0; i < ward->count && !any; i++)
        any = waits_in_step(&ward->patients[i]);
    return any;
}

int steps_find(const struct run_job *job, const struct ward *ward, struct steps *steps)
{
    bool all = job->file_count <= FILES_MOST, good = true;
    *steps = (struct steps){NULL, 0};
    if (ward ? !anybody_waits(ward) : !all)
        return 0;
    for (size_t i = 0; good && i < job->file_count; i++) {
        bool settled = !ward || is_settled(ward, i);
        if (!settled && (!all || ward->patients[ward->first_of_file[i]].alive))
            continue;
        if (all)
            good = history_steps_take(job, ward, i, settled, steps);
        for (size_t k = ward ? ward->first_of_file[i] : 0; !all && good && k < ward->first_of_file[i + 1]; k++)
            good = patient_take(&ward->patients[k], i, true, steps);
    }
    if (steps->count)
        qsort(steps->list, steps->count, sizeof *steps->list, collstep_order);
    return good ? 0 : -1;
}

void steps_release(struct steps *steps)
{
    free(steps->list);
    *steps = (struct steps){NULL, 0};
}
