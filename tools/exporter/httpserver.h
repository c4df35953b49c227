/*
 * A small HTTP server, on the thread of its owner. Pages are made on request.
 *
 * libmicrohttpd reads requests and writes answers, for several connections at a time. Pages are made one after the
 * other. Only GET and HEAD are answered, for permitted clients (httpaccess.h). There are bounds on connections
 * (httpclients.h), on the size of a request, and on the idle time of a connection.
 */
#ifndef MPIT_TOOLS_HTTPSERVER_H
#define MPIT_TOOLS_HTTPSERVER_H

#include "exporter/httpaccess.h"
#include "exporter/httpaddress.h"
#include "exporter/httpclients.h"

#include <stdbool.h>
#include <stddef.h>

struct MHD_Daemon;

/* An answer to a client. The server frees the body. */
struct page {
    unsigned status;
    const char *type; /* Content-Type, constant text */
    char *body;
    size_t bytes;
};

struct http_server {
    /* The owner sets these before it opens the server. `access` has its hosts and token. */
    struct page (*answer)(void *context, const char *path);
    void *context;
    struct http_access access;

    struct MHD_Daemon *daemon;
    struct http_clients clients;
    char address[ADDRESS_TEXT_BYTES]; /* where it listens (httpaddress.h) */
    bool loopback;                    /* true if only this node can reach it */
};

/* where: httpaddress.h. Returns 0, or -1 with a reason. */
int http_open(struct http_server *server, const char *where, char error[512]);
/* Returns a descriptor that is readable when there is work to do. */
int http_descriptor(const struct http_server *server);
/* Returns milliseconds until there is work to do, at most `most`. */
int http_timeout(const struct http_server *server, int most);
void http_run(struct http_server *server);
void http_close(struct http_server *server);

#endif
