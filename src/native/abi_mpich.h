/* The part that only MPICH's ABI needs (Intel MPI, MVAPICH and Cray MPICH share it). Handles are integers. */
#ifndef MPIT_NATIVE_ABI_MPICH_H
#define MPIT_NATIVE_ABI_MPICH_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#define ABI_NAME "MPICH"
#define ABI_IN_PLACE ((void *)-1)
#define ABI_HANDLES_ARE_SYMBOLS 0
#define ABI_CONSTANT(constant, symbol) (constant)
#define ABI_REQUESTS_ARE_OBJECTS 0

#if !defined(MPI_SESSION_NULL) /* an mpi.h of MPI 3: the library may be newer */
typedef int MPI_Session;
#endif

/* True if the library with that version text has this ABI: all except Open MPI descend from MPICH. */
static inline bool abi_is_spoken_by(bool open_mpi)
{
    return !open_mpi;
}

/* A data symbol of the library. NULL: it has none. */
static inline MPI_T_pvar_handle abi_all_handles(void *(*object)(const char *))
{
    MPI_T_pvar_handle const *all = object("MPI_T_PVAR_ALL_HANDLES");
    return all ? *all : (MPI_T_pvar_handle)0;
}

static inline void abi_types_find(void)
{
}

/* A predefined type carries its size in its handle: 0x4c00SSii. */
static inline bool abi_type_size(MPI_Datatype type, uint32_t *size)
{
    *size = ((uint32_t)type >> 8) & 0xff;
    return ((uint32_t)type & 0xffff0000u) == 0x4c000000u;
}

/*
 * True for the handle that all requests share which are complete when they are posted: a built-in one, by its upper two
 * bits.
 */
static inline bool abi_request_is_shared(uint64_t handle)
{
    return handle >> 30 == 1;
}

/* The same, as far as it is known without a search. */
static inline bool abi_request_was_shared(uint64_t handle)
{
    return abi_request_is_shared(handle);
}

/* The count has 63 bits: count_lo and the upper bits of count_hi_and_cancelled. Its lowest bit means canceled. */
static inline uint64_t abi_status_bytes(const MPI_Status *status)
{
    return (uint32_t)status->count_lo | ((uint64_t)((uint32_t)status->count_hi_and_cancelled >> 1) << 32);
}

static inline void abi_status_bytes_set(MPI_Status *status, uint64_t bytes)
{
    status->count_lo = (int)(uint32_t)bytes;
    status->count_hi_and_cancelled = (int)((uint32_t)(bytes >> 32) << 1) | (status->count_hi_and_cancelled & 1);
}

static inline bool abi_status_cancelled(const MPI_Status *status)
{
    return status->count_hi_and_cancelled & 1;
}

#endif
