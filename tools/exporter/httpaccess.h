/*
 * The requests that an HTTP server answers: requests to one of its names, and with the token if there is one.
 *
 * A web page of another site can point its own name to this node (DNS rebinding), and would then read the metrics. Its
 * requests have that name in their Host header, so only known names are answered. An address in the header is fine,
 * because no other site has it as its name.
 */
#ifndef MPIT_TOOLS_HTTPACCESS_H
#define MPIT_TOOLS_HTTPACCESS_H

#include "exporter/httpaddress.h"

#include <stddef.h>

enum { TOKEN_BYTES = 512, OWN_NAMES = 3, HOST_BYTES = 256 };

struct http_access {
    char own[OWN_NAMES][HOST_BYTES]; /* the address to listen on, the host's name, the name with its domain */
    const char *const *hosts;        /* others, by option */
    size_t host_count;
    char token[TOKEN_BYTES]; /* "": none */
    bool any_host;           /* a Unix socket, which no browser reaches */
};

/* Finds the names of a server that listens there. */
void http_access_open(struct http_access *access, const char *where, bool loopback);
/* Reads the token: the first line of the file. Returns 0, or -1 with a reason. */
int http_token_read(struct http_access *access, const char *path, char error[512]);

/* Headers of a request, or NULL if it has none. */
bool http_host_is_known(const struct http_access *access, const char *host);
bool http_token_is_right(const struct http_access *access, const char *authorization);

#endif
