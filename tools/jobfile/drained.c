#include "jobfile/drained.h"

#include "base/array.h"
#include "jobfile/packing.h"
#include "reader/runmap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

/* Blocks have checksums, and a damaged one costs only itself. A damaged piece of the image would cost the whole process. Without
 * memory nothing is checked. */
static bool piece_is_whole(const struct chunk_header *chunk)
{
    uint64_t bytes = chunk->reserved[1];
    void *plain = bytes <= PACKING_CHUNK_MOST ? malloc(bytes + 1) : NULL;
    bool whole =
        plain ? ZSTD_decompress(plain, bytes, chunk + 1, chunk->packed_bytes) == bytes : bytes <= PACKING_CHUNK_MOST;
    free(plain);
    return whole;
}

/* Notes the sound chunks, and counts the gaps between them. Returns false without memory. */
static bool chunks_note(struct drained *drained, uint64_t end)
{
    const struct run_map *map = drained->map;
    bool sound = true;
    for (uint64_t at = sizeof(struct job_header), step; at < end; at += step) {
        const struct chunk_header *chunk = (const void *)(map->base + at);
        const uint64_t room = at < map->bytes ? map->bytes - at : 0;
        const bool was_sound = sound;
        sound = packed_chunk_is_sound(chunk, room);
        step = sound ? chunk->bytes : room ? SECTION_ALIGN : end - at;
        sound = sound && (chunk->kind == CHUNK_COLUMNS || piece_is_whole(chunk));
        drained->lost += was_sound && !sound;
        if (!sound)
            continue;
        if (!ARRAY_GROWN(drained->list, drained->count))
            return false;
        drained->list[drained->count++] = (struct drained_chunk){*chunk, chunk};
    }
    return true;
}

static uint64_t place_in_order(const struct chunk_header *chunk)
{
    return chunk->kind == CHUNK_IMAGE ? chunk->reserved[0] : chunk->first_event;
}

static int drained_order(const void *one, const void *other)
{
    const struct chunk_header *a = &((const struct drained_chunk *)one)->head;
    const struct chunk_header *b = &((const struct drained_chunk *)other)->head;
    if (a->kind != b->kind)
        return a->kind == CHUNK_IMAGE ? -1 : 1;
    return ORDER(a->thread, b->thread) ?: ORDER(place_in_order(a), place_in_order(b));
}

void drained_path(const char *output, const char *name, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%.3800s/%.255s.part", output, name);
}

int drained_open(struct drained *drained, const char *path, uint64_t end)
{
    char error[512];
    *drained = (struct drained){.map = NULL};
    errno = 0;
    drained->map = run_map_open(path, (struct run_extent){0}, error);
    if (!drained->map) { /* is it empty, or gone? */
        drained->lost = 1;
        return errno == 0 || errno == ENOENT ? 0 : -1;
    }
    if (end < sizeof(struct job_header))
        drained->lost = 1;
    if (!chunks_note(drained, end)) {
        drained_close(drained);
        errno = ENOMEM;
        return -1;
    }
    if (drained->count > 1)
        qsort(drained->list, drained->count, sizeof *drained->list, drained_order);
    return 0;
}

void drained_close(struct drained *drained)
{
    run_map_close(drained->map);
    free(drained->list);
    *drained = (struct drained){.map = NULL};
}
