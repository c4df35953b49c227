#include "variables/foreign.h"

#include "registry/book.h"
#include "registry/commreuse.h"
#include "catalogue/door.h"

#include <stdlib.h>
#include <string.h>

enum kind { SUM, MARK, CURRENT, GENERIC };

/* Room for bytes that a library writes beyond the declared count. Open MPI returns an address for no elements. */
enum { SLACK_BYTES = 64 };

/* The communicator as the library gets it. Open MPI 6.0.0rc2 reads flags behind the tool's variable, and may then call
 * the communicator freed. So it gets a copy with zeros behind it. */
struct bound_comm {
    MPI_Comm comm;
    char zeros[504];
};

struct foreign {
    const struct catalogue_entry *entry;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    const struct comm *comm; /* NULL: not bound, or the recorder knows no communicators */
    bool bound;
    struct bound_comm bound_to;
    enum kind kind;
    bool running; /* started in the library */
    bool started; /* by the tool */
    bool marked;  /* held has a mark */
    size_t count, element_bytes, bytes;
    unsigned char *held, *base, *sample; /* bytes of each, plus slack */
};

static enum kind class_kind(int class)
{
    switch (class) {
    case MPI_T_PVAR_CLASS_COUNTER:
    case MPI_T_PVAR_CLASS_AGGREGATE:
    case MPI_T_PVAR_CLASS_TIMER:
        return SUM;
    case MPI_T_PVAR_CLASS_HIGHWATERMARK:
    case MPI_T_PVAR_CLASS_LOWWATERMARK:
        return MARK;
    case MPI_T_PVAR_CLASS_GENERIC:
        return GENERIC;
    default:
        return CURRENT;
    }
}

/* The types that the standard allows for variables. 0: another one. */
static size_t bytes_of(MPI_Datatype type)
{
    if (type == native.char_)
        return 1;
    if (type == native.int_ || type == native.unsigned_)
        return sizeof(int);
    if (type == native.unsigned_long)
        return sizeof(long);
    if (type == native.unsigned_long_long || type == native.count || type == native.double_)
        return 8;
    return 0;
}

/* ---- arithmetic on elements -------------------------------------------------------------------------------------- */

/* to[i] += plus[i] - minus[i], in the variable's type */
static void add_difference(const struct foreign *f, void *to, const void *plus, const void *minus)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->entry->datatype == native.double_)
            ((double *)to)[i] += ((const double *)plus)[i] - ((const double *)minus)[i];
        else if (f->element_bytes == 4)
            ((uint32_t *)to)[i] += ((const uint32_t *)plus)[i] - ((const uint32_t *)minus)[i];
        else if (f->element_bytes == 8)
            ((uint64_t *)to)[i] += ((const uint64_t *)plus)[i] - ((const uint64_t *)minus)[i];
}

static bool goes_beyond(const struct foreign *f, const void *value, const void *mark, size_t i)
{
    bool high = f->entry->class == MPI_T_PVAR_CLASS_HIGHWATERMARK;
    if (f->entry->datatype == native.double_) {
        double v = ((const double *)value)[i], m = ((const double *)mark)[i];
        return high ? v > m : v < m;
    }
    uint64_t v = f->element_bytes == 4 ? ((const uint32_t *)value)[i] : ((const uint64_t *)value)[i];
    uint64_t m = f->element_bytes == 4 ? ((const uint32_t *)mark)[i] : ((const uint64_t *)mark)[i];
    return high ? v > m : v < m;
}

/* ---- under the lock of native MPI_T ------------------------------------------------------------------------------ */

/* True if it is still the variable that was added to the catalogue. */
static bool variable_lives(const struct catalogue_entry *entry)
{
    int class = -1;
    MPI_Datatype type = entry->datatype;
    int result = door.pvar_get_info(entry->native_index, NULL, NULL, NULL, &class, &type, NULL, NULL, NULL, NULL, NULL,
                                    NULL, NULL);
    return result == MPI_SUCCESS && class == entry->class && type == entry->datatype;
}

/* True if its object can still be used. */
static bool object_lives(const struct foreign *f)
{
    if (!f->bound)
        return true;
    return native_between() && (!f->comm || !__atomic_load_n(&f->comm->freed, __ATOMIC_ACQUIRE));
}

/* For calls that are answered without the library. */
static bool usable(const struct foreign *f)
{
    return object_lives(f) && variable_lives(f->entry);
}

/* Standard error codes of the library stay. Another one means that the handle is unusable. */
static int code(int result)
{
    switch (result) {
    case MPI_SUCCESS:
    case MPI_T_ERR_MEMORY:
    case MPI_T_ERR_INVALID_INDEX:
    case MPI_T_ERR_OUT_OF_HANDLES:
    case MPI_T_ERR_PVAR_NO_STARTSTOP:
    case MPI_T_ERR_PVAR_NO_WRITE:
    case MPI_T_ERR_PVAR_NO_ATOMIC:
    case MPI_T_ERR_INVALID:
        return result;
    default:
        return MPI_T_ERR_INVALID_HANDLE;
    }
}

static int foreign_sample(struct foreign *f)
{
    if (!object_lives(f))
        return MPI_T_ERR_INVALID_HANDLE;
    return code(door.pvar_read(f->session, f->handle, f->sample));
}

/* Reads the handle's value into f->sample. */
static int foreign_value_take(struct foreign *f)
{
    bool held = !f->started && f->kind != GENERIC;
    int result = MPI_T_ERR_INVALID_HANDLE;
    if (!held)
        result = foreign_sample(f);
    else if (usable(f))
        result = MPI_SUCCESS;
    if (result != MPI_SUCCESS || f->kind == GENERIC)
        return result;
    if (held) {
        memcpy(f->sample, f->held, f->bytes);
    } else if (f->kind == SUM) {
        add_difference(f, f->sample, f->held, f->base);
    } else if (f->kind == MARK && f->marked) {
        for (size_t i = 0; i < f->count; i++)
            if (!goes_beyond(f, f->sample, f->held, i))
                memcpy(f->sample + i * f->element_bytes, f->held + i * f->element_bytes, f->element_bytes);
    }
    return MPI_SUCCESS;
}

/* Starts a sum again at `from`. NULL: 0. */
static int sum_begin(struct foreign *f, const void *from)
{
    int result = f->started ? foreign_sample(f) : MPI_SUCCESS;
    if (result != MPI_SUCCESS)
        return result;
    memcpy(f->base, f->sample, f->bytes);
    if (from)
        memcpy(f->held, from, f->bytes);
    else
        memset(f->held, 0, f->bytes);
    return MPI_SUCCESS;
}

static int native_start(struct foreign *f)
{
    if (!usable(f))
        return MPI_T_ERR_INVALID_HANDLE;
    int result = f->running ? MPI_SUCCESS : code(door.pvar_start(f->session, f->handle));
    f->running = result == MPI_SUCCESS;
    return result;
}

static int foreign_handle_start(struct foreign *f)
{
    if (f->entry->continuous)
        return MPI_T_ERR_PVAR_NO_STARTSTOP;
    if (f->started)
        return MPI_SUCCESS;
    int result = native_start(f);
    if (result == MPI_SUCCESS && f->kind == SUM) {
        result = foreign_sample(f);
        memcpy(f->base, f->sample, f->bytes);
    }
    f->started = result == MPI_SUCCESS;
    return result;
}

static int stop(struct foreign *f)
{
    if (f->entry->continuous)
        return MPI_T_ERR_PVAR_NO_STARTSTOP;
    if (!f->started)
        return MPI_SUCCESS;
    int result = foreign_value_take(f);
    if (result != MPI_SUCCESS)
        return result;
    if (f->kind == GENERIC || f->kind == MARK) {
        result = code(door.pvar_stop(f->session, f->handle));
        f->running = result != MPI_SUCCESS;
    }
    if (result == MPI_SUCCESS) {
        memcpy(f->held, f->sample, f->bytes);
        f->marked = true;
        f->started = false;
    }
    return result;
}

static int value_write(struct foreign *f, const void *buf)
{
    if (f->entry->readonly)
        return MPI_T_ERR_PVAR_NO_WRITE;
    if (!usable(f))
        return MPI_T_ERR_INVALID_HANDLE;
    if (f->kind == SUM)
        return sum_begin(f, buf);
    if (f->kind == MARK) {
        memcpy(f->held, buf, f->bytes);
        f->marked = true;
        return f->started ? code(door.pvar_reset(f->session, f->handle)) : MPI_SUCCESS;
    }
    if (native.open_mpi && f->entry->continuous)
        return MPI_T_ERR_PVAR_NO_WRITE; /* it would write through a null pointer */
    memcpy(f->sample, buf, f->bytes);
    return code(door.pvar_write(f->session, f->handle, f->sample));
}

static int reset(struct foreign *f)
{
    if (f->entry->readonly)
        return MPI_T_ERR_PVAR_NO_WRITE;
    if (!usable(f))
        return MPI_T_ERR_INVALID_HANDLE;
    if (f->kind == SUM)
        return sum_begin(f, NULL);
    if (f->kind == MARK) {
        f->marked = false;
        memset(f->held, 0, f->bytes);
    }
    return code(door.pvar_reset(f->session, f->handle));
}

static int readreset(struct foreign *f, void *buf)
{
    if (!f->entry->atomic)
        return MPI_T_ERR_PVAR_NO_ATOMIC;
    int result = f->kind == SUM && f->started ? foreign_sample(f) : foreign_value_take(f);
    if (result != MPI_SUCCESS)
        return result;
    if (f->kind != SUM) {
        memcpy(buf, f->sample, f->bytes);
        return reset(f);
    }
    if (f->started) { /* one sample ends the read value and begins the next count */
        memcpy(buf, f->sample, f->bytes);
        add_difference(f, buf, f->held, f->base);
        memcpy(f->base, f->sample, f->bytes);
    } else {
        memcpy(buf, f->held, f->bytes);
    }
    memset(f->held, 0, f->bytes);
    return MPI_SUCCESS;
}

/* ---- handles ----------------------------------------------------------------------------------------------------- */

/* Open MPI 4.1 crashes in the handle_alloc of pml_ob1_* on an intercommunicator with fewer processes on the other
 * side: it reads past the end of a table. */
static bool alloc_would_crash(const struct catalogue_entry *entry, const struct comm *comm)
{
    return comm && comm->remote_size > 0 && comm->remote_size < comm->size && strncmp(entry->name, "pml_ob1_", 8) == 0;
}

/* Finds the communicator to bind it to. It is NULL also if the recorder has no registry. */
static int object_find(const struct catalogue_entry *entry, void *object, const struct comm **comm)
{
    *comm = NULL;
    if (entry->bind == MPI_T_BIND_NO_OBJECT)
        return MPI_SUCCESS;
    if (!object)
        return MPI_T_ERR_INVALID;
    if (!native_between())
        return MPI_T_ERR_INVALID_HANDLE;
    if (entry->bind == MPI_T_BIND_MPI_COMM && book.comms) {
        *comm = book_comm_find(abi_handle_of_comm(*(MPI_Comm *)object));
        return *comm ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
    }
    return MPI_SUCCESS;
}

static void foreign_release(struct foreign *f)
{
    if (f->handle != MPI_T_PVAR_HANDLE_NULL && !door_is_over())
        door.pvar_handle_free(f->session, &f->handle);
    if (f->comm)
        comm_unbind(f->comm);
    free(f->held);
    free(f);
}

/* Inside the door. */
static int foreign_bind(struct foreign *f, void *object, int *count)
{
    int elements = 0;
    if (f->entry->bind == MPI_T_BIND_MPI_COMM) {
        f->bound_to.comm = *(MPI_Comm *)object;
        object = &f->bound_to;
    } else if (f->entry->bind == MPI_T_BIND_NO_OBJECT) {
        object = NULL; /* which the same library looks at all the same */
    }
    int result = code(door.pvar_handle_alloc(f->session, f->entry->native_index, object, &f->handle, &elements));
    if (result != MPI_SUCCESS) {
        f->handle = MPI_T_PVAR_HANDLE_NULL;
        return result;
    }
    f->count = elements > 0 ? (size_t)elements : 0;
    f->bytes = f->count * f->element_bytes;
    size_t room = (f->bytes + SLACK_BYTES + 15) / 16 * 16;
    f->held = calloc(3, room);
    if (!f->held)
        return MPI_T_ERR_MEMORY;
    f->base = f->held + room;
    f->sample = f->base + room;
    *count = elements;
    if (!f->entry->continuous)
        return MPI_SUCCESS;
    f->started = f->running = true;
    return f->kind == SUM ? sum_begin(f, NULL) : MPI_SUCCESS;
}

int foreign_alloc(const struct catalogue_entry *entry, MPI_T_pvar_session session, void *object,
                  struct foreign **foreign, int *count)
{
    const struct comm *comm;
    int result = object_find(entry, object, &comm);
    if (result != MPI_SUCCESS)
        return result;
    if (session == MPI_T_PVAR_SESSION_NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!native_enter())
        return DOOR_BUSY;
    struct foreign *f = NULL;
    if (!variable_lives(entry) || !bytes_of(entry->datatype)) {
        result = MPI_T_ERR_INVALID_INDEX;
    } else if (alloc_would_crash(entry, comm)) {
        result = MPI_T_ERR_INVALID_HANDLE;
    } else if (!(f = calloc(1, sizeof *f))) {
        result = MPI_T_ERR_MEMORY;
    } else {
        f->entry = entry;
        f->session = session;
        f->comm = comm;
        if (comm)
            comm_bind(comm);
        f->bound = entry->bind != MPI_T_BIND_NO_OBJECT;
        f->kind = class_kind(entry->class);
        f->element_bytes = bytes_of(entry->datatype);
        result = foreign_bind(f, object, count);
        if (result == MPI_SUCCESS)
            *foreign = f;
        else
            foreign_release(f);
    }
    native_leave();
    return result;
}

void foreign_free(struct foreign **foreign)
{
    if (!*foreign || !native_enter())
        return;
    struct foreign *f = *foreign;
    *foreign = NULL;
    foreign_release(f);
    native_leave();
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static int value_read(struct foreign *f, void *buf)
{
    int result = foreign_value_take(f);
    if (result == MPI_SUCCESS)
        memcpy(buf, f->sample, f->bytes);
    return result;
}

static int call_do(struct foreign *f, enum handle_call call, void *buf)
{
    switch (call) {
    case HANDLE_START:
        return foreign_handle_start(f);
    case HANDLE_STOP:
        return stop(f);
    case HANDLE_READ:
        return value_read(f, buf);
    case HANDLE_WRITE:
        return value_write(f, buf);
    case HANDLE_RESET:
        return reset(f);
    default:
        return readreset(f, buf);
    }
}

int foreign_call(struct foreign *const *where, enum handle_call call, void *buf)
{
    if (!native_enter_soon())
        return DOOR_BUSY;
    int result = *where ? call_do(*where, call, buf) : MPI_T_ERR_INVALID_HANDLE;
    native_leave();
    return result;
}
