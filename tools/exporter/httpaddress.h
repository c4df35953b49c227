/*
 * Where an HTTP server listens: an address and a port, or a Unix socket.
 */
#ifndef MPIT_TOOLS_HTTPADDRESS_H
#define MPIT_TOOLS_HTTPADDRESS_H

#include <stdbool.h>

enum { ADDRESS_TEXT_BYTES = 128 };

/* Takes HOST:PORT, [HOST]:PORT or PORT (of 127.0.0.1) apart; false: it is no such thing. */
bool http_address_split(const char *where, char host[ADDRESS_TEXT_BYTES], char port[8]);
/* The path of a Unix socket, unix:PATH; NULL: it is none. */
const char *http_address_path(const char *where);

/* Opens a socket that listens there; port 0: one that is free. Returns it, or -1 with a reason. A Unix socket that a
 * server left behind is replaced. Who may connect to it, its mode says, which the umask makes. */
int http_address_listen(const char *where, char error[512]);
/* What the socket is bound to in the end, as HOST:PORT, [HOST]:PORT or unix:PATH. True: only this node can reach it. */
bool http_address_tell(int socket, char address[ADDRESS_TEXT_BYTES]);

#endif
