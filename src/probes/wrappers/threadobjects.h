/* What a thread keeps of windows and files, in its log. */
#ifndef MPIT_PROBES_THREADOBJECTS_H
#define MPIT_PROBES_THREADOBJECTS_H

#include "registry/objectnumbers.h"

/* The bytes that a split operation on a file was asked to transfer. */
enum { SPLITS_KEPT = 4 };
struct split_asked {
    uint64_t handle, bytes;
};

/* The window or file that a call is freeing, as it was before the registry forgot it. Callbacks may still use it. */
struct freed_object {
    uint64_t handle;
    struct accessed object;
};

struct thread_objects {
    struct accessed_last window, file; /* of the thread's last call on one */
    struct freed_object freeing;
    struct split_asked splits[SPLITS_KEPT]; /* the thread's last split operations that have not ended */
};

#endif
