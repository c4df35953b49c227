#define _GNU_SOURCE
#include "httpserver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONNECTIONS_MOST = 64, CONNECTION_BYTES = 32 * 1024, SILENCE_SECONDS = 5, BACKLOG = 64 };

/* ---- addresses
 * -------------------------------------------------------------------------------------------------------
 */

static bool port_is_sound(const char *port)
{
    size_t digits = strspn(port, "0123456789");
    return digits > 0 && digits <= 5 && !port[digits] && atoi(port) <= 65535;
}

bool http_address_split(const char *where, char host[ADDRESS_TEXT_BYTES], char port[8])
{
    const char *begin = where, *end = strrchr(where, ':'), *at = end ? end + 1 : where;
    if (!port_is_sound(at))
        return false;
    snprintf(port, 8, "%s", at);
    if (!end) {
        strcpy(host, "127.0.0.1");
        return true;
    }
    if (*begin == '[' && end > begin + 1 && end[-1] == ']')
        begin++, end--;
    else if (memchr(begin, ':', (size_t)(end - begin))) /* of IPv6, and in no brackets */
        return false;
    if (end == begin || end - begin >= ADDRESS_TEXT_BYTES || strcspn(begin, "[]/ ") < (size_t)(end - begin))
        return false;
    snprintf(host, ADDRESS_TEXT_BYTES, "%.*s", (int)(end - begin), begin);
    return true;
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
    return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
}

/* What it is bound to in the end. */
static void address_tell(struct http_server *server, int socket)
{
    struct sockaddr_storage name;
    socklen_t length = sizeof name;
    char host[INET6_ADDRSTRLEN] = "?", port[8] = "0";
    if (getsockname(socket, (struct sockaddr *)&name, &length) != 0)
        return;
    getnameinfo((const struct sockaddr *)&name, length, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    bool six = name.ss_family == AF_INET6;
    snprintf(server->address, sizeof server->address, "%s%s%s:%s", six ? "[" : "", host, six ? "]" : "", port);
    server->loopback = is_loopback((const struct sockaddr *)&name);
}

static int socket_bound(const struct addrinfo *address)
{
    int one = 1, made = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0)
        return -1;
    if (address->ai_family == AF_INET6)
        setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one); /* connections of the one before may be closing */
    if (bind(made, address->ai_addr, address->ai_addrlen) == 0 && listen(made, BACKLOG) == 0)
        return made;
    int reason = errno;
    close(made);
    errno = reason;
    return -1;
}

static int socket_open(const char *where, char error[512])
{
    char host[ADDRESS_TEXT_BYTES], port[8];
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *list;
    if (!http_address_split(where, host, port)) {
        snprintf(error, 512, "'%.200s' is no address: HOST:PORT, [HOST]:PORT of IPv6, or PORT", where);
        return -1;
    }
    int result = getaddrinfo(host, port, &hints, &list);
    if (result != 0) {
        snprintf(error, 512, "there is no address '%s': %s", host, gai_strerror(result));
        return -1;
    }
    int made = -1;
    for (const struct addrinfo *at = list; at && made < 0; at = at->ai_next)
        made = socket_bound(at);
    if (made < 0)
        snprintf(error, 512, "cannot listen on %.200s: %s%s", where, strerror(errno),
                 errno == EADDRINUSE ? " (another exporter? --listen names another port, 0 takes a free one)" : "");
    freeaddrinfo(list);
    return made;
}

/* ---- requests
 * --------------------------------------------------------------------------------------------------------
 */

static enum MHD_Result page_send(struct MHD_Connection *connection, const struct page *page, const char *allow)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(page->bytes, page->body, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(page->body);
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, page->type);
    /* who asks once in a while holds no connection meanwhile, of which there are few */
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    MHD_add_response_header(response, MHD_HTTP_HEADER_X_CONTENT_TYPE_OPTIONS, "nosniff");
    if (allow)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allow);
    enum MHD_Result result = MHD_queue_response(connection, page->status, response);
    MHD_destroy_response(response);
    return result;
}

/* It is called with the head of a request, with each piece of its body, and when there is no more. */
static enum MHD_Result request_answer(void *context, struct MHD_Connection *connection, const char *path,
                                      const char *method, const char *version, const char *upload, size_t *upload_bytes,
                                      void **state)
{
    static const char refused[] = "only GET and HEAD are answered here\n";
    struct http_server *server = context;
    struct page page = {405, "text/plain; charset=utf-8", NULL, sizeof refused - 1};
    (void)version;
    (void)upload;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        page.body = strdup(refused);
        return page.body ? page_send(connection, &page, "GET, HEAD") : MHD_NO;
    }
    if (!*state) {
        *state = server;
        return MHD_YES;
    }
    if (*upload_bytes) { /* nobody wants it */
        *upload_bytes = 0;
        return MHD_YES;
    }
    page = server->answer(server->context, path,
                          MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT));
    return page.body ? page_send(connection, &page, NULL) : MHD_NO;
}

/* ---- the server
 * ------------------------------------------------------------------------------------------------------
 */

int http_open(struct http_server *server, const char *where,
              struct page (*answer)(void *context, const char *path, const char *accept), void *context,
              char error[512])
{
    *server = (struct http_server){.answer = answer, .context = context};
    int socket = socket_open(where, error);
    if (socket < 0)
        return -1;
    address_tell(server, socket);
    server->daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, request_answer, server, MHD_OPTION_LISTEN_SOCKET,
                                      socket, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MOST,
                                      MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
                                      MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_SECONDS, MHD_OPTION_END);
    if (server->daemon)
        return 0;
    snprintf(error, 512, "cannot serve on %s: libmicrohttpd does not start", server->address);
    close(socket);
    return -1;
}

int http_descriptor(const struct http_server *server)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}

int http_timeout(const struct http_server *server, int most)
{
    MHD_UNSIGNED_LONG_LONG left;
    return MHD_get_timeout(server->daemon, &left) == MHD_YES && left < (unsigned)most ? (int)left : most;
}

void http_run(struct http_server *server)
{
    MHD_run(server->daemon);
}

void http_close(struct http_server *server)
{
    MHD_stop_daemon(server->daemon);
}
