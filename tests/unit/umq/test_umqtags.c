/* Tags of waiting messages out of event buffers, and which of them receives take: against queues of the test's own. */
#include "unittest.h"

#include "calls.h"
#include "format/event.h"
#include "umq/umqmatch.h"
#include "umq/umqtags.h"

#include <stdlib.h>
#include <string.h>

enum { FROM_COMM = 5, TO_COMM = 9, SENDER = 3, RECEIVER = 70, CAPACITY = 64 + RING_SPARE };

struct buffer {
    struct chunk_header head;
    struct event events[CAPACITY];
    uint64_t written;
};

static struct buffer buffers[3]; /* the receiver's, and those of two threads of the sender */
static uint64_t now;

static struct umq_ends ends_of(unsigned senders)
{
    struct umq_ends ends = {.from_count = senders,
                            .from_comm = FROM_COMM,
                            .to_rank = RECEIVER,
                            .to = {&buffers[0].head, CAPACITY, &buffers[0].written},
                            .to_comm = TO_COMM,
                            .from_rank = SENDER};
    for (unsigned i = 0; i < senders; i++)
        ends.from[i] = (struct umq_buffer){&buffers[1 + i].head, CAPACITY, &buffers[1 + i].written};
    return ends;
}

FIXTURE(setup)
{
    memset(buffers, 0, sizeof buffers);
    now = 1000;
}

static void put(unsigned buffer, struct event event)
{
    buffers[buffer].events[buffers[buffer].written++ % CAPACITY] = event;
}

static void call_put(unsigned buffer, unsigned kind, uint16_t comm, int32_t peer, int32_t tag)
{
    put(buffer,
        (struct event){.begin = now, .duration = 5, .kind = (uint16_t)kind, .comm = comm, .peer = peer, .tag = tag});
    now += 10;
}

static void send(unsigned thread, int32_t tag)
{
    call_put(1 + thread, CALL_MPI_Send, FROM_COMM, RECEIVER, tag);
}

static void receive(int32_t tag)
{
    call_put(0, CALL_MPI_Recv, TO_COMM, SENDER, tag);
}

static bool find(unsigned senders, uint64_t messages, struct umq_tags *tags)
{
    struct umq_ends ends = ends_of(senders);
    return umq_tags_find(&ends, messages, UINT64_MAX, tags);
}

TEST_WITH(tags_of_what_waits, setup, NULL)
{
    struct umq_tags tags = {.count = 2, .tags = {{.tag = 7}, {.tag = 8}}};
    for (int i = 0; i < 3; i++)
        send(0, 7);
    send(0, 900);
    call_put(1, CALL_MPI_Send, FROM_COMM, RECEIVER + 1, 8);            /* to another process, */
    call_put(1, CALL_MPI_Send, FROM_COMM + 1, RECEIVER, 8);            /* on another communicator, */
    call_put(1, CALL_MPI_Send | EVENT_FAILED, FROM_COMM, RECEIVER, 8); /* none at all */
    call_put(1, CALL_MPI_Isend, FROM_COMM, RECEIVER, 8);
    receive(7);
    assert_true(find(1, 4, &tags));
    EQUALS({tags.tags[0].waiting, 2}, {tags.tags[1].waiting, 1}, {tags.others, 1});
    assert_false(find(1, 5, &tags)); /* the tallies say otherwise */
}

/* Records are as late as their call, however it is told how long that took. */
TEST_WITH(records_are_of_their_call, setup, NULL)
{
    struct umq_tags tags = {.count = 1, .tags = {{.tag = 7}}};
    struct event_extension more = {.duration = 100000, .kind = RECORD_EXTENSION};
    struct event wide;
    for (int i = 0; i < 3; i++) {
        call_put(1, CALL_MPI_Start, 0, 1, 0);
        put(1, (struct event){.begin = now, .kind = RECORD_SEND_POSTED, .comm = FROM_COMM, .peer = RECEIVER, .tag = 7});
    }
    put(0, (struct event){.begin = 1, .kind = CALL_MPI_Waitall | EVENT_WIDE, .peer = 2});
    memcpy(&wide, &more, sizeof wide);
    put(0, wide);
    for (int i = 0; i < 2; i++)
        put(0, (struct event){.begin = 1, .kind = RECORD_RECV_DONE, .comm = TO_COMM, .peer = SENDER, .tag = 7});
    for (int i = 0; i < 200; i++) /* the sender goes on, and with it T, which stays before the receives' end */
        call_put(1, CALL_MPI_Barrier, FROM_COMM, 0, 0);
    now = 200000;
    send(0, 8);
    assert_false(find(1, 2, &tags));
    assert_true(find(1, 1, &tags));
    assert_int_equal(tags.others, 1);
}

/* Records stand behind a completion that is not recorded, too, by a filter or MPI_Pcontrol. */
TEST_WITH(records_are_of_what_has_passed, setup, NULL)
{
    struct umq_tags tags = {.count = 1, .tags = {{.tag = 7}}};
    send(0, 8);
    call_put(0, CALL_MPI_Irecv, TO_COMM, SENDER, 7);
    send(0, 7);
    put(0, (struct event){.begin = now, .kind = EVENT_PASSED, .peer = 1});
    put(0, (struct event){.begin = 1010, .kind = RECORD_RECV_DONE, .comm = TO_COMM, .peer = SENDER, .tag = 7});
    assert_true(find(1, 1, &tags));
    EQUALS({tags.tags[0].waiting, 0}, {tags.others, 1});
}

TEST_WITH(events_of_a_former_communicator_are_others, setup, NULL)
{
    struct umq_tags tags = {.count = 1, .tags = {{.tag = 7}}};
    send(0, 7);
    send(0, 7);
    receive(7);
    struct umq_ends ends = ends_of(1);
    ends.from_since = ends.to_since = now;
    send(0, 6);
    send(0, 7);
    receive(6);
    assert_true(umq_tags_find(&ends, 1, UINT64_MAX, &tags));
    EQUALS({tags.tags[0].waiting, 1}, {tags.others, 0});
    assert_false(umq_tags_find(&ends, 2, UINT64_MAX, &tags));
    assert_true(umq_tags_find(&ends, 1, 2, &tags)); /* it is two events back */
    assert_false(umq_tags_find(&ends, 1, 1, &tags));
}

TEST_WITH(what_was_written_over_is_not_known, setup, NULL)
{
    struct umq_tags tags = {.count = 1, .tags = {{.tag = 7}}};
    send(0, 7);
    for (int i = 0; i < CAPACITY; i++)
        call_put(1, CALL_MPI_Barrier, FROM_COMM, 0, 0);
    assert_false(find(1, 1, &tags));
    send(0, 7);
    assert_true(find(1, 1, &tags));
    assert_false(find(1, 2, &tags));
    put(0, (struct event){.kind = RECORD_RECV_DONE, .comm = TO_COMM, .peer = SENDER, .tag = 7});
    assert_false(find(1, 2, &tags)); /* a record without its call */
}

/* What the receiver has written over was before what the sender still has. */
TEST_WITH(ends_may_reach_back_differently, setup, NULL)
{
    struct umq_tags tags = {.count = 1, .tags = {{.tag = 7}}};
    send(0, 7);
    receive(7);
    for (int i = 0; i < 2 * CAPACITY; i++)
        call_put(0, CALL_MPI_Barrier, TO_COMM, 0, 0);
    assert_false(find(1, 1, &tags)); /* it may have been received */
    send(0, 8);
    assert_true(find(1, 1, &tags));
    EQUALS({tags.tags[0].waiting, 0}, {tags.others, 1});
    assert_false(find(1, 2, &tags));
}

/* Against queues: what is told is so, and it is told nearly always. */
TEST_WITH(told_is_true, setup, NULL)
{
    enum { ROUNDS = 200000, TAGS = 80, PEOPLE = 2 };
    static int32_t waiting[TAGS];
    uint64_t messages = 0, told = 0, asked = 0;
    memset(waiting, 0, sizeof waiting);
    srand(1);
    for (int round = 0; round < ROUNDS; round++) {
        int32_t tag = rand() % (round / 1000 % 2 ? 3 : TAGS);
        switch (rand() % 8) {
        case 0:
        case 1:
        case 2:
            if (messages < (uint64_t)(round / 500 % 40)) {
                send((unsigned)rand() % PEOPLE, tag);
                waiting[tag]++;
                messages++;
            }
            break;
        case 3:
        case 4:
        case 5:
            for (int32_t i = 0; i < TAGS; i++, tag = (tag + 1) % TAGS)
                if (waiting[tag]) {
                    receive(tag);
                    waiting[tag]--;
                    messages--;
                    break;
                }
            break;
        case 6:
            call_put((unsigned)rand() % (1 + PEOPLE), CALL_MPI_Barrier, 1, 0, 0);
            break;
        default: {
            struct umq_tags tags = {.count = 2, .tags = {{.tag = tag}, {.tag = TAGS + 1}}};
            asked += messages > 0;
            if (!messages || !find(PEOPLE, messages, &tags))
                break;
            told++;
            EQUALS({tags.tags[0].waiting, waiting[tag]}, {tags.tags[1].waiting, 0},
                   {tags.others, messages - (uint64_t)waiting[tag]});
        }
        }
    }
    print_message("%llu of %llu told\n", (unsigned long long)told, (unsigned long long)asked);
    assert_true(told > asked / 4 && asked > ROUNDS / 20);
}

static struct match match;

static void match_begin(void)
{
    memset(&match, 0, sizeof match);
    unsigned one = match_process(&match, 3), two = match_process(&match, 4);
    assert_true(match_message(&match, one, true, 7, 2));
    assert_true(match_message(&match, one, true, 8, 1));
    assert_true(match_message(&match, two, true, 7, 1));
    assert_true(match_message(&match, two, false, 0, 2));
}

static uint64_t left(void)
{
    match_named(&match);
    return match_anywhere(&match);
}

TEST(receives_take_what_they_name)
{
    match_begin();
    assert_int_equal(left(), 6);
    match_begin();
    match_receive(&match, 3, 9);
    match_receive(&match, 5, 7);
    match_receive(&match, 5, TAG_ANY);
    assert_int_equal(match.all, 3);
    assert_int_equal(left(), 6);
    match_begin();
    for (int i = 0; i < 3; i++) /* two messages are there */
        match_receive(&match, 3, 7);
    assert_int_equal(match_named(&match), 4);
    match_begin();
    for (int i = 0; i < 9; i++)
        match_receive(&match, 3, TAG_ANY);
    assert_int_equal(left(), 3);
    match_begin();
    match_receive(&match, PEER_ANY, 8);
    match_receive(&match, PEER_ANY, 8); /* may be one of those whose tags are not known */
    assert_int_equal(match_named(&match), 6);
    assert_int_equal(match_anywhere(&match), 4);
    match_begin();
    for (int i = 0; i < 4; i++) /* both of one, one of the other, and one of those that are not known */
        match_receive(&match, PEER_ANY, 7);
    assert_int_equal(left(), 2);
    match_begin();
    match_receive(&match, 4, 11);
    match_receive(&match, 4, 7);
    match_receive(&match, 4, 7);
    match_receive(&match, 4, 7);
    assert_int_equal(left(), 3);
    match_begin();
    match_receive(&match, 3, TAG_ANY); /* takes the 8: the 7s are wanted */
    for (int i = 0; i < 3; i++)
        match_receive(&match, PEER_ANY, 7);
    assert_int_equal(left(), 2);
    match_begin();
    for (int i = 0; i < 5; i++)
        match_receive(&match, PEER_ANY, TAG_ANY);
    assert_int_equal(left(), 1);
}
