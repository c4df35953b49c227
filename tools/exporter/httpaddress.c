#include "exporter/httpaddress.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 64 };

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
    else if (memchr(begin, ':', (size_t)(end - begin))) /* of IPv6, and without brackets */
        return false;
    if (end == begin || end - begin >= ADDRESS_TEXT_BYTES || strcspn(begin, "[]/ ") < (size_t)(end - begin))
        return false;
    snprintf(host, ADDRESS_TEXT_BYTES, "%.*s", (int)(end - begin), begin);
    return true;
}

const char *http_address_path(const char *where)
{
    static const char scheme[] = "unix:";
    bool is = strncmp(where, scheme, sizeof scheme - 1) == 0 && where[sizeof scheme - 1];
    return is ? where + sizeof scheme - 1 : NULL;
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
    return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
}

static int socket_bound(const struct addrinfo *address)
{
    int one = 1, made = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0)
        return -1;
    if (address->ai_family == AF_INET6)
        setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one); /* connections of the former server may be closing */
    if (bind(made, address->ai_addr, address->ai_addrlen) == 0 && listen(made, BACKLOG) == 0)
        return made;
    int reason = errno;
    close(made);
    errno = reason;
    return -1;
}

/* Removes a socket file of that name if no server listens to it any more. */
static void leftover_remove(const struct sockaddr_un *address)
{
    struct stat st;
    if (lstat(address->sun_path, &st) != 0 || !S_ISSOCK(st.st_mode))
        return;
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe >= 0 && connect(probe, (const struct sockaddr *)address, sizeof *address) != 0 && errno == ECONNREFUSED)
        unlink(address->sun_path);
    if (probe >= 0)
        close(probe);
}

static int unix_listen(const char *path, char error[512])
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (snprintf(name.sun_path, sizeof name.sun_path, "%s", path) >= (int)sizeof name.sun_path) {
        snprintf(error, 512, "cannot listen on %.200s: the path is longer than %zu bytes", path,
                 sizeof name.sun_path - 1);
        return -1;
    }
    leftover_remove(&name);
    const struct addrinfo address = {
        .ai_family = AF_UNIX, .ai_addr = (struct sockaddr *)&name, .ai_addrlen = sizeof name};
    int made = socket_bound(&address);
    if (made < 0)
        snprintf(error, 512, "cannot listen on %.200s: %s", path, strerror(errno));
    return made;
}

int http_address_listen(const char *where, char error[512])
{
    char host[ADDRESS_TEXT_BYTES], port[8];
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *list;
    if (http_address_path(where))
        return unix_listen(http_address_path(where), error);
    if (!http_address_split(where, host, port)) {
        snprintf(error, 512, "'%.200s' is not an address; allowed are HOST:PORT, [HOST]:PORT of IPv6, and PORT", where);
        return -1;
    }
    int result = getaddrinfo(host, port, &hints, &list);
    if (result != 0) {
        snprintf(error, 512, "the address '%s' cannot be resolved: %s", host, gai_strerror(result));
        return -1;
    }
    int made = -1;
    for (const struct addrinfo *at = list; at && made < 0; at = at->ai_next)
        made = socket_bound(at);
    if (made < 0)
        snprintf(error, 512, "cannot listen on %.200s: %s%s", where, strerror(errno),
                 errno == EADDRINUSE
                     ? " (perhaps another exporter uses it; --listen sets another port, port 0 selects a free one)"
                     : "");
    freeaddrinfo(list);
    return made;
}

bool http_address_tell(int socket, char address[ADDRESS_TEXT_BYTES])
{
    struct sockaddr_storage name = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof name;
    char host[INET6_ADDRSTRLEN] = "?", port[8] = "0";
    if (getsockname(socket, (struct sockaddr *)&name, &length) != 0)
        return false;
    if (name.ss_family == AF_UNIX) {
        snprintf(address, ADDRESS_TEXT_BYTES, "unix:%.107s",
                 ((const struct sockaddr_un *)(const void *)&name)->sun_path);
        return true;
    }
    getnameinfo((const struct sockaddr *)&name, length, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    bool six = name.ss_family == AF_INET6;
    snprintf(address, ADDRESS_TEXT_BYTES, "%s%s%s:%s", six ? "[" : "", host, six ? "]" : "", port);
    return is_loopback((const struct sockaddr *)&name);
}
