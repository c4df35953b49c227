#include "symbols/symbols.h"

#include "symbols/coderanges.h"
#include "symbols/functionstart.h"
#include "base/keytable.h"
#include "format/label.h"
#include "reader/regularfile.h"
#include "symbols/pythonline.h"
#include "symbols/storednames.h"
#include "symbols/unitfunctions.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES_MOST = 32, NAME_MOST = 4096, SCOPES_MOST = 256, TYPE_STEPS = 8 };

enum trouble { TROUBLE_NONE, TROUBLE_OPEN, TROUBLE_KIND, TROUBLE_CHANGED, TROUBLE_FORMAT };

struct object {
    struct object *next;
    char *path;
    uint8_t build_id[SAMPLE_BUILD_ID_MOST];
    uint32_t build_id_bytes;
    char base[NAME_MAX + 1];
    enum trouble trouble;
    int error; /* TROUBLE_OPEN: errno */
    Dwfl *dwfl;
    Dwfl_Module *module;           /* NULL: it has no usable names */
    bool units_known, names_known; /* the ranges below are made */
    struct code_ranges units;      /* owner: a unit's entry */
    Dwarf_Addr units_bias;
    struct code_ranges globals, locals; /* Symbols. The owner is the symbol's number. Weak ones are last */
    struct keytable functions;          /* unitfunctions.h */
    uint64_t number;
};

struct place {
    struct keyed keyed; /* object's number, address */
    struct symbol_place shown;
    struct symbol_line lines[]; /* texts are the place's */
};

struct symbols {
    const struct stored_names *stored;
    struct object *objects; /* the latest first */
    uint64_t object_count;
    struct keytable places;
};

/* A function of libstdc++ with a name of the C++ ABI, which all programs with libstdc++ have. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *bytes, int *status);

struct symbols *symbols_open(const struct stored_names *stored)
{
    unsetenv("DEBUGINFOD_URLS"); /* libdwfl would ask servers for what this host does not have, and wait for them */
    struct symbols *symbols = calloc(1, sizeof *symbols);
    if (symbols)
        symbols->stored = stored;
    return symbols;
}

static void place_release(struct keyed *keyed)
{
    struct place *place = (struct place *)keyed;
    for (unsigned i = 0; i < place->shown.count; i++) {
        free((char *)(uintptr_t)place->lines[i].function);
        free((char *)(uintptr_t)place->lines[i].file);
    }
    free(place);
}

void symbols_close(struct symbols *symbols)
{
    if (!symbols)
        return;
    keytable_release(&symbols->places, place_release);
    for (struct object *object = symbols->objects, *next; object; object = next) {
        next = object->next;
        if (object->dwfl)
            dwfl_end(object->dwfl);
        free(object->units.list);
        free(object->globals.list);
        free(object->locals.list);
        unit_functions_release(&object->functions);
        free(object->path);
        free(object);
    }
    free(symbols);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* A module is made from the given file. The library does not search for other files of its name. */
static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

/* A path in a run file may name anything. */
static int object_open(struct object *object)
{
    struct stat st;
    int fd = regular_open(object->path, (struct run_extent){0}, &st);
    object->error = errno;
    object->trouble = fd >= 0 ? TROUBLE_NONE : errno == EINVAL ? TROUBLE_KIND : TROUBLE_OPEN;
    return fd;
}

static bool build_id_agrees(const struct object *object)
{
    const unsigned char *bits;
    GElf_Addr where;
    int count = dwfl_module_build_id(object->module, &bits, &where);
    if (count < 0)
        count = 0;
    size_t kept = (size_t)count < SAMPLE_BUILD_ID_MOST ? (size_t)count : SAMPLE_BUILD_ID_MOST;
    return kept == object->build_id_bytes && memcmp(bits ? bits : object->build_id, object->build_id, kept) == 0;
}

static void object_read(struct object *object)
{
    int fd = object_open(object);
    if (fd < 0)
        return;
    object->dwfl = dwfl_begin(&callbacks);
    if (object->dwfl) {
        dwfl_report_begin(object->dwfl);
        /* at 0 and with the file's own addresses. If the library accepts the descriptor, it owns it from here on
         */
        object->module = dwfl_report_elf(object->dwfl, object->base, object->path, fd, 0, true);
        if (!object->module)
            close(fd);
        dwfl_report_end(object->dwfl, NULL, NULL);
    } else {
        close(fd);
    }
    if (!object->module) {
        object->trouble = TROUBLE_FORMAT;
    } else if (!build_id_agrees(object)) {
        object->trouble = TROUBLE_CHANGED;
        object->module = NULL;
    }
}

static struct object *object_make(struct symbols *symbols, const char *path, const struct module *module)
{
    struct object *object = calloc(1, sizeof *object);
    char *copy = object ? strdup(path) : NULL;
    if (!copy) {
        free(object);
        return NULL;
    }
    object->path = copy;
    if (module && module->build_id_bytes) {
        object->build_id_bytes = module->build_id_bytes;
        memcpy(object->build_id, module->build_id, module->build_id_bytes);
    }
    label_clean(object->base, sizeof object->base, path_base(path), strlen(path_base(path)));
    object->number = symbols->object_count++;
    object->next = symbols->objects;
    symbols->objects = object;
    if (path[0] == '/') /* "[vdso]" and the like are not files */
        object_read(object);
    return object;
}

static struct object *object_of(struct symbols *symbols, const struct module *module, const char *path)
{
    uint32_t bytes = module ? module->build_id_bytes : 0;
    for (struct object *object = symbols->objects; object; object = object->next)
        if (strcmp(object->path, path) == 0 && object->build_id_bytes == bytes &&
            (!bytes || memcmp(object->build_id, module->build_id, bytes) == 0))
            return object;
    return object_make(symbols, path, module);
}

bool symbols_note(const struct symbols *symbols, size_t number, char note[SYMBOLS_NOTE_BYTES])
{
    static const char *const texts[] = {
        [TROUBLE_OPEN] = "%s cannot be read (%s): its functions have no names",
        [TROUBLE_KIND] = "%s is not a regular file: its functions have no names",
        [TROUBLE_CHANGED] = "%s is not the file that ran (its build id differs): its functions have no names",
        [TROUBLE_FORMAT] = "%s is damaged, or is neither a program nor a library: its functions have no names",
    };
    char path[300];
    for (const struct object *object = symbols->objects; object; object = object->next) {
        if (object->trouble == TROUBLE_NONE || number--)
            continue;
        label_clean(path, sizeof path, object->path, strlen(object->path));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(note, SYMBOLS_NOTE_BYTES, texts[object->trouble], path, strerror(object->error));
#pragma GCC diagnostic pop
        return true;
    }
    return false;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Returns the name in readable form, without characters that would break a line. Returns NULL for none, or without
 * memory. */
static char *name_copy(const char *name)
{
    char text[NAME_MOST];
    int status = -1;
    if (!name || !name[0])
        return NULL;
    char *demangled =
        strncmp(name, "_Z", 2) == 0 && strlen(name) < NAME_MOST ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
    const char *shown = status == 0 && demangled ? demangled : name;
    label_clean(text, sizeof text, shown, strlen(shown));
    free(demangled);
    return strdup(text);
}

static const char *string_of(Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute found;
    return dwarf_formstring(dwarf_attr_integrate(die, attribute, &found));
}

/* The class that a member function is called on. */
static bool class_of(Dwarf_Die *function, Dwarf_Die *class)
{
    Dwarf_Attribute found;
    if (!dwarf_formref_die(dwarf_attr_integrate(function, DW_AT_object_pointer, &found), class))
        return false;
    for (int steps = 0; steps < TYPE_STEPS; steps++) {
        Dwarf_Die inner;
        if (!dwarf_formref_die(dwarf_attr_integrate(class, DW_AT_type, &found), &inner))
            break; /* beyond the pointer and its const */
        *class = inner;
    }
    int tag = dwarf_tag(class);
    return tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
}

/* A lambda is the operator() of a class without a name. A program has many, and their places distinguish them. */
static char *lambda_name(Dwarf_Die *function)
{
    char text[NAME_MOST];
    Dwarf_Die class;
    int line = 0, column = 0;
    if (!class_of(function, &class) || string_of(&class, DW_AT_name) || dwarf_decl_line(&class, &line) != 0)
        return NULL;
    const char *file = dwarf_decl_file(&class), *slash = file ? strrchr(file, '/') : NULL;
    dwarf_decl_column(&class, &column);
    snprintf(text, sizeof text, "{lambda %.3000s:%d:%d}", slash ? slash + 1 : file ? file : "?", line, column);
    return name_copy(text);
}

/* Returns the name of a function without a linkage name, with its class. The class is in a namespace without a name. */
static char *member_name(Dwarf_Die *function, const char *name)
{
    char text[NAME_MOST];
    Dwarf_Die class;
    const char *of = class_of(function, &class) ? string_of(&class, DW_AT_name) : NULL;
    if (!of)
        return NULL;
    snprintf(text, sizeof text, "%.1500s::%.1500s", of, name);
    return name_copy(text);
}

/* C++ has parameters and namespaces in the linkage name. In other languages the linkage name is the name. */
static char *die_name(Dwarf_Die *die)
{
    const char *linkage = string_of(die, DW_AT_linkage_name), *name = dwarf_diename(die);
    if (!linkage)
        linkage = string_of(die, DW_AT_MIPS_linkage_name);
    if (linkage && strncmp(linkage, "_Z", 2) == 0)
        return name_copy(linkage);
    char *whole = !linkage && name && strncmp(name, "operator()", 10) == 0 ? lambda_name(die) : NULL;
    if (!whole && !linkage && name)
        whole = member_name(die, name);
    return whole ? whole : name_copy(name);
}

/* Finds the place of the call that the compiler replaced by the function. */
static void inlined_call_place(Dwarf_Die *die, Dwarf_Die *unit, struct symbol_line *line)
{
    Dwarf_Attribute found;
    Dwarf_Word number = 0, file = 0;
    Dwarf_Files *files;
    size_t count;
    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &found), &number) == 0 && number <= UINT_MAX)
        line->line = (unsigned)number;
    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &found), &file) == 0 &&
        dwarf_getsrcfiles(unit, &files, &count) == 0 && file < count) {
        const char *path = dwarf_filesrc(files, (size_t)file, NULL, NULL);
        char text[NAME_MOST];
        if (path) {
            label_clean(text, sizeof text, path, strlen(path));
            line->file = strdup(text);
        }
    }
}

static void units_find(struct object *object)
{
    Dwarf_Addr base, low, high, bias = 0;
    object->units_known = true;
    for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(object->module, unit, &bias));)
        for (ptrdiff_t at = 0; (at = dwarf_ranges(unit, at, &base, &low, &high)) > 0;)
            code_ranges_add(&object->units, low + bias, high + bias, (uint64_t)(uintptr_t)unit);
    object->units_bias = bias;
    code_ranges_sort(&object->units);
}

/* Uses the table of addresses. If the compiler wrote none (clang), it uses the units' own ranges. */
static Dwarf_Die *unit_of(struct object *object, Dwarf_Addr address, Dwarf_Addr *bias)
{
    Dwarf_Die *unit = dwfl_module_addrdie(object->module, address, bias);
    if (unit)
        return unit;
    if (!object->units_known)
        units_find(object);
    const struct code_range *range = code_ranges_find(&object->units, address);
    *bias = object->units_bias;
    return range ? (Dwarf_Die *)(uintptr_t)range->owner : NULL;
}

/* Symbols without a size have no known end, so they are not used. */
static void names_find(struct object *object)
{
    GElf_Sym symbol;
    GElf_Addr address;
    int count = dwfl_module_getsymtab(object->module);
    object->names_known = true;
    for (int i = 0; i < count; i++) {
        const char *name = dwfl_module_getsym_info(object->module, i, &symbol, &address, NULL, NULL, NULL);
        int type = GELF_ST_TYPE(symbol.st_info), bind = GELF_ST_BIND(symbol.st_info);
        if (name && name[0] && symbol.st_shndx != SHN_UNDEF && symbol.st_size && type != STT_SECTION &&
            type != STT_FILE && type != STT_TLS)
            code_ranges_add(bind == STB_LOCAL ? &object->locals : &object->globals, address, address + symbol.st_size,
                            (uint64_t)(bind == STB_WEAK) << 32 | (uint64_t)i);
    }
    code_ranges_sort(&object->globals);
    code_ranges_sort(&object->locals);
}

/* Returns the symbol that covers the address, with the same choice as dwfl_module_addrinfo, which would search all
 * symbols each time. */
static char *symbol_name(struct object *object, Dwarf_Addr address)
{
    GElf_Sym symbol;
    GElf_Addr value;
    if (!object->names_known)
        names_find(object);
    const struct code_range *range = code_ranges_find(&object->globals, address);
    if (!range)
        range = code_ranges_find(&object->locals, address);
    return range ? name_copy(dwfl_module_getsym_info(object->module, (int)(uint32_t)range->owner, &symbol, &value, NULL,
                                                     NULL, NULL))
                 : NULL;
}

/* Finds the functions that the compiler has inlined at the address, and the function around them. */
static unsigned scopes_fill(struct object *object, Dwarf_Die *unit, Dwarf_Addr address, struct symbol_line *lines)
{
    Dwarf_Die scopes[SCOPES_MOST];
    unsigned count = 0;
    int innermost = unit_functions_find(&object->functions, unit, address, scopes, SCOPES_MOST) - 1;
    for (int i = innermost; i >= 0 && count < LINES_MOST; i--) {
        lines[count++].function = die_name(&scopes[i]);
        if (i && count < LINES_MOST)
            inlined_call_place(&scopes[i], unit, &lines[count]);
    }
    return count;
}

static unsigned lines_fill(struct object *object, Dwarf_Addr address, struct symbol_line lines[LINES_MOST + 1])
{
    int number = 0;
    char text[NAME_MOST];
    Dwarf_Addr bias = 0;
    if (python_line_fill(object->path, address, lines) || !object->module)
        return 1;
    Dwarf_Die *unit = unit_of(object, address, &bias);
    unsigned count = unit ? scopes_fill(object, unit, address - bias, lines) : 0;
    Dwarf_Line *line = unit ? dwarf_getsrc_die(unit, address - bias) : NULL;
    const char *file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    if (file && dwarf_lineno(line, &number) == 0 && number > 0) {
        label_clean(text, sizeof text, file, strlen(file));
        free((char *)(uintptr_t)lines[0].file);
        lines[0].file = strdup(text);
        lines[0].line = (unsigned)number;
    }
    count = count ? count : 1;
    if (!lines[count - 1].function)
        lines[count - 1].function = symbol_name(object, address);
    return count;
}

/* For a function without a name. */
static uint64_t start_find(const struct object *object, uint64_t address)
{
    GElf_Addr bias = 0;
    uint64_t start;
    Elf *elf = object->module ? dwfl_module_getelf(object->module, &bias) : NULL;
    return elf && function_start(elf, address - bias, &start) ? start + bias : UINT64_MAX;
}

const struct symbol_place *symbols_look_up(struct symbols *symbols, const struct module *module, const char *program,
                                           uint64_t pc)
{
    const char *path = !module ? "[unknown]" : module->path[0] ? module->path : program[0] ? program : "[program]";
    uint64_t address = module ? pc - module->bias : pc;
    const struct symbol_place *stored = stored_names_find(symbols->stored, path, module, address);
    struct object *object = stored ? NULL : object_of(symbols, module, path);
    if (!object)
        return stored;
    struct place *place = keytable_find(&symbols->places, object->number, address);
    if (place)
        return &place->shown;
    struct symbol_line lines[LINES_MOST + 1] = {{0}};
    unsigned count = lines_fill(object, address, lines);
    place = calloc(1, sizeof *place + count * sizeof *lines);
    if (place)
        memcpy(place->lines, lines, count * sizeof *lines);
    if (place) {
        place->shown =
            (struct symbol_place){.lines = place->lines,
                                  .count = count,
                                  .module = object->base,
                                  .address = address,
                                  .start = lines[count - 1].function ? UINT64_MAX : start_find(object, address)};
        if (keytable_put(&symbols->places, &place->keyed, object->number, address) == 0)
            return &place->shown;
        place_release(&place->keyed);
        return NULL;
    }
    for (unsigned i = 0; i < count; i++) {
        free((char *)(uintptr_t)lines[i].function);
        free((char *)(uintptr_t)lines[i].file);
    }
    return NULL;
}

static const struct object *object_numbered(const struct symbols *symbols, uint64_t number)
{
    const struct object *object = symbols->objects;
    while (object && object->number != number)
        object = object->next;
    return object;
}

/* Files that could not be read here may be readable elsewhere. So their places are not kept. */
void symbols_keep(const struct symbols *symbols, struct names_list *list)
{
    struct keyed **sorted = keytable_sorted(&symbols->places);
    const struct object *object = NULL;
    bool kept = false;
    list->full |= symbols->places.count && !sorted;
    for (size_t i = 0; i < symbols->places.count && !list->full; i++) {
        if (!object || object->number != sorted[i]->key[0]) {
            object = object_numbered(symbols, sorted[i]->key[0]);
            kept = object && object->module &&
                   names_list_module(list, object->path, object->build_id, object->build_id_bytes);
        }
        if (kept)
            names_list_place(list, &((const struct place *)sorted[i])->shown);
    }
    free(sorted);
}
