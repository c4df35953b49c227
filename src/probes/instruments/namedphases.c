#include "instruments/namedphases.h"

#include "base/peek.h"
#include "base/threadown.h"
#include "format/label.h"
#include "instruments/regionrecord.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PHASES_OPEN_MOST = 32, PHASES_MOST = 256, NUMBERED_LEAST = 5, NAME_BYTES = MPIT_NAME_MAX + 1 };

struct open_phase {
    char name[NAME_BYTES]; /* with its prefix */
    struct region_begin begin;
};

struct thread_phases {
    uint32_t count;
    struct open_phase list[PHASES_OPEN_MOST]; /* in the order of their begins */
    uintptr_t seen_at;                        /* the last call of MPI_Pcontrol. 0: none that may be passed on */
    int seen_level;
};

/* Append-only. Names are never removed. */
static struct mpit_region *regions[PHASES_MOST];
static uint32_t region_count; /* the regions first: partner in phase_region */
static pthread_mutex_t regions_lock = PTHREAD_MUTEX_INITIALIZER;

/* Made for the thread's first phase. */
THREAD_OWN(struct thread_phases *, thread_phases);
THREAD_OWN(volatile sig_atomic_t, phases_busy);
static pthread_key_t thread_phases_key;

static void thread_phases_free(void *phases)
{
    thread_phases = NULL;
    free(phases);
}

static void thread_phases_key_make(void)
{
    if (pthread_key_create(&thread_phases_key, thread_phases_free) != 0)
        thread_phases_key = PTHREAD_KEYS_MAX;
}

/* Returns NULL without memory. */
static struct thread_phases *thread_phases_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (thread_phases)
        return thread_phases;
    pthread_once(&once, thread_phases_key_make);
    struct thread_phases *made = calloc(1, sizeof *made);
    if (made && pthread_setspecific(thread_phases_key, made) == 0)
        return thread_phases = made;
    free(made);
    return NULL;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("_.:/-", c));
}

/* Reads the name at an address that may be anything. Characters that a name cannot have become _. */
static bool name_read(uintptr_t address, char name[NAME_BYTES])
{
    const size_t prefix = sizeof PHASE_PREFIX - 1;
    char *text = name + prefix, clean[NAME_BYTES];
    memcpy(name, PHASE_PREFIX, prefix);
    size_t got = address ? memory_peek(text, address, NAME_BYTES - prefix) : 0;
    const char *end = memchr(text, '\0', got);
    if (!end || end == text)
        return false;
    label_clean(clean, sizeof clean, text, NAME_BYTES - prefix);
    if (strcmp(clean, text) != 0) /* not printable, or not UTF-8 */
        return false;
    for (char *c = text; *c; c++)
        if (!is_of_name(*c))
            *c = '_';
    return true;
}

/* Reads which phase the call is about. */
static bool phase_name(int level, uintptr_t argument, char name[NAME_BYTES])
{
    int number = level > 0 ? level : -level;
    if (level == 1 || level == -1)
        return name_read(argument, name);
    if (level == INT_MIN || number < NUMBERED_LEAST)
        return false;
    snprintf(name, NAME_BYTES, PHASE_PREFIX "%d", number);
    return true;
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

static struct mpit_region *region_find(const char *name, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(regions[i]->name, name) == 0)
            return regions[i];
    return NULL;
}

/* Under the lock. Returns NULL without memory, or if there are too many. */
static struct mpit_region *region_make(const char *name)
{
    static bool told;
    char error[INSTRUMENT_ERROR_BYTES] = "";
    struct mpit_region *region = region_count < PHASES_MOST ? calloc(1, sizeof *region) : NULL;
    char *kept = region ? strdup(name) : NULL;
    if (region && kept) {
        region->name = kept;
        region->description = "A phase that the program begins and ends with MPI_Pcontrol.";
        region->category = "phases";
        if (instrument_region_register(region, PHASE_COMPONENT, error) == MPIT_OK) {
            regions[region_count] = region;
            __atomic_store_n(&region_count, region_count + 1, __ATOMIC_RELEASE);
            return region;
        }
    }
    free(kept);
    free(region);
    if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
        native_say("mpit: phase \"%.60s\" of MPI_Pcontrol is not recorded: %s", name + sizeof PHASE_PREFIX - 1,
                   error[0]                      ? error
                   : region_count == PHASES_MOST ? "there are 256 other names already"
                                                 : "out of memory");
    return NULL;
}

static const struct instrument_instance *phase_region(const char *name)
{
    struct mpit_region *region = region_find(name, __atomic_load_n(&region_count, __ATOMIC_ACQUIRE));
    if (!region) {
        pthread_mutex_lock(&regions_lock);
        region = region_find(name, region_count);
        if (!region)
            region = region_make(name);
        pthread_mutex_unlock(&regions_lock);
    }
    const struct mpit_cell *cell = region ? __atomic_load_n(&region->cell, __ATOMIC_ACQUIRE) : NULL;
    return cell ? cell->instance : NULL;
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

static struct open_phase *open_find(struct thread_phases *phases, const char *name)
{
    for (uint32_t i = phases->count; i-- > 0;)
        if (strcmp(phases->list[i].name, name) == 0)
            return &phases->list[i];
    return NULL;
}

static void open_remove(struct thread_phases *phases, struct open_phase *open)
{
    struct open_phase *end = phases->list + phases->count--;
    memmove(open, open + 1, (size_t)(end - open - 1) * sizeof *open);
}

static void phase_begin(struct thread_phases *phases, const char *name)
{
    struct open_phase *open = open_find(phases, name);
    if (!open && phases->count == PHASES_OPEN_MOST)
        open = &phases->list[0]; /* the oldest most likely has no end */
    if (open)
        open_remove(phases, open);
    open = &phases->list[phases->count++];
    strcpy(open->name, name);
    region_begin(&open->begin, log_recording());
}

static void phase_end(struct thread_phases *phases, const char *name)
{
    static bool told;
    struct open_phase *open = phases ? open_find(phases, name) : NULL;
    if (!open) {
        if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
            native_say("mpit: MPI_Pcontrol ends phase \"%.60s\", which the thread has not begun, or which an outer "
                       "phase has ended; the call is ignored",
                       name + sizeof PHASE_PREFIX - 1);
        return;
    }
    struct open_phase ended = *open;
    phases->count = (uint32_t)(open - phases->list);
    struct log *log = log_recording();
    const struct instrument_instance *instance = log && log == ended.begin.log ? phase_region(name) : NULL;
    uintptr_t outer;
    if (instance && instance->record && log_in(log, stack_entered(), &outer)) {
        region_record(log, instance, &ended.begin, clock_now(), false);
        log_out(log, outer);
    }
}

/* Returns true if the call is the one that was seen last, passed on by another tool. */
static bool is_passed_on(struct thread_phases *phases, int level, bool profiled, uintptr_t here)
{
    bool same = profiled && phases->seen_at && here <= phases->seen_at && level == phases->seen_level;
    phases->seen_at = profiled ? 0 : here;
    phases->seen_level = level;
    return same;
}

static void phase_turn(int level, uintptr_t argument, bool profiled, uintptr_t here)
{
    char name[NAME_BYTES];
    bool named = phase_name(level, argument, name);
    struct thread_phases *phases = named ? thread_phases_get() : thread_phases;
    if ((phases && is_passed_on(phases, level, profiled, here)) || !named)
        return;
    if (level < 0)
        phase_end(phases, name);
    else if (phases)
        phase_begin(phases, name);
}

/* A signal handler may have interrupted the thread in here. Then its phase does not count. */
void phases_called(int level, uintptr_t argument, bool profiled, uintptr_t here)
{
    if (phases_busy)
        return;
    phases_busy = 1;
    phase_turn(level, argument, profiled, here);
    phases_busy = 0;
}
