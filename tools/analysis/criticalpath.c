#include "analysis/criticalpath.h"

#include "base/array.h"
#include <stdlib.h>
#include <string.h>

enum { SWEEP_LEAST = 1024 };

struct path {
    struct path *before; /* a reference, or NULL for the beginning */
    struct path *next, *previous;
    size_t references;
    struct path_share *shares; /* by key */
    size_t count, capacity;
    bool marked;
    double times[];
};

struct path *path_begin(struct paths *paths)
{
    struct path *path = paths->spares;
    if (path)
        paths->spares = path->next;
    else
        path = malloc(sizeof *path + paths->times * sizeof *path->times);
    if (!path) {
        paths->no_memory = true;
        return NULL;
    }
    *path = (struct path){.before = NULL};
    path->references = 1;
    path->next = paths->live;
    if (paths->live)
        paths->live->previous = path;
    paths->live = path;
    paths->count++;
    return path;
}

struct path *path_hold(struct path *path)
{
    if (path)
        path->references++;
    return path;
}

static void node_free(struct paths *paths, struct path *path)
{
    *(path->previous ? &path->previous->next : &paths->live) = path->next;
    if (path->next)
        path->next->previous = path->previous;
    paths->count--;
    free(path->shares);
    path->next = paths->spares;
    paths->spares = path;
}

void path_drop(struct paths *paths, struct path *path)
{
    while (path && --path->references == 0) {
        struct path *before = path->before;
        node_free(paths, path);
        path = before;
    }
}

/* The location goes on from here with a node of its own. */
static bool path_fork(struct paths *paths, struct path **path)
{
    struct path *more = path_begin(paths);
    if (!more)
        return false;
    if (paths->only_times)
        path_drop(paths, *path);
    else
        more->before = *path; /* with the reference that the location had */
    *path = more;
    if (paths->count > paths->sweep_at)
        paths_sweep(paths);
    return true;
}

struct path *path_mark(struct paths *paths, struct path **path, const double *times)
{
    if (!*path)
        return NULL;
    size_t bytes = paths->times * sizeof *times;
    bool others = (*path)->marked && (*path)->references > 1 && memcmp((*path)->times, times, bytes) != 0;
    if (others && !path_fork(paths, path))
        return NULL;
    memcpy((*path)->times, times, bytes);
    (*path)->marked = true;
    return path_hold(*path);
}

const double *path_times(const struct path *path)
{
    return path && path->marked ? path->times : NULL;
}

static size_t share_place(const struct path *path, uint64_t key, bool *found)
{
    return ARRAY_PLACE(i, path->count, ORDER(key, path->shares[i].key), found);
}

static void share_add(struct paths *paths, struct path *path, uint64_t key, uint64_t ns)
{
    bool found;
    size_t place = share_place(path, key, &found);
    if (found) {
        path->shares[place].ns += ns;
        return;
    }
    struct path_share *shares = array_reserve(path->shares, &path->capacity, path->count, sizeof *shares);
    if (!shares) {
        paths->no_memory = true;
        return;
    }
    path->shares = shares;
    memmove(&shares[place + 1], &shares[place], (path->count - place) * sizeof *shares);
    shares[place] = (struct path_share){key, ns};
    path->count++;
}

/* Merges the smaller list into the larger one, which has most of its keys. */
static void shares_merge(struct paths *paths, struct path *into, struct path *from)
{
    if (from->count > into->count) {
        struct path_share *shares = into->shares;
        size_t count = into->count, capacity = into->capacity;
        into->shares = from->shares, into->count = from->count, into->capacity = from->capacity;
        from->shares = shares, from->count = count, from->capacity = capacity;
    }
    for (size_t i = 0; i < from->count; i++)
        share_add(paths, into, from->shares[i].key, from->shares[i].ns);
}

static void before_absorb(struct paths *paths, struct path *path)
{
    while (path->before && path->before->references == 1) {
        struct path *before = path->before;
        shares_merge(paths, path, before);
        path->before = before->before;
        node_free(paths, before);
    }
}

void paths_sweep(struct paths *paths)
{
    for (struct path *path = paths->live; path; path = path->next)
        before_absorb(paths, path);
    paths->sweep_at = paths->count * 2 > SWEEP_LEAST ? paths->count * 2 : SWEEP_LEAST;
}

void path_add(struct paths *paths, struct path **path, uint64_t key, uint64_t ns)
{
    if (!*path || ns == 0 || paths->only_times)
        return;
    if ((*path)->references > 1 && !path_fork(paths, path))
        return;
    share_add(paths, *path, key, ns);
    before_absorb(paths, *path);
}

void path_switch(struct paths *paths, struct path **path, struct path *other)
{
    struct path *left = *path;
    *path = path_hold(other);
    path_drop(paths, left);
}

bool path_detour(struct paths *paths, struct path *path, const struct path *from, struct path *to, uint64_t key,
                 uint64_t ns)
{
    if (!path || !to || path->before != from || path->references != 1)
        return false;
    bool found;
    size_t place = share_place(path, key, &found);
    if (!found || path->shares[place].ns < ns)
        return false;
    path->shares[place].ns -= ns;
    path_hold(to);
    path_drop(paths, path->before);
    path->before = to;
    return true;
}

struct path_share *path_shares(struct paths *paths, const struct path *path, size_t *count)
{
    struct path sum = {0};
    for (; path; path = path->before)
        for (size_t i = 0; i < path->count; i++)
            share_add(paths, &sum, path->shares[i].key, path->shares[i].ns);
    *count = sum.count;
    return sum.shares;
}

void paths_release(struct paths *paths)
{
    while (paths->live)
        node_free(paths, paths->live);
    for (struct path *next; paths->spares; paths->spares = next) {
        next = paths->spares->next;
        free(paths->spares);
    }
    *paths = (struct paths){0};
}
