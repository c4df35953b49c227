/*
 * The door to the MPI library: the only place where its symbols are found, and what differs between MPI ABIs.
 *
 * Nothing here links against MPI. Functions and predefined objects are looked up behind this library when the program
 * has (or loads) an MPI, so that the same preload is harmless in a process that has none.
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

/* PMPI functions that mpit itself uses: tools behind it do not see these calls. */
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
    X(Dist_graph_neighbors_count)                                                                                      \
    X(Error_class)                                                                                                     \
    X(Finalized)                                                                                                       \
    X(Get_library_version)                                                                                             \
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
    bool mismatch;      /* one of another ABI is */
    bool open_mpi;      /* by its own word: what differs between libraries and not between ABIs */
    char version[8192]; /* what the longest of all MPIs may write, whichever this is */
    MPI_Comm comm_world, comm_self, comm_null;
    MPI_Request request_null;
    MPI_Message message_null, message_no_proc;
    MPI_Group group_null;
    MPI_Errhandler errors_return;
    MPI_Op max, sum, replace, no_op;
    MPI_Datatype byte, char_, int_, unsigned_, unsigned_long, unsigned_long_long, count, double_;
    MPI_Datatype c_bool, long_, int32, uint32, int64, uint64;
    bool finalizing; /* MPI_Finalize has begun, or that of the last session */
    bool ending;     /* before that: windows are being ended, and none is opened any more */
    bool world;      /* MPI_Init has returned, and MPI_Finalize has not begun: there is MPI_COMM_WORLD */
    MPI_Info info_null;
#define PMPI_FIELD(name) __typeof__(&MPI_##name) name;
    PMPI_CALLS(PMPI_FIELD)
#undef PMPI_FIELD
    __typeof__(&MPI_File_get_position) File_get_position; /* NULL in a library without files, as the next ones */
    __typeof__(&MPI_File_get_byte_offset) File_get_byte_offset;
    __typeof__(&MPI_File_get_size) File_get_size;
#if MPI_VERSION >= 4
    __typeof__(&MPI_Group_from_session_pset) Group_from_session_pset; /* NULL in a library that is older than mpi.h */
#endif
};

extern struct native native;

/*
 * Looks for the MPI library behind this one; false when there is none, or one of the other ABI (said once on stderr).
 * Cheap when it was found before. Thread-safe; not for signal handlers.
 */
bool native_find(void);

/* The definition of the function `name` behind this library's own, or NULL. */
void *native_symbol(const char *name);

/* The same of a function of the C library: behind the guards in front of it, where there are any. */
void *native_symbol_of_c(const char *name);

/*
 * The same for a function that whoever calls with this return address would have called without this library: of a
 * library that MPI is built on, and that only those may see which need it. There may be several of them, each with its
 * callers.
 */
enum { SCOPES = 32 };
struct native_behind {
    const char *name;
    void *global; /* seen by all; NULL: not known to be there */
    struct {
        const void *caller;
        void *symbol;
    } scopes[SCOPES];
};
void *native_symbol_behind_slow(struct native_behind *behind, const void *caller);

/* NULL: not the same for all callers, or not known yet. */
static inline void *native_symbol_known(const struct native_behind *behind)
{
    return __atomic_load_n(&behind->global, __ATOMIC_ACQUIRE);
}

static inline void *native_symbol_behind(struct native_behind *behind, const void *caller)
{
    void *symbol = native_symbol_known(behind);
    return __builtin_expect(symbol != 0, 1) ? symbol : native_symbol_behind_slow(behind, caller);
}

/* The library that `address` lies in stays in the process from now on: somebody keeps addresses in it. */
void native_library_keep(const void *address);

/* Whether the last part of the path begins with one of the words (each with a space behind it). */
bool native_library_named(const char *path, const char *words);

/* A data object of the library, or NULL. */
void *native_object(const char *name);

/* MPI is initialized, and its end has not begun: its objects may be looked at. Async-signal-safe. */
bool native_between(void);

/* The group of all processes of this one's world, for the caller to free. False: there is none. */
bool native_world_group(MPI_Group *group);

/* Sessions that are open, by their handles. Say so once MPI has opened it, and before it is told to close it. */
void native_session_add(uint64_t handle);
void native_session_remove(uint64_t handle);
/* Async-signal-safe. */
unsigned native_session_count(void);

/*
 * Around every call into the library's MPI_T. Waits for other threads, and is refused (false)
 *   to a signal handler whose thread is inside already: it would wait for itself, here or at the library's own lock;
 *   to other threads while one is in MPI_Init or MPI_Finalize, which change the library's tables without a lock.
 * native_enter_soon is for calls that are made in signal handlers: it is refused also when others stay inside for a
 * second, since the handler may have interrupted somebody whom they wait for (malloc).
 */
bool native_enter(void);
bool native_enter_soon(void);
void native_leave(void);
/* Around MPI_Init and MPI_Finalize: the thread keeps the library's MPI_T for itself. */
void native_hold(void);
void native_release(void);

/* Learns the sizes of predefined types; once, when MPI is initialized. */
void native_types_find(void);

/* Bytes of data in `count` elements of the type; 0 when the type is not valid. */
uint64_t native_bytes_slow(int64_t count, MPI_Datatype type);

static inline uint64_t native_bytes(int64_t count, MPI_Datatype type)
{
    uint32_t size;
    if (__builtin_expect(abi_type_size(type, &size), 1))
        return count > 0 ? (uint64_t)count * size : 0;
    return native_bytes_slow(count, type);
}

/*
 * Writes all of it, in one write if it can be; 0 or an error number. It raises no signal in the program (a pipe without
 * a reader, the limit of a file's size), and waits no longer than that for a reader to make room: EAGAIN. A pipe that
 * blocks and has room for a part alone is waited for. Changes errno. Thread-safe; not for signal handlers.
 */
int native_output(int descriptor, const char *text, size_t bytes, int wait_ms);

/* One line on stderr, once for each text; MPIT_QUIET does not silence it. */
void native_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
