/* Leaders of nodes that measure their clocks over TCP: what they write to each other, strangers, and the bounds. */
#include "unittest.h"

#include "clock/clockparty.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static struct clock_scale scale;
static struct clock_map map;

FIXTURE(clock_start)
{
    clock_open();
    scale = clock_calibrate();
    struct clock_pair now = clock_pair_read();
    clock_map_open(&map, scale, now.ticks, now.realtime_ns);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static struct clock_server server_of(unsigned seed)
{
    struct clock_server server = {{seed, 2}, {3, seed}, 40000, 2, {{1}, {2}}};
    return server;
}

TESTS_ALL(clock_start, NULL)

TEST(what_is_written_is_read)
{
    unsigned char bytes[CLOCK_MESSAGE_MOST];
    struct clock_server server = server_of(7), read;
    clock_file_pack(&server, bytes);
    assert_true(clock_file_unpack(&read, bytes));
    assert_memory_equal(&read, &server, sizeof server);
    struct clock_hello hello = {{5, 6}, CLOCK_HELLO_MEASURE, 9, 4, UINT64_MAX, server_of(8)}, hello_read = {0};
    clock_hello_pack(&hello, bytes);
    assert_true(clock_hello_unpack(&hello_read, bytes));
    assert_int_equal(hello_read.key[1], 6);
    assert_true(hello_read.kind == CLOCK_HELLO_MEASURE && hello_read.rank == 9 && hello_read.processes == 4 &&
                hello_read.kernel == UINT64_MAX);
    struct clock_place place = {.node = 3, .nodes = 5, .parent = server_of(9)}, place_read = {0};
    clock_place_pack(&place, bytes);
    assert_true(clock_place_unpack(&place_read, bytes));
    assert_true(place_read.node == 3 && place_read.nodes == 5 && !place_read.shares && place_read.parent.count == 2);
    clock_welcome_pack(&server, bytes);
    assert_true(clock_welcome_check(&server, bytes));
    bytes[15] ^= 1;
    assert_false(clock_welcome_check(&server, bytes));
}

TEST(what_is_out_of_range_is_refused)
{
    unsigned char bytes[CLOCK_MESSAGE_MOST];
    struct clock_server server = server_of(1), read;
    server.count = CLOCK_ADDRESSES_MOST + 1;
    clock_file_pack(&server, bytes);
    assert_false(clock_file_unpack(&read, bytes));
    server.count = 0; /* a file without an address leads nowhere */
    clock_file_pack(&server, bytes);
    assert_false(clock_file_unpack(&read, bytes));
    server = server_of(1);
    server.port = 65536;
    clock_file_pack(&server, bytes);
    assert_false(clock_file_unpack(&read, bytes));
    struct clock_place place = {.node = 5, .nodes = 5}, place_read;
    clock_place_pack(&place, bytes);
    assert_false(clock_place_unpack(&place_read, bytes));
    struct clock_hello hello = {.kind = CLOCK_HELLO_JOIN, .rank = UINT32_MAX}, hello_read;
    clock_hello_pack(&hello, bytes);
    assert_false(clock_hello_unpack(&hello_read, bytes));
    hello.rank = 1;
    hello.kind = 3;
    clock_hello_pack(&hello, bytes);
    assert_false(clock_hello_unpack(&hello_read, bytes));
}

TEST(flipped_bits_stay_within_bounds)
{
    unsigned char good[CLOCK_MESSAGE_MOST], bytes[CLOCK_MESSAGE_MOST];
    struct clock_hello hello = {{5, 6}, CLOCK_HELLO_JOIN, 9, 4, 1, server_of(8)};
    clock_hello_pack(&hello, good);
    srand(1);
    for (int i = 0; i < 100000; i++) {
        memcpy(bytes, good, sizeof bytes);
        for (int k = rand() % 6; k >= 0; k--)
            bytes[(size_t)rand() % sizeof bytes] ^= (unsigned char)(1 << rand() % 8);
        struct clock_hello read;
        struct clock_place place;
        struct clock_server server;
        if (clock_hello_unpack(&read, bytes))
            assert_true(read.rank <= INT32_MAX && read.server.count <= CLOCK_ADDRESSES_MOST);
        if (clock_place_unpack(&place, bytes))
            assert_true(place.node < place.nodes && place.parent.count <= CLOCK_ADDRESSES_MOST);
        if (clock_file_unpack(&server, bytes))
            assert_true(server.count <= CLOCK_ADDRESSES_MOST && server.port <= UINT16_MAX);
    }
}

/* ---- leaders ----------------------------------------------------------------------------------------------------- */

enum { LEADERS = 7 };

struct leader {
    pthread_t thread;
    struct clock_member self;
    const struct clock_server *root;
    enum clock_joined joined;
    bool measured, silent; /* silent: it leaves those who measure against it without an answer */
    struct clock_sync sync;
};

static void *leader_run(void *data)
{
    struct leader *leader = data;
    struct clock_party party;
    struct clock_timer timer = clock_timer_start(scale, 3000 * MS);
    if (!clock_party_open(&party, &leader->self))
        return NULL;
    leader->joined = clock_party_join(&party, scale, leader->root, &timer);
    if (leader->joined == CLOCK_JOINED)
        leader->measured = clock_party_measure(&party, &timer, &leader->sync);
    if (leader->measured && leader->silent)
        usleep(2500000);
    else if (leader->measured)
        clock_party_serve(&party, &(struct clock_reference){&map, &leader->sync}, &timer);
    clock_party_close(&party);
    return NULL;
}

static struct clock_member member_of(uint32_t rank)
{
    return (struct clock_member){.rank = rank, .world = LEADERS, .processes = 1, .kernel = 100 + rank};
}

static void leaders_start(struct leader *leaders, const struct clock_server *root)
{
    for (uint32_t i = 1; i < LEADERS; i++) {
        leaders[i].self = leaders[i].self.world ? leaders[i].self : member_of(i);
        leaders[i].root = root;
        assert_int_equal(pthread_create(&leaders[i].thread, NULL, leader_run, &leaders[i]), 0);
    }
}

static void leaders_join(struct leader *leaders)
{
    for (uint32_t i = 1; i < LEADERS; i++)
        pthread_join(leaders[i].thread, NULL);
}

/* Its clock is the reference clock. */
static void sync_is_right(const struct leader *leader)
{
    assert_true(leader->joined == CLOCK_JOINED && leader->measured);
    uint64_t truth = clock_map_ns(&map, leader->sync.ticks), found = leader->sync.reference_ns;
    uint64_t off = truth > found ? truth - found : found - truth;
    assert_true(off <= leader->sync.error_ns + 1000);
    assert_true(leader->sync.error_ns > 0 && leader->sync.error_ns < 1000 * MS);
}

TEST(all_measure_along_the_tree)
{
    struct clock_member self = member_of(0);
    struct leader leaders[LEADERS] = {0};
    struct clock_party party;
    assert_true(clock_party_open(&party, &self));
    leaders[4].self = member_of(4);
    leaders[4].self.kernel = 100 + 2; /* on one kernel with rank 2 */
    leaders_start(leaders, &party.server);
    struct clock_timer timer = clock_timer_start(scale, 3000 * MS);
    assert_true(clock_party_gather(&party, scale, &timer));
    assert_int_equal(party.place.nodes, LEADERS - 1);
    clock_party_serve(&party, &(struct clock_reference){.map = &map}, &timer);
    assert_true(clock_timer_ns(&timer) > 0); /* all have finished */
    leaders_join(leaders);
    clock_party_close(&party);
    for (uint32_t i = 1; i < LEADERS; i++) {
        if (i != 4)
            sync_is_right(&leaders[i]);
    }
    assert_int_equal(leaders[4].joined, CLOCK_SHARES);
}

TEST(silent_parent_is_replaced)
{
    struct clock_member self = member_of(0);
    struct leader leaders[LEADERS] = {[1] = {.silent = true}};
    struct clock_party party;
    assert_true(clock_party_open(&party, &self));
    leaders_start(leaders, &party.server);
    struct clock_timer timer = clock_timer_start(scale, 3000 * MS);
    assert_true(clock_party_gather(&party, scale, &timer));
    clock_party_serve(&party, &(struct clock_reference){.map = &map}, &timer);
    leaders_join(leaders);
    clock_party_close(&party);
    for (uint32_t i = 1; i < LEADERS; i++)
        sync_is_right(&leaders[i]);
}

/* ---- strangers and bounds ---------------------------------------------------------------------------------------- */

static int stranger_connect(const struct clock_server *server)
{
    struct sockaddr_in6 name = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)server->port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)server->port)};
    memcpy(&name.sin6_addr, server->addresses[0], CLOCK_ADDRESS_BYTES);
    memcpy(&four.sin_addr, server->addresses[0] + 12, 4);
    bool is_four = IN6_IS_ADDR_V4MAPPED(&name.sin6_addr);
    int fd = socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(is_four ? connect(fd, (void *)&four, sizeof four) : connect(fd, (void *)&name, sizeof name), 0);
    return fd;
}

TEST(strangers_are_of_no_account)
{
    enum { STRANGERS = 5 };
    struct clock_member self = member_of(0);
    struct leader leaders[LEADERS] = {0};
    struct clock_party party;
    int fds[STRANGERS];
    unsigned char bytes[4096], hello_bytes[CLOCK_HELLO_BYTES];
    assert_true(clock_party_open(&party, &self));
    memset(bytes, 'x', sizeof bytes);
    struct clock_hello hello = {.key = {party.server.key[0], party.server.key[1] ^ 1},
                                .kind = CLOCK_HELLO_JOIN,
                                .rank = 3,
                                .processes = 1000,
                                .kernel = 5};
    for (int i = 0; i < STRANGERS; i++)
        fds[i] = stranger_connect(&party.server);
    assert_true(send(fds[0], bytes, sizeof bytes, MSG_NOSIGNAL) > 0); /* and 1 says nothing */
    assert_true(send(fds[2], bytes, 3, MSG_NOSIGNAL) == 3);           /* a part of a message */
    clock_hello_pack(&hello, hello_bytes);
    assert_true(send(fds[3], hello_bytes, sizeof hello_bytes, MSG_NOSIGNAL) > 0); /* another key */
    hello.key[1] ^= 1;
    hello.rank = LEADERS;
    clock_hello_pack(&hello, hello_bytes);
    assert_true(send(fds[4], hello_bytes, sizeof hello_bytes, MSG_NOSIGNAL) > 0); /* no rank of the job */
    leaders_start(leaders, &party.server);
    struct clock_timer timer = clock_timer_start(scale, 3000 * MS);
    assert_true(clock_party_gather(&party, scale, &timer));
    assert_int_equal(party.place.nodes, LEADERS);
    clock_party_serve(&party, &(struct clock_reference){.map = &map}, &timer);
    leaders_join(leaders);
    clock_party_close(&party);
    for (uint32_t i = 1; i < LEADERS; i++)
        sync_is_right(&leaders[i]);
    for (int i = 0; i < STRANGERS; i++) {
        assert_true(recv(fds[i], bytes, sizeof bytes, 0) <= 0); /* closed, and none was welcome */
        close(fds[i]);
    }
}

/* Runs over its time by a moment that the processors are busy with something else at most. */
static void ended_in_time(uint64_t begin)
{
    assert_true(clock_ns(scale, clock_now() - begin) < 2000 * MS);
}

TEST(nobody_waits_for_those_who_do_not_come)
{
    struct clock_member self = member_of(0), other = member_of(1);
    struct clock_party party, joining;
    uint64_t begin = clock_now();
    struct clock_timer timer = clock_timer_start(scale, 50 * MS);
    assert_true(clock_party_open(&party, &self));
    assert_false(clock_party_gather(&party, scale, &timer));
    assert_int_equal(party.place.nodes, 1);
    ended_in_time(begin);
    begin = clock_now(); /* it listens still, and answers nothing */
    timer = clock_timer_start(scale, 50 * MS);
    assert_true(clock_party_open(&joining, &other));
    assert_int_equal(clock_party_join(&joining, scale, &party.server, &timer), CLOCK_UNREACHABLE);
    ended_in_time(begin);
    clock_party_close(&joining);
    struct clock_server closed = party.server;
    clock_party_close(&party);
    begin = clock_now();
    timer = clock_timer_start(scale, 50 * MS);
    assert_true(clock_party_open(&joining, &other));
    assert_int_equal(clock_party_join(&joining, scale, &closed, &timer), CLOCK_UNREACHABLE);
    ended_in_time(begin);
    clock_party_close(&joining);
}

/* One who listens at the right place without the answer; and rank 0's leader with a place that there is not. */
static void *liar_run(void *data)
{
    const struct clock_party *party = ((void **)data)[0];
    const bool *knows = ((void **)data)[1];
    unsigned char hello[CLOCK_HELLO_BYTES], bytes[CLOCK_PLACE_BYTES];
    int fd = -1;
    for (int i = 0; i < 1000 && fd < 0; i++) {
        fd = clock_link_accept(party->listener);
        usleep(1000);
    }
    struct clock_timer timer = clock_timer_start(scale, 1000 * MS);
    clock_link_receive(fd, hello, sizeof hello, &timer);
    memset(bytes, 0xff, sizeof bytes);
    if (*knows)
        clock_welcome_pack(&party->server, bytes);
    clock_link_send(fd, bytes, CLOCK_WELCOME_BYTES);
    memset(bytes, 0xff, sizeof bytes);
    clock_link_send(fd, bytes, sizeof bytes);
    usleep(300000);
    close(fd);
    return NULL;
}

TEST(lies_are_not_believed)
{
    for (int i = 0; i < 2; i++) {
        struct clock_member self = member_of(0), other = member_of(1);
        struct clock_party party, joining;
        bool knows = i;
        void *data[] = {&party, &knows};
        pthread_t thread;
        assert_true(clock_party_open(&party, &self) && clock_party_open(&joining, &other));
        party.server.count = 1;
        assert_int_equal(pthread_create(&thread, NULL, liar_run, data), 0);
        struct clock_timer timer = clock_timer_start(scale, 2000 * MS);
        assert_int_equal(clock_party_join(&joining, scale, &party.server, &timer),
                         knows ? CLOCK_LEFT_OUT : CLOCK_UNREACHABLE);
        pthread_join(thread, NULL);
        clock_party_close(&joining);
        clock_party_close(&party);
    }
}
