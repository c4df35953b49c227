/*
 * One ELF file, mapped: its needed libraries, their search paths, and the symbols that it defines.
 *
 * Any file may be passed. Every offset and count in it is checked before use. Only files of this machine's class and
 * byte order are read, because no other file could load mpit's libraries.
 */
#ifndef MPIT_TOOLS_ELFFILE_H
#define MPIT_TOOLS_ELFFILE_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>

struct elf_file {
    const char *base;
    size_t bytes;
    const ElfW(Dyn) * dynamic; /* NULL in a static program */
    size_t dynamic_count;
    const char *strings; /* of the dynamic section */
    size_t string_bytes;
};

/* Returns 0, or -1 if the path is not an ELF file that this machine runs. */
int elf_open(struct elf_file *file, const char *path);
void elf_close(struct elf_file *file);

/* Returns the text of dynamic entry i if it has this tag (DT_NEEDED, DT_RPATH, DT_RUNPATH), else NULL. i <
 * dynamic_count. */
const char *elf_dynamic_text(const struct elf_file *file, size_t i, ElfW(Sxword) tag);
/* Returns the first text with this tag, or NULL. */
const char *elf_dynamic_first(const struct elf_file *file, ElfW(Sxword) tag);
/* Returns whether the file itself has the symbol (dynamic or, in an unstripped program, static). */
bool elf_defines(const struct elf_file *file, const char *symbol);
/* Returns whether the program starts without the dynamic loader. Then no library can be preloaded into it. */
bool elf_is_static(const struct elf_file *file);

#endif
