/*
 * libmpit.so: the one library that is preloaded, for all MPIs. In a process without MPI it does nothing. It needs no
 * symbol of a glibc later than 2.17, and never ends the process. Its thread-local storage is the recorder's.
 *
 * A function is resolved when it is first called, or when the library is loaded into a program that is linked to MPI.
 * This code needs no lock of its own: the recorder's constructor writes the gates while the loader holds its lock, and
 * a gate that was written meanwhile stays.
 */
#include "preload.h"

#include "absent.h"
#include "backends.h"
#include "excluded.h"
#include "gatenames.h"
#include "hiding.h"
#include "launchers.h"
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
#include "base/text.h"
#include "site/setting.h"

TRAMPOLINES;

static void *symbol_next(const char *name);
static void *library_look(void);

/* The linker's names for the first byte of this library, and the one after its last. */
extern const char __ehdr_start[] __attribute__((visibility("hidden"))), _end[] __attribute__((visibility("hidden")));

__attribute__((visibility("default"))) struct mpit_preload mpit_preload = {.version = PRELOAD_VERSION,
                                                                           .next = symbol_next,
                                                                           .library = library_look,
                                                                           .say = say_once,
                                                                           .begin = __ehdr_start,
                                                                           .end = _end};

/* This library's own, as another libmpit.so in front of it may have one of the same name. */
extern struct mpit_preload own __attribute__((alias("mpit_preload"), visibility("hidden")));

static const struct backend {
    const char *name, *title, *marker, *libraries, *fortran, *runtimes; /* lists of words, each followed by a space */
} backends[] = {
#define BACKEND(id, name, title, marker, libraries, fortran, cplusplus, runtimes)                                      \
    {name, title, marker, libraries, fortran, runtimes},
    BACKENDS(BACKEND)
#undef BACKEND
};
enum { BACKEND_COUNT = sizeof backends / sizeof backends[0], PROBLEM_BYTES = 512 };

static void *library;                  /* of MPI, if it was loaded out of the global scope */
static const struct backend *attached; /* the one with a loaded recorder */
static bool refuses;                   /* no recorder will be loaded: every gate leads to the next definition */
static char problem[PROBLEM_BYTES];    /* the reason. "": there is none */
static char here[PATH_MAX];            /* the directory of libmpit.so and the recorders, with a slash at the end */

/* The search opens the libraries one by one, and not while the loader's list is held. */
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
        is = text_begins_with_one(base, backends[i].fortran);
    if (!is || strlen(info->dlpi_name) >= PATH_MAX || search->left-- > 0)
        return 0;
    strcpy(search->path, info->dlpi_name);
    return 1;
}

/* Names as Fortran compilers make them, and as Open MPI's layers call each other. */
static bool is_fortran_name(const char *name)
{
    size_t bytes = strlen(name);
    return (strncmp(name, "mpi_", 4) == 0 || strncmp(name, "pmpi_", 5) == 0 || strncmp(name, "ompi_", 5) == 0) &&
           (name[bytes - 1] == '_' || strcmp(name + bytes - 2, "_f") == 0);
}

/*
 * Finds a function of a library that binds MPI to Fortran, and was loaded out of the global scope. The library stays
 * open.
 */
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

/* dlsym uses its return address to find the next definition, so it must not be called by a jump. */
static void *symbol_next(const char *name)
{
    void *symbol = old_dlsym(RTLD_NEXT, name);
    symbol = !symbol && library ? old_dlsym(library, name) : symbol;
    return symbol || !is_fortran_name(name) ? symbol : next_of_fortran(name);
}

/* ---- which MPI --------------------------------------------------------------------------------------------------- */

static int library_judge(struct dl_phdr_info *info, size_t bytes, void *found)
{
    const char *slash = strrchr(info->dlpi_name, '/'), *base = slash ? slash + 1 : info->dlpi_name;
    bool is = strncmp(base, "libmpi", 6) == 0 && strncmp(base, "libmpit", 7) != 0;
    (void)bytes;
    for (size_t i = 0; i < BACKEND_COUNT && !is; i++)
        is = text_begins_with_one(base, backends[i].libraries);
    if (is && strlen(info->dlpi_name) < PATH_MAX)
        strcpy(found, info->dlpi_name);
    return strncmp(base, "libmpi.so", 9) == 0 || strncmp(base, "libmpich.so", 11) == 0 ||
           strncmp(base, "libmpi_abi", 10) == 0;
}

/* MPI's libraries for other languages are loaded together with it. The name of the main one ends the search. */
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

/* The file from which the process gets MPI_Init, without its directory. "": none. */
static const char *source_name(void)
{
    Dl_info info;
    void *start = symbol_next("PMPI_Init");
    if (!start || !old_dladdr(start, &info) || !info.dli_fname)
        return "";
    const char *slash = strrchr(info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}

/* The MPI in the process. An ABI without a marker comes first: behind its library may be one that has a marker. */
static const struct backend *backend_here(void)
{
    const char *source = source_name();
    for (size_t i = 0; i < BACKEND_COUNT; i++)
        if (!backends[i].marker[0] && text_begins_with_one(source, backends[i].libraries))
            return &backends[i];
    for (size_t i = 0; i < BACKEND_COUNT; i++)
        if (backends[i].marker[0] && symbol_next(backends[i].marker))
            return &backends[i];
    return NULL;
}

/*
 * Without an MPI in the process: the one named by MPIT_MPI (mpit-run --mpi), or the one whose launcher started the
 * process.
 */
static const struct backend *backend_expected(void)
{
    const struct backend *named = backend_named(setting("MPIT_MPI"));
    if (named)
        return named;
    if (getenv("OMPI_COMM_WORLD_RANK"))
        return backend_named("openmpi");
    return getenv("PMI_RANK") || getenv("PMI_FD") ? backend_named("mpich") : NULL;
}

/* A relative path of LD_PRELOAD is valid until the program changes its directory. Functions may be called before our
 * constructor. */
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

/* ---- the recorder ------------------------------------------------------------------------------------------------ */

/* True if another libmpit.so is in front of this one. Its recorder counts each call already. */
static bool is_second(void)
{
    Dl_info first;
    struct mpit_preload *other = old_dlsym(RTLD_DEFAULT, "mpit_preload");
    if (!other || other == &own)
        return false;
    if (old_dladdr(other, &first))
        snprintf(problem, sizeof problem, "mpit is loaded twice: %slibmpit.so does not record, because %s does", here,
                 first.dli_fname);
    return true;
}

static bool is_refused(void)
{
    if (!refuses && (getauxval(AT_SECURE) || setting_disabled() || program_is_excluded() || is_second()))
        refuses = true;
    return refuses;
}

/* A recorder that cannot be loaded is reported when MPI_Init is called. */
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

/* Hides the functions that the library in the process lacks. mpit has an MPI_T of its own. */
static void absent_hide(void)
{
    static bool absent[PRELOAD_COUNT], done;
    if (__atomic_exchange_n(&done, true, __ATOMIC_RELAXED))
        return;
    for (size_t i = 0; i < PRELOAD_COUNT; i++) {
        const char *plain = preload_names[i] + (preload_names[i][0] == 'P');
        absent[i] =
            strncmp(plain, "MPI_", 4) == 0 && strncmp(plain, "MPI_T_", 6) != 0 && !symbol_next(preload_names[i]);
    }
    symbols_hide(preload_code, TRAMPOLINE_BYTES, absent, PRELOAD_COUNT);
    (void)old_dlerror(); /* the program finds none of a search that was not its own */
}

static void attach(bool expected)
{
    if (attached || is_refused())
        return;
    const struct backend *backend = backend_here();
    if (!backend && library_look())
        backend = backend_here();
    if (backend)
        absent_hide();
    if (!backend && symbol_next("PMPI_Init")) {
        snprintf(problem, sizeof problem,
                 "mpit: nothing is recorded: mpit does not support the MPI library of this program");
        refuses = true;
        return;
    }
    if (!backend && expected)
        backend = backend_expected();
    if (backend)
        recorder_load(backend);
}

/* Without MPI, any recorder can record the calls of libfabric and UCX. */
static void attach_below(void)
{
    const char *fabric = setting("MPIT_FABRIC");
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

/* ---- no MPI in the process --------------------------------------------------------------------------------------- */

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

/* The program found MPI_Init here and assumes that MPI is loaded. So this loads the expected MPI. If none is
 * expected, it loads the first installed one of the MPIs that mpit was built for. */
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

/* ---- the gates --------------------------------------------------------------------------------------------------- */

static bool symbol_begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_start(const char *name)
{
    name += *name == 'P';
    return strcmp(name, "MPI_Init") == 0 || strcmp(name, "MPI_Init_thread") == 0 ||
           strcmp(name, "MPI_Session_init") == 0;
}

/* Loads the libraries that the function needs. */
static void resolve_prepare(const char *name)
{
    if (strcmp(name, "mpi_collector_api") == 0 || strcmp(name, "dlclose") == 0 || strcmp(name, "dlinfo") == 0)
        return; /* in signal handlers, and in processes without MPI */
    if (symbol_begins(name, "fi_") || symbol_begins(name, "ucp_"))
        attach_below();
    else
        attach(symbol_begins(name, "mpit_")); /* a library declares its instruments before MPI is there */
    if (!is_start(name))
        return;
    if (!attached && !symbol_next(name)) {
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
        void *behind = symbol_next(name);
        if (behind && __atomic_compare_exchange_n(gate, &target, behind, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            target = behind;
        else if (!behind)
            target = absent_function(name);
    }
    errno = error;
    return target;
}

/* ---- begin and end of the process -------------------------------------------------------------------------------- */

static pid_t process; /* not its children: the parent reported for them */

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
 * Some calls reach the MPI library directly, even with a preload. These are calls to functions that the program looks
 * up in a library's handle (dlsym), or calls from a library loaded with RTLD_DEEPBIND. This can only be noticed at the
 * end of the process.
 */
__attribute__((destructor)) static void preload_end(void)
{
    int initialized = 0;
    if (own.recorded || is_refused() || getpid() != process || !library_look())
        return;
    int (*ask)(int *) = (int (*)(int *))old_dlsym(library, "PMPI_Initialized");
    if (ask && ask(&initialized) == 0 && initialized)
        say_once("mpit: nothing is recorded: the program gets the MPI functions with dlsym from a library handle, or "
                 "loads MPI with RTLD_DEEPBIND. mpit cannot intercept such calls. It intercepts functions from "
                 "dlsym(RTLD_DEFAULT, ...).");
}
