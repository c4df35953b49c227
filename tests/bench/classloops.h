/*
 * One loop for each class of calls, on one rank alone: what the bench counts the instructions of.
 */
#ifndef MPIT_BENCH_CLASSLOOPS_H
#define MPIT_BENCH_CLASSLOOPS_H

#include <stddef.h>

struct class_loop {
    const char *name;
    void (*run)(long iterations);
    int calls;  /* of MPI, an iteration */
    int slower; /* iterations are divided by that */
    long first; /* iterations in front of those that are measured: until places of freed communicators are used again */
};

extern const struct class_loop class_loops[];
extern const size_t class_loop_count;

void class_objects_make(void);
void class_objects_free(void);

#endif
