/* The object (program or library) that is loaded at an address. Async-signal-safe: no lock, no memory. */
#ifndef MPIT_PROBES_LOADED_H
#define MPIT_PROBES_LOADED_H

#include "format/samples.h"

#include <stdbool.h>
#include <stdint.h>

struct loaded {
    uint64_t begin, end; /* addresses */
    uint64_t bias;       /* address in memory - address in its file */
    const uint8_t *build_id;
    uint32_t build_id_bytes;
    const char *path;            /* absolute. "": the program */
    char room[SAMPLE_PATH_MOST]; /* for `path` */
};

/* Returns false if nothing is loaded there, or if this C library cannot tell. */
bool loaded_find(uint64_t address, struct loaded *loaded);

#endif
