/*
 * Call sites by the fault that they may have: many small messages, barriers, objects made again and again.
 */
#ifndef MPIT_TOOLS_CALLGROUPS_H
#define MPIT_TOOLS_CALLGROUPS_H

#include "summary/summary.h"

enum call_group {
    GROUP_NONE,
    GROUP_SMALL_MESSAGES,
    GROUP_SMALL_COLLECTIVES,
    GROUP_BARRIERS,
    GROUP_OBJECTS,
    GROUP_SMALL_IO,
    GROUP_POLLS,
    CALL_GROUPS
};

enum call_group call_group_of(const struct summary_site *site);

/* Calls of a group, of all sites. */
struct group_sum {
    uint64_t calls, sent, messages;     /* messages: sent and received */
    const struct summary_site *longest; /* site with the most time. NULL: none */
};

struct group_sum call_group_sum(const struct summary *summary, enum call_group group);
/* True if a rank has so many of them that they may cost something. */
bool call_group_is_large(const struct group_sum *sum, enum call_group group, double ranks);

#endif
