/*
 * What each thread did lately: for the roots of waits.
 *
 *   thread 0   computes │ works │ computes ──────────────────> │ works
 *   thread 1   computes │ waits for 0 ───────────────────────> │ works │ computes │ works
 *   thread 2   computes │ waits for 1 ─────────────────────────────────────────> │ works
 *                       └ its wait, backwards: 1 computes, 1 works, then where 1 waited: 0 computes
 *
 * The roots of a wait are what the chain to the awaited call did, for as long as the wait lasts. A thread that only
 * waited is no root. The parts add up to the wait.
 *
 * A thread keeps what waits that are under way can still need, and at most HISTORY_MOST stretches.
 */
#ifndef MPIT_TOOLS_HISTORY_H
#define MPIT_TOOLS_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HISTORY_MOST = 1 << 12 };

enum stretch_kind { STRETCH_COMPUTES, STRETCH_WORKS, STRETCH_WAITS };

struct stretch {
    uint64_t from_ns, to_ns;
    enum stretch_kind kind;
    uint32_t what; /* segment of the computation, function of the work, or the awaited thread */
};

struct history {
    struct stretch *list; /* a ring */
    size_t first, count, capacity;
};

/* Adds a stretch after the last one. Those that ended at `needed_ns` or before may go. An empty one is left out. Returns
 * false without memory: then the stretch is not known. */
bool history_add(struct history *history, struct stretch stretch, uint64_t needed_ns);
/* The last stretch that began before this time, or NULL. */
const struct stretch *history_before(const struct history *history, uint64_t ns);
void history_release(struct history *history);

/* A part of a wait. */
struct root {
    uint32_t thread; /* number of the history */
    enum stretch_kind kind;
    uint32_t what;
    uint64_t ns;
    uint64_t from_ns, to_ns; /* of the whole stretch */
};

/* Tells the parts of a wait from `from_ns` on for a call of a thread that began at `to_ns`. `histories` are of all
 * threads. What is not known is a computation in segment 0. */
void history_roots(const struct history *const *histories, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
                   void (*tell)(void *data, const struct root *root), void *data);

#endif
