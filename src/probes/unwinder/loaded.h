/*
 * Images: what is loaded at an address, a program or a library. With _dl_find_object (glibc 2.35 and later) this is for
 * signal handlers, too: no lock, no memory. Without it the loader's list is searched (dl_iterate_phdr), under its lock.
 */
#ifndef MPIT_PROBES_LOADED_H
#define MPIT_PROBES_LOADED_H

#include "base/linkage.h"
#include "format/samples.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct image {
    uintptr_t begin, end; /* addresses around the one that was asked for. Without gaps: of the whole image */
    uintptr_t bias;       /* address in memory - address in its file */
    const char *path;     /* as the loader has it. "": the program */
    const void *frames;   /* the search table of its unwind tables (PT_GNU_EH_FRAME). NULL: none */
    const ElfW(Phdr) * parts;
    size_t part_count; /* 0: not known */
};

/* Returns false if nothing is loaded there. */
bool image_find(uint64_t address, struct image *image);
/* Returns the segment that contains the address, or NULL. */
const ElfW(Phdr) * image_segment(const struct image *image, uint64_t address);

struct loaded {
    uint64_t begin, end, bias; /* as in struct image */
    const uint8_t *build_id;
    uint32_t build_id_bytes;
    const char *path;            /* absolute. "": the program */
    char room[SAMPLE_PATH_MOST]; /* for `path` */
};

bool loaded_find(uint64_t address, struct loaded *loaded);

/* _dl_find_object. NULL: the C library has none. Headers and libraries of older systems have none, so it is looked up
 * when the recorder is loaded. */
struct found_object {
    unsigned long long flags;
    void *map_start, *map_end;
    struct link_map *link_map;
    void *eh_frame;
    unsigned long long reserved[7];
};
extern LIBRARY_LOCAL int (*find_object)(void *address, struct found_object *found);

#endif
