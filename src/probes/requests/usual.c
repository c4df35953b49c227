#include "requests/usual.h"

#include "requests/ending.h"

/* ---- how a request has ended ------------------------------------------------------------------------------------- */

/* Fills in source and bytes from the status. False: this is not the usual case. */
HOT bool received_fill(const struct posted *posted, const MPI_Status *status, struct event *done)
{
    if (!received_simply(posted, status))
        return received_whole(posted, status);
    done->peer = status->MPI_SOURCE;
    done->tag = status->MPI_TAG;
    if (abi_status_bytes(status) < done->bytes)
        done->bytes = abi_status_bytes(status);
    return true;
}

/* The same for the receive of a nonblocking sendrecv. The status of MPICH tells nothing (pair_is_untold in ending.c). */
HOT bool pair_fill(const struct front_place *place, const MPI_Status *status, struct event *done)
{
#if defined(OPEN_MPI)
    return front_pair(place)->dest >= 0 && received_fill(&place->posted, status, done);
#else
    (void)done;
    return front_pair(place)->dest >= 0 && place->posted.peer >= 0 && status;
#endif
}

/* Fills in how the request in this place has ended. False: this is not the usual case. */
HOT bool ended_fill(const struct front_place *place, const MPI_Status *status, struct event *done)
{
    const struct posted *posted = &place->posted;
    *done = (struct event){.begin = posted->begin,
                           .duration = posted->kind,
                           .comm = (uint16_t)posted->view->slot,
                           .peer = posted->peer,
                           .tag = posted->tag,
                           .bytes = posted->bytes};
    switch (posted->type & POSTED_TYPE) {
    case REQUEST_SEND:
        done->kind = RECORD_SEND_DONE;
        return true;
    case REQUEST_RECV:
        if (!received_fill(posted, status, done))
            return false;
        done->kind = RECORD_RECV_DONE | size_flag(done->bytes);
        return true;
    case REQUEST_PAIR:
        if (!pair_fill(place, status, done))
            return false;
        done->kind = RECORD_RECV_DONE | size_flag(done->bytes);
        return true;
    case REQUEST_COLL:
        done->kind = RECORD_COLL_DONE;
        return true;
    case REQUEST_RMA:
        done->kind = RECORD_RMA_DONE;
        return true;
    case REQUEST_IO:
        done->kind = RECORD_IO_DONE;
        done->bytes = abi_status_bytes(status);
        return !object_cells_wanted();
    default:
        return false;
    }
}

HOT void ended_fold(struct tally *tally, struct view *view, const struct event *done)
{
    switch (event_kind(done)) {
    case RECORD_SEND_DONE:
        fold_send_done(tally, &view->tally, done);
        break;
    case RECORD_RECV_DONE:
        view_page_select(view, done->peer);
        fold_recv_done(tally, &view->tally, done);
        break;
    case RECORD_COLL_DONE:
        fold_coll_done(tally, &view->tally, done, NULL);
        break;
    case RECORD_IO_DONE:
        fold_transferred(tally, &view->tally, done);
        break;
    default:
        fold_wait(tally, &view->tally);
    }
}

/* True for a request in front that may end in the usual way. */
HOT bool ends_usually(const struct log *log, const struct front_place *place)
{
    return place && place->posted.view->thread == log->own.index && !(place->posted.type & POSTED_IDLE);
}

/* The event of a call on `count` requests, which has ended or started `requests` of them. */
HOT struct event call_event(enum call kind, uint64_t begin, uint64_t duration, int requests, int count)
{
    return (struct event){
        .begin = begin, .duration = (uint32_t)duration, .kind = (uint16_t)kind, .peer = requests, .tag = count};
}

/* ---- one request ------------------------------------------------------------------------------------------------- */

/* Folds and keeps the records of a nonblocking sendrecv, after the event of the call. Its send comes first. */
HOT void pair_commit(struct log *log, struct tally *tally, const struct front_place *place, const struct event *call,
                     const struct event *received)
{
    struct view *view = place->posted.view;
    const struct front_pair *pair = front_pair(place);
    struct event sent = *received;
    sent.kind = RECORD_HALF_DONE;
    sent.peer = pair->dest;
    sent.tag = pair->tag;
    sent.bytes = pair->bytes;
    view_page_select(view, sent.peer);
    fold_send_ended(tally, &view->tally, &sent);
    view_page_select(view, received->peer);
    fold_recv_done(tally, &view->tally, received);
    log_commit_two(log, call, &sent);
    log_commit(log, received);
}

bool usual_one_ended(struct log *log, uint64_t call_begin, enum call kind, int count, struct front_place *front,
                     uint64_t saved, const MPI_Request *where, const MPI_Status *status)
{
    bool timed = call_begin != 0;
    struct front_place *place = front_find_at(front, saved, where);
    if (book.concurrent || !ends_usually(log, place) || log->stall.times || (!timed && place->posted.begin))
        return false;
    uint64_t begin = timed ? call_begin : cell_load(&log->own.tally.end);
    uint64_t end = timed ? clock_counter() : begin;
    struct event call = call_event(kind, begin, end - begin, 1, count), done;
    uint64_t lasted = timed ? end - place->posted.begin : 0; /* a request without a begin was posted too long ago */
    if (lasted >= COMPARED_LOAD(&knob_rare_ticks) || !ended_fill(place, status, &done))
        return false;
    if (kind >= CALL_COUNT) /* for the compiler */
        __builtin_unreachable();
    struct tally tally = tally_unseen(log);
    fold_call(FOLD_COMPLETION, 0, &tally, NULL, &call, NULL, timed);
    cell_store(&log->own.tally.end, tally.end);
    /* A copy without stores to it, so that the compiler need not keep it in memory. */
    struct tally known = {.end = tally.end, .share = tally.share, .path = log->path->cells};
    if ((place->posted.type & POSTED_TYPE) == REQUEST_PAIR) {
        pair_commit(log, &known, place, &call, &done);
    } else {
        ended_fold(&known, place->posted.view, &done);
        log_commit_two(log, &call, &done);
    }
    front_end(place);
    RELAXED_STORE(&log->state->call, CALL_NONE);
    return true;
}

/* ---- all of several requests ------------------------------------------------------------------------------------- */

/*
 * The records are written first, after the place of the event of the call. The number of completed requests is known
 * when all records are there. Then the event is written, and all are counted at once. Readers of the ring leave out
 * places for up to ALL_MOST records and the event. With more records the event comes first (crowd_ended).
 */
enum { ALL_MOST = 32 };

_Static_assert(ALL_MOST + 1 <= RING_SPARE, "readers leave out records that may be half written");

/* The requests that have their records. */
struct ended {
    const struct log *log;
    uint64_t end;      /* of the call */
    struct view *view; /* of the last one. NULL: there is none */
    bool mixed;        /* they are on several communicators */
};

/* False: another thread posted the request. */
HOT bool ended_on(struct ended *ended, struct view *view)
{
    if (__builtin_expect(ended->view == view, 1))
        return true;
    if (view->thread != ended->log->own.index)
        return false;
    ended->mixed = ended->mixed || ended->view;
    ended->view = view;
    return true;
}

/* Folds and writes the record of a message, without its share of the call's time. False: this is not the usual case. */
HOT bool ended_message(struct ended *ended, struct event *at, const struct posted *posted, bool sent,
                       const MPI_Status *status)
{
    const struct tally tally = {.end = ended->end, .path = ended->log->path->cells};
    struct view *view = posted->view;
    struct event event = {.begin = posted->begin,
                          .duration = posted->kind,
                          .kind = sent ? RECORD_SEND_DONE : RECORD_RECV_DONE,
                          .bytes = sent ? posted->bytes : abi_status_bytes(status),
                          .peer = sent ? posted->peer : status->MPI_SOURCE,
                          .tag = sent ? posted->tag : status->MPI_TAG};
    if (__builtin_expect(ended->end - event.begin >= COMPARED_LOAD(&knob_rare_ticks), 0) || !ended_on(ended, view))
        return false;
    if (event.begin == 0) /* for the compiler: a message that was not timed was posted too long ago */
        __builtin_unreachable();
    event.comm = (uint16_t)view->slot;
    if (sent) {
        fold_send_ended(&tally, &view->tally, &event);
    } else {
        if (__builtin_expect(event.peer < 0 || abi_status_cancelled(status) || !bytes_are_small(event.bytes), 0))
            return false;
        view_page_select(view, event.peer);
        fold_recv_ended(&tally, &view->tally, &event);
    }
    event_store(at, &event);
    return true;
}

/* The same for any other request in front. Returns its view, or NULL: this is not the usual case. */
static __attribute__((noinline)) struct view *ended_other(const struct log *log, uint64_t end, struct event *at,
                                                          uint64_t handle, const MPI_Request *where,
                                                          const MPI_Status *status)
{
    struct front_place *place = handle ? front_find(handle, where) : NULL;
    struct tally tally = {.end = end, .path = log->path->cells};
    struct event done;
    if (!ends_usually(log, place) || (place->posted.type & POSTED_TYPE) == REQUEST_PAIR ||
        !ended_fill(place, status, &done) || end - done.begin >= COMPARED_LOAD(&knob_rare_ticks))
        return NULL;
    struct view *view = place->posted.view;
    ended_fold(&tally, view, &done);
    event_store(at, &done);
    front_end(place);
    return view;
}

/* Returns the place of a send in request_beside, or NULL. Libraries return one handle for all sends that are complete
 * when posted. */
HOT struct front_place *beside_sent(const struct front_place *front, uint64_t handle, const MPI_Request *where)
{
    struct front_place *place = front_kept(beside_place(where));
    if (place->handle != handle || place->posted.where != where || place->posted.type != REQUEST_SEND ||
        (front->apart && front->handle == handle))
        return NULL;
    return place;
}

/* The requests of a call, and which of them it has completed. */
struct several {
    MPI_Request *handles;
    const uint64_t *saved; /* the handles before the call */
    int count;
    const int *indices;         /* of the completed requests. NULL: all are complete */
    const MPI_Status *statuses; /* of the completed requests, in order */
};

HOT int several_index(const struct several *several, int i)
{
    return several->indices ? several->indices[i] : i;
}

/* Takes completed requests out of the front, in order from number `from` on, and writes their records. Stops at the
 * first in another case. Returns their number. The call has succeeded, so no handle is 0. */
HOT int ended_take(struct ended *ended, struct event *first, const struct several *several, int from, int most)
{
    int i = 0;
    do {
        int index = several_index(several, from + i);
        uint64_t saved = several->saved[index];
        const MPI_Request *where = &several->handles[index];
        const MPI_Status *status = &several->statuses[from + i];
        struct front_place *place = front_kept(front_place(saved)), *beside;
        if (place->handle == saved && place->posted.where == where && /* a message that was posted once */
            (place->posted.type == REQUEST_SEND ? ended_message(ended, &first[i], &place->posted, true, NULL)
                                                : ended_message(ended, &first[i], &place->posted, false, status))) {
            place->handle = 0;
        } else if (place->beside && (beside = beside_sent(place, saved, where)) != NULL &&
                   ended_message(ended, &first[i], &beside->posted, true, NULL)) {
            beside_free_of(place, beside);
        } else {
            struct view *view = ended_other(ended->log, ended->end, &first[i], saved, where, status);
            if (!view || !ended_on(ended, view))
                break;
        }
        i++;
    } while (i != most);
    return i;
}

/* Gives each record its share of the call's time. */
static __attribute__((noinline)) void shares_fold(struct log *log, const struct event *records, int count)
{
    for (int i = 0; i < count; i++)
        fold_wait(&log->own.tally, &view_of(&log->own, book.comms[records[i].comm])->tally);
}

HOT void records_commit(struct log *log, int count)
{
    log->cursor += count;
    events_count(log->own.tally.cells, (unsigned)count);
}

/* Completes the requests from number `from` on one by one. Returns their number. */
static int rest_done(struct completion *c, const struct several *several, int from, int completed)
{
    completion_resume(c, c->kind, several->count, several->handles, several->saved);
    for (int i = from; i < completed && c->count; i++)
        completion_done(c, several_index(several, i), MPI_SUCCESS, &several->statuses[i]);
    return c->done_count;
}

/* The first `records` requests have their records, after the place of the event of the call. The others get theirs
 * now. */
static __attribute__((noinline)) void ended_rest(struct log *log, struct event call, int records,
                                                 const struct several *several)
{
    struct completion c = {.probe = {.log = log, .begin = call.begin}, .kind = (enum call)call.kind};
    struct tally *tally = &log->own.tally;
    tally->path = log->path->cells;
    call.peer = records + rest_done(&c, several, records, call.peer);
    fold_path_empty(tally, &call); /* all were inactive. The call was folded before that was known */
    tally->share = call.peer ? call.duration / (unsigned)call.peer : 0;
    tally->remainder = call.peer ? call.duration % (unsigned)call.peer : 0;
    tally->shared = false;
    shares_fold(log, log->cursor + 1, records);
    event_store_call(log, log->cursor, &call);
    records_commit(log, records + 1);
    RELAXED_STORE(&log->state->call, CALL_NONE);
    completion_records(&c, MPI_SUCCESS);
}

/* True if all completed requests are in front, and active. */
static bool all_in_front(const struct log *log, const struct several *several, int completed)
{
    for (int i = 0; i < completed; i++) {
        int index = several_index(several, i);
        if (!ends_usually(log, front_find(several->saved[index], &several->handles[index])))
            return false;
    }
    return true;
}

/* The same as several_ended for more than ALL_MOST requests. The event of the call comes first. */
static __attribute__((noinline)) bool crowd_ended(struct log *log, struct event call, const struct several *several)
{
    struct tally *tally = &log->own.tally;
    int completed = call.peer, done = 0;
    tally->path = log->path->cells;
    if (!all_in_front(log, several, completed))
        return false;
    fold_call(FOLD_COMPLETION, 0, tally, NULL, &call, NULL, true);
    log_commit_call(log, &call);
    RELAXED_STORE(&log->state->call, CALL_NONE);
    while (done < completed) {
        struct ended ended = {.log = log, .end = tally->end};
        int room = (int)(log->limit - log->cursor), most = completed - done < ALL_MOST ? completed - done : ALL_MOST;
        most = most < room ? most : room;
        int taken = ended_take(&ended, log->cursor, several, done, most);
        shares_fold(log, log->cursor, taken);
        records_commit(log, taken);
        if (log->cursor == log->limit)
            log_turn(log);
        done += taken;
        if (taken < most)
            break;
    }
    if (done < completed) {
        struct completion c = {.probe = {.log = log, .begin = call.begin}, .kind = (enum call)call.kind};
        rest_done(&c, several, done, completed);
        completion_records(&c, MPI_SUCCESS);
    }
    return true;
}

/* Leaves a call that has completed so many of its requests. If another thread has opened a session meanwhile, the front
 * is empty. */
HOT bool several_ended(struct log *log, uint64_t begin, enum call kind, int completed, const struct several *several)
{
    struct event *first = log->cursor + 1;
    uint64_t duration = clock_counter() - begin;
    if (__builtin_expect(completed <= 0 || log->stall.times || duration >= COMPARED_LOAD(&knob_rare_ticks), 0))
        return false;
    if (kind >= CALL_COUNT || several->statuses == NULL) /* for the compiler */
        __builtin_unreachable();
    struct event call = call_event(kind, begin, duration, completed, several->count);
    if (__builtin_expect(completed > ALL_MOST || first + completed >= log->limit, 0)) {
        struct several all = *several; /* else it would have to be in memory for all calls */
        return crowd_ended(log, call, &all);
    }
    struct tally tally = tally_unseen(log);
    fold_call(FOLD_COMPLETION, 0, &tally, NULL, &call, NULL, true);
    cell_store(&log->own.tally.end, tally.end);
    struct ended ended = {.log = log, .end = tally.end};
    int taken = ended_take(&ended, first, several, 0, completed);
    if (__builtin_expect(taken != completed, 0)) {
        struct several all = *several;
        ended_rest(log, call, taken, &all);
        return true;
    }
    event_store_call(log, log->cursor, &call);
    if (__builtin_expect(ended.mixed, 0)) {
        log->own.tally.share = duration / (unsigned)completed;
        log->own.tally.remainder = duration % (unsigned)completed;
        log->own.tally.shared = false;
        shares_fold(log, first, completed);
    } else {
        fold_wait_whole(&ended.view->tally, duration);
    }
    records_commit(log, completed + 1);
    RELAXED_STORE(&log->state->call, CALL_NONE);
    return true;
}

bool usual_all_ended(struct log *log, uint64_t begin, enum call kind, int count, MPI_Request *handles,
                     const uint64_t *saved, const MPI_Status *statuses)
{
    struct several all = {.handles = handles, .saved = saved, .count = count, .statuses = statuses};
    return several_ended(log, begin, kind, count, &all);
}

bool usual_some_ended(const struct completion *c, int completed, const int *indices, const MPI_Status *statuses)
{
    struct several some = {
        .handles = c->handles, .saved = c->saved, .count = c->count, .indices = indices, .statuses = statuses};
    return completed <= c->count && several_ended(c->probe.log, c->probe.begin, c->kind, completed, &some);
}

/* ---- starts ------------------------------------------------------------------------------------------------------ */

/* Folds the start of a persistent request in front. Returns its record. */
HOT struct event started_fold(struct tally *tally, struct posted *posted, uint64_t begin)
{
    struct view *view = posted->view;
    struct event event = {.begin = begin, .duration = posted->kind, .comm = (uint16_t)view->slot, .peer = posted->peer};
    posted->type &= (uint8_t)~POSTED_IDLE;
    posted->begin = begin;
    if (posted->type == (REQUEST_COLL | POSTED_PERSISTENT)) { /* its bytes are counted when it is complete */
        event.kind = RECORD_COLL_POSTED;
        fold_coll_posted(tally, &view->tally, &event);
        return event;
    }
    event.tag = posted->tag;
    event.bytes = posted->bytes;
    if (event.peer >= 0)
        view_page_select(view, event.peer);
    if (posted->type == (REQUEST_SEND | POSTED_PERSISTENT)) {
        event.kind = RECORD_SEND_POSTED | size_flag(posted->bytes);
        fold_send_posted(tally, &view->tally, &event);
    } else {
        event.kind = RECORD_RECV_POSTED;
        fold_recv_posted(tally, &view->tally, &event);
    }
    return event;
}

/* True if the place has the inactive persistent request of this handle. MPICH treats a started request to MPI_PROC_NULL
 * as inactive. */
HOT bool starts_from(const struct log *log, const struct front_place *place, uint64_t handle, const MPI_Request *where)
{
    bool idle = (place->posted.type & POSTED_IDLE) ||
                ((place->posted.type & POSTED_PERSISTENT) && place->posted.peer == PEER_PROC_NULL);
    return __builtin_expect(place->handle == handle && abi_handle_of_request(*where) == handle && idle &&
                                place->posted.view->thread == log->own.index,
                            1);
}

HOT bool starts_usually(const struct log *log, uint64_t duration)
{
    return __builtin_expect(!book.concurrent && !log->stall.times && duration < COMPARED_LOAD(&knob_rare_ticks), 1);
}

HOT void start_fold(struct log *log, struct tally *tally, const struct event *call)
{
    if (call->kind >= CALL_COUNT) /* for the compiler */
        __builtin_unreachable();
    fold_call(FOLD_START, 0, tally, NULL, call, NULL, true);
    cell_store(&log->own.tally.end, tally->end);
    RELAXED_STORE(&log->state->call, CALL_NONE);
}

bool usual_one_started(struct log *log, uint64_t begin, enum call kind, struct front_place *place, uint64_t saved,
                       const MPI_Request *where)
{
    uint64_t duration = clock_counter() - begin;
    if (!starts_from(log, place, saved, where) || !starts_usually(log, duration))
        return false;
    struct tally tally = tally_unseen(log);
    struct event call = call_event(kind, begin, duration, 1, 1);
    start_fold(log, &tally, &call);
    struct event posted = started_fold(&tally, &place->posted, begin);
    log_commit_two(log, &call, &posted);
    return true;
}

bool usual_all_started(struct log *log, uint64_t begin, enum call kind, int count, const MPI_Request *handles,
                       const uint64_t *saved)
{
    uint64_t duration = clock_counter() - begin;
    if (count <= 0 || !starts_usually(log, duration))
        return false;
    for (int i = 0; i < count; i++)
        if (!starts_from(log, front_kept(front_place(saved[i])), saved[i], &handles[i]))
            return false;
    struct tally tally = tally_unseen(log);
    struct event call = call_event(kind, begin, duration, count, count);
    start_fold(log, &tally, &call);
    log_commit_call(log, &call);
    for (int i = 0; i < count; i++) {
        struct event posted = started_fold(&tally, &front_kept(front_place(saved[i]))->posted, begin);
        log_commit(log, &posted);
    }
    return true;
}
