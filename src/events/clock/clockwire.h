/*
 * The messages of the leaders of nodes that measure their clocks: whole numbers of 64 bits, little-endian.
 *
 *    a leader                     rank 0's leader, or the node it measures against
 *    hello: key, who am I   ──>   the key is known: else the connection is closed
 *                           <──   welcome: the answer to the key, so that no stranger is taken for the server
 *                           <──   place: whom to measure against (only after a hello that joins)
 *    ping                   ──>
 *                           <──   pong: when it came and went on the reference clock, and how wrong that may be
 *
 * Each byte may come from a stranger. All input is checked here. No length is of the sender's choice.
 */
#ifndef MPIT_EVENTS_CLOCKWIRE_H
#define MPIT_EVENTS_CLOCKWIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLOCK_ADDRESSES_MOST = 8, CLOCK_ADDRESS_BYTES = 16 };

/* The address of a leader. A process that connects sends `key`, and gets `answer`. */
struct clock_server {
    uint64_t key[2], answer[2];
    uint32_t port;
    uint32_t count;                                                     /* of addresses */
    unsigned char addresses[CLOCK_ADDRESSES_MOST][CLOCK_ADDRESS_BYTES]; /* IPv6. IPv4 as ::ffff:a.b.c.d */
};

enum clock_hello_kind {
    CLOCK_HELLO_JOIN = 1, /* asks rank 0's leader for a place in the tree */
    CLOCK_HELLO_MEASURE,  /* asks for echoes */
};

struct clock_hello {
    uint64_t key[2];
    enum clock_hello_kind kind;
    uint32_t rank;
    uint32_t processes; /* of the job on its node. 0: not known */
    uint64_t kernel;    /* the same in all processes that share a clock */
    struct clock_server server;
};

/* The place of a node among `nodes`. Node 0 has the reference clock (clocksync.h). */
struct clock_place {
    uint32_t node, nodes;
    bool shares;                /* another node has the same clock, and measures it. This one has nothing to do */
    struct clock_server parent; /* the leader to measure against. No address: use the connection of this message */
};

struct clock_pong {
    uint64_t arrived_ns, left_ns, error_ns;
};

enum clock_ping { CLOCK_PING = 1, CLOCK_PING_ENOUGH };

enum {
    CLOCK_WORD_BYTES = 8,
    CLOCK_SERVER_BYTES = CLOCK_WORD_BYTES * 6 + CLOCK_ADDRESSES_MOST * CLOCK_ADDRESS_BYTES,
    CLOCK_FILE_BYTES = CLOCK_WORD_BYTES + CLOCK_SERVER_BYTES, /* a server in a file */
    CLOCK_HELLO_BYTES = CLOCK_WORD_BYTES * 7 + CLOCK_SERVER_BYTES,
    CLOCK_WELCOME_BYTES = CLOCK_WORD_BYTES * 2,
    CLOCK_PLACE_BYTES = CLOCK_WORD_BYTES * 3 + CLOCK_SERVER_BYTES,
    CLOCK_PING_BYTES = CLOCK_WORD_BYTES,
    CLOCK_PONG_BYTES = CLOCK_WORD_BYTES * 3,
    CLOCK_MESSAGE_MOST = CLOCK_HELLO_BYTES, /* the largest */
};

/* Each writes or reads as many bytes as its name tells. The reading ones return false for invalid bytes. */
void clock_file_pack(const struct clock_server *server, unsigned char *bytes);
bool clock_file_unpack(struct clock_server *server, const unsigned char *bytes);
void clock_hello_pack(const struct clock_hello *hello, unsigned char *bytes);
bool clock_hello_unpack(struct clock_hello *hello, const unsigned char *bytes);
void clock_welcome_pack(const struct clock_server *server, unsigned char *bytes);
/* True if this answer is the server's. */
bool clock_welcome_check(const struct clock_server *server, const unsigned char *bytes);
void clock_place_pack(const struct clock_place *place, unsigned char *bytes);
bool clock_place_unpack(struct clock_place *place, const unsigned char *bytes);
void clock_ping_pack(enum clock_ping ping, unsigned char *bytes);
bool clock_ping_unpack(enum clock_ping *ping, const unsigned char *bytes);
void clock_pong_pack(const struct clock_pong *pong, unsigned char *bytes);
void clock_pong_unpack(struct clock_pong *pong, const unsigned char *bytes);

#endif
