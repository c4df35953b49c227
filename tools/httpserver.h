/*
 * A small HTTP server, in the thread of its owner: pages that are made when they are asked for.
 *
 * libmicrohttpd reads requests and writes answers, of several connections at a time; pages are made one after the
 * other. Only GET and HEAD are answered. There are bounds on connections, on the size of a request and on how long a
 * connection may say nothing.
 */
#ifndef MPIT_TOOLS_HTTPSERVER_H
#define MPIT_TOOLS_HTTPSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct MHD_Daemon;

enum { ADDRESS_TEXT_BYTES = 128 };

/* What goes to a client. body: freed by the server. */
struct page {
    unsigned status;
    const char *type; /* Content-Type; constant text */
    char *body;
    size_t bytes;
};

struct http_server {
    struct MHD_Daemon *daemon;
    struct page (*answer)(void *context, const char *path, const char *accept);
    void *context;
    char address[ADDRESS_TEXT_BYTES]; /* where it listens, as HOST:PORT or [HOST]:PORT */
    bool loopback;                    /* so that only this node can reach it */
};

/* where: HOST:PORT, [HOST]:PORT or PORT (of 127.0.0.1); port 0: one that is free. Returns 0, or -1 with a reason. */
int http_open(struct http_server *server, const char *where,
              struct page (*answer)(void *context, const char *path, const char *accept), void *context,
              char error[512]);
/* Readable when there is something to do. */
int http_descriptor(const struct http_server *server);
/* Milliseconds until there is something to do, at most `most`. */
int http_timeout(const struct http_server *server, int most);
void http_run(struct http_server *server);
void http_close(struct http_server *server);

/* Takes apart what http_open is given; false: it is no such thing. */
bool http_address_split(const char *where, char host[ADDRESS_TEXT_BYTES], char port[8]);

#endif
