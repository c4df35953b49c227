/*
 * The part that only the standard ABI of MPI 5 needs (MPI 5.0, chapter 20): libmpi_abi.so.1 of MPICH 5, Open MPI 6 and
 * later ones. Handles are pointers, predefined ones are constants. A library may use its own values for all others.
 */
#ifndef MPIT_NATIVE_ABI_STANDARD_H
#define MPIT_NATIVE_ABI_STANDARD_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#define ABI_NAME "standard"
#define ABI_IN_PLACE ((void *)1)
#define ABI_HANDLES_ARE_SYMBOLS 0
#define ABI_CONSTANT(constant, symbol) (constant)
#define ABI_REQUESTS_ARE_OBJECTS 1

/* Any MPI may have it. libmpit.so has seen from which library MPI_Init comes. */
static inline bool abi_is_spoken_by(bool open_mpi)
{
    (void)open_mpi;
    return true;
}

static inline MPI_T_pvar_handle abi_all_handles(void *(*object)(const char *))
{
    (void)object;
    return MPI_T_PVAR_ALL_HANDLES;
}

/* Sizes of predefined types, whose handles are 0x200 to 0x2ff. 0: not known. Built once, then only read. */
enum { ABI_TYPE_FIRST = 0x200, ABI_TYPES = 0x100 };
extern uint32_t abi_type_sizes[ABI_TYPES];
void abi_types_find(void);

static inline bool abi_type_size(MPI_Datatype type, uint32_t *size)
{
    uintptr_t place = (uintptr_t)type - ABI_TYPE_FIRST;
    *size = place < ABI_TYPES ? abi_type_sizes[place] : 0;
    return *size != 0;
}

/*
 * True for the handle that all requests share which are complete when they are posted. MPICH hands out its own integer:
 * a built-in one, by bits 30 and 31. Open MPI hands out an address: an object of a library, not of the heap.
 */
bool abi_request_is_shared_slow(uint64_t handle);
extern uint64_t abi_request_shared; /* the last address that was found */

static inline bool abi_request_was_shared(uint64_t handle)
{
    return handle >> 32 == 0 ? handle >> 30 == 1 : __atomic_load_n(&abi_request_shared, __ATOMIC_RELAXED) == handle;
}

static inline bool abi_request_is_shared(uint64_t handle)
{
    return abi_request_was_shared(handle) || (handle >> 32 != 0 && abi_request_is_shared_slow(handle));
}

/*
 * The standard hides the bytes and the cancelled flag of a status in MPI_internal. Each library has them somewhere
 * there. Where, is learned once: by setting known values. If that fails, the library is asked each time.
 */
struct abi_status_layout {
    bool known;
    uint8_t low, high; /* indices in MPI_internal of the lower 32 bits of the bytes, and of the upper ones */
    uint8_t shift;     /* of the upper ones */
    uint8_t cancelled; /* index */
    uint32_t flag;     /* the bits that are set there */
};
extern struct abi_status_layout abi_status_layout;
uint64_t abi_status_bytes_slow(const MPI_Status *status);
void abi_status_bytes_set_slow(MPI_Status *status, uint64_t bytes);
bool abi_status_cancelled_slow(const MPI_Status *status);

static inline uint64_t abi_status_bytes(const MPI_Status *status)
{
    const struct abi_status_layout *at = &abi_status_layout;
    if (__builtin_expect(!at->known, 0))
        return abi_status_bytes_slow(status);
    return (uint32_t)status->MPI_internal[at->low] | (uint64_t)((uint32_t)status->MPI_internal[at->high] >> at->shift)
                                                         << 32;
}

static inline void abi_status_bytes_set(MPI_Status *status, uint64_t bytes)
{
    const struct abi_status_layout *at = &abi_status_layout;
    if (__builtin_expect(!at->known, 0)) {
        abi_status_bytes_set_slow(status, bytes);
        return;
    }
    uint32_t below = (uint32_t)status->MPI_internal[at->high] & ((1u << at->shift) - 1);
    status->MPI_internal[at->low] = (int)(uint32_t)bytes;
    status->MPI_internal[at->high] = (int)((uint32_t)(bytes >> 32) << at->shift | below);
}

static inline bool abi_status_cancelled(const MPI_Status *status)
{
    const struct abi_status_layout *at = &abi_status_layout;
    if (__builtin_expect(!at->known, 0))
        return abi_status_cancelled_slow(status);
    return (uint32_t)status->MPI_internal[at->cancelled] & at->flag;
}

#endif
