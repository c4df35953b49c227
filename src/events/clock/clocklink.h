/*
 * Connections between the leaders of nodes: each call ends at the latest when its timer does, and raises no signal.
 */
#ifndef MPIT_EVENTS_CLOCKLINK_H
#define MPIT_EVENTS_CLOCKLINK_H

#include "clock/clock.h"
#include "clock/clockwire.h"

/* When waiting ends, on this process's clock. */
struct clock_timer {
    struct clock_scale scale;
    uint64_t end_ticks;
};

static inline struct clock_timer clock_timer_start(struct clock_scale scale, uint64_t ns)
{
    return (struct clock_timer){scale, clock_now() + clock_ticks(scale, ns)};
}

/* What is left of it; 0: it is over. */
static inline uint64_t clock_timer_ns(const struct clock_timer *timer)
{
    uint64_t now = clock_now();
    return now < timer->end_ticks ? clock_ns(timer->scale, timer->end_ticks - now) : 0;
}

/* The same for poll(2), rounded up. */
static inline int clock_timer_ms(const struct clock_timer *timer)
{
    return (int)((clock_timer_ns(timer) + 999999) / 1000000);
}

/* A timer that ends when a part of what is left of this one is over. */
static inline struct clock_timer clock_timer_part(const struct clock_timer *timer, unsigned parts)
{
    return clock_timer_start(timer->scale, clock_timer_ns(timer) / parts);
}

/* Listens on all addresses of the host, and says in `server` which those are: loopback only if there is no other. The
 * keys are drawn at random. Returns the socket, which does not block, or -1. */
int clock_link_listen(struct clock_server *server);
/* The next connection to that socket, or -1 with errno. */
int clock_link_accept(int listener);
/* Connects to an address of the server that gives its answer to the hello (of CLOCK_HELLO_BYTES). Returns the socket,
 * or -1. */
int clock_link_connect(const struct clock_server *server, const unsigned char *hello, const struct clock_timer *timer);
/* False: the other side is gone, or does not read. */
bool clock_link_send(int link, const unsigned char *bytes, size_t size);
bool clock_link_receive(int link, unsigned char *bytes, size_t size, const struct clock_timer *timer);

#endif
