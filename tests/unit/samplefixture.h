/* Samples in the run files that fixtures make, put there by the writer that the sampler has. */
#ifndef MPIT_UNIT_SAMPLEFIXTURE_H
#define MPIT_UNIT_SAMPLEFIXTURE_H

#include "run.h"
#include "samples.h"

enum { FIXTURE_PERIOD_NS = 1000000 };

/* A stream with its buffer, of thread `thread` (SAMPLE_NO_THREAD: of none that has called MPI). */
void sampler_open(struct sample_writer *writer, struct run *run, uint32_t stream, uint32_t thread);
/* Says what is mapped where; a build id of `build_id_bytes` bytes that count from 1. */
void sampler_map(struct sample_writer *writer, uint64_t begin, uint64_t end, uint64_t bias, const char *path,
                 uint32_t build_id_bytes);
/* A sample of weight 1, on a processor. */
bool sampler_take(struct sample_writer *writer, uint64_t ticks, unsigned state, unsigned call, const uint64_t *pcs,
                  unsigned frames);

#endif
