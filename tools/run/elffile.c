#define _GNU_SOURCE
#include "run/elffile.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the bytes at an offset. Returns NULL if they are not in the file, or are not aligned for their type. */
static const void *part(const struct elf_file *file, uint64_t offset, uint64_t bytes, unsigned alignment)
{
    if (offset % alignment || offset > file->bytes || bytes > file->bytes - offset)
        return NULL;
    return file->base + offset;
}

static bool elf_header_fits(const struct elf_file *file)
{
    const ElfW(Ehdr) *header = (const void *)file->base;
    const unsigned char class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    const uint16_t one = 1;
    const unsigned char order = *(const unsigned char *)&one ? ELFDATA2LSB : ELFDATA2MSB;
    return file->bytes >= sizeof *header && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == class && header->e_ident[EI_DATA] == order &&
           header->e_phentsize == sizeof(ElfW(Phdr)) &&
           part(file, header->e_phoff, (uint64_t)header->e_phnum * sizeof(ElfW(Phdr)), sizeof(void *));
}

/* Returns where an address of the running program is in the file. *bytes is the rest of its segment. */
static const char *segment_at(const struct elf_file *file, uint64_t address, uint64_t *bytes)
{
    const ElfW(Ehdr) *header = (const void *)file->base;
    const ElfW(Phdr) *segment = (const void *)(file->base + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++, segment++) {
        if (segment->p_type != PT_LOAD || address < segment->p_vaddr || address - segment->p_vaddr >= segment->p_filesz)
            continue;
        if (segment->p_offset > file->bytes || segment->p_filesz > file->bytes - segment->p_offset)
            return NULL;
        *bytes = segment->p_filesz - (address - segment->p_vaddr);
        return file->base + segment->p_offset + (address - segment->p_vaddr);
    }
    return NULL;
}

static void dynamic_find(struct elf_file *file)
{
    const ElfW(Ehdr) *header = (const void *)file->base;
    const ElfW(Phdr) *segment = (const void *)(file->base + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++, segment++)
        if (segment->p_type == PT_DYNAMIC) {
            file->dynamic = part(file, segment->p_offset, segment->p_filesz, sizeof(void *));
            file->dynamic_count = file->dynamic ? segment->p_filesz / sizeof(ElfW(Dyn)) : 0;
        }
    uint64_t strings = 0, wanted = 0, available = 0;
    for (size_t i = 0; i < file->dynamic_count && file->dynamic[i].d_tag != DT_NULL; i++) {
        if (file->dynamic[i].d_tag == DT_STRTAB)
            strings = file->dynamic[i].d_un.d_ptr;
        else if (file->dynamic[i].d_tag == DT_STRSZ)
            wanted = file->dynamic[i].d_un.d_val;
    }
    file->strings = segment_at(file, strings, &available);
    file->string_bytes = file->strings ? (wanted < available ? wanted : available) : 0;
}

int elf_open(struct elf_file *file, const char *path)
{
    *file = (struct elf_file){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size < sizeof(ElfW(Ehdr))) {
        close(fd);
        return -1;
    }
    file->bytes = (size_t)st.st_size;
    void *base = mmap(NULL, file->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (base == MAP_FAILED)
        return -1;
    file->base = base;
    if (!elf_header_fits(file)) {
        elf_close(file);
        return -1;
    }
    dynamic_find(file);
    return 0;
}

void elf_close(struct elf_file *file)
{
    if (file->base)
        munmap((void *)(uintptr_t)file->base, file->bytes);
    file->base = NULL;
}

static const char *text_at(const char *strings, uint64_t bytes, uint64_t offset)
{
    return offset < bytes && memchr(strings + offset, '\0', bytes - offset) ? strings + offset : NULL;
}

const char *elf_dynamic_text(const struct elf_file *file, size_t i, ElfW(Sxword) tag)
{
    return file->dynamic[i].d_tag == tag ? text_at(file->strings, file->string_bytes, file->dynamic[i].d_un.d_val)
                                         : NULL;
}

const char *elf_dynamic_first(const struct elf_file *file, ElfW(Sxword) tag)
{
    for (size_t i = 0; i < file->dynamic_count && file->dynamic[i].d_tag != DT_NULL; i++)
        if (file->dynamic[i].d_tag == tag)
            return elf_dynamic_text(file, i, tag);
    return NULL;
}

static bool table_has(const struct elf_file *file, const ElfW(Shdr) * table, const ElfW(Shdr) * texts,
                      const char *symbol)
{
    const ElfW(Sym) *symbols = part(file, table->sh_offset, table->sh_size, sizeof(void *));
    const char *strings = part(file, texts->sh_offset, texts->sh_size, 1);
    if (!symbols || !strings)
        return false;
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        if (symbols[i].st_shndx == SHN_UNDEF)
            continue;
        const char *name = text_at(strings, texts->sh_size, symbols[i].st_name);
        if (name && strcmp(name, symbol) == 0)
            return true;
    }
    return false;
}

bool elf_defines(const struct elf_file *file, const char *symbol)
{
    const ElfW(Ehdr) *header = (const void *)file->base;
    if (header->e_shentsize != sizeof(ElfW(Shdr)))
        return false;
    const ElfW(Shdr) *sections =
        part(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof *sections, sizeof(void *));
    for (unsigned i = 0; sections && i < header->e_shnum; i++) {
        bool symbols = sections[i].sh_type == SHT_DYNSYM || sections[i].sh_type == SHT_SYMTAB;
        if (symbols && sections[i].sh_link < header->e_shnum &&
            table_has(file, &sections[i], &sections[sections[i].sh_link], symbol))
            return true;
    }
    return false;
}

bool elf_is_static(const struct elf_file *file)
{
    const ElfW(Ehdr) *header = (const void *)file->base;
    const ElfW(Phdr) *segment = (const void *)(file->base + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++, segment++)
        if (segment->p_type == PT_INTERP)
            return false;
    return header->e_type == ET_EXEC || file->dynamic; /* the latter: static-pie */
}
