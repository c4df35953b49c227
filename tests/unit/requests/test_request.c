/* Requests under way: in and out in order, front places, and what is missed. */
#define _GNU_SOURCE
#include "requestfixture.h"
#include "umq/umq.h"

static void unknown_handle_is_not_there(void **state)
{
    (void)state;
    assert_null(request_take(own_log, 0x123450, NULL));
    assert_null(request_peek(0x123450));
    assert_int_equal(request_begin(0x123450), 0);
    assert_null(request_take(own_log, 0, NULL));
}

static void plain_request_lives_and_dies_in_front(void **state)
{
    (void)state;
    assert_true(post(0x1000, 1));
    assert_int_equal(request_begin(0x1000), 1);
    assert_null(request_peek(0x1000));
    take_check(0x1000, 1);
    assert_null(request_take(own_log, 0x1000, NULL));
    assert_true(post(0x1000, 2));
    take_check(0x1000, 2);
}

static void equal_handles_come_out_in_the_order_they_went_in(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 100; i++)
        assert_true(post(0x2000, i) == (i == 1));
    assert_int_equal(request_begin(0x2000), 1);
    for (uint64_t i = 1; i <= 100; i++)
        take_check(0x2000, i);
    assert_null(request_take(own_log, 0x2000, NULL));
}

/* The place in front is free again while younger requests of the handle wait behind it. */
static void overflowed_place_is_not_used_before_it_is_drained(void **state)
{
    (void)state;
    post(0x3000, 1);
    post(0x3000, 2);
    take_check(0x3000, 1);
    assert_false(post(0x3000, 3));
    take_check(0x3000, 2);
    assert_false(post(0x3000, 4));
    take_check(0x3000, 3);
    take_check(0x3000, 4);
    assert_true(post(0x3000, 5));
    take_check(0x3000, 5);
}

static void neighbours_in_front_are_not_mistaken(void **state)
{
    (void)state;
    uint64_t handle = 0x4000, other = neighbour_of(handle);
    assert_true(post(handle, 1));
    assert_false(post(other, 2));
    assert_false(post(handle, 3));
    take_check(other, 2);
    take_check(handle, 1);
    assert_false(post(other, 4));
    take_check(handle, 3);
    take_check(other, 4);
    assert_true(post(other, 5));
    take_check(other, 5);
}

static void order_holds_for_random_traffic(void **state)
{
    (void)state;
    enum { HANDLES = 40, STEPS = EFFORT(200000, 5000) };
    static uint64_t next_in[HANDLES], next_out[HANDLES];
    uint64_t handles[HANDLES];
    srand(9);
    for (int i = 0; i < HANDLES; i++)
        handles[i] = i % 4 ? neighbour_of(handles[i - 1]) : 0x7f0000000000 + 0x180 * (uint64_t)i;
    for (int step = 0; step < STEPS; step++) {
        int h = rand() % HANDLES;
        if (rand() % 2)
            post(handles[h], ++next_in[h]);
        else if (next_out[h] < next_in[h])
            take_check(handles[h], ++next_out[h]);
        else
            assert_null(request_take(own_log, handles[h], NULL));
    }
    for (int h = 0; h < HANDLES; h++)
        while (next_out[h] < next_in[h])
            take_check(handles[h], ++next_out[h]);
}

static bool post_from(const void *where, uint64_t handle, uint64_t mark)
{
    struct posted *front = front_post(handle);
    struct request *request = front ? NULL : request_make(own_log);
    struct posted posted = {.begin = mark, .where = where};
    if (front)
        *front = posted;
    if (request) {
        request_fill(request, &posted);
        request_put(request, handle);
    }
    return front != NULL;
}

static void take_from_check(const void *where, uint64_t handle, uint64_t mark)
{
    struct request *request = request_take(own_log, handle, where);
    assert_non_null(request);
    assert_int_equal(request->posted.begin, mark);
    request_release(own_log, request);
}

/* Every order in which four equal handles can be completed, each by the variable that it stands in; twice, so that a
 * place or an end that was left wrong shows. */
static void equal_handles_are_told_apart_by_their_variables(void **state)
{
    (void)state;
    enum { EQUAL = 4, ORDERS = 256 };
    char variables[EQUAL];
    for (unsigned order = 0; order < 2 * ORDERS; order++) {
        unsigned left = (1 << EQUAL) - 1;
        for (unsigned i = 0; i < EQUAL; i++)
            post_from(&variables[i], 0x9000, i);
        for (unsigned i = 0, rest = order; i < EQUAL; i++, rest /= 4) {
            unsigned which = rest % 4;
            while (!(left & 1 << which))
                which = (which + 1) % EQUAL;
            take_from_check(&variables[which], 0x9000, which);
            left &= ~(1u << which);
        }
        assert_null(request_take(own_log, 0x9000, NULL));
    }
}

static void youngest_that_was_taken_leaves_its_place_to_the_next(void **state)
{
    (void)state;
    char variables[4];
    for (unsigned i = 0; i < 4; i++)
        post_from(&variables[i], 0xa000, i);
    take_from_check(&variables[3], 0xa000, 3);
    post_from(&variables[3], 0xa000, 4);
    take_from_check(&variables[1], 0xa000, 1);
    take_from_check(&variables[3], 0xa000, 4);
    take_from_check(&variables[2], 0xa000, 2);
    take_from_check(&variables[0], 0xa000, 0);
}

/* The program moved its handle: the oldest one it is. */
static void handle_in_another_variable_is_the_oldest(void **state)
{
    (void)state;
    char variables[3], elsewhere;
    for (unsigned i = 0; i < 3; i++)
        post_from(&variables[i], 0xb000, i);
    for (unsigned i = 0; i < 3; i++)
        take_from_check(&elsewhere, 0xb000, i);
    assert_null(request_take(own_log, 0xb000, &elsewhere));
}

static void peek_finds_the_inactive_persistent_one(void **state)
{
    (void)state;
    struct request *active = request_make(own_log), *inactive = request_make(own_log);
    request_fill(active, &(struct posted){.begin = 5});
    request_fill(inactive, &(struct posted){.begin = 5});
    active->persistent = active->active = inactive->persistent = true;
    inactive->active = false;
    request_put(active, 0xc000);
    assert_null(request_peek(0xc000));
    request_put(inactive, 0xc000);
    assert_ptr_equal(request_peek(0xc000), inactive);
    assert_ptr_equal(request_take(own_log, 0xc000, NULL), active);
    assert_ptr_equal(request_take(own_log, 0xc000, NULL), inactive);
    request_release(own_log, active);
    request_release(own_log, inactive);
}

static void request_that_did_not_complete_is_put_back(void **state)
{
    (void)state;
    post(0x5000, 1);
    struct request *request = request_take(own_log, 0x5000, NULL);
    request_put(request, 0x5000);
    assert_null(request_peek(0x5000));
    assert_int_equal(request_begin(0x5000), 1);
    take_check(0x5000, 1);
}

static void inactive_request_has_no_begin(void **state)
{
    (void)state;
    struct request *request = request_make(own_log);
    request_fill(request, &(struct posted){.begin = 77});
    request->persistent = true;
    request->active = false;
    request_put(request, 0x6000);
    assert_int_equal(request_begin(0x6000), 0);
    assert_ptr_equal(request_peek(0x6000), request);
    request->active = true;
    assert_int_equal(request_begin(0x6000), 77);
    assert_ptr_equal(request_take(own_log, 0x6000, NULL), request);
    request_release(own_log, request);
}

static void made_requests_are_used_again(void **state)
{
    (void)state;
    enum { MOST = 3 * SPARE_MOST };
    static struct request *made[MOST];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MOST; i++) {
            made[i] = request_make(own_log);
            assert_non_null(made[i]);
            request_fill(made[i], &(struct posted){.begin = (uint64_t)i});
        }
        for (int i = 0; i < MOST; i++)
            assert_int_equal(made[i]->posted.begin, i);
        for (int i = 0; i < MOST; i++)
            request_release(own_log, made[i]);
        assert_true(own_log->requests.spare_count <= SPARE_MOST);
    }
    struct log other = {.requests = {.spare = NULL}};
    struct request *from_pool = request_make(&other);
    bool known = false;
    for (int i = 0; i < MOST; i++)
        known |= made[i] == from_pool;
    assert_true(known);
    assert_int_equal(other.requests.spare_count, SPARE_MOST - 1);
    request_release(&other, from_pool);
    request_spare_give(&other);
}
/* ---- what is missed ---------------------------------------------------------------------------------------------- */

static struct request *put_new(uint64_t handle, uint64_t mark)
{
    struct request *request = request_make(own_log);
    assert_non_null(request);
    request_fill(request, &(struct posted){.begin = mark});
    request_put_new(own_log, request, handle);
    return request;
}

static void displaced_check(const uint64_t *marks, unsigned count)
{
    uint64_t seen = 0, expected = 0;
    for (unsigned i = 0; i < count; i++) {
        assert_non_null(own_log->requests.displaced);
        seen += own_log->requests.displaced->posted.begin;
        expected += marks[i];
        struct request *next = own_log->requests.displaced->spare;
        request_release(own_log, own_log->requests.displaced);
        own_log->requests.displaced = next;
    }
    assert_null(own_log->requests.displaced);
    assert_int_equal(seen, expected);
}

static void handle_that_comes_again_displaces_what_it_stood_for(void **state)
{
    (void)state;
    put_new(0x1000, 1);
    displaced_check(NULL, 0);
    put_new(0x1000, 2);
    displaced_check((const uint64_t[]){1}, 1);
    take_check(0x1000, 2);
    assert_null(request_take(own_log, 0x1000, NULL));
    assert_true(post(0x1000, 3)); /* the place in front is not blocked */
    put_new(0x1000, 4);
    displaced_check((const uint64_t[]){3}, 1);
    take_check(0x1000, 4);
    assert_true(post(0x1000, 5));
    for (uint64_t i = 6; i < 9; i++)
        assert_false(post(0x1000, i));
    put_new(0x1000, 9);
    displaced_check((const uint64_t[]){5, 6, 7, 8}, 4);
    take_check(0x1000, 9);
    assert_true(post(0x1000, 10));
    take_check(0x1000, 10);
}

/* Of one handle for many that are complete when they are posted none is taken for the end of the others. */
static void shared_handle_displaces_nothing(void **state)
{
    (void)state;
#if defined(OPEN_MPI)
    uint64_t handle = (uint64_t)(uintptr_t)&book;
#else
    uint64_t handle = 0x6c000001;
#endif
    for (uint64_t i = 1; i <= 4; i++)
        put_new(handle, i);
    displaced_check(NULL, 0);
    for (uint64_t i = 1; i <= 4; i++)
        take_check(handle, i);
}

static void requests_have_unlike_numbers(void **state)
{
    (void)state;
    struct request *one = request_make(own_log), *other = request_make(own_log);
    assert_ptr_equal(request_at(request_number(one)), one);
    assert_ptr_equal(request_at(request_number(other)), other);
    assert_true(request_number(one) != request_number(other) && request_number(one));
    request_release(own_log, one);
    request_release(own_log, other);
}

/* The limit holds; what was posted in front is found all the same, and what is given back is used again. */
static void limit_holds_and_what_lives_in_front_is_found(void **state)
{
    (void)state;
    enum { ROOM = 2 << 20 };
    uint64_t limit = book.run.memory_limit, lost = book.run.header->lost[LOSS_NO_MEMORY];
    static struct request *made[ROOM / sizeof(struct request) + 64 * SPARE_MOST];
    struct request *request;
    struct log log = {.requests = {.spare = NULL}}, *own = own_log;
    size_t count = 0, fronts = 0;
    assert_true(run_limits_set(&book.run, book.run.memory_bytes + ROOM, 0));
    own_log = &log;
    for (uint64_t h = 1; h <= 64; h++)
        fronts += post(0x2000 + h * 16, h);
    while ((request = request_make(&log)) != NULL)
        made[count++] = request;
    assert_true(count > ROOM / 64 && book.run.memory_bytes <= book.run.memory_limit);
    assert_int_equal(book.run.header->lost[LOSS_NO_MEMORY], lost + 1);
    for (uint64_t h = 1; h <= 64; h++)
        take_check(0x2000 + h * 16, h);
    assert_true(fronts > 32);
    for (size_t i = 0; i < count; i++) {
        request_fill(made[i], &(struct posted){.begin = i});
        request_release(&log, made[i]);
    }
    for (size_t i = 0; i < count; i++) {
        made[i] = request_make(&log);
        assert_non_null(made[i]);
    }
    for (size_t i = 0; i < count; i++)
        request_release(&log, made[i]);
    own_log = own;
    assert_true(run_limits_set(&book.run, limit, 0));
    book.run.header->lost[LOSS_NO_MEMORY] = lost;
}

/* A handle that a library gives to all requests which are complete when they are posted. */
static uint64_t shared_handle(void)
{
#if defined(OPEN_MPI)
    return (uint64_t)(uintptr_t)&own_log; /* an object, and not of the heap */
#else
    return UINT64_C(1) << 30 | 0x2c00001;
#endif
}

static bool keep(uint64_t handle, uint64_t mark, const MPI_Request *where, unsigned type)
{
    return front_keep(&(struct posted){.begin = mark, .bytes = mark, .where = where, .type = (uint8_t)type}, handle);
}

static void kept_check(uint64_t handle, const MPI_Request *where, uint64_t mark, unsigned type)
{
    struct request *request = request_take(own_log, handle, where);
    assert_non_null(request);
    assert_int_equal(request->posted.begin, mark);
    assert_int_equal(request->posted.type, type);
    assert_int_equal(request->handle, handle);
    request_release(own_log, request);
}

/* Requests of one handle lie beside by their variables; one whose variable is not known is the oldest. */
static void shared_handle_goes_beside_by_its_variable(void **state)
{
    (void)state;
    MPI_Request variables[8], elsewhere;
    uint64_t handle = shared_handle();
    for (uint64_t i = 0; i < 8; i++)
        assert_true(keep(handle, i + 1, &variables[i], i % 2 ? REQUEST_RMA : REQUEST_SEND));
    assert_int_equal(front_place(handle)->beside, 7);
    assert_null(front_post(handle));
    kept_check(handle, &variables[5], 6, REQUEST_RMA);
    kept_check(handle, &variables[0], 1, REQUEST_SEND);
    assert_true(
        keep(handle, 9, &variables[0], REQUEST_RECV)); /* the place in front is not used before the rest is gone */
    assert_int_equal(front_place(handle)->handle, 0);
    assert_int_equal(request_begin(handle), 2);
    kept_check(handle, &elsewhere, 2, REQUEST_RMA);
    kept_check(handle, &elsewhere, 3, REQUEST_SEND);
    kept_check(handle, &variables[0], 9, REQUEST_RECV);
    for (uint64_t i = 4; i <= 8; i++)
        if (i != 6)
            kept_check(handle, &elsewhere, i, i % 2 ? REQUEST_SEND : REQUEST_RMA);
    assert_null(request_take(own_log, handle, &elsewhere));
    assert_int_equal(front_place(handle)->overflow, 0);
}

/* While one is behind nothing goes beside, so that those beside are older than all behind. */
static void what_is_behind_keeps_the_order(void **state)
{
    (void)state;
    MPI_Request variable, other, third, elsewhere;
    uint64_t handle = shared_handle();
    assert_true(keep(handle, 1, &variable, REQUEST_SEND));
    assert_true(keep(handle, 2, &other, REQUEST_SEND));
    post(handle, 3);
    assert_false(keep(handle, 4, &third, REQUEST_SEND));
    post(handle, 4);
    for (uint64_t i = 1; i <= 4; i++)
        kept_check(handle, &elsewhere, i, REQUEST_SEND);
    assert_int_equal(front_place(handle)->overflow, 0);
}

/* A place given, and given back: the call that was to fill it went another way. */
static void place_beside_is_given_back(void **state)
{
    (void)state;
    MPI_Request variable, other;
    struct view view = {.slot = 0};
    uint64_t handle = shared_handle();
    assert_true(keep(handle, 1, &variable, REQUEST_SEND));
    assert_non_null(beside_post(handle, &other));
    beside_give_back();
    assert_int_equal(front_place(handle)->beside, 0);
    struct front_place *place = beside_post(handle, &other);
    assert_non_null(place);
    place->posted = (struct posted){.begin = 2, .view = &view, .where = &other};
    beside_give_back(); /* that one is filled */
    assert_int_equal(front_place(handle)->beside, 1);
    place->posted.view = NULL;
    kept_check(handle, &variable, 1, REQUEST_SEND);
    kept_check(handle, &other, 2, REQUEST_SEND);
}

/* A request that the hot case does not complete is found by its variable alone if others share its place. */
static void request_set_apart_is_found(void **state)
{
    (void)state;
    MPI_Request variable, neighbours;
    uint64_t handle = 0xd000, neighbour = neighbour_of(handle);
    assert_true(keep(handle, 1, &variable, REQUEST_COLL));
    assert_true(front_place(handle)->overflow);
    assert_true(front_place(handle)->posted.where != &variable);
    assert_true(keep(neighbour, 2, &neighbours, REQUEST_SEND));
    assert_false(keep(neighbour, 3, &variable, REQUEST_SEND)); /* that one may have ended unseen */
    kept_check(handle, &variable, 1, REQUEST_COLL);
    kept_check(neighbour, &neighbours, 2, REQUEST_SEND);
    assert_int_equal(front_place(handle)->overflow, 0);
}

static struct comm *found_in_front;

static void front_found(struct comm *comm)
{
    found_in_front = comm;
}

/* A persistent request in front holds its communicator, and is one behind when something asks for more. */
static void persistent_request_holds_its_communicator(void **state)
{
    (void)state;
    struct comm comm = {.slot = 1, .holds = 1}, *comms[] = {NULL, &comm};
    struct view view = {.slot = 1, .comm = &comm};
    struct request copy;
    MPI_Request variable;
    book.comms = comms;
    struct posted posted = {
        .view = &view, .where = &variable, .tag = 77, .type = REQUEST_COLL | POSTED_PERSISTENT | POSTED_IDLE};
    assert_true(front_keep(&posted, 0xe000));
    assert_int_equal(comm.holds, 2);
    found_in_front = NULL;
    request_front_visit(front_found);
    assert_ptr_equal(found_in_front, &comm);
    assert_int_equal(request_begin(0xe000), 0);
    assert_true(request_look(0xe000, &copy) && !copy.active && copy.comm == 1);
    request_front_yield(own_log, 0xe000);
    assert_int_equal(front_place(0xe000)->handle, 0);
    struct request *request = request_peek(0xe000);
    assert_non_null(request);
    assert_true(request->persistent && !request->active && request_more(request)->bytes_out == 77);
    assert_ptr_equal(request_take(own_log, 0xe000, &variable), request);
    request_release(own_log, request);
    assert_int_equal(comm.holds, 1);
    book.comms = NULL;
}

/* MPICH's status for it shows a message of rank 0, which the hot case would believe. */
static void receive_from_nobody_is_set_apart(void **state)
{
    (void)state;
    struct view view = {.slot = 1};
    MPI_Request variable;
    uint64_t handle = 0xd000;
    struct posted posted = {.view = &view, .where = &variable, .peer = PEER_PROC_NULL, .type = REQUEST_RECV};
    assert_true(front_keep(&posted, handle));
    struct front_place *place = front_place(handle);
    assert_true(place->overflow && place->posted.where != &variable);
    assert_ptr_equal(front_find(handle, &variable), place);
    front_free(place);
    assert_int_equal(place->overflow, 0);
    posted.peer = 0;
    assert_true(front_keep(&posted, handle));
    assert_true(!place->overflow && place->posted.where == &variable);
    front_free(place);
}

static void receive_found(void *data, int32_t rank, int32_t tag)
{
    (*(unsigned *)data)++;
    assert_int_equal(rank, 3);
    assert_int_equal(tag, 9);
}

/* A nonblocking sendrecv has more to say than a request has room for: it lies beside, and comes along. */
static void pair_comes_out_whole(void **state)
{
    (void)state;
    struct comm comm = {.slot = 1, .holds = 1}, *comms[] = {NULL, &comm};
    struct view view = {.slot = 1, .comm = &comm};
    unsigned pending = 0;
    MPI_Request variable;
    book.comms = comms;
    uint64_t handle = 0xf000;
    struct posted posted = {
        .view = &view, .begin = 5, .where = &variable, .bytes = 80, .peer = 3, .tag = 9, .type = REQUEST_PAIR};
    struct request *request = request_make(own_log), *more = request_make(own_log);
    request_fill(request, &posted);
    request->posted.more = request_number(more);
    *request_more(request) = (struct request_more){.bytes_out = 1234, .dest = 2, .tag = 8, .recvtag = 9};
    request_put(request, handle);
    request_pending_visit(&comm, receive_found, &pending);
    assert_int_equal(pending, 1);
    assert_ptr_equal(request_take(own_log, handle, &variable), request);
    assert_int_equal(request->posted.type, REQUEST_PAIR);
    assert_int_equal(request->posted.peer, 3);
    assert_int_equal(request->posted.bytes, 80);
    assert_ptr_equal(request->posted.where, &variable);
    const struct request_more *whole = request_more(request);
    assert_true(whole->bytes_out == 1234 && whole->dest == 2 && whole->tag == 8 && whole->recvtag == 9);
    assert_false(request->holds);
    request_hold(request);
    request_hold(request); /* once is enough */
    assert_int_equal(comm.holds, 2);
    request_release(own_log, request);
    assert_int_equal(comm.holds, 1);
    book.comms = NULL;
}

/* What an earlier life of the same memory has left in a request means nothing. */
static void request_made_again_does_not_stay(void **state)
{
    (void)state;
    struct request *request = request_make(own_log);
    request->stays = true;
    request_release_one(own_log, request);
    assert_true(keep(0x9000, 1, NULL, REQUEST_RMA));
    struct request *copy = request_take(own_log, 0x9000, NULL);
    assert_ptr_equal(copy, request);
    assert_false(copy->stays);
    request_release(own_log, copy);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, front_is_clean)
    const struct CMUnitTest tests[] = {
        TEST(unknown_handle_is_not_there),
        TEST(plain_request_lives_and_dies_in_front),
        TEST(equal_handles_come_out_in_the_order_they_went_in),
        TEST(overflowed_place_is_not_used_before_it_is_drained),
        TEST(neighbours_in_front_are_not_mistaken),
        TEST(order_holds_for_random_traffic),
        TEST(equal_handles_are_told_apart_by_their_variables),
        TEST(youngest_that_was_taken_leaves_its_place_to_the_next),
        TEST(handle_in_another_variable_is_the_oldest),
        TEST(peek_finds_the_inactive_persistent_one),
        TEST(request_that_did_not_complete_is_put_back),
        TEST(inactive_request_has_no_begin),
        TEST(made_requests_are_used_again),
        TEST(requests_have_unlike_numbers),
        TEST(limit_holds_and_what_lives_in_front_is_found),
        TEST(handle_that_comes_again_displaces_what_it_stood_for),
        TEST(shared_handle_goes_beside_by_its_variable),
        TEST(what_is_behind_keeps_the_order),
        TEST(place_beside_is_given_back),
        TEST(request_set_apart_is_found),
        TEST(persistent_request_holds_its_communicator),
        TEST(receive_from_nobody_is_set_apart),
        TEST(pair_comes_out_whole),
        TEST(request_made_again_does_not_stay),
        TEST(shared_handle_displaces_nothing),
    };
    return cmocka_run_group_tests(tests, run_setup, NULL);
}
