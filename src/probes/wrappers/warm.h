/*
 * The same as hot.h for other calls: collectives, probes, matched messages, calls on several requests, starts, calls on
 * windows and files. Their first case is the hot one, too, but for timed calls alone.
 */
#ifndef MPIT_PROBES_WARM_H
#define MPIT_PROBES_WARM_H

#include "wrappers/collectives.h"
#include "wrappers/completing.h"
#include "wrappers/hot.h"
#include "wrappers/objects.h"

/* ---- collectives and probes -------------------------------------------------------------------------------------- */

HOT bool hot_enter_coll(struct hot *hot, enum call kind, MPI_Comm comm)
{
    return !__builtin_expect(listened(COLLECTIVE_BEGIN), 0) && hot_enter(hot, kind, comm, PEER_NONE);
}

COLD void hot_collected_cold(struct hot hot, enum call kind, enum collective op, int result, int32_t root,
                             struct coll_bytes bytes)
{
    struct probe probe = hot_probe(&hot);
    leave_coll(&probe, kind, op, result, root, bytes);
}

HOT void hot_leave_coll(const struct hot *hot, enum call kind, enum collective op, int result, int32_t root,
                        struct coll_bytes bytes)
{
    struct event event = {.kind = (uint16_t)kind, .peer = root, .tag = (int32_t)bytes.out, .bytes = bytes.in};
    if (__builtin_expect(result != MPI_SUCCESS || bytes.out > INT32_MAX, 0) || !hot_leave_as(hot, FOLD_COLL, op, event))
        hot_collected_cold(*hot, kind, op, result, root, bytes);
}

COLD void hot_icollected_cold(struct hot hot, enum call kind, enum collective op, int result, int32_t root,
                              struct coll_bytes bytes, const MPI_Request *request)
{
    struct probe probe = hot_probe(&hot);
    leave_icoll(&probe, kind, op, result, root, bytes, request);
}

HOT void hot_leave_icoll(const struct hot *hot, enum call kind, enum collective op, int result, int32_t root,
                         struct coll_bytes bytes, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .peer = root};
    if (__builtin_expect(result != MPI_SUCCESS || bytes.out > INT32_MAX, 0) ||
        !hot_front_is_free(abi_handle_of_request(*request)) || !hot_leave_as(hot, FOLD_POST_COLL, op, event)) {
        hot_icollected_cold(*hot, kind, op, result, root, bytes, request);
        return;
    }
    event.bytes = bytes.in;
    event.tag = (int32_t)bytes.out;
    hot_post_apart(hot, REQUEST_COLL, event, request, abi_handle_of_request(*request));
}

COLD void hot_probed_cold(struct hot hot, enum call kind, MPI_Comm comm, int result, int source, int tag)
{
    struct probe probe = hot_probe(&hot);
    leave_probe(&probe, kind, comm, result, source, tag);
}

HOT void hot_leave_probe(const struct hot *hot, enum call kind, MPI_Comm comm, int result, int source, int tag)
{
    struct event event = {.kind = (uint16_t)kind, .peer = source >= 0 ? source : PEER_ANY, .tag = tag};
    if (__builtin_expect(result != MPI_SUCCESS, 0) || !hot_leave(hot, FOLD_P2P, event))
        hot_probed_cold(*hot, kind, comm, result, source, tag);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* The arrays of a call on several requests. A call on more takes the body. */
enum { HOT_MOST = 32 };
struct hot_many {
    uint64_t saved[HOT_MOST];      /* the handles before the call */
    MPI_Status statuses[HOT_MOST]; /* in place of MPI_STATUSES_IGNORE */
};

HOT bool hot_enter_many(struct hot *hot, struct hot_many *many, enum call kind, int count, const MPI_Request *requests)
{
    hot->log = thread_log_or_none;
    if (__builtin_expect((unsigned)count - 1 >= HOT_MOST || !requests || !book.plain, 0) || !log_in_usually(hot->log))
        return false;
    for (int i = 0; i < count; i++)
        many->saved[i] = abi_handle_of_request(requests[i]);
    hot_begin(hot, kind, 0, PEER_NONE);
    return true;
}

COLD void hot_all_cold(struct hot hot, enum call kind, int count, MPI_Request *requests, const uint64_t *saved,
                       int result, bool ended, const MPI_Status *statuses)
{
    struct completion c = {.probe = hot_probe(&hot)};
    completion_resume(&c, kind, count, requests, saved);
    leave_all(&c, result, ended, statuses);
}

/* Leaves a call that has completed nothing. False: nothing was done. */
HOT bool hot_none(const struct hot *hot, enum call kind, int count)
{
    return hot_leave(hot, FOLD_COMPLETION, (struct event){.kind = (uint16_t)kind, .tag = count});
}

HOT void hot_leave_all(const struct hot *hot, const struct hot_many *many, enum call kind, int count,
                       MPI_Request *requests, int result, bool ended, const MPI_Status *statuses)
{
    if (__builtin_expect(result != MPI_SUCCESS, 0) ||
        !(ended ? usual_all_ended(hot->log, hot->begin, kind, count, requests, many->saved, statuses)
                : hot_none(hot, kind, count)))
        hot_all_cold(*hot, kind, count, requests, many->saved, result, ended, statuses);
}

COLD void hot_any_cold(struct hot hot, enum call kind, int count, MPI_Request *requests, const uint64_t *saved,
                       int result, bool ended, const int *index, const MPI_Status *status)
{
    struct completion c = {.probe = hot_probe(&hot)};
    completion_resume(&c, kind, count, requests, saved);
    leave_any(&c, result, ended, index, status);
}

HOT bool hot_completed(const struct hot *hot, uint64_t saved, enum call kind, int count, MPI_Request *request,
                       const MPI_Status *status)
{
    struct hot one = *hot;
    one.saved = saved;
    one.place = front_kept(front_place(saved));
    return hot_waited(&one, kind, count, request, status) ||
           usual_one_ended(hot->log, hot->begin, kind, count, one.place, saved, request, status);
}

HOT void hot_leave_any(const struct hot *hot, const struct hot_many *many, enum call kind, int count,
                       MPI_Request *requests, int result, bool ended, const int *index, const MPI_Status *status)
{
    if (__builtin_expect(result != MPI_SUCCESS, 0) ||
        !(ended ? (unsigned)*index < (unsigned)count &&
                      hot_completed(hot, many->saved[*index], kind, count, &requests[*index], status)
                : hot_none(hot, kind, count)))
        hot_any_cold(*hot, kind, count, requests, many->saved, result, ended, index, status);
}

/* Starts are announced to listeners. */
HOT bool hot_enter_start(struct hot *hot, enum call kind, const MPI_Request *request)
{
    return !__builtin_expect(listened(COLLECTIVE_BEGIN), 0) && hot_enter_wait(hot, kind, request);
}

COLD void hot_started_cold(struct hot hot, enum call kind, MPI_Request *request, int result)
{
    struct probe probe = hot_probe(&hot);
    start_leave(&probe, kind, request, hot.saved, LEFT_THERE, result);
}

HOT void hot_leave_start(const struct hot *hot, enum call kind, MPI_Request *request, int result)
{
    if (__builtin_expect(result != MPI_SUCCESS, 0) ||
        !usual_one_started(hot->log, hot->begin, kind, hot->place, hot->saved, request))
        hot_started_cold(*hot, kind, request, result);
}

HOT bool hot_enter_startall(struct hot *hot, struct hot_many *many, enum call kind, int count,
                            const MPI_Request *requests)
{
    return !__builtin_expect(listened(COLLECTIVE_BEGIN), 0) && hot_enter_many(hot, many, kind, count, requests);
}

COLD void hot_startall_cold(struct hot hot, enum call kind, int count, MPI_Request *requests, const uint64_t *saved,
                            int result)
{
    struct completion c = {.probe = hot_probe(&hot)};
    completion_resume(&c, kind, count, requests, saved);
    completion_started(&c, result);
}

HOT void hot_leave_startall(const struct hot *hot, const struct hot_many *many, enum call kind, int count,
                            MPI_Request *requests, int result)
{
    if (__builtin_expect(result != MPI_SUCCESS, 0) ||
        !usual_all_started(hot->log, hot->begin, kind, count, requests, many->saved))
        hot_startall_cold(*hot, kind, count, requests, many->saved, result);
}

/* ---- rarer messages ---------------------------------------------------------------------------------------------- */

COLD void hot_mprobed_cold(struct hot hot, enum call kind, MPI_Comm comm, int result, int source, int tag, bool found,
                           const MPI_Message *message, const MPI_Status *status)
{
    struct probe probe = hot_probe(&hot);
    leave_mprobe(&probe, kind, comm, result, source, tag, found, message, status);
}

/* A message that was found lies in front. False: nothing was done. */
HOT bool hot_mprobed(const struct hot *hot, struct event event, const MPI_Message *message, const MPI_Status *status)
{
    uint64_t key = message_key(message);
    if (__builtin_expect(!message_is_one(message) || status->MPI_SOURCE < 0, 0) || !hot_front_is_free(key) ||
        !hot_leave(hot, FOLD_P2P, event))
        return false;
    event.peer = status->MPI_SOURCE;
    event.tag = status->MPI_TAG;
    hot_post_apart(hot, REQUEST_MATCHED, event, message, key);
    return true;
}

HOT void hot_leave_mprobe(const struct hot *hot, enum call kind, MPI_Comm comm, int result, int source, int tag,
                          bool found, const MPI_Message *message, const MPI_Status *status)
{
    struct event event = {.kind = (uint16_t)kind, .peer = source >= 0 ? source : PEER_ANY, .tag = tag};
    if (__builtin_expect(result != MPI_SUCCESS, 0) ||
        !(found ? hot_mprobed(hot, event, message, status) : hot_leave(hot, FOLD_P2P, event)))
        hot_mprobed_cold(*hot, kind, comm, result, source, tag, found, message, status);
}

/* Enters the receive of a message in front, and takes it out: the library may use its handle again during the call. No
 * request has such a handle. A freed communicator must be held until the event of the call is written. The body does
 * that. */
HOT bool hot_enter_mrecv(struct hot *hot, struct posted *found, enum call kind, const MPI_Message *message)
{
    hot->log = thread_log_or_none;
    if (__builtin_expect(message == NULL, 0) || !log_in_usually(hot->log))
        return false;
    hot->saved = message_key(message);
    hot->place = front_kept(front_place(hot->saved));
    hot->view = hot->place->posted.view;
    if (__builtin_expect(
            hot->place->handle != hot->saved || hot->view->thread != hot->log->own.index || hot->view->comm->freed, 0))
        return log_out(hot->log, 0), false;
    *found = hot->place->posted;
    front_free(hot->place);
    hot_begin(hot, kind, hot->view->slot, found->peer);
    return true;
}

COLD void hot_mreceived_cold(struct hot hot, struct posted found, enum call kind, int result, int64_t count,
                             MPI_Datatype type, const MPI_Message *message, const MPI_Status *status)
{
    struct probe probe = hot_probe(&hot);
    found.where = message;
    struct matched matched = {.handle = hot.saved, .request = request_of(&probe, &found)};
    leave_mrecv(&probe, &matched, kind, result, count, type, message, status);
}

HOT void hot_leave_mrecv(const struct hot *hot, const struct posted *found, enum call kind, int result, int64_t count,
                         MPI_Datatype type, const MPI_Message *message, const MPI_Status *status)
{
    if (__builtin_expect(result != MPI_SUCCESS, 0) || !hot_received(hot, kind, status))
        hot_mreceived_cold(*hot, *found, kind, result, count, type, message, status);
}

/* Its live state shows the source alone, as in the body. */
HOT bool hot_enter_isendrecv(struct hot *hot, enum call kind, MPI_Comm comm, int dest, int source)
{
    return __builtin_expect(dest >= 0, 1) && hot_enter_from(hot, kind, comm, source);
}

COLD void hot_halves_cold(struct hot hot, enum call kind, MPI_Comm comm, int result, struct halves halves,
                          const MPI_Request *request)
{
    struct probe probe = hot_probe(&hot);
    leave_isendrecv(&probe, kind, comm, result, halves, request);
}

/* The call and both messages in one go. False: nothing was done. */
HOT bool hot_halves(const struct hot *hot, enum call kind, struct event sends, struct event receives,
                    const MPI_Request *request)
{
    struct log *log = hot->log;
    struct view *view = hot->view;
    uint64_t handle = abi_handle_of_request(*request), duration = clock_counter() - hot->begin;
    if (__builtin_expect(!hot_front_is_free(handle) || !bytes_are_small(sends.bytes) || log->stall.times ||
                             duration >= COMPARED_LOAD(&knob_rare_ticks),
                         0))
        return false;
    struct tally tally = tally_unseen(log);
    struct event call = {
        .begin = hot->begin, .duration = (uint32_t)duration, .kind = (uint16_t)kind, .peer = 2, .tag = 1};
    sends.kind = RECORD_SEND_POSTED;
    receives.kind = RECORD_RECV_POSTED;
    sends.begin = receives.begin = hot->begin;
    sends.duration = receives.duration = kind;
    sends.comm = receives.comm = (uint16_t)view->slot;
    fold_call(FOLD_START, 0, &tally, NULL, &call, NULL, 1);
    cell_store(&log->own.tally.end, tally.end);
    view_page_select(view, sends.peer);
    fold_send_posted(&tally, &view->tally, &sends);
    fold_recv_posted(&tally, &view->tally, &receives);
    log_commit_two(log, &call, &sends);
    log_commit(log, &receives);
    *front_pair(front_place(handle)) = (struct front_pair){.bytes = sends.bytes, .dest = sends.peer, .tag = sends.tag};
    receives.kind = (uint16_t)kind;
    hot_post_apart(hot, REQUEST_PAIR, receives, request, handle);
    RELAXED_STORE(&log->state->call, CALL_NONE);
    return true;
}

HOT void hot_leave_isendrecv(const struct hot *hot, enum call kind, MPI_Comm comm, int result, struct halves halves,
                             const MPI_Request *request)
{
    if (__builtin_expect(result != MPI_SUCCESS, 0) || !hot_halves(hot, kind, halves.send, halves.receive, request))
        hot_halves_cold(*hot, kind, comm, result, halves, request);
}

/* Enters a call on partitions of a request in front. */
HOT bool hot_enter_partition(struct hot *hot, enum call kind, MPI_Request request)
{
    hot->log = thread_log_or_none;
    if (!log_in_usually(hot->log))
        return false;
    uint64_t handle = abi_handle_of_request(request);
    const struct front_place *place = front_kept(front_place(handle));
    hot->view = place->posted.view;
    if (__builtin_expect(place->handle != handle || handle == 0 || !kind_is_partitioned(place->posted.kind) ||
                             hot->view->thread != hot->log->own.index,
                         0))
        return log_out(hot->log, 0), false;
    hot_begin(hot, kind, hot->view->slot, PEER_NONE);
    return true;
}

COLD void hot_partition_cold(struct hot hot, enum call kind, int result)
{
    struct probe probe = hot_probe(&hot);
    leave_partition(&probe, kind, result);
}

HOT void hot_leave_partition(const struct hot *hot, enum call kind, int result)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    if (__builtin_expect(result != MPI_SUCCESS, 0) || !hot_leave(hot, FOLD_P2P, event))
        hot_partition_cold(*hot, kind, result);
}

/* ---- windows and files ------------------------------------------------------------------------------------------- */

HOT bool hot_enter_object(struct hot *hot, enum call kind, const struct objects *objects,
                          const struct accessed_last *last, uint64_t handle, int32_t peer)
{
    if (!log_in_usually(hot->log))
        return false;
    if (__builtin_expect(last->last.handle != handle || !accessed_holds(objects, &last->last) || !last->last.on.view,
                         0))
        return log_out(hot->log, 0), false;
    hot->view = last->last.on.view;
    hot->number = last->last.on.object.number;
    hot_begin(hot, kind, hot->view->slot, peer);
    return true;
}

HOT bool hot_enter_window(struct hot *hot, enum call kind, uint64_t handle, int32_t peer)
{
    hot->log = thread_log_or_none;
    return hot_enter_object(hot, kind, &book.windows, &hot->log->objects.window, handle, peer);
}

HOT bool hot_enter_file(struct hot *hot, enum call kind, uint64_t handle)
{
    hot->log = thread_log_or_none;
    return hot_enter_object(hot, kind, &book.files, &hot->log->objects.file, handle, PEER_NONE);
}

/* Bytes at the target, or of a transfer, of a call that succeeded. */
HOT uint64_t hot_accepted(const struct hot *hot, int result, int64_t count, MPI_Datatype type)
{
    return result == MPI_SUCCESS ? log_bytes(hot->log, count, type) : 0;
}

/* The call as one that entered in the body. */
HOT struct access hot_access(const struct hot *hot)
{
    return (struct access){.probe = hot_probe(hot), .object = {.comm = hot->view->comm, .number = hot->number}};
}

HOT bool hot_object(const struct hot *hot, enum fold_shape shape, unsigned kind, int32_t peer, uint64_t bytes)
{
    struct event event = {.kind = (uint16_t)kind, .peer = peer, .tag = (int32_t)hot->number, .bytes = bytes};
    return hot_leave(hot, shape, event);
}

/* The record behind the call's event. */
HOT void hot_argument(const struct hot *hot, struct event event)
{
    event.kind = RECORD_ARGUMENT;
    event.begin = hot->begin;
    event.comm = (uint16_t)hot->view->slot;
    log_commit(hot->log, &event);
}

COLD void hot_win_cold(struct hot hot, unsigned kind, int result, int32_t peer, uint64_t bytes)
{
    struct access access = hot_access(&hot);
    leave_win_call(&access, kind, result, peer, bytes);
}

HOT void hot_leave_win_call(const struct hot *hot, unsigned kind, int result, int32_t peer, uint64_t bytes)
{
    if (__builtin_expect(result != MPI_SUCCESS || peer < PEER_NONE, 0) || !hot_object(hot, FOLD_RMA, kind, peer, bytes))
        hot_win_cold(*hot, kind, result, peer, bytes);
}

COLD void hot_lock_cold(struct hot hot, enum call kind, int result, int32_t peer, int type)
{
    struct access access = hot_access(&hot);
    leave_win_lock(&access, kind, result, peer, type);
}

HOT void hot_leave_win_lock(const struct hot *hot, enum call kind, int result, int32_t peer, int type)
{
    if (__builtin_expect(result != MPI_SUCCESS, 0) || !hot_object(hot, FOLD_RMA, kind, peer, 0))
        hot_lock_cold(*hot, kind, result, peer, type);
    else if (type == MPI_LOCK_EXCLUSIVE)
        hot_argument(hot, (struct event){.peer = peer, .tag = 1});
}

COLD void hot_group_cold(struct hot hot, enum call kind, int result, MPI_Win win, MPI_Group group)
{
    struct access access = hot_access(&hot);
    leave_win_group(&access, kind, result, win, group);
}

HOT void hot_leave_win_group(const struct hot *hot, enum call kind, int result, MPI_Win win, MPI_Group group)
{
    if (__builtin_expect(result != MPI_SUCCESS, 0) || !group_is_whole(hot->view, group) ||
        !hot_object(hot, FOLD_RMA, kind, PEER_NONE, 0))
        hot_group_cold(*hot, kind, result, win, group);
    else
        hot_argument(hot, (struct event){.peer = PEER_ANY});
}

COLD void hot_win_post_cold(struct hot hot, unsigned kind, int result, int32_t peer, uint64_t bytes,
                            const MPI_Request *request)
{
    struct access access = hot_access(&hot);
    leave_win_post(&access, kind, result, peer, bytes, request);
}

HOT void hot_leave_win_post(const struct hot *hot, unsigned kind, int result, int32_t peer, uint64_t bytes,
                            const MPI_Request *request)
{
    struct event event = {
        .kind = (uint16_t)(kind & EVENT_KIND_MASK), .peer = peer, .tag = (int32_t)hot->number, .bytes = bytes};
    if (__builtin_expect(result != MPI_SUCCESS, 0) || !hot_front_is_free(abi_handle_of_request(*request)) ||
        !hot_object(hot, FOLD_RMA, kind, peer, bytes))
        hot_win_post_cold(*hot, kind, result, peer, bytes, request);
    else
        hot_post_apart(hot, REQUEST_RMA, event, request, abi_handle_of_request(*request));
}

COLD void hot_file_cold(struct hot hot, enum call kind, MPI_File file, int result, uint64_t asked)
{
    struct access access = hot_access(&hot);
    leave_file_call(&access, kind, file, result, asked);
}

/* `asked`: of a split operation that begins, which is none of these; UINT64_MAX of all others. */
HOT void hot_leave_file_call(const struct hot *hot, enum call kind, MPI_File file, int result, uint64_t asked)
{
    if (__builtin_expect(result != MPI_SUCCESS || asked != UINT64_MAX, 0) ||
        !hot_object(hot, FOLD_IO, kind, PEER_NONE, 0))
        hot_file_cold(*hot, kind, file, result, asked);
}

COLD void hot_transfer_cold(struct hot hot, enum call kind, MPI_File file, int result, uint64_t asked, MPI_Offset at,
                            const MPI_Status *status)
{
    struct access access = hot_access(&hot);
    leave_file_transfer(&access, kind, file, result, asked, at, status);
}

HOT void hot_leave_file_transfer(const struct hot *hot, enum call kind, MPI_File file, int result, uint64_t asked,
                                 MPI_Offset at, const MPI_Status *status)
{
    bool by_all = kind == CALL_MPI_File_read_all || kind == CALL_MPI_File_read_at_all;
    if (by_all || __builtin_expect(result != MPI_SUCCESS || abi_status_bytes(status) != asked, 0) ||
        !hot_object(hot, FOLD_IO, kind, PEER_NONE, asked))
        hot_transfer_cold(*hot, kind, file, result, asked, at, status);
}

COLD void hot_file_post_cold(struct hot hot, enum call kind, int result, uint64_t asked, const MPI_Request *request)
{
    struct access access = hot_access(&hot);
    leave_file_post(&access, kind, result, asked, request);
}

HOT void hot_leave_file_post(const struct hot *hot, enum call kind, int result, uint64_t asked,
                             const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE, .tag = (int32_t)hot->number};
    if (__builtin_expect(result != MPI_SUCCESS, 0) || !hot_front_is_free(abi_handle_of_request(*request)) ||
        !hot_object(hot, FOLD_IO, kind, PEER_NONE, 0)) {
        hot_file_post_cold(*hot, kind, result, asked, request);
        return;
    }
    if (asked)
        hot_argument(hot, (struct event){.peer = PEER_NONE, .bytes = asked});
    hot_post_apart(hot, REQUEST_IO, event, request, abi_handle_of_request(*request));
}

#endif
