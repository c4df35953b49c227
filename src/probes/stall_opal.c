/*
 * Open MPI: opal_progress returns nothing, but the components that it asks do. They register functions that return how
 * many things have moved on; each is registered here instead as one that asks it and notes the answer.
 */
#include "copy.h"
#include "gate.h"
#include "polling.h"

#include <pthread.h>
#include <stddef.h>

typedef int (*progress_function)(void);
extern void opal_progress(void);
extern int ompi_sync_wait_mt(void *sync);
extern int opal_progress_register(progress_function function);
extern int opal_progress_register_lp(progress_function function);
extern int opal_progress_unregister(progress_function function);

/* More components than that make progress in no Open MPI; those that do not fit are registered as they are. */
enum { RELAYS = 32 };

static progress_function asked[RELAYS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct native_behind progress = {.name = "opal_progress"}, wait_many = {.name = "ompi_sync_wait_mt"};
static struct native_behind add = {.name = "opal_progress_register"}, add_low = {.name = "opal_progress_register_lp"},
                            remove_one = {.name = "opal_progress_unregister"};

/* One that is registered is there. */
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
    static int relay_##i(void)                                                                                         \
    {                                                                                                                  \
        return ask(0##i);                                                                                              \
    }
#define RELAY_NAME(i) relay_##i,
RELAYS_MAKE(RELAY)
static const progress_function relays[RELAYS] = {RELAYS_MAKE(RELAY_NAME)};

/* The relay of a function that has one, or a new one if `add`; else the function itself. */
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
        relay = relays[free];
    }
    pthread_mutex_unlock(&lock);
    return relay;
}

/* Its place stays its own: another thread may be in the relay. Where this copy of the library does not record, nothing
 * is asked; what has a relay keeps it. */
static int pass_on(struct native_behind *call, const void *caller, progress_function function, bool adds)
{
    int (*behind)(progress_function) = (int (*)(progress_function))native_symbol_behind(call, caller);
    if (!behind) /* it is nowhere: a weak reference, which finds this one */
        return -1;
    return behind(function ? relay_of(function, adds && copy_records()) : NULL);
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

/* A process may not have polled when MPI_Init returns; then it is enough that the MPI library sees it. */
bool stall_opal_here(void)
{
    return native_symbol(progress.name) != NULL;
}

/* Of threads that wait at once one makes progress, and the others sleep until it wakes them up. */
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

static __attribute__((noinline)) void progress_watched(const void *caller)
{
    void (*behind)(void) = (void (*)(void))native_symbol_behind(&progress, caller);
    if (__builtin_expect(!behind, 0))
        return;
    struct log *log = poll_begin();
    behind();
    if (log)
        poll_end(log, false);
}

GATE(opal_progress);
void opal_progress(void)
{
    void (*behind)(void) = (void (*)(void))native_symbol_known(&progress);
    struct log *log = thread_log;
    if (!behind || !poll_is_quick(log)) {
        progress_watched(__builtin_return_address(0));
        return;
    }
    uint64_t after = poll_quick_begin(log);
    behind();
    poll_quick_end(log, after, false);
}
