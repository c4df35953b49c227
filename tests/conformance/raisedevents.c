/* Events as they are raised: registrations, callbacks, what an instance says. */
#include "eventcalls.h"

#include <stdio.h>
#include <string.h>

enum { EVENTS_MOST = 256 };

/* One for each registration of a test. */
struct listener {
    struct event event;
    registration registration;
    int safety; /* that was registered */
    long calls, freed, wrong_user, wrong_registration, wrong_safety, failed, unequal, backward, wrong_source;
    int last_code;
    MPI_Count last_stamp;
};

static struct listener listeners[EVENTS_MOST];
static int listening, source_count;

static struct listener *listener_of(registration r)
{
    for (int i = 0; i < listening; i++)
        if (listeners[i].registration == r)
            return &listeners[i];
    return NULL;
}

static void code_note(struct listener *l, int code)
{
    if (code != MPI_SUCCESS) {
        l->failed++;
        l->last_code = code;
    }
}

/* Elements one by one are what a copy has at their places. */
static void elements_compare(struct listener *l, instance e)
{
    unsigned char copy[4096], one[64];
    memset(copy, 0, sizeof copy);
    code_note(l, T.event_copy(e, copy));
    for (int k = 0; k < l->event.elements; k++) {
        size_t bytes = element_bytes(l->event.types[k]);
        memset(one, 0x77, sizeof one);
        code_note(l, T.event_read(e, k, one));
        if (memcmp(one, copy + l->event.places[k], bytes) != 0 || one[bytes] != 0x77)
            l->unequal++;
    }
}

static void hear(instance e, registration r, int safety, void *user)
{
    struct listener *l = user;
    MPI_Count stamp = -1;
    int source = -1;
    if (!l || l < listeners || l >= listeners + EVENTS_MOST)
        return;
    l->calls++;
    if (listener_of(r) != l)
        l->wrong_registration++;
    if (safety < SAFE_NONE || safety > l->safety)
        l->wrong_safety++;
    elements_compare(l, e);
    code_note(l, T.event_get_source(e, &source));
    if (source < 0 || source >= source_count)
        l->wrong_source++;
    code_note(l, T.event_get_timestamp(e, &stamp));
    if (stamp < l->last_stamp)
        l->backward++;
    l->last_stamp = stamp;
}

static void freed(registration r, int safety, void *user)
{
    struct listener *l = user;
    (void)r;
    (void)safety;
    if (l)
        l->freed++;
}

/* Listens to every event type that can be listened to here, at that level. */
static void listen(int safety)
{
    int n = events();
    NEED(T.source_get_num(&source_count));
    for (int i = 0; i < n && listening < EVENTS_MOST; i++) {
        struct listener *l = &listeners[listening];
        memset(l, 0, sizeof *l);
        if (!event_at(i, &l->event) || !event_registration(&l->event, &l->registration))
            continue;
        l->safety = safety;
        listening++;
        EXPECT_CODE(T.event_register_callback(l->registration, safety, MPI_INFO_NULL, l, hear), MPI_SUCCESS, "%s",
                    l->event.name);
    }
    some(listening, "event types that can be listened to");
}

static long heard(void)
{
    long sum = 0;
    for (int i = 0; i < listening; i++)
        sum += listeners[i].calls;
    return sum;
}

/* Listens, does something, and ends the test unless anything was heard. */
static void listen_and_hear(int safety)
{
    listen(safety);
    traffic(20);
    if (heard() == 0)
        skip("no event was raised by messages and collectives");
}

TEST(event_handles, RUNNING, "15.3.8", "A registration of each event type can be had, and freed.")
{
    struct event e;
    int found = 0;
    for (int i = 0, n = events(); i < n; i++) {
        registration r = NULL;
        if (!event_at(i, &e) || !event_registration(&e, &r))
            continue;
        EXPECT_CODE(T.event_handle_free(r, NULL, NULL), MPI_SUCCESS, "%s", e.name);
        found++;
    }
    expect(found, "there are event types, and no registration can be had of any");
}

TEST(event_is_raised, RUNNING, "15.3.8", "An event is raised by calling the callback that was registered for its type.")
{
    listen(SAFE_NONE);
    long before = heard();
    traffic(20);
    expect(heard() > before, "20 messages and 40 collectives raise no event");
}

TEST(event_callback_arguments, RUNNING, "15.3.8",
     "The callback gets its user data, its registration, and a safety level that it was registered for.")
{
    listen_and_hear(SAFE_NONE);
    for (int i = 0; i < listening; i++) {
        struct listener *l = &listeners[i];
        expect(!l->wrong_registration, "%s: another registration", l->event.name);
        expect(!l->wrong_safety, "%s: another safety level", l->event.name);
    }
}

TEST(event_safety_levels, RUNNING, "15.3.8", "A callback that is safe in signal handlers may be called at every level.")
{
    listen_and_hear(SAFE_SIGNAL);
    for (int i = 0; i < listening; i++)
        expect(!listeners[i].wrong_safety, "%s: no level", listeners[i].event.name);
}

TEST(event_read_and_copy, RUNNING, "15.3.8",
     "In the callback, elements are read one by one, or copied all, each at its place: the same bytes.")
{
    listen_and_hear(SAFE_NONE);
    for (int i = 0; i < listening; i++) {
        struct listener *l = &listeners[i];
        expect(!l->failed, "%s: a call in the callback returned %s", l->event.name, code_name(l->last_code));
        expect(!l->unequal, "%s: an element and its copy differ", l->event.name);
    }
}

TEST(event_has_a_source, RUNNING, "15.3.8", "The source of an event is the index of one.")
{
    listen_and_hear(SAFE_NONE);
    for (int i = 0; i < listening; i++)
        expect(!listeners[i].wrong_source, "%s: no source", listeners[i].event.name);
}

TEST(event_timestamps, RUNNING, "15.3.8",
     "The timestamp of an event lies between those of its source before and after; ordered sources do not go back.")
{
    MPI_Count begin[64] = {0}, end[64] = {0};
    int count = 0, order;
    event_calls_find();
    NEED(T.source_get_num(&count));
    for (int i = 0; i < count && i < 64; i++)
        T.source_get_timestamp(i, &begin[i]);
    listen_and_hear(SAFE_NONE);
    for (int i = 0; i < count && i < 64; i++)
        T.source_get_timestamp(i, &end[i]);
    for (int i = 0; i < listening; i++) {
        struct listener *l = &listeners[i];
        if (count == 1 && l->calls) {
            expect(l->last_stamp >= begin[0] && l->last_stamp <= end[0], "%s: %lld is not between %lld and %lld",
                   l->event.name, (long long)l->last_stamp, (long long)begin[0], (long long)end[0]);
            NEED(T.source_get_info(0, NULL, NULL, NULL, NULL, &order, NULL, NULL, NULL));
            expect(order != SOURCE_ORDERED || !l->backward, "%s: timestamps go back", l->event.name);
        }
    }
}

TEST(event_is_per_instance, RUNNING, "15.3.8", "Events tell of each instance: twice as many messages, twice as many.")
{
    long once[EVENTS_MOST];
    listen_and_hear(SAFE_NONE);
    for (int i = 0; i < listening; i++)
        once[i] = listeners[i].calls;
    traffic(40);
    for (int i = 0; i < listening; i++)
        expect(listeners[i].calls == 3 * once[i], "%s: %ld, then %ld in all", listeners[i].event.name, once[i],
               listeners[i].calls);
}

TEST(event_not_before_register, RUNNING, "15.3.8", "Without a callback, a registration changes nothing.")
{
    struct event e;
    for (int i = 0, n = events(); i < n; i++) {
        registration r;
        if (event_at(i, &e) && event_registration(&e, &r))
            listening = 0;
    }
    traffic(5);
    expect(heard() == 0, "something was called");
}

TEST(event_callback_removed, RUNNING, "15.3.8", "A NULL callback takes the registered one away.")
{
    listen_and_hear(SAFE_NONE);
    for (int i = 0; i < listening; i++)
        EXPECT_CODE(T.event_register_callback(listeners[i].registration, SAFE_NONE, MPI_INFO_NULL, NULL, NULL),
                    MPI_SUCCESS, "%s", listeners[i].event.name);
    long before = heard();
    traffic(5);
    expect(heard() == before, "%ld calls after it was taken away", heard() - before);
}

static long others;

static void hear_other(instance e, registration r, int safety, void *user)
{
    (void)e;
    (void)r;
    (void)safety;
    (void)user;
    others++;
}

TEST(event_callback_replaced, RUNNING, "15.3.8", "A second callback of a level replaces the first.")
{
    listen_and_hear(SAFE_NONE);
    for (int i = 0; i < listening; i++)
        EXPECT_CODE(T.event_register_callback(listeners[i].registration, SAFE_NONE, MPI_INFO_NULL, NULL, hear_other),
                    MPI_SUCCESS, "%s", listeners[i].event.name);
    long before = heard();
    traffic(5);
    expect(heard() == before, "the first is still called");
    expect(others > 0, "the second is not called");
}

TEST(event_two_registrations, RUNNING, "15.3.8", "Each registration of an event type has its own callback.")
{
    int second = 0;
    listen_and_hear(SAFE_NONE);
    for (int i = 0; i < listening; i++) {
        registration r;
        if (event_registration(&listeners[i].event, &r) &&
            T.event_register_callback(r, SAFE_NONE, MPI_INFO_NULL, NULL, hear_other) == MPI_SUCCESS)
            second++;
    }
    long before = heard(), before_others = others; /* a registration may raise an event itself */
    traffic(20);
    expect(second == listening, "only %d of %d give a second registration", second, listening);
    expect(others - before_others == heard() - before, "the first heard %ld, the second %ld", heard() - before,
           others - before_others);
}

TEST(event_handle_free, RUNNING, "15.3.8",
     "After a registration is freed its callback is not called; the function given to free is, once, with its data.")
{
    listen_and_hear(SAFE_NONE);
    for (int i = 0; i < listening; i++)
        EXPECT_CODE(T.event_handle_free(listeners[i].registration, &listeners[i], freed), MPI_SUCCESS, "%s",
                    listeners[i].event.name);
    long before = heard();
    traffic(5);
    expect(heard() == before, "%ld calls after it was freed", heard() - before);
    for (int i = 0; i < listening; i++)
        expect(listeners[i].freed == 1, "%s: the function is called %ld times", listeners[i].event.name,
               listeners[i].freed);
}

TEST(event_bad_handles, RUNNING, "15.3.10", "A registration that is none, or was freed: MPI_T_ERR_INVALID_HANDLE.")
{
    listen(SAFE_NONE);
    registration r = listeners[0].registration;
    NEED(T.event_handle_free(r, NULL, NULL));
    registration bad[] = {NULL, r};
    for (int i = 0; i < 2; i++) {
        EXPECT_CODE(T.event_register_callback(bad[i], SAFE_NONE, MPI_INFO_NULL, NULL, hear), MPI_T_ERR_INVALID_HANDLE,
                    "%s", i ? "a freed one" : "NULL");
        EXPECT_CODE(T.event_set_dropped_handler(bad[i], NULL), MPI_T_ERR_INVALID_HANDLE, "%s",
                    i ? "a freed one" : "NULL");
        EXPECT_CODE(T.event_handle_free(bad[i], NULL, NULL), MPI_T_ERR_INVALID_HANDLE, "%s",
                    i ? "a freed one" : "NULL");
    }
}

static void dropped(MPI_Count count, registration r, int source, int safety, void *user)
{
    (void)count;
    (void)r;
    (void)source;
    (void)safety;
    (void)user;
}

TEST(event_dropped_handler, RUNNING, "15.3.8", "A handler for lost events can be set, replaced and taken away.")
{
    listen(SAFE_NONE);
    for (int i = 0; i < listening; i++) {
        EXPECT_CODE(T.event_set_dropped_handler(listeners[i].registration, dropped), MPI_SUCCESS, "%s",
                    listeners[i].event.name);
        EXPECT_CODE(T.event_set_dropped_handler(listeners[i].registration, NULL), MPI_SUCCESS, "%s",
                    listeners[i].event.name);
    }
}

TEST(event_info_objects, RUNNING, "15.3.8",
     "Hints are set on registrations and callbacks; what comes back is a new info object that the user frees.")
{
    MPI_Info hints;
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "no_such_hint", "1");
    listen(SAFE_NONE);
    for (int i = 0; i < listening; i++) {
        struct listener *l = &listeners[i];
        MPI_Info back = MPI_INFO_NULL;
        EXPECT_CODE(T.event_handle_set_info(l->registration, hints), MPI_SUCCESS, "%s", l->event.name);
        EXPECT_CODE(T.event_handle_get_info(l->registration, &back), MPI_SUCCESS, "%s", l->event.name);
        expect(back != MPI_INFO_NULL && MPI_Info_free(&back) == MPI_SUCCESS, "%s: no info object", l->event.name);
        EXPECT_CODE(T.event_callback_set_info(l->registration, SAFE_NONE, hints), MPI_SUCCESS, "%s", l->event.name);
        back = MPI_INFO_NULL;
        EXPECT_CODE(T.event_callback_get_info(l->registration, SAFE_NONE, &back), MPI_SUCCESS, "%s", l->event.name);
        expect(back != MPI_INFO_NULL && MPI_Info_free(&back) == MPI_SUCCESS, "%s: no info object", l->event.name);
    }
}

static int element_code = MPI_SUCCESS, asked;

static void hear_range(instance e, registration r, int safety, void *user)
{
    char buffer[64];
    struct listener *l = listener_of(r);
    (void)safety;
    (void)user;
    asked++;
    if (l && element_code == MPI_SUCCESS)
        element_code = T.event_read(e, l->event.elements, buffer);
}

TEST(event_element_range, RUNNING, "15.3.10", "An element that the event does not have: MPI_T_ERR_INVALID_INDEX.")
{
    listen(SAFE_NONE);
    for (int i = 0; i < listening; i++)
        T.event_register_callback(listeners[i].registration, SAFE_NONE, MPI_INFO_NULL, NULL, hear_range);
    traffic(3);
    some(asked, "event that is raised here");
    expect(element_code == MPI_T_ERR_INVALID_INDEX, "element num_elements: %s, not MPI_T_ERR_INVALID_INDEX",
           code_name(element_code));
}

static MPI_T_pvar_session inner_session;
static MPI_T_pvar_handle inner_handle;
static int inner_calls, inner_failures;

static void hear_and_call(instance e, registration r, int safety, void *user)
{
    unsigned long long values[VALUES_MOST];
    MPI_Count stamp;
    registration fresh;
    struct listener *l = user;
    int n;
    (void)e;
    (void)r;
    (void)safety;
    inner_calls++;
    inner_failures += MPI_T_pvar_read(inner_session, inner_handle, values) != MPI_SUCCESS;
    MPI_T_pvar_stop(inner_session, inner_handle);
    MPI_T_pvar_start(inner_session, inner_handle);
    inner_failures += T.source_get_num(&n) != MPI_SUCCESS;
    T.source_get_timestamp(0, &stamp);
    if (inner_calls < 5 && T.event_handle_alloc(l->event.index, NULL, MPI_INFO_NULL, &fresh) == MPI_SUCCESS)
        T.event_handle_free(fresh, NULL, NULL);
}

TEST(event_calls_in_callback, RUNNING, "15.3.8",
     "In a callback, pvars can be read, started and stopped, sources asked, registrations made and freed.")
{
    int count, ready = 0;
    NEED(MPI_T_pvar_session_create(&inner_session));
    EACH_COUNTING_PVAR(p)
        if (!ready && pvar_handle(p, inner_session, &inner_handle, &count))
            ready = 1;
    some(ready, "variable that counts what this program does");
    listen(SAFE_NONE);
    for (int i = 0; i < listening; i++)
        T.event_register_callback(listeners[i].registration, SAFE_NONE, MPI_INFO_NULL, &listeners[i], hear_and_call);
    traffic(10);
    some(inner_calls, "event that is raised here");
    expect(inner_failures == 0, "%d of %d calls failed", inner_failures, inner_calls);
}

TEST(event_bound_to_its_object, RUNNING, "15.3.8", "An event that is bound to a communicator tells of that one alone.")
{
    MPI_Comm other;
    int found = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int i = 0, n = events(); i < n && listening < EVENTS_MOST; i++) {
        struct listener *l = &listeners[listening];
        memset(l, 0, sizeof *l);
        if (!event_at(i, &l->event) || l->event.bind != MPI_T_BIND_MPI_COMM ||
            T.event_handle_alloc(i, &other, MPI_INFO_NULL, &l->registration) != MPI_SUCCESS)
            continue;
        listening++;
        found++;
        T.event_register_callback(l->registration, SAFE_NONE, MPI_INFO_NULL, l, hear);
    }
    some(found, "event types that are bound to a communicator");
    traffic(10);
    expect(heard() == 0, "%ld events of a duplicate by calls on the original", heard());
    MPI_Barrier(other);
    MPI_Comm_free(&other);
    traffic(1);
}
