/*
 * Signal guards: they keep the sampler's signal from calls of the C library that it would end or cut short. Such calls
 * exist although the handler asks for system calls to be restarted (signal(7), "Interruption of system calls").
 *
 *   call ── is the thread sampled? ── no ──> the next definition
 *                    └── yes ──> signal held back ──> the next definition ──> and let in: the sample is taken now, in
 *                                                     the same place, and stands for all that the wait has missed
 *
 * Who may run with whom: as the functions themselves. No guard waits or allocates.
 */
#ifndef MPIT_PROBES_SHIELD_H
#define MPIT_PROBES_SHIELD_H

#include "sampler/behind.h"
#include "sampler/sampler.h"
#include "progress/stall.h"

#include <signal.h>

/* True: the signal is held back, and must be let in later. */
bool shield_up(void);
/* The same, if a call on this descriptor may wait. A call that does not wait is not interrupted. */
bool shield_up_for(int fd, int flags);
void shield_down(void);

/* The value of a call, with the signal held back around it if `held`. errno stays. */
#define SHIELDED(held, call)                                                                                           \
    ({                                                                                                                 \
        bool shielded = (held);                                                                                        \
        __typeof__(call) shielded_result = (call);                                                                     \
        if (__builtin_expect(shielded, 0))                                                                             \
            shield_down();                                                                                             \
        shielded_result;                                                                                               \
    })

/* The same for a function that lets the thread sleep, which inside of MPI is a stall. `waits`: this call may. */
#define ASLEEP(waits, held, call)                                                                                      \
    ({                                                                                                                 \
        bool asleep_shielded = (held);                                                                                 \
        struct log *log = (waits) ? sleep_begin() : NULL;                                                              \
        __typeof__(call) asleep_result = (call);                                                                       \
        if (__builtin_expect(asleep_shielded, 0))                                                                      \
            shield_down();                                                                                             \
        if (log)                                                                                                       \
            sleep_end(log);                                                                                            \
        asleep_result;                                                                                                 \
    })

/* Whole functions of these kinds. A thread that is not sampled only passes through the first one. */
#define GUARDED_FUNCTION(type, name, parameters, value)                                                                \
    GUARDED(name);                                                                                                     \
    type name parameters                                                                                               \
    {                                                                                                                  \
        return value;                                                                                                  \
    }
#define SHIELDED_FUNCTION(type, name, parameters, arguments, held)                                                     \
    GUARDED_FUNCTION(type, name, parameters,                                                                           \
                     SHIELDED(__builtin_expect(sampler_is_on(), 0) && (held), behind_##name() arguments))
#define ASLEEP_FUNCTION(type, name, parameters, arguments, waits, held)                                                \
    GUARDED_FUNCTION(type, name, parameters, ASLEEP(waits, held, behind_##name() arguments))

/* Returns `set` without, or with, the sampler's signal: `set` itself, or *copy. */
const sigset_t *shield_without(const sigset_t *set, sigset_t *copy);
const sigset_t *shield_with(const sigset_t *set, sigset_t *copy);

/* The sampler's signal did not come from its timers: passes it to the program's handler. */
void shield_pass_on(int number, siginfo_t *info, void *context);

/* The program's action for the sampler's signal, which it has set without its guard. */
void shield_wish(const struct sigaction *action);

/* The C library's sigaction. */
int shield_sigaction(int number, const struct sigaction *action, struct sigaction *old);

#endif
