#include "samplefixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fixture: %s\n", what);
    abort();
}

void sampler_open(struct sample_writer *writer, struct run *run, uint32_t stream, uint32_t thread)
{
    char name[16] = "fixture";
    *writer = (struct sample_writer){.chunk = run_samples_open(run, stream)};
    expect(writer->chunk, "no buffer for samples");
    expect(sample_put_thread(writer, thread, 100 + (int32_t)stream, FIXTURE_PERIOD_NS, name), "no room for a thread");
}

void sampler_map(struct sample_writer *writer, uint64_t begin, uint64_t end, uint64_t bias, const char *path,
                 uint32_t build_id_bytes)
{
    struct sample_module module = {.begin = begin, .end = end, .bias = bias, .build_id_bytes = build_id_bytes};
    for (uint32_t i = 0; i < build_id_bytes; i++)
        module.build_id[i] = (uint8_t)(i + 1);
    expect(sample_put_module(writer, &module, path), "no room for a module");
}

bool sampler_take(struct sample_writer *writer, uint64_t ticks, unsigned state, unsigned call, const uint64_t *pcs,
                  unsigned frames)
{
    struct sample_taken taken = {.head = {.state = (uint8_t)state, .call = (uint16_t)call, .comm = call ? 1 : 0},
                                 .ticks = ticks,
                                 .weight = 1,
                                 .cpu_ns = FIXTURE_PERIOD_NS};
    return sample_put(writer, &taken, pcs, frames);
}
