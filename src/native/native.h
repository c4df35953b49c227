/*
 * The interface to the MPI library: the only place that finds its symbols, and that knows the differences between MPI
 * ABIs.
 *
 * Nothing here links against MPI. Functions and predefined objects are looked up behind this library when the program
 * has (or loads) an MPI. So the same preload is harmless in a process without one.
 */
#ifndef MPIT_NATIVE_NATIVE_H
#define MPIT_NATIVE_NATIVE_H

#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h> /* persistent collectives of Open MPI 4 */
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include MPIT_ABI_HEADER /* of the backend that this is compiled for: cmake/Backends.cmake */

/* Some MPIs have integers for handles, whose sign does not count, and some pointers. */
#define OBJECT_HANDLE(object) (UINT64_MAX >> (64 - 8 * sizeof(object)) & (uintptr_t)(object))

static inline uint64_t abi_handle_of_comm(MPI_Comm comm)
{
    return OBJECT_HANDLE(comm);
}

static inline uint64_t abi_handle_of_request(MPI_Request request)
{
    return OBJECT_HANDLE(request);
}

static inline uint64_t abi_handle_of_message(MPI_Message message)
{
    return OBJECT_HANDLE(message);
}

/* PMPI functions that mpit itself uses. Tools after it in the order of libraries do not see these calls. */
#define PMPI_CALLS(X)                                                                                                  \
    X(Allgather)                                                                                                       \
    X(Allreduce)                                                                                                       \
    X(Bcast)                                                                                                           \
    X(Cart_shift)                                                                                                      \
    X(Cartdim_get)                                                                                                     \
    X(Comm_free)                                                                                                       \
    X(Comm_get_attr)                                                                                                   \
    X(Comm_get_parent)                                                                                                 \
    X(Comm_group)                                                                                                      \
    X(Comm_rank)                                                                                                       \
    X(Comm_remote_group)                                                                                               \
    X(Comm_remote_size)                                                                                                \
    X(Comm_get_errhandler)                                                                                             \
    X(Errhandler_free)                                                                                                 \
    X(Comm_set_errhandler)                                                                                             \
    X(Comm_split)                                                                                                      \
    X(Comm_size)                                                                                                       \
    X(Comm_test_inter)                                                                                                 \
    X(Dist_graph_neighbors)                                                                                            \
    X(Dist_graph_neighbors_count)                                                                                      \
    X(Error_class)                                                                                                     \
    X(Finalized)                                                                                                       \
    X(Get_library_version)                                                                                             \
    X(Graph_neighbors)                                                                                                 \
    X(Graph_neighbors_count)                                                                                           \
    X(Group_free)                                                                                                      \
    X(Group_rank)                                                                                                      \
    X(Group_size)                                                                                                      \
    X(Group_translate_ranks)                                                                                           \
    X(Info_create)                                                                                                     \
    X(Info_get)                                                                                                        \
    X(Info_get_valuelen)                                                                                               \
    X(Info_set)                                                                                                        \
    X(Initialized)                                                                                                     \
    X(Iprobe)                                                                                                          \
    X(Query_thread)                                                                                                    \
    X(Recv)                                                                                                            \
    X(Send)                                                                                                            \
    X(Topo_test)                                                                                                       \
    X(Type_size_x)                                                                                                     \
    X(Win_get_group)

struct native {
    bool present;       /* an MPI library of this ABI is in the process */
    bool mismatch;      /* a library of another ABI is */
    bool open_mpi;      /* from its version text: for differences between libraries, not between ABIs */
    char version[8192]; /* the longest text that any MPI may write */
    MPI_Comm comm_world, comm_self, comm_null;
    MPI_Request request_null;
    MPI_Message message_null, message_no_proc;
    MPI_Group group_null, group_empty;
    MPI_Errhandler errors_return;
    MPI_Op max, sum, replace, no_op;
    MPI_Datatype byte, char_, int_, unsigned_, unsigned_long, unsigned_long_long, count, double_;
    MPI_Datatype c_bool, long_, int32, uint32, int64, uint64;
    bool finalizing; /* the last MPI_Finalize or MPI_Session_finalize has begun */
    bool ending;     /* before that: windows are being ended, and no new ones are opened */
    bool world;      /* MPI_Init has returned, and MPI_Finalize has not begun: there is MPI_COMM_WORLD */
    MPI_Info info_null;
#define PMPI_FIELD(name) __typeof__(&MPI_##name) name;
    PMPI_CALLS(PMPI_FIELD)
#undef PMPI_FIELD
    __typeof__(&MPI_File_get_position) File_get_position; /* NULL in a library without files, like the next ones */
    __typeof__(&MPI_File_get_byte_offset) File_get_byte_offset;
    __typeof__(&MPI_File_get_size) File_get_size;
    /* NULL in a library without sessions */
    int (*Group_from_session_pset)(MPI_Session session, const char *pset, MPI_Group *group);
};

extern struct native native;

/*
 * Searches for the MPI library behind this one. Returns false if there is none, or one of the other ABI (reported once
 * on stderr). Cheap if it was found before. Thread-safe, not for signal handlers.
 */
bool native_find(void);

/* The definition of the function `name` behind this library's own, or NULL. */
void *native_symbol(const char *name);

/* The same for a function of the C library: behind its signal guard, if there is one. */
void *native_symbol_of_c(const char *name);

/*
 * The same for a function of a library that MPI is built on. Only libraries that need it may see it. Returns the
 * function that the caller with this return address would have called without mpit. There may be several such
 * functions, each with its callers.
 */
enum { SCOPES = 32 };
struct native_behind {
    const char *name;
    void *global; /* visible for all. NULL: not known */
    struct {
        const void *caller;
        void *symbol;
    } scopes[SCOPES];
};
void *native_symbol_behind_slow(struct native_behind *behind, const void *caller);

/* NULL: it depends on the caller, or is not known yet. */
static inline void *native_symbol_known(const struct native_behind *behind)
{
    return __atomic_load_n(&behind->global, __ATOMIC_ACQUIRE);
}

static inline void *native_symbol_behind(struct native_behind *behind, const void *caller)
{
    void *symbol = native_symbol_known(behind);
    return __builtin_expect(symbol != 0, 1) ? symbol : native_symbol_behind_slow(behind, caller);
}

/* Keeps the library of `address` in the process from now on, as addresses in it stay in use. */
void native_library_keep(const void *address);

/* True if the last part of the path begins with one of the words (each followed by a space). */
bool native_library_named(const char *path, const char *words);

/* A data object of the library, or NULL. */
void *native_object(const char *name);

/* True if MPI is initialized, and its end has not begun, so its objects may be used. Async-signal-safe. */
bool native_between(void);

/* The group of all processes of this process's world, which the caller frees. Returns false if there is none. */
bool native_world_group(MPI_Group *group);

/* The open sessions, by their handles. Call these after MPI has opened a session, and before MPI closes it. */
void native_session_add(uint64_t handle);
void native_session_remove(uint64_t handle);
/* Async-signal-safe. */
unsigned native_session_count(void);

/*
 * Around every call into the library's MPI_T. Waits for other threads. Is refused (false)
 *   to a signal handler whose thread is inside already: it would wait for itself, here or at the library's own lock
 *   to other threads while one is in MPI_Init or MPI_Finalize, which change the library's tables without a lock.
 * native_enter_soon is for calls in signal handlers. It is refused also when others stay inside for a second, since the
 * handler may have interrupted a thread that they wait for (malloc).
 */
bool native_enter(void);
bool native_enter_soon(void);
void native_leave(void);
/* Around MPI_Init and MPI_Finalize: no other thread may use the library's MPI_T. */
void native_hold(void);
void native_release(void);

/* Reads the sizes of predefined types, once, when MPI is initialized. */
void native_types_find(void);

/* The family of the library, whatever its ABI: what its launcher is called in texts. Known once it was found. */
static inline const char *native_family(void)
{
    return native.open_mpi ? "Open MPI" : "MPICH";
}

/* Bytes of data in `count` elements of the type. 0 if the type is not valid. */
uint64_t native_bytes_slow(int64_t count, MPI_Datatype type);

static inline uint64_t native_bytes(int64_t count, MPI_Datatype type)
{
    uint32_t size;
    if (__builtin_expect(abi_type_size(type, &size), 1))
        return count > 0 ? (uint64_t)count * size : 0;
    return native_bytes_slow(count, type);
}

/*
 * Writes all bytes, in one write if possible. Returns 0 or an errno. Raises no signal in the program (a pipe without a
 * reader, the limit of a file's size). Waits at most `wait_ms` for a reader to make room, then returns EAGAIN. It waits
 * longer for a blocking pipe that has room only for a part. Changes errno. Thread-safe, not for signal handlers.
 */
int native_output(int descriptor, const char *text, size_t bytes, int wait_ms);

/* One line on stderr, once for each text. */
void native_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
