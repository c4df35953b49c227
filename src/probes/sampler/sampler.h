/*
 * The sampler: each thread has a timer of its own, on wall-clock time. Its signal takes a sample (samples.h) of the
 * thread's call stack and state.
 *
 *   timer of the thread ── signal ──> handler ── state, call, communicator (book_thread_state)
 *                                        │   └── stack of calls (unwinder.h)
 *                                        └──> the thread's buffer in the run file ── full ──> a chunk of it
 *
 * The handler runs on its thread, with other signals blocked. It waits for no lock: it only tries the lock of the run,
 * and goes on with the buffer if that is taken. It allocates no memory. It uses only async-signal-safe functions of the
 * C library.
 *
 * Sampled threads: the ones that call MPI, and the ones that the program starts. Threads that MPI starts inside of its
 * own calls are not sampled. A program must not notice: signal guards protect system calls that a signal would end or
 * cut short (shield.c), and the signal is kept out of the program's masks. While it is held back the timer counts on.
 * The next sample then counts for all missed ones.
 *
 * Who may run with whom: control functions are thread-safe, take a lock, and are not for signal handlers.
 */
#ifndef MPIT_PROBES_SAMPLER_H
#define MPIT_PROBES_SAMPLER_H

#include "base/linkage.h"
#include "base/threadown.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct sampler;

/* The state of a thread. */
struct sampled {
    struct sampled *next, **link; /* in the list of threads. Others change them, with the lock */
    struct sampler *sampler;      /* while its timer runs, else NULL */
    struct sampler *spare;        /* the sampler that it had, or has */
    void *stack;                  /* for its handler (signalstack.h). NULL: there is no memory for it */
    pthread_t self;
    int32_t tid;
    bool listed;   /* it is in the list. The thread's own */
    bool shielded; /* the signal is held back (shield.h) */
};

THREAD_OWN_BYTES(struct sampled, sampled_self, SAMPLED_BYTES);
extern LIBRARY_LOCAL int sampler_signal;       /* 0 until threads have been sampled, or if they never will be */
extern LIBRARY_LOCAL int32_t sampler_internal; /* threads of MPI, which are not sampled */
extern LIBRARY_LOCAL bool shield_always;       /* threads may be sampled at any time: system calls are always guarded */

/* True if libmpit-sampler.so is loaded: without it the signal would interrupt waits of the program. */
bool sampler_is_guarded(void);
/* The run begins: samples at the rate of mpit_sample_hz, if this rank is in MPIT_SAMPLE_RANKS. False: there is no file
 * for the samples, or no guard. */
bool sampler_begin(void);
/* The rank is known. */
void sampler_ranked(int rank);
/* The run ends: later no sample is taken. */
void sampler_end(void);
/* A thread has begun, or calls MPI for the first time, or ends. */
void sampler_thread_begin(void);
void sampler_thread_end(void);
/* Called in the child of a fork. */
void sampler_fork_child(void);

/* True if MPIT_SAMPLE_HZ was set when the program started, to any value. */
bool sampler_is_wanted(void);

/* True if the calling thread may be sampled before it returns from a wait. Async-signal-safe. */
static inline bool sampler_is_on(void)
{
    return __builtin_expect(shield_always || __atomic_load_n(&sampled_self.sampler, __ATOMIC_RELAXED) != NULL, 0);
}

#endif
