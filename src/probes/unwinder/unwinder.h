/*
 * The stack of calls of a thread: of an interrupted one in its signal handler (unwind_stack), or at a call of MPI
 * (unwind_call).
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

#include "base/linkage.h"
#include "unwinder/machine.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { UNWIND_CACHED = 1024, UNWIND_STATES = 4 };

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

/* The same for the usual kind of frame: the CFA is a register and an offset. The return address and the caller's
 * registers are saved at offsets. */
struct unwind_cached {
    uint64_t pc; /* 0: empty */
    int32_t cfa;
    uint8_t cfa_register;
    unwind_distance saved[UNWIND_SAVED]; /* words below the CFA. 0: the same */
};

/* A word of the stack that decided about a stack of calls, and its value then. */
struct unwind_word {
    const uint64_t *at;
    uint64_t value;
};

enum { UNWIND_WORDS_MOST = 192, UNWIND_FRAMES_MOST = 80 };

struct unwind_words {
    unsigned count;
    bool overflow;                       /* there were more */
    uint8_t until[UNWIND_FRAMES_MOST];   /* how many words tell of the frames up to this one */
    uintptr_t stack[UNWIND_FRAMES_MOST]; /* the stack pointer in the frame: its part of the stack is above */
    struct unwind_word list[UNWIND_WORDS_MOST];
};

struct unwinder {
    uintptr_t high;      /* where the thread's stack ends, */
    uintptr_t low;       /* and its lowest possible address */
    uintptr_t floor;     /* in this sample */
    uint32_t generation; /* of the mappings that the cache knows */
    struct unwind_row row, initial, states[UNWIND_STATES];
    struct unwind_cached cache[UNWIND_CACHED];
    uint64_t pc; /* of the frame: its next instruction, or a return address */
    uint64_t registers[UNWIND_REGISTERS];
    uint32_t known; /* of them: bits */
    uint64_t misses;
    struct unwind_words *words;         /* of unwind_call. NULL: nobody wants them */
    uint64_t sources[UNWIND_REGISTERS]; /* where the registers were read from. 0: not from the stack */
};

/* True if stacks can be unwound in signal handlers. If not, samples have only their innermost frame. */
bool unwind_works(void);

/* For a thread that is alive. Not for signal handlers. False: its stack is not known. */
bool unwind_open(struct unwinder *unwinder, pthread_t thread);

/* Objects may have been unloaded: forgets all rows. Async-signal-safe. */
void unwind_forget_all(void);
/* How often that was called. What was found before may be wrong now. */
extern LIBRARY_LOCAL uint32_t unwind_generation;

/*
 * Stores program counters, the innermost first. Returns their number, at most `most`. `context`: the third argument of
 * the signal handler. *flags: enum sample_flags.
 */
unsigned unwind_stack(struct unwinder *unwinder, const void *context, uint64_t *pcs, unsigned most, uint32_t *flags);

/*
 * The same from a call on. `frame`: where the called function stored its caller's frame pointer, with the return
 * address above it. The first program counter is that return address. `cfa`: the stack pointer before the call.
 *
 * `words` gets all words of the stack that decided about the result. While they and the loaded objects are the same, a
 * call with the same `frame` and `cfa` has the same stack of calls. If words->overflow is set, that is not so. `most`:
 * at most UNWIND_FRAMES_MOST.
 */
unsigned unwind_call(struct unwinder *unwinder, const uint64_t *frame, uintptr_t cfa, uint64_t *pcs, unsigned most,
                     uint32_t *flags, struct unwind_words *words);

#endif
