/*
 * Calls on windows and files. Each is charged to the communicator that the object was made on. The registry stores that
 * communicator by the object's handle, and the number of the object on it (registry/objects.h).
 *
 * Bytes of an operation on a window: the data at the target that it reads or writes. Bytes of an operation on a file:
 * the bytes that were transferred, by the status.
 */
#ifndef MPIT_PROBES_OBJECTS_H
#define MPIT_PROBES_OBJECTS_H

#include "registry/objectnumbers.h"
#include "registry/unfreed.h"
#include "requests/completion.h"
#include "wrappers/enter.h"
#include "wrappers/posting.h"

/* A call on a window or file. */
struct access {
    struct probe probe; /* its view: of the communicator that the object was made on */
    struct object object;
};

/* For a call on another object than the thread's last one, or a call that is not recorded as usual. */
bool enter_object_slowly(struct access *access, enum call kind, const struct objects *objects, uint64_t handle,
                         int32_t peer);

HOT bool enter_object(struct access *access, enum call kind, const struct objects *objects, struct log *log,
                      const struct accessed_last *last, uint64_t handle, int32_t peer)
{
    struct probe *probe = &access->probe;
    if (log_in_quickly(log, kind)) {
        if (__builtin_expect(last->last.handle == handle, 1) &&
            __builtin_expect(accessed_holds(objects, &last->last) && last->last.on.view, 1)) {
            probe->view = last->last.on.view;
            access->object = last->last.on.object;
            probe_begin_quickly(probe, log, kind, probe->view->slot, peer);
            return true;
        }
        log_out(log, 0);
    }
    wrapper_entered();
    return enter_object_slowly(access, kind, objects, handle, peer) && probe_deepest(probe);
}

HOT bool enter_window(struct access *access, enum call kind, uint64_t handle, int32_t peer)
{
    struct log *log = thread_log_or_none;
    return enter_object(access, kind, &book.windows, log, &log->objects.window, handle, peer);
}

HOT bool enter_file(struct access *access, enum call kind, uint64_t handle)
{
    struct log *log = thread_log_or_none;
    return enter_object(access, kind, &book.files, log, &log->objects.file, handle, PEER_NONE);
}

/* Flags of an access to a window: how it combines. */
HOT unsigned op_flags(MPI_Op op)
{
    return op == native.sum       ? EVENT_OP_SUM
           : op == native.replace ? EVENT_OP_REPLACE
           : op == native.no_op   ? EVENT_OP_NO_OP
                                  : 0;
}

/* The state of a call that frees an object: its handle, which is forgotten before the library can give it to another
 * object. Also the object that the call around this one is freeing. */
struct freeing {
    uint64_t handle;
    struct freed_object outer;
    struct unfreed object;
};

void object_free_begin(struct access *access, struct freeing *freeing, struct objects *objects, uint64_t handle);

/* ---- windows ----------------------------------------------------------------------------------------------------- */

void leave_win_create(struct access *access, enum call kind, MPI_Comm comm, int result, const MPI_Win *win);
void leave_win_free(struct access *access, const struct freeing *freeing, enum call kind, int result);
void leave_win_test(struct access *access, enum call kind, int result, const int *flag);
void leave_win_group(struct access *access, enum call kind, int result, MPI_Win win, MPI_Group group);
void leave_win_name(struct probe *probe, enum call kind, MPI_Win win, const char *text, int result);

/* `kind`: with op_flags. */
void leave_win_call(struct access *access, unsigned kind, int result, int32_t peer, uint64_t bytes);

void leave_win_post(struct access *access, unsigned kind, int result, int32_t peer, uint64_t bytes,
                    const MPI_Request *request);

void leave_win_lock(struct access *access, enum call kind, int result, int32_t target, int type);

/* ---- files ------------------------------------------------------------------------------------------------------- */

void leave_file_open(struct access *access, enum call kind, MPI_Comm comm, int result, const char *filename, int mode,
                     const MPI_File *file);
void leave_file_close(struct access *access, const struct freeing *freeing, enum call kind, int result);
void leave_file_view(struct access *access, enum call kind, int result, MPI_File file, MPI_Datatype etype);
void leave_file_seek(struct access *access, enum call kind, int result, MPI_File file, MPI_Offset offset, int whence);
void leave_file_delete(struct probe *probe, enum call kind, int result, const char *filename);

/* `asked`: bytes of a split operation that begins. UINT64_MAX: the call does not begin one. */
void leave_file_call(struct access *access, enum call kind, MPI_File file, int result, uint64_t asked);

void leave_file_post(struct access *access, enum call kind, int result, uint64_t asked, const MPI_Request *request);

/* `at`: the offset that was read or written, in units of the view. FILE_AT_POINTER: the call has no offset. */
#define FILE_AT_POINTER ((MPI_Offset)-1)
/* A call that has transferred all requested bytes needs no record. The result of a collective read must be checked. */
void leave_file_transfer(struct access *access, enum call kind, MPI_File file, int result, uint64_t asked,
                         MPI_Offset at, const MPI_Status *status);

#endif
