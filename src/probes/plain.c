/* Plain completions that are not as frequent as those of messages (plain.h, plain_request.h). */
#include "completion.h"
#include "ending.h"
#include "shapes.h"

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

/* The send of a pair goes before its receive. */
static void pair_commit(struct log *log, struct tally *tally, const struct front_place *place, const struct event *call,
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
    switch (place->posted.type & POSTED_TYPE) {
    case REQUEST_SEND:
        fold_send_done(&tally, &view->tally, &done);
        break;
    case REQUEST_RECV:
        view_page_select(view, done.peer);
        fold_recv_done(&tally, &view->tally, &done);
        break;
    case REQUEST_COLL:
        fold_coll_done(&tally, &view->tally, &done, NULL);
        break;
    case REQUEST_IO:
        fold_transferred(&tally, &view->tally, &done);
        break;
    case REQUEST_PAIR:
        pair_commit(log, &tally, place, &call, &done);
        break;
    default:
        fold_wait(&tally, &view->tally);
    }
    plain_folded(log, &tally);
    if ((place->posted.type & POSTED_TYPE) != REQUEST_PAIR)
        log_commit_two(log, &call, &done);
    front_end(place);
    RELAXED_STORE(&log->state->call, CALL_NONE);
    return true;
}

/* ---- several requests -------------------------------------------------------------------------------------------- */

/* A session that another thread has opened meanwhile has emptied the front: nothing is found there then. */
int plain_all_completed(struct log *log, uint64_t begin, enum call kind, int count, const MPI_Request *handles,
                        struct many *many, const MPI_Status *statuses)
{
    uint64_t duration;
    if (statuses == NULL) /* for the compiler: the call has succeeded */
        __builtin_unreachable();
    if (!plain_lasted(log, begin, &duration))
        return 0;
    int taken = many_take(log, count, handles, many->saved, many->done, statuses);
    if (__builtin_expect(taken < count, 0))
        return taken;
    struct event call = plain_call(kind, begin, duration, count, count);
    fold_call(FOLD_COMPLETION, 0, &log->own.tally, NULL, &call, NULL, 1);
    log_commit(log, &call);
    many_records(log, false, count, many->done, statuses);
    RELAXED_STORE(&log->state->call, CALL_NONE);
    return -1;
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

void plain_all_rare(struct log *log, uint64_t begin, enum call kind, int count, MPI_Request *handles, struct many *many,
                    int taken, int result, bool ended, const MPI_Status *statuses)
{
    struct completion c = {.probe = PROBE_OF_PLAIN};
    completion_resume(&c, kind, count, handles, many->saved);
    if (!ended)
        completion_flush(&c, result);
    else if (taken == 0)
        completion_flush_all(&c, result, statuses);
    else
        completion_flush_rest(&c, taken, many->done, statuses);
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
    for (int i = 0; i < count; i++) {
        struct event posted;
        plain_start_record(&tally, &front_place(saved[i])->posted, begin, &posted);
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
