/*
 * Handles of communicators to what the book knows of them: open addressing, read without a lock.
 *
 * A slot goes from empty to a handle once (release, pairs with the reader's acquire); a freed communicator leaves the
 * handle with a NULL comm behind, which the next communicator with the same handle takes over. When the table is more
 * than half full a larger copy replaces it; the old one stays, for readers that are still in it (all of them together
 * are smaller than the newest).
 *
 * Writers hold the book's lock.
 */
#ifndef MPIT_AGGREGATE_COMMMAP_H
#define MPIT_AGGREGATE_COMMMAP_H

#include <stdint.h>

struct comm;
struct comm_map;

struct comm *comm_map_find(struct comm_map *const *map, uint64_t handle);
/* Returns 0, or -1 without memory. */
int comm_map_set(struct comm_map **map, uint64_t handle, struct comm *comm);

#endif
