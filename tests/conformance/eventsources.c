/* Event sources, and what is said of event types. */
#include "eventcalls.h"

#include <limits.h>
#include <string.h>
#include <time.h>

static int sources(void)
{
    int count = 0;
    event_calls_find();
    NEED(T.source_get_num(&count));
    some(count, "event sources");
    return count;
}

TEST(events_have_a_source, RUNNING, "15.3.8", "Where there are event types, there is a source.")
{
    int count = 0;
    events();
    NEED(T.source_get_num(&count));
    expect(count > 0, "there are events and %d sources", count);
}

TEST(source_info, RUNNING, "15.3.8", "A source has a name, an order, ticks per second and a largest timestamp.")
{
    for (int i = 0, n = sources(); i < n; i++) {
        char name[256] = "", text[4096] = "x";
        int name_length = 256, text_length = 4096, order = -1;
        MPI_Count ticks = -1, most = -1;
        EXPECT_CODE(T.source_get_info(i, name, &name_length, text, &text_length, &order, &ticks, &most, NULL),
                    MPI_SUCCESS, "source %d", i);
        expect(name[0], "source %d has no name", i);
        expect(name_length == (int)strlen(name) + 1 && text_length == (int)strlen(text) + 1,
               "source %s: lengths %d and %d", name, name_length, text_length);
        expect(order == SOURCE_ORDERED || order == SOURCE_UNORDERED, "source %s has order %d", name, order);
        expect(ticks > 0 && most > 0, "source %s: %lld ticks a second, %lld at most", name, (long long)ticks,
               (long long)most);
    }
}

TEST(source_range, RUNNING, "15.3.10", "An index that no source has: MPI_T_ERR_INVALID_INDEX.")
{
    int n = sources(), order;
    MPI_Count stamp;
    int out[] = {n, -1, INT_MAX};
    for (int i = 0; i < 3; i++) {
        EXPECT_CODE(T.source_get_info(out[i], NULL, NULL, NULL, NULL, &order, NULL, NULL, NULL),
                    MPI_T_ERR_INVALID_INDEX, "%d", out[i]);
        EXPECT_CODE(T.source_get_timestamp(out[i], &stamp), MPI_T_ERR_INVALID_INDEX, "%d", out[i]);
    }
}

TEST(source_nulls, RUNNING, "15.3.8", "OUT parameters that are NULL are ignored: MPI_T_source_get_info.")
{
    for (int i = 0, n = sources(); i < n; i++)
        EXPECT_CODE(T.source_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_SUCCESS, "source %d", i);
}

TEST(source_info_object, RUNNING, "15.3.8", "The info object of a source is new: the user frees it.")
{
    for (int i = 0, n = sources(); i < n; i++) {
        MPI_Info info = MPI_INFO_NULL;
        EXPECT_CODE(T.source_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &info), MPI_SUCCESS, "source %d", i);
        if (info != MPI_INFO_NULL)
            expect(MPI_Info_free(&info) == MPI_SUCCESS, "the info object of source %d cannot be freed", i);
    }
}

TEST(source_clock, RUNNING, "15.3.8", "The timestamp of a source advances by its ticks per second, up to its largest.")
{
    int judged = 0;
    for (int i = 0, n = sources(); i < n; i++) {
        MPI_Count begin = -1, end = -1, ticks = 0, most = 0;
        struct timespec nap = {0, 200000000}, before, after;
        NEED(T.source_get_info(i, NULL, NULL, NULL, NULL, NULL, &ticks, &most, NULL));
        if (T.source_get_timestamp(i, &begin) != MPI_SUCCESS)
            continue;
        clock_gettime(CLOCK_MONOTONIC, &before);
        nanosleep(&nap, NULL);
        clock_gettime(CLOCK_MONOTONIC, &after);
        NEED(T.source_get_timestamp(i, &end));
        double seconds = (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) * 1e-9;
        double measured = (double)(end - begin) / (double)ticks;
        expect(measured > seconds * 0.9 && measured < seconds * 1.1 + 0.05, "source %d: %g s by its clock in %g s", i,
               measured, seconds);
        expect(end <= most, "source %d: %lld is over its largest timestamp", i, (long long)end);
        judged++;
    }
    some(judged, "sources with a clock");
}

/* ---- event types ------------------------------------------------------------------------------------------------- */

TEST(event_info_every_index, RUNNING, "15.3.8", "Every index below the number of event types can be asked for.")
{
    struct event e;
    for (int i = 0, n = events(); i < n; i++) {
        expect(event_at(i, &e), "MPI_T_event_get_info fails for %d of %d", i, n);
        expect(e.name[0], "event type %d has no name", i);
        expect(is_verbosity(e.verbosity), "%s has verbosity %d", e.name, e.verbosity);
        expect(is_bind(e.bind), "%s has bind %d", e.name, e.bind);
    }
}

TEST(event_range, RUNNING, "15.3.10", "An index that no event type has: MPI_T_ERR_INVALID_INDEX.")
{
    int n = events(), verbosity, out[] = {n, -1, INT_MAX};
    registration r;
    for (int i = 0; i < 3; i++) {
        EXPECT_CODE(T.event_get_info(out[i], NULL, NULL, &verbosity, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
                    MPI_T_ERR_INVALID_INDEX, "%d", out[i]);
        EXPECT_CODE(T.event_handle_alloc(out[i], NULL, MPI_INFO_NULL, &r), MPI_T_ERR_INVALID_INDEX, "%d", out[i]);
    }
}

TEST(event_names, RUNNING, "15.3.8", "The name of an event type is unique, and MPI_T_event_get_index finds it.")
{
    struct event a, b;
    for (int i = 0, n = events(); i < n; i++) {
        int index = -1;
        if (!event_at(i, &a))
            continue;
        EXPECT_CODE(T.event_get_index(a.name, &index), MPI_SUCCESS, "%s", a.name);
        expect(index == i, "%s is event type %d, and found as %d", a.name, i, index);
        for (int j = 0; j < i; j++)
            expect(!event_at(j, &b) || strcmp(a.name, b.name) != 0, "%s is the name of %d and %d", a.name, j, i);
    }
}

TEST(event_get_index_unknown, TOOL, "15.3.8", "A name that no event type has: MPI_T_ERR_INVALID_NAME.")
{
    int index;
    event_calls_find();
    EXPECT_CODE(T.event_get_index("no such event", &index), MPI_T_ERR_INVALID_NAME, "an unknown name");
}

TEST(event_nulls, RUNNING, "15.3.8", "OUT parameters that are NULL are ignored: MPI_T_event_get_info.")
{
    for (int i = 0, n = events(); i < n; i++)
        EXPECT_CODE(T.event_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_SUCCESS,
                    "event type %d", i);
}

TEST(event_elements, RUNNING, "15.3.8",
     "The elements of an event have basic types, and places in its buffer that do not overlap.")
{
    struct event e;
    for (int i = 0, n = events(); i < n; i++) {
        if (!event_at(i, &e))
            continue;
        expect(e.elements >= 0 && e.elements <= ELEMENTS_MOST, "%s has %d elements", e.name, e.elements);
        for (int k = 0; k < e.elements && k < ELEMENTS_MOST; k++) {
            MPI_Aint end = e.places[k] + (MPI_Aint)element_bytes(e.types[k]);
            expect(e.places[k] >= 0 && end > e.places[k], "element %d of %s lies at %ld", k, e.name, (long)e.places[k]);
            for (int j = 0; j < k; j++)
                expect(end <= e.places[j] || e.places[k] >= e.places[j] + (MPI_Aint)element_bytes(e.types[j]),
                       "elements %d and %d of %s overlap", j, k, e.name);
        }
    }
}

TEST(event_elements_number, RUNNING, "15.3.8",
     "With NULL arrays, or fewer places than elements, num_elements is the number that there are; no more is written.")
{
    struct event e;
    for (int i = 0, n = events(); i < n; i++) {
        int count = 0, one = 1;
        MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
        MPI_Aint places[2] = {-7, -7};
        if (!event_at(i, &e))
            continue;
        EXPECT_CODE(T.event_get_info(i, NULL, NULL, NULL, NULL, NULL, &count, NULL, NULL, NULL, NULL, NULL),
                    MPI_SUCCESS, "%s", e.name);
        expect(count == e.elements, "%s has %d elements, and %d by NULL arrays", e.name, e.elements, count);
        EXPECT_CODE(T.event_get_info(i, NULL, NULL, NULL, types, places, &one, NULL, NULL, NULL, NULL, NULL),
                    MPI_SUCCESS, "%s", e.name);
        expect(one == e.elements, "%s has %d elements, and %d by short arrays", e.name, e.elements, one);
        expect(types[1] == MPI_DATATYPE_NULL && places[1] == -7, "%s writes beyond short arrays", e.name);
    }
}

TEST(event_strings, RUNNING, "15.3.3", "Strings of event types are cut, terminated and measured as all strings are.")
{
    struct event e;
    for (int i = 0, n = events(); i < n; i++) {
        char text[8] = "zzzzzzz";
        int length = 4;
        if (!event_at(i, &e))
            continue;
        EXPECT_CODE(T.event_get_info(i, text, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
                    MPI_SUCCESS, "%s", e.name);
        expect(length == (int)strlen(e.name) + 1, "%s: length %d", e.name, length);
        expect(strncmp(text, e.name, 3) == 0 && text[3] == '\0' && text[4] == 'z', "%s is cut to %.7s", e.name, text);
    }
}

TEST(event_info_is_constant, RUNNING, "15.3.8", "What MPI_T_event_get_info said of an event type, it says again.")
{
    struct event a, b;
    for (int i = 0, n = events(); i < n; i++)
        if (event_at(i, &a)) {
            traffic(1);
            expect(event_at(i, &b) && memcmp(&a, &b, sizeof a) == 0, "%s is described otherwise", a.name);
        }
}

TEST(event_indices_stay, TOOL, "15.3.8", "The number of event types may grow; an index never changes its meaning.")
{
    static struct event before[256];
    struct event now;
    int n = events(), m = 0;
    for (int i = 0; i < n && i < 256; i++)
        event_at(i, &before[i]);
    mpi_begin();
    NEED(T.event_get_num(&m));
    expect(m >= n, "%d before MPI_Init, %d after it", n, m);
    for (int i = 0; i < n && i < 256; i++)
        expect(event_at(i, &now) && strcmp(now.name, before[i].name) == 0, "event type %d was %s, is %s", i,
               before[i].name, now.name);
}

TEST(refused_before_init_events, BARE, "15.3.4",
     "Calls on events before the interface is initialized return MPI_T_ERR_NOT_INITIALIZED.")
{
    int n;
    MPI_Count stamp;
    registration r = NULL;
    event_calls_find();
    EXPECT_CODE(T.event_get_num(&n), MPI_T_ERR_NOT_INITIALIZED, "nothing");
    EXPECT_CODE(T.event_get_index("a", &n), MPI_T_ERR_NOT_INITIALIZED, "a");
    EXPECT_CODE(T.event_get_info(0, NULL, NULL, &n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
                MPI_T_ERR_NOT_INITIALIZED, "0");
    EXPECT_CODE(T.event_handle_alloc(0, NULL, MPI_INFO_NULL, &r), MPI_T_ERR_NOT_INITIALIZED, "0");
    EXPECT_CODE(T.source_get_num(&n), MPI_T_ERR_NOT_INITIALIZED, "nothing");
    EXPECT_CODE(T.source_get_timestamp(0, &stamp), MPI_T_ERR_NOT_INITIALIZED, "0");
    EXPECT_CODE(T.category_get_num_events(0, &n), MPI_T_ERR_NOT_INITIALIZED, "0");
}

TEST(category_events, RUNNING, "15.3.9", "A category says how many event types it has, and which.")
{
    int categories = 0, n = events(), seen = 0;
    NEED(MPI_T_category_get_num(&categories));
    for (int i = 0; i < categories; i++) {
        int count = -1, indices[256];
        EXPECT_CODE(T.category_get_num_events(i, &count), MPI_SUCCESS, "category %d", i);
        EXPECT_CODE(T.category_get_events(i, 256, indices), MPI_SUCCESS, "category %d", i);
        for (int k = 0; k < count && k < 256; k++, seen++)
            expect(indices[k] >= 0 && indices[k] < n, "category %d has event type %d of %d", i, indices[k], n);
    }
    EXPECT_CODE(T.category_get_num_events(categories, &n), MPI_T_ERR_INVALID_INDEX, "%d", categories);
    some(seen, "events in categories");
}
