/* The string definitions of an archive: each text once. */
#ifndef MPIT_TOOLS_OTF2_STRINGS_H
#define MPIT_TOOLS_OTF2_STRINGS_H

#include <stddef.h>
#include <stdint.h>

struct trace_strings {
    char **list; /* by id */
    uint32_t count, capacity;
    uint32_t *places; /* hash table of ids + 1 */
    uint32_t place_count;
};

/* Returns the id of this text, a new one if needed. Returns UINT32_MAX without memory. */
uint32_t trace_strings_id(struct trace_strings *strings, const char *text);
void trace_strings_release(struct trace_strings *strings);

#endif
