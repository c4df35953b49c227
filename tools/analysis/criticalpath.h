/*
 * The critical path, put together forwards: each location carries the path that has led to where it is now, and takes
 * over another one's where it has waited for that. The path of the location that ends last is the job's.
 *
 *   location 0 ──> node ──> node ─┐
 *   location 1 ──> node ──────────┴─> node ──> node ──> ... (the past)       each node: shares of time by key
 *   a message that is under way ────────┘
 *
 * Nodes are shared and never change while they are; one that a single other node refers to is taken into that. So
 * there are no more than twice as many nodes as there are locations, messages and collectives under way that refer to
 * one (path_sweep), and a node has as many shares as there are ranks and functions on its part of the path: memory does
 * not grow with the length of the trace. What is lost is the order of the parts, not the sums.
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
    struct path *live; /* all nodes */
    size_t count;      /* of them */
    size_t sweep_at;   /* so many nodes make a sweep worth it */
    bool no_memory;    /* shares are missing */
};

/* The beginning of a path; NULL without memory. */
struct path *path_begin(struct paths *paths);
/* The place where the path is now, for whoever takes it over later. NULL is nowhere. */
struct path *path_hold(struct path *path);
void path_drop(struct paths *paths, struct path *path);
/* The path goes on: `ns` more for `key`. */
void path_add(struct paths *paths, struct path **path, uint64_t key, uint64_t ns);
/* The path is from now on that of `other`, as it was when that was held. */
void path_switch(struct paths *paths, struct path **path, struct path *other);
/* `path` has led from the place `from` to here, and has `ns` for `key` on the way: that part has been at `to` instead.
 * False: it cannot be told apart any more, and nothing is changed. */
bool path_detour(struct paths *paths, struct path *path, const struct path *from, struct path *to, uint64_t key,
                 uint64_t ns);
/* All shares, in the order of their keys, to free; NULL: none, or without memory. */
struct path_share *path_shares(struct paths *paths, const struct path *path, size_t *count);
/* Takes in what a single node refers to. Done by itself, now and then. */
void paths_sweep(struct paths *paths);
void paths_release(struct paths *paths);

#endif
