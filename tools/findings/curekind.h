/*
 * What would make a run shorter. tools/cures/cures.h finds it, and findings_cures.c says it in sentences.
 */
#ifndef MPIT_TOOLS_CUREKIND_H
#define MPIT_TOOLS_CUREKIND_H

#include "findings/callgroups.h"

/* What is changed. Of kinds that gain about the same, the first is told. */
enum cure_kind {
    CURE_ON_PROCESSOR,   /* a rank has a processor whenever it wants one */
    CURE_PLACEMENT,      /* ranks are on other nodes, which have fewer bytes between them */
    CURE_RECEIVES_EARLY, /* sends need no receive */
    CURE_POSTS_EARLY,    /* access epochs of windows need no exposure */
    CURE_PROGRESS,       /* nonblocking transfers and collectives go on while ranks compute */
    CURE_ANY_ORDER,      /* a rank takes messages in the order in which they come */
    CURE_LOCKS_SHORT,    /* a rank computes before it takes a lock, and not while it holds it */
    CURE_CHEAP,          /* calls of a group of places do not do their usual work */
    CURE_FREE,           /* calls of a group of places cost nothing and need nobody */
    CURE_AS_OTHERS,      /* a rank takes in a segment what the others take on average */
    CURE_LEVELLED,       /* in a segment each rank takes its own mean, at each visit */
    CURE_BALANCED,       /* a segment takes the mean of all ranks, at each visit */
    CURE_EVEN,           /* all ranks compute equally long: each by its own factor */
    CURE_EVEN_WORK,      /* all ranks work equally long in MPI, likewise */
    CURE_SENDS_EARLY,    /* a send begins before the computation that precedes it */
    CURE_AT_ONCE,        /* receives do not wait for their sends */
    CURE_KINDS
};

#endif
