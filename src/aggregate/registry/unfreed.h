/*
 * What the program has made and not freed: communicators, windows, files, datatypes, groups and persistent requests,
 * each with the path of the call that made it. Other requests have a table of their own (src/probes/requests/request.h).
 *
 * A call that frees an object removes it before it calls MPI, because another thread may get the same handle at once.
 * Libraries count references to groups, so several objects may have one handle. Those of one path share an entry. An
 * object of the latest entry is removed first.
 *
 * Any thread that is in the recorder may call it. While threads run at once a spin lock guards the table, for a few
 * instructions. Memory: 3 MiB, as far as it is used.
 */
#ifndef MPIT_AGGREGATE_UNFREED_H
#define MPIT_AGGREGATE_UNFREED_H

#include "format/runfile.h"

struct unfreed {
    uint64_t handle;
    uint64_t first, last; /* ticks when the first and the last of `count` were made */
    uint32_t kind;        /* enum left_kind. LEFT_NONE: there was none */
    uint32_t path;        /* number of the call path. 0: not known */
    uint64_t count;
};

void unfreed_add(enum left_kind kind, uint64_t handle, uint32_t path, uint64_t ticks);
/* Removes an object of this handle, and returns it. Where there were too many handles: one of those without an entry.
 * If MPI then refuses to free it, add it again with `last`. */
struct unfreed unfreed_remove(enum left_kind kind, uint64_t handle);
/* Calls `found` for each entry of the table. It must not add or remove any. */
void unfreed_visit(void (*found)(const struct unfreed *object, void *data), void *data);

#endif
