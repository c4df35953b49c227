/*
 * Message-size buckets: slot 0 holds 0 bytes, slot k >= 1 holds 2^(k-1) .. 2^k - 1 bytes, the last one is open.
 */
#ifndef MPIT_AGGREGATE_BUCKET_H
#define MPIT_AGGREGATE_BUCKET_H

#include <stdint.h>

enum { BUCKET_COUNT = 40 };

/* Sizes are below 2^63, as MPI_Count is. */
static inline unsigned bucket_of(uint64_t bytes)
{
    if (__builtin_expect(bytes >> (BUCKET_COUNT - 2) != 0, 0))
        return BUCKET_COUNT - 1;
    return 63u - (unsigned)__builtin_clzll(2 * bytes | 1);
}

/* The largest size that the bucket holds. */
static inline uint64_t bucket_limit(unsigned bucket)
{
    if (bucket == 0)
        return 0;
    return bucket >= BUCKET_COUNT - 1 ? UINT64_MAX : (UINT64_C(1) << bucket) - 1;
}

#endif
