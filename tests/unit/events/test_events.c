/* MPI_T events: types, handles, delivery by safety level, what is dropped. */
#define _GNU_SOURCE
#include "unittest.h"

#include "eventfixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- types ---- */

TESTS_ALL(setup, NULL)

TEST(layouts_ascend_and_fit)
{
    for (int i = 0; i < EVENT_TYPES; i++) {
        const struct event_type *type = &event_types[i];
        size_t end = 0;
        assert_non_null(type->name);
        assert_true(strlen(type->description) > 10);
        assert_int_equal(type->elements[0].displacement, 0);
        for (int e = 0; e < type->element_count; e++) {
            size_t bytes = type->elements[e].type == ELEMENT_INT ? sizeof(int) : sizeof(unsigned long long);
            assert_true(type->elements[e].displacement >= end);
            assert_int_equal(type->elements[e].displacement % bytes, 0);
            end = type->elements[e].displacement + bytes;
        }
        assert_int_equal(type->bytes, end);
    }
}

TEST(info_is_cut_to_the_room)
{
    int num = 2, length = 5, needed = 0;
    char name[8] = "zzzzzzz";
    MPI_Aint displacements[3] = {-1, -1, -1};
    assert_int_equal(MPI_T_event_get_info(MESSAGE_POSTED, name, &length, NULL, NULL, displacements, &num, NULL, NULL,
                                          NULL, &needed, NULL),
                     MPI_SUCCESS);
    assert_string_equal(name, "mpit");
    assert_int_equal(length, sizeof "mpit_message_posted");
    assert_int_equal(needed, strlen(event_types[MESSAGE_POSTED].description) + 1);
    EQUALS({num, 7}, {displacements[1], sizeof(int)}, {displacements[2], -1});
}

/* ---- delivery ---- */

TEST(only_its_communicator_is_heard)
{
    int heard[2] = {0, 0}, any = 0;
    MPI_T_event_registration handle[2] = {handle_on(MESSAGE_POSTED, 0), handle_on(MESSAGE_POSTED, 1)}, every;
    assert_int_equal(MPI_T_event_handle_alloc(MESSAGE_POSTED, NULL, NULL, &every), MPI_SUCCESS);
    hear(every, MPI_T_CB_REQUIRE_NONE, count, &any);
    hear(handle[0], MPI_T_CB_REQUIRE_NONE, count, &heard[0]);
    hear(handle[1], MPI_T_CB_REQUIRE_NONE, count, &heard[1]);
    raise(message(0, 1), CONTEXT_FREE);
    raise(message(0, 1), CONTEXT_FREE);
    raise(message(1, 1), CONTEXT_FREE);
    EQUALS({heard[0], 2}, {heard[1], 1});
    free_now(handle[0]);
    raise(message(0, 1), CONTEXT_FREE);
    raise(message(1, 1), CONTEXT_FREE);
    EQUALS({heard[0], 2}, {heard[1], 2}, {any, 5});
    free_now(handle[1]);
    free_now(every);
}

static int called_level, called_safety;

static void note_level(MPI_T_event_instance instance, MPI_T_event_registration handle, MPI_T_cb_safety safety,
                       void *data)
{
    (void)instance;
    (void)handle;
    called_level = *(int *)data;
    called_safety = (int)safety;
}

/* Every set of levels that can be registered, at every place. */
TEST(lowest_level_that_fits_is_called)
{
    static int levels[] = {0, 1, 2, 3};
    MPI_T_event_registration handle = handle_on(MESSAGE_POSTED, 0);
    for (int set = 0; set < 16; set++) {
        for (int level = 0; level < 4; level++)
            hear(handle, safety_of_index(level), set & (1 << level) ? note_level : NULL, &levels[level]);
        for (int context = CONTEXT_FREE; context <= CONTEXT_THREADS; context++) {
            int expected = context;
            while (expected < 4 && !(set & (1 << expected)))
                expected++;
            called_level = 4;
            raise(message(0, 1), (enum delivery_context)context);
            assert_int_equal(called_level, expected);
            if (expected < 4)
                assert_int_equal(called_safety, safety_of_index(context));
        }
    }
    free_now(handle);
}

static int told, told_times, told_safety, order_of_events, told_at;
static void *told_data;

static void tell(MPI_Count number, MPI_T_event_registration handle, int source, MPI_T_cb_safety safety, void *data)
{
    (void)handle;
    assert_int_equal(source, 0);
    told += (int)number;
    told_times++;
    told_safety = (int)safety;
    told_data = data;
    told_at = order_of_events++;
}

static void in_order(MPI_T_event_instance instance, MPI_T_event_registration handle, MPI_T_cb_safety safety, void *data)
{
    (void)instance;
    (void)handle;
    (void)safety;
    *(int *)data = order_of_events++;
}

TEST(what_is_dropped_is_told_before_the_next)
{
    int at = -1;
    told = told_times = order_of_events = 0;
    MPI_T_event_registration handle = handle_on(MESSAGE_POSTED, 0);
    assert_int_equal(MPI_T_event_set_dropped_handler(handle, tell), MPI_SUCCESS);
    raise(message(0, 1), CONTEXT_FREE); /* no callback at all: nothing is dropped */
    hear(handle, MPI_T_CB_REQUIRE_NONE, in_order, &at);
    raise(message(0, 1), CONTEXT_THREADS);
    raise(message(1, 1), CONTEXT_THREADS);
    raise(message(0, 1), CONTEXT_IN_MPI);
    assert_int_equal(told_times, 0); /* nobody who could hear of it there */
    raise(message(0, 1), CONTEXT_FREE);
    EQUALS({told, 2}, {told_times, 1}, {told_safety, MPI_T_CB_REQUIRE_NONE});
    assert_ptr_equal(told_data, &at);
    EQUALS({told_at, 0}, {at, 1});
    assert_int_equal(MPI_T_event_set_dropped_handler(handle, NULL), MPI_SUCCESS);
    raise(message(0, 1), CONTEXT_THREADS);
    assert_int_equal(MPI_T_event_set_dropped_handler(handle, tell), MPI_SUCCESS);
    raise(message(0, 1), CONTEXT_FREE);
    assert_int_equal(told, 2);
    free_now(handle);
}

static int depth, deepest;

static void raise_again(MPI_T_event_instance instance, MPI_T_event_registration handle, MPI_T_cb_safety safety,
                        void *data)
{
    int tag = -1;
    (void)handle;
    (void)safety;
    (*(int *)data)++;
    if (++depth > deepest)
        deepest = depth;
    raise(message(0, 77), CONTEXT_FREE);
    raise(message(0, 78), CONTEXT_FREE);
    assert_int_equal(MPI_T_event_read(instance, 2, &tag), MPI_SUCCESS);
    assert_int_equal(tag, 9);
    depth--;
}

TEST(raising_inside_a_callback_is_dropped)
{
    int heard = 0;
    told = told_times = 0;
    MPI_T_event_registration handle = handle_on(MESSAGE_POSTED, 0);
    assert_int_equal(MPI_T_event_set_dropped_handler(handle, tell), MPI_SUCCESS);
    hear(handle, MPI_T_CB_REQUIRE_NONE, raise_again, &heard);
    raise(message(0, 9), CONTEXT_FREE);
    EQUALS({heard, 1}, {deepest, 1}, {told, 2}, {told_times, 1});
    free_now(handle);
}

static MPI_T_event_instance kept;

static void read_all(MPI_T_event_instance instance, MPI_T_event_registration handle, MPI_T_cb_safety safety, void *data)
{
    struct message_instance copy;
    int value = 0, source = -1;
    unsigned long long bytes = 0;
    MPI_Count ticks = 0;
    (void)handle;
    (void)safety;
    memset(&copy, 0x11, sizeof copy);
    assert_int_equal(MPI_T_event_copy(instance, &copy), MPI_SUCCESS);
    EQUALS({copy.peer, 2}, {copy.bytes, 5}, {copy.comm, comms[0]->handle});
    assert_int_equal(MPI_T_event_read(instance, 0, &value), MPI_SUCCESS);
    assert_int_equal(value, 1);
    assert_int_equal(MPI_T_event_read(instance, 4, &bytes), MPI_SUCCESS);
    assert_int_equal(bytes, 5);
    assert_int_equal(MPI_T_event_read(instance, 7, &bytes), MPI_T_ERR_INVALID_INDEX);
    assert_int_equal(MPI_T_event_read(instance, 0, NULL), MPI_T_ERR_INVALID);
    assert_int_equal(MPI_T_event_copy(instance, NULL), MPI_T_ERR_INVALID);
    assert_int_equal(MPI_T_event_get_source(instance, &source), MPI_SUCCESS);
    assert_int_equal(source, 0);
    assert_int_equal(MPI_T_event_get_timestamp(instance, &ticks), MPI_SUCCESS);
    assert_int_equal(ticks, clock_ns(book.scale, 4242));
    kept = instance;
    *(int *)data = 1;
}

TEST(instance_is_read_in_its_callback_alone)
{
    int done = 0, value;
    MPI_T_event_registration handle = handle_on(MESSAGE_POSTED, 0);
    hear(handle, MPI_T_CB_REQUIRE_NONE, read_all, &done);
    struct instance instance = message(0, 3);
    instance.ticks = 4242;
    instance.message.comm = comms[0]->handle;
    raise(instance, CONTEXT_FREE);
    assert_int_equal(done, 1);
    assert_int_equal(MPI_T_event_read(kept, 0, &value), MPI_T_ERR_INVALID_HANDLE);
    assert_int_equal(MPI_T_event_copy(kept, &value), MPI_T_ERR_INVALID_HANDLE);
    free_now(handle);
}

TEST(levels_are_told_when_they_cross)
{
    static const unsigned long long seen[] = {1, 2, 3, 4, 3, 2, 3, 9, 0, 2, 3};
    int heard = 0;
    comms[0]->shared->sends.now = 0;
    MPI_T_event_registration handle = handle_on(PENDING_SENDS_OVER, 0);
    hear(handle, MPI_T_CB_REQUIRE_NONE, count, &heard);
    pthread_mutex_lock(&registrations_lock);
    registration_find(handle)->threshold = 2;
    pthread_mutex_unlock(&registrations_lock);
    static const int expected[] = {0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3};
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++) {
        raise(
            (struct instance){.type = &event_types[PENDING_SENDS_OVER], .comm = comms[0], .level = {.level = seen[i]}},
            CONTEXT_FREE);
        assert_int_equal(heard, expected[i]);
    }
    free_now(handle);
}

TEST(who_listens_changes_the_limit_of_the_frequent_path)
{
    uint64_t rare = knob_rare_ticks;
    int heard = 0;
    MPI_T_event_registration begin = handle_on(COLLECTIVE_BEGIN, 0), end = handle_on(COLLECTIVE_END, 0);
    assert_int_equal(listeners, 0);
    assert_int_not_equal(rare, 0);
    hear(begin, MPI_T_CB_REQUIRE_NONE, count, &heard);
    assert_int_equal(listeners, UINT64_C(1) << COLLECTIVE_BEGIN);
    assert_int_equal(knob_rare_ticks, rare); /* is raised elsewhere */
    MPI_T_event_registration error = handle_on(CALL_ERROR, 0);
    hear(error, MPI_T_CB_REQUIRE_NONE, count, &heard);
    assert_int_equal(knob_rare_ticks, rare); /* calls that fail are none of the frequent path */
    free_now(error);
    hear(end, MPI_T_CB_REQUIRE_NONE, count, &heard);
    hear(end, MPI_T_CB_REQUIRE_THREAD_SAFE, count, &heard);
    assert_int_equal(knob_rare_ticks, 0);
    knob_store(KNOB_P2P_TIMEOUT_NS, 1000);
    assert_int_equal(knob_rare_ticks, 0);
    knob_store(KNOB_P2P_TIMEOUT_NS, 0);
    hear(end, MPI_T_CB_REQUIRE_NONE, NULL, NULL);
    assert_int_equal(knob_rare_ticks, 0);
    hear(end, MPI_T_CB_REQUIRE_THREAD_SAFE, NULL, NULL);
    assert_int_equal(knob_rare_ticks, rare);
    free_now(begin);
    free_now(end);
    assert_int_equal(listeners, 0);
}

/* ---- handles ---- */

static void free_itself(MPI_T_event_instance instance, MPI_T_event_registration handle, MPI_T_cb_safety safety,
                        void *data)
{
    int tag;
    (void)safety;
    (*(int *)data)++;
    assert_int_equal(MPI_T_event_handle_free(handle, &freed, note_free), MPI_SUCCESS);
    assert_int_equal(MPI_T_event_handle_free(handle, &freed, note_free), MPI_T_ERR_INVALID_HANDLE);
    assert_int_equal(freed, 0);
    assert_int_equal(MPI_T_event_read(instance, 2, &tag), MPI_SUCCESS);
}

TEST(handle_may_be_freed_in_its_callback)
{
    int heard = 0, others = 0;
    MPI_T_event_registration older = handle_on(MESSAGE_POSTED, 0), handle = handle_on(MESSAGE_POSTED, 0);
    hear(older, MPI_T_CB_REQUIRE_NONE, count, &others);
    hear(handle, MPI_T_CB_REQUIRE_NONE, free_itself, &heard);
    raise(message(0, 1), CONTEXT_FREE);
    EQUALS({heard, 1}, {freed, 1}, {others, 1});
    raise(message(0, 1), CONTEXT_FREE);
    EQUALS({heard, 1}, {others, 2});
    free_now(older);
    freed = 0;
    handle = handle_on(MESSAGE_POSTED, 0);
    assert_int_equal(MPI_T_event_handle_free(handle, &freed, note_free), MPI_SUCCESS);
    assert_int_equal(freed, 1); /* nothing runs: at once */
}

TEST(places_come_back_and_old_tickets_do_not)
{
    MPI_T_event_registration first = handle_on(MESSAGE_POSTED, 0);
    free_now(first);
    for (int i = 0; i < 100000; i++) {
        MPI_T_event_registration handle = handle_on(MESSAGE_POSTED, 0);
        assert_ptr_not_equal(handle, first);
        free_now(handle);
    }
    assert_int_equal(MPI_T_event_handle_free(first, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    static MPI_T_event_registration many[1 << 17];
    int n = 0, result;
    while ((result = MPI_T_event_handle_alloc(MESSAGE_POSTED, &handles_of_comms[0], NULL, &many[n])) == MPI_SUCCESS)
        n++;
    assert_int_equal(result, MPI_T_ERR_OUT_OF_HANDLES);
    assert_true(n > 1000);
    while (n > 0)
        free_now(many[--n]);
    free_now(handle_on(MESSAGE_POSTED, 0));
}

TEST(wrong_handles_have_the_right_code)
{
    MPI_T_event_registration handle = NULL;
    MPI_Comm unknown = (MPI_Comm)(uintptr_t)0x5550;
    int on_stack;
    assert_int_equal(MPI_T_event_handle_alloc(EVENT_TYPES, NULL, NULL, &handle), MPI_T_ERR_INVALID_INDEX);
    assert_int_equal(MPI_T_event_handle_alloc(MESSAGE_POSTED, &unknown, NULL, &handle), MPI_T_ERR_INVALID_HANDLE);
    assert_int_equal(MPI_T_event_handle_alloc(PENDING_SENDS_OVER, NULL, NULL, &handle), MPI_T_ERR_INVALID);
    assert_int_equal(MPI_T_event_handle_alloc(EVENT_LOST, NULL, NULL, &handle), MPI_SUCCESS);
    assert_int_equal(MPI_T_event_register_callback(handle, (MPI_T_cb_safety)4, NULL, NULL, count), MPI_T_ERR_INVALID);
    free_now(handle);
    const MPI_T_event_registration wrong[] = {NULL, handle, (MPI_T_event_registration)&on_stack,
                                              (MPI_T_event_registration)(uintptr_t)-1};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(MPI_T_event_handle_free(wrong[i], NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
        assert_int_equal(MPI_T_event_set_dropped_handler(wrong[i], tell), MPI_T_ERR_INVALID_HANDLE);
        assert_int_equal(MPI_T_event_handle_set_info(wrong[i], NULL), MPI_T_ERR_INVALID_HANDLE);
        assert_int_equal(MPI_T_event_register_callback(wrong[i], MPI_T_CB_REQUIRE_NONE, NULL, NULL, count),
                         MPI_T_ERR_INVALID_HANDLE);
    }
    door_users = 0;
    assert_int_equal(MPI_T_event_handle_free(handle, NULL, NULL), MPI_T_ERR_NOT_INITIALIZED);
    door_users = 1;
}
