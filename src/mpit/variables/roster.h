/*
 * A roster: a list of things that are found by index and by name, and never removed.
 *
 *   slots     blocks of 256 that never move: name, key (a variable's class, or 0 if names alone are unique), thing
 *   buckets   name and key -> the newest slot with that hash -> ... an older one
 *   native    the MPI library's index -> ours, or ROSTER_WAITS, or ROSTER_REFUSED
 *
 * An index always means the same thing. The caller's lock protects adding. Entries are published with a release store
 * of the count, and are read from any thread without the lock.
 */
#ifndef MPIT_MPIT_ROSTER_H
#define MPIT_MPIT_ROSTER_H

#include <stdbool.h>

enum { ROSTER_BLOCK = 256, ROSTER_BLOCKS = 256, ROSTER_BUCKETS = 1024 };
/* WAITS: a native one was not added yet. REFUSED: it never will be, since its name exists already. */
enum { ROSTER_WAITS = -1, ROSTER_REFUSED = -2 };

struct roster_slot;

struct roster {
    struct roster_slot *blocks[ROSTER_BLOCKS];
    int count;
    int buckets[ROSTER_BUCKETS]; /* index of the newest slot + 1 */
    int *native;
    int native_room;
};

int roster_count(const struct roster *roster);
/* NULL: no such index. */
void *roster_at(const struct roster *roster, int index);
/* -1: no such name and key. */
int roster_find(const struct roster *roster, const char *name, int key);
/* Returns the new index. Returns -1 without memory, or if the name and key exist already. Keeps `name` and `thing`. */
int roster_add(struct roster *roster, const char *name, int key, void *thing);

/* Under the lock. Returns our index of the library's index, or one of the two above. Makes room for it. */
int roster_native(struct roster *roster, int native_index);
/* Under the lock, after a roster_native() of the same index. */
void roster_native_set(struct roster *roster, int native_index, int index);
/* Under the lock. Calls `admit` with each index of the library below `count` that waits. */
void roster_natives(struct roster *roster, int count, int (*admit)(int native_index));

#endif
