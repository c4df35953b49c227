/* Packed events come out as they went in; damaged ones come out as nothing, never as a crash. */
#include "unittest.h"

#include "format/pack.h"

#include <stdlib.h>
#include <string.h>

enum { EVENTS = 5000 };

static struct event events[EVENTS];
static unsigned char packed[EVENTS * PACK_MOST];
static struct packer table;
static struct unpacked unpacked;

static uint64_t random_state = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

/* Packs the first `count` events and expects them back; returns the bytes that they took. */
static size_t round_trip(size_t count)
{
    packer_begin(&table, events, packed);
    size_t bytes = packer_go_on(&table, events + count);
    assert_true(bytes >= count * PACK_LEAST && bytes <= count * PACK_MOST);
    const unsigned char *at = packed;
    unpacked_begin(&unpacked);
    for (size_t i = 0; i < count; i++) {
        const struct event *event = event_unpack(&unpacked, &at, packed + bytes);
        assert_non_null(event);
        assert_memory_equal(event, &events[i], sizeof *event);
    }
    assert_ptr_equal(at, packed + bytes);
    assert_null(event_unpack(&unpacked, &at, packed + bytes));
    return bytes;
}

/* A loop of `kinds` different events; times are drawn below `times`. */
static void loop_fill(unsigned kinds, uint64_t times)
{
    uint64_t now = draw(UINT64_MAX);
    for (size_t i = 0; i < EVENTS; i++) {
        uint64_t what = i % kinds;
        now += draw(times);
        events[i] = (struct event){.begin = now,
                                   .duration = (uint32_t)draw(times),
                                   .kind = (uint16_t)(1 + what),
                                   .comm = (uint16_t)(what / 3),
                                   .peer = (int32_t)(7 * what) - 4,
                                   .tag = (int32_t)what,
                                   .bytes = 100 * what};
    }
}

TEST(repeated_events_take_eight_bytes)
{
    loop_fill(4, 1000);
    assert_int_equal(round_trip(EVENTS), 8 * EVENTS + 4 * 32);
    loop_fill(1, 4000000);
    assert_int_equal(round_trip(EVENTS), 8 * EVENTS + 32);
}

TEST(no_events_take_nothing)
{
    assert_int_equal(round_trip(0), 0);
}

TEST(limits_of_times_come_through)
{
    const uint64_t begins[] = {0,
                               UINT64_MAX,
                               0,
                               UINT64_C(1) << 31,
                               0,
                               (UINT64_C(1) << 31) - 1,
                               UINT64_MAX,
                               UINT64_C(1) << 63,
                               (UINT64_C(1) << 63) + (UINT64_C(1) << 32)};
    const uint32_t durations[] = {0, (1 << 22) - 1, 1 << 22, (1 << 22) + 1, UINT32_MAX, EVENT_DURATION_WIDE - 1};
    size_t n = 0;
    for (size_t b = 0; b < sizeof begins / sizeof begins[0]; b++)
        for (size_t d = 0; d < sizeof durations / sizeof durations[0]; d++)
            events[n++] = (struct event){.begin = begins[b], .duration = durations[d], .kind = 3};
    round_trip(n);
}

TEST(any_events_come_through)
{
    for (unsigned round = 0; round < 200; round++) {
        size_t count = draw(EVENTS / 4);
        loop_fill(1 + (unsigned)draw(3000), 1 + draw(UINT64_C(1) << draw(40)));
        for (size_t i = 0; i < count; i++) {
            if (draw(4))
                continue;
            uint64_t *word = (uint64_t *)(void *)&events[i] + draw(4);
            *word ^= UINT64_C(1) << draw(64);
            events[i].kind |= 1; /* a record whose kind is 0 was never written */
        }
        round_trip(count);
    }
}

/* What is packed in pieces comes out as what is packed at once. */
TEST(pieces_make_one_block)
{
    static unsigned char pieces[EVENTS * PACK_MOST];
    for (unsigned round = 0; round < 200; round++) {
        size_t count = 1 + draw(EVENTS / 4), done = 0, bytes = 0;
        loop_fill(1 + (unsigned)draw(300), 1 + draw(UINT64_C(1) << draw(30)));
        packer_begin(&table, events, pieces);
        while (done < count) {
            done += 1 + draw(count - done);
            bytes = packer_go_on(&table, events + done);
        }
        const unsigned char *at = pieces;
        unpacked_begin(&unpacked);
        for (size_t i = 0; i < count; i++) {
            const struct event *event = event_unpack(&unpacked, &at, pieces + bytes);
            assert_non_null(event);
            assert_memory_equal(event, &events[i], sizeof *event);
        }
        assert_ptr_equal(at, pieces + bytes);
    }
    loop_fill(4, 1000);
    packer_begin(&table, events, pieces);
    for (size_t done = 0; done <= EVENTS; done += 100)
        assert_true(packer_go_on(&table, events + done) == (done ? 8 * done + 4 * 32 : 0));
}

TEST(damaged_bytes_end_the_block_and_nothing_else)
{
    for (unsigned round = 0; round < 2000; round++) {
        loop_fill(1 + (unsigned)draw(40), 5000000);
        packer_begin(&table, events, packed);
        size_t bytes = packer_go_on(&table, events + 200);
        for (uint64_t damages = 1 + draw(10); damages > 0; damages--)
            packed[draw(bytes)] ^= (unsigned char)(1 + draw(255));
        bytes -= draw(bytes);
        unsigned char *copy = malloc(bytes + 1); /* so that a sanitizer sees a read behind the end */
        memcpy(copy, packed, bytes);
        const unsigned char *at = copy;
        size_t count = 0;
        unpacked_begin(&unpacked);
        while (event_unpack(&unpacked, &at, copy + bytes))
            count++;
        assert_true(count <= bytes / PACK_LEAST && at <= copy + bytes);
        free(copy);
    }
}

TEST(what_was_not_there_cannot_be_repeated)
{
    for (unsigned back = 0; back <= PACK_BACK_MOST; back++) {
        const uint64_t head = (uint64_t)back << 1;
        unsigned char block[PACK_MOST + sizeof head] = {1};
        const unsigned char *at = block;
        memcpy(block + PACK_MOST, &head, sizeof head);
        unpacked_begin(&unpacked);
        assert_non_null(event_unpack(&unpacked, &at, block + sizeof block));
        assert_int_equal(event_unpack(&unpacked, &at, block + sizeof block) != NULL, back == 1);
    }
}

/* An event more in between, a loop that changes, loops in loops: few literals, whatever the distance. */
TEST(disturbed_loops_stay_small)
{
    loop_fill(6, 1000);
    for (size_t i = 100; i < EVENTS; i += 600)
        events[i].kind = 99;
    assert_true(round_trip(EVENTS) < 8 * EVENTS + 32 * (6 + EVENTS / 600 + 9));
    for (size_t i = 0; i < EVENTS; i++)
        events[i].kind = (uint16_t)(i % 700 < 350 ? 1 + i % 3 : 7 + i % 5);
    assert_true(round_trip(EVENTS) < 10 * EVENTS);
}
