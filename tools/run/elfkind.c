#define _GNU_SOURCE
#include "run/elfkind.h"

#include "run/answer.h"
#include "base/text.h"
#include "reader/regularfile.h"

#include <gelf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The loader's answer. Real programs need a few KB. */
enum { LIST_BYTES = 1 << 18, LIST_TIMEOUT_MS = 30000 };

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

static void found_library(struct elf_kind *kind, const char *name)
{
    if (text_begins(name, "libfabric.so") || text_begins(name, "libucp.so"))
        snprintf(kind->below, sizeof kind->below, "%s", name);
    kind->openmpi_launcher = kind->openmpi_launcher || text_begins(name, "libopen-rte.so");
    kind->prrte_launcher = kind->prrte_launcher || text_begins(name, "libprrte.so");
    if (elf_is_mpi(name) && !kind->library[0])
        snprintf(kind->library, sizeof kind->library, "%s", name);
}

/* Reads the loader's list, with lines "NAME => PATH (ADDRESS)". Returns false if it is empty, as when a library is
 * missing here. */
static bool loader_ask(struct elf_kind *kind, const char *loader, const char *path)
{
    char *text = malloc(LIST_BYTES), *rest, *words[] = {(char *)loader, "--list", (char *)path, NULL};
    if (!text)
        return false;
    bool any = false;
    program_answer(words, false, LIST_TIMEOUT_MS, text, LIST_BYTES);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *name = line + strspn(line, " \t"), *arrow = strstr(name, " => "), *address = strstr(name, " (0x");
        if (!arrow || !address || address < arrow)
            continue;
        *arrow = '\0';
        found_library(kind, name);
        any = true;
    }
    free(text);
    return any;
}

/* Takes only the names that the file itself has. The program may run where the libraries are. */
static void needed_read(struct elf_kind *kind, Elf *file)
{
    GElf_Shdr header;
    Elf_Scn *section = section_next(file, NULL, SHT_DYNAMIC, SHT_DYNAMIC, &header);
    Elf_Data *table = section ? elf_getdata(section, NULL) : NULL;
    GElf_Dyn entry;
    for (int i = 0; table && gelf_getdyn(table, i, &entry) && entry.d_tag != DT_NULL; i++) {
        const char *name = entry.d_tag == DT_NEEDED ? elf_strptr(file, header.sh_link, entry.d_un.d_val) : NULL;
        if (name)
            found_library(kind, name);
    }
}

static int own_loader_find(struct dl_phdr_info *program, size_t size, void *found)
{
    (void)size;
    for (unsigned i = 0; i < program->dlpi_phnum; i++)
        if (program->dlpi_phdr[i].p_type == PT_INTERP)
            *(const char **)found = (const char *)(program->dlpi_addr + program->dlpi_phdr[i].p_vaddr);
    return 1; /* the first object is the program */
}

/*
 * Returns the file's dynamic loader if that is mpit-run's own loader, or NULL. Sets linked_statically. The file may be
 * no more than an argument of the command, and it can name any program as its loader. Such a program must not run.
 */
static const char *loader_find(struct elf_kind *kind, Elf *file)
{
    size_t count;
    GElf_Ehdr header;
    GElf_Phdr segment;
    const char *loader = NULL;
    bool executable = gelf_getehdr(file, &header) && header.e_type == ET_EXEC, dynamic = false, names_loader = false;
    if (elf_getphdrnum(file, &count) != 0)
        return NULL;
    for (size_t i = 0; i < count && gelf_getphdr(file, (int)i, &segment); i++) {
        dynamic = dynamic || segment.p_type == PT_DYNAMIC;
        if (segment.p_type != PT_INTERP)
            continue;
        Elf_Data *text = elf_getdata_rawchunk(file, (int64_t)segment.p_offset, segment.p_filesz, ELF_T_BYTE);
        if (text && text->d_buf && memchr(text->d_buf, '\0', text->d_size))
            loader = text->d_buf;
        names_loader = true;
    }
    kind->linked_statically = !names_loader && (executable || dynamic); /* the latter: static-pie */
    const char *own = NULL;
    dl_iterate_phdr(own_loader_find, &own);
    return loader && own && strcmp(loader, own) == 0 ? own : NULL;
}

int elf_kind_read(struct elf_kind *kind, const char *path)
{
    *kind = (struct elf_kind){0};
    Elf *file = elf_open(path);
    if (!file)
        return -1;
    kind->other_machine = is_of_other_machine(file);
    const char *loader = kind->other_machine ? NULL : loader_find(kind, file);
    if (!kind->other_machine && (!loader || !loader_ask(kind, loader, path)))
        needed_read(kind, file);
    if (kind->library[0])
        kind->openmpi_launcher = kind->prrte_launcher = false; /* every Open MPI program loads the run time */
    else if (!kind->other_machine)
        kind->static_mpi = file_defines(file, "MPI_Init");
    elf_end(file);
    return 0;
}
