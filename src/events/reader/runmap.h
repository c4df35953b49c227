/*
 * The maps of run files, and how many files are mapped at once.
 *
 *   base ──> the file, mapped                  awake: it can be read
 *        ├─> nothing, but the place is kept    asleep: neighboring places are one map of the system
 *        └─> NULL                              parked
 *
 *   resting[] ──> maps that may be taken away, the oldest first; a map in this list knows its place
 *
 * A map comes back to its old address, so that pointers into the file need no change. The image of a packed run goes and
 * comes with the map of its section.
 *
 * A file may get shorter while it is mapped (somebody truncates it, its server has lost it). A read past its end then
 * raises SIGBUS. A tool that watches files for long asks for a guard. With it a page of zeros is there, and the map is
 * known to be torn.
 */
#ifndef MPIT_EVENTS_RUNMAP_H
#define MPIT_EVENTS_RUNMAP_H

#include "reader/reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct run_map {
    char *base; /* the first byte of the extent */
    size_t bytes;
    size_t lead;              /* bytes that are mapped before it: a map begins at a page */
    struct run_extent extent; /* with the device and the inode of the file */
    uid_t owner;
    size_t place;   /* in resting[], + 1. 0: not in it */
    unsigned holds; /* how often it is held */
    bool awake;
    void *image; /* of a packed run (packedrun.h), or NULL */
    size_t image_bytes;
    int fd;                       /* for run_map_read. -1: not open */
    volatile bool torn;           /* written by the guard */
    struct run_map *next, **link; /* all maps, for the guard */
    char path[];
};

/* Returns NULL with a reason in error, which has 512 bytes. */
struct run_map *run_map_open(const char *path, struct run_extent extent, char error[512]);
/* The map has an image from now on. It loses its contents when the map goes. */
void run_map_image(struct run_map *map, void *image, size_t bytes);
/* Takes the map away, and its place. */
void run_map_park(struct run_map *map);
/* NULL may be closed. */
void run_map_close(struct run_map *map);
void run_map_rest(struct run_map *map);
/* Takes the map of a file away at once. */
void run_map_sleep(struct run_map *map);
/* *came: the map was away, and an image is empty. */
int run_map_wake(struct run_map *map, bool *came, char error[128]);
/* Reads the bytes at `at` in the map. That is faster than touching many of its pages for the first time. Called from
 * one thread, for a file that is held. The file opened here is closed when the file is put to rest. Returns false if
 * the caller must read in the map. */
bool run_map_read(struct run_map *map, const void *at, void *to, size_t bytes);
/* Installs the guard. The process must read run files in one thread. */
void run_map_guard(void);
/* held: adds a hold. Else drops one. */
void run_map_hold(struct run_map *map, bool held);

#endif
