#include "clock/clockwire.h"

#include <endian.h>
#include <string.h>

#define MAGIC UINT64_C(0x316b6c637469706d) /* "mpitclk1", with its version */

static unsigned char *word_put(unsigned char *at, uint64_t word)
{
    word = htole64(word);
    memcpy(at, &word, sizeof word);
    return at + sizeof word;
}

static const unsigned char *word_get(const unsigned char *at, uint64_t *word)
{
    memcpy(word, at, sizeof *word);
    *word = le64toh(*word);
    return at + sizeof *word;
}

static unsigned char *server_put(unsigned char *at, const struct clock_server *server)
{
    const uint64_t words[] = {server->key[0],    server->key[1], server->answer[0],
                              server->answer[1], server->port,   server->count};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        at = word_put(at, words[i]);
    memcpy(at, server->addresses, sizeof server->addresses);
    return at + sizeof server->addresses;
}

static bool server_get(const unsigned char *at, struct clock_server *server)
{
    uint64_t port, count;
    at = word_get(at, &server->key[0]);
    at = word_get(at, &server->key[1]);
    at = word_get(at, &server->answer[0]);
    at = word_get(at, &server->answer[1]);
    at = word_get(at, &port);
    at = word_get(at, &count);
    if (count > CLOCK_ADDRESSES_MOST || port > UINT16_MAX || (count && !port))
        return false;
    server->port = (uint32_t)port;
    server->count = (uint32_t)count;
    memcpy(server->addresses, at, sizeof server->addresses);
    return true;
}

void clock_file_pack(const struct clock_server *server, unsigned char *bytes)
{
    server_put(word_put(bytes, MAGIC), server);
}

bool clock_file_unpack(struct clock_server *server, const unsigned char *bytes)
{
    uint64_t magic;
    bytes = word_get(bytes, &magic);
    return magic == MAGIC && server_get(bytes, server) && server->count;
}

void clock_hello_pack(const struct clock_hello *hello, unsigned char *bytes)
{
    const uint64_t words[] = {MAGIC,       hello->key[0],    hello->key[1], hello->kind,
                              hello->rank, hello->processes, hello->kernel};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        bytes = word_put(bytes, words[i]);
    server_put(bytes, &hello->server);
}

bool clock_hello_unpack(struct clock_hello *hello, const unsigned char *bytes)
{
    uint64_t magic, kind, rank, processes;
    bytes = word_get(bytes, &magic);
    bytes = word_get(bytes, &hello->key[0]);
    bytes = word_get(bytes, &hello->key[1]);
    bytes = word_get(bytes, &kind);
    bytes = word_get(bytes, &rank);
    bytes = word_get(bytes, &processes);
    bytes = word_get(bytes, &hello->kernel);
    if (magic != MAGIC || (kind != CLOCK_HELLO_JOIN && kind != CLOCK_HELLO_MEASURE) || rank > INT32_MAX ||
        processes > INT32_MAX || !server_get(bytes, &hello->server))
        return false;
    hello->kind = (enum clock_hello_kind)kind;
    hello->rank = (uint32_t)rank;
    hello->processes = (uint32_t)processes;
    return true;
}

void clock_welcome_pack(const struct clock_server *server, unsigned char *bytes)
{
    word_put(word_put(bytes, server->answer[0]), server->answer[1]);
}

bool clock_welcome_check(const struct clock_server *server, const unsigned char *bytes)
{
    uint64_t one, other;
    word_get(word_get(bytes, &one), &other);
    return one == server->answer[0] && other == server->answer[1];
}

void clock_place_pack(const struct clock_place *place, unsigned char *bytes)
{
    bytes = word_put(bytes, place->shares);
    bytes = word_put(bytes, place->node);
    bytes = word_put(bytes, place->nodes);
    server_put(bytes, &place->parent);
}

bool clock_place_unpack(struct clock_place *place, const unsigned char *bytes)
{
    uint64_t shares, node, nodes;
    bytes = word_get(bytes, &shares);
    bytes = word_get(bytes, &node);
    bytes = word_get(bytes, &nodes);
    if (shares > 1 || nodes > INT32_MAX || node >= nodes || !server_get(bytes, &place->parent))
        return false;
    place->shares = shares;
    place->node = (uint32_t)node;
    place->nodes = (uint32_t)nodes;
    return true;
}

void clock_ping_pack(enum clock_ping ping, unsigned char *bytes)
{
    word_put(bytes, ping);
}

bool clock_ping_unpack(enum clock_ping *ping, const unsigned char *bytes)
{
    uint64_t word;
    word_get(bytes, &word);
    *ping = (enum clock_ping)word;
    return word == CLOCK_PING || word == CLOCK_PING_ENOUGH;
}

void clock_pong_pack(const struct clock_pong *pong, unsigned char *bytes)
{
    word_put(word_put(word_put(bytes, pong->arrived_ns), pong->left_ns), pong->error_ns);
}

void clock_pong_unpack(struct clock_pong *pong, const unsigned char *bytes)
{
    word_get(word_get(word_get(bytes, &pong->arrived_ns), &pong->left_ns), &pong->error_ns);
}
