/*
 * The critical path, built forwards. Each location carries the path that led to its current place. If it has waited for
 * another location, it takes over that location's path. The path of the location that ends last is the job's path.
 *
 *   location 0 ──> node ──> node ─┐
 *   location 1 ──> node ──────────┴─> node ──> node ──> ... (the past)       each node: shares of time by key
 *   a message that is under way ────────┘
 *
 * Nodes are shared and never change while they are. A node with a single reference, from another node, is merged into
 * that node. So the number of nodes is at most twice the number of locations, messages and collectives under way, and
 * epochs of windows, that refer to a node (path_sweep). A node has at most one share for each rank and function on its
 * part of the path. Memory therefore does not grow with the length of the trace. The order of the parts is lost, but
 * not the sums.
 */
#ifndef MPIT_TOOLS_CRITICALPATH_H
#define MPIT_TOOLS_CRITICALPATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct path_share {
    uint64_t key, ns;
};

struct path;

struct paths {
    struct path *live;   /* all nodes */
    size_t count;        /* of them */
    size_t sweep_at;     /* number of nodes that makes a sweep worthwhile */
    size_t times;        /* of a marked place. Set before the first path */
    bool only_times;     /* nodes hold times alone: a replay of worlds. Likewise before the first path */
    bool no_memory;      /* shares are missing */
    struct path *spares; /* nodes that are free */
};

/* Returns the beginning of a path, or NULL without memory. */
struct path *path_begin(struct paths *paths);
/* Returns a reference to the present place on the path, so that another location can take it over later. NULL is no
 * place. */
struct path *path_hold(struct path *path);
void path_drop(struct paths *paths, struct path *path);
/* The same as path_hold. The place keeps a copy of these `paths->times` times. NULL: no path, or no memory. */
struct path *path_mark(struct paths *paths, struct path **path, const double *times);
/* The times of a marked place. NULL: none. */
const double *path_times(const struct path *path);
/* Extends the path by `ns` for `key`. */
void path_add(struct paths *paths, struct path **path, uint64_t key, uint64_t ns);
/* Replaces the path by `other`, as it was when `other` was held. */
void path_switch(struct paths *paths, struct path **path, struct path *other);
/* `path` has led from the place `from` to here, and has `ns` for `key` on the way. Moves this part to `to`. Returns
 * false, and changes nothing, if this part cannot be separated any more. */
bool path_detour(struct paths *paths, struct path *path, const struct path *from, struct path *to, uint64_t key,
                 uint64_t ns);
/* Returns all shares, in the order of their keys, which the caller frees. Returns NULL if there are none, or without
 * memory. */
struct path_share *path_shares(struct paths *paths, const struct path *path, size_t *count);
/* Merges each node that has a single reference from another node. Other functions also call it now and then. */
void paths_sweep(struct paths *paths);
void paths_release(struct paths *paths);

#endif
