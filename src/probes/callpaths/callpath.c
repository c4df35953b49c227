#include "callpaths/callpath.h"

#include "backends.h"
#include "base/invariant.h"
#include "native.h"
#include "base/pages.h"
#include "base/signals.h"
#include "registry/paths.h"
#include "settings/knobs.h"
#include "thread/log.h"
#include "unwinder/loaded.h"

#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_LEAST = 64, TABLE_MOST = 1 << 17, FRAMES_BELOW = 4, FRAMES_ABOVE = 4 };

_Static_assert(PATH_FRAMES_MOST + FRAMES_BELOW + FRAMES_ABOVE <= UNWIND_FRAMES_MOST, "the words are known by frame");

/* The threads take turns, since new paths are rare. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct unwinder unwinder;
    struct unwind_words words;
    struct path_frames frames;
    uint64_t site; /* the innermost of them, in memory */
    struct loaded loaded;
    uint64_t pcs[UNWIND_FRAMES_MOST];
    struct loaded own, libc; /* found when first used */
} finding;

uint64_t callpath_generation = UINT64_C(1) << 32;

/* Ways are made in signal handlers, too, which may have interrupted malloc. So they lie in pages of the thread. */
enum { SLAB_BYTES = 32 << 10 };
struct way_slab {
    struct way_slab *next;
    size_t used;
};

static bool callpaths_is_valid(const struct callpaths *paths)
{
    const struct way_slab *slab = paths->slabs;
    return paths->table && paths->none && paths->mask >= TABLE_LEAST - 1 && !(paths->mask & (paths->mask + 1)) &&
           paths->low <= paths->high && (!slab || (slab->used >= sizeof *slab && slab->used <= SLAB_BYTES)) &&
           (slab || !paths->count);
}

static struct path_way *way_make(struct callpaths *paths, size_t words)
{
    size_t bytes = sizeof(struct path_way) + words * sizeof(struct unwind_word);
    struct way_slab *slab = paths->slabs;
    if (!slab || SLAB_BYTES - slab->used < bytes) {
        if (!run_memory_take(&book.run, SLAB_BYTES))
            return NULL;
        if (!(slab = pages_map(SLAB_BYTES))) {
            run_memory_give(&book.run, SLAB_BYTES);
            return NULL;
        }
        slab->next = paths->slabs;
        slab->used = sizeof *slab;
        paths->slabs = slab;
    }
    struct path_way *way = (struct path_way *)((char *)slab + slab->used);
    slab->used += bytes;
    way->end = way->word + words;
    return way;
}

/* The bounds of the stack. Without them a path has only its innermost frame. */
static void stack_find(struct callpaths *paths)
{
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    paths->low = paths->high = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
        paths->low = (uintptr_t)low;
        paths->high = (uintptr_t)low + bytes;
    }
    pthread_attr_destroy(&attributes);
}

bool callpaths_open(struct log *log)
{
    struct callpaths *paths = &log->paths;
    paths->table = pages_map(TABLE_LEAST * sizeof *paths->table);
    paths->mask = TABLE_LEAST - 1;
    paths->none = calloc(1, sizeof *paths->none + sizeof(struct path_cells));
    if (!paths->table || !paths->none)
        return false;
    paths->none->cells = (struct path_cells *)(paths->none + 1);
    log->path = paths->none;
    log->own.tally.path = paths->none->cells;
    stack_find(paths);
    return true;
}

/* Frees the ways. The words of another thread's stack may not be there any more. */
static void ways_drop(struct callpaths *paths)
{
    for (struct way_slab *slab = paths->slabs, *next; slab; slab = next) {
        next = slab->next;
        pages_unmap(slab, SLAB_BYTES);
        run_memory_give(&book.run, SLAB_BYTES);
    }
    paths->slabs = NULL;
    memset(paths->table, 0, (paths->mask + 1) * sizeof *paths->table);
    paths->count = 0;
}

void callpaths_continue(struct log *log)
{
    struct callpaths *paths = &log->paths;
    uintptr_t low = paths->low, high = paths->high;
    MPIT_ASSERT(callpaths_is_valid(paths));
    stack_find(paths);
    log->path = paths->none;
    if (low != paths->low || high != paths->high)
        ways_drop(paths);
}

void callpaths_check(void)
{
    static uint64_t depth = UINT64_MAX;
    uint64_t now = knob_load(KNOB_CALL_DEPTH), before = __atomic_exchange_n(&depth, now, __ATOMIC_RELAXED);
    if (before != now && before != UINT64_MAX)
        callpaths_void();
}

void callpaths_void(void)
{
    __atomic_add_fetch(&callpath_generation, UINT64_C(1) << 32, __ATOMIC_RELEASE);
}

/* ---- a path ------------------------------------------------------------------------------------------------------ */

static bool is_in(const struct loaded *loaded, uint64_t pc)
{
    return pc >= loaded->begin && pc < loaded->end;
}

/* The functions of the C library that call main or the function of a thread, and the one that calls these. Returns the
 * number of frames without them. */
static unsigned outermost_drop(unsigned first, unsigned count)
{
    const uint64_t *pcs = finding.pcs;
    if (count >= first + 2 && !is_in(&finding.libc, pcs[count - 1]) && is_in(&finding.libc, pcs[count - 2]))
        count--;
    while (count > first + 1 && is_in(&finding.libc, pcs[count - 1]))
        count--;
    return count;
}

static uint64_t frame_of(uint64_t pc)
{
    struct loaded *loaded = &finding.loaded;
    if (!loaded_find(pc - 1, loaded))
        return pc & PATH_OFFSET_MASK;
    struct path_module module = {loaded->bias, loaded->build_id, loaded->build_id_bytes, loaded->path};
    uint32_t number = path_module_number(&module);
    return number ? (uint64_t)number << PATH_MODULE_SHIFT | ((pc - loaded->bias) & PATH_OFFSET_MASK)
                  : pc & PATH_OFFSET_MASK;
}

uint64_t callpath_frame(uint64_t pc)
{
    sigset_t before;
    signals_hold(&before);
    pthread_mutex_lock(&lock);
    uint64_t frame = frame_of(pc);
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return frame;
}

static void own_find(void)
{
    if (finding.own.end)
        return;
    loaded_find((uintptr_t)own_find, &finding.own);
    loaded_find((uintptr_t)gnu_get_libc_version, &finding.libc);
}

/* True if the frame is the recorder's, or of a library that binds MPI to Fortran. */
static bool is_below_program(uint64_t pc)
{
#define FORTRAN(id, name, title, marker, libraries, fortran, cplusplus, runtimes) fortran
    if (is_in(&finding.own, pc))
        return true;
    return loaded_find(pc - 1, &finding.loaded) && native_library_named(finding.loaded.path, BACKENDS(FORTRAN));
#undef FORTRAN
}

/* Unwinds the stack into finding.frames. Returns how many of finding.words tell of it. */
static unsigned frames_find(const struct callpaths *paths, enum call kind, wrapper_call call, unsigned depth)
{
    struct path_frames *frames = &finding.frames;
    uint32_t flags = 0;
    own_find();
    finding.unwinder.low = paths->low;
    finding.unwinder.high = paths->high;
    unsigned found = unwind_call(&finding.unwinder, wrapper_frame(call), wrapper_cfa(call), finding.pcs,
                                 depth + FRAMES_BELOW + FRAMES_ABOVE, &flags, &finding.words);
    unsigned first = 0, count = found;
    while (first + 1 < count && first < FRAMES_BELOW && is_below_program(finding.pcs[first]))
        first++;
    finding.site = finding.pcs[first];
    if (finding.words.overflow) {
        while (count > first + 1 && finding.words.until[count - 1] == UNWIND_WORDS_MOST) /* they need more words */
            count--;
        flags = SAMPLE_CUT;
    } else if (!flags) {
        count = outermost_drop(first, count);
    }
    *frames = (struct path_frames){.kind = kind, .count = count - first};
    unsigned last = count; /* whose words are needed: the first frame that was dropped tells where main is */
    if (frames->count > depth) {
        frames->count = depth;
        frames->flags = PATH_CUT;
        last = first + depth - 1;
    } else if (flags & SAMPLE_CUT || depth == 1) {
        frames->flags = PATH_CUT;
    } else if (flags) {
        frames->flags = flags & SAMPLE_ELSEWHERE ? PATH_ELSEWHERE : PATH_UNKNOWN;
    }
    for (unsigned i = 0; i < frames->count; i++)
        frames->frame[i] = frame_of(finding.pcs[first + i]);
    if (last == count && finding.words.overflow)
        last = count - 1;
    return last < found ? finding.words.until[last] : finding.words.count;
}

/* ---- ways to it -------------------------------------------------------------------------------------------------- */

static struct path_way **way_place_of(const struct callpaths *paths, uintptr_t caller, uintptr_t cfa)
{
    return &paths->table[callpath_place(caller, cfa) & paths->mask];
}

static void ways_table_extend(struct callpaths *paths)
{
    size_t room = paths->mask + 1;
    if (paths->count < room || room >= TABLE_MOST)
        return;
    struct path_way **old = paths->table, **table = pages_map(4 * room * sizeof *table);
    if (!table)
        return;
    paths->table = table;
    paths->mask = 4 * room - 1;
    for (size_t i = 0; i < room; i++)
        for (struct path_way *way = old[i], *next; way; way = next) {
            struct path_way **place = way_place_of(paths, way->caller, wrapper_cfa(way->call));
            next = way->next;
            way->next = *place;
            *place = way;
        }
    pages_unmap(old, room * sizeof *old);
}

/* A void way from the same call with as many words, to be used again. */
static struct path_way *way_find_void(const struct callpaths *paths, const struct path_way *key, size_t words)
{
    struct path_way *way = *way_place_of(paths, key->caller, wrapper_cfa(key->call));
    while (way &&
           (way->caller != key->caller || !wrapper_call_is(way->call, key->call) || way->key >> 32 == key->key >> 32 ||
            (uint32_t)way->key != (uint32_t)key->key || (size_t)(way->end - way->word) != words))
        way = way->next;
    return way;
}

/* Stores the words. Words that always hold fill them up. */
static void way_words_fill(struct path_way *way, size_t words)
{
    size_t all = (size_t)(way->end - way->word);
    memcpy(way->word, finding.words.list, words * sizeof way->word[0]);
    for (size_t i = words; i < all; i++)
        way->word[i] = (struct unwind_word){&way->word[i].value, 1};
}

/* Adds a way. `key`: what it is to be, without its words. NULL: no memory. */
static struct path_way *way_add(struct callpaths *paths, const struct path_way *key, size_t words)
{
    size_t all = words ? (words + 1) / 2 * 2 : 2;
    struct path_way *way = way_find_void(paths, key, all);
    if (!way) {
        if (!(way = way_make(paths, all)))
            return NULL;
        ways_table_extend(paths);
        struct path_way **place = way_place_of(paths, key->caller, wrapper_cfa(key->call));
        way->next = *place;
        *place = way;
        paths->count++;
    }
    way->key = key->key;
    way->caller = key->caller;
    way->call = key->call;
    way->bits = key->bits;
    way->cells = key->cells;
    way->number = key->number;
    way->site = key->site;
    way_words_fill(way, words);
    return way;
}

/* Lets the way lead to the path with this number. Returns false if the thread has no counters for it. */
static bool way_number(struct path_way *way, struct log *log, uint32_t number)
{
    way->number = number;
    way->bits = (uint64_t)number << EVENT_PATH_SHIFT;
    way->cells = number ? path_counters(&log->own, number) : NULL;
    return way->cells != NULL;
}

/* There is no memory for more ways. From here on new paths are among the others. If the table of paths could not even
 * be begun, nothing tells of PATH_OTHERS, and calls have no path. */
static const struct path_way *others_open(struct log *log, bool begun)
{
    struct callpaths *paths = &log->paths;
    struct path_way *others = begun ? pages_map(sizeof *others) : NULL;
    if (others && way_number(others, log, PATH_OTHERS))
        paths->others = others;
    else
        paths->others = paths->none;
    return paths->others;
}

const struct path_way *callpath_find(struct log *log, enum call kind, wrapper_call call)
{
    struct callpaths *paths = &log->paths;
    const uint64_t *frame = wrapper_frame(call);
    unsigned depth = (unsigned)knob_load(KNOB_CALL_DEPTH);
    struct path_way key = {.key = RELAXED_LOAD(&callpath_generation) + kind, .caller = frame[1], .call = call};
    MPIT_ASSERT(callpaths_is_valid(paths));
    if (!frame[1])
        return paths->none;
    if (paths->others)
        return paths->others;
    sigset_t before;
    signals_hold(&before); /* a handler that leaves by a jump would leave the lock taken */
    pthread_mutex_lock(&lock);
    size_t words = depth ? frames_find(paths, kind, call, depth) : 0;
    key.cells = paths->none->cells;
    key.site = depth ? finding.site : return_address(frame[1]);
    uint32_t number = depth ? path_number(&finding.frames) : 0;
    bool counted = !number || way_number(&key, log, number);
    const struct path_way *way = counted ? way_add(paths, &key, words) : NULL;
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return way ? way : others_open(log, number != 0);
}
