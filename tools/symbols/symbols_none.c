/* In place of symbols.c, where libdw or libstdc++ is missing: a place has a name only if that is stored with the run. */
#include "symbols/symbols.h"

#include "base/keytable.h"
#include "format/label.h"
#include "symbols/storednames.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct object {
    struct object *next;
    char *path;
    char base[NAME_MAX + 1];
};

struct place {
    struct keyed keyed; /* address of the object, address in it */
    struct symbol_place shown;
    struct symbol_line line;
};

struct symbols {
    const struct stored_names *stored;
    struct object *objects;
    struct keytable places;
};

struct symbols *symbols_open(const struct stored_names *stored)
{
    struct symbols *symbols = calloc(1, sizeof *symbols);
    if (symbols)
        symbols->stored = stored;
    return symbols;
}

void symbols_keep(const struct symbols *symbols, struct names_list *list)
{
    (void)symbols; /* has none */
    (void)list;
}

void symbols_close(struct symbols *symbols)
{
    if (!symbols)
        return;
    keytable_release(&symbols->places, NULL);
    for (struct object *object = symbols->objects, *next; object; object = next) {
        next = object->next;
        free(object->path);
        free(object);
    }
    free(symbols);
}

static struct object *object_of(struct symbols *symbols, const char *path)
{
    struct object *object = symbols->objects;
    while (object && strcmp(object->path, path) != 0)
        object = object->next;
    if (object || !(object = calloc(1, sizeof *object)))
        return object;
    if (!(object->path = strdup(path))) {
        free(object);
        return NULL;
    }
    label_clean(object->base, sizeof object->base, path_base(path), strlen(path_base(path)));
    object->next = symbols->objects;
    symbols->objects = object;
    return object;
}

const struct symbol_place *symbols_look_up(struct symbols *symbols, const struct module *module, const char *program,
                                           uint64_t pc)
{
    const char *path = !module ? "[unknown]" : module->path[0] ? module->path : program[0] ? program : "[program]";
    uint64_t address = module ? pc - module->bias : pc;
    const struct symbol_place *stored = stored_names_find(symbols->stored, path, module, address);
    if (stored)
        return stored;
    struct object *object = object_of(symbols, path);
    struct place *place =
        object ? keytable_make(&symbols->places, (uint64_t)(uintptr_t)object, address, sizeof *place) : NULL;
    if (!place)
        return NULL;
    if (!place->line.file)
        python_line_fill(path, address, &place->line);
    place->shown = (struct symbol_place){
        .lines = &place->line, .count = 1, .module = object->base, .address = address, .start = UINT64_MAX};
    return &place->shown;
}

bool symbols_note(const struct symbols *symbols, size_t number, char note[SYMBOLS_NOTE_BYTES])
{
    if (number || !symbols->objects)
        return false;
    snprintf(note, SYMBOLS_NOTE_BYTES, "mpit was built without libdw (libdw-dev, g++): functions have no names");
    return true;
}
