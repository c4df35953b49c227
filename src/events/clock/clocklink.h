/*
 * Connections between the leaders of nodes. Each call ends when its timer expires, at the latest, and raises no signal.
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

/* The remaining time. 0: it has expired. */
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

/* A timer that expires after a part of the remaining time of this one. */
static inline struct clock_timer clock_timer_part(const struct clock_timer *timer, unsigned parts)
{
    return clock_timer_start(timer->scale, clock_timer_ns(timer) / parts);
}

/* Listens on all addresses of the host, and stores them in `server`. Loopback is used only if there is no other. The
 * keys are random. Returns the socket, which does not block, or -1. */
int clock_link_listen(struct clock_server *server);
/* The next connection to that socket, or -1 with errno. */
int clock_link_accept(int listener);
/* Connects to the address of the server that answers the hello correctly (CLOCK_HELLO_BYTES). Returns the socket, or
 * -1. */
int clock_link_connect(const struct clock_server *server, const unsigned char *hello, const struct clock_timer *timer);
/* Returns false if the other side is gone, or does not read. */
bool clock_link_send(int link, const unsigned char *bytes, size_t size);
bool clock_link_receive(int link, unsigned char *bytes, size_t size, const struct clock_timer *timer);

#endif
