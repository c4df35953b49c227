/*
 * Calls from Fortran that Open MPI's Fortran layer answers by itself. It calls no C function, so no gate of PMPI_* sees
 * them.
 *
 *   program ──> mpi_waitall_: own_MPI_Waitall ──> the layer's mpi_waitall_ ──> PMPI_Waitall, which counts as ever
 *                     │ back, and the function was not counted meanwhile     (not with no requests)
 *                     └──> one event more
 *
 * These are completion calls without requests, and some local functions (attributes, their keys, error handlers).
 * mpi_f08 uses ompi_waitall_f or pmpi_waitall_ of the same library, or has functions of its own, as in Open MPI 6. If a
 * version of the layer calls C all the same, the call is counted there, once. So is the call of a tool between two
 * functions of mpit.
 *
 * The event is written after the call, and takes its time from there. The call itself is shorter than a read of the
 * clock.
 */
#include "requests/completion.h"
#include "gate.h"
#include "settings/knobs.h"
#include "wrappers/completing.h"

#if defined(OPEN_MPI)

/* All arguments are addresses, six at most. A function with fewer arguments ignores the others. */
typedef void layer_function(void *, void *, void *, void *, void *, void *);

static uint64_t counted(enum call kind)
{
    const struct log *log = thread_log;
    return log ? cell_load(&log->own.tally.cells->call_count[kind]) : 0;
}

static layer_function *layer_find(layer_function **known, const char *name)
{
    layer_function *function = __atomic_load_n(known, __ATOMIC_ACQUIRE);
    if (!function) {
        function = (layer_function *)native_symbol(name);
        __atomic_store_n(known, function, __ATOMIC_RELEASE);
    }
    return function;
}

static void empty_record(enum call kind)
{
    struct completion c;
    if (!enter_many(&c, kind, 0, NULL, false))
        return;
    completion_flush(&c, MPI_SUCCESS);
    probe_close(&c.probe);
}

static void local_record(enum call kind, int result)
{
    struct probe probe;
    if (!enter_local(&probe, kind, "", NULL))
        return;
    leave_call(&probe, kind, result);
    probe_close(&probe);
}

/* One spelling of the function's name. */
#define OWN_SPELLING(kind, symbol, condition, record)                                                                  \
    extern void symbol(void *a, void *b, void *c, void *d, void *e, void *f);                                          \
    GATE(symbol);                                                                                                      \
    void symbol(void *a, void *b, void *c, void *d, void *e, void *f)                                                  \
    {                                                                                                                  \
        static layer_function *known;                                                                                  \
        layer_function *layer = layer_find(&known, #symbol);                                                           \
        if (!(condition)) {                                                                                            \
            (*layer)(a, b, c, d, e, f);                                                                                \
            return;                                                                                                    \
        }                                                                                                              \
        uint64_t before = counted(CALL_MPI_##kind);                                                                    \
        (*layer)(a, b, c, d, e, f);                                                                                    \
        if (counted(CALL_MPI_##kind) == before)                                                                        \
            record;                                                                                                    \
    }                                                                                                                  \
    _Static_assert(1, "")

/* All spellings: the name as compilers make it, the profiling interface, and the layer's own. */
#define OWN(kind, name, condition, record)                                                                             \
    OWN_SPELLING(kind, mpi_##name##_, condition, record);                                                              \
    OWN_SPELLING(kind, mpi_##name##__, condition, record);                                                             \
    OWN_SPELLING(kind, pmpi_##name##_, condition, record);                                                             \
    OWN_SPELLING(kind, ompi_##name##_f, condition, record)

/* The number of requests is the first argument. The functions of mpi_f08 in Open MPI 6 answer by themselves, too. */
#define OWN_EMPTY(own, kind, name) own(kind, name, *(const MPI_Fint *)a == 0, empty_record(CALL_MPI_##kind))
#define OWN_COMPLETION(kind, name)                                                                                     \
    OWN_EMPTY(OWN, kind, name);                                                                                        \
    OWN_EMPTY(OWN_SPELLING, kind, mpi_##name##_f08_);                                                                  \
    OWN_EMPTY(OWN_SPELLING, kind, pmpi_##name##_f08_)

OWN_COMPLETION(Waitall, waitall);
OWN_COMPLETION(Waitany, waitany);
OWN_COMPLETION(Waitsome, waitsome);
OWN_COMPLETION(Testall, testall);
OWN_COMPLETION(Testany, testany);
OWN_COMPLETION(Testsome, testsome);

/* `code`: the argument that takes the error code, the last one. */
#define OWN_LOCAL(kind, name, code)                                                                                    \
    OWN(kind, name, knob_load(KNOB_RECORD_LOCAL_CALLS), local_record(CALL_MPI_##kind, (int)*(const MPI_Fint *)(code)))

OWN_LOCAL(Attr_get, attr_get, e);
OWN_LOCAL(Attr_put, attr_put, d);
OWN_LOCAL(Keyval_create, keyval_create, e);
OWN_LOCAL(Comm_get_attr, comm_get_attr, e);
OWN_LOCAL(Comm_set_attr, comm_set_attr, d);
OWN_LOCAL(Comm_create_keyval, comm_create_keyval, e);
OWN_LOCAL(Type_get_attr, type_get_attr, e);
OWN_LOCAL(Type_set_attr, type_set_attr, d);
OWN_LOCAL(Type_create_keyval, type_create_keyval, e);
OWN_LOCAL(Win_get_attr, win_get_attr, e);
OWN_LOCAL(Win_set_attr, win_set_attr, d);
OWN_LOCAL(Win_create_keyval, win_create_keyval, e);
OWN_LOCAL(Errhandler_create, errhandler_create, c);
OWN_LOCAL(Comm_create_errhandler, comm_create_errhandler, c);
OWN_LOCAL(File_create_errhandler, file_create_errhandler, c);
OWN_LOCAL(Win_create_errhandler, win_create_errhandler, c);
OWN_LOCAL(Type_match_size, type_match_size, d);

#endif
