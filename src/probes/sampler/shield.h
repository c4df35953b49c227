/*
 * What keeps the sampler's signal from the program: calls of the C library that a signal would end or cut short,
 * although its handler asks for system calls to be restarted (signal(7), "Interruption of system calls").
 *
 *   call ── is the thread sampled? ── no ──> the next definition
 *                    └── yes ──> signal held back ──> the next definition ──> and let in: the sample is taken now, in
 *                                                     the same place, and stands for all that the wait has missed
 *
 * Who may run with whom: as the functions themselves; nothing here waits or allocates.
 */
#ifndef MPIT_PROBES_SHIELD_H
#define MPIT_PROBES_SHIELD_H

#include "sampler/sampler.h"
#include "progress/stall.h"

#include <signal.h>

/* True: the signal is held back, to be let in. */
bool shield_up(void);
/* The same, if a call on this descriptor may wait: where it does not, it is not interrupted. */
bool shield_up_for(int fd, int flags);
void shield_down(void);

/* Around an expression that makes `result`; errno stays. */
#define SHIELDED(held, result, call)                                                                                   \
    do {                                                                                                               \
        bool shielded = (held);                                                                                        \
        result = (call);                                                                                               \
        if (__builtin_expect(shielded, 0))                                                                             \
            shield_down();                                                                                             \
    } while (0)

/* A whole function of that kind: it passes on as if it were not there, if the thread is not sampled. */
#define SHIELDED_CALL(type, held, call)                                                                                \
    do {                                                                                                               \
        type result;                                                                                                   \
        if (__builtin_expect(!sampler_is_on(), 1))                                                                     \
            return call;                                                                                               \
        SHIELDED(held, result, call);                                                                                  \
        return result;                                                                                                 \
    } while (0)

/* The same for what lets the thread sleep, which inside of MPI is a stall. */
#define ASLEEP(held, result, call)                                                                                     \
    do {                                                                                                               \
        bool asleep_shielded = (held);                                                                                 \
        struct log *log = sleep_begin();                                                                               \
        result = (call);                                                                                               \
        if (__builtin_expect(asleep_shielded, 0))                                                                      \
            shield_down();                                                                                             \
        if (log)                                                                                                       \
            sleep_end(log);                                                                                            \
    } while (0)

/* `set` without the sampler's signal, and with it: `set` itself, or *copy. */
const sigset_t *shield_without(const sigset_t *set, sigset_t *copy);
const sigset_t *shield_with(const sigset_t *set, sigset_t *copy);

/* The sampler's signal, but not from its timers: to the program's handler. */
void shield_pass_on(int number, siginfo_t *info, void *context);

/* sigaction as it is behind us. */
int shield_sigaction(int number, const struct sigaction *action, struct sigaction *old);

#endif
