/* Requests under way: in and out of the table, in order, and what is missed. */
#define _GNU_SOURCE
#include "requestfixture.h"
#include "umq/umq.h"

TESTS_EACH(table_is_clean, NULL)
TESTS_ALL(run_setup, NULL)

TEST(unknown_handle_is_not_there)
{
    assert_null(request_take(0x123450, NULL));
    assert_null(request_take_idle(0x123450, false));
    assert_int_equal(request_begin(0x123450), 0);
    assert_null(request_take(0, NULL));
}

TEST(request_is_found_once)
{
    post(0x1000, 1);
    assert_int_equal(request_begin(0x1000), 1);
    assert_null(request_take_idle(0x1000, false));
    take_check(0x1000, 1);
    assert_null(request_take(0x1000, NULL));
    post(0x1000, 2);
    take_check(0x1000, 2);
}

TEST(neighbours_in_a_bucket_are_not_mistaken)
{
    uint64_t handles[4] = {0x4000};
    for (int i = 1; i < 4; i++)
        handles[i] = neighbour_of(handles[i - 1]);
    for (unsigned out = 0; out < 4; out++) { /* each one is taken first once */
        for (unsigned i = 0; i < 4; i++)
            post(handles[i], i + 1);
        for (unsigned i = 0; i < 4; i++)
            take_check(handles[(out + i) % 4], (out + i) % 4 + 1);
    }
}

TEST(equal_handles_come_out_in_the_order_they_went_in)
{
    uint64_t handle = shared_handle();
    for (uint64_t i = 1; i <= 100; i++)
        post(handle, i);
    assert_int_equal(request_begin(handle), 1);
    for (uint64_t i = 1; i <= 100; i++)
        take_check(handle, i);
    assert_null(request_take(handle, NULL));
}

/* Random traffic against a model: a request of the handle and variable, or the oldest of the handle. */
TEST(random_traffic_is_as_in_a_model)
{
    enum { MOST = 24, VARIABLES = 5, STEPS = EFFORT(200000, 5000) };
    struct {
        uint64_t mark;
        const char *where;
    } model[MOST];
    char variables[VARIABLES];
    uint64_t handle = shared_handle(), mark = 0;
    int count = 0;
    srand(9);
    for (int step = 0; step < STEPS; step++) {
        const char *where = &variables[rand() % VARIABLES];
        if (count < MOST && rand() % 2) {
            model[count].mark = ++mark;
            model[count++].where = where;
            post_from(where, handle, mark);
            continue;
        }
        struct request *request = request_take(handle, where);
        assert_true((request != NULL) == (count > 0));
        if (!request)
            continue;
        int found = 0;
        while (found < count && model[found].mark != request->posted.begin)
            found++;
        assert_true(found < count && (found == 0 || model[found].where == where));
        memmove(&model[found], &model[found + 1], (size_t)(--count - found) * sizeof model[0]);
        request_release(request);
    }
    while (count)
        request_release(request_take(handle, &variables[--count % VARIABLES]));
    assert_null(request_take(handle, NULL));
}

/* Every order in which four equal handles can be completed, each by the variable that it stands in. Twice, so that a
 * bucket or an end that was left wrong shows. */
TEST(equal_handles_are_told_apart_by_their_variables)
{
    enum { EQUAL = 4, ORDERS = 256 };
    char variables[EQUAL];
    uint64_t handle = shared_handle();
    for (unsigned order = 0; order < 2 * ORDERS; order++) {
        unsigned left = (1 << EQUAL) - 1;
        for (unsigned i = 0; i < EQUAL; i++)
            post_from(&variables[i], handle, i + 1);
        for (unsigned i = 0, rest = order; i < EQUAL; i++, rest /= 4) {
            unsigned which = rest % 4;
            while (!(left & 1 << which))
                which = (which + 1) % EQUAL;
            take_from_check(&variables[which], handle, which + 1);
            left &= ~(1u << which);
        }
        assert_null(request_take(handle, NULL));
    }
}

/* The program moved its handle: the oldest one it is. */
TEST(handle_in_another_variable_is_the_oldest)
{
    char variables[3], elsewhere;
    uint64_t handle = shared_handle();
    for (unsigned i = 0; i < 3; i++)
        post_from(&variables[i], handle, i + 1);
    for (unsigned i = 0; i < 3; i++)
        take_from_check(&elsewhere, handle, i + 1);
    assert_null(request_take(handle, &elsewhere));
}

/* The hot case of a post does not look whether its handle has crowded requests. */
TEST(crowded_request_may_be_older_than_the_first)
{
    uint64_t variables[4], elsewhere, handle = shared_handle();
    const uint64_t *second = &variables[1]; /* in another bucket than the handle */
    if (request_bucket(request_variable_key(second)) == request_bucket(handle))
        second = &variables[2];
    post_from(&variables[0], handle, 1);
    post_from(second, handle, 2);
    take_from_check(&variables[0], handle, 1);
    struct request *request = made(3, &variables[3]);
    request->handle = handle;
    assert_null(*request_bucket(handle));
    *request_bucket(handle) = request;
    take_from_check(&elsewhere, handle, 2);
    take_from_check(&elsewhere, handle, 3);
}

/* A request that a call inside of another posted under the same handle. */
TEST(request_of_a_nested_call_waits_for_its_turn)
{
    char outer, inner;
    request_put(made(1, &outer), 0x2000);
    request_put(made(2, &inner), 0x2000);
    take_from_check(&outer, 0x2000, 1);
    take_from_check(&inner, 0x2000, 2);
    request_put(made(1, &outer), 0x2000);
    request_put(made(2, &inner), 0x2000);
    take_from_check(NULL, 0x2000, 1);
    take_from_check(NULL, 0x2000, 2);
}

TEST(request_that_did_not_complete_is_put_back)
{
    post(0x5000, 1);
    request_put(request_take(0x5000, NULL), 0x5000);
    assert_int_equal(request_begin(0x5000), 1);
    take_check(0x5000, 1);
}

/* ---- persistent requests ----------------------------------------------------------------------------------------- */

static struct request *persistent_post(uint64_t handle, int32_t peer)
{
    struct request *request =
        request_make(&(struct posted){.begin = 77, .type = REQUEST_SEND, .peer = peer, .persistent = true});
    request_put_new(own_log, request, handle);
    return request;
}

TEST(persistent_request_stays_until_it_is_removed)
{
    struct request *request = persistent_post(0x6000, 0);
    assert_int_equal(request_begin(0x6000), 0); /* not active */
    assert_false(request_has_ended(request, NULL));
    for (int round = 0; round < 3; round++) {
        assert_ptr_equal(request_take_idle(0x6000, false), request);
        request_state_set(request, REQUEST_ACTIVE);
        assert_null(request_take_idle(0x6000, false));
        assert_int_equal(request_begin(0x6000), 77);
        assert_ptr_equal(request_take(0x6000, NULL), request);
        assert_true(request_has_ended(request, NULL));
        request_state_set(request, REQUEST_IDLE);
    }
    request_rename(request, 0x6100);
    assert_null(request_take_idle(0x6000, false));
    assert_ptr_equal(request_remove(0x6100, NULL), request);
    assert_null(request_remove(0x6100, NULL));
    request_release(request);
}

/* Open MPI may start a persistent request under a new handle. The other one in its old bucket stays there. */
TEST(renamed_request_leaves_its_neighbour_alone)
{
    post(neighbour_of(0x6000), 1);
    struct request *request = persistent_post(0x6000, 0);
    request_rename(request, 0x6108);
    assert_int_equal(request->chain, 0);
    request_release(request_remove(0x6108, NULL));
    assert_null(*request_bucket(0x6108));
    take_check(neighbour_of(0x6000), 1);
}

/* MPICH does not report the end of a started request to MPI_PROC_NULL. */
TEST(started_request_to_nobody_may_be_started)
{
    struct request *request = persistent_post(0x6000, PEER_PROC_NULL);
    request_state_set(request, REQUEST_ACTIVE);
    assert_ptr_equal(request_take_idle(0x6000, true), request);
    assert_int_equal(request->state, REQUEST_ACTIVE);
    request_release(request_remove(0x6000, NULL));
}

TEST(persistent_requests_of_one_handle_are_started_in_turn)
{
    uint64_t handle = shared_handle();
    struct request *first = persistent_post(handle, 0), *second = persistent_post(handle, 0);
    assert_ptr_equal(request_take_idle(handle, true), first);
    request_state_set(first, REQUEST_ACTIVE);
    assert_ptr_equal(request_take_idle(handle, true), second);
    assert_int_equal(second->state, REQUEST_STARTING);
    request_release(request_remove(handle, NULL));
    request_release(request_remove(handle, NULL));
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

TEST(made_requests_are_used_again)
{
    enum { MOST = 3000 };
    static struct request *first[MOST];
    uint64_t bytes = 0;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MOST; i++) {
            first[i] = made((uint64_t)i, NULL);
            assert_ptr_equal(request_at(request_number(first[i])), first[i]);
            assert_true(request_number(first[i]) != 0);
        }
        for (int i = 0; i < MOST; i++) {
            assert_int_equal(first[i]->posted.begin, i);
            request_release(first[i]);
        }
        assert_true(!bytes || bytes == book.run.memory_bytes);
        bytes = book.run.memory_bytes;
    }
}

TEST(limit_of_memory_holds)
{
    enum { ROOM = 2 << 20 };
    uint64_t limit = book.run.memory_limit, lost = book.run.header->lost[LOSS_NO_MEMORY];
    static struct request *all[4 * ROOM / sizeof(struct request)];
    size_t count = 0;
    assert_true(run_limits_set(&book.run, book.run.memory_bytes + ROOM, 0));
    while ((all[count] = request_make(&(struct posted){.begin = 1})) != NULL)
        count++;
    assert_true(count > ROOM / 128 && book.run.memory_bytes <= book.run.memory_limit);
    assert_int_equal(book.run.header->lost[LOSS_NO_MEMORY], lost + 1);
    assert_null(request_make(&(struct posted){.type = REQUEST_PAIR}));
    request_release(all[--count]);
    assert_null(request_make(&(struct posted){.type = REQUEST_PAIR})); /* it needs two */
    all[count++] = made(1, NULL);
    while (count)
        request_release(all[--count]);
    assert_true(run_limits_set(&book.run, limit, 0));
    book.run.header->lost[LOSS_NO_MEMORY] = lost;
}

/* ---- what is missed ---------------------------------------------------------------------------------------------- */

static void displaced_check(const uint64_t *marks, unsigned count)
{
    uint64_t seen = 0, expected = 0;
    for (unsigned i = 0; i < count; i++) {
        struct request *displaced = own_log->requests.displaced;
        assert_non_null(displaced);
        seen += displaced->posted.begin;
        expected += marks[i];
        own_log->requests.displaced = displaced->next;
        request_release(displaced);
    }
    assert_null(own_log->requests.displaced);
    assert_int_equal(seen, expected);
}

TEST(handle_that_comes_again_displaces_what_it_stood_for)
{
    post(0x1000, 1);
    displaced_check(NULL, 0);
    post(0x1000, 2);
    displaced_check((const uint64_t[]){1}, 1);
    request_put(made(3, NULL), 0x1000);
    post(0x1000, 4);
    displaced_check((const uint64_t[]){2, 3}, 2);
    take_check(0x1000, 4);
    assert_null(request_take(0x1000, NULL));
}

TEST(shared_handle_displaces_nothing)
{
    for (uint64_t i = 1; i <= 4; i++)
        post(shared_handle(), i);
    displaced_check(NULL, 0);
    for (uint64_t i = 1; i <= 4; i++)
        take_check(shared_handle(), i);
}

/* ---- communicators ----------------------------------------------------------------------------------------------- */

static unsigned comms_found;

static void comm_found(struct comm *comm)
{
    comms_found += comm->slot;
}

static void receive_found(void *data, int32_t rank, int32_t tag)
{
    (*(unsigned *)data)++;
    EQUALS({rank, 3}, {tag, 9});
}

/* Requests refer to a communicator without holding it, until threads run at once. */
TEST(communicator_of_a_request_is_found_or_held)
{
    struct comm comm = {.slot = 1, .holds = 1}, *comms[] = {NULL, &comm};
    struct view view = {.slot = 1, .comm = &comm};
    MPI_Request variables[3];
    struct request *three[3];
    unsigned pending = 0;
    uint64_t handle = shared_handle();
    book.comms = comms;
    for (int i = 0; i < 3; i++) { /* the second is crowded, and the third is hidden behind it */
        struct posted posted = {
            .view = &view, .where = &variables[i > 0], .peer = 3, .tag = 9, .type = i ? REQUEST_RECV : REQUEST_SEND};
        three[i] = request_make(&posted);
        request_put_new(own_log, three[i], handle);
    }
    comms_found = 0;
    request_comm_visit(comm_found);
    assert_int_equal(comms_found, 3);
    request_pending_visit(&comm, receive_found, &pending);
    EQUALS({pending, 2}, {comm.holds, 1});
    book.concurrent = true;
    requests_share();
    assert_int_equal(comm.holds, 4);
    for (int i = 0; i < 3; i++) {
        struct request *request = request_take(handle, NULL);
        assert_ptr_equal(request, three[i]);
        request_hold(request); /* once is enough */
        request_release(request);
    }
    assert_int_equal(comm.holds, 1);
    book.concurrent = false;
    struct request *persistent = request_make(&(struct posted){.view = &view, .persistent = true});
    assert_int_equal(comm.holds, 2); /* it may start when the communicator is freed */
    request_release(persistent);
    assert_int_equal(comm.holds, 1);
    book.comms = NULL;
}

/* A nonblocking sendrecv has more to say than a request has room for. */
TEST(pair_comes_out_whole)
{
    MPI_Request variable;
    struct posted posted = {.begin = 5, .where = &variable, .bytes = 80, .peer = 3, .tag = 9, .type = REQUEST_PAIR};
    struct request *request = request_make(&posted);
    request_more(request)->bytes_out = 1234;
    request_more(request)->dest = 2;
    request_put_new(own_log, request, 0xf000);
    assert_ptr_equal(request_take(0xf000, &variable), request);
    assert_true(request->type == REQUEST_PAIR && request->posted.peer == 3 && request->posted.bytes == 80);
    assert_true(request_more(request)->bytes_out == 1234 && request_more(request)->dest == 2);
    request_release(request);
}

/* What the hot cases complete. */
TEST(only_messages_that_were_posted_once_are_plain)
{
    struct posted posted = {.type = REQUEST_RECV};
    struct request request;
    request_fill(&request, &posted);
    assert_true(request_is_plain(&request));
    posted.type = REQUEST_SEND;
    request_fill(&request, &posted);
    assert_true(request_is_plain(&request));
    request.chain = 5;
    assert_false(request_is_plain(&request));
    for (unsigned type = REQUEST_RMA; type <= REQUEST_PAIR; type++) {
        posted.type = (uint8_t)type;
        request_fill(&request, &posted);
        assert_false(request_is_plain(&request));
    }
    posted =
        (struct posted){.type = REQUEST_RECV, .peer = PEER_PROC_NULL}; /* MPICH's status shows a message of rank 0 */
    request_fill(&request, &posted);
    assert_false(request_is_plain(&request));
    request_fill(&request, &(struct posted){.type = REQUEST_SEND, .persistent = true});
    assert_false(request_is_plain(&request));
    request_fill(&request, &(struct posted){.type = REQUEST_SEND, .quiet = true});
    assert_false(request_is_plain(&request));
}

/* Nothing was left. */
AT_START(again_add,
         test_add((struct CMUnitTest){"request_is_found_once again", request_is_found_once, NULL, NULL, NULL}))
