/*
 * Signal stacks: where the sampler's handler runs. A thread may have no room for it on its own stack: the frame of a
 * signal takes up to some KiB, and runtimes such as Go's have stacks of a few KiB. So each sampled thread has a signal
 * stack of the sampler's.
 *
 *     the program has none, or one without room for a frame    the kernel is told the sampler's stack (sigaltstack)
 *     the program has one                                      the kernel has that. The handler goes on to the sampler's
 *
 * A guard of sigaltstack keeps it so when the program changes its own, and says "none" in place of the sampler's.
 */
#ifndef MPIT_PROBES_SIGNALSTACK_H
#define MPIT_PROBES_SIGNALSTACK_H

#include <signal.h>

/* The calling thread gets its stack, if there is memory (sampled_self.stack). */
void signal_stack_begin(void);
void signal_stack_end(void);

/* Calls the function on the sampler's stack of this thread. For signal handlers. */
void signal_stack_call(void (*function)(siginfo_t *info, void *context), siginfo_t *info, void *context);

#endif
