/*
 * Shapes of calls on windows and files. Each is charged to the communicator that the object was made on; which one that
 * was, and the how manieth object on it this is, the book remembers by the object's handle (objects.h).
 *
 * Bytes of a window's operation: the data at the target that it reads or writes. Those of a file's: what the status
 * says that has been transferred.
 */
#ifndef MPIT_PROBES_SHAPES_OBJECT_H
#define MPIT_PROBES_SHAPES_OBJECT_H

#include "registry/objects.h"
#include "wrappers/shapes.h"

/* Some MPIs have integers for handles, some pointers. */
#define OBJECT_HANDLE(object) ((uint64_t)(uintptr_t)(object))

/* Enters a call on a window or file. */
static inline bool object_enter(struct probe *probe, enum call kind, const struct objects *objects, uint64_t handle,
                                int32_t peer, struct accessed *on)
{
    if (!probe_open(probe))
        return false;
    struct log *log = probe->log;
    objects_look(&log->own, objects, handle, objects == &book.windows ? &log->window : &log->file, on);
    if (__builtin_expect(!on->view, 0) && log->freeing_handle == handle)
        *on = log->freeing_object; /* a delete callback of its attributes uses it */
    probe_begin(probe, kind, on->view ? on->view->slot : 0, peer);
    return true;
}

/* Flags of an access to a window: how it combines. */
HOT unsigned op_flags(MPI_Op op)
{
    return op == native.sum       ? EVENT_OP_SUM
           : op == native.replace ? EVENT_OP_REPLACE
           : op == native.no_op   ? EVENT_OP_NO_OP
                                  : 0;
}

/* It was made on this communicator, which it holds until it is freed. */
void object_made(struct objects *objects, uint64_t handle, struct object *object, struct comm *comm);
/* Tells that the call, which has been left, made it: in front of the call itself. */
void object_announce(struct probe *probe, enum call kind, const struct objects *objects, uint64_t handle,
                     const struct accessed *on);
/* `kind`: with op_flags. */
void win_leave(struct probe *probe, unsigned kind, const struct accessed *on, int result, int32_t peer, uint64_t bytes);
/* The same for one that returned a request. `asked`: bytes to transfer, of a file; UINT64_MAX: that is not said. */
void object_posted(struct probe *probe, enum fold_shape shape, unsigned kind, const struct accessed *on, int result,
                   int32_t peer, uint64_t bytes, uint64_t asked, const MPI_Request *request);
void object_freed(struct probe *probe, enum fold_shape shape, enum call kind, struct objects *objects, uint64_t handle,
                  const struct accessed *on, int result);
/* Those that leave more behind than their event. */
void win_locked(struct probe *probe, enum call kind, const struct accessed *on, int result, int32_t target, int type);
void win_tested(struct probe *probe, enum call kind, const struct accessed *on, int result, const int *flag);
void win_grouped(struct probe *probe, enum call kind, const struct accessed *on, int result, MPI_Win win,
                 MPI_Group group);
void win_named(struct probe *probe, enum call kind, MPI_Win win, const char *text, int result);
void file_opened(struct probe *probe, enum call kind, const struct accessed *on, int result, const char *filename,
                 int mode);
/* `asked`: of a split operation that begins; UINT64_MAX of the rest. */
void file_called(struct probe *probe, enum call kind, uint64_t handle, const struct accessed *on, int result,
                 uint64_t asked);
void file_viewed(struct probe *probe, enum call kind, const struct accessed *on, int result, MPI_File fh,
                 MPI_Datatype etype);
void file_sought(struct probe *probe, enum call kind, const struct accessed *on, int result, MPI_File fh,
                 MPI_Offset offset, int whence);
/* `at`: the offset that was read or written, in units of the view; FILE_AT_POINTER: none was given. */
#define FILE_AT_POINTER ((MPI_Offset)-1)
void file_transferred(struct probe *probe, enum call kind, uint64_t handle, const struct accessed *on, int result,
                      uint64_t asked, MPI_Offset at, const MPI_Status *status);
/* Acts on a name: there is no file, and no communicator that could be charged. */
void file_deleted(struct probe *probe, enum call kind, int result, const char *filename);

#define OBJECT_CREATE(objects, kind, name, call, comm, made, leave)                                                    \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct accessed on = {0};                                                                                      \
        if (!enter(&probe, kind, comm, PEER_NONE, &on.view))                                                           \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        view_settle(&probe, result, comm, &on.view);                                                                   \
        if (result == MPI_SUCCESS && on.view)                                                                          \
            object_made(objects, OBJECT_HANDLE(*made), &on.object, on.view->comm);                                     \
        leave;                                                                                                         \
        if (result == MPI_SUCCESS)                                                                                     \
            object_announce(&probe, kind, objects, OBJECT_HANDLE(*made), &on);                                         \
        probe_finish(&probe);                                                                                          \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

/* The handle is forgotten before the library can give it to another one. */
#define OBJECT_FREE(shape, objects, kind, name, call, handle_pointer)                                                  \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct accessed on;                                                                                            \
        uint64_t handle = handle_pointer ? OBJECT_HANDLE(*handle_pointer) : 0;                                         \
        if (!object_enter(&probe, kind, objects, handle, PEER_NONE, &on))                                              \
            return NEXT(name) call;                                                                                    \
        if (on.view)                                                                                                   \
            objects_set(objects, handle, (struct object){0});                                                          \
        uint64_t outer_handle = probe.log->freeing_handle;                                                             \
        struct accessed outer_object = probe.log->freeing_object;                                                      \
        if (on.view)                                                                                                   \
            probe.log->freeing_handle = handle, probe.log->freeing_object = on;                                        \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        probe.log->freeing_handle = outer_handle;                                                                      \
        probe.log->freeing_object = outer_object;                                                                      \
        object_freed(&probe, shape, kind, objects, handle, &on, result);                                               \
        probe_finish(&probe);                                                                                          \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#define OBJECT_CALL(objects, kind, name, call, handle, peer, leave)                                                    \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct accessed on;                                                                                            \
        if (!object_enter(&probe, kind, objects, OBJECT_HANDLE(handle), peer, &on))                                    \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        leave;                                                                                                         \
        probe_finish(&probe);                                                                                          \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_WIN_CREATE(kind, name, detail, large, call, comm, win)                                                   \
    OBJECT_CREATE(&book.windows, kind, name, call, comm, win, win_leave(&probe, kind, &on, result, PEER_NONE, 0))

#define SHAPE_WIN_FREE(kind, name, detail, large, call, win) OBJECT_FREE(FOLD_RMA, &book.windows, kind, name, call, win)

#define SHAPE_WIN_CALL(kind, name, detail, large, call, win, peer, bytes, flags)                                       \
    OBJECT_CALL(&book.windows, kind, name, call, win, peer,                                                            \
                win_leave(&probe, (kind) | (flags), &on, result, peer, result == MPI_SUCCESS ? (bytes) : 0))

#define SHAPE_WIN_POST(kind, name, detail, large, call, win, peer, bytes, flags, request)                              \
    OBJECT_CALL(&book.windows, kind, name, call, win, peer,                                                            \
                object_posted(&probe, FOLD_RMA, (kind) | (flags), &on, result, peer,                                   \
                              result == MPI_SUCCESS ? (bytes) : 0, UINT64_MAX, request))

#define SHAPE_WIN_LOCK(kind, name, detail, large, call, win, peer, lock_type)                                          \
    OBJECT_CALL(&book.windows, kind, name, call, win, peer, win_locked(&probe, kind, &on, result, peer, lock_type))

#define SHAPE_WIN_TEST(kind, name, detail, large, call, win, flag)                                                     \
    OBJECT_CALL(&book.windows, kind, name, call, win, PEER_NONE, win_tested(&probe, kind, &on, result, flag))

#define SHAPE_WIN_GROUP(kind, name, detail, large, call, win, group)                                                   \
    OBJECT_CALL(&book.windows, kind, name, call, win, PEER_NONE, win_grouped(&probe, kind, &on, result, win, group))

#define SHAPE_WIN_NAME(kind, name, detail, large, call, win, text)                                                     \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        if (!probe_enter(&probe, kind, 0, PEER_NONE))                                                                  \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        win_named(&probe, kind, win, text, result);                                                                    \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_FILE_OPEN(kind, name, detail, large, call, comm, filename, mode, fh)                                     \
    OBJECT_CREATE(&book.files, kind, name, call, comm, fh, file_opened(&probe, kind, &on, result, filename, mode))

#define SHAPE_FILE_CLOSE(kind, name, detail, large, call, fh) OBJECT_FREE(FOLD_IO, &book.files, kind, name, call, fh)

#define SHAPE_FILE_CALL(kind, name, detail, large, call, fh, asked)                                                    \
    OBJECT_CALL(&book.files, kind, name, call, fh, PEER_NONE,                                                          \
                file_called(&probe, kind, OBJECT_HANDLE(fh), &on, result, result == MPI_SUCCESS ? (asked) : 0))

#define SHAPE_FILE_VIEW(kind, name, detail, large, call, fh, etype)                                                    \
    OBJECT_CALL(&book.files, kind, name, call, fh, PEER_NONE, file_viewed(&probe, kind, &on, result, fh, etype))

#define SHAPE_FILE_SEEK(kind, name, detail, large, call, fh, offset, whence)                                           \
    OBJECT_CALL(&book.files, kind, name, call, fh, PEER_NONE,                                                          \
                file_sought(&probe, kind, &on, result, fh, offset, whence))

#define SHAPE_FILE_POST(kind, name, detail, large, call, fh, asked, request)                                           \
    OBJECT_CALL(                                                                                                       \
        &book.files, kind, name, call, fh, PEER_NONE,                                                                  \
        object_posted(&probe, FOLD_IO, kind, &on, result, PEER_NONE, 0, result == MPI_SUCCESS ? (asked) : 0, request))

#define SHAPE_FILE_DELETE(kind, name, detail, large, call, filename)                                                   \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        if (!probe_enter(&probe, kind, 0, PEER_NONE))                                                                  \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        file_deleted(&probe, kind, result, filename);                                                                  \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_FILE_TRANSFER(kind, name, detail, large, call, fh, asked, at, status)                                    \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct accessed on;                                                                                            \
        MPI_Status own = {0};                                                                                          \
        if (!object_enter(&probe, kind, &book.files, OBJECT_HANDLE(fh), PEER_NONE, &on))                               \
            return NEXT(name) call;                                                                                    \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        file_transferred(&probe, kind, OBJECT_HANDLE(fh), &on, result, result == MPI_SUCCESS ? (asked) : 0, at,        \
                         status);                                                                                      \
        probe_finish(&probe);                                                                                          \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#endif
