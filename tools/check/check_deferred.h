/*
 * Findings that count as such only if the processes concerned have recorded all that they did, which is known when all
 * has been read; else they are told as `unfinished`. One for each rule and pair of processes is kept, and their number.
 */
#ifndef MPIT_TOOLS_CHECK_DEFERRED_H
#define MPIT_TOOLS_CHECK_DEFERRED_H

#include "check/check_model.h"

/* `other` may be NULL. */
__attribute__((format(printf, 5, 6))) void check_defer(enum check_rule rule, const struct process *process,
                                                       const struct process *other, struct check_place place,
                                                       const char *format, ...);

void deferred_tell(void);

/*
 * Which ids have ended lately: a bounded memory, to tell what ends twice from what never began.
 */
enum { RECENT_SLOTS = 1 << 14 };

struct recent {
    uint64_t a, b;
    unsigned char mark; /* 0: free */
};

/* 0: not known (any more). */
unsigned char recent_mark(const struct recent *recent, uint64_t a, uint64_t b);
void recent_set(struct recent *recent, uint64_t a, uint64_t b, unsigned char mark);

#endif
