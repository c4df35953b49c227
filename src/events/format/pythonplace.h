/*
 * Functions of Python in call paths. Such a function is a module of its own, whose path is
 *
 *     python:FUNCTION:FILE         FUNCTION without a colon, FILE as Python knows it
 *
 * and the address of a frame is a place in the source: line and column.
 */
#ifndef MPIT_EVENTS_PYTHONPLACE_H
#define MPIT_EVENTS_PYTHONPLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PYTHON_PLACE "python:"

enum { PYTHON_LINE_SHIFT = 20, PYTHON_COLUMNS_MOST = (1 << PYTHON_LINE_SHIFT) - 3 };
/* Tools look up the address before a return address. So columns begin at 2, and 1 is no column. */
#define PYTHON_ADDRESS(line, column)                                                                                   \
    ((uint64_t)(line) << PYTHON_LINE_SHIFT | (uint64_t)((column) < 0                     ? 1                           \
                                                        : (column) > PYTHON_COLUMNS_MOST ? PYTHON_COLUMNS_MOST + 2     \
                                                                                         : (column) + 2))

static inline bool is_python_place(const char *path)
{
    return strncmp(path, PYTHON_PLACE, sizeof PYTHON_PLACE - 1) == 0;
}

/* The file of such a path, or the path itself. */
static inline const char *python_place_file(const char *path)
{
    const char *colon = is_python_place(path) ? strchr(path + sizeof PYTHON_PLACE - 1, ':') : NULL;
    return colon ? colon + 1 : path;
}

static inline unsigned python_place_line(uint64_t address)
{
    return (unsigned)(address >> PYTHON_LINE_SHIFT);
}

#endif
