/*
 * The profile from samples, with a flame graph.
 *
 *   tree of paths (profile.h) ──> functions that are wide enough to be seen ──> rows in the order of a walk from main on
 */
#include "page/page.h"

#include "base/array.h"
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

/* A function needs this part of the time to be drawn. */
enum { FLAME_LEAST = 1000 };

struct flame {
    const struct profile *profile;
    json_t *names, *nodes;
    uint64_t *numbers; /* of names, by number of the frame: + 1, 0 if it has none yet */
    size_t frame_count;
};

static const char *flame_kind(enum frame_kind kind)
{
    return kind == FRAME_MPI || kind == FRAME_INTERNAL ? "mpi"
           : kind == FRAME_RECORDER                    ? "recorder"
           : kind == FRAME_UNKNOWN                     ? "unknown"
                                                       : "program";
}

static json_t *profile_name_number(struct flame *flame, const struct frame *frame)
{
    if (frame->number >= flame->frame_count) {
        size_t count = 2 * (size_t)frame->number + 64;
        if (!ARRAY_EXTENDED(flame->numbers, flame->frame_count, count))
            return json_null();
        flame->frame_count = count;
    }
    if (!flame->numbers[frame->number]) {
        json_array_append_new(flame->names, json_pack("{s:o, s:o, s:s}", "name", text_json(frame->name), "module",
                                                      text_json(frame->module), "kind", flame_kind(frame->kind)));
        flame->numbers[frame->number] = json_array_size(flame->names);
    }
    return json_integer((json_int_t)flame->numbers[frame->number] - 1);
}

static int flame_order(const void *one, const void *other)
{
    const struct profile_node *a = *(struct profile_node *const *)one, *b = *(struct profile_node *const *)other;
    return strcmp(a->frame->name, b->frame->name) ?: ORDER(a->frame->number, b->frame->number);
}

static void flame_walk(struct flame *flame, const struct profile_node *parent, unsigned depth);

static void flame_put(struct flame *flame, const struct profile_node *node, unsigned depth)
{
    json_array_append_new(flame->nodes,
                          json_pack("[i, o, o, o, o]", (int)depth, profile_name_number(flame, node->frame),
                                    count_json(node->sum.ns), count_json(node->self.state_ns[MPIT_STATE_WORK]),
                                    count_json(profile_stall_ns(node->self.state_ns))));
    flame_walk(flame, node, depth + 1);
}

/* Children in the order of their names. */
static void flame_walk(struct flame *flame, const struct profile_node *parent, unsigned depth)
{
    size_t count = 0;
    for (const struct profile_node *node = parent->first; node; node = node->next)
        count++;
    const struct profile_node **list = count ? calloc(count, sizeof(struct profile_node *)) : NULL;
    if (!list)
        return;
    count = 0;
    for (const struct profile_node *node = parent->first; node; node = node->next)
        if (node->sum.ns >= flame->profile->sum.ns / FLAME_LEAST)
            list[count++] = node;
    if (count)
        qsort(list, count, sizeof(struct profile_node *), flame_order);
    for (size_t i = 0; i < count; i++)
        flame_put(flame, list[i], depth);
    free(list);
}

static json_t *flame_json(const struct profile *profile)
{
    struct flame flame = {.profile = profile, .names = json_array(), .nodes = json_array()};
    flame_walk(&flame, profile->root, 0);
    free(flame.numbers);
    return json_pack("{s:o, s:o}", "names", flame.names, "nodes", flame.nodes);
}

json_t *page_profile(const struct run_job *job)
{
    if (!run_job_has_samples(job))
        return json_null();
    struct profile *profile = calloc(1, sizeof *profile);
    if (!profile)
        return NULL;
    json_t *json = NULL;
    if (profile_open(profile, job, page_selection(job), false) == 0)
        json = profile->sum.ns ? profile_json(profile) : json_null();
    if (json_is_object(json))
        json_object_set_new(json, "flame", flame_json(profile));
    profile_release(profile);
    free(profile);
    json_object_del(json, "paths");
    page_list_cut(json, "functions", "self_ns", PAGE_LINES / 10);
    page_list_cut(json, "lines", "self_ns", PAGE_LINES / 10);
    page_list_cut(json, "places", "ns", PAGE_LINES / 10);
    page_list_cut(json, "by_thread", "ns", PAGE_LINES);
    return json;
}
