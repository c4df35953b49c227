/* Signals of a thread, held back while it has a lock that a signal handler may need, too. */
#ifndef MPIT_BASE_SIGNALS_H
#define MPIT_BASE_SIGNALS_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* Holds back all signals but those of errors, until pthread_sigmask restores `before`. */
static inline void signals_hold(sigset_t *before)
{
    static const int errors[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT};
    sigset_t all;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        sigdelset(&all, errors[i]);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

#endif
