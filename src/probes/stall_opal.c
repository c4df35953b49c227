/*
 * Open MPI: opal_progress returns nothing, but the components that it asks do. They register functions that return how
 * many things have moved on; each is registered here instead as one that asks it and notes the answer.
 */
#include "gate.h"
#include "stall.h"

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
static void (*next_progress)(void);

static int ask(size_t i)
{
    progress_function function = __atomic_load_n(&asked[i], __ATOMIC_ACQUIRE);
    int moved = function ? function() : 0;
    if (moved > 0)
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

/* Its place stays its own: another thread may be in the relay. */
static int pass_on(const char *name, progress_function function, bool add)
{
    int (*behind)(progress_function) = (int (*)(progress_function))native_symbol_behind(name, "libopen-pal.so");
    return behind ? behind(function ? relay_of(function, add) : NULL) : -1;
}

GATE(opal_progress_register);
int opal_progress_register(progress_function function)
{
    return pass_on("opal_progress_register", function, true);
}

GATE(opal_progress_register_lp);
int opal_progress_register_lp(progress_function function)
{
    return pass_on("opal_progress_register_lp", function, true);
}

GATE(opal_progress_unregister);
int opal_progress_unregister(progress_function function)
{
    return pass_on("opal_progress_unregister", function, false);
}

bool stall_opal_here(void)
{
    if (!next_progress)
        next_progress = (void (*)(void))native_symbol_behind("opal_progress", "libopen-pal.so");
    return next_progress != NULL;
}

/* Of threads that wait at once one makes progress, and the others sleep until it wakes them up. */
GATE(ompi_sync_wait_mt);
int ompi_sync_wait_mt(void *sync)
{
    static int (*behind)(void *);
    int (*wait)(void *) = __atomic_load_n(&behind, __ATOMIC_RELAXED);
    if (__builtin_expect(!wait, 0)) {
        wait = (int (*)(void *))native_symbol_behind("ompi_sync_wait_mt", "libopen-pal.so");
        __atomic_store_n(&behind, wait, __ATOMIC_RELAXED);
    }
    struct log *log = sleep_begin();
    int result = wait(sync);
    if (log)
        sleep_end(log);
    return result;
}

GATE(opal_progress);
void opal_progress(void)
{
    if (__builtin_expect(!next_progress, 0) && !stall_opal_here())
        return;
    struct log *log = poll_begin();
    next_progress();
    if (log)
        poll_end(log, false);
}
