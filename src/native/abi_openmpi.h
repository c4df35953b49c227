/*
 * The part that only Open MPI's ABI needs. Handles are pointers to objects. Predefined ones are symbols of the library.
 */
#ifndef MPIT_NATIVE_ABI_OPENMPI_H
#define MPIT_NATIVE_ABI_OPENMPI_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#define ABI_NAME "Open MPI"
#define ABI_IN_PLACE ((void *)1)
#define ABI_HANDLES_ARE_SYMBOLS 1
#define ABI_CONSTANT(constant, symbol) native_object(symbol)
#define ABI_REQUESTS_ARE_OBJECTS 1

#if !defined(MPI_SESSION_NULL) /* an mpi.h of MPI 3: the library may be newer */
typedef struct ompi_instance_t *MPI_Session;
#endif

/* True if the library with that version text has this ABI. */
static inline bool abi_is_spoken_by(bool open_mpi)
{
    return open_mpi;
}

/* A constant of mpi.h or a data symbol of the library: NULL when there is none. */
static inline MPI_T_pvar_handle abi_all_handles(void *(*object)(const char *))
{
    (void)object;
    return MPI_T_PVAR_ALL_HANDLES;
}

/* Sizes of predefined types, by their addresses: built once, then only read. */
enum { ABI_TYPE_PLACES = 256 };
struct abi_type {
    MPI_Datatype type;
    uint32_t size;
};
extern struct abi_type abi_types[ABI_TYPE_PLACES];
void abi_types_find(void);

static inline unsigned abi_type_place(MPI_Datatype type)
{
    return (unsigned)(((uintptr_t)type * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
}

static inline bool abi_type_size(MPI_Datatype type, uint32_t *size)
{
    const struct abi_type *known = &abi_types[abi_type_place(type)];
    *size = known->size;
    return known->type == type;
}

/* True for the handle that all requests share which are complete when they are posted: an object of a library, not
 * of the heap. Slow at first, so it is used for handles seen twice. */
bool abi_request_is_shared_slow(uint64_t handle);
extern uint64_t abi_request_shared; /* the last one that was found */

static inline bool abi_request_was_shared(uint64_t handle)
{
    return __atomic_load_n(&abi_request_shared, __ATOMIC_RELAXED) == handle;
}

static inline bool abi_request_is_shared(uint64_t handle)
{
    return abi_request_was_shared(handle) || abi_request_is_shared_slow(handle);
}

static inline uint64_t abi_status_bytes(const MPI_Status *status)
{
    return status->_ucount;
}

static inline void abi_status_bytes_set(MPI_Status *status, uint64_t bytes)
{
    status->_ucount = bytes;
}

static inline bool abi_status_cancelled(const MPI_Status *status)
{
    return status->_cancelled != 0;
}

#endif
