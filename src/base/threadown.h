/*
 * Thread-local variables of the recorder. libmpit.so has them, in memory that each thread has from the start of the
 * process on. The recorder is loaded later: its own would be in the space that the loader keeps for libraries that come
 * late (1,664 bytes in glibc), which plugins of the program may need.
 */
#ifndef MPIT_BASE_THREADOWN_H
#define MPIT_BASE_THREADOWN_H

/* Variables of up to 8 bytes. Others are in threadown.c. */
#define THREAD_OWN_WORDS(OWN)                                                                                          \
    OWN(book_thread_state)                                                                                             \
    OWN(thread_log)                                                                                                    \
    OWN(log_attaching)                                                                                                 \
    OWN(log_is_refused) OWN(thread_is_internal) OWN(fabric_opening) OWN(thread_phases) OWN(phases_busy)                \
        OWN(region_stack) OWN(native_holder) OWN(native_inside) OWN(components_entering) OWN(delivering)               \
            OWN(delivered) OWN(delivered_native) OWN(delivered_safety)

enum { SAMPLED_BYTES = 96, NO_LOG_BYTES = 8 << 10 };

#define THREAD_OWN(type, name) THREAD_OWN_BYTES(type, name, 8)
#define THREAD_OWN_BYTES(type, name, bytes)                                                                            \
    _Static_assert(sizeof(type) <= (bytes), "room in libmpit.so");                                                     \
    extern __thread type name __asm__("mpit_thread_" #name)                                                            \
        __attribute__((tls_model("initial-exec"), visibility("default")))

#endif
