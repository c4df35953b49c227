/*
 * The drained part of a live file (collect/drain.h). It waits beside the job file, and becomes a part of its process's section.
 *
 *   NAME.mpit.part   job_header | chunk | chunk | ...        chunks of a packed run (format/packedrun.h), in any order
 *
 * room.drained_end of the live file says where the last chunk ends. A chunk may be there twice, if a drain was killed.
 */
#ifndef MPIT_TOOLS_DRAINED_H
#define MPIT_TOOLS_DRAINED_H

#include "base/linkage.h"
#include "format/packedrun.h"

#include <limits.h>

struct drained_chunk {
    struct chunk_header head; /* a copy */
    const struct chunk_header *at;
};

struct drained {
    struct run_map *map;        /* NULL: it is gone */
    struct drained_chunk *list; /* pieces of the image by place, then blocks by thread and number */
    size_t count;
    uint64_t lost; /* how many parts of it are damaged, or gone */
};

/* The path of the drained part of a live file with this name, in an output directory. */
void drained_path(const char *output, const char *name, char path[PATH_MAX]);
/* Returns 0, also if it is gone, or -1 with errno: it may be there. Close it after 0. */
MUST_CHECK int drained_open(struct drained *drained, const char *path, uint64_t end);
void drained_close(struct drained *drained);

#endif
