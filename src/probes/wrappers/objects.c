#include "wrappers/objects.h"

#include "registry/commreuse.h"
#include "requests/completion.h"
#include "wrappers/posting.h"

#include <stdlib.h>
#include <string.h>

bool enter_object_slowly(struct access *access, enum call kind, const struct objects *objects, uint64_t handle,
                         int32_t peer)
{
    struct probe *probe = &access->probe;
    struct accessed on;
    if (!probe_open(probe))
        return false;
    struct log *log = probe->log;
    objects_look(&log->own, objects, handle, objects == &book.windows ? &log->objects.window : &log->objects.file, &on);
    if (__builtin_expect(!on.view, 0) && log->objects.freeing.handle == handle)
        on = log->objects.freeing.object; /* a delete callback of its attributes uses it */
    probe->view = on.view;
    access->object = on.object;
    probe_begin(probe, kind, on.view ? on.view->slot : 0, peer);
    return true;
}

/* The object was made on the communicator of the call. It holds that communicator until it is freed. */
static void object_made(struct access *access, struct objects *objects, uint64_t handle)
{
    struct comm *comm = access->probe.view->comm;
    struct object stale = objects_find(objects, handle); /* of an object whose freeing was not seen */
    enum object_kind kind = objects == &book.windows ? OBJECT_WINDOW : OBJECT_FILE;
    comm_hold(comm);
    access->object = (struct object){comm, objects_count(comm, kind), kind == OBJECT_FILE};
    objects_set(objects, handle, access->object);
    unfreed_add(kind == OBJECT_WINDOW ? LEFT_WINDOW : LEFT_FILE, handle, probe_path(&access->probe), clock_now());
    if (stale.comm) {
        object_cells_close(kind, &stale);
        comm_let_go(stale.comm);
    }
}

static void object_tell(struct access *access, enum event_type_id id, enum call kind, uint64_t handle)
{
    struct probe *probe = &access->probe;
    if (probe->view && !probe_is_quiet(probe))
        raise_object(probe->log, id, probe->view->comm, access->object.number, handle, kind);
}

/* Call it after the call's event. */
static void argument_record(struct access *access, struct event event)
{
    struct probe *probe = &access->probe;
    if (!probe->view || probe_is_quiet(probe))
        return;
    event.kind = RECORD_ARGUMENT;
    event.begin = probe->begin;
    log_record(probe->log, probe->view, &event, 0);
}

/* `shape` is a constant, so the compiler drops the code of the other shapes. */
HOT void object_leave(struct access *access, enum fold_shape shape, unsigned kind, int result, int32_t peer,
                      uint64_t bytes)
{
    struct probe *probe = &access->probe;
    struct event event = {.kind = (uint16_t)kind, .peer = peer, .tag = (int32_t)access->object.number, .bytes = bytes};
    if (__builtin_expect(!probe->view, 0) && result == MPI_SUCCESS &&
        !probe_is_quiet(probe)) /* its making was not seen: a call, charged to nothing */
        run_lost(&book.run, LOSS_UNKNOWN_COMM, 1);
    probe_leave(probe, shape, 0, probe->view, result, event, 0);
}

HOT void bytes_record(struct access *access, int result, uint64_t asked, uint64_t done)
{
    if (result == MPI_SUCCESS && asked != UINT64_MAX && asked != done)
        argument_record(access, (struct event){.peer = PEER_NONE, .bytes = asked});
}

HOT void object_posted(struct access *access, enum fold_shape shape, unsigned kind, int result, int32_t peer,
                       uint64_t bytes, uint64_t asked, const MPI_Request *request)
{
    struct probe *probe = &access->probe;
    enum call call = (enum call)(kind & EVENT_KIND_MASK);
    struct event event = {.kind = (uint16_t)call, .peer = peer, .tag = (int32_t)access->object.number, .bytes = bytes};
    struct posted posted = posted_of(probe, call, shape == FOLD_RMA ? REQUEST_RMA : REQUEST_IO, &event, request);
    if (result == MPI_SUCCESS)
        request_post(probe, &posted, abi_handle_of_request(*request));
    object_leave(access, shape, kind, result, peer, bytes);
    bytes_record(access, result, asked, 0);
    posted_finish(probe->log);
    probe_finish(probe);
}

void object_free_begin(struct access *access, struct freeing *freeing, struct objects *objects, uint64_t handle)
{
    struct log *log = access->probe.log;
    enum left_kind kind = objects == &book.windows ? LEFT_WINDOW : LEFT_FILE;
    *freeing = (struct freeing){handle, log->objects.freeing, unfreed_remove(kind, handle)};
    if (!access->probe.view)
        return;
    objects_set(objects, handle, (struct object){0});
    log->objects.freeing = (struct freed_object){handle, {access->probe.view, access->object}};
}

HOT void object_freed(struct access *access, const struct freeing *freeing, enum fold_shape shape, enum call kind,
                      struct objects *objects, int result)
{
    struct probe *probe = &access->probe;
    bool window = shape == FOLD_RMA, freed = result == MPI_SUCCESS && probe->view;
    probe->log->objects.freeing = freeing->outer;
    if (result != MPI_SUCCESS && freeing->object.kind != LEFT_NONE)
        unfreed_add((enum left_kind)freeing->object.kind, freeing->handle, freeing->object.path, freeing->object.last);
    if (result != MPI_SUCCESS && probe->view)
        objects_set(objects, freeing->handle, access->object);
    if (freed)
        object_cells_close(window ? OBJECT_WINDOW : OBJECT_FILE, &access->object);
    object_leave(access, shape, kind, result, PEER_NONE, 0);
    if (freed) {
        object_tell(access, window ? WINDOW_FREED : FILE_CLOSED, kind, freeing->handle);
        comm_let_go(probe->view->comm);
    }
    probe_finish(probe);
}

void leave_win_free(struct access *access, const struct freeing *freeing, enum call kind, int result)
{
    object_freed(access, freeing, FOLD_RMA, kind, &book.windows, result);
}

void leave_file_close(struct access *access, const struct freeing *freeing, enum call kind, int result)
{
    object_freed(access, freeing, FOLD_IO, kind, &book.files, result);
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

void leave_win_create(struct access *access, enum call kind, MPI_Comm comm, int result, const MPI_Win *win)
{
    access->object = (struct object){0};
    bool made = view_settle(&access->probe, result, comm);
    if (made)
        object_made(access, &book.windows, OBJECT_HANDLE(*win));
    object_leave(access, FOLD_RMA, kind, result, PEER_NONE, 0);
    if (made)
        object_tell(access, WINDOW_CREATED, kind, OBJECT_HANDLE(*win));
    probe_finish(&access->probe);
}

void leave_win_call(struct access *access, unsigned kind, int result, int32_t peer, uint64_t bytes)
{
    object_leave(access, FOLD_RMA, kind, result, peer, bytes);
    probe_finish(&access->probe);
}
void leave_win_post(struct access *access, unsigned kind, int result, int32_t peer, uint64_t bytes,
                    const MPI_Request *request)
{
    object_posted(access, FOLD_RMA, kind, result, peer, bytes, UINT64_MAX, request);
}
void leave_win_lock(struct access *access, enum call kind, int result, int32_t target, int type)
{
    object_leave(access, FOLD_RMA, kind, result, target, 0);
    if (result == MPI_SUCCESS && type == MPI_LOCK_EXCLUSIVE)
        argument_record(access, (struct event){.peer = target, .tag = 1});
    probe_finish(&access->probe);
}

void leave_win_test(struct access *access, enum call kind, int result, const int *flag)
{
    object_leave(access, FOLD_RMA, kind, result, PEER_NONE, 0);
    if (result == MPI_SUCCESS && *flag)
        argument_record(access, (struct event){.peer = PEER_NONE});
    probe_finish(&access->probe);
}

static void members_record(struct access *access, MPI_Group group, MPI_Group all)
{
    int size = 0;
    if (native.Group_size(group, &size) != MPI_SUCCESS)
        return;
    if (size == 0) {
        argument_record(access, (struct event){.peer = PEER_PROC_NULL});
        return;
    }
    int *ranks = malloc(2 * (size_t)size * sizeof *ranks);
    for (int i = 0; ranks && i < size; i++)
        ranks[i] = i;
    if (!ranks)
        run_lost(&book.run, LOSS_NO_MEMORY, 1);
    else if (native.Group_translate_ranks(group, size, ranks, all, ranks + size) == MPI_SUCCESS)
        for (int i = 0; i < size; i++)
            argument_record(access, (struct event){.peer = ranks[size + i]});
    free(ranks);
}

/* True if the group has as many members as the communicator of the window: it has all of them. */
static bool group_is_whole(const struct view *view, MPI_Group group)
{
    int size = 0;
    return native.Group_size(group, &size) == MPI_SUCCESS && size == view->comm->size;
}

void leave_win_group(struct access *access, enum call kind, int result, MPI_Win win, MPI_Group group)
{
    struct probe *probe = &access->probe;
    MPI_Group all;
    object_leave(access, FOLD_RMA, kind, result, PEER_NONE, 0);
    if (result == MPI_SUCCESS && probe->view && !probe_is_quiet(probe)) {
        if (group_is_whole(probe->view, group)) {
            argument_record(access, (struct event){.peer = PEER_ANY});
        } else if (native.Win_get_group(win, &all) == MPI_SUCCESS) {
            members_record(access, group, all);
            native.Group_free(&all);
        }
    }
    probe_finish(probe);
}

void leave_win_name(struct probe *probe, enum call kind, MPI_Win win, const char *text, int result)
{
    struct object object = objects_find(&book.windows, OBJECT_HANDLE(win));
    if (result == MPI_SUCCESS && object.comm && object.number && text)
        objects_name(OBJECT_WINDOW, object.comm->slot, object.number, clock_now(), text);
    leave_call(probe, kind, result);
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

void leave_file_open(struct access *access, enum call kind, MPI_Comm comm, int result, const char *filename, int mode,
                     const MPI_File *file)
{
    struct probe *probe = &access->probe;
    access->object = (struct object){0};
    bool made = view_settle(probe, result, comm);
    if (made)
        object_made(access, &book.files, OBJECT_HANDLE(*file));
    object_leave(access, FOLD_IO, kind, result, PEER_NONE, 0);
    if (made) {
        argument_record(access, (struct event){.peer = PEER_NONE, .tag = access_of(mode)});
        objects_name(OBJECT_FILE, probe->view->slot, access->object.number, clock_now(), filename);
        object_tell(access, FILE_OPENED, kind, OBJECT_HANDLE(*file));
    }
    probe_finish(probe);
}

static void split_begin(struct log *log, MPI_File file, uint64_t asked)
{
    struct split_asked *splits = log->objects.splits;
    memmove(&splits[1], &splits[0], (SPLITS_KEPT - 1) * sizeof splits[0]);
    splits[0] = (struct split_asked){OBJECT_HANDLE(file), asked};
}

/* If the call failed, the library may or may not use the new view. Then the units of the view are unknown. */
void leave_file_view(struct access *access, enum call kind, int result, MPI_File file, MPI_Datatype etype)
{
    struct object object = objects_find(&book.files, OBJECT_HANDLE(file));
    uint64_t bytes = result == MPI_SUCCESS ? native_bytes(1, etype) : 0;
    object_leave(access, FOLD_IO, kind, result, PEER_NONE, 0);
    object.unit = bytes <= INT32_MAX ? (uint32_t)bytes : 0;
    if (object.comm)
        objects_set(&book.files, OBJECT_HANDLE(file), object);
    probe_finish(&access->probe);
}

/* Finds the position, in the view's units. Other processes may have moved the shared pointer already. */
static bool position_find(enum call kind, MPI_File fh, MPI_Offset offset, int whence, MPI_Offset *position)
{
    *position = offset;
    return whence == MPI_SEEK_SET || (kind == CALL_MPI_File_seek && native.File_get_position &&
                                      native.File_get_position(fh, position) == MPI_SUCCESS);
}

static void sought_record(struct access *access, enum call kind, MPI_File file, MPI_Offset offset, int whence)
{
    MPI_Offset position, arrived = 0;
    int64_t asked;
    uint32_t unit = objects_find(&book.files, OBJECT_HANDLE(file)).unit;
    int32_t from = whence == MPI_SEEK_SET   ? SEEK_FROM_START
                   : whence == MPI_SEEK_CUR ? SEEK_FROM_CURRENT
                                            : SEEK_FROM_END;
    if (!unit || __builtin_mul_overflow((int64_t)offset, (int64_t)unit, &asked) || !native.File_get_byte_offset ||
        !position_find(kind, file, offset, whence, &position) ||
        native.File_get_byte_offset(file, position, &arrived) != MPI_SUCCESS)
        return;
    argument_record(access, (struct event){.peer = PEER_NONE, .tag = from, .bytes = (uint64_t)asked});
    argument_record(access, (struct event){.peer = PEER_NONE, .tag = SEEK_ARRIVED, .bytes = (uint64_t)arrived});
}

/* While a trace is kept, the position is recorded, too. */
void leave_file_seek(struct access *access, enum call kind, int result, MPI_File file, MPI_Offset offset, int whence)
{
    struct probe *probe = &access->probe;
    object_leave(access, FOLD_IO, kind, result, PEER_NONE, 0);
    if (result == MPI_SUCCESS && probe->view && !probe_is_quiet(probe) && knob_load(KNOB_TRACE))
        sought_record(access, kind, file, offset, whence);
    probe_finish(probe);
}

/* The end of a split operation does not have the requested bytes. The thread's last begin on that file has them. */
static uint64_t bytes_most(struct log *log, uint64_t handle, uint64_t asked)
{
    for (unsigned i = 0; asked == UINT64_MAX && i < SPLITS_KEPT; i++)
        if (log->objects.splits[i].handle == handle) {
            log->objects.splits[i].handle = 0;
            return log->objects.splits[i].bytes;
        }
    return asked;
}

/* Some libraries report that a collective read has read all requested bytes, even after the end of the file. Open MPI
 * 4.1 and the ROMIO of MPICH 4.0 do, depending on who reads with whom. So the bytes in the file are counted. Where the view has holes, only
 * the begin is checked. Where it cannot be known, the library's report counts. */
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
        at -= units; /* the pointer has moved on */
    if (at < 0 || native.File_get_byte_offset(fh, at, &begin) != MPI_SUCCESS ||
        native.File_get_byte_offset(fh, at + units, &end) != MPI_SUCCESS ||
        native.File_get_size(fh, &size) != MPI_SUCCESS)
        return bytes;
    if (begin >= size)
        return 0;
    return end > size && (uint64_t)(end - begin) == bytes ? (uint64_t)(size - begin) : bytes;
}

/* Counts the bytes of a collective read for the call. The query of the size does not count. */
static void read_by_all_leave(struct access *access, enum call kind, int result, uint64_t handle, MPI_Offset at,
                              uint64_t *bytes)
{
    struct probe *probe = &access->probe;
    uint64_t duration = probe->mode ? 0 : clock_now() - probe->begin;
    *bytes = bytes_there(handle, at, *bytes);
    if (probe->mode) {
        object_leave(access, FOLD_IO, kind, result, PEER_NONE, *bytes);
        return;
    }
    struct event event = {.begin = probe->begin,
                          .kind = (uint16_t)kind,
                          .peer = PEER_NONE,
                          .tag = (int32_t)access->object.number,
                          .bytes = *bytes};
    probe_leave_rare(probe, probe->view, event, duration, 0);
}

static void leave_transfer_slowly(struct access *access, enum call kind, MPI_File file, int result, uint64_t asked,
                                  MPI_Offset at, const MPI_Status *status)
{
    struct probe *probe = &access->probe;
    uint64_t handle = OBJECT_HANDLE(file);
    uint64_t bytes = result == MPI_SUCCESS ? abi_status_bytes(status) : 0, most = bytes_most(probe->log, handle, asked);
    if (bytes > most) /* ROMIO leaves the status unchanged in some calls without data */
        bytes = most;
    bool by_all = kind == CALL_MPI_File_read_all || kind == CALL_MPI_File_read_at_all;
    if (by_all && bytes && bytes == asked && probe->view && !probe_is_quiet(probe))
        read_by_all_leave(access, kind, result, handle, at, &bytes);
    else
        object_leave(access, FOLD_IO, kind, result, PEER_NONE, bytes);
    bytes_record(access, result, asked, bytes);
    probe_finish(probe);
}

/* Acts on a name: there is neither a file nor a communicator to charge. */
void leave_file_delete(struct probe *probe, enum call kind, int result, const char *filename)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    if (result == MPI_SUCCESS && filename && !probe_is_quiet(probe)) {
        event.tag = (int32_t)objects_deleted();
        objects_name(OBJECT_DELETED, 0, (uint32_t)event.tag, clock_now(), filename);
    }
    probe_leave(probe, FOLD_CALL, 0, NULL, result, event, 0);
}

void leave_file_call(struct access *access, enum call kind, MPI_File file, int result, uint64_t asked)
{
    object_leave(access, FOLD_IO, kind, result, PEER_NONE, 0);
    bytes_record(access, result, asked, 0);
    if (asked != UINT64_MAX && result == MPI_SUCCESS)
        split_begin(access->probe.log, file, asked);
    probe_finish(&access->probe);
}
void leave_file_post(struct access *access, enum call kind, int result, uint64_t asked, const MPI_Request *request)
{
    object_posted(access, FOLD_IO, kind, result, PEER_NONE, 0, asked, request);
}
void leave_file_transfer(struct access *access, enum call kind, MPI_File file, int result, uint64_t asked,
                         MPI_Offset at, const MPI_Status *status)
{
    bool by_all = kind == CALL_MPI_File_read_all || kind == CALL_MPI_File_read_at_all;
    if (by_all || __builtin_expect(result != MPI_SUCCESS || abi_status_bytes(status) != asked, 0)) {
        leave_transfer_slowly(access, kind, file, result, asked, at, status);
        return;
    }
    object_leave(access, FOLD_IO, kind, result, PEER_NONE, asked);
    probe_finish(&access->probe);
}
