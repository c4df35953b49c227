/*
 * Packs the run of a process into a section (format/packedrun.h).
 */
#ifndef MPIT_TOOLS_PACKING_H
#define MPIT_TOOLS_PACKING_H

#include "jobfile/jobwriter.h"

/* NULL: no memory. */
struct packing *packing_make(void);
void packing_free(struct packing *packing);

/* Appends the payload of the section, and counts its chunks. Returns 0, or -1 with errno. */
int packing_put(struct packing *packing, struct job_writer *writer, const struct run_reader *run, uint32_t *chunks);

#endif
