#include "format/pythonplace.h"
#include "monitor/changes.h"
#include "monitor/difference.h"
#include "registry/paths.h"

#include <stdlib.h>

/* The growth of a path between two snapshots. */
struct growth {
    uint32_t number;
    struct path_snapshot before, after;
};

static uint64_t growth_time(const struct growth *growth)
{
    return growth->after.time - growth->before.time;
}

/* Returns whether the first one comes before the other: more time, then more calls, then an older path. */
static bool growth_is_first(const struct growth *one, const struct growth *other)
{
    uint64_t a = growth_time(one), b = growth_time(other);
    uint64_t calls_a = one->after.calls - one->before.calls, calls_b = other->after.calls - other->before.calls;
    return a != b ? a > b : calls_a != calls_b ? calls_a > calls_b : one->number < other->number;
}

/* Finds the paths with the most time. Returns how many. */
static size_t costliest_find(struct growth list[MPIX_MONITOR_CALLSITES_MOST], const struct snapshot *begin,
                             const struct snapshot *end, unsigned most)
{
    size_t count = 0;
    for (uint32_t number = 1; number < end->path_count; number++) {
        struct growth growth = {.number = number, .after = end->paths[number]};
        if (number < begin->path_count)
            growth.before = begin->paths[number];
        if (growth.after.calls == growth.before.calls)
            continue;
        size_t at = count < most ? count++ : most;
        if (at == most && !growth_is_first(&growth, &list[--at]))
            continue;
        for (; at > 0 && growth_is_first(&growth, &list[at - 1]); at--)
            list[at] = list[at - 1];
        list[at] = growth;
    }
    return count;
}

static void site_fill(MPIX_Monitor_site *site, uint64_t frames[PATH_FRAMES_MOST], const struct growth *growth,
                      const struct path_found *path)
{
    const struct path_snapshot *before = &growth->before, *after = &growth->after;
    const struct path_record *record = path->record;
    unsigned kind = record ? record->kind : CALL_NONE;
    *site = (MPIX_Monitor_site){
        .bytes = sizeof *site,
        .function = kind != CALL_NONE && kind < CALL_COUNT ? call_table[kind].name : "",
        .frames = frames,
        .module = path->module ? python_place_file(path->module->path) : "",
        .count = after->calls - before->calls,
        .time_ns = change_time(before->time, after->time),
        .stall_time_ns =
            book.run.header->stall_known ? change_time(before->stall_time, after->stall_time) : MPIX_MONITOR_UNKNOWN,
        .sent = after->sent - before->sent,
        .sent_bytes = after->bytes_out - before->bytes_out,
        .received = after->received - before->received,
        .received_bytes = after->bytes_in - before->bytes_in,
    };
    for (uint32_t i = 0; record && i < record->frames && i < PATH_FRAMES_MOST; i++)
        frames[site->frame_count++] = path_frame_address(record->frame[i]);
    if (site->frame_count && !(path->module && is_python_place(path->module->path)))
        site->offset = record->frame[0] & PATH_OFFSET_MASK;
}

void difference_sites(struct difference *difference, const struct snapshot *begin, const struct snapshot *end,
                      unsigned most)
{
    MPIX_Monitor_interval *interval = &difference->interval;
    struct growth list[MPIX_MONITOR_CALLSITES_MOST];
    struct path_found found[MPIX_MONITOR_CALLSITES_MOST];
    if (!most)
        return;
    if (!difference->sites)
        difference->sites = calloc(MPIX_MONITOR_CALLSITES_MOST, sizeof *difference->sites);
    if (!difference->frames)
        difference->frames = calloc(MPIX_MONITOR_CALLSITES_MOST, sizeof *difference->frames);
    if (!difference->sites || !difference->frames) {
        difference->whole = false;
        return;
    }
    size_t count =
        costliest_find(list, begin, end, most < MPIX_MONITOR_CALLSITES_MOST ? most : MPIX_MONITOR_CALLSITES_MOST);
    for (size_t i = 0; i < count; i++)
        found[i] = (struct path_found){.number = list[i].number};
    paths_find(found, count);
    for (size_t i = 0; i < count; i++)
        site_fill(&difference->sites[i], difference->frames[i], &list[i], &found[i]);
    interval->sites = difference->sites;
    interval->site_count = (uint32_t)count;
    interval->site_bytes = sizeof *difference->sites;
}
