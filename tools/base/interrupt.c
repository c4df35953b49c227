#include "base/interrupt.h"

#include <signal.h>
#include <stddef.h>

static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
enum { CAUGHT = sizeof caught / sizeof *caught };

static struct sigaction before[CAUGHT];
static volatile sig_atomic_t seen;

static void signal_note(int signal)
{
    if (!seen)
        seen = signal;
}

void interrupts_catch(void)
{
    seen = 0;
    for (int i = 0; i < CAUGHT; i++) {
        struct sigaction action = {.sa_handler = signal_note, .sa_flags = SA_RESTART}; /* no write is cut in two */
        sigemptyset(&action.sa_mask);
        sigaction(caught[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(caught[i], &action, NULL);
    }
}

void interrupts_release(void)
{
    for (int i = 0; i < CAUGHT; i++)
        sigaction(caught[i], &before[i], NULL);
}

int interrupt_seen(void)
{
    return seen;
}

void interrupt_die(int signal)
{
    struct sigaction normal = {.sa_handler = SIG_DFL};
    sigset_t set;
    sigaction(signal, &normal, NULL);
    sigemptyset(&set);
    sigaddset(&set, signal);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(signal);
}
