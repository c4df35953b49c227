/*
 * A compressed file with a checksum over all of it, so that a damaged byte is noticed. It holds a summary (summary.h).
 *
 *   sealed_header | zstd frame of packed_bytes
 *
 * Any thread may call these functions.
 */
#ifndef MPIT_EVENTS_SEALED_H
#define MPIT_EVENTS_SEALED_H

#include <stdbool.h>
#include <stddef.h>

/* True if it begins like one. */
bool sealed_is(const void *file, size_t bytes);

/* The file for `data`, to be freed by the caller. NULL without memory. */
void *sealed_pack(const void *data, size_t bytes, size_t *file_bytes);

/* The data in the file, to be freed by the caller. NULL with a reason in error[]: damaged, longer than `most` or than such
 * a file can be, no memory. */
void *sealed_unpack(const void *file, size_t file_bytes, size_t most, size_t *bytes, char error[128]);

#endif
