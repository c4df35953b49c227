#include "callpaths/callpath.h"

#include "backends.h"
#include "base/invariant.h"
#include "native.h"
#include "base/pages.h"
#include "callpaths/python.h"
#include "callpaths/pythoncode.h"
#include "base/signals.h"
#include "registry/paths.h"
#include "settings/knobs.h"
#include "thread/log.h"
#include "unwinder/loaded.h"

#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_LEAST = 64, TABLE_MOST = 1 << 17, FRAMES_BELOW = 8, FRAMES_ABOVE = 4 };

_Static_assert(PATH_FRAMES_MOST + FRAMES_BELOW + FRAMES_ABOVE <= UNWIND_FRAMES_MOST, "the words are known by frame");

/* The threads take turns, since new paths are rare. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct unwinder unwinder;
    struct unwind_words words;
    struct path_frames frames;
    struct python_stack python; /* count 0: the path does not go through Python */
    uint64_t site;              /* the innermost of the frames in memory */
    struct loaded loaded;
    uint64_t pcs[UNWIND_FRAMES_MOST];
    unsigned found;                       /* of them */
    struct loaded own, libc, interpreter; /* found when first used */
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

static struct path_way *way_make(struct callpaths *paths, size_t words, uint32_t links)
{
    size_t bytes = sizeof(struct path_way) + (words + (links + 1) / 2) * sizeof(struct unwind_word);
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
    way->links = links;
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
    if (python_find())
        callpaths_void(); /* ways without its functions */
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
    paths->unused = NULL;
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

static uint64_t frame_of_python(const struct python_frame *frame)
{
    char path[MODULE_PATH_BYTES];
    python_code_path(frame->code, path);
    struct path_module module = {.build_id = (const uint8_t *)"", .path = path};
    uint64_t number = path_module_number(&module);
    return number
               ? number << PATH_MODULE_SHIFT | (python_code_address(frame->code, frame->instruction) & PATH_OFFSET_MASK)
               : 0;
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

/* The object with the functions of the interpreter. If that is a program with functions of its own, these stay. */
static void interpreter_find(void)
{
    struct loaded *loaded = &finding.interpreter;
    if (!python_is_known() || loaded->end)
        return;
    loaded_find((uintptr_t)python_state, loaded);
    if (!native_library_named(loaded->path[0] ? loaded->path : book.run.header->program, "python libpython"))
        loaded->begin = loaded->end;
}

/* Bindings of MPI to Python, and what lets Python call functions of C. */
static bool is_python_binding(const char *path)
{
    const char *folder = strstr(path, "/mpi4py/");
    return (folder && native_library_named(folder, "MPI.")) || native_library_named(path, "_ctypes. libffi.");
}

/* True if the frame is the recorder's, or of a library that binds MPI to Fortran or Python. */
static bool is_below_program(uint64_t pc)
{
#define FORTRAN(id, name, title, marker, libraries, fortran, cplusplus, runtimes) fortran
    if (is_in(&finding.own, pc))
        return true;
    return loaded_find(pc - 1, &finding.loaded) && (native_library_named(finding.loaded.path, BACKENDS(FORTRAN)) ||
                                                    (finding.python.count && is_python_binding(finding.loaded.path)));
#undef FORTRAN
}

/* How many functions of Python run below an address of the stack. */
static unsigned python_within(uintptr_t end)
{
    unsigned count = 0;
    while (count < finding.python.count && finding.python.frames[count].loop < end)
        count++;
    return count;
}

static void path_frame_add(uint64_t frame, unsigned depth)
{
    struct path_frames *frames = &finding.frames;
    if (frames->count++ < depth)
        frames->frame[frames->count - 1] = frame;
}

/* Fills finding.frames from the frames of C. A frame that is a loop of the interpreter becomes the functions of Python that it
 * runs, and the interpreter's own functions are left out. Behind the last frame that was found come the functions of the loops
 * that were not. Returns the frame of C after the last one that is needed. */
static unsigned frames_put(unsigned first, unsigned count, unsigned depth)
{
    const struct python_stack *python = &finding.python;
    unsigned next = 0, needed = first;
    for (unsigned i = first; i < count; i++) {
        bool outermost = i + 1 == finding.found;
        uintptr_t end = outermost ? UINTPTR_MAX : finding.words.stack[i + 1];
        bool loop = !outermost && next < python->count && python->frames[next].loop < end;
        if (finding.frames.count < depth)
            needed = i + 1;
        if (!loop && !(python->count && is_in(&finding.interpreter, finding.pcs[i])))
            path_frame_add(finding.frames.count < depth ? frame_of(finding.pcs[i]) : 0, depth);
        for (; next < python->count && python->frames[next].loop < end; next++)
            path_frame_add(finding.frames.count < depth ? frame_of_python(&python->frames[next]) : 0, depth);
    }
    return needed;
}

/* Unwinds the stack into finding.frames. Returns how many of finding.words tell of it. */
static unsigned frames_find(const struct callpaths *paths, enum call kind, wrapper_call call, unsigned depth)
{
    struct path_frames *frames = &finding.frames;
    uint32_t flags = 0;
    own_find();
    interpreter_find();
    finding.unwinder.low = paths->low;
    finding.unwinder.high = paths->high;
    bool python = python_stack_read(&finding.python);
    unsigned found = finding.found =
        unwind_call(&finding.unwinder, wrapper_frame(call), wrapper_cfa(call), finding.pcs,
                    python ? UNWIND_FRAMES_MOST : depth + FRAMES_BELOW + FRAMES_ABOVE, &flags, &finding.words);
    unsigned first = 0, count = found;
    if (flags & (SAMPLE_ELSEWHERE | SAMPLE_CUT))
        finding.python.count = found == 1 ? 0 : python_within(finding.words.stack[found - 1]);
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
    *frames = (struct path_frames){.kind = kind};
    unsigned last = frames_put(first, count, depth); /* the first frame that was dropped tells where main is */
    if (frames->count > depth) {
        frames->count = depth;
        frames->flags = PATH_CUT;
        last -= !python;
    } else if (flags & SAMPLE_CUT || finding.python.cut || depth == 1) {
        frames->flags = PATH_CUT;
    } else if (flags) {
        frames->flags = flags & SAMPLE_ELSEWHERE ? PATH_ELSEWHERE : PATH_UNKNOWN;
    }
    if (last == count && finding.words.overflow)
        last = count - 1;
    return last < found ? finding.words.until[last] : finding.words.count;
}

/* ---- ways to it -------------------------------------------------------------------------------------------------- */

/* The chain of Python of a way, behind its words. */
static const uintptr_t *way_chain(const struct path_way *way)
{
    return (const uintptr_t *)way->end;
}

/* Calls of several functions of Python have the same stack of C. So the two innermost ones are in the place. */
static uintptr_t chain_place(const uintptr_t *chain)
{
    return chain[0] ^ (chain[0] > PYTHON_CHAIN_CUT ? 3 * chain[1] : 0);
}

static struct path_way **way_place_of(const struct callpaths *paths, uintptr_t caller, uintptr_t cfa,
                                      const uintptr_t *chain)
{
    return &paths->table[(callpath_place(caller, cfa) ^ (chain ? chain_place(chain) / 2 : 0)) & paths->mask];
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
            const uintptr_t *chain = way->links ? way_chain(way) : NULL;
            struct path_way **place = way_place_of(paths, way->caller, wrapper_cfa(way->call), chain);
            next = way->next;
            way->next = *place;
            *place = way;
        }
    pages_unmap(old, room * sizeof *old);
}

/* A void way from the same call with as many words, to be used again. */
static struct path_way *way_find_void(const struct callpaths *paths, const struct path_way *key, size_t words)
{
    struct path_way *way = *way_place_of(paths, key->caller, wrapper_cfa(key->call), NULL);
    while (way &&
           (way->caller != key->caller || !wrapper_call_is(way->call, key->call) || way->key >> 32 == key->key >> 32 ||
            (uint32_t)way->key != (uint32_t)key->key || (size_t)(way->end - way->word) != words))
        way = way->next;
    return way;
}

/* Ways through Python become void whenever code is freed, and perhaps no call comes by their place again. They are collected
 * once, to be used again. Calls that are still under way are above this one on the stack. */
static void ways_collect(struct callpaths *paths, const struct path_way *key)
{
    uint64_t generation = key->key >> 32;
    uintptr_t cfa = wrapper_cfa(key->call);
    if (cfa < paths->low || cfa >= paths->high || (paths->collected == generation && cfa <= paths->collected_cfa))
        return;
    paths->collected = generation;
    paths->collected_cfa = cfa;
    for (size_t i = 0; i <= paths->mask; i++)
        for (struct path_way **at = &paths->table[i], *way; (way = *at);) {
            if (!way->links || way->key >> 32 == generation || wrapper_cfa(way->call) > cfa) {
                at = &way->next;
                continue;
            }
            *at = way->next;
            way->next = paths->unused;
            paths->unused = way;
            paths->count--;
        }
}

static struct path_way *way_take_unused(struct callpaths *paths, size_t words, uint32_t links)
{
    struct path_way **at = &paths->unused, *way;
    while ((way = *at) && ((size_t)(way->end - way->word) != words || way->links != links))
        at = &way->next;
    if (way)
        *at = way->next;
    return way;
}

/* Stores the words. Words that always hold fill them up. */
static void way_words_fill(struct path_way *way, size_t words)
{
    size_t all = (size_t)(way->end - way->word);
    memcpy(way->word, finding.words.list, words * sizeof way->word[0]);
    for (size_t i = words; i < all; i++)
        way->word[i] = (struct unwind_word){&way->word[i].value, 1};
    memcpy((void *)(uintptr_t)way->end, finding.python.chain, way->links * sizeof finding.python.chain[0]);
}

/* Makes a way and puts it into the table. NULL: no memory. */
static struct path_way *way_put(struct callpaths *paths, const struct path_way *key, size_t words)
{
    uint32_t links = finding.python.links;
    struct path_way *way = way_take_unused(paths, words, links);
    if (!way && !(way = way_make(paths, words, links)))
        return NULL;
    ways_table_extend(paths);
    struct path_way **place =
        way_place_of(paths, key->caller, wrapper_cfa(key->call), links ? finding.python.chain : NULL);
    way->next = *place;
    *place = way;
    paths->count++;
    return way;
}

/* Adds a way. `key`: what it is to be, without its words. NULL: no memory. */
static struct path_way *way_add(struct callpaths *paths, const struct path_way *key, size_t words)
{
    size_t all = words ? (words + 1) / 2 * 2 : 2;
    struct path_way *way = finding.python.links ? NULL : way_find_void(paths, key, all);
    if (!way && !(way = way_put(paths, key, all)))
        return NULL;
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

/* callpath_look_up for ways through Python. */
static const struct path_way *python_look_up(struct callpaths *paths, uint64_t key, uintptr_t caller, wrapper_call call)
{
    const char *frame = python_frame_current();
    const char *outer = frame ? python_pointer(frame, python_layout.previous) : NULL;
    if (!frame)
        return NULL;
    uintptr_t begin[2] = {python_instruction(frame), outer ? python_instruction(outer) : PYTHON_CHAIN_END};
    const struct path_way *way = *way_place_of(paths, caller, wrapper_cfa(call), begin);
    while (way && (!way->links || !python_chain_holds(way_chain(way), frame) || !way_is_of(way, key, caller, call)))
        way = way->next;
    return way;
}

const struct path_way *callpath_find(struct log *log, enum call kind, wrapper_call call)
{
    struct callpaths *paths = &log->paths;
    const uint64_t *frame = wrapper_frame(call);
    unsigned depth = (unsigned)knob_load(KNOB_CALL_DEPTH);
    struct path_way key = {.key = RELAXED_LOAD(&callpath_generation) + kind, .caller = frame[1], .call = call};
    uint64_t python_key = (key.key | WAY_PYTHON) + RELAXED_LOAD(&python_generation);
    const struct path_way *way = python_is_known() ? python_look_up(paths, python_key, key.caller, call) : NULL;
    if (way)
        return way;
    MPIT_ASSERT(callpaths_is_valid(paths));
    if (!frame[1])
        return paths->none;
    if (paths->others)
        return paths->others;
    sigset_t before;
    signals_hold(&before); /* a handler that leaves by a jump would leave the lock taken */
    pthread_mutex_lock(&lock);
    finding.python.count = finding.python.links = 0;
    size_t words = depth ? frames_find(paths, kind, call, depth) : 0;
    if (finding.python.links) {
        key.key = python_key;
        ways_collect(paths, &key);
    }
    key.cells = paths->none->cells;
    key.site = depth ? finding.site : return_address(frame[1]);
    uint32_t number = depth ? path_number(&finding.frames) : 0;
    bool counted = !number || way_number(&key, log, number);
    way = counted ? way_add(paths, &key, words) : NULL;
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return way ? way : others_open(log, number != 0);
}
