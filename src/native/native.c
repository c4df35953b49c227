#include "native.h"

#include "base/array.h"
#include "base/threadown.h"
#include "gate.h"
#include "preload.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct native native;

/* All gates that this library writes. The linker names the section so. */
extern struct gate __start_mpit_gates[] HIDDEN __attribute__((weak)), __stop_mpit_gates[] HIDDEN __attribute__((weak));

/* Returns false in a program of its own (a test), and if it was not in LD_PRELOAD itself. Then libmpit.so, which it
 * needs, comes after the MPI library and is not called. */
static bool is_wanted(void)
{
    Dl_info own;
    const char *wants = __atomic_load_n(&mpit_preload.wants, __ATOMIC_ACQUIRE);
    if (wants)
        return strcmp(wants, MPIT_BACKEND) == 0;
    return !dladdr(&native, &own) || !strstr(own.dli_fname, "/libmpit-");
}

__attribute__((constructor(102))) static void gates_write(void)
{
    if (mpit_preload.version != PRELOAD_VERSION || !is_wanted()) {
        mpit_preload.recorded = true; /* it is reported here */
        if (!mpit_preload.wants && mpit_preload.library())
            mpit_preload.say("mpit: nothing is recorded: this library must not be preloaded directly; preload "
                             "libmpit.so of the same version");
        return;
    }
    for (struct gate *at = __start_mpit_gates; at < __stop_mpit_gates; at++)
        if (at->gate)
            __atomic_store_n(at->gate, at->body, __ATOMIC_RELEASE);
}

void *native_symbol(const char *name)
{
    return mpit_preload.next(name);
}

void *native_symbol_of_c(const char *name)
{
    return mpit_sampler_next ? mpit_sampler_next(name) : mpit_preload.next(name);
}

void native_library_keep(const void *address)
{
    Dl_info info;
    if (dladdr(address, &info) && info.dli_fname)
        (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* Looks the name up in the libraries that the caller's library needs. The handle stays open, as its function may be
 * called from now on. */
static void *scope_look(const char *name, const void *caller)
{
    Dl_info info;
    void *symbol = NULL;
    if (dladdr(caller, &info) && info.dli_fname) {
        void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        symbol = handle ? dlsym(handle, name) : NULL;
    }
    return symbol ? symbol : native_symbol(name);
}

/* A written scope never changes: first its symbol, then its caller. */
void *native_symbol_behind_slow(struct native_behind *behind, const void *caller)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    size_t first = ((uintptr_t)caller >> 2) * 7;
    for (size_t i = 0; i < SCOPES; i++) {
        size_t at = (first + i) % SCOPES;
        const void *known = __atomic_load_n(&behind->scopes[at].caller, __ATOMIC_ACQUIRE);
        if (known == caller)
            return behind->scopes[at].symbol;
        if (!known)
            break;
    }
    void *symbol = mpit_preload.next(behind->name);
    if (symbol) {
        __atomic_store_n(&behind->global, symbol, __ATOMIC_RELEASE);
        return symbol;
    }
    symbol = scope_look(behind->name, caller);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; symbol && i < SCOPES; i++) {
        size_t at = (first + i) % SCOPES;
        if (behind->scopes[at].caller == caller) /* another thread was here */
            break;
        if (!behind->scopes[at].caller) {
            behind->scopes[at].symbol = symbol;
            __atomic_store_n(&behind->scopes[at].caller, caller, __ATOMIC_RELEASE);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return symbol;
}

/* The program may hold the library's data objects itself (copy relocations): the global definition is the one in use.
 */
void *native_object(const char *name)
{
    void *object = dlsym(RTLD_DEFAULT, name);
    return object ? object : mpit_preload.next(name);
}

bool native_library_named(const char *path, const char *words)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    for (size_t bytes; *words; words += bytes + 1) {
        bytes = strcspn(words, " ");
        if (bytes && strncmp(base, words, bytes) == 0)
            return true;
    }
    return false;
}

static void constants_find(void)
{
    native.comm_world = ABI_CONSTANT(MPI_COMM_WORLD, "ompi_mpi_comm_world");
    native.comm_self = ABI_CONSTANT(MPI_COMM_SELF, "ompi_mpi_comm_self");
    native.comm_null = ABI_CONSTANT(MPI_COMM_NULL, "ompi_mpi_comm_null");
    native.request_null = ABI_CONSTANT(MPI_REQUEST_NULL, "ompi_request_null");
    native.message_null = ABI_CONSTANT(MPI_MESSAGE_NULL, "ompi_message_null");
    native.message_no_proc = ABI_CONSTANT(MPI_MESSAGE_NO_PROC, "ompi_message_no_proc");
    native.group_null = ABI_CONSTANT(MPI_GROUP_NULL, "ompi_mpi_group_null");
    native.group_empty = ABI_CONSTANT(MPI_GROUP_EMPTY, "ompi_mpi_group_empty");
    native.errors_return = ABI_CONSTANT(MPI_ERRORS_RETURN, "ompi_mpi_errors_return");
    native.max = ABI_CONSTANT(MPI_MAX, "ompi_mpi_op_max");
    native.sum = ABI_CONSTANT(MPI_SUM, "ompi_mpi_op_sum");
    native.replace = ABI_CONSTANT(MPI_REPLACE, "ompi_mpi_op_replace");
    native.no_op = ABI_CONSTANT(MPI_NO_OP, "ompi_mpi_op_no_op");
    native.info_null = ABI_CONSTANT(MPI_INFO_NULL, "ompi_mpi_info_null");
    native.byte = ABI_CONSTANT(MPI_BYTE, "ompi_mpi_byte");
    native.char_ = ABI_CONSTANT(MPI_CHAR, "ompi_mpi_char");
    native.int_ = ABI_CONSTANT(MPI_INT, "ompi_mpi_int");
    native.unsigned_ = ABI_CONSTANT(MPI_UNSIGNED, "ompi_mpi_unsigned");
    native.unsigned_long = ABI_CONSTANT(MPI_UNSIGNED_LONG, "ompi_mpi_unsigned_long");
    native.unsigned_long_long = ABI_CONSTANT(MPI_UNSIGNED_LONG_LONG, "ompi_mpi_unsigned_long_long");
    native.count = ABI_CONSTANT(MPI_COUNT, "ompi_mpi_count");
    native.double_ = ABI_CONSTANT(MPI_DOUBLE, "ompi_mpi_double");
    native.c_bool = ABI_CONSTANT(MPI_C_BOOL, "ompi_mpi_c_bool");
    native.long_ = ABI_CONSTANT(MPI_LONG, "ompi_mpi_long");
    native.int32 = ABI_CONSTANT(MPI_INT32_T, "ompi_mpi_int32_t");
    native.uint32 = ABI_CONSTANT(MPI_UINT32_T, "ompi_mpi_uint32_t");
    native.int64 = ABI_CONSTANT(MPI_INT64_T, "ompi_mpi_int64_t");
    native.uint64 = ABI_CONSTANT(MPI_UINT64_T, "ompi_mpi_uint64_t");
}

#if ABI_REQUESTS_ARE_OBJECTS
/* dladdr knows the objects of libraries, but not memory of the heap. One address is asked only once. */
uint64_t abi_request_shared;

bool abi_request_is_shared_slow(uint64_t handle)
{
    enum { PLACES = 8 };
    static uint64_t known[PLACES];
    static unsigned next;
    Dl_info info;
    for (unsigned i = 0; i < PLACES; i++)
        if (__atomic_load_n(&known[i], __ATOMIC_RELAXED) == handle) {
            __atomic_store_n(&abi_request_shared, handle, __ATOMIC_RELAXED);
            return true;
        }
    if (!dladdr((const void *)(uintptr_t)handle, &info))
        return false;
    unsigned place = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % PLACES;
    __atomic_store_n(&known[place], handle, __ATOMIC_RELAXED);
    return true;
}
#endif

static bool abi_fits(void)
{
    int length = 0;
    if (native.Get_library_version(native.version, &length) != MPI_SUCCESS)
        return false;
    native.version[strcspn(native.version, "\n,")] = '\0'; /* package and identifier add nothing */
    for (char *c = native.version; *c; c++)
        if (*c == '\t')
            *c = ' ';
    native.open_mpi = strncmp(native.version, "Open MPI", 8) == 0;
    bool fits = abi_is_spoken_by(native.open_mpi);
    if (!fits)
        native_say("mpit: nothing is recorded: the loaded recorder is for the %s ABI, but the program uses \"%s\"",
                   ABI_NAME, native.version);
    return fits;
}

static void native_calls_find(void)
{
    if (!mpit_preload.next("PMPI_Init"))
        mpit_preload.library();
    bool complete = true;
#define PMPI_FIND(name)                                                                                                \
    native.name = (__typeof__(native.name))native_symbol("PMPI_" #name);                                               \
    complete = complete && native.name;
    PMPI_CALLS(PMPI_FIND)
#undef PMPI_FIND
    native.File_get_position = (__typeof__(native.File_get_position))native_symbol("PMPI_File_get_position");
    native.File_get_byte_offset = (__typeof__(native.File_get_byte_offset))native_symbol("PMPI_File_get_byte_offset");
    native.File_get_size = (__typeof__(native.File_get_size))native_symbol("PMPI_File_get_size");
    native.Group_from_session_pset =
        (__typeof__(native.Group_from_session_pset))native_symbol("PMPI_Group_from_session_pset");
    native.mismatch = native.Get_library_version && !abi_fits();
    if (!complete || native.mismatch)
        return;
    constants_find();
    __atomic_store_n(&native.present, true, __ATOMIC_RELEASE); /* native_find has the acquire */
}

bool native_find(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool told;
    if (__atomic_load_n(&native.present, __ATOMIC_ACQUIRE))
        return true;
    pthread_mutex_lock(&lock);
    if (!native.present && !told) {
        native_calls_find();
        told = native.Get_library_version != NULL && !native.present;
    }
    pthread_mutex_unlock(&lock);
    return native.present;
}

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock; /* held while a descriptor is used, so that it is not closed meanwhile */
    uint64_t *handles;
    unsigned count;
    unsigned unknown; /* could not be stored without memory */
} sessions = {.lock = PTHREAD_MUTEX_INITIALIZER};

void native_session_add(uint64_t handle)
{
    pthread_mutex_lock(&sessions.lock);
    if (ARRAY_GROWN(sessions.handles, sessions.count)) {
        sessions.handles[sessions.count] = handle;
        __atomic_store_n(&sessions.count, sessions.count + 1, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n(&sessions.unknown, sessions.unknown + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&sessions.lock);
}

void native_session_remove(uint64_t handle)
{
    pthread_mutex_lock(&sessions.lock);
    unsigned i = 0;
    while (i < sessions.count && sessions.handles[i] != handle)
        i++;
    if (i < sessions.count) {
        sessions.handles[i] = sessions.handles[sessions.count - 1];
        __atomic_store_n(&sessions.count, sessions.count - 1, __ATOMIC_RELEASE);
    } else if (sessions.unknown) {
        __atomic_store_n(&sessions.unknown, sessions.unknown - 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&sessions.lock);
}

unsigned native_session_count(void)
{
    return __atomic_load_n(&sessions.count, __ATOMIC_ACQUIRE) + __atomic_load_n(&sessions.unknown, __ATOMIC_ACQUIRE);
}

static bool session_world_group(MPI_Group *group)
{
    bool good = false;
    pthread_mutex_lock(&sessions.lock);
    if (sessions.count && native.Group_from_session_pset)
        good = native.Group_from_session_pset((MPI_Session)(uintptr_t)sessions.handles[0], "mpi://WORLD", group) ==
               MPI_SUCCESS;
    pthread_mutex_unlock(&sessions.lock);
    return good;
}

bool native_world_group(MPI_Group *group)
{
    if (__atomic_load_n(&native.world, __ATOMIC_ACQUIRE))
        return native.Comm_group(native.comm_world, group) == MPI_SUCCESS;
    return session_world_group(group);
}

bool native_between(void)
{
    int initialized = 0, finalized = 0;
    if (__atomic_load_n(&native.finalizing, __ATOMIC_ACQUIRE))
        return false;
    return native_session_count() || (native.Initialized(&initialized) == MPI_SUCCESS && initialized &&
                                      native.Finalized(&finalized) == MPI_SUCCESS && !finalized);
}

/* ---- the library's MPI_T: one call at a time --------------------------------------------------------------------- */

static pthread_mutex_t inside_lock = PTHREAD_MUTEX_INITIALIZER;
static bool held; /* under the lock: a thread is in MPI_Init or MPI_Finalize */
THREAD_OWN(bool, native_holder);
/* Set before the lock is taken and cleared after it is released, by the thread for its own signal handlers. */
THREAD_OWN(bool, native_inside);

static bool entered(bool locked)
{
    bool good = locked && (!held || native_holder);
    if (locked && !good)
        pthread_mutex_unlock(&inside_lock);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (!good)
        native_inside = false;
    return good;
}

bool native_enter(void)
{
    if (native_inside)
        return false;
    native_inside = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return entered(pthread_mutex_lock(&inside_lock) == 0);
}

bool native_enter_soon(void)
{
    enum { SOON_MS = 1000 };
    if (native_inside)
        return false;
    native_inside = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (pthread_mutex_trylock(&inside_lock) == 0)
        return entered(true);
    bool locked = false; /* pthread_mutex_clocklock is too new for older systems */
    for (int i = 0; i < SOON_MS && !(locked = pthread_mutex_trylock(&inside_lock) == 0); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return entered(locked);
}

void native_leave(void)
{
    pthread_mutex_unlock(&inside_lock);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    native_inside = false;
}

void native_hold(void)
{
    if (!native_enter())
        return;
    held = native_holder = true;
    native_leave();
}

void native_release(void)
{
    if (!native_holder || !native_enter())
        return;
    held = native_holder = false;
    native_leave();
}

void native_types_find(void)
{
    abi_types_find();
}

uint64_t native_bytes_slow(int64_t count, MPI_Datatype type)
{
    MPI_Count size = 0;
    if (count <= 0 || native.Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
        return 0;
    return (uint64_t)count * (uint64_t)size;
}
