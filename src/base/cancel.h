/*
 * Threads that the program cancels: not inside of mpit. The program does not expect cancellation in a system call of
 * mpit, and the thread would leave a lock that others wait for. It is canceled at its own next cancellation point.
 */
#ifndef MPIT_BASE_CANCEL_H
#define MPIT_BASE_CANCEL_H

#include <pthread.h>

static inline int cancel_hold(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void cancel_release(int before)
{
    pthread_setcancelstate(before, NULL);
}

#endif
