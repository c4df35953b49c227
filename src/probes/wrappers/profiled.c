#include "wrappers/profiled.h"

#include "backends.h"
#include "wrappers/caller.h"
#include "gate.h"
#include "wrappers/next.h"
#include "wrappers/pcontrol.h"
#include "preload.h"
#include "recorder/recorder.h"
#include "wrappers/switchboard.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

static struct {
    __typeof__(&MPI_Init) Init;
    __typeof__(&MPI_Init_thread) Init_thread;
    __typeof__(&MPI_Finalize) Finalize;
} real;

/* True if the program reaches another definition than that in libmpit.so. A mere reference (the program's own stub for
 * a function whose address it takes) does not count. */
static bool is_replaced(const char *name)
{
    const char *first = dlsym(RTLD_DEFAULT, name);
    Dl_info where;
    const ElfW(Sym) *symbol = NULL;
    if (!first || (first >= mpit_preload.begin && first < mpit_preload.end) ||
        !dladdr1(first, &where, (void **)&symbol, RTLD_DL_SYMENT))
        return false;
    return !symbol || symbol->st_shndx != SHN_UNDEF;
}

static bool is_library(void *next, void *profiled)
{
    Dl_info a, b;
    return next && profiled && dladdr(next, &a) && dladdr(profiled, &b) && a.dli_fbase == b.dli_fbase;
}

enum rule { PASS, WHERE_REPLACED, ALL };

/* Init and Finalize are not in the list. They have definitions here, which decide for themselves. */
static void decide(enum rule rule)
{
    for (size_t i = 0; i < wrapped_count; i++) {
        struct wrapped *w = &wrapped[i];
        char profiled_name[64] = "P";
        strncat(profiled_name, w->name, sizeof profiled_name - 2);
        void *profiled = native_symbol(profiled_name);
        bool wanted = rule == ALL || (rule == WHERE_REPLACED && is_replaced(w->name));
        enum profiled_way way = !profiled                                  ? PROFILED_LEFT
                                : rule == PASS                             ? PROFILED_PASS
                                : wanted && is_library(*w->next, profiled) ? PROFILED_WRAPPER
                                                                           : PROFILED_ROUTE;
        __atomic_store_n(&w->profiled, profiled, __ATOMIC_RELAXED);
        __atomic_store_n(&w->way, way, __ATOMIC_RELEASE); /* MPI_Init may set the gates just now */
    }
    switchboard_set();
}

void profiled_pass(void)
{
    decide(PASS);
    GATE_PASS(PMPI_Pcontrol);
    GATE_PASS(PMPI_Init);
    GATE_PASS(PMPI_Init_thread);
    GATE_PASS(PMPI_Finalize);
}

void profiled_find(void)
{
    real.Init = (__typeof__(real.Init))native_symbol("PMPI_Init");
    real.Init_thread = (__typeof__(real.Init_thread))native_symbol("PMPI_Init_thread");
    real.Finalize = (__typeof__(real.Finalize))native_symbol("PMPI_Finalize");
    pcontrol_find();
    decide(WHERE_REPLACED);
}

/* True if the caller is a part of MPI, not a tool. */
static bool is_caller_library(const void *return_address)
{
    Dl_info where;
    if (!dladdr(return_address, &where) || !where.dli_fname)
        return false;
#define LAYER(id, name, title, marker, libraries, fortran, cplusplus, runtimes) cplusplus
    return native_library_named(where.dli_fname, BACKENDS(LAYER) "libmpi.so libmpich.so ");
#undef LAYER
}

/* Begins the run if no wrapper of MPI_Init has. A tool that hides its MPI_Init from other libraries hides its other
 * functions, too. */
static bool init_enter(struct probe *probe, enum call kind, const void *caller)
{
    next_find(NULL);
    bool fortran = caller_is_fortran(caller);
    if ((!fortran && is_caller_library(caller)) || !recorder_start(probe, kind))
        return false;
    if (probe->log && !fortran && !is_replaced("MPI_Init") && !is_replaced("MPI_Init_thread"))
        decide(ALL);
    return true;
}

static void init_leave(struct probe *probe, enum call kind, bool begun, int result)
{
    if (begun)
        recorder_started(probe, kind, result);
    else if (result == MPI_SUCCESS)
        recorder_ready();
}

GATE(PMPI_Init);
int PMPI_Init(int *argc, char ***argv)
{
    struct probe probe;
    bool begun = init_enter(&probe, CALL_MPI_Init, __builtin_return_address(0));
    if (!real.Init)
        return MPI_ERR_OTHER;
    int result = real.Init(argc, argv);
    init_leave(&probe, CALL_MPI_Init, begun, result);
    return result;
}

GATE(PMPI_Init_thread);
int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    struct probe probe;
    bool begun = init_enter(&probe, CALL_MPI_Init_thread, __builtin_return_address(0));
    if (!real.Init_thread)
        return MPI_ERR_OTHER;
    int result = real.Init_thread(argc, argv, required, provided);
    init_leave(&probe, CALL_MPI_Init_thread, begun, result);
    return result;
}

GATE(PMPI_Finalize);
int PMPI_Finalize(void)
{
    struct probe probe;
    next_find(NULL);
    bool on = recorder_finish(&probe);
    if (!real.Finalize)
        return MPI_ERR_OTHER;
    int result = real.Finalize();
    if (on)
        recorder_finished(&probe, result);
    return result;
}
