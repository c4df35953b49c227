/*
 * Function, file and line at an address of a program, from the symbols and debug information of the mapped files
 * (libdwfl of elfutils).
 *
 *   symbols ── objects[]      a file, by path and build id: opened once, when its first address is asked for
 *           │     ├─ units, symbols    by address (coderanges.h), made when they are first needed
 *           │     └─ functions         of each unit, by address (unitfunctions.h)
 *           └─ places         results, by object and address: each is found once
 *
 * So the time grows with the units of the addresses, and not with addresses times entries or symbols.
 *
 * An address in an inlined function has several lines: the line in the inlined function, and the lines of the calls
 * around it, the innermost first.
 *
 * Names that are stored with a run (storednames.h) come first. Then the file is not opened.
 *
 * Paths come from run files, which any user may have written. A file that is not regular is not opened. If a file's
 * build id differs from the recorded one, it gives no names, since they could be wrong. It is listed in `changed` and
 * reported once.
 */
#ifndef MPIT_TOOLS_SYMBOLS_H
#define MPIT_TOOLS_SYMBOLS_H

#include "base/text.h"
#include "format/samples.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_line {
    const char *function; /* NULL: not known */
    const char *file;     /* as in the debug information, or NULL if unknown */
    unsigned line;
};

struct symbol_place {
    const struct symbol_line *lines; /* the innermost first, at least one */
    unsigned count;
    const char *module; /* the last part of the path, never "" */
    uint64_t address;   /* in the file */
    uint64_t start;     /* of the unnamed function around it, or UINT64_MAX if unknown, or if it has a name */
};

struct symbols;
struct stored_names;
struct names_list;

/* Names in `stored` come first. It may be NULL, and must exist until symbols_close. NULL: no memory. */
struct symbols *symbols_open(const struct stored_names *stored);
void symbols_close(struct symbols *symbols);

/* Returns the function, file and line at `pc` of a module (NULL: unknown module). `program` is the path of "". Returns
 * NULL without memory. The result is valid until symbols_close. */
const struct symbol_place *symbols_look_up(struct symbols *symbols, const struct module *module, const char *program,
                                           uint64_t pc);

/* Adds all places that were looked up in files of this machine to the list, to be stored. Stops when it is full. */
void symbols_keep(const struct symbols *symbols, struct names_list *list);

enum { SYMBOLS_NOTE_BYTES = 512 };
/* Writes the notes on unreadable files, one by one, from number 0 on. Returns false after the last. */
bool symbols_note(const struct symbols *symbols, size_t number, char note[SYMBOLS_NOTE_BYTES]);

#endif
