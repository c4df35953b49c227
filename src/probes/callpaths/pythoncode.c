#include "callpaths/pythoncode.h"

#include "callpaths/python.h"
#include "format/pythonplace.h"

#include <string.h>

enum { OBJECT_SIZE = 16, STRING_STATE = 32, BYTES_DATA = 32, FUNCTION_MOST = 200 };

/* ---- strings ----------------------------------------------------------------------------------------------------- */

static uint32_t string_character(const char *data, unsigned kind, uint64_t at)
{
    uint16_t two;
    uint32_t four;
    if (kind == 1)
        return (uint8_t)data[at];
    if (kind == 2)
        return memcpy(&two, data + 2 * at, sizeof two), two;
    return memcpy(&four, data + 4 * at, sizeof four), four;
}

static size_t utf8_bytes(uint32_t character)
{
    return character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
}

static void utf8_put(uint32_t character, char *bytes)
{
    size_t count = utf8_bytes(character);
    for (size_t i = count; --i > 0; character >>= 6)
        bytes[i] = (char)(0x80 | (character & 0x3f));
    bytes[0] = (char)(count == 1 ? character : 0xf00 >> count | character);
}

/* Copies a string as UTF-8. What does not fit is left out: at its end, or at its begin. */
static void string_copy(const char *string, char *to, size_t bytes, bool end)
{
    uint64_t length = (uint64_t)(uintptr_t)python_pointer(string, OBJECT_SIZE), first = 0, last = 0, used = 0;
    uint32_t state;
    memcpy(&state, string + STRING_STATE, sizeof state);
    unsigned kind = state >> 2 & 7;
    bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
    const char *data = string + (ascii ? python_layout.text : python_layout.wide_text);
    length = compact ? length : 0;
    for (last = length; last > 0 && used < bytes; last--)
        used += utf8_bytes(string_character(data, kind, last - 1));
    first = end ? last + (used >= bytes) : 0;
    for (used = 0; first < length; first++) {
        uint32_t character = string_character(data, kind, first);
        if (used + utf8_bytes(character) >= bytes)
            break;
        utf8_put(character, to + used);
        used += utf8_bytes(character);
    }
    to[used] = '\0';
}

void python_code_path(const char *code, char path[MODULE_PATH_BYTES])
{
    size_t used = sizeof PYTHON_PLACE - 1;
    memcpy(path, PYTHON_PLACE, sizeof PYTHON_PLACE);
    string_copy(python_pointer(code, python_layout.function), path + used, FUNCTION_MOST, false);
    for (; path[used]; used++)
        path[used] = path[used] == ':' ? '.' : path[used];
    path[used++] = ':';
    string_copy(python_pointer(code, python_layout.file), path + used, MODULE_PATH_BYTES - used, true);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* A table of locations: PEP 626, and CPython's Objects/locations.md. */
struct locations {
    const uint8_t *at, *end;
};

static uint32_t locations_number(struct locations *table)
{
    uint32_t number = 0, byte = 0x40;
    for (unsigned shift = 0; byte & 0x40 && table->at < table->end && shift < 32; shift += 6) {
        byte = *table->at++;
        number |= (byte & 0x3f) << shift;
    }
    return number;
}

static int32_t locations_signed(struct locations *table)
{
    uint32_t number = locations_number(table);
    return number & 1 ? -(int32_t)(number >> 1) : (int32_t)(number >> 1);
}

struct location {
    int32_t line;   /* of the entry, which the next one counts from */
    int32_t column; /* -1: not known */
    bool known;
};

enum { LOCATION_ONE_LINE = 10, LOCATION_NO_COLUMN = 13, LOCATION_LONG = 14, LOCATION_NONE = 15 };

/* Reads an entry. Returns how many instructions it has. */
static unsigned location_read(struct locations *table, struct location *location)
{
    uint8_t head = *table->at++;
    unsigned form = head >> 3 & 15;
    location->known = form != LOCATION_NONE;
    location->column = -1;
    if (form == LOCATION_LONG || form == LOCATION_NO_COLUMN)
        location->line += locations_signed(table);
    else if (form >= LOCATION_ONE_LINE && form < LOCATION_NO_COLUMN)
        location->line += (int32_t)form - LOCATION_ONE_LINE;
    if (form == LOCATION_LONG) {
        locations_number(table); /* the last line */
        location->column = (int32_t)locations_number(table) - 1;
    } else if (form < LOCATION_NO_COLUMN && table->at < table->end) {
        location->column = form < LOCATION_ONE_LINE ? (int32_t)(form << 3 | *table->at >> 4) : *table->at;
    }
    while (table->at < table->end && !(*table->at & 0x80))
        table->at++;
    return (head & 7u) + 1;
}

uint64_t python_code_address(const char *code, uintptr_t instruction)
{
    const char *lines = python_pointer(code, python_layout.lines);
    uint64_t bytes = (uint64_t)(uintptr_t)python_pointer(lines, OBJECT_SIZE);
    struct locations table = {(const uint8_t *)lines + BYTES_DATA, (const uint8_t *)lines + BYTES_DATA + bytes};
    struct location location = {.column = -1};
    uint64_t wanted = (instruction - (uintptr_t)code - python_layout.bytecode) / 2, next = 0;
    memcpy(&location.line, code + python_layout.first_line, sizeof location.line);
    while (next <= wanted && table.at < table.end)
        next += location_read(&table, &location);
    bool found = next > wanted && location.known && location.line > 0;
    return found ? PYTHON_ADDRESS(location.line, location.column) : PYTHON_ADDRESS(0, -1);
}
