/*
 * libmpit.so: the one library that is preloaded, for all MPIs. In a process without MPI it does nothing. It needs no
 * symbol of a glibc later than 2.17, has no thread-local storage, and never ends the process.
 *
 * A function is resolved when it is first called, or when the library is loaded into a program that is linked to MPI.
 * There is no lock of our own: the recorder's constructor writes the gates while the loader holds its lock, and a gate
 * that somebody else has written meanwhile stays.
 */
#define _GNU_SOURCE
#include "preload.h"

#include "absent.h"
#include "backends.h"
#include "forkagent.h"
#include "gatenames.h"
#include "oldlibc.h"
#include "saying.h"

#include <errno.h>
#include <link.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define PRELOAD_PREFIX "mpit_gate_"
#include "trampoline.h"

TRAMPOLINES;

static void *next(const char *name);
static void *library_look(void);

/* The linker's names for the first byte of this library, and the one behind its last. */
extern const char __ehdr_start[] __attribute__((visibility("hidden"))), _end[] __attribute__((visibility("hidden")));

__attribute__((visibility("default"))) struct mpit_preload mpit_preload = {.version = PRELOAD_VERSION,
                                                                           .next = next,
                                                                           .library = library_look,
                                                                           .say = say_once,
                                                                           .begin = __ehdr_start,
                                                                           .end = _end};

/* This library's, where another libmpit.so in front of it has one of the same name. */
extern struct mpit_preload own __attribute__((alias("mpit_preload"), visibility("hidden")));

static const struct backend {
    const char *name, *title, *marker, *libraries, *fortran, *runtimes; /* lists: words, each with a space behind it */
} backends[] = {
#define BACKEND(id, name, title, marker, libraries, fortran, cplusplus, runtimes)                                      \
    {name, title, marker, libraries, fortran, runtimes},
    BACKENDS(BACKEND)
#undef BACKEND
};
enum { BACKEND_COUNT = sizeof backends / sizeof backends[0], PROBLEM_BYTES = 512 };

static void *library;                  /* of MPI, where it was loaded out of the global scope */
static const struct backend *attached; /* whose recorder is there */
static bool refuses;                   /* no recorder is loaded: every gate leads to the next definition */
static char problem[PROBLEM_BYTES];    /* why; "": that is as it should be */
static char here[PATH_MAX];            /* where libmpit.so and the recorders are, with a slash behind it */

static bool begins_with_one(const char *text, const char *words)
{
    for (size_t bytes; *words; words += bytes + 1) {
        bytes = strcspn(words, " ");
        if (bytes && strncmp(text, words, bytes) == 0)
            return true;
    }
    return false;
}

/* One of them after the other; a library is not opened while the list is held. */
struct fortran_search {
    int left;
    char path[PATH_MAX];
};

static int fortran_judge(struct dl_phdr_info *info, size_t bytes, void *data)
{
    struct fortran_search *search = data;
    const char *slash = strrchr(info->dlpi_name, '/'), *base = slash ? slash + 1 : info->dlpi_name;
    bool is = false;
    (void)bytes;
    for (size_t i = 0; i < BACKEND_COUNT && !is; i++)
        is = begins_with_one(base, backends[i].fortran);
    if (!is || strlen(info->dlpi_name) >= PATH_MAX || search->left-- > 0)
        return 0;
    strcpy(search->path, info->dlpi_name);
    return 1;
}

/* Names as Fortran compilers make them, and as Open MPI's layers call each other. */
static bool is_fortran(const char *name)
{
    size_t bytes = strlen(name);
    return (strncmp(name, "mpi_", 4) == 0 || strncmp(name, "pmpi_", 5) == 0 || strncmp(name, "ompi_", 5) == 0) &&
           (name[bytes - 1] == '_' || strcmp(name + bytes - 2, "_f") == 0);
}

/* Of a library that binds MPI to Fortran, and was loaded out of the global scope. It stays open. */
static void *next_of_fortran(const char *name)
{
    struct fortran_search search;
    void *symbol = NULL;
    for (int tried = 0; !symbol; tried++) {
        search.left = tried;
        if (!dl_iterate_phdr(fortran_judge, &search))
            break;
        void *handle = old_dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD);
        symbol = handle ? old_dlsym(handle, name) : NULL;
    }
    return symbol;
}

/* dlsym finds out by its return address whose next definition is meant, so it must not be called in a jump. */
static void *next(const char *name)
{
    void *symbol = old_dlsym(RTLD_NEXT, name);
    symbol = !symbol && library ? old_dlsym(library, name) : symbol;
    return symbol || !is_fortran(name) ? symbol : next_of_fortran(name);
}

/* ---- which MPI ----------------------------------------------------------------------------------------------------
 */

static int library_judge(struct dl_phdr_info *info, size_t bytes, void *found)
{
    const char *slash = strrchr(info->dlpi_name, '/'), *base = slash ? slash + 1 : info->dlpi_name;
    bool is = strncmp(base, "libmpi", 6) == 0 && strncmp(base, "libmpit", 7) != 0;
    (void)bytes;
    for (size_t i = 0; i < BACKEND_COUNT && !is; i++)
        is = begins_with_one(base, backends[i].libraries);
    if (is && strlen(info->dlpi_name) < PATH_MAX)
        strcpy(found, info->dlpi_name);
    return strncmp(base, "libmpi.so", 9) == 0 || strncmp(base, "libmpich.so", 11) == 0;
}

/* Libraries of MPI that bind a language are loaded beside it; the name of the one that counts ends the search. */
static void *library_look(void)
{
    char path[PATH_MAX] = "";
    if (library)
        return library;
    dl_iterate_phdr(library_judge, path);
    void *handle = path[0] ? old_dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (handle && old_dlsym(handle, "PMPI_Init"))
        library = handle;
    return library;
}

static const struct backend *backend_named(const char *name)
{
    for (size_t i = 0; name && i < BACKEND_COUNT; i++)
        if (strcmp(name, backends[i].name) == 0)
            return &backends[i];
    return NULL;
}

/* The MPI that is in the process. */
static const struct backend *backend_here(void)
{
    for (size_t i = 0; i < BACKEND_COUNT; i++)
        if (next(backends[i].marker))
            return &backends[i];
    return NULL;
}

/* Where none is: the one that MPIT_MPI (mpit-run --mpi) names, or whose launcher has started the process. */
static const struct backend *backend_expected(void)
{
    const struct backend *named = backend_named(getenv("MPIT_MPI"));
    if (named)
        return named;
    if (getenv("OMPI_COMM_WORLD_RANK"))
        return backend_named("openmpi");
    return getenv("PMI_RANK") || getenv("PMI_FD") ? backend_named("mpich") : NULL;
}

/* A relative path of LD_PRELOAD holds as long as the program stays where it is. Functions may be called before
 * our constructor. */
static void here_note(void)
{
    Dl_info self;
    char from[PATH_MAX] = "";
    if (here[0] || !old_dladdr(&own, &self) || !self.dli_fname)
        return;
    const char *slash = strrchr(self.dli_fname, '/');
    int bytes = slash ? (int)(slash - self.dli_fname) + 1 : 0;
    if (bytes && self.dli_fname[0] != '/' && (!getcwd(from, sizeof from - 1) || !strcat(from, "/")))
        return;
    if (snprintf(here, sizeof here, "%s%.*s", from, bytes, self.dli_fname) >= (int)sizeof here)
        here[0] = '\0';
}

static bool recorder_path(const struct backend *backend, char path[PATH_MAX])
{
    here_note();
    return here[0] && snprintf(path, PATH_MAX, "%slibmpit-%s.so", here, backend->name) < PATH_MAX;
}

/* ---- the recorder -------------------------------------------------------------------------------------------------
 */

/* Another libmpit.so stands in front of this one: its recorder counts each call already. */
static bool is_second(void)
{
    Dl_info first;
    struct mpit_preload *other = old_dlsym(RTLD_DEFAULT, "mpit_preload");
    if (!other || other == &own)
        return false;
    if (old_dladdr(other, &first))
        snprintf(problem, sizeof problem, "mpit is loaded twice: %slibmpit.so leaves the recording to %s", here,
                 first.dli_fname);
    return true;
}

static bool is_refused(void)
{
    if (!refuses && (getauxval(AT_SECURE) || getenv("MPIT_DISABLE") || is_second()))
        refuses = true;
    return refuses;
}

/* A recorder that cannot be loaded is told when MPI_Init is called. */
static void recorder_load(const struct backend *backend)
{
    char path[PATH_MAX];
    __atomic_store_n(&own.wants, backend->name, __ATOMIC_RELEASE);
    void *handle = recorder_path(backend, path) ? old_dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (handle) {
        attached = backend;
        return;
    }
    const char *reason = old_dlerror();
    snprintf(problem, sizeof problem, "mpit: nothing is recorded of this program, which uses %s: %s", backend->title,
             reason ? reason : "the recorder cannot be loaded");
    refuses = true;
}

static void attach(bool expected)
{
    if (attached || is_refused())
        return;
    const struct backend *backend = backend_here();
    if (!backend && library_look())
        backend = backend_here();
    if (!backend && next("PMPI_Init")) {
        snprintf(problem, sizeof problem, "mpit: nothing is recorded: the program uses an MPI that mpit does not know");
        refuses = true;
        return;
    }
    if (!backend && expected)
        backend = backend_expected();
    if (backend)
        recorder_load(backend);
}

/* Without MPI, what libfabric and UCX do can be recorded by any recorder. */
static void attach_below(void)
{
    const char *fabric = getenv("MPIT_FABRIC");
    attach(false);
    if (attached || refuses || !fabric || !fabric[0] || strcmp(fabric, "0") == 0)
        return;
    const struct backend *backend = backend_expected();
    char path[PATH_MAX];
    for (size_t i = 0; i < BACKEND_COUNT && !backend; i++)
        if (recorder_path(&backends[i], path) && access(path, R_OK) == 0)
            backend = &backends[i];
    if (backend)
        recorder_load(backend);
}

/* ---- no MPI in the process ----------------------------------------------------------------------------------------
 */

static bool runtime_load(const struct backend *backend)
{
    char name[64];
    void *handle = NULL;
    const char *words = backend->runtimes;
    for (size_t bytes; *words && !handle; words += bytes + 1) {
        bytes = strcspn(words, " ");
        if (bytes && snprintf(name, sizeof name, "%.*s", (int)bytes, words) < (int)sizeof name)
            handle = old_dlopen(name, RTLD_LAZY | RTLD_GLOBAL);
    }
    return handle != NULL;
}

/* The program found MPI_Init here and takes MPI for loaded. So it is loaded now: the one that is expected, else the
 * first that mpit was built for and that is installed. */
static void runtime_bring(void)
{
    const struct backend *expected = backend_expected();
    char path[PATH_MAX];
    if (getauxval(AT_SECURE))
        return;
    if (expected)
        runtime_load(expected);
    for (size_t i = 0; i < BACKEND_COUNT && !expected; i++)
        if (recorder_path(&backends[i], path) && access(path, R_OK) == 0 && runtime_load(&backends[i]))
            return;
}

/* ---- the gates ----------------------------------------------------------------------------------------------------
 */

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_start(const char *name)
{
    name += *name == 'P';
    return strcmp(name, "MPI_Init") == 0 || strcmp(name, "MPI_Init_thread") == 0 ||
           strcmp(name, "MPI_Session_init") == 0;
}

/* Loads what the function needs. */
static void resolve_prepare(const char *name)
{
    if (strcmp(name, "mpi_collector_api") == 0)
        return; /* it is called in signal handlers */
    if (begins(name, "fi_") || begins(name, "ucp_"))
        attach_below();
    else
        attach(begins(name, "mpit_")); /* a library declares its instruments before MPI is there */
    if (!is_start(name))
        return;
    if (!attached && !next(name)) {
        runtime_bring();
        attach(false);
    }
    if (problem[0])
        say_once(problem);
}

void *preload_resolve(size_t number)
{
    const char *name = preload_names[number];
    void **gate = &preload_gates[number], *start = TRAMPOLINE_START(number);
    void *target = __atomic_load_n(gate, __ATOMIC_ACQUIRE);
    int error = errno;
    if (target == start) {
        resolve_prepare(name);
        target = __atomic_load_n(gate, __ATOMIC_ACQUIRE);
    }
    if (target == start) {
        void *behind = next(name);
        if (behind && __atomic_compare_exchange_n(gate, &target, behind, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            target = behind;
        else if (!behind)
            target = absent_function(name);
    }
    errno = error;
    return target;
}

/* ---- begin and end of the process ---------------------------------------------------------------------------------
 */

static pid_t process; /* not its children: what they inherit was told by the parent */

__attribute__((constructor)) static void preload_begin(int argc, char *argv[])
{
    process = getpid();
    if (getauxval(AT_SECURE)) {
        refuses = true;
        return;
    }
    here_note();
    launcher_prepare(argc, argv, here);
    if (backend_here())
        attach(false);
}

/*
 * A function that the program looks up in the handle of a library (dlsym), or that a library loaded with RTLD_DEEPBIND
 * calls, is the MPI library's own, whatever is preloaded. Only the end of the process is left to notice it.
 */
__attribute__((destructor)) static void preload_end(void)
{
    int initialized = 0;
    if (own.recorded || is_refused() || getpid() != process || !library_look())
        return;
    int (*ask)(int *) = (int (*)(int *))old_dlsym(library, "PMPI_Initialized");
    if (ask && ask(&initialized) == 0 && initialized)
        say_once("mpit: the program found MPI's functions with dlsym in a library that it loaded, or bound them with "
                 "RTLD_DEEPBIND; such calls cannot be seen, and nothing is recorded. dlsym(RTLD_DEFAULT, ...) finds "
                 "functions that are recorded.");
}
