/* Unwind tables: from a program counter to the row that is valid there. unwinder.h names the sources. */
#ifndef MPIT_PROBES_UNWINDTABLE_H
#define MPIT_PROBES_UNWINDTABLE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "unwinder/unwinder.h"

#include <link.h>
#include <stddef.h>

/*
 * _dl_find_object of glibc 2.35 and later, looked up when the recorder is loaded: headers and libraries of older systems
 * have none. NULL: then there is no unwinding. Async-signal-safe. Returns 0 if an object is loaded at the address.
 */
struct found_object {
    unsigned long long flags;
    void *map_start, *map_end;
    struct link_map *link_map;
    void *eh_frame;
    unsigned long long reserved[7];
};
extern int (*find_object)(void *address, struct found_object *found);

/* Bytes that are read one after the other. `at` is NULL after a read beyond the end. */
struct bytes {
    const uint8_t *at, *end;
};

uint64_t bytes_number(struct bytes *bytes, size_t size); /* little endian */
int64_t bytes_signed(struct bytes *bytes, size_t size);
uint64_t bytes_uleb(struct bytes *bytes);
int64_t bytes_sleb(struct bytes *bytes);

/* Returns the loaded bytes from `pc` to the end of its segment, or no bytes. */
struct bytes unwind_code_at(uint64_t pc);

enum unwind_result { UNWIND_FOUND, UNWIND_NONE, UNWIND_SIGNAL_FRAME };

/* Sets unwinder->row to the row that is valid at `pc`. Uses `initial` and `states`. NONE: no table leads out of
 * there. */
enum unwind_result unwind_row_find(struct unwinder *unwinder, uint64_t pc);

#endif
