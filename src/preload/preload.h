/*
 * The common part of libmpit.so, the one library that is preloaded, and the recorder behind it.
 *
 *   program ── MPI_Send ──> libmpit.so: jmp *mpit_gate_MPI_Send ──> libmpit-openmpi.so: the wrapper
 *                                            │  until a recorder is there:
 *                                            └──> preload_resolve: is an MPI in the process? dlopen of its recorder,
 *                                                 whose constructor writes its functions into the gates
 *
 * Every function has a gate, an exported pointer `mpit_gate_NAME`. The recorder is linked to libmpit.so and writes the
 * gates itself when its state changes. So a call takes one jump. Functions of the C library have gates
 * `mpit_guard_NAME` in libmpit-sampler.so, which only sampled processes preload.
 */
#ifndef MPIT_PRELOAD_PRELOAD_H
#define MPIT_PRELOAD_PRELOAD_H

#include <stdbool.h>
#include <stdint.h>

/* Raised when the structure or the meaning of a gate changes. A recorder of another version does not record. */
enum { PRELOAD_VERSION = 2 };

struct mpit_preload {
    uint32_t version;
    const char *wants; /* the recorder that records ("openmpi"). NULL: none */
    bool recorded;     /* set by the recorder in MPI_Init */
    /* The definition behind libmpit.so, or in an MPI library that was loaded out of the global scope. NULL: none.
     * Thread-safe, not for signal handlers. */
    void *(*next)(const char *name);
    /* One line on standard error, once for a process. If the launcher tells ranks, only in the first one. */
    void (*say)(const char *line);
    /* Searches for an MPI library out of the global scope (RTLD_LOCAL), and returns its handle or NULL. */
    void *(*library)(void);
    const char *begin, *end; /* the memory of libmpit.so */
};

extern struct mpit_preload mpit_preload;

/* The same as mpit_preload.next, from libmpit-sampler.so. Weak, as processes without sampling do not have it. */
extern void *mpit_sampler_next(const char *name) __attribute__((weak));

#endif
