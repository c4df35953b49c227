/*
 * The program's own use of signals. It may fill its masks, wait for all signals, and set all handlers. The sampler's
 * signal is left out of these calls, and the program's settings for it are only remembered.
 */
#include "sampler/shield.h"

#include <signal.h>
#include <sys/signalfd.h>

#include <unistd.h>

extern int __xpg_sigpause(int number); /* <signal.h> uses it for sigpause */

BEHIND(sigaction)

extern sighandler_t __sysv_signal(int number, sighandler_t handler); /* signal() of programs in strict C */

/* They end when a handler has run, which must be a handler of the program. */
SHIELDED_FUNCTION(int, pause, (void), (), shield_up())

GUARDED(sigsuspend);
int sigsuspend(const sigset_t *mask)
{
    sigset_t copy;
    return behind_sigsuspend()(sampler_is_on() ? shield_with(mask, &copy) : mask);
}

/* It waits under the thread's mask without that one signal. */
SHIELDED_FUNCTION(int, __xpg_sigpause, (int number), (number), shield_up())

GUARDED(sigwait);
int sigwait(const sigset_t *restrict set, int *restrict number)
{
    sigset_t copy;
    return behind_sigwait()(shield_without(set, &copy), number);
}

GUARDED(sigwaitinfo);
int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
    sigset_t copy;
    return SHIELDED(shield_up(), behind_sigwaitinfo()(shield_without(set, &copy), info));
}

GUARDED(sigtimedwait);
int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info, const struct timespec *restrict timeout)
{
    sigset_t copy;
    return SHIELDED(shield_up(), behind_sigtimedwait()(shield_without(set, &copy), info, timeout));
}

GUARDED(pthread_sigmask);
int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    sigset_t copy;
    return behind_pthread_sigmask()(how, how == SIG_UNBLOCK ? set : shield_without(set, &copy), old);
}

GUARDED(sigprocmask);
int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    sigset_t copy;
    return behind_sigprocmask()(how, how == SIG_UNBLOCK ? set : shield_without(set, &copy), old);
}

int shield_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    return behind_sigaction()(number, action, old);
}

static struct sigaction wished; /* for the sampler's signal. At first it is SIG_DFL */

void shield_wish(const struct sigaction *action)
{
    wished = *action;
}

static bool signal_is_samplers(int number)
{
    return number && number == __atomic_load_n(&sampler_signal, __ATOMIC_RELAXED);
}

GUARD(sigaction);
int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict old)
{
    if (!signal_is_samplers(number))
        return behind_sigaction()(number, action, old);
    struct sigaction before = wished;
    if (action)
        wished = *action;
    if (old)
        *old = before;
    return 0;
}

/* The signal came from elsewhere: acts as if the program alone used it. */
void shield_pass_on(int number, siginfo_t *info, void *context)
{
    struct sigaction action = wished;
    if (action.sa_flags & SA_SIGINFO) {
        action.sa_sigaction(number, info, context);
    } else if (action.sa_handler == SIG_DFL) {
        struct sigaction none = {.sa_handler = SIG_DFL};
        behind_sigaction()(number, &none, NULL);
        raise(number);
    } else if (action.sa_handler != SIG_IGN) {
        action.sa_handler(number);
    }
}

static sighandler_t wish(sighandler_t handler)
{
    sighandler_t before = wished.sa_handler;
    wished = (struct sigaction){.sa_handler = handler};
    return before;
}

#define HANDLER_FUNCTION(name)                                                                                         \
    GUARDED_FUNCTION(sighandler_t, name, (int number, sighandler_t handler),                                           \
                     signal_is_samplers(number) ? wish(handler) : behind_##name()(number, handler))
HANDLER_FUNCTION(signal)
HANDLER_FUNCTION(sysv_signal)
HANDLER_FUNCTION(__sysv_signal)
HANDLER_FUNCTION(sigset)

GUARDED(sigignore);
int sigignore(int number)
{
    return signal_is_samplers(number) ? (wish(SIG_IGN), 0) : behind_sigignore()(number);
}

GUARDED(signalfd);
int signalfd(int fd, const sigset_t *set, int flags)
{
    sigset_t copy;
    return behind_signalfd()(fd, shield_without(set, &copy), flags);
}
