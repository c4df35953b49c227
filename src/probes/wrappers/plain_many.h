/*
 * The plain case (see plain.h) of calls on several requests. Up to MANY_MOST of them have their arrays in the wrapper's
 * frame; a call on more takes the general body, and the loops from here.
 *
 *   saved     the handles before the call, which MPI overwrites
 *
 * These bodies are for calls that are timed; one that is only counted takes the general body.
 */
#ifndef MPIT_PROBES_PLAIN_MANY_H
#define MPIT_PROBES_PLAIN_MANY_H

#include "requests/ending.h"
#include "wrappers/plain_request.h"

enum { MANY_MOST = 32 };

struct many {
    uint64_t saved[MANY_MOST];
    MPI_Status statuses[MANY_MOST]; /* in place of MPI_STATUSES_IGNORE */
};

/* Is it a call for the plain body? Where threads run at once, requests are taken out before the call. */
HOT bool plain_many(const struct log *log, int count, const MPI_Request *handles)
{
    return plain_log(log) && __builtin_expect(book.plain && (unsigned)count - 1 < MANY_MOST && handles != NULL, 1);
}

HOT void many_save(struct many *many, int count, const MPI_Request *handles)
{
    for (int i = 0; i < count; i++)
        many->saved[i] = abi_handle_of_request(handles[i]);
}

/* ---- for plain.c and completion.c -------------------------------------------------------------------------------- */

/* Takes out one that shares its place, or is no message that was posted once. False: it does not end as nearly all do.
 */
HOT bool many_take_other(struct front_place *place, const MPI_Status *status)
{
    const struct posted *posted = &place->posted;
    if ((posted->type & POSTED_IDLE) || !ended_simply(posted, status) || posted->kind == CALL_MPI_Precv_init)
        return false;
    front_end(place);
    return true;
}

/* A send that lies beside: libraries return one handle for all that are complete when they are posted. */
HOT struct front_place *beside_sent(const struct front_place *front, uint64_t handle, const MPI_Request *where)
{
    struct front_place *place = front_kept(beside_place(where));
    if (place->handle != handle || place->posted.where != where || place->posted.type != REQUEST_SEND ||
        (front->apart && front->handle == handle))
        return NULL;
    return place;
}

HOT bool many_take_sent(struct front_place *front, uint64_t handle, const MPI_Request *where, uint32_t thread)
{
    struct front_place *place = beside_sent(front, handle, where);
    if (!place || place->posted.view->thread != thread)
        return false;
    beside_free_of(front, place);
    return true;
}

/* Takes requests that the call has completed out of the front, one after the other, as far as they are there and end as
 * nearly all do; returns how many. */
HOT int many_take(const struct log *log, int count, const MPI_Request *handles, const uint64_t *saved,
                  struct request **done, const MPI_Status *statuses)
{
    uint32_t thread = log->own.index;
    for (int i = 0; i < count; i++) {
        struct front_place *place = front_kept(front_place(saved[i]));
        const MPI_Status *status = statuses ? &statuses[i] : NULL;
        if (__builtin_expect(saved[i] == 0, 0))
            return i;
        if (place->handle == saved[i] && (place->posted.where == &handles[i] || !place->overflow)) {
            const struct posted *posted = &place->posted; /* a message that was posted once */
            if (posted->view->thread != thread || (posted->type != REQUEST_SEND && !received_simply(posted, status)))
                return i;
            place->handle = 0;
        } else if (place->beside && many_take_sent(place, saved[i], &handles[i], thread)) {
            place = beside_place(&handles[i]);
        } else {
            place = front_find(saved[i], &handles[i]);
            if (!place || place->posted.view->thread != thread || !many_take_other(place, status))
                return i;
        }
        done[i] = (struct request *)((uintptr_t)place + 1);
    }
    return count;
}

/* Folds and stores the record of a message in front. False: it is a rare one, or no message. */
HOT bool many_record(struct tally *tally, struct event *at, const struct posted *posted, const MPI_Status *status)
{
    struct view *view = posted->view;
    unsigned type = posted->type & POSTED_TYPE;
    struct event event = {.begin = posted->begin,
                          .duration = posted->kind,
                          .kind = RECORD_SEND_DONE,
                          .comm = (uint16_t)view->slot,
                          .peer = posted->peer,
                          .tag = posted->tag,
                          .bytes = posted->bytes};
    if (__builtin_expect(tally->end - event.begin >= COMPARED_LOAD(&knob_rare_ticks), 0))
        return false;
    if (event.begin == 0) /* for the compiler: one that was not timed was posted too long ago */
        __builtin_unreachable();
    if (type == REQUEST_SEND) {
        fold_send_done(tally, &view->tally, &event);
        event_store(at, &event);
        return true;
    }
    if (__builtin_expect(type != REQUEST_RECV, 0))
        return false;
    event.kind = RECORD_RECV_DONE;
    event.peer = status->MPI_SOURCE;
    event.tag = status->MPI_TAG;
    event.bytes = abi_status_bytes(status);
    if (__builtin_expect(!plain_small(event.bytes), 0))
        return false;
    view_page_select(view, event.peer);
    fold_recv_done(tally, &view->tally, &event);
    event_store(at, &event);
    return true;
}

/* What of a call's time was a stall, or below MPI. */
HOT void shares_copy(struct tally *to, const struct tally *from)
{
    to->shared = from->shared;
    to->stall_share = from->stall_share;
    to->stall_remainder = from->stall_remainder;
    to->fabric_share = from->fabric_share;
    to->fabric_remainder = from->fabric_remainder;
}

/* The records of those that were taken. Threads do not run at once, so that a tally on the stack says all that the
 * folds need. `stalled`: the call was, perhaps. */
HOT void many_records(struct log *log, bool stalled, int count, struct request *const *done, const MPI_Status *statuses)
{
    struct tally *own = &log->own.tally;
    struct tally tally = {
        .cells = own->cells, .end = own->end, .share = own->share, .remainder = own->remainder, .message_weight = 1};
    if (stalled)
        shares_copy(&tally, own);
    for (int i = 0; i < count;) {
        struct event *at = log->cursor;
        int last = log->limit - at < count - i ? i + (int)(log->limit - at) : count;
        while (i < last && many_record(&tally, at, &done_place(done[i])->posted, statuses ? &statuses[i] : NULL)) {
            events_count(tally.cells, 1);
            at++;
            i++;
        }
        log->cursor = at;
        if (__builtin_expect(at == log->limit, 0))
            log_turn(log);
        if (__builtin_expect(i < last, 0)) {
            own->remainder = tally.remainder;
            if (stalled)
                shares_copy(own, &tally);
            posted_record(log, &done_place(done[i])->posted, statuses ? &statuses[i] : NULL);
            tally.remainder = tally.stall_remainder = tally.fabric_remainder = 0; /* the first one has had it */
            i++;
        }
    }
    own->remainder = tally.remainder;
    if (stalled)
        shares_copy(own, &tally);
}

/* ---- several, all of them ---------------------------------------------------------------------------------------- */

/* Leaves a call that has returned all of them complete. False: nothing was recorded. */
bool plain_all_completed(struct log *log, uint64_t begin, int count, MPI_Request *handles, const uint64_t *saved,
                         const MPI_Status *statuses);
void plain_all_rare(struct log *log, uint64_t begin, enum call kind, int count, MPI_Request *handles,
                    const uint64_t *saved, int result, bool ended, const MPI_Status *statuses);
/* One that has completed none. False: it is a rare one. */
bool plain_none_completed(struct log *log, uint64_t begin, enum call kind, int count);

#define PLAIN_ALL(kind, name, call, count, requests, ended, statuses)                                                  \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        struct many many;                                                                                              \
        if (!plain_many(log, count, requests))                                                                         \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        many_save(&many, count, requests);                                                                             \
        if (statuses == MPI_STATUSES_IGNORE)                                                                           \
            statuses = many.statuses;                                                                                  \
        plain_in(log);                                                                                                 \
        uint64_t begin = plain_begin(true, log, kind, 0, PEER_NONE);                                                   \
        int result = BELOW(log, (*next.name)call);                                                                     \
        if (__builtin_expect(result != MPI_SUCCESS, 0) ||                                                              \
            !((ended) ? plain_all_completed(log, begin, count, requests, many.saved, statuses)                         \
                      : plain_none_completed(log, begin, kind, count)))                                                \
            plain_all_rare(log, begin, kind, count, requests, many.saved, result, result != MPI_SUCCESS || (ended),    \
                           statuses);                                                                                  \
        log_out(log, 0);                                                                                               \
        return result;                                                                                                 \
    } while (0)

#define PLAIN_WAITALL(kind, name, detail, large, call, count, requests, statuses)                                      \
    PLAIN_ALL(kind, name, call, count, requests, true, statuses)
#define PLAIN_TESTALL(kind, name, detail, large, call, count, requests, flag, statuses)                                \
    PLAIN_ALL(kind, name, call, count, requests, *flag, statuses)

/* ---- one of several ---------------------------------------------------------------------------------------------- */

/* Leaves one that has returned this request complete. False: it is a rare one. */
bool plain_any_completed(struct log *log, uint64_t begin, enum call kind, const MPI_Request *where, uint64_t saved,
                         int count, const MPI_Status *status);
void plain_any_rare(struct log *log, uint64_t begin, enum call kind, int count, MPI_Request *handles,
                    const uint64_t *saved, int result, bool ended, const int *index, const MPI_Status *status);

#define PLAIN_ANY(kind, name, call, count, requests, ended, index, status)                                             \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        struct many many;                                                                                              \
        MPI_Status own;                                                                                                \
        if (!plain_many(log, count, requests))                                                                         \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        many_save(&many, count, requests);                                                                             \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        plain_in(log);                                                                                                 \
        uint64_t begin = plain_begin(true, log, kind, 0, PEER_NONE);                                                   \
        int result = BELOW(log, (*next.name)call);                                                                     \
        bool over = result != MPI_SUCCESS || (ended);                                                                  \
        if (result != MPI_SUCCESS ||                                                                                   \
            !(over ? index && (unsigned)*index < (unsigned)count &&                                                    \
                         plain_any_completed(log, begin, kind, &requests[*index], many.saved[*index], count, status)   \
                   : plain_none_completed(log, begin, kind, count)))                                                   \
            plain_any_rare(log, begin, kind, count, requests, many.saved, result, over, index, status);                \
        log_out(log, 0);                                                                                               \
        return result;                                                                                                 \
    } while (0)

#define PLAIN_WAITANY(kind, name, detail, large, call, count, requests, index, status)                                 \
    PLAIN_ANY(kind, name, call, count, requests, true, index, status)
#define PLAIN_TESTANY(kind, name, detail, large, call, count, requests, index, flag, status)                           \
    PLAIN_ANY(kind, name, call, count, requests, *flag, index, status)

/* ---- starting several -------------------------------------------------------------------------------------------- */

bool plain_all_started(struct log *log, uint64_t begin, enum call kind, int count, const MPI_Request *handles,
                       const uint64_t *saved);
void plain_startall_rare(struct log *log, uint64_t begin, enum call kind, int count, MPI_Request *handles,
                         const uint64_t *saved, int result);

#define PLAIN_STARTALL(kind, name, detail, large, call, count, requests)                                               \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        struct many many;                                                                                              \
        if (!plain_many(log, count, requests) || __builtin_expect(listened(COLLECTIVE_BEGIN), 0))                      \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        many_save(&many, count, requests);                                                                             \
        plain_in(log);                                                                                                 \
        uint64_t begin = plain_begin(true, log, kind, 0, PEER_NONE);                                                   \
        int result = BELOW(log, (*next.name)call);                                                                     \
        if (__builtin_expect(result != MPI_SUCCESS, 0) ||                                                              \
            !plain_all_started(log, begin, kind, count, requests, many.saved))                                         \
            plain_startall_rare(log, begin, kind, count, requests, many.saved, result);                                \
        log_out(log, 0);                                                                                               \
        return result;                                                                                                 \
    } while (0)

#endif
