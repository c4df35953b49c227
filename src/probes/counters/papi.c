#include "counters/papi.h"

#include "base/cancel.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The part of PAPI's interface (papi.h) that is unchanged since version 5. */
enum { PAPI_OK_ = 0, PAPI_NULL_ = -1, PAPI_ENOEVNT_ = -7, PAPI_ECNFLCT_ = -8, PAPI_EPERM_ = -15 };
enum { PAPI_ENUM_FIRST_ = 1, PAPI_ENUM_EVENTS_ = 0, PAPI_NAME_BYTES_ = 1024 };
enum { PAPI_PRESET_ = (int)0x80000000u, PAPI_NATIVE_ = 0x40000000 };

static struct {
    int (*library_init)(int);
    int (*thread_init)(unsigned long (*)(void));
    int (*register_thread)(void);
    int (*unregister_thread)(void);
    int (*create_eventset)(int *);
    int (*add_named_event)(int, const char *);
    int (*start)(int);
    int (*read)(int, long long *);
    int (*stop)(int, long long *);
    int (*cleanup_eventset)(int);
    int (*destroy_eventset)(int *);
    char *(*strerror)(int);
    int (*num_components)(void);
    const void *(*get_component_info)(int);
    int (*enum_cmp_event)(int *, int, int);
    int (*event_code_to_name)(int, char *);
} papi;

static int papi_version;

/* The beginning of PAPI_component_info_t, as version 7 has it. */
struct component_info {
    char name[128], short_name[64], description[128], version[64], support_version[64], kernel_version[64];
    char disabled_reason[1024];
    int disabled;
};

static bool symbols_find(void *library)
{
    const struct {
        const char *name;
        void *where;
    } wanted[] = {{"PAPI_library_init", &papi.library_init},
                  {"PAPI_thread_init", &papi.thread_init},
                  {"PAPI_register_thread", &papi.register_thread},
                  {"PAPI_unregister_thread", &papi.unregister_thread},
                  {"PAPI_create_eventset", &papi.create_eventset},
                  {"PAPI_add_named_event", &papi.add_named_event},
                  {"PAPI_start", &papi.start},
                  {"PAPI_read", &papi.read},
                  {"PAPI_stop", &papi.stop},
                  {"PAPI_cleanup_eventset", &papi.cleanup_eventset},
                  {"PAPI_destroy_eventset", &papi.destroy_eventset},
                  {"PAPI_strerror", &papi.strerror},
                  {"PAPI_num_components", &papi.num_components},
                  {"PAPI_get_component_info", &papi.get_component_info},
                  {"PAPI_enum_cmp_event", &papi.enum_cmp_event},
                  {"PAPI_event_code_to_name", &papi.event_code_to_name}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *found = dlsym(library, wanted[i].name);
        if (!found)
            return false;
        memcpy(wanted[i].where, &found, sizeof found);
    }
    return true;
}

static void *library_open(bool *theirs)
{
    static const char *const names[] = {"libpapi.so.7.2", "libpapi.so.7.1", "libpapi.so.7.0", "libpapi.so.7",
                                        "libpapi.so.6.0", "libpapi.so.6",   "libpapi.so.5",   "libpapi.so"};
    enum { NAMES = sizeof names / sizeof names[0] };
    for (size_t i = 0; i < NAMES; i++)
        if (dlopen(names[i], RTLD_NOW | RTLD_NOLOAD)) {
            *theirs = true;
            return NULL;
        }
    void *library = NULL;
    for (size_t i = 0; i < NAMES && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* Initializes PAPI, which accepts only the version of its own header. */
static bool version_find(void)
{
    for (int major = 7; major >= 5; major--)
        for (int minor = 9; minor >= 0; minor--) {
            int version = major << 24 | minor << 16, got = papi.library_init(version);
            if (got == version) {
                papi_version = version;
                return true;
            }
        }
    return false;
}

static unsigned long thread_number(void)
{
    return (unsigned long)pthread_self();
}

bool papi_open(char reason[PAPI_REASON_BYTES])
{
    static bool tried, good;
    static char why[PAPI_REASON_BYTES];
    bool theirs = false;
    if (!MPIT_HAS_PAPI) {
        snprintf(reason, PAPI_REASON_BYTES, "this mpit was built without PAPI (MPIT_PAPI is OFF)");
        return false;
    }
    if (!tried) {
        void *library = library_open(&theirs);
        if (theirs)
            snprintf(why, sizeof why, "the program itself has loaded PAPI, and mpit does not touch its counters");
        else if (!library)
            snprintf(why, sizeof why, "libpapi cannot be loaded (package libpapi7.0 or the like)");
        else if (!symbols_find(library))
            snprintf(why, sizeof why, "libpapi is older than version 5");
        else if (!version_find())
            snprintf(why, sizeof why, "libpapi cannot be initialized");
        else
            good = papi.thread_init(thread_number) == PAPI_OK_;
        if (!good && !why[0])
            snprintf(why, sizeof why, "PAPI cannot count by thread on this system");
        tried = true;
    }
    memcpy(reason, why, PAPI_REASON_BYTES);
    return good;
}

/* Returns PAPI's reason why there are no counters of the processor. */
static const char *processor_reason(void)
{
    int version = papi_version >> 24;
    for (int i = 0; version == 7 && i < papi.num_components(); i++) {
        const struct component_info *info = papi.get_component_info(i);
        if (info && strcmp(info->name, "perf_event") == 0 && info->disabled)
            return info->disabled_reason;
    }
    return NULL;
}

static int set_new(struct papi_sets *sets)
{
    int set = PAPI_NULL_, result = papi.create_eventset(&set);
    if (result == PAPI_OK_)
        sets->sets[sets->count] = set;
    return result;
}

bool papi_add(struct papi_sets *sets, const char *name, char reason[PAPI_REASON_BYTES])
{
    int result = PAPI_ENOEVNT_, conflict = PAPI_OK_;
    size_t set = 0;
    for (; set < sets->count; set++) {
        result = papi.add_named_event(sets->sets[set], name);
        if (result == PAPI_OK_)
            break;
        if (result == PAPI_ECNFLCT_)
            conflict = result;
    }
    if (set == sets->count && conflict == PAPI_OK_ && sets->count < PAPI_EVENTS_MOST &&
        (result = set_new(sets)) == PAPI_OK_) {
        result = papi.add_named_event(sets->sets[set], name);
        if (result == PAPI_OK_)
            sets->count++;
        else
            papi.destroy_eventset(&sets->sets[set]);
    }
    if (result == PAPI_OK_ && sets->events < PAPI_EVENTS_MOST) {
        sets->place[sets->events++] = (uint8_t)(set << 4 | sets->counts[set]++);
        return true;
    }
    const char *processor = processor_reason();
    if (conflict != PAPI_OK_)
        snprintf(reason, PAPI_REASON_BYTES,
                 "the processor has no free counter for it after the events named before; name it in another run (mpit "
                 "does not multiplex counters, because the values would be estimates)");
    else if (result == PAPI_EPERM_)
        snprintf(reason, PAPI_REASON_BYTES,
                 "the system does not permit it (/proc/sys/kernel/perf_event_paranoid; CAP_PERFMON)");
    else if (processor)
        snprintf(reason, PAPI_REASON_BYTES,
                 "PAPI does not know it, and PAPI has no counters for this processor: \"%.200s\"", processor);
    else
        snprintf(reason, PAPI_REASON_BYTES, "error of PAPI: %.200s", papi.strerror(result));
    return false;
}

bool papi_start(struct papi_sets *sets, char reason[PAPI_REASON_BYTES])
{
    for (size_t i = 0; i < sets->count; i++) {
        int result = papi.start(sets->sets[i]);
        if (result != PAPI_OK_) {
            snprintf(reason, PAPI_REASON_BYTES, "error of PAPI: %.200s", papi.strerror(result));
            return false;
        }
    }
    return true;
}

bool papi_read(const struct papi_sets *sets, uint64_t *values)
{
    long long got[PAPI_EVENTS_MOST][PAPI_EVENTS_MOST];
    int cancel = cancel_hold();
    bool good = true;
    for (size_t i = 0; good && i < sets->count; i++)
        good = papi.read(sets->sets[i], got[i]) == PAPI_OK_;
    cancel_release(cancel);
    if (!good)
        return false;
    for (size_t i = 0; i < sets->events; i++)
        values[i] = (uint64_t)got[sets->place[i] >> 4][sets->place[i] & 15];
    return true;
}

void papi_stop(struct papi_sets *sets)
{
    long long got[PAPI_EVENTS_MOST];
    for (size_t i = 0; i < sets->count; i++) {
        papi.stop(sets->sets[i], got);
        papi.cleanup_eventset(sets->sets[i]);
        papi.destroy_eventset(&sets->sets[i]);
    }
    *sets = (struct papi_sets){.count = 0};
}

void papi_thread_begin(void)
{
    papi.register_thread();
}

void papi_thread_end(void)
{
    papi.unregister_thread();
}

void papi_names(void (*take)(void *to, const char *name), void *to)
{
    char name[PAPI_NAME_BYTES_];
    for (int i = 0; i < papi.num_components(); i++) {
        for (int preset = 0; preset < 2; preset++) {
            int code = preset ? PAPI_PRESET_ : PAPI_NATIVE_;
            for (int more = papi.enum_cmp_event(&code, PAPI_ENUM_FIRST_, i); more == PAPI_OK_;
                 more = papi.enum_cmp_event(&code, PAPI_ENUM_EVENTS_, i))
                if (papi.event_code_to_name(code, name) == PAPI_OK_)
                    take(to, name);
        }
    }
}
