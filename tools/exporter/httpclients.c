#include "exporter/httpclients.h"

#include "base/systemclock.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static struct http_peer peer_of(int socket, const struct sockaddr *address)
{
    struct http_peer peer = {.family = address ? address->sa_family : AF_UNSPEC};
    struct ucred user;
    socklen_t bytes = sizeof user;
    if (peer.family == AF_INET)
        memcpy(peer.address, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    else if (peer.family == AF_INET6)
        memcpy(peer.address, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    else if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &user, &bytes) == 0)
        memcpy(peer.address, &user.uid, sizeof user.uid);
    return peer;
}

/* The server reads an end of file, and closes the connection. */
static void client_end(struct http_client *client)
{
    if (!client->ended)
        shutdown(client->socket, SHUT_RDWR);
    client->ended = true;
}

static bool is_of(const struct http_client *client, const struct http_peer *peer)
{
    return !peer || (client->peer.family == peer->family &&
                     memcmp(client->peer.address, peer->address, sizeof peer->address) == 0);
}

/* Ends the oldest connections of the peer (NULL: of all) beyond `most`. */
static void oldest_end(struct http_clients *clients, const struct http_peer *peer, size_t most)
{
    size_t count = 0;
    for (struct http_client *client = clients->first; client; client = client->next)
        count += !client->ended && is_of(client, peer);
    for (struct http_client *client = clients->first; client && count > most; client = client->next)
        if (!client->ended && is_of(client, peer)) {
            client_end(client);
            count--;
        }
}

struct http_client *http_client_add(struct http_clients *clients, int socket, const struct sockaddr *address)
{
    struct http_client *client = calloc(1, sizeof *client), **place = &clients->first;
    if (!client)
        return NULL;
    *client = (struct http_client){.socket = socket, .begin_ns = monotonic_ns(), .peer = peer_of(socket, address)};
    while (*place)
        place = &(*place)->next;
    *place = client;
    oldest_end(clients, &client->peer, CLIENT_PEER_MOST);
    oldest_end(clients, NULL, CLIENT_MOST);
    return client;
}

void http_client_remove(struct http_clients *clients, struct http_client *client)
{
    struct http_client **place = &clients->first;
    while (*place && *place != client)
        place = &(*place)->next;
    if (*place)
        *place = client->next;
    free(client);
}

static uint64_t age_ns(const struct http_client *client)
{
    return monotonic_ns() - client->begin_ns;
}

void http_clients_age(struct http_clients *clients)
{
    for (struct http_client *client = clients->first; client; client = client->next)
        if (age_ns(client) >= CLIENT_SECONDS * UINT64_C(1000000000))
            client_end(client);
}

int http_clients_timeout(const struct http_clients *clients, int most)
{
    const struct http_client *client = clients->first;
    while (client && client->ended)
        client = client->next;
    if (!client)
        return most;
    uint64_t end = CLIENT_SECONDS * UINT64_C(1000), age = age_ns(client) / 1000000u;
    uint64_t left = age < end ? end - age : 0;
    return left < (uint64_t)most ? (int)left : most;
}
