#define _GNU_SOURCE
#include "unwinder/loaded.h"

#include "unwinder/unwindtable.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Finds the build id in the mapped notes. */
static void build_id_find(struct loaded *loaded, const ElfW(Ehdr) * head)
{
    const ElfW(Phdr) *parts = (const void *)((const char *)head + head->e_phoff);
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_phoff > 4096 || head->e_phentsize != sizeof *parts)
        return;
    for (unsigned i = 0; i < head->e_phnum; i++) {
        uint64_t at = loaded->bias + parts[i].p_vaddr, end = at + parts[i].p_filesz;
        if (parts[i].p_type != PT_NOTE || at < loaded->begin || end > loaded->end || end < at)
            continue;
        while (end - at >= sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *note = (const void *)(uintptr_t)at;
            uint64_t name = at + sizeof *note, text = name + (note->n_namesz + UINT64_C(3)) / 4 * 4;
            uint64_t next = text + (note->n_descsz + UINT64_C(3)) / 4 * 4;
            if (next > end)
                break;
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && note->n_descsz <= SAMPLE_BUILD_ID_MOST &&
                memcmp((const void *)(uintptr_t)name, "GNU", 4) == 0) {
                loaded->build_id = (const void *)(uintptr_t)text;
                loaded->build_id_bytes = note->n_descsz;
                return;
            }
            at = next;
        }
    }
}

/* Returns an absolute path. The argument of dlopen may be relative to the directory of that time, which most programs
 * do not leave. */
static const char *path_of(struct loaded *loaded, const struct link_map *map)
{
    const char *name = map && map->l_name ? map->l_name : "";
    if (name[0] == '/' || !strchr(name, '/'))
        return name;
    long bytes = syscall(SYS_getcwd, loaded->room, sizeof loaded->room); /* with its NUL */
    size_t length = strlen(name);
    if (bytes <= 0 || loaded->room[0] != '/' || (size_t)bytes + length >= sizeof loaded->room)
        return name;
    loaded->room[bytes - 1] = '/';
    memcpy(loaded->room + bytes, name, length + 1);
    return loaded->room;
}

bool loaded_find(uint64_t address, struct loaded *loaded)
{
    struct found_object found;
    if (!unwind_works() || find_object((void *)(uintptr_t)address, &found) != 0)
        return false;
    const struct link_map *map = found.link_map;
    loaded->begin = (uintptr_t)found.map_start;
    loaded->end = (uintptr_t)found.map_end;
    loaded->bias = map ? map->l_addr : (uintptr_t)found.map_start;
    loaded->build_id = (const uint8_t *)"";
    loaded->build_id_bytes = 0;
    build_id_find(loaded, found.map_start);
    loaded->path = path_of(loaded, map);
    return true;
}
