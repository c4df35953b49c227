/*
 * The stack of calls of an interrupted thread, in its signal handler.
 *
 * Why no library does it: libgcc's unwinder trusts the tables. A kernel in assembler may push registers that the tables
 * do not have (BLAS libraries do so). Then libgcc reads at a wild address, and the program dies. libunwind asks the
 * loader for its list of objects under the loader's lock. A handler that has interrupted malloc may wait for that lock
 * for ever. Here tables are found without a lock (_dl_find_object, glibc 2.35). Memory is read only inside of the
 * thread's stack. Source of the tables' form: Linux Standard Base Core, 10.6 (.eh_frame, .eh_frame_hdr); DWARF 5, 6.4
 * and 2.5.
 *
 * Who may run with whom: an unwinder belongs to its thread. unwind_stack is async-signal-safe: no lock, no memory, no
 * system call.
 */
#ifndef MPIT_PROBES_UNWINDER_H
#define MPIT_PROBES_UNWINDER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak)); /* older C libraries have none */

enum { UNWIND_REGISTERS = 17, UNWIND_CACHED = 1024, UNWIND_STATES = 4, UNWIND_SAVED = 6 };

enum unwind_rule {
    RULE_UNDEFINED, /* its value is lost */
    RULE_SAME,
    RULE_AT,            /* saved at CFA + value */
    RULE_IS,            /* CFA + value */
    RULE_IN,            /* in the register `value` */
    RULE_AT_EXPRESSION, /* saved where the expression at `value` says */
    RULE_IS_EXPRESSION,
};

/* How to find the caller's registers from this frame. */
struct unwind_row {
    uint8_t cfa_register;
    bool cfa_is_expression;
    int64_t cfa; /* offset, or address of the expression */
    uint8_t rules[UNWIND_REGISTERS];
    int64_t values[UNWIND_REGISTERS];
};

/* The same for the usual kind of frame: the CFA is a register and an offset, the return address is below it, and the
 * caller's saved registers are at offsets. */
struct unwind_cached {
    uint64_t pc; /* 0: empty */
    int32_t cfa;
    uint8_t cfa_register;
    int8_t saved[UNWIND_SAVED]; /* words below the CFA. 0: the same */
};

struct unwinder {
    uintptr_t high;      /* where the thread's stack ends, */
    uintptr_t low;       /* and its lowest possible address */
    uintptr_t floor;     /* in this sample */
    uint32_t generation; /* of the mappings that the cache knows */
    struct unwind_row row, initial, states[UNWIND_STATES];
    struct unwind_cached cache[UNWIND_CACHED];
    uint64_t registers[UNWIND_REGISTERS];
    uint32_t known; /* of them: bits */
    uint64_t misses;
};

/* True if stacks can be unwound in this process. If not, samples have only their innermost frame. */
bool unwind_works(void);

/* For a thread that is alive. Not for signal handlers. False: its stack is not known. */
bool unwind_open(struct unwinder *unwinder, pthread_t thread);

/* Objects may have been unloaded: forgets all rows. Async-signal-safe. */
void unwind_forget_all(void);

/*
 * Stores program counters, the innermost first. Returns their number, at most `most`. `context`: the third argument of
 * the signal handler. *flags: enum sample_flags.
 */
unsigned unwind_stack(struct unwinder *unwinder, const void *context, uint64_t *pcs, unsigned most, uint32_t *flags);

#endif
