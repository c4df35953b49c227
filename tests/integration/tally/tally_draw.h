/*
 * Seeded draws. Every process makes the same stream from the same key, so all of them know the whole traffic; what only
 * one process decides (how it completes its requests) it draws from a stream with its rank in the key.
 */
#ifndef TALLY_DRAW_H
#define TALLY_DRAW_H

#include <stdint.h>

struct draw {
    uint64_t state;
};

static inline uint64_t draw_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* A stream of its own for each key. */
static inline struct draw draw_stream(uint64_t seed, uint64_t round, uint64_t part)
{
    return (struct draw){draw_mix(draw_mix(draw_mix(seed) ^ round) ^ part)};
}

static inline uint64_t draw_next(struct draw *draw)
{
    draw->state += 0x9e3779b97f4a7c15u;
    return draw_mix(draw->state);
}

/* 0 .. limit - 1 */
static inline int draw_below(struct draw *draw, int limit)
{
    return (int)(draw_next(draw) % (uint64_t)limit);
}

static inline int draw_chance(struct draw *draw, int percent)
{
    return draw_below(draw, 100) < percent;
}

#endif
