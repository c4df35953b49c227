#include "clock/clocklink.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- to be found ------------------------------------------------------------------------------------------------- */

/* One socket for IPv6 and IPv4. Only IPv4 if the host has no IPv6. */
static int socket_bind(bool both)
{
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any};
    struct sockaddr_in any4 = {.sin_family = AF_INET};
    int fd = socket(both ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    bool bound = both ? setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int)) == 0 &&
                            bind(fd, (struct sockaddr *)&any6, sizeof any6) == 0
                      : bind(fd, (struct sockaddr *)&any4, sizeof any4) == 0;
    if (bound && listen(fd, SOMAXCONN) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Returns false for an address that other hosts cannot use. */
static bool address_take(const struct ifaddrs *interface, int family, bool loopback, unsigned char *address)
{
    if (!interface->ifa_addr || interface->ifa_addr->sa_family != family || !(interface->ifa_flags & IFF_UP) ||
        !(interface->ifa_flags & IFF_LOOPBACK) != !loopback)
        return false;
    if (family == AF_INET) {
        const struct sockaddr_in *four = (const void *)interface->ifa_addr;
        memset(address, 0, 10);
        memset(address + 10, 0xff, 2);
        memcpy(address + 12, &four->sin_addr, 4);
        return true;
    }
    const struct sockaddr_in6 *six = (const void *)interface->ifa_addr;
    memcpy(address, &six->sin6_addr, CLOCK_ADDRESS_BYTES);
    return !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
}

static void addresses_find(struct clock_server *server, bool both)
{
    const struct {
        int family;
        bool loopback;
    } kinds[] = {{AF_INET, false}, {AF_INET6, false}, {AF_INET, true}, {AF_INET6, true}};
    struct ifaddrs *interfaces = NULL;
    if (getifaddrs(&interfaces) != 0)
        return;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if ((kinds[k].loopback && server->count) || (kinds[k].family == AF_INET6 && !both))
            continue;
        for (const struct ifaddrs *i = interfaces; i && server->count < CLOCK_ADDRESSES_MOST; i = i->ifa_next)
            server->count += address_take(i, kinds[k].family, kinds[k].loopback, server->addresses[server->count]);
    }
    freeifaddrs(interfaces);
}

static bool keys_draw(struct clock_server *server)
{
    uint64_t words[4];
    if (getrandom(words, sizeof words, GRND_NONBLOCK) != sizeof words)
        return false;
    memcpy(server->key, words, sizeof server->key);
    memcpy(server->answer, words + 2, sizeof server->answer);
    return true;
}

int clock_link_listen(struct clock_server *server)
{
    *server = (struct clock_server){0};
    bool both = true;
    int fd = socket_bind(both);
    if (fd < 0)
        fd = socket_bind(both = false);
    if (fd < 0)
        return -1;
    struct sockaddr_storage name;
    socklen_t bytes = sizeof name;
    if (getsockname(fd, (struct sockaddr *)&name, &bytes) == 0)
        server->port =
            ntohs(both ? ((struct sockaddr_in6 *)&name)->sin6_port : ((struct sockaddr_in *)&name)->sin_port);
    addresses_find(server, both);
    if (server->port && server->count && keys_draw(server))
        return fd;
    close(fd);
    return -1;
}

int clock_link_accept(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return fd;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

bool clock_link_send(int link, const unsigned char *bytes, size_t size)
{
    ssize_t sent; /* messages are small: one fits whole, or the other side does not read */
    do
        sent = send(link, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)size;
}

static bool is_not_yet(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

/* Polls for a short time first, since waking up takes longer than most answers. */
bool clock_link_receive(int link, unsigned char *bytes, size_t size, const struct clock_timer *timer)
{
    enum { LOOKS = 50, YIELDS = 100 };
    size_t have = 0;
    for (unsigned looks = 0; have < size; looks++) {
        ssize_t got = recv(link, bytes + have, size - have, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && !is_not_yet(errno)))
            return false;
        have += got > 0 ? (size_t)got : 0;
        if (got > 0 || looks < LOOKS)
            continue;
        if (looks < YIELDS) {
            sched_yield();
            continue;
        }
        int ms = clock_timer_ms(timer);
        struct pollfd ready = {.fd = link, .events = POLLIN};
        if (!ms || (poll(&ready, 1, ms) < 0 && errno != EINTR))
            return false;
    }
    return true;
}

/* ---- to connect -------------------------------------------------------------------------------------------------- */

struct attempt {
    int fd; /* -1: none, or closed */
    bool greeted;
    size_t have;
    unsigned char answer[CLOCK_WELCOME_BYTES];
};

static int attempt_begin(const struct clock_server *server, const unsigned char *address)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)server->port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)server->port)};
    memcpy(&six.sin6_addr, address, CLOCK_ADDRESS_BYTES);
    memcpy(&four.sin_addr, address + 12, 4);
    bool is_four = IN6_IS_ADDR_V4MAPPED(&six.sin6_addr);
    int fd = socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    int result =
        is_four ? connect(fd, (struct sockaddr *)&four, sizeof four) : connect(fd, (struct sockaddr *)&six, sizeof six);
    if (result == 0 || errno == EINPROGRESS || errno == EINTR)
        return fd;
    close(fd);
    return -1;
}

static void attempt_end(struct attempt *attempt)
{
    if (attempt->fd >= 0)
        close(attempt->fd);
    attempt->fd = -1;
}

/* Handles an event of the connection. Returns true if it has reached the server. */
static bool attempt_go_on(struct attempt *attempt, const struct clock_server *server, const unsigned char *hello)
{
    if (!attempt->greeted) {
        int error = 0;
        socklen_t bytes = sizeof error;
        attempt->greeted = getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 && error == 0 &&
                           clock_link_send(attempt->fd, hello, CLOCK_HELLO_BYTES);
        if (!attempt->greeted)
            attempt_end(attempt);
        return false;
    }
    ssize_t got =
        recv(attempt->fd, attempt->answer + attempt->have, sizeof attempt->answer - attempt->have, MSG_DONTWAIT);
    if (got < 0 && is_not_yet(errno))
        return false;
    attempt->have += got > 0 ? (size_t)got : 0;
    if (got > 0 && attempt->have < sizeof attempt->answer)
        return false;
    if (got > 0 && clock_welcome_check(server, attempt->answer))
        return true;
    attempt_end(attempt);
    return false;
}

/* Waits for one of the attempts. Returns the place of the attempt that has reached the server, or -1. */
static int attempts_wait(struct attempt *attempts, size_t begun, const struct clock_server *server,
                         const unsigned char *hello, int ms)
{
    struct pollfd ready[CLOCK_ADDRESSES_MOST];
    for (size_t i = 0; i < begun; i++)
        ready[i] = (struct pollfd){.fd = attempts[i].fd, .events = attempts[i].greeted ? POLLIN : POLLOUT};
    int found = poll(ready, begun, ms);
    for (size_t i = 0; found > 0 && i < begun; i++)
        if (ready[i].revents && attempt_go_on(&attempts[i], server, hello))
            return (int)i;
    return -1;
}

static bool some_are_open(const struct attempt *attempts, size_t begun)
{
    for (size_t i = 0; i < begun; i++)
        if (attempts[i].fd >= 0)
            return true;
    return false;
}

/* Tries the addresses one after the other, each some time after the one before, as some networks never answer. */
int clock_link_connect(const struct clock_server *server, const unsigned char *hello, const struct clock_timer *timer)
{
    enum { NEXT_AFTER_NS = 3000000 };
    struct attempt attempts[CLOCK_ADDRESSES_MOST];
    struct clock_timer patience = {.scale = timer->scale};
    size_t begun = 0;
    int winner = -1, ms;
    while (winner < 0 && (ms = clock_timer_ms(timer)) > 0) {
        bool more = begun < server->count;
        if (more && (!some_are_open(attempts, begun) || !clock_timer_ns(&patience))) {
            attempts[begun] = (struct attempt){.fd = attempt_begin(server, server->addresses[begun])};
            begun++;
            patience = clock_timer_start(timer->scale, NEXT_AFTER_NS);
            continue;
        }
        if (!some_are_open(attempts, begun))
            break;
        int wait = more ? clock_timer_ms(&patience) : ms;
        winner = attempts_wait(attempts, begun, server, hello, wait < ms ? wait : ms);
    }
    int fd = winner >= 0 ? attempts[winner].fd : -1;
    for (size_t i = 0; i < begun; i++)
        if ((int)i != winner)
            attempt_end(&attempts[i]);
    return fd;
}
