/*
 * Hashes: FNV-1a, of 64 bits. A hash begins with HASH_BEGIN, or with the hash of what is before.
 */
#ifndef MPIT_BASE_HASH_H
#define MPIT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_BEGIN UINT64_C(0xcbf29ce484222325)

static inline uint64_t hash_add(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x100000001b3);
}

static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++)
        hash = hash_add(hash, at[i]);
    return hash;
}

/* NULL is an empty text. */
static inline uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = hash_add(hash, (unsigned char)*text);
    return hash;
}

#endif
