#include "exporter/httpserver.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONNECTIONS_MOST = 128, CONNECTION_BYTES = 32 * 1024, SILENCE_SECONDS = 5 };

_Static_assert((int)CONNECTIONS_MOST > (int)CLIENT_MOST, "there is room for those that are being ended");

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static enum MHD_Result page_send(struct MHD_Connection *connection, const struct page *page, const char *name,
                                 const char *value)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(page->bytes, page->body, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(page->body);
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, page->type);
    /* a rare client must not hold one of the few connections */
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    MHD_add_response_header(response, MHD_HTTP_HEADER_X_CONTENT_TYPE_OPTIONS, "nosniff");
    if (name)
        MHD_add_response_header(response, name, value);
    enum MHD_Result result = MHD_queue_response(connection, page->status, response);
    MHD_destroy_response(response);
    return result;
}

/* `name` is a header of the answer, with its value, or NULL for none. */
static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *text, const char *name,
                              const char *value)
{
    struct page page = {status, "text/plain; charset=utf-8", strdup(text), strlen(text)};
    return page.body ? page_send(connection, &page, name, value) : MHD_NO;
}

static const char *request_header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* The library calls this with the head of a request, with each piece of its body, and at the end of the body. */
static enum MHD_Result request_answer(void *context, struct MHD_Connection *connection, const char *path,
                                      const char *method, const char *version, const char *upload, size_t *upload_bytes,
                                      void **state)
{
    struct http_server *server = context;
    (void)version;
    (void)upload;
    if (!http_host_is_known(&server->access, request_header(connection, MHD_HTTP_HEADER_HOST)))
        return refuse(connection, 403, "this host name is not allowed; mpit-exporter --host allows it\n", NULL, NULL);
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return refuse(connection, 405, "only GET and HEAD are allowed\n", MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    if (!http_token_is_right(&server->access, request_header(connection, MHD_HTTP_HEADER_AUTHORIZATION)))
        return refuse(connection, 401, "a token is required\n", MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    if (!*state) {
        *state = server;
        return MHD_YES;
    }
    if (*upload_bytes) { /* the body is not used */
        *upload_bytes = 0;
        return MHD_YES;
    }
    struct page page = server->answer(server->context, path);
    return page.body ? page_send(connection, &page, NULL, NULL) : MHD_NO;
}

static void connection_note(void *context, struct MHD_Connection *connection, void **client,
                            enum MHD_ConnectionNotificationCode code)
{
    struct http_server *server = context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        http_client_remove(&server->clients, *client);
        return;
    }
    const union MHD_ConnectionInfo *socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const union MHD_ConnectionInfo *peer = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (socket)
        *client = http_client_add(&server->clients, socket->connect_fd, peer ? peer->client_addr : NULL);
}

/* ---- the server -------------------------------------------------------------------------------------------------- */

int http_open(struct http_server *server, const char *where, char error[512])
{
    int socket = http_address_listen(where, error);
    if (socket < 0)
        return -1;
    server->loopback = http_address_tell(socket, server->address);
    http_access_open(&server->access, where, server->loopback);
    server->daemon =
        MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, request_answer, server, MHD_OPTION_LISTEN_SOCKET, socket,
                         MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MOST, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                         (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_SECONDS,
                         MHD_OPTION_NOTIFY_CONNECTION, connection_note, server, MHD_OPTION_END);
    if (server->daemon)
        return 0;
    snprintf(error, 512, "cannot serve on %s: libmicrohttpd cannot start", server->address);
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
    most = http_clients_timeout(&server->clients, most);
    return MHD_get_timeout(server->daemon, &left) == MHD_YES && left < (unsigned)most ? (int)left : most;
}

void http_run(struct http_server *server)
{
    http_clients_age(&server->clients);
    MHD_run(server->daemon);
}

void http_close(struct http_server *server)
{
    const char *path = http_address_path(server->address);
    if (path)
        unlink(path);
    MHD_stop_daemon(server->daemon);
}
