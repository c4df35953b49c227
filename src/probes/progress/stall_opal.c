/*
 * Open MPI: opal_progress returns nothing, but its components do. They register functions that return the number of
 * finished things. A relay is registered in place of each function. It calls the function and notes the answer.
 *
 * While all waits are short, the answers are not needed. A message that comes within a quarter of a microsecond would
 * come later because of the watch. Then the watch rests: opal_progress and the relays jump past mpit. Open MPI calls a
 * function of low priority with each eighth poll, and that function counts them. It ends the rest in the middle of the
 * first call that has used up half of its patience. The other half is watched poll by poll. A sleep, or data moved by a
 * socket, also ends the rest. The watch rests again when enough calls in a row had no stall.
 *
 *     opal_progress:  jmp *gate_opal_progress   -> the definition below      or, at rest, the library's
 *     relay i:        jmp *relay_targets[i]     -> ask_i: ask, and note      or, at rest, the component's function
 *
 * The watch rests only where one thread at a time calls MPI: of several threads that poll, one may meet none of the
 * eighth polls. It does not rest while operations below MPI are counted. Those that begin in a relay belong to another
 * call than the poll.
 */
#include "fabric/fabric.h"
#include "gate.h"
#include "progress/polling.h"
#include "preload.h"

#include <pthread.h>
#include <stddef.h>

typedef int (*progress_function)(void);
extern void opal_progress(void);
extern int ompi_sync_wait_mt(void *sync);
extern int opal_progress_register(progress_function function);
extern int opal_progress_register_lp(progress_function function);
extern int opal_progress_unregister(progress_function function);

/* More than the components of any Open MPI that make progress. Functions beyond are registered without a relay. */
enum { RELAYS = 32 };

static progress_function asked[RELAYS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct native_behind progress = {.name = "opal_progress"}, wait_many = {.name = "ompi_sync_wait_mt"};
static struct native_behind add = {.name = "opal_progress_register"}, add_low = {.name = "opal_progress_register_lp"},
                            remove_one = {.name = "opal_progress_unregister"};

/* The targets of the relays' jumps. */
void *relay_targets[RELAYS] __attribute__((visibility("hidden"), used));

/* A registered function exists. */
HOT int ask(size_t i)
{
    int moved = __atomic_load_n(&asked[i], __ATOMIC_ACQUIRE)();
    if (__builtin_expect(moved > 0, 0))
        poll_found();
    return moved;
}

#define RELAYS_OF_8(X, tens) X(tens##0) X(tens##1) X(tens##2) X(tens##3) X(tens##4) X(tens##5) X(tens##6) X(tens##7)
#define RELAYS_MAKE(X) RELAYS_OF_8(X, 0) RELAYS_OF_8(X, 1) RELAYS_OF_8(X, 2) RELAYS_OF_8(X, 3)
/* numbers of two octal digits */
#define RELAY(i)                                                                                                       \
    static int ask_##i(void)                                                                                           \
    {                                                                                                                  \
        return ask(0##i);                                                                                              \
    }                                                                                                                  \
    extern int relay_##i(void) __asm__("mpit_relay_" #i) HIDDEN;                                                       \
    GATE_LOCAL("mpit_relay_" #i, "relay_targets+8*0" #i);
#define ASK_NAME(i) ask_##i,
#define RELAY_NAME(i) relay_##i,
RELAYS_MAKE(RELAY)
static const progress_function asks[RELAYS] = {RELAYS_MAKE(ASK_NAME)}, relays[RELAYS] = {RELAYS_MAKE(RELAY_NAME)};
_Static_assert(sizeof relay_targets[0] == 8, "the relays' jumps take so many bytes for each");

static void relay_turn(size_t i, progress_function target)
{
    __atomic_store_n(&relay_targets[i], (void *)target, __ATOMIC_RELEASE);
}

/* Returns the relay of a function that has one, or a new one if `add`, else the function itself. */
static progress_function relay_of(progress_function function, bool add)
{
    progress_function relay = function;
    pthread_mutex_lock(&lock);
    size_t free = RELAYS, i = 0;
    for (; i < RELAYS && asked[i] != function; i++)
        if (!asked[i] && free == RELAYS)
            free = i;
    if (i < RELAYS) {
        relay = relays[i];
    } else if (add && free < RELAYS) {
        __atomic_store_n(&asked[free], function, __ATOMIC_RELEASE);
        relay_turn(free, RELAXED_LOAD(&stall_rest.rests) ? function : asks[free]);
        relay = relays[free];
    }
    pthread_mutex_unlock(&lock);
    return relay;
}

/* The place of a function stays its own, because another thread may be in the relay. If nothing is recorded, no relay
 * is added, but a function that has a relay keeps it. */
static int pass_on(struct native_behind *call, const void *caller, progress_function function, bool adds)
{
    int (*behind)(progress_function) = (int (*)(progress_function))native_symbol_behind(call, caller);
    if (!behind) /* not defined: a weak reference, which finds this one */
        return -1;
    return behind(function ? relay_of(function, adds && mpit_preload.recorded) : NULL);
}

GATE(opal_progress_register);
int opal_progress_register(progress_function function)
{
    return pass_on(&add, __builtin_return_address(0), function, true);
}

GATE(opal_progress_register_lp);
int opal_progress_register_lp(progress_function function)
{
    return pass_on(&add_low, __builtin_return_address(0), function, true);
}

GATE(opal_progress_unregister);
int opal_progress_unregister(progress_function function)
{
    return pass_on(&remove_one, __builtin_return_address(0), function, false);
}

/* A process may not have polled when MPI_Init returns. Then it is enough that the MPI library sees it. */
bool stall_opal_here(void)
{
    return native_symbol(progress.name) != NULL;
}

/* If several threads wait at once, one makes progress, and the others sleep until it wakes them up. */
GATE(ompi_sync_wait_mt);
int ompi_sync_wait_mt(void *sync)
{
    int (*behind)(void *) = (int (*)(void *))native_symbol_behind(&wait_many, __builtin_return_address(0));
    if (__builtin_expect(!behind, 0))
        return -1;
    struct log *log = sleep_begin();
    int result = behind(sync);
    if (log)
        sleep_end(log);
    return result;
}

static __attribute__((noinline)) void opal_progress_watched(const void *caller)
{
    void (*behind)(void) = (void (*)(void))native_symbol_behind(&progress, caller);
    if (__builtin_expect(!behind, 0))
        return;
    struct log *log = poll_begin();
    behind();
    if (log)
        poll_end(log, false);
}

/* ---- the watch and its rest -------------------------------------------------------------------------------------- */

enum { EIGHTH = 8, UNLEARNED = 64, ENOUGH = 16, ENOUGH_MOST = 1 << 20 };

static struct {
    bool able;       /* it may rest. Another thread may end that */
    uint64_t call;   /* begin of the last call that polled */
    uint32_t polls;  /* of that call, at rest */
    uint32_t enough; /* number of calls without a stall before it rests */
} watch = {.enough = ENOUGH};

GATE(opal_progress);

/* A thread that passes one of them meanwhile goes either way. */
static void watch_turn(bool rests)
{
    progress_function function;
    for (size_t i = 0; i < RELAYS && (function = __atomic_load_n(&asked[i], __ATOMIC_ACQUIRE)); i++)
        relay_turn(i, rests ? function : asks[i]);
    __atomic_store_n(&gate_opal_progress, rests ? native_symbol_known(&progress) : (void *)opal_progress,
                     __ATOMIC_RELEASE);
    __atomic_store_n(&stall_rest.rests, rests, __ATOMIC_SEQ_CST);
    RELAXED_STORE(&stall_rest.calls, 0);
}

/* The watch rests less often from now on. */
void stall_opal_rest_end(void)
{
    if (watch.enough < ENOUGH_MOST)
        watch.enough *= 4;
    watch_turn(false);
}

/* Called with each eighth poll. */
static int eighth(void)
{
    struct log *log = thread_log;
    if (!RELAXED_LOAD(&stall_rest.rests) || !poll_is_quick(log))
        return 0;
    struct stall *stall = &log->stall;
    if (log->state->since != watch.call) {
        watch.call = log->state->since;
        watch.polls = 0;
    }
    watch.polls += EIGHTH;
    if (watch.polls < (stall->idle ? stall->patience / 2 : UNLEARNED) || !stall_waiting())
        return 0;
    stall->polling -= stall->polling / 2; /* the used part is not known */
    watch_turn(false);
    return 0;
}

void stall_opal_rest(bool may)
{
    if (!may) {
        __atomic_store_n(&watch.able, false, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&stall_rest.rests, __ATOMIC_SEQ_CST))
            watch_turn(false);
        return;
    }
    int (*behind)(progress_function) = (int (*)(progress_function))native_symbol(add_low.name);
    if (!watch.able && behind && native_symbol_known(&progress) && mpit_preload.recorded)
        watch.able = behind(eighth) == 0;
}

/* Called after a poll that was not in a stall. */
HOT void watch_look(const struct log *log)
{
    if (__builtin_expect(log->state->since == watch.call, 1))
        return;
    watch.call = log->state->since;
    RELAXED_STORE(&stall_rest.calls, RELAXED_LOAD(&stall_rest.calls) + 1);
    if (RELAXED_LOAD(&stall_rest.calls) <= watch.enough || !RELAXED_LOAD(&watch.able) || RELAXED_LOAD(&fabric_on))
        return;
    watch_turn(true);
    if (!__atomic_load_n(&watch.able, __ATOMIC_SEQ_CST)) /* since the check above */
        watch_turn(false);
}

void opal_progress(void)
{
    void (*behind)(void) = (void (*)(void))native_symbol_known(&progress);
    struct log *log = thread_log;
    if (!behind || !poll_is_quick(log)) {
        opal_progress_watched(__builtin_return_address(0));
        return;
    }
    uint64_t after = poll_quick_begin(log);
    behind();
    poll_quick_end(log, after, false);
    watch_look(log);
}
