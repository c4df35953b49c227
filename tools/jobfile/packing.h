/*
 * Packs the run of a process into chunks (format/packedrun.h).
 */
#ifndef MPIT_TOOLS_PACKING_H
#define MPIT_TOOLS_PACKING_H

#include "jobfile/jobwriter.h"

/* No chunk that is packed alone is longer. */
enum { PACKING_CHUNK_MOST = 16 << 20 };

/* NULL: no memory. */
struct packing *packing_make(void);
void packing_free(struct packing *packing);

/* Appends the payload of the section, and counts its chunks. Drained chunks are copied as they are. drained: may be NULL.
 * Returns 0, or -1 with errno. */
int packing_put(struct packing *packing, struct job_writer *writer, const struct run_reader *run,
                const struct drained *drained, uint32_t *chunks);

/* Appends single chunks of a live file: packing_begin, packing_chunk for each, packing_end. A chunk has events or samples, and
 * stands at `place`. Return as above. */
void packing_begin(struct packing *packing, struct job_writer *writer);
int packing_chunk(struct packing *packing, const struct chunk_header *chunk, uint64_t place);
int packing_end(struct packing *packing);

#endif
