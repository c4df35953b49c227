#define _GNU_SOURCE
#include "checkedarchive.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_MAX = 1 << 24, LINES_MAX = 100 };

struct checked_archive archive;

void violation(const char *format, ...)
{
    if (archive.violations++ == LINES_MAX)
        fprintf(stderr, "otf2_check: ... and more\n");
    if (archive.violations > LINES_MAX)
        return;
    va_list args;
    va_start(args, format);
    fputs("otf2_check: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

_Noreturn void give_up(const char *text)
{
    fprintf(stderr, "otf2_check: %s\n", text);
    exit(2);
}

uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

static struct cell *table_place(struct table *table, uint64_t a, uint64_t b)
{
    size_t i = mix(a + mix(b + 1)) & (table->capacity - 1);
    while (table->cells[i].used && (table->cells[i].a != a || table->cells[i].b != b))
        i = (i + 1) & (table->capacity - 1);
    return &table->cells[i];
}

struct cell *table_at(struct table *table, uint64_t a, uint64_t b)
{
    if (table->count * 2 >= table->capacity) {
        struct table old = *table;
        table->capacity = old.capacity ? old.capacity * 2 : 1024;
        table->cells = calloc(table->capacity, sizeof *table->cells);
        if (!table->cells)
            give_up("out of memory");
        for (size_t i = 0; i < old.capacity; i++)
            if (old.cells[i].used)
                *table_place(table, old.cells[i].a, old.cells[i].b) = old.cells[i];
        free(old.cells);
    }
    struct cell *cell = table_place(table, a, b);
    if (!cell->used) {
        table->count++;
        *cell = (struct cell){.a = a, .b = b, .used = true};
    }
    return cell;
}

void *element(void *array_place, size_t *count, size_t size, uint64_t id)
{
    char **array = array_place;
    if (id >= ID_MAX)
        give_up("an id is too large");
    if (id >= *count) {
        size_t more = (size_t)id + 1 > *count * 2 ? (size_t)id + 1 : *count * 2;
        *array = realloc(*array, more * size);
        if (!*array)
            give_up("out of memory");
        memset(*array + *count * size, 0, (more - *count) * size);
        *count = more;
    }
    return *array + id * size;
}

void string_check(OTF2_StringRef id, const char *user)
{
    if (id >= archive.string_count || !archive.strings[id])
        violation("%s names string %u, which is not defined", user, id);
    else if (!archive.strings[id][0])
        violation("%s has no name", user);
}
