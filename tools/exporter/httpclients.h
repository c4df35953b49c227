/*
 * The connections of an HTTP server. No client can keep others out.
 *
 * A connection is ended when it is older than CLIENT_SECONDS, no matter what it sends. A peer is an address, or a user
 * for a Unix socket. It has at most CLIENT_PEER_MOST connections, and there are at most CLIENT_MOST in all. A new
 * connection ends the oldest. So a client that asks and reads at once is served, even if others hold many connections.
 */
#ifndef MPIT_TOOLS_HTTPCLIENTS_H
#define MPIT_TOOLS_HTTPCLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLIENT_SECONDS = 20, CLIENT_PEER_MOST = 32, CLIENT_MOST = 96 };

struct sockaddr;

struct http_peer {
    int family;
    unsigned char address[16];
};

struct http_client {
    int socket;
    bool ended; /* ended by us, and removed soon */
    uint64_t begin_ns;
    struct http_peer peer;
    struct http_client *next; /* a later one */
};

struct http_clients {
    struct http_client *first; /* the oldest */
};

/* Adds a new connection, and ends others if needed. Returns NULL without memory. The connection is served
 * nevertheless. */
struct http_client *http_client_add(struct http_clients *clients, int socket, const struct sockaddr *address);
/* The connection is closed. The argument may be NULL. */
void http_client_remove(struct http_clients *clients, struct http_client *client);
/* Ends connections that are too old. */
void http_clients_age(struct http_clients *clients);
/* Returns milliseconds until the next connection is too old, at most `most`. */
int http_clients_timeout(const struct http_clients *clients, int most);

#endif
