/*
 * Where in the program a call of MPI was made: its call path, exactly, for every call.
 *
 * A program takes few paths, many times. So a stack is unwound once, and recognized afterwards:
 *
 *     way      caller and CFA of the wrapper, MPI function          the key, in a table of the thread
 *              words of the stack that the unwinder read, each with its value then
 *              number of the path, counters of the thread for it
 *
 *     look-up  the same key, and every word has its value    ->  this path (callpath_look_up)
 *              no such way                                    ->  unwind once, and make a way (callpath_find)
 *
 * The unwinder's result follows from the key, the words, and the loaded objects. So a way is exact, not probable. Two
 * ways may lead to one path: the stack may begin elsewhere. A stack that needs more words than a way has room for is cut.
 * The frames that are left are exact. When an object is unloaded, all ways become void (callpath_generation).
 *
 * A way through Python also has the instructions of its frames (python.h).
 *
 * The path ends at main, or where a thread begins. Frames of mpit itself and of libraries that bind MPI to Fortran
 * are left out below the program.
 *
 * Who may run with whom: ways belong to their thread. A signal handler that finds the thread in here cannot come here
 * itself (log->innermost). Making a way takes a lock.
 */
#ifndef MPIT_PROBES_CALLPATH_H
#define MPIT_PROBES_CALLPATH_H

#include "calls.h"
#include "figures/cells.h"
#include "unwinder/unwinder.h"

struct log;

/*
 * A call of a wrapper.
 *
 *     wrapper_cfa      the stack pointer before the call
 *     wrapper_frame    where the wrapper stored its caller's frame pointer. The return address is above it. On x86-64
 *                      that follows from the CFA, because wrappers have a frame pointer
 */
#if defined(__aarch64__)
typedef struct {
    uintptr_t cfa;
    const uint64_t *frame;
} wrapper_call;
#define WRAPPER_CALL_NONE ((wrapper_call){0, NULL})

static inline uintptr_t wrapper_cfa(wrapper_call call)
{
    return call.cfa;
}

static inline const uint64_t *wrapper_frame(wrapper_call call)
{
    return call.frame;
}

static inline bool wrapper_call_is(wrapper_call call, wrapper_call other)
{
    return call.cfa == other.cfa && call.frame == other.frame;
}
#else
typedef uintptr_t wrapper_call;
#define WRAPPER_CALL_NONE 0

static inline uintptr_t wrapper_cfa(wrapper_call call)
{
    return call;
}

static inline const uint64_t *wrapper_frame(wrapper_call call)
{
    return (const uint64_t *)call - 2;
}

static inline bool wrapper_call_is(wrapper_call call, wrapper_call other)
{
    return call == other;
}
#endif

/* In the key of a way that goes through Python. callpath_look_up does not know these: callpath_find looks for them. */
#define WAY_PYTHON (UINT64_C(1) << 31)

struct path_way {
    uint64_t key;     /* callpath_generation + kind of the call. Through Python: + WAY_PYTHON + python_generation */
    uintptr_t caller; /* return address as the stack has it */
    wrapper_call call;
    const struct unwind_word *end; /* of the words: an even number, at least 2 */
    struct path_way *next;         /* in the same place of the table */
    uint64_t bits;                 /* the number, as in event.bytes */
    uint64_t site;                 /* the innermost frame: address behind the call, in memory. 0: not known */
    struct path_cells *cells;
    uint32_t number;
    uint32_t links; /* of its chain of Python (python.h), which is behind the words. 0: it has none */
    struct unwind_word word[];
};

static inline enum call way_kind(const struct path_way *way)
{
    return (enum call)(way->key & (WAY_PYTHON - 1));
}

/* Of a thread. */
struct callpaths {
    struct path_way **table; /* mask + 1 places */
    size_t mask;
    size_t count;
    struct way_slab *slabs;        /* memory of the ways */
    struct path_way *unused;       /* ways through Python that are void, */
    uint64_t collected;            /* as of this generation, */
    uintptr_t collected_cfa;       /* of calls from here on down the stack */
    uintptr_t low, high;           /* the thread's stack */
    struct path_way *none;         /* no path is known */
    const struct path_way *others; /* no memory for more ways: of all new paths. NULL: there is */
};

/* Called when the thread gets its log. Returns false without memory. */
bool callpaths_open(struct log *log);
/* Another thread has got the log, so the stack is another one. */
void callpaths_continue(struct log *log);

/* An object may have been unloaded: all ways become void. Async-signal-safe. */
void callpaths_void(void);

/* The place in a table, before the mask. */
static inline size_t callpath_place(uintptr_t caller, uintptr_t cfa)
{
    return caller ^ cfa / 16;
}

/* mpit_call_depth may have changed: then all ways become void. Async-signal-safe. */
void callpaths_check(void);

/* Changes when ways become void. It is in the upper half of the keys. */
extern LIBRARY_LOCAL uint64_t callpath_generation;

/* Returns the path of a call that no way leads to yet. Not NULL. */
const struct path_way *callpath_find(struct log *log, enum call kind, wrapper_call call);

/* The frame of a path_record for an address behind a call. Takes a lock. */
uint64_t callpath_frame(uint64_t pc);

static inline __attribute__((always_inline, no_sanitize("address"))) bool way_holds(const struct path_way *way)
{
    const struct unwind_word *word = way->word;
    do {
        if (*word[0].at != word[0].value || *word[1].at != word[1].value)
            return false;
        word += 2;
    } while (word != way->end);
    return true;
}

static inline __attribute__((always_inline)) bool way_is_of(const struct path_way *way, uint64_t key, uintptr_t caller,
                                                            wrapper_call call)
{
    return way->caller == caller && wrapper_call_is(way->call, call) && way->key == key && way_holds(way);
}

/* Returns the way to the path of a call, or NULL: there is none yet, or it goes through Python. */
static inline __attribute__((always_inline, no_sanitize("address"))) const struct path_way *
callpath_look_up(const struct callpaths *paths, enum call kind, wrapper_call call)
{
    uintptr_t caller = wrapper_frame(call)[1];
    uint64_t key = callpath_generation + kind;
    const struct path_way *way = paths->table[callpath_place(caller, wrapper_cfa(call)) & paths->mask];
    while (way && !way_is_of(way, key, caller, call))
        way = way->next;
    return way;
}

#endif
