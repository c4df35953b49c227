/*
 * Values of JSON output. Each function returns a new reference.
 */
#ifndef MPIT_TOOLS_JSONVALUE_H
#define MPIT_TOOLS_JSONVALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Texts come from programs and files, and may be invalid UTF-8, which JSON does not allow. Such bytes become '?'
 * (label.h). NULL becomes null. */
json_t *text_json(const char *text);

/* JSON's integers are signed here. A count over 2^63 - 1, which does not occur, becomes 2^63 - 1. */
json_t *count_json(uint64_t count);

/* An array of one value for each index below `count`. */
#define JSON_LIST(index, count, value)                                                                                 \
    ({                                                                                                                 \
        json_t *list_of_##index = json_array();                                                                        \
        for (size_t index = 0, end_of_##index = (count); index < end_of_##index; index++)                              \
            json_array_append_new(list_of_##index, (value));                                                           \
        list_of_##index;                                                                                               \
    })

/* "2026-11-26T13:47:02Z", of nanoseconds since the epoch. 0 becomes null. */
json_t *instant_json(uint64_t ns);

/* null if it is not known. */
json_t *known_count_json(bool known, uint64_t count);
/* Seconds. Likewise. */
json_t *known_seconds_json(bool known, uint64_t ns);

/* Prints a document with a line end, and releases it. `digits` of reals: 0 for all. If that fails, or without memory
 * (NULL), ends the tool: "WHAT cannot be written". */
void json_show(json_t *document, size_t digits, const char *what);

/* JSON has no infinities. An invalid figure (of a damaged file) becomes null. */
json_t *figure_json(double figure);

#endif
