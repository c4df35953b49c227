#define _GNU_SOURCE
#include "profiled.h"

#include "backends.h"
#include "caller.h"
#include "gate.h"
#include "next.h"
#include "recorder.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

static struct {
    __typeof__(&MPI_Init) Init;
    __typeof__(&MPI_Init_thread) Init_thread;
    __typeof__(&MPI_Finalize) Finalize;
} real;

/* Does the program reach another definition than ours? An entry that is only referred to (the program's own stub for a
 * function whose address it takes) is none. */
static bool is_replaced(const char *name, const char *entry)
{
    void *first = dlsym(RTLD_DEFAULT, name);
    Dl_info where;
    const ElfW(Sym) *symbol = NULL;
    if (!first || first == (const void *)entry)
        return false;
    return dladdr1(first, &where, (void **)&symbol, RTLD_DL_SYMENT) && (!symbol || symbol->st_shndx != SHN_UNDEF);
}

static bool is_library(void *next, void *profiled)
{
    Dl_info a, b;
    return next && profiled && dladdr(next, &a) && dladdr(profiled, &b) && a.dli_fbase == b.dli_fbase;
}

/* Init and Finalize have definitions here, which decide for themselves. */
static bool is_lifetime(const char *name)
{
    return strncmp(name, "MPI_Init", 8) == 0 || strcmp(name, "MPI_Finalize") == 0;
}

#define ENTRY(name) mpit_entry_##name
/* route_: weak, for the functions of a run's begin and end have none; where the compiler does not optimize, they are
 * named all the same. */
#define PROFILED_DECLARE(name)                                                                                         \
    extern char ENTRY(name)[] __attribute__((visibility("hidden")));                                                   \
    extern void *gate_##name __attribute__((visibility("hidden")));                                                    \
    extern void *gate_P##name __attribute__((visibility("hidden")));                                                   \
    extern char route_##name[] __attribute__((visibility("hidden"), weak));
NEXT_CALLS(PROFILED_DECLARE)
#undef PROFILED_DECLARE

enum rule { PASS, WHERE_REPLACED, ALL };

/* `wrapper` is where MPI_name leads, `route` where only the Fortran layer gets there. */
static void gate_decide(void **gate, void *wrapper, void *route, const char *name, const char *entry, void *next,
                        enum rule rule)
{
    char profiled_name[64] = "P";
    strncat(profiled_name, name, sizeof profiled_name - 2);
    void *profiled = native_symbol(profiled_name);
    if (!profiled)
        return;
    bool wanted = rule == ALL || (rule == WHERE_REPLACED && is_replaced(name, entry));
    void *way = rule == PASS ? profiled : wanted && is_library(next, profiled) ? wrapper : route;
    __atomic_store_n(gate, way, __ATOMIC_RELEASE);
}

static void decide(enum rule rule)
{
#define PROFILED_DECIDE(name)                                                                                          \
    if (!is_lifetime(#name))                                                                                           \
        gate_decide(&gate_P##name, gate_##name, route_##name, #name, ENTRY(name), (void *)next.name, rule);
    NEXT_CALLS(PROFILED_DECIDE)
#undef PROFILED_DECIDE
}

void profiled_pass(void)
{
    decide(PASS);
    GATE_PASS(PMPI_Init);
    GATE_PASS(PMPI_Init_thread);
    GATE_PASS(PMPI_Finalize);
}

void profiled_find(void)
{
    real.Init = (__typeof__(real.Init))native_symbol("PMPI_Init");
    real.Init_thread = (__typeof__(real.Init_thread))native_symbol("PMPI_Init_thread");
    real.Finalize = (__typeof__(real.Finalize))native_symbol("PMPI_Finalize");
    fortran_find();
    decide(WHERE_REPLACED);
}

/* A part of MPI: it is no tool. */
static bool is_caller_library(const void *return_address)
{
    Dl_info where;
    if (!dladdr(return_address, &where) || !where.dli_fname)
        return false;
#define LAYER(id, name, title, marker, libraries, fortran, cplusplus) cplusplus
    return native_library_named(where.dli_fname, BACKENDS(LAYER) "libmpi.so libmpich.so ");
#undef LAYER
}

/* Begins the run where no wrapper of MPI_Init has. A tool that does not show its MPI_Init to other libraries hides its
 * other functions, too. */
static bool init_enter(struct probe *probe, enum call kind, const void *caller)
{
    next_find(NULL);
    bool fortran = caller_is_fortran(caller);
    if ((!fortran && is_caller_library(caller)) || !recorder_start(probe, kind))
        return false;
    if (probe->log && !fortran && !is_replaced("MPI_Init", ENTRY(MPI_Init)) &&
        !is_replaced("MPI_Init_thread", ENTRY(MPI_Init_thread)))
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
