/* Unwind tables: from a program counter to the row that is valid there. unwinder.h names the sources. */
#ifndef MPIT_PROBES_UNWINDTABLE_H
#define MPIT_PROBES_UNWINDTABLE_H

#include "unwinder/unwinder.h"

#include <stddef.h>

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
