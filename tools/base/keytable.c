#include "base/keytable.h"

#include "base/array.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

static size_t key_bucket(const struct keytable *table, uint64_t first, uint64_t second)
{
    uint64_t mixed = (first ^ (second << 32 | second >> 32)) * UINT64_C(0x9e3779b97f4a7c15) + second;
    mixed ^= mixed >> 29;
    return (size_t)(mixed * UINT64_C(0xbf58476d1ce4e5b9) >> 32) & (table->capacity - 1);
}

void *keytable_find(const struct keytable *table, uint64_t first, uint64_t second)
{
    if (!table->capacity)
        return NULL;
    struct keyed *record = table->buckets[key_bucket(table, first, second)];
    while (record && (record->key[0] != first || record->key[1] != second))
        record = record->next;
    return record;
}

static int table_grow(struct keytable *table)
{
    struct keytable larger = {.count = table->count,
                              .capacity = table->capacity ? table->capacity * 2 : FIRST_CAPACITY};
    larger.buckets = calloc(larger.capacity, sizeof(struct keyed *));
    if (!larger.buckets)
        return -1;
    for (size_t i = 0; i < table->capacity; i++)
        for (struct keyed *record = table->buckets[i], *next; record; record = next) {
            struct keyed **bucket = &larger.buckets[key_bucket(&larger, record->key[0], record->key[1])];
            next = record->next;
            record->next = *bucket;
            *bucket = record;
        }
    free(table->buckets);
    *table = larger;
    return 0;
}

int keytable_put(struct keytable *table, struct keyed *record, uint64_t first, uint64_t second)
{
    if (table->count == table->capacity && table_grow(table) != 0)
        return -1;
    struct keyed **bucket = &table->buckets[key_bucket(table, first, second)];
    *record = (struct keyed){.next = *bucket, .key = {first, second}};
    *bucket = record;
    table->count++;
    return 0;
}

void *keytable_make(struct keytable *table, uint64_t first, uint64_t second, size_t bytes)
{
    struct keyed *record = keytable_find(table, first, second);
    if (record || !(record = calloc(1, bytes)))
        return record;
    if (keytable_put(table, record, first, second) == 0)
        return record;
    free(record);
    return NULL;
}

void keytable_take(struct keytable *table, struct keyed *record)
{
    struct keyed **link = &table->buckets[key_bucket(table, record->key[0], record->key[1])];
    while (*link != record)
        link = &(*link)->next;
    *link = record->next;
    table->count--;
}

static int key_order(const void *one, const void *other)
{
    const struct keyed *a = *(struct keyed *const *)one, *b = *(struct keyed *const *)other;
    int place = a->key[0] == b->key[0];
    return ORDER(a->key[place], b->key[place]);
}

struct keyed **keytable_sorted(const struct keytable *table)
{
    struct keyed **list = table->count ? malloc(table->count * sizeof(struct keyed *)) : NULL;
    if (!list)
        return NULL;
    size_t n = 0;
    for (size_t i = 0; i < table->capacity; i++)
        for (struct keyed *record = table->buckets[i]; record; record = record->next)
            list[n++] = record;
    qsort(list, n, sizeof(struct keyed *), key_order);
    return list;
}

static void record_free(struct keyed *record)
{
    free(record);
}

void keytable_release(struct keytable *table, void (*release)(struct keyed *record))
{
    for (size_t i = 0; i < table->capacity; i++)
        for (struct keyed *record = table->buckets[i], *next; record; record = next) {
            next = record->next;
            (release ? release : record_free)(record);
        }
    free(table->buckets);
    *table = (struct keytable){0};
}
