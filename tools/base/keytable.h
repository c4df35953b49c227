/*
 * A table of records by a key of two numbers. The record begins with its `struct keyed`. The caller owns it.
 *
 *   buckets[hash of key] ──> record ──> record ...
 */
#ifndef MPIT_TOOLS_KEYTABLE_H
#define MPIT_TOOLS_KEYTABLE_H

#include <stddef.h>
#include <stdint.h>

struct keyed {
    struct keyed *next; /* in the bucket */
    uint64_t key[2];
};

struct keytable {
    struct keyed **buckets;
    size_t count, capacity; /* a power of two, or 0 */
};

/* Returns the record with this key, or NULL. */
void *keytable_find(const struct keytable *table, uint64_t first, uint64_t second);
/* Adds a record whose key is new. Returns 0, or -1 without memory. */
int keytable_put(struct keytable *table, struct keyed *record, uint64_t first, uint64_t second);
/* Returns the record with this key, or a new one of `bytes` zeros. Returns NULL without memory. */
void *keytable_make(struct keytable *table, uint64_t first, uint64_t second, size_t bytes);
/* Removes a record that is in the table. Does not free it. */
void keytable_take(struct keytable *table, struct keyed *record);
/* Returns all records, in the order of their keys, as an array of table->count, which the caller frees. Returns NULL
 * without memory, or if there are none. */
struct keyed **keytable_sorted(const struct keytable *table);
/* Frees the table, and each record with `release` (NULL: free). */
void keytable_release(struct keytable *table, void (*release)(struct keyed *record));

#endif
