/*
 * The calls on control variables.
 *
 * A tool's handle is a ticket, as for performance variables (session.h): place and generation in a table that never
 * shrinks. So a stale handle is found and never followed. Places are taken and freed under the table's lock. A native
 * handle is used and freed under the lock of native MPI_T. Reading and writing own variables takes no lock.
 */
#include "variables/cvar.h"

#include "variables/control.h"
#include "catalogue/door.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

enum { HANDLE_BLOCK = 256, HANDLE_BLOCKS = 1024, TEXT_BYTES = 1 << 16, PROBED = 4096 };

struct cvar_handle {
    uint32_t generation; /* odd: in use */
    uint32_t index;
    uint32_t spare; /* index + 1 of the next free place */
    const struct control *control;
    MPI_T_cvar_handle native;
    void *object; /* for control->access */
    int count;
};

static struct cvar_handle *blocks[HANDLE_BLOCKS];
static uint32_t top;   /* places used so far. Stored with release when the last one is there */
static uint32_t spare; /* index + 1 of a freed place */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

static struct cvar_handle *cvar_handle_at(uint32_t index)
{
    if (index >= __atomic_load_n(&top, __ATOMIC_ACQUIRE))
        return NULL;
    return &blocks[index / HANDLE_BLOCK][index % HANDLE_BLOCK];
}

/* Odd, so that it is not an address, and different in the low bits from tickets of session.c. */
static MPI_T_cvar_handle cvar_ticket_make(uint32_t index, uint32_t generation)
{
    return (MPI_T_cvar_handle)(((uintptr_t)(generation & 0x7fffffff) << 32) | ((uintptr_t)index << 4) | 5);
}

/* NULL: not a handle in use. Lock-free. */
static struct cvar_handle *cvar_handle_find(MPI_T_cvar_handle handle)
{
    struct cvar_handle *place = cvar_handle_at((uint32_t)(((uintptr_t)handle & 0xffffffff) >> 4));
    uint32_t generation = place ? __atomic_load_n(&place->generation, __ATOMIC_ACQUIRE) : 0;
    return (generation & 1) && handle == cvar_ticket_make(place->index, generation) ? place : NULL;
}

/* Under the lock. Returns a free place. NULL: none. */
static struct cvar_handle *cvar_handle_take(void)
{
    if (spare) {
        struct cvar_handle *place = cvar_handle_at(spare - 1);
        spare = place->spare;
        return place;
    }
    uint32_t block = top / HANDLE_BLOCK;
    if (block < HANDLE_BLOCKS && !blocks[block])
        blocks[block] = calloc(HANDLE_BLOCK, sizeof(struct cvar_handle));
    if (block >= HANDLE_BLOCKS || !blocks[block])
        return NULL;
    struct cvar_handle *place = &blocks[block][top % HANDLE_BLOCK];
    place->index = top;
    __atomic_store_n(&top, top + 1, __ATOMIC_RELEASE);
    return place;
}

/* Under the lock. The handle becomes stale before the native one is freed. */
static void place_free(struct cvar_handle *place)
{
    bool entered = place->native != MPI_T_CVAR_HANDLE_NULL && native_enter();
    if (place->generation & 1)
        __atomic_store_n(&place->generation, place->generation + 1, __ATOMIC_RELEASE);
    if (entered) {
        door.cvar_handle_free(&place->native);
        native_leave();
    }
    if (place->object && place->control->access && place->control->access->close)
        place->control->access->close(place->object);
    place->object = NULL;
    place->native = MPI_T_CVAR_HANDLE_NULL;
    place->spare = spare;
    spare = place->index + 1;
}

void cvar_handle_free_all(void)
{
    pthread_mutex_lock(&table_lock);
    for (uint32_t i = 0; i < top; i++)
        if (cvar_handle_at(i)->generation & 1)
            place_free(cvar_handle_at(i));
    pthread_mutex_unlock(&table_lock);
}

/* ---- the library's ----------------------------------------------------------------------------------------------- */

static int loaded_library_look(struct dl_phdr_info *info, size_t size, void *part)
{
    (void)size;
    return strstr(info->dlpi_name, part) != NULL;
}

/*
 * Open MPI keeps the variables of these libraries when it unloads them, and then reads unmapped memory. The variables
 * have the names of all components that use these libraries.
 */
static bool would_crash(const struct control *control)
{
    static char *const parts[][2] = {{"_ucx_", "libmca_common_ucx"}, {"_ofi_", "libmca_common_ofi"}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strstr(control->name, parts[i][0]) && !dl_iterate_phdr(loaded_library_look, parts[i][1]))
            return strcmp(ABI_NAME, "Open MPI") == 0;
    return false;
}

/* Under the lock of native MPI_T. Closed components took their variables with them. */
static bool native_lives(const struct control *control)
{
    MPI_Datatype type = control->native_type;
    int result = door.cvar_get_info(control->native_index, NULL, NULL, NULL, &type, NULL, NULL, NULL, NULL, NULL);
    return result == MPI_SUCCESS && type == control->native_type && !would_crash(control);
}

/*
 * Under the lock of native MPI_T. Open MPI writes texts without a limit, and truth values into one byte. So it writes
 * into our own memory.
 */
static int native_read(MPI_T_cvar_handle handle, const struct control *control, int count, void *buf)
{
    static char text[TEXT_BYTES];
    bool is_text = control->native_type == native.char_, is_truth = control->native_type == native.c_bool;
    if (!is_text && !is_truth)
        return door.cvar_read(handle, buf);
    text[0] = '\0';
    int result = door.cvar_read(handle, text);
    if (result == MPI_SUCCESS && is_truth) {
        *(int *)buf = text[0] != 0;
    } else if (result == MPI_SUCCESS && count > 0) {
        size_t length = strnlen(text, (size_t)count - 1);
        memcpy(buf, text, length);
        ((char *)buf)[length] = '\0';
    }
    return result;
}

/* Under the lock of native MPI_T. For a truth value Open MPI checks an int and takes a byte. */
static int native_write(MPI_T_cvar_handle handle, const struct control *control, const void *value)
{
    unsigned long long truth = 0;
    if (control->native_type != native.c_bool)
        return door.cvar_write(handle, value);
    truth = *(const int *)value != 0;
    return door.cvar_write(handle, &truth);
}

/* A second name of a removed variable still exists, and cannot be read. */
static bool native_answers(const struct cvar_handle *place)
{
    static long double room[PROBED];
    return native_read(place->native, place->control, place->count, room) != MPI_T_ERR_INVALID_INDEX;
}

static int native_alloc(struct cvar_handle *place, void *obj_handle)
{
    const struct control *control = place->control;
    void *object = control->bind == MPI_T_BIND_NO_OBJECT ? NULL : obj_handle;
    int result = MPI_T_ERR_INVALID_INDEX;
    if (control->bind != MPI_T_BIND_NO_OBJECT && !obj_handle)
        return MPI_T_ERR_INVALID;
    if (!native_enter())
        return DOOR_BUSY;
    if (native_lives(control))
        result = door.cvar_handle_alloc(control->native_index, object, &place->native, &place->count);
    bool answers = result != MPI_SUCCESS || place->count > PROBED || native_answers(place);
    native_leave();
    return answers ? result : MPI_T_ERR_INVALID_INDEX;
}

/* Reads into `buf`, or writes from `value`. */
static int native_access(MPI_T_cvar_handle handle, void *buf, const void *value)
{
    int result = MPI_T_ERR_INVALID_HANDLE;
    if (!native_enter())
        return value ? MPI_T_ERR_CVAR_SET_NOT_NOW : DOOR_BUSY;
    const struct cvar_handle *place = cvar_handle_find(handle); /* again: it may have been freed meanwhile */
    if (place && native_lives(place->control))
        result = value ? native_write(place->native, place->control, value)
                       : native_read(place->native, place->control, place->count, buf);
    native_leave();
    return result == MPI_T_ERR_INVALID_INDEX ? MPI_T_ERR_INVALID_HANDLE : result; /* it has died */
}

/* ---- entry points ------------------------------------------------------------------------------------------------ */

SURFACE(cvar_get_num);
int MPI_T_cvar_get_num(int *num_cvar)
{
    return door_count(num_cvar, control_refresh);
}

SURFACE(cvar_get_info);
int MPI_T_cvar_get_info(int cvar_index, char *name, int *name_len, int *verbosity, MPI_Datatype *datatype,
                        MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind, int *scope)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    const struct control *control = control_at(cvar_index);
    if (!control)
        return MPI_T_ERR_INVALID_INDEX;
    string_return(control->name, name, name_len);
    string_return(control->description, desc, desc_len);
    if (verbosity)
        *verbosity = control->verbosity;
    if (datatype)
        *datatype = control->datatype;
    if (enumtype)
        *enumtype = control->enumtype;
    if (bind)
        *bind = control->bind;
    if (scope)
        *scope = control->scope;
    return MPI_SUCCESS;
}

SURFACE(cvar_get_index);
int MPI_T_cvar_get_index(const char *name, int *cvar_index)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (!name || !cvar_index)
        return MPI_T_ERR_INVALID;
    int index = control_find(name);
    if (index < 0)
        return MPI_T_ERR_INVALID_NAME;
    *cvar_index = index;
    return MPI_SUCCESS;
}

SURFACE(cvar_handle_alloc);
int MPI_T_cvar_handle_alloc(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle, int *count)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    const struct control *control = control_at(cvar_index);
    if (!control)
        return MPI_T_ERR_INVALID_INDEX;
    if (!handle)
        return MPI_T_ERR_INVALID;
    int result = MPI_T_ERR_OUT_OF_HANDLES;
    pthread_mutex_lock(&table_lock);
    struct cvar_handle *place = cvar_handle_take();
    if (place) {
        place->control = control;
        place->native = MPI_T_CVAR_HANDLE_NULL;
        place->object = NULL;
        place->count = 0;
        result = control->access ? control->access->open(control, obj_handle, &place->object, &place->count)
                                 : native_alloc(place, obj_handle);
        if (result == MPI_SUCCESS) {
            __atomic_store_n(&place->generation, place->generation + 1, __ATOMIC_RELEASE);
            *handle = cvar_ticket_make(place->index, place->generation);
            if (count)
                *count = place->count;
        } else {
            place_free(place);
        }
    }
    pthread_mutex_unlock(&table_lock);
    return result;
}

SURFACE(cvar_handle_free);
int MPI_T_cvar_handle_free(MPI_T_cvar_handle *handle)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (!handle)
        return MPI_T_ERR_INVALID_HANDLE;
    pthread_mutex_lock(&table_lock);
    struct cvar_handle *place = cvar_handle_find(*handle);
    if (place) {
        place_free(place);
        *handle = MPI_T_CVAR_HANDLE_NULL;
    }
    pthread_mutex_unlock(&table_lock);
    return place ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

SURFACE(cvar_read);
int MPI_T_cvar_read(MPI_T_cvar_handle handle, void *buf)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    const struct cvar_handle *place = cvar_handle_find(handle);
    if (!place)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!buf)
        return MPI_T_ERR_INVALID;
    const struct control *control = place->control;
    return control->access ? control->access->read(control, place->object, buf) : native_access(handle, buf, NULL);
}

static bool writable(const struct control *control)
{
    return control->scope != MPI_T_SCOPE_CONSTANT && control->scope != MPI_T_SCOPE_READONLY;
}

SURFACE(cvar_write);
int MPI_T_cvar_write(MPI_T_cvar_handle handle, const void *buf)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    const struct cvar_handle *place = cvar_handle_find(handle);
    if (!place)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!buf)
        return MPI_T_ERR_INVALID;
    const struct control *control = place->control;
    if (!writable(control))
        return MPI_T_ERR_CVAR_SET_NEVER;
    return control->access ? control->access->write(control, place->object, buf) : native_access(handle, NULL, buf);
}
