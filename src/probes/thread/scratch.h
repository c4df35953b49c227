/* Memory of a thread that each call may use anew, for the arrays of completion calls. */
#ifndef MPIT_PROBES_SCRATCH_H
#define MPIT_PROBES_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

struct scratch {
    void *memory;
    size_t bytes;
    uint32_t lent; /* calls that are not recorded, whose arrays are here (completion.c) */
};

/* Returns memory for `bytes` that is valid until the next call or the trim, or NULL without memory. It is as large as
 * the program's own arrays, and mpit_buffer_limit_bytes does not bound it. */
void *scratch_get(struct scratch *scratch, size_t bytes);
enum { SCRATCH_KEPT = 1 << 20 };
void scratch_release(struct scratch *scratch);
/* Frees large scratch memory. Called at the end of a call. */
static inline void scratch_trim(struct scratch *scratch)
{
    if (__builtin_expect(scratch->bytes > SCRATCH_KEPT, 0))
        scratch_release(scratch);
}

#endif
