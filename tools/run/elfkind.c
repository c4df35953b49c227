#define _GNU_SOURCE
#include "run/elfkind.h"

#include "base/text.h"
#include "reader/regularfile.h"

#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The names of C and Fortran MPI libraries begin like this for all builders, and so do mpit's own and MPIR. */
static bool elf_is_mpi(const char *soname)
{
    return text_begins(soname, "libmpi") && !text_begins(soname, "libmpit") && !text_begins(soname, "libmpir.");
}

/* Returns NULL if the path is not an ELF file. */
static Elf *elf_open(const char *path)
{
    struct stat st;
    int fd = elf_version(EV_CURRENT) == EV_NONE ? -1 : regular_open(path, (struct run_extent){0}, &st);
    if (fd < 0)
        return NULL;
    Elf *file = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    bool is = elf_kind(file) == ELF_K_ELF && elf_cntl(file, ELF_C_FDREAD) == 0;
    close(fd); /* FDREAD: all of the file is in memory */
    if (is)
        return file;
    elf_end(file);
    return NULL;
}

/* No file of another class or byte order could load mpit's libraries. */
static bool is_of_other_machine(Elf *file)
{
    const unsigned char class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    const unsigned char order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    GElf_Ehdr header;
    return !gelf_getehdr(file, &header) || header.e_ident[EI_CLASS] != class || header.e_ident[EI_DATA] != order;
}

/* Returns the next section after this one (NULL: the first) of one of two types, or NULL. */
static Elf_Scn *section_next(Elf *file, Elf_Scn *section, GElf_Word type, GElf_Word other, GElf_Shdr *header)
{
    while ((section = elf_nextscn(file, section)))
        if (gelf_getshdr(section, header) && (header->sh_type == type || header->sh_type == other))
            break;
    return section;
}

/* Returns whether the file itself has the symbol (dynamic or, in an unstripped program, static). */
static bool file_defines(Elf *file, const char *symbol)
{
    GElf_Shdr header;
    for (Elf_Scn *section = NULL; (section = section_next(file, section, SHT_DYNSYM, SHT_SYMTAB, &header));) {
        Elf_Data *table = elf_getdata(section, NULL);
        GElf_Sym entry;
        for (int i = 0; table && gelf_getsym(table, i, &entry); i++) {
            const char *name = entry.st_shndx == SHN_UNDEF ? NULL : elf_strptr(file, header.sh_link, entry.st_name);
            if (name && strcmp(name, symbol) == 0)
                return true;
        }
    }
    return false;
}

static void needed_read(struct elf_kind *kind, Elf *file)
{
    GElf_Shdr header;
    Elf_Scn *section = section_next(file, NULL, SHT_DYNAMIC, SHT_DYNAMIC, &header);
    Elf_Data *table = section ? elf_getdata(section, NULL) : NULL;
    GElf_Dyn entry;
    for (int i = 0; table && gelf_getdyn(table, i, &entry) && entry.d_tag != DT_NULL; i++) {
        const char *name = entry.d_tag == DT_NEEDED ? elf_strptr(file, header.sh_link, entry.d_un.d_val) : NULL;
        if (name && (text_begins(name, "libfabric.so") || text_begins(name, "libucp.so")))
            snprintf(kind->below, sizeof kind->below, "%s", name);
        if (name && elf_is_mpi(name) && !kind->library[0])
            snprintf(kind->library, sizeof kind->library, "%s", name);
    }
}

/* A program that names no loader, and is at a fixed address or has a dynamic section (static-pie). */
static bool is_linked_statically(Elf *file)
{
    size_t count;
    GElf_Ehdr header;
    GElf_Phdr segment;
    bool executable = gelf_getehdr(file, &header) && header.e_type == ET_EXEC, dynamic = false;
    if (elf_getphdrnum(file, &count) != 0)
        return false;
    for (size_t i = 0; i < count && gelf_getphdr(file, (int)i, &segment); i++) {
        if (segment.p_type == PT_INTERP)
            return false;
        dynamic = dynamic || segment.p_type == PT_DYNAMIC;
    }
    return executable || dynamic;
}

int elf_kind_read(struct elf_kind *kind, const char *path)
{
    *kind = (struct elf_kind){0};
    Elf *file = elf_open(path);
    if (!file)
        return -1;
    kind->other_machine = is_of_other_machine(file);
    if (!kind->other_machine) {
        needed_read(kind, file);
        kind->linked_statically = is_linked_statically(file);
        kind->static_mpi = !kind->library[0] && file_defines(file, "MPI_Init");
    }
    elf_end(file);
    return 0;
}
