/*
 * Lists of ranks in the form of the options: 0,4-7,12- (12 and all above).
 */
#ifndef MPIT_BASE_RANKLIST_H
#define MPIT_BASE_RANKLIST_H

#include <stdbool.h>
#include <stdint.h>

struct rank_range {
    int32_t first, last;
};

#define RANK_LIST_ALLOWED "allowed are lists such as 0,4-7,12-"

/* Reads the range at *text, and moves to the comma after it, or to the end. Returns false if there is none. */
bool rank_range_read(const char **text, struct rank_range *range);
bool rank_list_is_good(const char *text);
/* True if the rank is in a valid list. */
bool rank_list_has(const char *text, int32_t rank);

#endif
