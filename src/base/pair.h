/*
 * Pairs: two adjacent words, a value and a tag, that change together or not at all.
 *
 * Pairs hold data that several threads and signal handlers change at once. An operation loads a pair, computes the next
 * one and swaps. It begins again if the pair has changed meanwhile. It never waits: an interrupted operation has either
 * happened or not. The tag describes the meaning of the value, and changes with that meaning.
 *
 * A pair is aligned to 16 bytes. A writer may load and store only the value if it knows that the tag need not change.
 */
#ifndef MPIT_BASE_PAIR_H
#define MPIT_BASE_PAIR_H

#include <stdbool.h>
#include <stdint.h>

struct pair {
    uint64_t value, tag;
};

#define PAIR_ALIGNED __attribute__((aligned(16)))

/* A test of interleavings lets other operations run here. */
#ifndef PAIR_TURN
#define PAIR_TURN() ((void)0)
#endif

/* Loads after this are not done before the loads in front of it. The thread sanitizer does not support fences, and
 * runs on machines that keep the order of loads. */
static inline void loads_order(void)
{
#if defined(__x86_64__) || defined(__SANITIZE_THREAD__)
    __asm__ volatile("" ::: "memory");
#else
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

/* A value and a tag that were there at the same time. */
static inline struct pair pair_load(const uint64_t *at)
{
    struct pair seen;
    PAIR_TURN();
    do {
        seen.tag = __atomic_load_n(&at[1], __ATOMIC_ACQUIRE);
        seen.value = __atomic_load_n(&at[0], __ATOMIC_ACQUIRE);
    } while (__atomic_load_n(&at[1], __ATOMIC_RELAXED) != seen.tag);
    return seen;
}

static inline bool pair_is(const uint64_t *at, struct pair pair)
{
    PAIR_TURN();
    loads_order();
    return __atomic_load_n(&at[1], __ATOMIC_ACQUIRE) == pair.tag &&
           __atomic_load_n(&at[0], __ATOMIC_ACQUIRE) == pair.value;
}

/* Before any other thread can see the pair. */
static inline void pair_set(uint64_t *at, struct pair pair)
{
    __atomic_store_n(&at[0], pair.value, __ATOMIC_RELAXED);
    __atomic_store_n(&at[1], pair.tag, __ATOMIC_RELEASE);
}

/* Replaces `*seen` with `fresh`. Returns false if the pair was another one, which is in *seen now. A full barrier on
 * x86, acquire and release elsewhere. */
static inline bool pair_swap(uint64_t *at, struct pair *seen, struct pair fresh)
{
    PAIR_TURN();
#if defined(__SANITIZE_THREAD__)
    typedef unsigned __int128 __attribute__((may_alias)) word;
    word old = ((word)seen->tag << 64) | seen->value;
    word was = __sync_val_compare_and_swap((word *)at, old, ((word)fresh.tag << 64) | fresh.value);
    *seen = (struct pair){.value = (uint64_t)was, .tag = (uint64_t)(was >> 64)};
    return was == old;
#elif defined(__x86_64__)
    bool done;
    __asm__ volatile("lock cmpxchg16b %1"
                     : "=@ccz"(done), "+m"(*(uint64_t(*)[2])at), "+a"(seen->value), "+d"(seen->tag)
                     : "b"(fresh.value), "c"(fresh.tag)
                     : "memory");
    return done;
#elif defined(__aarch64__)
    uint64_t value, tag;
    uint32_t failed;
    __asm__ volatile("1: ldaxp %0, %1, [%3]\n\t"
                     "cmp %0, %4\n\t"
                     "ccmp %1, %5, #0, eq\n\t"
                     "mov %w2, #1\n\t"
                     "b.ne 2f\n\t"
                     "stlxp %w2, %6, %7, [%3]\n\t"
                     "cbnz %w2, 1b\n"
                     "2:"
                     : "=&r"(value), "=&r"(tag), "=&r"(failed)
                     : "r"(at), "r"(seen->value), "r"(seen->tag), "r"(fresh.value), "r"(fresh.tag)
                     : "cc", "memory");
    if (failed)
        *seen = pair_load(at);
    return !failed;
#else
#error "pair.h needs a compare-and-swap of two words for this architecture"
#endif
}

#endif
