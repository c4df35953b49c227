#include "wrappers/shapes.h"

#include "registry/commreuse.h"

#include <stdlib.h>
#include <string.h>

void object_made(struct objects *objects, uint64_t handle, struct object *object, struct comm *comm)
{
    struct object stale = objects_find(objects, handle); /* of one that was freed out of sight */
    enum object_kind kind = objects == &book.windows ? OBJECT_WINDOW : OBJECT_FILE;
    comm_hold(comm);
    *object = (struct object){comm, objects_count(comm, kind), kind == OBJECT_FILE};
    objects_set(objects, handle, *object);
    if (stale.comm) {
        object_cells_close(kind, &stale);
        comm_let_go(stale.comm);
    }
}

static void object_tell(struct probe *probe, enum event_type_id id, enum call kind, uint64_t handle,
                        const struct accessed *on)
{
    if (on->view && !probe_is_quiet(probe))
        raise_object(probe->log, id, on->view->comm, on->object.number, handle, kind);
}

void object_announce(struct probe *probe, enum call kind, const struct objects *objects, uint64_t handle,
                     const struct accessed *on)
{
    object_tell(probe, objects == &book.windows ? WINDOW_CREATED : FILE_OPENED, kind, handle, on);
}

/* `shape` is a constant, so that what concerns the other shapes falls away. */
HOT void object_leave(struct probe *probe, enum fold_shape shape, unsigned kind, const struct accessed *on, int result,
                      int32_t peer, uint64_t bytes)
{
    struct event event = {.kind = (uint16_t)kind, .peer = peer, .tag = (int32_t)on->object.number, .bytes = bytes};
    if (__builtin_expect(!on->view, 0) && result == MPI_SUCCESS &&
        !probe_is_quiet(probe)) /* made out of sight: a call, and charged to nothing */
        run_lost(&book.run, LOSS_UNKNOWN_COMM, 1);
    probe_leave(probe, shape, 0, on->view, result, event, 0);
}

void win_leave(struct probe *probe, unsigned kind, const struct accessed *on, int result, int32_t peer, uint64_t bytes)
{
    object_leave(probe, FOLD_RMA, kind, on, result, peer, bytes);
}

static void file_leave(struct probe *probe, enum call kind, const struct accessed *on, int result, uint64_t bytes)
{
    object_leave(probe, FOLD_IO, kind, on, result, PEER_NONE, bytes);
}

static void leave(struct probe *probe, enum fold_shape shape, unsigned kind, const struct accessed *on, int result,
                  int32_t peer, uint64_t bytes)
{
    if (shape == FOLD_RMA)
        win_leave(probe, kind, on, result, peer, bytes);
    else
        file_leave(probe, (enum call)kind, on, result, bytes);
}

/* Behind the call's event. */
static void argument_record(struct probe *probe, const struct accessed *on, struct event event)
{
    if (!on->view || probe_is_quiet(probe))
        return;
    event.kind = RECORD_ARGUMENT;
    event.begin = probe->begin;
    log_record(probe->log, on->view, &event, 0);
}

HOT void bytes_record(struct probe *probe, const struct accessed *on, int result, uint64_t asked, uint64_t done)
{
    if (result == MPI_SUCCESS && asked != UINT64_MAX && asked != done)
        argument_record(probe, on, (struct event){.peer = PEER_NONE, .bytes = asked});
}

void object_posted(struct probe *probe, enum fold_shape shape, unsigned kind, const struct accessed *on, int result,
                   int32_t peer, uint64_t bytes, uint64_t asked, const MPI_Request *request)
{
    enum call call = (enum call)(kind & EVENT_KIND_MASK);
    struct event event = {.kind = (uint16_t)call, .peer = peer, .tag = (int32_t)on->object.number, .bytes = bytes};
    struct posted posted =
        posted_of(probe, on->view, call, shape == FOLD_RMA ? REQUEST_RMA : REQUEST_IO, &event, request);
    uint64_t key = result == MPI_SUCCESS ? abi_handle_of_request(*request) : 0;
    if (result == MPI_SUCCESS && !front_keeps(probe, &posted, key)) {
        struct request *made = request_of(probe, &posted);
        if (made)
            request_keep(probe, made, key);
    }
    leave(probe, shape, kind, on, result, peer, bytes);
    bytes_record(probe, on, result, asked, 0);
    posted_finish(probe->log);
}

void object_freed(struct probe *probe, enum fold_shape shape, enum call kind, struct objects *objects, uint64_t handle,
                  const struct accessed *on, int result)
{
    if (result != MPI_SUCCESS && on->view)
        objects_set(objects, handle, on->object);
    bool window = shape == FOLD_RMA, freed = result == MPI_SUCCESS && on->view;
    if (freed)
        object_cells_close(window ? OBJECT_WINDOW : OBJECT_FILE, &on->object);
    leave(probe, shape, kind, on, result, PEER_NONE, 0);
    if (!freed)
        return;
    object_tell(probe, window ? WINDOW_FREED : FILE_CLOSED, kind, handle, on);
    comm_let_go(on->view->comm);
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

void win_locked(struct probe *probe, enum call kind, const struct accessed *on, int result, int32_t target, int type)
{
    win_leave(probe, kind, on, result, target, 0);
    if (result == MPI_SUCCESS && type == MPI_LOCK_EXCLUSIVE)
        argument_record(probe, on, (struct event){.peer = target, .tag = 1});
}

void win_tested(struct probe *probe, enum call kind, const struct accessed *on, int result, const int *flag)
{
    win_leave(probe, kind, on, result, PEER_NONE, 0);
    if (result == MPI_SUCCESS && *flag)
        argument_record(probe, on, (struct event){.peer = PEER_NONE});
}

static void members_record(struct probe *probe, const struct accessed *on, MPI_Group group, MPI_Group all)
{
    int size = 0;
    if (native.Group_size(group, &size) != MPI_SUCCESS || size <= 0)
        return;
    int *ranks = malloc(2 * (size_t)size * sizeof *ranks);
    for (int i = 0; ranks && i < size; i++)
        ranks[i] = i;
    if (!ranks)
        run_lost(&book.run, LOSS_NO_MEMORY, 1);
    else if (native.Group_translate_ranks(group, size, ranks, all, ranks + size) == MPI_SUCCESS)
        for (int i = 0; i < size; i++)
            argument_record(probe, on, (struct event){.peer = ranks[size + i]});
    free(ranks);
}

void win_grouped(struct probe *probe, enum call kind, const struct accessed *on, int result, MPI_Win win,
                 MPI_Group group)
{
    MPI_Group all;
    win_leave(probe, kind, on, result, PEER_NONE, 0);
    if (result != MPI_SUCCESS || !on->view || probe_is_quiet(probe))
        return;
    if (win_group_is_whole(on->view, group)) {
        argument_record(probe, on, (struct event){.peer = PEER_ANY});
        return;
    }
    if (native.Win_get_group(win, &all) != MPI_SUCCESS)
        return;
    members_record(probe, on, group, all);
    native.Group_free(&all);
}

void win_named(struct probe *probe, enum call kind, MPI_Win win, const char *text, int result)
{
    struct object object = objects_find(&book.windows, OBJECT_HANDLE(win));
    if (result == MPI_SUCCESS && object.comm && object.number && text)
        objects_name(OBJECT_WINDOW, object.comm->slot, object.number, clock_now(), text);
    probe_leave(probe, FOLD_CALL, 0, NULL, result, (struct event){.kind = (uint16_t)kind, .peer = PEER_NONE}, 0);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static int32_t access_of(int mode)
{
    int32_t access = 0;
    access |= mode & MPI_MODE_RDWR ? ACCESS_READ | ACCESS_WRITE : 0;
    access |= mode & MPI_MODE_RDONLY ? ACCESS_READ : 0;
    access |= mode & MPI_MODE_WRONLY ? ACCESS_WRITE : 0;
    access |= mode & MPI_MODE_CREATE ? ACCESS_CREATE : 0;
    access |= mode & MPI_MODE_EXCL ? ACCESS_EXCLUSIVE : 0;
    access |= mode & MPI_MODE_APPEND ? ACCESS_APPEND : 0;
    access |= mode & MPI_MODE_SEQUENTIAL ? ACCESS_SEQUENTIAL : 0;
    access |= mode & MPI_MODE_UNIQUE_OPEN ? ACCESS_UNIQUE : 0;
    access |= mode & MPI_MODE_DELETE_ON_CLOSE ? ACCESS_DELETE : 0;
    return access;
}

void file_opened(struct probe *probe, enum call kind, const struct accessed *on, int result, const char *filename,
                 int mode)
{
    file_leave(probe, kind, on, result, 0);
    if (result != MPI_SUCCESS || !on->view)
        return;
    argument_record(probe, on, (struct event){.peer = PEER_NONE, .tag = access_of(mode)});
    objects_name(OBJECT_FILE, on->view->slot, on->object.number, clock_now(), filename);
}

void file_called(struct probe *probe, enum call kind, uint64_t handle, const struct accessed *on, int result,
                 uint64_t asked)
{
    file_leave(probe, kind, on, result, 0);
    bytes_record(probe, on, result, asked, 0);
    if (asked == UINT64_MAX || result != MPI_SUCCESS)
        return;
    struct split_asked *splits = probe->log->splits;
    memmove(&splits[1], &splits[0], (SPLITS_KEPT - 1) * sizeof splits[0]);
    splits[0] = (struct split_asked){handle, asked};
}

/* A view that the library may or may not have taken counts in nobody knows what. */
void file_viewed(struct probe *probe, enum call kind, const struct accessed *on, int result, MPI_File fh,
                 MPI_Datatype etype)
{
    struct object object = objects_find(&book.files, OBJECT_HANDLE(fh));
    uint64_t bytes = result == MPI_SUCCESS ? native_bytes(1, etype) : 0;
    file_leave(probe, kind, on, result, 0);
    object.unit = bytes <= INT32_MAX ? (uint32_t)bytes : 0;
    if (object.comm)
        objects_set(&book.files, OBJECT_HANDLE(fh), object);
}

/* In the view's units. The pointer that all share may have gone on already, moved by others. */
static bool position_find(enum call kind, MPI_File fh, MPI_Offset offset, int whence, MPI_Offset *position)
{
    *position = offset;
    return whence == MPI_SEEK_SET || (kind == CALL_MPI_File_seek && native.File_get_position &&
                                      native.File_get_position(fh, position) == MPI_SUCCESS);
}

void file_sought(struct probe *probe, enum call kind, const struct accessed *on, int result, MPI_File fh,
                 MPI_Offset offset, int whence)
{
    MPI_Offset position, arrived = 0;
    int64_t asked;
    file_leave(probe, kind, on, result, 0);
    if (result != MPI_SUCCESS || !on->view || probe_is_quiet(probe) || !knob_load(KNOB_TRACE))
        return;
    uint32_t unit = objects_find(&book.files, OBJECT_HANDLE(fh)).unit;
    int32_t from = whence == MPI_SEEK_SET   ? SEEK_FROM_START
                   : whence == MPI_SEEK_CUR ? SEEK_FROM_CURRENT
                                            : SEEK_FROM_END;
    if (!unit || __builtin_mul_overflow((int64_t)offset, (int64_t)unit, &asked) || !native.File_get_byte_offset ||
        !position_find(kind, fh, offset, whence, &position) ||
        native.File_get_byte_offset(fh, position, &arrived) != MPI_SUCCESS)
        return;
    argument_record(probe, on, (struct event){.peer = PEER_NONE, .tag = from, .bytes = (uint64_t)asked});
    argument_record(probe, on, (struct event){.peer = PEER_NONE, .tag = SEEK_ARRIVED, .bytes = (uint64_t)arrived});
}

/* The end of a split operation does not say what its begin has asked for: the thread's last one on that file has. */
static uint64_t bytes_most(struct log *log, uint64_t handle, uint64_t asked)
{
    for (unsigned i = 0; asked == UINT64_MAX && i < SPLITS_KEPT; i++)
        if (log->splits[i].handle == handle) {
            log->splits[i].handle = 0;
            return log->splits[i].bytes;
        }
    return asked;
}

/* Libraries say of a collective read that it has read all that was asked for, also behind the end of the file (Open MPI
 * 4.1 and ROMIO, depending on who reads with whom). It counts what the file has there. Where the view has holes, only
 * the begin is looked at. Where it cannot be known: what the library says. */
static uint64_t bytes_there(uint64_t handle, MPI_Offset at, uint64_t bytes)
{
    MPI_File fh = (MPI_File)(uintptr_t)handle;
    uint32_t unit = objects_find(&book.files, handle).unit;
    MPI_Offset begin, end, size;
    if (!bytes || !unit || bytes % unit || !native.File_get_position || !native.File_get_byte_offset ||
        !native.File_get_size)
        return bytes;
    MPI_Offset units = (MPI_Offset)(bytes / unit);
    if (at == FILE_AT_POINTER && native.File_get_position(fh, &at) == MPI_SUCCESS)
        at -= units; /* it has moved on */
    if (at < 0 || native.File_get_byte_offset(fh, at, &begin) != MPI_SUCCESS ||
        native.File_get_byte_offset(fh, at + units, &end) != MPI_SUCCESS ||
        native.File_get_size(fh, &size) != MPI_SUCCESS)
        return bytes;
    if (begin >= size)
        return 0;
    return end > size && (uint64_t)(end - begin) == bytes ? (uint64_t)(size - begin) : bytes;
}

void file_transferred(struct probe *probe, enum call kind, uint64_t handle, const struct accessed *on, int result,
                      uint64_t asked, MPI_Offset at, const MPI_Status *status)
{
    uint64_t bytes = result == MPI_SUCCESS ? abi_status_bytes(status) : 0, most = bytes_most(probe->log, handle, asked);
    if (bytes > most) /* ROMIO leaves the status of some that have nothing to transfer as it was */
        bytes = most;
    bool asks = bytes && on->view && !probe_is_quiet(probe) &&
                (kind == CALL_MPI_File_read_all || kind == CALL_MPI_File_read_at_all);
    uint64_t duration = asks && !probe->mode ? clock_now() - probe->begin : 0; /* what is asked belongs to no call */
    if (asks)
        bytes = bytes_there(handle, at, bytes);
    if (asks && !probe->mode) {
        struct event event = {.begin = probe->begin,
                              .kind = (uint16_t)kind,
                              .peer = PEER_NONE,
                              .tag = (int32_t)on->object.number,
                              .bytes = bytes};
        probe_leave_rare(probe, on->view, event, duration, 0);
    } else {
        file_leave(probe, kind, on, result, bytes);
    }
    bytes_record(probe, on, result, asked, bytes);
}

void file_deleted(struct probe *probe, enum call kind, int result, const char *filename)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    if (result == MPI_SUCCESS && filename && !probe_is_quiet(probe)) {
        event.tag = (int32_t)objects_deleted();
        objects_name(OBJECT_DELETED, 0, (uint32_t)event.tag, clock_now(), filename);
    }
    probe_leave(probe, FOLD_CALL, 0, NULL, result, event, 0);
}
