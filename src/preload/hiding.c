#include "hiding.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* The linker's name for the first byte of this library. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

/* glibc makes an address of the offset in this entry, other loaders leave it. */
static const void *dynamic_find(ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == tag)
            return entry->d_un.d_ptr < (uintptr_t)__ehdr_start ? __ehdr_start + entry->d_un.d_ptr
                                                               : (const char *)entry->d_un.d_ptr;
    return NULL;
}

void symbols_hide(const char *code, size_t bytes, const bool hidden[], size_t count)
{
    ElfW(Sym) *symbols = (ElfW(Sym) *)dynamic_find(DT_SYMTAB);
    const uint32_t *hash = dynamic_find(DT_HASH); /* numbers of buckets and of symbols, ... */
    long page = sysconf(_SC_PAGESIZE);
    if (!symbols || !hash || page <= 0)
        return;
    char *begin = (char *)((uintptr_t)symbols & ~(uintptr_t)(page - 1));
    size_t size = (size_t)((char *)(symbols + hash[1]) - begin);
    if (mprotect(begin, size, PROT_READ | PROT_WRITE) != 0)
        return;
    for (uint32_t i = 0; i < hash[1]; i++) {
        size_t at = (size_t)(__ehdr_start + symbols[i].st_value - code);
        if (symbols[i].st_value && at / bytes < count && at % bytes == 0 && hidden[at / bytes])
            __atomic_store_n(&symbols[i].st_value, 0, __ATOMIC_RELAXED); /* for the loader: not defined here */
    }
    mprotect(begin, size, PROT_READ);
}
