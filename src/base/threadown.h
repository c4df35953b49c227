/*
 * Thread-local variables of the recorder. libmpit.so has them, in memory that each thread has from the start of the
 * process on. The recorder is loaded later: its own would be in the space that the loader keeps for libraries that come
 * late (1,664 bytes in glibc), which plugins of the program may need.
 */
#ifndef MPIT_BASE_THREADOWN_H
#define MPIT_BASE_THREADOWN_H

/* Each variable is in threadown.c, too. */
enum { SAMPLED_BYTES = 96, NO_LOG_BYTES = 8 << 10 };

#define THREAD_OWN(type, name) THREAD_OWN_BYTES(type, name, 8)
#define THREAD_OWN_BYTES(type, name, bytes)                                                                            \
    _Static_assert(sizeof(type) <= (bytes), "room in libmpit.so");                                                     \
    extern __thread type name __asm__("mpit_thread_" #name)                                                            \
        __attribute__((tls_model("initial-exec"), visibility("default")))

#endif
