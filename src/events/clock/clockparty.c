#include "clock/clockparty.h"

#include "base/array.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum peer_state {
    PEER_NEW,    /* has not introduced itself */
    PEER_JOINED, /* waits for its place */
    PEER_SERVED,
};

struct clock_peer {
    int fd;
    enum peer_state state;
    struct clock_hello hello;
    size_t have;
    unsigned char bytes[CLOCK_MESSAGE_MOST];
};

/* ---- open and close ---------------------------------------------------------------------------------------------- */

/* Some strangers may connect, too. But half of the descriptors are left to the program. */
static size_t peers_most(uint32_t world)
{
    enum { STRANGERS = 16, DESCRIPTORS = 1024 };
    struct rlimit limit = {.rlim_cur = DESCRIPTORS};
    getrlimit(RLIMIT_NOFILE, &limit);
    size_t most = limit.rlim_cur / 2 < 65536 ? (size_t)limit.rlim_cur / 2 : 65536, wanted = (size_t)world + STRANGERS;
    return wanted < most ? wanted : most;
}

bool clock_party_open(struct clock_party *party, const struct clock_member *self)
{
    *party = (struct clock_party){.self = *self, .listener = -1, .root = -1, .most = peers_most(self->world)};
    party->peers = calloc(party->most, sizeof *party->peers);
    party->ready = calloc(party->most + 1, sizeof *party->ready);
    if (party->peers && party->ready)
        party->listener = clock_link_listen(&party->server);
    if (party->listener >= 0)
        return true;
    clock_party_close(party);
    return false;
}

static void link_close(int *link)
{
    if (*link >= 0)
        close(*link);
    *link = -1;
}

void clock_party_close(struct clock_party *party)
{
    for (size_t i = 0; i < party->count; i++)
        link_close(&party->peers[i].fd);
    link_close(&party->listener);
    link_close(&party->root);
    free(party->peers);
    free(party->ready);
    party->peers = NULL;
    party->ready = NULL;
    party->count = party->most = 0;
}

/*
 * ---- peers that connect -------------------------------------------------------------------------------------------
 */

static void peer_drop(struct clock_party *party, struct clock_peer *peer)
{
    party->finished += peer->state == PEER_SERVED;
    link_close(&peer->fd);
}

static void peers_tidy(struct clock_party *party)
{
    size_t kept = 0;
    for (size_t i = 0; i < party->count; i++)
        if (party->peers[i].fd >= 0)
            party->peers[kept++] = party->peers[i];
    party->count = kept;
}

/* Reads the identity of a peer. */
static void hello_take(struct clock_party *party, struct clock_peer *peer)
{
    unsigned char welcome[CLOCK_WELCOME_BYTES];
    const uint64_t *key = party->server.key;
    bool joins = false;
    bool good = clock_hello_unpack(&peer->hello, peer->bytes) && peer->hello.key[0] == key[0] &&
                peer->hello.key[1] == key[1] && peer->hello.rank < party->self.world &&
                peer->hello.rank != party->self.rank;
    if (good) {
        joins = peer->hello.kind == CLOCK_HELLO_JOIN;
        clock_welcome_pack(&party->server, welcome);
        good = joins == party->gathering && clock_link_send(peer->fd, welcome, sizeof welcome);
    }
    if (good)
        peer->state = joins ? PEER_JOINED : PEER_SERVED;
    else
        peer_drop(party, peer);
}

static void ping_answer(struct clock_party *party, struct clock_peer *peer, const struct clock_reference *reference,
                        uint64_t arrived)
{
    unsigned char bytes[CLOCK_PONG_BYTES];
    enum clock_ping ping;
    if (!clock_ping_unpack(&ping, peer->bytes) || ping == CLOCK_PING_ENOUGH) {
        peer_drop(party, peer);
        return;
    }
    struct clock_pong pong = {.arrived_ns = clock_map_ns(reference->map, arrived)};
    pong.error_ns = clock_reference_error(reference, pong.arrived_ns);
    pong.left_ns = clock_map_ns(reference->map, clock_now());
    clock_pong_pack(&pong, bytes);
    if (!clock_link_send(peer->fd, bytes, sizeof bytes))
        peer_drop(party, peer);
}

static void peer_read(struct clock_party *party, struct clock_peer *peer, const struct clock_reference *reference)
{
    size_t wanted = peer->state == PEER_NEW ? CLOCK_HELLO_BYTES : CLOCK_PING_BYTES;
    ssize_t got = recv(peer->fd, peer->bytes + peer->have, wanted - peer->have, MSG_DONTWAIT);
    uint64_t arrived = clock_now();
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (got <= 0) {
        peer_drop(party, peer);
        return;
    }
    peer->have += (size_t)got;
    if (peer->have < wanted)
        return;
    peer->have = 0;
    if (peer->state == PEER_NEW)
        hello_take(party, peer);
    else
        ping_answer(party, peer, reference, arrived);
}

static void peer_accept(struct clock_party *party)
{
    int fd = clock_link_accept(party->listener);
    if (fd >= 0)
        party->peers[party->count++] = (struct clock_peer){.fd = fd};
    else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM || errno == EBADF)
        link_close(&party->listener); /* the other peers are left out */
}

/* Takes what arrived within `ms` milliseconds. Returns false if nothing did. */
static bool peers_step(struct clock_party *party, const struct clock_reference *reference, int ms)
{
    size_t count = party->count;
    bool room = count < party->most;
    party->ready[0] = (struct pollfd){.fd = room ? party->listener : -1, .events = POLLIN};
    for (size_t i = 0; i < count; i++) /* peers that wait for their place send nothing */
        party->ready[i + 1] =
            (struct pollfd){.fd = party->peers[i].fd, .events = party->peers[i].state == PEER_JOINED ? 0 : POLLIN};
    if (poll(party->ready, count + 1, ms) <= 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (party->peers[i].state == PEER_JOINED && party->ready[i + 1].revents)
            peer_drop(party, &party->peers[i]); /* it has closed the connection */
        else if (party->ready[i + 1].revents)
            peer_read(party, &party->peers[i], reference);
    }
    if (party->ready[0].revents)
        peer_accept(party);
    peers_tidy(party);
    return true;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static int member_rank_order(const void *one, const void *other)
{
    const struct clock_peer *a = one, *b = other;
    return ORDER(a->hello.rank, b->hello.rank);
}

/* True if the node has connected twice. */
static bool is_again(const struct clock_party *party, size_t place)
{
    for (size_t i = 0; i < place; i++)
        if (party->peers[i].state == PEER_JOINED && party->peers[i].hello.rank == party->peers[place].hello.rank)
            return true;
    return false;
}

/*
 * True if all processes of the job are on nodes that have connected. Each node counts once if `exact`, which takes
 * longer.
 */
static bool all_have_come(const struct clock_party *party, bool exact)
{
    uint64_t processes = party->self.processes;
    uint32_t nodes = 1;
    bool known = processes != 0;
    for (size_t i = 0; i < party->count; i++) {
        const struct clock_peer *peer = &party->peers[i];
        if (peer->state != PEER_JOINED || (exact && is_again(party, i)))
            continue;
        nodes++;
        processes += peer->hello.processes;
        known = known && peer->hello.processes;
    }
    return (known && processes >= party->self.world) || (party->self.nodes && nodes >= party->self.nodes);
}

/* Finds the first peer of each clock, in order of ranks. `nodes[0]` is this process's. Returns how many. */
static uint32_t nodes_find(const struct clock_party *party, const struct clock_peer **nodes)
{
    uint32_t count = 1;
    for (size_t i = 0; i < party->count; i++) {
        const struct clock_peer *peer = &party->peers[i];
        bool known = peer->state != PEER_JOINED || peer->hello.kernel == party->self.kernel;
        for (uint32_t k = 1; k < count && !known; k++)
            known = nodes[k]->hello.kernel == peer->hello.kernel;
        if (!known)
            nodes[count++] = peer;
    }
    return count;
}

static void place_tell(struct clock_party *party, struct clock_peer *peer, const struct clock_peer **nodes,
                       uint32_t count)
{
    unsigned char bytes[CLOCK_PLACE_BYTES];
    struct clock_place place = {.nodes = count};
    for (uint32_t i = 1; i < count && !place.node; i++)
        place.node = nodes[i]->hello.rank == peer->hello.rank ? i : 0;
    place.shares = !place.node;
    uint32_t parent = clock_tree_parent(place.node);
    if (parent)
        place.parent = nodes[parent]->hello.server;
    clock_place_pack(&place, bytes);
    bool told = clock_link_send(peer->fd, bytes, sizeof bytes);
    if (told && !place.shares) {
        peer->state = PEER_SERVED;
        party->expected++;
    } else {
        peer_drop(party, peer);
    }
}

bool clock_party_gather(struct clock_party *party, struct clock_scale scale, const struct clock_timer *timer)
{
    int ms;
    bool all = false;
    party->scale = scale;
    party->gathering = true;
    while (!(all = all_have_come(party, false) && all_have_come(party, true)) && party->listener >= 0 &&
           (ms = clock_timer_ms(timer)) > 0)
        peers_step(party, NULL, ms);
    party->gathering = false;
    qsort(party->peers, party->count, sizeof *party->peers, member_rank_order);
    const struct clock_peer **nodes = calloc(party->count + 1, sizeof *nodes);
    uint32_t count = nodes ? nodes_find(party, nodes) : 0;
    for (size_t i = 0; i < party->count; i++) {
        if (nodes && party->peers[i].state == PEER_JOINED)
            place_tell(party, &party->peers[i], nodes, count);
        else
            peer_drop(party, &party->peers[i]);
    }
    free(nodes);
    peers_tidy(party);
    party->place = (struct clock_place){.nodes = count};
    return all;
}

/* ---- the other leaders ------------------------------------------------------------------------------------------- */

static int party_connect(struct clock_party *party, const struct clock_server *server, enum clock_hello_kind kind,
                         const struct clock_timer *timer)
{
    unsigned char bytes[CLOCK_HELLO_BYTES];
    struct clock_hello hello = {.key = {server->key[0], server->key[1]},
                                .kind = kind,
                                .rank = party->self.rank,
                                .processes = party->self.processes,
                                .kernel = party->self.kernel,
                                .server = party->server};
    clock_hello_pack(&hello, bytes);
    return clock_link_connect(server, bytes, timer);
}

enum clock_joined clock_party_join(struct clock_party *party, struct clock_scale scale, const struct clock_server *root,
                                   const struct clock_timer *timer)
{
    unsigned char bytes[CLOCK_PLACE_BYTES];
    party->scale = scale;
    party->root = party_connect(party, root, CLOCK_HELLO_JOIN, timer);
    if (party->root < 0)
        return CLOCK_UNREACHABLE;
    if (!clock_link_receive(party->root, bytes, sizeof bytes, timer) || !clock_place_unpack(&party->place, bytes) ||
        (!party->place.shares && !party->place.node))
        return CLOCK_LEFT_OUT;
    if (party->place.shares)
        return CLOCK_SHARES;
    for (unsigned round = 0; round < clock_tree_rounds(party->place.nodes); round++)
        party->expected += clock_tree_child(party->place.node, round, party->place.nodes) != 0;
    return CLOCK_JOINED;
}

/* Echoes go on while the result improves, within these limits. */
enum { ECHOES_WITHOUT_GAIN = 40, ECHOES_MOST = 2000, ECHOES_LEAST = 4 };
#define ECHO_ROOM_NS 10000 /* a longer echo met a busy processor, so a quiet time is waited for */
#define BURST_USUAL_NS UINT64_C(5000000)
#define BURST_MOST_NS UINT64_C(20000000)

static bool echoes_go_on(const struct clock_burst *burst, unsigned gainless, uint64_t begin)
{
    if (burst->count < ECHOES_LEAST)
        return true;
    uint64_t lasts = clock_ns(burst->scale, clock_now() - begin);
    return gainless < ECHOES_WITHOUT_GAIN && lasts < (burst->room < ECHO_ROOM_NS ? BURST_USUAL_NS : BURST_MOST_NS);
}

static bool echo_take(int link, const struct clock_timer *timer, struct clock_echo *echo)
{
    unsigned char ping[CLOCK_PING_BYTES], pong[CLOCK_PONG_BYTES];
    struct clock_pong answer;
    clock_ping_pack(CLOCK_PING, ping);
    echo->sent_ticks = clock_now();
    if (!clock_link_send(link, ping, sizeof ping) || !clock_link_receive(link, pong, sizeof pong, timer))
        return false;
    echo->returned_ticks = clock_now();
    clock_pong_unpack(&answer, pong);
    echo->arrived_ns = answer.arrived_ns;
    echo->left_ns = answer.left_ns;
    echo->error_ns = answer.error_ns;
    return true;
}

static bool burst_take(int link, struct clock_scale scale, const struct clock_timer *timer, struct clock_sync *sync)
{
    struct clock_burst burst;
    struct clock_echo echo;
    unsigned gainless = 0;
    uint64_t begin = clock_now();
    clock_burst_begin(&burst, scale);
    if (!echo_take(link, timer, &echo)) /* on the first the other side may have been asleep */
        return false;
    for (unsigned tries = 0; tries < ECHOES_MOST && echoes_go_on(&burst, gainless, begin) && clock_timer_ns(timer);
         tries++) {
        if (!echo_take(link, timer, &echo))
            break;
        gainless = clock_burst_add(&burst, &echo) ? 0 : gainless + 1;
    }
    return burst.count >= ECHOES_LEAST && clock_burst_result(&burst, sync);
}

static void enough_tell(int link)
{
    unsigned char bytes[CLOCK_PING_BYTES];
    clock_ping_pack(CLOCK_PING_ENOUGH, bytes);
    clock_link_send(link, bytes, sizeof bytes);
}

bool clock_party_measure(struct clock_party *party, const struct clock_timer *timer, struct clock_sync *sync)
{
    bool good = false;
    if (party->place.parent.count) {
        struct clock_timer half = clock_timer_part(timer, 2);
        int parent = party_connect(party, &party->place.parent, CLOCK_HELLO_MEASURE, &half);
        good = parent >= 0 && burst_take(parent, party->scale, &half, sync);
        if (parent >= 0)
            enough_tell(parent);
        link_close(&parent);
    }
    good = good || burst_take(party->root, party->scale, timer, sync);
    enough_tell(party->root);
    link_close(&party->root);
    return good;
}

void clock_party_serve(struct clock_party *party, const struct clock_reference *reference,
                       const struct clock_timer *timer)
{
    enum { LOOKS = 100 };
    int ms;
    for (unsigned idle = 0; party->finished < party->expected && (ms = clock_timer_ms(timer)) > 0;) {
        bool looks = idle < LOOKS; /* an echo is as good as this side is fast */
        if (peers_step(party, reference, looks ? 0 : ms)) {
            idle = 0;
        } else if (looks) {
            idle++;
            sched_yield();
        }
    }
}
