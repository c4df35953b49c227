/*
 * Tells Valgrind's Helgrind and DRD what is atomic: they see instructions, and take an atomic load for a race with the
 * store that it pairs with. Included in front of every file of a build with -DMPIT_ANNOUNCE=ON
 * (tests/sanitize/valgrind.sh).
 *
 * A place that is accessed atomically is announced as such, and not checked from then on. Release and acquire are edges
 * between threads, seq_cst is both, relaxed is none: so plain data that is published by a store that does not release
 * it is reported, and what is accessed without any atomic operation is judged as ever. What is not noticed any more are
 * plain accesses to a place that is atomic elsewhere; the thread sanitizer notices those.
 */
#ifndef MPIT_SANITIZE_ANNOUNCED_H
#define MPIT_SANITIZE_ANNOUNCED_H
#ifndef __ASSEMBLER__

#include <stddef.h>

#include <valgrind/drd.h>
#undef ANNOTATE_HAPPENS_BEFORE
#undef ANNOTATE_HAPPENS_AFTER
#undef ANNOTATE_NEW_MEMORY
#undef ANNOTATE_RWLOCK_CREATE
#undef ANNOTATE_RWLOCK_DESTROY
#undef ANNOTATE_RWLOCK_ACQUIRED
#undef ANNOTATE_RWLOCK_RELEASED
#undef ANNOTATE_BENIGN_RACE
#undef ANNOTATE_BENIGN_RACE_SIZED
#undef ANNOTATE_IGNORE_READS_BEGIN
#undef ANNOTATE_IGNORE_READS_END
#undef ANNOTATE_IGNORE_WRITES_BEGIN
#undef ANNOTATE_IGNORE_WRITES_END
#undef ANNOTATE_IGNORE_READS_AND_WRITES_BEGIN
#undef ANNOTATE_IGNORE_READS_AND_WRITES_END
#undef ANNOTATE_THREAD_NAME
#include <valgrind/helgrind.h>

static inline void announce_place(const volatile void *at, size_t bytes)
{
    VALGRIND_HG_DISABLE_CHECKING((void *)at, bytes);
    VALGRIND_DO_CLIENT_REQUEST_STMT(VG_USERREQ__DRD_START_SUPPRESSION, at, bytes, 0, 0, 0);
}

static inline void announce_release(const volatile void *at)
{
    DO_CREQ_v_W(_VG_USERREQ__HG_USERSO_SEND_PRE, void *, (void *)at);
    VALGRIND_DO_CLIENT_REQUEST_STMT(VG_USERREQ__DRD_ANNOTATE_HAPPENS_BEFORE, at, 0, 0, 0, 0);
}

static inline void announce_acquire(const volatile void *at)
{
    DO_CREQ_v_W(_VG_USERREQ__HG_USERSO_RECV_POST, void *, (void *)at);
    VALGRIND_DO_CLIENT_REQUEST_STMT(VG_USERREQ__DRD_ANNOTATE_HAPPENS_AFTER, at, 0, 0, 0, 0);
}

#define ANNOUNCE_RELEASES(order)                                                                                       \
    ((order) == __ATOMIC_RELEASE || (order) == __ATOMIC_ACQ_REL || (order) == __ATOMIC_SEQ_CST)
#define ANNOUNCE_ACQUIRES(order)                                                                                       \
    ((order) == __ATOMIC_ACQUIRE || (order) == __ATOMIC_ACQ_REL || (order) == __ATOMIC_SEQ_CST)

/* Around an operation; `announced` is what it returns. */
#define ANNOUNCED_BEFORE(at, order)                                                                                    \
    announce_place(at, sizeof *(at));                                                                                  \
    if (ANNOUNCE_RELEASES(order))                                                                                      \
    announce_release(at)
#define ANNOUNCED_AFTER(at, order)                                                                                     \
    if (ANNOUNCE_ACQUIRES(order))                                                                                      \
    announce_acquire(at)

#define ANNOUNCED(at, order, operation)                                                                                \
    __extension__({                                                                                                    \
        __typeof__(at) announced_at = (at);                                                                            \
        ANNOUNCED_BEFORE(announced_at, order);                                                                         \
        __auto_type announced = operation;                                                                             \
        ANNOUNCED_AFTER(announced_at, order);                                                                          \
        announced;                                                                                                     \
    })

#define __atomic_load_n(at, order)                                                                                     \
    __extension__({                                                                                                    \
        __typeof__(at) announced_at = (at);                                                                            \
        announce_place(announced_at, sizeof *announced_at);                                                            \
        __auto_type announced = __atomic_load_n(announced_at, order);                                                  \
        ANNOUNCED_AFTER(announced_at, order);                                                                          \
        announced;                                                                                                     \
    })
#define __atomic_store_n(at, value, order)                                                                             \
    __extension__({                                                                                                    \
        __typeof__(at) announced_at = (at);                                                                            \
        __typeof__((void)0, *announced_at) announced_value = (value);                                                  \
        ANNOUNCED_BEFORE(announced_at, order);                                                                         \
        __atomic_store_n(announced_at, announced_value, order);                                                        \
    })
#define __atomic_exchange_n(at, value, order) ANNOUNCED(at, order, __atomic_exchange_n(announced_at, value, order))
#define __atomic_fetch_add(at, value, order) ANNOUNCED(at, order, __atomic_fetch_add(announced_at, value, order))
#define __atomic_fetch_or(at, value, order) ANNOUNCED(at, order, __atomic_fetch_or(announced_at, value, order))
#define __atomic_add_fetch(at, value, order) ANNOUNCED(at, order, __atomic_add_fetch(announced_at, value, order))
#define __atomic_sub_fetch(at, value, order) ANNOUNCED(at, order, __atomic_sub_fetch(announced_at, value, order))
#define __atomic_compare_exchange_n(at, seen, value, weak, order, failed)                                              \
    ANNOUNCED(at, order, __atomic_compare_exchange_n(announced_at, seen, value, weak, order, failed))
/* pair.h */
#define __sync_val_compare_and_swap(at, seen, value)                                                                   \
    ANNOUNCED(at, __ATOMIC_SEQ_CST, __sync_val_compare_and_swap(announced_at, seen, value))

#endif
#endif
