/*
 * What libmpit.so, the one library that is preloaded, and the recorder behind it know of each other.
 *
 *   program ── MPI_Send ──> libmpit.so: jmp *mpit_gate_MPI_Send ──> libmpit-openmpi.so: the wrapper
 *                                            │  until a recorder is there:
 *                                            └──> preload_resolve: is an MPI in the process? dlopen of its recorder,
 *                                                 whose constructor writes its functions into the gates
 *
 * Every function has a gate, an exported pointer `mpit_gate_NAME`. The recorder is linked to libmpit.so and writes the
 * gates itself whenever it changes its mind, so that a call takes one jump. Functions of the C library have gates
 * `mpit_guard_NAME` in libmpit-sampler.so, which only processes that sample preload.
 */
#ifndef MPIT_PRELOAD_PRELOAD_H
#define MPIT_PRELOAD_PRELOAD_H

#include <stdbool.h>
#include <stdint.h>

/* Raised when the structure or the meaning of a gate changes. A recorder of another version does not record. */
enum { PRELOAD_VERSION = 2 };

struct mpit_preload {
    uint32_t version;
    const char *wants; /* the recorder that records ("openmpi"); NULL: none */
    bool recorded;     /* set by the recorder: MPI_Init has come by */
    /* The definition behind libmpit.so, or in an MPI library that was loaded out of the global scope; NULL: none.
     * Thread-safe; not for signal handlers. */
    void *(*next)(const char *name);
    /* One line on standard error, once for a process, and in the first rank alone where the launcher tells ranks. */
    void (*say)(const char *line);
    /* Looks for an MPI library out of the global scope (RTLD_LOCAL), and returns its handle or NULL. */
    void *(*library)(void);
    const char *begin, *end; /* what libmpit.so takes in memory */
};

extern struct mpit_preload mpit_preload;

/* The same as mpit_preload.next, from libmpit-sampler.so. Weak: it is not there in a process that does not sample. */
extern void *mpit_sampler_next(const char *name) __attribute__((weak));

#endif
