/* Plain completions that are not as frequent as those of messages (plain.h, plain_request.h). */
#include "requests/completion.h"
#include "requests/ending.h"
#include "wrappers/shapes.h"

/* From whom and how much, as the status has it. False: not as nearly all do. */
HOT bool received_fill(const struct posted *posted, const MPI_Status *status, struct event *done)
{
    if (!received_simply(posted, status))
        return false;
    done->peer = status->MPI_SOURCE;
    done->tag = status->MPI_TAG;
    if (abi_status_bytes(status) < done->bytes)
        done->bytes = abi_status_bytes(status);
    return true;
}

/* MPICH leaves the status of a nonblocking sendrecv between processes as it was (ending.c): what was asked for stands.
 */
HOT bool pair_received(const struct posted *posted, const MPI_Status *status, struct event *done)
{
#if defined(OPEN_MPI)
    return received_fill(posted, status, done);
#else
    (void)done;
    return posted->peer >= 0 && status;
#endif
}

/* Fills in how it ended. False: not as nearly all do. */
HOT bool other_fill(const struct posted *posted, const MPI_Status *status, struct event *done)
{
    switch (posted->type & POSTED_TYPE) {
    case REQUEST_SEND:
        done->kind = RECORD_SEND_DONE;
        return plain_small(done->bytes);
    case REQUEST_RECV:
        done->kind = RECORD_RECV_DONE;
        if (!received_whole(posted, status) && !received_fill(posted, status, done))
            return false;
        return plain_small(done->bytes);
    case REQUEST_PAIR:
        done->kind = RECORD_RECV_DONE;
        return pair_received(posted, status, done) && plain_small(done->bytes);
    case REQUEST_COLL:
        done->kind = RECORD_COLL_DONE;
        return true;
    case REQUEST_RMA:
        done->kind = RECORD_RMA_DONE;
        return true;
    case REQUEST_IO:
        done->kind = RECORD_IO_DONE;
        done->bytes = abi_status_bytes(status);
        return true;
    default:
        return false;
    }
}

HOT void other_fold(struct tally *tally, struct view *view, unsigned type, const struct event *done)
{
    switch (type) {
    case REQUEST_SEND:
        fold_send_done(tally, &view->tally, done);
        break;
    case REQUEST_RECV:
        view_page_select(view, done->peer);
        fold_recv_done(tally, &view->tally, done);
        break;
    case REQUEST_COLL:
        fold_coll_done(tally, &view->tally, done, NULL);
        break;
    case REQUEST_IO:
        fold_transferred(tally, &view->tally, done);
        if (object_cells_wanted()) {
            struct event rare = *done; /* else it would have to be in memory for all of them */
            object_cells_add(OBJECT_FILE, &rare, 0);
        }
        break;
    default:
        fold_wait(tally, &view->tally);
    }
}

/* The send of a pair goes before its receive. */
HOT void pair_commit(struct log *log, struct tally *tally, const struct front_place *place, const struct event *call,
                     const struct event *received)
{
    struct view *view = place->posted.view;
    const struct front_pair *pair = front_pair(place);
    struct event sent = {.begin = received->begin,
                         .duration = received->duration,
                         .kind = RECORD_HALF_DONE,
                         .comm = received->comm,
                         .peer = pair->dest,
                         .tag = pair->tag,
                         .bytes = pair->bytes_out};
    struct tally none = {.end = tally->end, .message_weight = 1};
    view_page_select(view, sent.peer);
    fold_send_done(&none, &view->tally, &sent);
    view_page_select(view, received->peer);
    fold_recv_done(tally, &view->tally, received);
    log_commit_two(log, call, &sent);
    log_commit(log, received);
}

bool plain_other_completed(struct log *log, uint64_t begin, enum call kind, const MPI_Request *where, uint64_t saved,
                           int count, const MPI_Status *status)
{
    struct front_place *place = saved ? front_find(saved, where) : NULL;
    if (!place || place->posted.view->thread != log->own.index || (place->posted.type & POSTED_IDLE) ||
        log->stall.times)
        return false;
    struct view *view = place->posted.view;
    struct tally tally = plain_tally(log);
    if (kind >= CALL_COUNT) /* for the compiler */
        __builtin_unreachable();
    uint64_t end = clock_counter();
    struct event call = plain_call(kind, begin, end - begin, 1, count);
    struct event done = {.begin = place->posted.begin,
                         .duration = place->posted.kind,
                         .comm = (uint16_t)view->slot,
                         .peer = place->posted.peer,
                         .tag = place->posted.tag,
                         .bytes = place->posted.bytes};
    if (end - done.begin >= COMPARED_LOAD(&knob_rare_ticks) || !other_fill(&place->posted, status, &done))
        return false;
    if (done.begin == 0) /* for the compiler: one that was not timed was posted too long ago */
        __builtin_unreachable();
    fold_call(FOLD_COMPLETION, 0, &tally, NULL, &call, NULL, 1);
    plain_folded(log, &tally);
    /* A copy that no store is made to, so that the compiler need not keep it in memory. */
    struct tally known = {.end = tally.end, .share = tally.share, .message_weight = 1};
    unsigned type = place->posted.type & POSTED_TYPE;
    if (type == REQUEST_PAIR) {
        pair_commit(log, &known, place, &call, &done);
    } else {
        other_fold(&known, view, type, &done);
        log_commit_two(log, &call, &done);
    }
    front_end(place);
    RELAXED_STORE(&log->state->call, CALL_NONE);
    return true;
}

/* ---- several requests -------------------------------------------------------------------------------------------- */

/*
 * A call that has completed all of its requests. The records of these are written first, behind the place of the call's
 * own event: how many have ended is known when all of them are there. Then they are counted, all at once.
 */
struct ended {
    struct event *call;
    uint64_t begin, duration;
    enum call kind;
};

/* The communicator of the records. */
struct ended_on {
    struct view *view; /* of the last one; NULL: none yet */
    bool mixed;        /* they are of several */
};

/* False: another thread has posted the request. */
HOT bool ended_on(const struct log *log, struct ended_on *on, struct view *view)
{
    if (__builtin_expect(on->view == view, 1))
        return true;
    if (view->thread != log->own.index)
        return false;
    on->mixed = on->mixed || on->view;
    on->view = view;
    return true;
}

/* Folds and stores the record of a message, but for its share of the call's time. False: it is a rare one. */
HOT bool ended_message(const struct log *log, struct ended_on *on, uint64_t end, struct event *at,
                       const struct posted *posted, bool sent, const MPI_Status *status)
{
    const struct tally tally = {.end = end, .message_weight = 1};
    struct view *view = posted->view;
    struct event event = {.begin = posted->begin,
                          .duration = posted->kind,
                          .kind = sent ? RECORD_SEND_DONE : RECORD_RECV_DONE,
                          .bytes = sent ? posted->bytes : abi_status_bytes(status),
                          .peer = sent ? posted->peer : status->MPI_SOURCE,
                          .tag = sent ? posted->tag : status->MPI_TAG};
    if (__builtin_expect(end - event.begin >= COMPARED_LOAD(&knob_rare_ticks), 0) || !ended_on(log, on, view))
        return false;
    if (event.begin == 0) /* for the compiler: one that was not timed was posted too long ago */
        __builtin_unreachable();
    event.comm = (uint16_t)view->slot;
    if (sent) {
        fold_send_over(&tally, &view->tally, &event);
    } else {
        if (__builtin_expect(event.peer < 0 || abi_status_cancelled(status) || !plain_small(event.bytes), 0))
            return false;
        view_page_select(view, event.peer);
        fold_recv_over(&tally, &view->tally, &event);
    }
    event_store(at, &event);
    return true;
}

/* A handle that stands for several requests at once, of which perhaps this one alone is known. */
static bool handle_is_again(int count, const uint64_t *saved, int i)
{
    for (int k = 0; k < count; k++)
        if (saved[k] == saved[i] && k != i)
            return true;
    return false;
}

/* The same for whatever else is in front, and its end there: the record behind `at`. Returns on what it was posted;
 * NULL: it is a rare one. */
static __attribute__((noinline)) struct view *ended_other(const struct log *log, uint64_t end, struct event *at,
                                                          const struct event *last, const MPI_Request *handles,
                                                          const uint64_t *saved, int i, const MPI_Status *status)
{
    struct front_place *place = saved[i] ? front_find(saved[i], &handles[i]) : NULL;
    if (!place || place->posted.view->thread != log->own.index || (place->posted.type & POSTED_IDLE) ||
        (place->posted.type <= REQUEST_RECV && place->posted.where != &handles[i] &&
         handle_is_again(i + (int)(last - at), saved, i)))
        return NULL;
    struct view *view = place->posted.view;
    unsigned type = place->posted.type & POSTED_TYPE;
    struct tally tally = {.end = end, .message_weight = 1}; /* the share comes later */
    struct event done = {.begin = place->posted.begin,
                         .duration = place->posted.kind,
                         .comm = (uint16_t)view->slot,
                         .peer = place->posted.peer,
                         .tag = place->posted.tag,
                         .bytes = place->posted.bytes};
    if (end - done.begin >= COMPARED_LOAD(&knob_rare_ticks) || type == REQUEST_PAIR ||
        !other_fill(&place->posted, status, &done))
        return NULL;
    if (done.begin == 0) /* for the compiler: one that was not timed was posted too long ago */
        __builtin_unreachable();
    other_fold(&tally, view, type, &done);
    event_store(at + 1, &done);
    front_end(place);
    return view;
}

/* Takes requests out of the front, one after the other, and writes their records behind `at`, as far as they end as
 * nearly all do; returns the last record. No handle is 0: the call has succeeded. */
HOT struct event *ended_take(const struct log *log, struct ended_on *on, uint64_t end, struct event *at,
                             const struct event *last, const MPI_Request *handles, const uint64_t *saved,
                             const MPI_Status *statuses)
{
    int i = 0;
    do {
        struct front_place *place = front_kept(front_place(saved[i])), *beside;
        struct view *view;
        if (place->handle == saved[i] && place->posted.where == &handles[i]) { /* a message that was posted once */
            if (place->posted.type == REQUEST_SEND
                    ? !ended_message(log, on, end, at + 1, &place->posted, true, NULL)
                    : !ended_message(log, on, end, at + 1, &place->posted, false, &statuses[i]))
                break;
            place->handle = 0;
        } else if (place->beside && (beside = beside_sent(place, saved[i], &handles[i])) != NULL) {
            if (!ended_message(log, on, end, at + 1, &beside->posted, true, NULL))
                break;
            beside_free_of(place, beside);
        } else {
            view = ended_other(log, end, at, last, handles, saved, i, &statuses[i]);
            if (!view || !ended_on(log, on, view))
                break;
        }
        at++;
        i++;
    } while (at != last);
    return at;
}

/* What each record takes of the call's time. */
static __attribute__((noinline)) void ended_shares(struct log *log, const struct event *call, uint64_t duration,
                                                   int records, int completed)
{
    struct tally *tally = &log->own.tally;
    tally->share = completed ? duration / (unsigned)completed : 0;
    tally->remainder = completed ? duration % (unsigned)completed : 0;
    tally->shared = false;
    for (int i = 1; i <= records; i++)
        fold_wait(tally, &view_of(&log->own, book.comms[call[i].comm])->tally);
}

_Static_assert(MANY_MOST + 1 <= RING_SPARE, "readers leave out what may be half written");

/* Stores the event in front of its records, and counts them. */
HOT void ended_commit(struct log *log, const struct ended *ended, int records, int completed, int count)
{
    struct event call = plain_call(ended->kind, ended->begin, ended->duration, completed, count);
    event_store(ended->call, &call);
    log->cursor = ended->call + records + 1;
    events_count(log->own.tally.cells, (unsigned)records + 1);
}

/* The first so many have their records; those of the others, one by one. */
static __attribute__((noinline)) void ended_rest(struct log *log, struct ended ended, int records, int count,
                                                 MPI_Request *handles, const uint64_t *saved,
                                                 const MPI_Status *statuses)
{
    uint64_t begin = ended.begin;
    struct completion c = {.probe = PROBE_OF_PLAIN};
    completion_resume(&c, ended.kind, count, handles, saved);
    for (int i = records; i < count; i++)
        completion_done(&c, i, MPI_SUCCESS, &statuses[i]);
    int completed = records + c.done_count;
    ended_shares(log, ended.call, ended.duration, records, completed);
    ended_commit(log, &ended, records, completed, count);
    RELAXED_STORE(&log->state->call, CALL_NONE);
    completion_records(&c, MPI_SUCCESS);
}

/* A session that another thread has opened meanwhile has emptied the front: nothing is found there then. */
bool plain_all_completed(struct log *log, uint64_t begin, int count, MPI_Request *handles, const uint64_t *saved,
                         const MPI_Status *statuses)
{
    struct tally tally = plain_tally(log);
    struct ended ended = {.call = log->cursor, .begin = begin, .kind = log->state->call};
    struct ended_on on = {NULL, false};
    if (statuses == NULL || count <= 0 || ended.kind >= CALL_COUNT) /* for the compiler: the call has succeeded */
        __builtin_unreachable();
    struct event *last = ended.call + (unsigned)count;
    if (!plain_lasted(log, begin, &ended.duration) || __builtin_expect(last + 1 >= log->limit, 0))
        return false;
    struct event call = plain_call(ended.kind, begin, ended.duration, count, count);
    fold_call(FOLD_COMPLETION, 0, &tally, NULL, &call, NULL, 1);
    plain_folded(log, &tally);
    const struct event *taken = ended_take(log, &on, tally.end, ended.call, last, handles, saved, statuses);
    if (__builtin_expect(taken != last, 0)) {
        ended_rest(log, ended, (int)(taken - ended.call), count, handles, saved, statuses);
        return true;
    }
    if (__builtin_expect(on.mixed, 0))
        ended_shares(log, ended.call, ended.duration, count, count);
    else
        fold_wait_whole(&on.view->tally, ended.duration);
    ended_commit(log, &ended, count, count, count);
    RELAXED_STORE(&log->state->call, CALL_NONE);
    return true;
}

bool plain_none_completed(struct log *log, uint64_t begin, enum call kind, int count)
{
    uint64_t duration;
    if (!plain_lasted(log, begin, &duration))
        return false;
    struct tally tally = plain_tally(log);
    struct event call = plain_call(kind, begin, duration, 0, count);
    fold_call(FOLD_COMPLETION, 0, &tally, NULL, &call, NULL, 1);
    plain_end(log, &tally, &call);
    return true;
}

void plain_all_rare(struct log *log, uint64_t begin, enum call kind, int count, MPI_Request *handles,
                    const uint64_t *saved, int result, bool ended, const MPI_Status *statuses)
{
    struct completion c = {.probe = PROBE_OF_PLAIN};
    completion_resume(&c, kind, count, handles, saved);
    if (ended)
        completion_flush_all(&c, result, statuses);
    else
        completion_flush(&c, result);
}

bool plain_any_completed(struct log *log, uint64_t begin, enum call kind, const MPI_Request *where, uint64_t saved,
                         int count, const MPI_Status *status)
{
    struct front_place *place = front_kept(front_place(saved));
    if (kind >= CALL_COUNT) /* for the compiler */
        __builtin_unreachable();
    if (place->handle == saved && place->posted.where == where &&
        plain_completed(true, log, begin, kind, count, where, saved, place, MPI_SUCCESS, status))
        return true;
    return plain_other_completed(log, begin, kind, where, saved, count, status);
}

void plain_any_rare(struct log *log, uint64_t begin, enum call kind, int count, MPI_Request *handles,
                    const uint64_t *saved, int result, bool ended, const int *index, const MPI_Status *status)
{
    struct completion c = {.probe = PROBE_OF_PLAIN};
    completion_resume(&c, kind, count, handles, saved);
    if (ended && index && *index >= 0 && completion_ended(&c, *index, result))
        completion_done(&c, *index, result, status);
    completion_flush(&c, result);
}

bool plain_all_started(struct log *log, uint64_t begin, enum call kind, int count, const MPI_Request *handles,
                       const uint64_t *saved)
{
    uint64_t duration;
    if (count <= 0 || kind >= CALL_COUNT) /* for the compiler */
        __builtin_unreachable();
    if (!plain_lasted(log, begin, &duration))
        return false;
    for (int i = 0; i < count; i++)
        if (abi_handle_of_request(handles[i]) != saved[i] || !plain_startable(log, front_place(saved[i]), saved[i]))
            return false;
    struct tally tally = plain_tally(log);
    struct event call = plain_call(kind, begin, duration, count, count);
    fold_call(FOLD_START, 0, &tally, NULL, &call, NULL, 1);
    plain_folded(log, &tally);
    log_commit(log, &call);
    struct tally known = {
        .end = tally.end, .share = tally.share, .remainder = tally.remainder, .message_weight = 1}; /* as above */
    for (int i = 0; i < count; i++) {
        struct event posted;
        plain_start_record(&known, &front_place(saved[i])->posted, begin, &posted);
        log_commit(log, &posted);
    }
    RELAXED_STORE(&log->state->call, CALL_NONE);
    return true;
}

void plain_startall_rare(struct log *log, uint64_t begin, enum call kind, int count, MPI_Request *handles,
                         const uint64_t *saved, int result)
{
    struct completion c = {.probe = PROBE_OF_PLAIN};
    completion_resume(&c, kind, count, handles, saved);
    completion_started(&c, result);
}
