/*
 * What stands at an address of a program: function, file and line, from the symbols and debug information of the files
 * that were mapped (libdwfl of elfutils).
 *
 *   symbols ── objects[]      a file, by path and build id: opened once, when its first address is asked for
 *           │     ├─ units, symbols    by address (coderanges.h), made when they are first needed
 *           │     └─ functions         of each unit, by address (unitfunctions.h)
 *           └─ places         what was found, by object and address: asked for once
 *
 * So the time grows with the units that the addresses lie in, and not with addresses times entries or symbols.
 *
 * An address of a function that the compiler has put into another one stands for several lines: that of the inlined
 * function, and those of the calls around it, the innermost first.
 *
 * Paths come out of run files, which anybody may have written: what is not a regular file is not opened. A file whose
 * build id is another one than that of the program that ran gives no names at all, rather than wrong ones; it is kept
 * in `changed` objects to be told once.
 */
#ifndef MPIT_TOOLS_SYMBOLS_H
#define MPIT_TOOLS_SYMBOLS_H

#include "format/samples.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_line {
    const char *function; /* NULL: not known */
    const char *file;     /* NULL: not known; as the compiler has it */
    unsigned line;
};

struct symbol_place {
    const struct symbol_line *lines; /* the innermost first; at least one */
    unsigned count;
    const char *module; /* the last part of the path; "" is never one */
    uint64_t address;   /* in the file */
    uint64_t start;     /* of the function without a name that it is in; UINT64_MAX: not known, or it has a name */
};

struct symbols;

/* NULL: no memory. */
struct symbols *symbols_open(void);
void symbols_close(struct symbols *symbols);

/* What stands at `pc` of a module (NULL: nobody knows which); `program`: the path of "". NULL: no memory. Stays until
 * symbols_close. */
const struct symbol_place *symbols_find(struct symbols *symbols, const struct module *module, const char *program,
                                        uint64_t pc);

enum { SYMBOLS_NOTE_BYTES = 512 };
/* What could not be read and is worth a word, file by file: from number 0 on, false behind the last. */
bool symbols_note(const struct symbols *symbols, size_t number, char note[SYMBOLS_NOTE_BYTES]);

#endif
