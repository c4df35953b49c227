#include "wrappers/caller.h"

#include "backends.h"
#include "native.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <strings.h>

struct caller_library caller_libraries[CALLER_PLACES];

struct search {
    uintptr_t address;
    struct caller_library found;
};

/* Knows the Fortran layers of every backend: a library of one ABI may be the Fortran layer of another. */
static bool is_fortran(const char *path)
{
#define FORTRAN(id, name, title, marker, libraries, fortran, cplusplus, runtimes) fortran
    return native_library_named(path, BACKENDS(FORTRAN));
#undef FORTRAN
}

static int library_compare(struct dl_phdr_info *info, size_t bytes, void *data)
{
    struct search *search = data;
    uintptr_t low = UINTPTR_MAX, high = 0;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD)
            continue;
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        low = begin < low ? begin : low;
        high = begin + segment->p_memsz > high ? begin + segment->p_memsz : high;
    }
    if (search->address < low || search->address >= high)
        return 0;
    search->found = (struct caller_library){low, high - low, info->dlpi_name && is_fortran(info->dlpi_name)};
    return 1;
}

/* Stores a library in the next free place. The first place is for the first Fortran layer. Two threads may store the
 * same library. When all places are taken, other libraries are looked up each time. */
static void note(const struct caller_library *found)
{
    static unsigned taken;
    static bool first_taken;
    unsigned place = 0;
    if (!found->fortran || __atomic_exchange_n(&first_taken, true, __ATOMIC_RELAXED)) {
        if (__atomic_load_n(&taken, __ATOMIC_RELAXED) >= CALLER_PLACES - 1)
            return;
        place = 1 + __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
        if (place >= CALLER_PLACES)
            return;
    }
    caller_libraries[place].begin = found->begin;
    caller_libraries[place].fortran = found->fortran;
    __atomic_store_n(&caller_libraries[place].size, found->size, __ATOMIC_RELEASE);
}

bool caller_look(const void *return_address)
{
    struct search search = {.address = (uintptr_t)return_address};
    for (unsigned i = 0; i < CALLER_PLACES; i++) {
        const struct caller_library *known = &caller_libraries[i];
        uintptr_t size = __atomic_load_n(&known->size, __ATOMIC_ACQUIRE);
        if (search.address - known->begin < size)
            return known->fortran;
    }
    if (!dl_iterate_phdr(library_compare, &search))
        return false;
    note(&search.found);
    return search.found.fortran;
}

/* ---- whose call it is -------------------------------------------------------------------------------------------- */

enum { SITES = 512 };

/* Call sites with a known verdict. A later site overwrites an earlier one in the same place. */
static uintptr_t sites[SITES];

/* True if `symbol` is the Fortran binding of the function (mpi_comm_rank_, pmpi_comm_rank__, MPI_COMM_RANK,
 * ompi_comm_rank_f, mpi_comm_rank_f08_, ...). The function's name is between the prefix and these ends. */
static bool binds(const char *symbol, const char *name)
{
    static const char *const prefixes[] = {"mpi_", "pmpi_", "ompi_", "mpir_", "pmpir_", "mpii_"};
    static const char *const ends[] = {"", "_", "__", "_f", "_f08", "_f08_", "_f08ts", "_f08ts_", "_f90_", "_cdesc"};
    size_t length = strlen(name + 4);
    for (size_t p = 0; p < sizeof prefixes / sizeof prefixes[0]; p++) {
        size_t skip = strlen(prefixes[p]);
        if (strncasecmp(symbol, prefixes[p], skip) != 0 || strncasecmp(symbol + skip, name + 4, length) != 0)
            continue;
        for (size_t e = 0; e < sizeof ends / sizeof ends[0]; e++)
            if (strcasecmp(symbol + skip + length, ends[e]) == 0)
                return true;
    }
    return false;
}

/* The address and a verdict in one word: code addresses need 57 bits at most. */
#define SITE_OURS ((uintptr_t)1 << 63)

bool caller_asks_for(const void *return_address, const char *name)
{
    uintptr_t address = (uintptr_t)return_address;
    if (!caller_is_fortran(return_address))
        return true;
    uintptr_t *site = &sites[(address * UINT64_C(0x9e3779b97f4a7c15)) >> 55];
    uintptr_t known = __atomic_load_n(site, __ATOMIC_RELAXED);
    if ((known & ~SITE_OURS) == address)
        return known & SITE_OURS;
    Dl_info where;
    bool ours = dladdr((const char *)return_address - 1, &where) && where.dli_sname && binds(where.dli_sname, name);
    __atomic_store_n(site, address | (ours ? SITE_OURS : 0), __ATOMIC_RELAXED);
    return ours;
}
