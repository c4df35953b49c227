/*
 * Lists of ranks, as users write them: 0,4-7,12- (12 and all behind it).
 */
#ifndef MPIT_AGGREGATE_RANKLIST_H
#define MPIT_AGGREGATE_RANKLIST_H

#include <stdbool.h>
#include <stdint.h>

struct rank_range {
    int32_t first, last;
};

#define RANK_LIST_ALLOWED "allowed are lists such as 0,4-7,12-"

/* Reads the range at *text, and goes to what stands behind it: a comma, or the end. False: there is none. */
bool rank_range_read(const char **text, struct rank_range *range);
bool rank_list_is_good(const char *text);
/* Is the rank in a list that is good? */
bool rank_list_has(const char *text, int32_t rank);

#endif
