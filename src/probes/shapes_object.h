/*
 * Shapes of calls on windows and files. Each is charged to the communicator that the object was made on; which one that
 * was, the book remembers by the object's handle.
 *
 * Bytes of a window's operation: the data at the target that it reads or writes. Those of a file's: what the status
 * says that has been transferred.
 */
#ifndef MPIT_PROBES_SHAPES_OBJECT_H
#define MPIT_PROBES_SHAPES_OBJECT_H

#include "shapes.h"

/* Some MPIs have integers for handles, some pointers. */
#define OBJECT_HANDLE(object) ((uint64_t)(uintptr_t)(object))

/* Enters a call on a window or file; *view stays NULL when it was made out of sight. */
static inline bool object_enter(struct probe *probe, enum call kind, struct comm_map *const *objects, uint64_t handle,
                                int32_t peer, struct view **view)
{
    struct log *log = log_get();
    probe->log = log;
    if (log == NULL)
        return false;
    struct comm *comm = book_object_find(objects, handle);
    *view = comm ? view_of(&log->own, comm) : NULL;
    probe_begin(probe, log, kind, *view ? (*view)->slot : 0, peer);
    return true;
}

/* It was made on this communicator, which it holds until it is freed. */
void object_made(struct comm_map **objects, uint64_t handle, struct comm *comm);
void object_leave(struct probe *probe, enum fold_shape shape, enum call kind, struct view *view, int result,
                  int32_t peer, uint64_t bytes);
/* The same for one that returned a request. */
void object_posted(struct probe *probe, enum fold_shape shape, enum call kind, struct view *view, int result,
                   int32_t peer, uint64_t bytes, const MPI_Request *request);
void object_freed(struct probe *probe, enum fold_shape shape, enum call kind, struct comm_map **objects,
                  uint64_t handle, struct view *view, int result);

#define OBJECT_CREATE(shape, objects, kind, name, call, comm, object)                                                  \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, PEER_NONE, &view))                                                              \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        view_settle(&probe, result, comm, &view);                                                                      \
        if (result == MPI_SUCCESS && view)                                                                             \
            object_made(objects, OBJECT_HANDLE(*object), view->comm);                                                  \
        object_leave(&probe, shape, kind, view, result, PEER_NONE, 0);                                                 \
        return result;                                                                                                 \
    } while (0)

/* The handle is forgotten before the library can give it to another one. */
#define OBJECT_FREE(shape, objects, kind, name, call, object)                                                          \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        uint64_t handle = object ? OBJECT_HANDLE(*object) : 0;                                                         \
        if (!object_enter(&probe, kind, objects, handle, PEER_NONE, &view))                                            \
            return NEXT(name) call;                                                                                    \
        if (view)                                                                                                      \
            book_object_set(objects, handle, NULL);                                                                    \
        int result = (*next.name)call;                                                                                 \
        object_freed(&probe, shape, kind, objects, handle, view, result);                                              \
        return result;                                                                                                 \
    } while (0)

#define OBJECT_CALL(shape, objects, kind, name, call, object, peer, bytes)                                             \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!object_enter(&probe, kind, objects, OBJECT_HANDLE(object), peer, &view))                                  \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        object_leave(&probe, shape, kind, view, result, peer, result == MPI_SUCCESS ? (bytes) : 0);                    \
        return result;                                                                                                 \
    } while (0)

#define OBJECT_POST(shape, objects, kind, name, call, object, peer, bytes, request)                                    \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!object_enter(&probe, kind, objects, OBJECT_HANDLE(object), peer, &view))                                  \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        object_posted(&probe, shape, kind, view, result, peer, result == MPI_SUCCESS ? (bytes) : 0, request);          \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_WIN_CREATE(kind, name, detail, large, call, comm, win)                                                   \
    OBJECT_CREATE(FOLD_RMA, &book.windows, kind, name, call, comm, win)
#define SHAPE_WIN_FREE(kind, name, detail, large, call, win) OBJECT_FREE(FOLD_RMA, &book.windows, kind, name, call, win)
#define SHAPE_WIN_CALL(kind, name, detail, large, call, win, peer, bytes)                                              \
    OBJECT_CALL(FOLD_RMA, &book.windows, kind, name, call, win, peer, bytes)
#define SHAPE_WIN_POST(kind, name, detail, large, call, win, peer, bytes, request)                                     \
    OBJECT_POST(FOLD_RMA, &book.windows, kind, name, call, win, peer, bytes, request)

#define SHAPE_FILE_OPEN(kind, name, detail, large, call, comm, fh)                                                     \
    OBJECT_CREATE(FOLD_IO, &book.files, kind, name, call, comm, fh)
#define SHAPE_FILE_CLOSE(kind, name, detail, large, call, fh) OBJECT_FREE(FOLD_IO, &book.files, kind, name, call, fh)
#define SHAPE_FILE_CALL(kind, name, detail, large, call, fh)                                                           \
    OBJECT_CALL(FOLD_IO, &book.files, kind, name, call, fh, PEER_NONE, 0)
#define SHAPE_FILE_POST(kind, name, detail, large, call, fh, request)                                                  \
    OBJECT_POST(FOLD_IO, &book.files, kind, name, call, fh, PEER_NONE, 0, request)

/* Acts on a name: there is no file, and no communicator that could be charged. */
static inline void file_deleted(struct probe *probe, enum call kind, int result)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    probe_leave(probe, FOLD_CALL, 0, NULL, result, event, 0);
}

#define SHAPE_FILE_DELETE(kind, name, detail, large, call)                                                             \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        if (!probe_enter(&probe, kind, 0, PEER_NONE))                                                                  \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        file_deleted(&probe, kind, result);                                                                            \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_FILE_TRANSFER(kind, name, detail, large, call, fh, status)                                               \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        MPI_Status own;                                                                                                \
        if (!object_enter(&probe, kind, &book.files, OBJECT_HANDLE(fh), PEER_NONE, &view))                             \
            return NEXT(name) call;                                                                                    \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        int result = (*next.name)call;                                                                                 \
        object_leave(&probe, FOLD_IO, kind, view, result, PEER_NONE,                                                   \
                     result == MPI_SUCCESS ? abi_status_bytes(status) : 0);                                            \
        return result;                                                                                                 \
    } while (0)

#endif
