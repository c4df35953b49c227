/*
 * A map from handles of communicators to their entries in the registry: open addressing, read without a lock.
 *
 * A place goes from empty to a handle (release, pairs with the reader's acquire). Then it gets its communicator. When a
 * communicator is taken out, its place becomes empty if it is not on the way of a search. Otherwise it keeps the handle
 * with a NULL communicator until another handle takes it over. A reader checks the handle again when it has the
 * communicator. When the table is more than half full a larger copy replaces it. The old one stays, for readers that
 * still use it.
 *
 * Writers hold the registry's lock.
 */
#ifndef MPIT_AGGREGATE_COMMMAP_H
#define MPIT_AGGREGATE_COMMMAP_H

#include <stdint.h>

struct comm;
struct comm_map;

struct comm *comm_map_find(struct comm_map *const *map, uint64_t handle);
/* Returns 0, or -1 without memory. */
int comm_map_set(struct comm_map **map, uint64_t handle, struct comm *comm);
/* Forgets the handle if this communicator has it. NULL: any communicator. */
void comm_map_remove(struct comm_map *map, uint64_t handle, const struct comm *comm);

#endif
