#include "job/timeline.h"

#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_CLOCK = UINT32_MAX };

static bool clock_is_shared(const struct run_header *one, const struct run_header *other)
{
    if (one->clock_kind != other->clock_kind || strcmp(one->boot, other->boot) != 0)
        return false;
    return one->boot[0] || strcmp(one->host, other->host) == 0; /* a kernel that did not give its name */
}

/* Neighbors in the list are neighbors in the job, usually on one node. */
static uint32_t clock_find(struct timeline *line, const struct run_header *header, uint32_t last)
{
    if (last != NO_CLOCK && clock_is_shared(line->clocks[last].header, header))
        return last;
    size_t i = 0;
    while (i < line->clock_count && !clock_is_shared(line->clocks[i].header, header))
        i++;
    if (i == line->clock_count)
        line->clocks[line->clock_count++].header = header;
    return (uint32_t)i;
}

static void clock_refer(struct timeline *line, const struct run_reader *file, uint32_t number)
{
    struct timeline_clock *clock = &line->clocks[number];
    const struct run_header *header = &file->header;
    if (clock->header == header || header->begin_ticks < clock->header->begin_ticks) {
        struct clock_map before = clock->map;
        clock->header = header;
        clock_map_open(&clock->map, run_reader_scale(file), header->begin_ticks, header->begin_realtime_ns);
        if (before.measured)
            clock_map_set(&clock->map, before.knots, before.count);
    }
}

/* Processes of one kernel have the same measurements. A process that was killed earlier has fewer. */
static void clock_measured(struct timeline *line, size_t *known)
{
    struct clock_sync list[CLOCK_SYNCS_MOST];
    for (size_t i = 0; i < line->count; i++) {
        if (line->file_clock[i] == NO_CLOCK)
            continue;
        char reason[128];
        if (!line->files[i].header.clock_syncs || run_reader_wake(&line->files[i], reason) != 0)
            continue; /* the reader of its events reports this */
        size_t count = run_reader_clock_syncs(&line->files[i], list), *best = &known[line->file_clock[i]];
        run_reader_rest(&line->files[i]);
        if (count > *best) {
            *best = count;
            clock_map_set(&line->clocks[line->file_clock[i]].map, list, count);
        }
    }
}

void timeline_origin(struct timeline *line)
{
    line->origin_ns = UINT64_MAX;
    for (size_t i = 0; i < line->clock_count; i++) {
        const struct timeline_clock *clock = &line->clocks[i];
        uint64_t begin = clock_map_ns(&clock->map, clock->header->begin_ticks);
        uint64_t local = clock_map_local_ns(&clock->map, clock->header->begin_ticks);
        if (begin < line->origin_ns)
            line->origin_ns = begin;
        if (local < line->origin_ns)
            line->origin_ns = local;
    }
}

int timeline_open(struct timeline *line, const struct run_reader *files, size_t count, bool all)
{
    uint32_t last = NO_CLOCK;
    *line = (struct timeline){.files = files, .count = count};
    line->file_clock = calloc(count + 1, sizeof *line->file_clock);
    line->clocks = calloc(count + 1, sizeof *line->clocks);
    size_t *known = calloc(count + 1, sizeof *known);
    if (!line->file_clock || !line->clocks || !known) {
        free(known);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        bool counts = all || files[i].header.world_rank >= 0;
        line->file_clock[i] = counts ? clock_find(line, &files[i].header, last) : NO_CLOCK;
        if (counts)
            clock_refer(line, &files[i], last = line->file_clock[i]);
    }
    clock_measured(line, known);
    timeline_origin(line);
    free(known);
    return 0;
}

void timeline_release(struct timeline *line)
{
    free(line->file_clock);
    free(line->clocks);
    *line = (struct timeline){0};
}

const struct clock_map *timeline_map(const struct timeline *line, const struct run_reader *file)
{
    return &line->clocks[line->file_clock[file - line->files]].map;
}

int64_t timeline_ns(const struct timeline *line, const struct run_reader *file, uint64_t ticks)
{
    return (int64_t)(clock_map_ns(timeline_map(line, file), ticks) - line->origin_ns);
}

/* Returns the offset at a local time. The ticks of a clock cannot be less than 0. */
static struct timeline_offset offset_at(const struct timeline *line, const struct clock_map *map, uint64_t local_ns)
{
    uint64_t ns = line->origin_ns + local_ns, ticks;
    uint64_t off = clock_ticks(map->scale, ns > map->begin_ns ? ns - map->begin_ns : map->begin_ns - ns);
    if (ns > map->begin_ns)
        ticks = map->begin_ticks + off >= off ? map->begin_ticks + off : UINT64_MAX;
    else
        ticks = map->begin_ticks > off ? map->begin_ticks - off : 0;
    int64_t offset = (int64_t)(clock_map_ns(map, ticks) - clock_map_local_ns(map, ticks));
    return (struct timeline_offset){local_ns, offset, map->error_ns};
}

size_t timeline_offsets(const struct timeline *line, const struct run_reader *file, uint64_t end_ns,
                        struct timeline_offset list[TIMELINE_OFFSETS_MOST])
{
    size_t count = 0;
    if (!file || line->file_clock[file - line->files] == NO_CLOCK) {
        list[0] = (struct timeline_offset){0};
        list[1] = (struct timeline_offset){.local_ns = end_ns};
        return 2;
    }
    const struct clock_map *map = &line->clocks[line->file_clock[file - line->files]].map;
    list[count++] = offset_at(line, map, 0);
    for (size_t i = 0; i < map->count; i++) {
        const struct clock_sync *knot = &map->knots[i];
        uint64_t local = clock_map_local_ns(map, knot->ticks);
        if (local <= line->origin_ns || local - line->origin_ns <= list[count - 1].local_ns ||
            local - line->origin_ns >= end_ns)
            continue;
        list[count++] =
            (struct timeline_offset){local - line->origin_ns, (int64_t)(knot->reference_ns - local), knot->error_ns};
    }
    list[count++] = offset_at(line, map, end_ns);
    return count;
}

/* Finds how the processes measured, and why some could not. */
static void ways_find(const struct timeline *line, struct timeline_quality *quality)
{
    int32_t lowest = INT32_MAX;
    for (size_t i = 0; i < line->count; i++) {
        const struct run_header *header = &line->files[i].header;
        if (line->file_clock[i] == NO_CLOCK)
            continue;
        if (header->clock_way)
            quality->way = (enum clock_way)header->clock_way;
        if (header->clock_trouble && header->world_rank < lowest) {
            lowest = header->world_rank;
            quality->trouble = (enum clock_trouble)header->clock_trouble;
        }
    }
}

const char *timeline_way(const struct timeline_quality *quality)
{
    return quality->way == CLOCK_WAY_TCP ? "tcp" : "none";
}

const char *timeline_trouble(const struct timeline_quality *quality)
{
    static const char *const texts[] = {
#define TROUBLE_TEXT(id, text) [CLOCK_TROUBLE_##id] = text,
        CLOCK_TROUBLES(TROUBLE_TEXT)
#undef TROUBLE_TEXT
    };
    return quality->trouble < CLOCK_TROUBLE_COUNT ? texts[quality->trouble] : "";
}

struct timeline_quality timeline_quality(const struct timeline *line)
{
    struct timeline_quality quality = {.nodes = line->clock_count};
    ways_find(line, &quality);
    for (size_t i = 0; i < line->clock_count; i++) {
        const struct clock_map *map = &line->clocks[i].map;
        if (!map->measured)
            continue;
        if (!quality.measured++ || map->measured < quality.least)
            quality.least = map->measured;
        if (map->measured > quality.most)
            quality.most = map->measured;
        if (map->moved_ns > quality.moved_ns)
            quality.moved_ns = map->moved_ns;
        if (map->error_ns > quality.error_ns)
            quality.error_ns = map->error_ns;
        if (fabs(map->drift) > fabs(quality.drift))
            quality.drift = map->drift;
    }
    return quality;
}

/* Nothing was measured. */
static void unmeasured_text(const struct timeline *line, const struct timeline_quality *q, FILE *out)
{
    char moved[UNIT_TEXT_BYTES];
    uint64_t most = 0;
    for (size_t i = 0; i < line->clock_count; i++)
        most = line->clocks[i].map.moved_ns > most ? line->clocks[i].map.moved_ns : most;
    fprintf(out, "clocks of %zu nodes: not measured, so wall clocks are used", q->nodes);
    if (most)
        fprintf(out, ", corrected by %s, because messages were early", text_of_ns(moved, most));
}

static void measured_text(const struct timeline_quality *q, FILE *out)
{
    char error[UNIT_TEXT_BYTES];
    fprintf(out, "clocks of %zu nodes: within %s of the first one's when measured%s, ", q->nodes,
            text_of_ns(error, q->error_ns), q->way == CLOCK_WAY_TCP ? " over TCP" : "");
    if (q->most < 2)
        fputs("once: drift unknown", out);
    else
        fprintf(out, "%zu times: drift up to %.1f ppm", q->least, fabs(q->drift) * 1e6);
    if (q->measured < q->nodes)
        fprintf(out, "; %zu of them not measured", q->nodes - q->measured);
    if (q->moved_ns)
        fprintf(out, "; corrected by %s, because messages were early", text_of_ns(error, q->moved_ns));
}

const char *timeline_text(const struct timeline *line, char text[TIMELINE_TEXT_BYTES])
{
    struct timeline_quality q = timeline_quality(line);
    text[0] = '\0';
    FILE *out = q.nodes < 2 ? NULL : fmemopen(text, TIMELINE_TEXT_BYTES, "w");
    if (!out)
        return text;
    if (q.measured)
        measured_text(&q, out);
    else
        unmeasured_text(line, &q, out);
    if (q.trouble)
        fprintf(out, "; %s", timeline_trouble(&q));
    fclose(out);
    text[TIMELINE_TEXT_BYTES - 1] = '\0';
    return text;
}

void timeline_print(const struct run_reader *files, size_t count, FILE *out)
{
    struct timeline line;
    char text[TIMELINE_TEXT_BYTES];
    if (count && timeline_open(&line, files, count, false) == 0 && timeline_text(&line, text)[0])
        fprintf(out, "%s\n", text);
    if (count)
        timeline_release(&line);
}
