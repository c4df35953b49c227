/*
 * The sampler: each thread has a timer of its own, on wall-clock time, whose signal takes a sample (samples.h) of what
 * the thread is doing.
 *
 *   timer of the thread ── signal ──> handler ── state, call, communicator (book_thread_state)
 *                                        │   └── stack of calls (unwinder.h)
 *                                        └──> the thread's buffer in the run file ── full ──> a chunk of it
 *
 * The handler runs on its thread, with other signals blocked. It takes no lock (of the run it tries the lock, and goes
 * on with the buffer when somebody has it), no memory, and nothing of the C library but what is async-signal-safe.
 *
 * Which threads: those that call MPI, and those that the program starts, but not those that MPI starts inside of its
 * own calls. A program must not notice: system calls that a signal would end or cut short are shielded (shield.c), and
 * the signal is kept out of the program's masks. While it is held back the timer counts on, and the sample that comes
 * then stands for all that it missed.
 *
 * Who may run with whom: control functions are thread-safe, take a lock, and are not for signal handlers.
 */
#ifndef MPIT_PROBES_SAMPLER_H
#define MPIT_PROBES_SAMPLER_H

#include "base/linkage.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct sampler;

/* What a thread knows of itself. */
struct sampled {
    struct sampled *next, **link; /* in the list of threads; others change them, with the lock */
    struct sampler *sampler;      /* while its timer runs; else NULL */
    struct sampler *spare;        /* that it had, or has */
    pthread_t self;
    int32_t tid;
    bool listed;   /* it is in the list; the thread's own */
    bool shielded; /* the signal is held back (shield.h) */
};

extern LIBRARY_LOCAL __thread struct sampled sampled_self __attribute__((tls_model("initial-exec")));
extern LIBRARY_LOCAL int sampler_signal; /* 0 until threads have been sampled, or where they are not going to be */
extern LIBRARY_LOCAL bool shield_always; /* threads may be sampled at any time: system calls are shielded always */

/* libmpit-sampler.so is loaded: without it the signal would cut short what the program waits in. */
bool sampler_is_guarded(void);
/* The run begins: samples as mpit_sample_hz has it, if this rank is one of MPIT_SAMPLE_RANKS. False: there is no file
 * that they could go into, or no guard. */
bool sampler_begin(void);
/* The rank is known. */
void sampler_ranked(int rank);
/* This run has samples. */
bool sampler_any(void);
/* The run ends: no sample is taken behind it. */
void sampler_end(void);
/* A thread has begun, or calls MPI for the first time; and it ends. */
void sampler_thread_begin(void);
void sampler_thread_end(void);
/* In the child of a fork. */
void sampler_fork_child(void);

/* MPIT_SAMPLE_HZ was set when the program started, to whatever. */
bool sampler_is_wanted(void);

/* May the calling thread be sampled, before it comes back from a wait? Async-signal-safe. */
static inline bool sampler_is_on(void)
{
    return __builtin_expect(shield_always || __atomic_load_n(&sampled_self.sampler, __ATOMIC_RELAXED) != NULL, 0);
}

#endif
