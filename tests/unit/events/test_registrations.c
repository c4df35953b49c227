/* Event handles that come and go while threads raise; types that are added; the library's own types behind ours. */
#define _GNU_SOURCE
#include "unittest.h"

#include "events/registration.h"
#include "effort.h"
#include "eventfixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- threads ---- */

enum { RAISERS = 4, CHURNERS = 2, RAISES = 20000, HANDLES = 2000 };

struct life {
    int heard;
    bool ended;
};

static int lives_ended;

static void live(MPI_T_event_instance instance, MPI_T_event_registration handle, MPI_T_cb_safety safety, void *data)
{
    struct life *life = data;
    int tag = 0;
    (void)handle;
    (void)safety;
    if (__atomic_load_n(&life->ended, __ATOMIC_ACQUIRE) || MPI_T_event_read(instance, 2, &tag) != MPI_SUCCESS)
        abort(); /* cmocka's jump out of another thread would not do */
    __atomic_add_fetch(&life->heard, 1, __ATOMIC_RELAXED);
}

static void end(MPI_T_event_registration handle, MPI_T_cb_safety safety, void *data)
{
    struct life *life = data;
    (void)handle;
    (void)safety;
    if (__atomic_exchange_n(&life->ended, true, __ATOMIC_ACQ_REL))
        abort();
    __atomic_add_fetch(&lives_ended, 1, __ATOMIC_RELAXED);
}

static void *raiser(void *unused)
{
    for (int i = 0; i < RAISES; i++)
        raise(message(0, i), CONTEXT_THREADS);
    return unused;
}

static void *churner(void *memory)
{
    struct life *lives = memory;
    for (int i = 0; i < HANDLES; i++) {
        MPI_T_event_registration handle = NULL;
        if (MPI_T_event_handle_alloc(MESSAGE_POSTED, &handles_of_comms[0], NULL, &handle) != MPI_SUCCESS ||
            MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, NULL, &lives[i], live) != MPI_SUCCESS ||
            MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, NULL, &lives[i], live) !=
                MPI_SUCCESS ||
            MPI_T_event_handle_free(handle, &lives[i], end) != MPI_SUCCESS)
            abort();
    }
    return NULL;
}

TESTS_ALL(setup, NULL)

TEST(handles_come_and_go_while_threads_raise)
{
    static struct life lives[CHURNERS][HANDLES];
    pthread_t raisers[RAISERS], churners[CHURNERS];
    int heard = 0;
    MPI_T_event_registration handle = handle_on(MESSAGE_POSTED, 0);
    hear(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, count, &heard);
    for (int i = 0; i < RAISERS; i++)
        assert_int_equal(pthread_create(&raisers[i], NULL, raiser, NULL), 0);
    for (int i = 0; i < CHURNERS; i++)
        assert_int_equal(pthread_create(&churners[i], NULL, churner, lives[i]), 0);
    for (int i = 0; i < CHURNERS; i++)
        pthread_join(churners[i], NULL);
    for (int i = 0; i < RAISERS; i++)
        pthread_join(raisers[i], NULL);
    EQUALS({heard, RAISERS * RAISES}, {lives_ended, CHURNERS * HANDLES});
    free_now(handle);
    assert_int_equal(listeners, 0);
}

/* ---- many handles ---- */

enum { MANY = EFFORT(40000, 4000), STEP = 7919 }; /* a prime that divides neither */

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Handle i * step of many is freed as the ith; how long that took. */
static double many_freed(size_t first, size_t step)
{
    static MPI_T_event_registration many[MANY];
    for (size_t i = 0; i < MANY; i++)
        many[i] = handle_on(MESSAGE_POSTED, 0);
    double begin = processor_seconds();
    for (size_t i = 0; i < MANY; i++)
        free_now(many[(first + i * step) % MANY]);
    return processor_seconds() - begin;
}

/* A walk along the list, which the newest begin, took 60 s for the oldest first. */
TEST(handles_are_freed_in_any_order_at_the_same_cost)
{
    int heard = 0;
    MPI_T_event_registration oldest = handle_on(MESSAGE_POSTED, 0);
    hear(oldest, MPI_T_CB_REQUIRE_NONE, count, &heard);
    double newest_first = many_freed(MANY - 1, MANY - 1), oldest_first = many_freed(0, 1), mixed = many_freed(0, STEP);
    raise(message(0, 1), CONTEXT_FREE);
    assert_int_equal(heard, 1);
    free_now(oldest);
    assert_null(event_types[MESSAGE_POSTED].registrations);
    assert_true(oldest_first < 10 * newest_first + 0.1);
    assert_true(mixed < 10 * newest_first + 0.1);
}

/* ---- types that are added, and the library's ---- */

static const struct event_element added_elements[] = {{"first", ELEMENT_INT, 0}};
static struct event_type added = {
    .name = "added", .description = "one that came later", .bytes = 4, .element_count = 1, .elements = added_elements};

static void note_value(MPI_T_event_instance instance, MPI_T_event_registration handle, MPI_T_cb_safety safety,
                       void *data)
{
    (void)handle;
    (void)safety;
    assert_int_equal(MPI_T_event_copy(instance, data), MPI_SUCCESS);
}

TEST(types_can_be_added)
{
    int index, value = 0, number = 31;
    MPI_T_event_registration handle;
    assert_int_equal(event_type_add(&added), EVENT_TYPES);
    assert_int_equal(event_type_add(&added), -1);
    assert_int_equal(MPI_T_event_get_index("added", &index), MPI_SUCCESS);
    assert_int_equal(MPI_T_event_handle_alloc(index, NULL, NULL, &handle), MPI_SUCCESS);
    assert_false(added.heard);
    hear(handle, MPI_T_CB_REQUIRE_NONE, note_value, &value);
    assert_true(added.heard);
    raise((struct instance){.type = &added, .more = &number}, CONTEXT_FREE);
    assert_int_equal(value, 31);
    free_now(handle);
    assert_false(added.heard);
}

#define LIBRARY_HANDLE ((MPI_T_event_registration)(uintptr_t)0x7000)
#define LIBRARY_INSTANCE ((MPI_T_event_instance)(uintptr_t)0x8000)

static int library_types = 1;
static event_function *library_callback;
static dropped_function *library_dropped;
static void *library_data;
static MPI_T_event_registration library_handle;

static int library_num(int *num)
{
    *num = library_types;
    return MPI_SUCCESS;
}

static int library_info(int index, char *name, int *name_len, int *verbosity, MPI_Datatype datatypes[],
                        MPI_Aint displacements[], int *elements, MPI_T_enum *enumtype, MPI_Info *info, char *desc,
                        int *desc_len, int *bind)
{
    (void)verbosity, (void)datatypes, (void)displacements, (void)elements, (void)enumtype, (void)info, (void)bind;
    string_return(index ? "library_second" : "library_first", name, name_len);
    string_return("", desc, desc_len);
    return MPI_SUCCESS;
}

static int library_alloc(int index, void *object, MPI_Info info, MPI_T_event_registration *handle)
{
    (void)object, (void)info;
    assert_int_equal(index, 1);
    *handle = LIBRARY_HANDLE;
    return MPI_SUCCESS;
}

static int library_register(MPI_T_event_registration handle, MPI_T_cb_safety safety, MPI_Info info, void *data,
                            event_function *function)
{
    (void)safety, (void)info;
    assert_ptr_equal(handle, LIBRARY_HANDLE);
    library_callback = function;
    library_data = data;
    return MPI_SUCCESS;
}

static int library_set_dropped(MPI_T_event_registration handle, dropped_function *function)
{
    assert_ptr_equal(handle, LIBRARY_HANDLE);
    library_dropped = function;
    return MPI_SUCCESS;
}

static int library_free(MPI_T_event_registration handle, void *data, free_function *function)
{
    assert_ptr_equal(handle, LIBRARY_HANDLE);
    function(handle, MPI_T_CB_REQUIRE_NONE, data);
    return MPI_SUCCESS;
}

static int library_read(MPI_T_event_instance instance, int element, void *buffer)
{
    assert_ptr_equal(instance, LIBRARY_INSTANCE);
    *(int *)buffer = 100 + element;
    return MPI_SUCCESS;
}

static int library_source(MPI_T_event_instance instance, int *source)
{
    assert_ptr_equal(instance, LIBRARY_INSTANCE);
    *source = 2;
    return MPI_SUCCESS;
}

static void of_library(MPI_T_event_instance instance, MPI_T_event_registration handle, MPI_T_cb_safety safety,
                       void *data)
{
    int value = 0, source = 0;
    assert_ptr_equal(handle, library_handle);
    assert_int_equal(safety, MPI_T_CB_REQUIRE_MPI_RESTRICTED);
    assert_int_equal(MPI_T_event_read(instance, 7, &value), MPI_SUCCESS);
    assert_int_equal(value, 107);
    assert_int_equal(MPI_T_event_get_source(instance, &source), MPI_SUCCESS);
    assert_int_equal(source, 3);
    (*(int *)data)++;
}

static void dropped_by_library(MPI_Count number, MPI_T_event_registration handle, int source, MPI_T_cb_safety safety,
                               void *data)
{
    (void)safety;
    assert_ptr_equal(handle, library_handle);
    EQUALS({number, 4}, {source, 1});
    *(int *)data += 10;
}

TEST(events_of_the_library_stand_behind_ours)
{
    int index, number, heard = 0;
    door.open = true;
    door.event_get_num = library_num;
    door.event_get_info = library_info;
    door.event_handle_alloc = library_alloc;
    door.event_register_callback = library_register;
    door.event_set_dropped_handler = library_set_dropped;
    door.event_handle_free = library_free;
    door.event_read = library_read;
    door.event_get_source = library_source;
    assert_int_equal(MPI_T_event_get_num(&number), MPI_SUCCESS);
    assert_int_equal(number, EVENT_TYPES + 2); /* `added` from above, and one */
    assert_int_equal(MPI_T_event_get_index("library_second", &index), MPI_T_ERR_INVALID_NAME);
    library_types = 2;
    assert_int_equal(MPI_T_event_get_index("library_second", &index), MPI_SUCCESS);
    assert_int_equal(index, number);
    assert_int_equal(MPI_T_event_handle_alloc(index, NULL, NULL, &library_handle), MPI_SUCCESS);
    assert_ptr_not_equal(library_handle, LIBRARY_HANDLE);
    hear(library_handle, MPI_T_CB_REQUIRE_THREAD_SAFE, of_library, &heard);
    assert_int_equal(MPI_T_event_set_dropped_handler(library_handle, dropped_by_library), MPI_SUCCESS);
    library_callback(LIBRARY_INSTANCE, LIBRARY_HANDLE, MPI_T_CB_REQUIRE_MPI_RESTRICTED, library_data);
    library_dropped(4, LIBRARY_HANDLE, 0, MPI_T_CB_REQUIRE_NONE, library_data);
    assert_int_equal(heard, 11);
    assert_int_equal(MPI_T_event_read(LIBRARY_INSTANCE, 7, &number), MPI_T_ERR_INVALID_HANDLE);
    freed = 0;
    assert_int_equal(MPI_T_event_handle_free(library_handle, &freed, note_free), MPI_SUCCESS);
    assert_int_equal(freed, 1);
    assert_int_equal(MPI_T_event_handle_free(library_handle, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    memset(&door, 0, sizeof door);
}
