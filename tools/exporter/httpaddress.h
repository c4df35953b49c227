/*
 * The place where an HTTP server listens: an address and a port, or a Unix socket.
 */
#ifndef MPIT_TOOLS_HTTPADDRESS_H
#define MPIT_TOOLS_HTTPADDRESS_H

#include <stdbool.h>

enum { ADDRESS_TEXT_BYTES = 128 };

/* Splits HOST:PORT, [HOST]:PORT or PORT (of 127.0.0.1). Returns false if it has another form. */
bool http_address_split(const char *where, char host[ADDRESS_TEXT_BYTES], char port[8]);
/* Returns the path of a Unix socket, unix:PATH, or NULL if it has another form. */
const char *http_address_path(const char *where);

/* Opens a socket that listens there. Port 0 chooses a free port. Returns the socket, or -1 with a reason. Replaces a
 * Unix socket that a server left behind. Its mode, which the umask sets, decides who may connect. */
int http_address_listen(const char *where, char error[512]);
/* Writes the address of the socket as HOST:PORT, [HOST]:PORT or unix:PATH. Returns true if only this node can reach
 * it. */
bool http_address_tell(int socket, char address[ADDRESS_TEXT_BYTES]);

#endif
