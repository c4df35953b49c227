/*
 * Findings that count only if the processes concerned have recorded all their operations, which is known at the end.
 * Otherwise they are reported as `unfinished`. For each rule and pair of processes, one finding and their number are
 * kept.
 */
#ifndef MPIT_TESTS_CHECK_DEFERRED_H
#define MPIT_TESTS_CHECK_DEFERRED_H

#include "check_model.h"

/* `other` may be NULL. */
__attribute__((format(printf, 5, 6))) void check_defer(enum check_rule rule, const struct process *process,
                                                       const struct process *other, struct check_place place,
                                                       const char *format, ...);

void deferred_tell(void);

/*
 * Ids that have ended lately, in bounded memory. They distinguish a second end from an end without a begin.
 */
enum { RECENT_SLOTS = 1 << 14 };

struct recent {
    uint64_t a, b;
    unsigned char mark; /* 0: free */
};

/* 0: not known, or not any more. */
unsigned char recent_mark(const struct recent *recent, uint64_t a, uint64_t b);
void recent_set(struct recent *recent, uint64_t a, uint64_t b, unsigned char mark);

#endif
