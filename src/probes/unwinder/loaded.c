#include "unwinder/loaded.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int (*find_object)(void *address, struct found_object *found);

static struct image program; /* without begin and end */

const ElfW(Phdr) * image_segment(const struct image *image, uint64_t address)
{
    for (size_t i = 0; i < image->part_count; i++) {
        const ElfW(Phdr) *part = &image->parts[i];
        if (part->p_type == PT_LOAD && address - image->bias - part->p_vaddr < part->p_filesz)
            return part;
    }
    return NULL;
}

/* `wanted`: an image whose begin is an address. 0: the program's, which is the first one. */
static int image_judge(struct dl_phdr_info *info, size_t bytes, void *wanted)
{
    struct image *image = wanted;
    uintptr_t address = image->begin;
    (void)bytes;
    *image = (struct image){address, 0, info->dlpi_addr, info->dlpi_name, NULL, info->dlpi_phdr, info->dlpi_phnum};
    const ElfW(Phdr) *segment = image_segment(image, address);
    for (size_t i = 0; i < image->part_count; i++)
        if (image->parts[i].p_type == PT_GNU_EH_FRAME)
            image->frames = (const void *)(image->bias + image->parts[i].p_vaddr);
    if (segment) {
        image->begin = image->bias + segment->p_vaddr;
        image->end = image->begin + segment->p_memsz;
    }
    return segment || !address;
}

__attribute__((constructor(101))) static void images_begin(void)
{
    void *found = dlsym(RTLD_DEFAULT, "_dl_find_object");
    memcpy(&find_object, &found, sizeof found);
    dl_iterate_phdr(image_judge, &program);
}

/* The headers of the program are known. A library has them behind its ELF header, where it begins. */
static void parts_find(struct image *image)
{
    const ElfW(Ehdr) *head = (const void *)image->begin;
    if (image->bias == program.bias && image->path[0] == '\0') {
        image->parts = program.parts;
        image->part_count = program.part_count;
    } else if (memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_phentsize == sizeof *image->parts &&
               head->e_phoff <= 4096 && head->e_phnum <= (4096 - head->e_phoff) / sizeof *image->parts) {
        image->parts = (const void *)((const char *)head + head->e_phoff);
        image->part_count = head->e_phnum;
    }
}

bool image_find(uint64_t address, struct image *image)
{
    struct found_object found;
    image->begin = address;
    if (!find_object)
        return address && dl_iterate_phdr(image_judge, image) != 0;
    if (find_object((void *)(uintptr_t)address, &found) != 0)
        return false;
    const struct link_map *map = found.link_map;
    *image = (struct image){(uintptr_t)found.map_start,
                            (uintptr_t)found.map_end,
                            map ? map->l_addr : (uintptr_t)found.map_start,
                            map && map->l_name ? map->l_name : "",
                            found.eh_frame,
                            NULL,
                            0};
    parts_find(image);
    return true;
}

/* Finds the build id in the loaded notes. */
static void build_id_find(struct loaded *loaded, const struct image *image)
{
    loaded->build_id = (const uint8_t *)"";
    loaded->build_id_bytes = 0;
    for (size_t i = 0; i < image->part_count; i++) {
        const ElfW(Phdr) *part = &image->parts[i], *segment = image_segment(image, image->bias + part->p_vaddr);
        if (part->p_type != PT_NOTE || !segment ||
            part->p_filesz > segment->p_vaddr + segment->p_filesz - part->p_vaddr)
            continue;
        uint64_t at = image->bias + part->p_vaddr, end = at + part->p_filesz;
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
static const char *path_of(struct loaded *loaded, const char *name)
{
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
    struct image image;
    if (!image_find(address, &image))
        return false;
    loaded->begin = image.begin;
    loaded->end = image.end;
    loaded->bias = image.bias;
    build_id_find(loaded, &image);
    loaded->path = path_of(loaded, image.path);
    return true;
}
