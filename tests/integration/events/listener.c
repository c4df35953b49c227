/*
 * listener [threads]: registers callbacks for all events of mpit and compares every count and every element with what
 * it did itself. With `threads` under MPI_THREAD_MULTIPLE.
 */
#include "listener.h"
#include "mpicaller.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct account expected, observed;
MPI_Comm comms[COMMS];
int rank, size, failures;
int type_index[TYPES], type_elements[TYPES];
unsigned long long sends_posted[COMMS], messages_completed[COMMS];

static const char *const type_names[TYPES] = {
    "mpit_message_posted",     "mpit_message_completed",  "mpit_collective_begin",
    "mpit_collective_end",     "mpit_request_completed",  "mpit_pending_sends_over",
    "mpit_pending_recvs_over", "mpit_pending_bytes_over", "mpit_event_lost"};

static int names_comm[TYPES], names_site[TYPES]; /* has that element */
static MPI_Datatype datatypes[TYPES][ELEMENTS_MOST];
static MPI_Aint displacements[TYPES][ELEMENTS_MOST];
static MPI_Count begun; /* timestamp before the call whose events are awaited */

void check(int good, const char *condition, const char *file, int line, const char *format, ...)
{
    if (good)
        return;
    va_list args;
    va_start(args, format);
    fprintf(stderr, "rank %d: %s:%d: %s ", rank, file, line, condition);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    failures++;
}

int item_of(const char *pvar, const char *name)
{
    int index, class, count = 0, value = -1;
    static const int classes[] = {MPI_T_PVAR_CLASS_COUNTER, MPI_T_PVAR_CLASS_TIMER};
    MPI_T_enum names = MPI_T_ENUM_NULL;
    for (int i = 0; i < 2; i++)
        if (MPI_T_pvar_get_index(pvar, classes[i], &index) == MPI_SUCCESS)
            MPI_T_pvar_get_info(index, NULL, NULL, NULL, &class, NULL, &names, NULL, NULL, NULL, NULL, NULL, NULL);
    CHECK(MPI_T_enum_get_info(names, &count, NULL, NULL) == MPI_SUCCESS, "of %s", pvar);
    for (int i = 0; i < count; i++) {
        char text[64];
        int length = sizeof text;
        MPI_T_enum_get_item(names, i, &value, text, &length);
        if (strcmp(text, name) == 0)
            return value;
    }
    CHECK(0, "%s is no item of the enumeration of %s", name, pvar);
    return -1;
}

void expect(int type, int comm, ...)
{
    va_list args;
    va_start(args, comm);
    struct seen *seen = &expected.list[expected.count++];
    *seen = (struct seen){.type = type, .comm = comm};
    for (int i = 0; i < type_elements[type]; i++)
        seen->value[i] = va_arg(args, long long);
    va_end(args);
}

static void seen_print(const char *what, const struct seen *seen)
{
    fprintf(stderr, "    %s %s comm %d:", what, type_names[seen->type], seen->comm);
    for (int i = 0; i < type_elements[seen->type]; i++)
        fprintf(stderr, " %lld", seen->value[i]);
    fprintf(stderr, "\n");
}

static int seen_equal(const struct seen *a, const struct seen *b)
{
    int equal = a->type == b->type && a->comm == b->comm;
    for (int i = 0; equal && i < type_elements[a->type]; i++)
        equal = a->value[i] == b->value[i] || a->value[i] == ANY_VALUE;
    return equal;
}

void compare(const char *what)
{
    int same = expected.count == observed.count;
    for (int i = 0; same && i < expected.count; i++)
        same = seen_equal(&expected.list[i], &observed.list[i]);
    CHECK(same, "%s: expected %d events, observed %d", what, expected.count, observed.count);
    for (int i = 0; !same && i < 12; i++) {
        if (i < expected.count)
            seen_print("expected", &expected.list[i]);
        if (i < observed.count)
            seen_print("observed", &observed.list[i]);
    }
    expected.count = observed.count = 0;
    CHECK(MPI_T_source_get_timestamp(0, &begun) == MPI_SUCCESS);
}

/* Times agree: a message, request or collective began when its time before its end says; messages that were posted did
 * so at the timestamp of that event, to a rounding. */
static void times_check(const struct seen *seen)
{
    static struct seen posted[256];
    static unsigned count;
    if (seen->type == POSTED)
        posted[count++ % 256] = *seen;
    if (seen->type != COMPLETED && seen->type != COLL_END && seen->type != REQUEST)
        return;
    long long time = seen->value[type_elements[seen->type] - 1], began = seen->when - time;
    int call = (int)seen->value[seen->type == COMPLETED ? 3 : 0], found = 0;
    CHECK(time > 0 && time < 60000000000LL, "%s took %lld ns", type_names[seen->type], time);
    if (seen->type != COMPLETED || call == CALL(MPI_Recv) || (call == CALL(MPI_Sendrecv) && seen->value[0] == 1)) {
        CHECK(call != CALL(MPI_Recv) || began >= begun);
        return;
    }
    for (int i = 0; i < 256 && !found; i++)
        found = posted[i].when && posted[i].comm == seen->comm && posted[i].value[0] == seen->value[0] &&
                posted[i].value[3] == call && began - posted[i].when <= 2 && posted[i].when - began <= 2;
    CHECK(found, "no %s at %lld", type_names[POSTED], began);
}

/* What read and copy say of an element. */
static long long element(MPI_T_event_instance instance, int type, int i, const char *copied)
{
    int number = 0, number_copied;
    unsigned long long wide = 0, wide_copied;
    if (datatypes[type][i] == MPI_INT) {
        CHECK(MPI_T_event_read(instance, i, &number) == MPI_SUCCESS);
        memcpy(&number_copied, copied + displacements[type][i], sizeof number);
        CHECK(number == number_copied, "element %d of %s", i, type_names[type]);
        return number;
    }
    CHECK(datatypes[type][i] == MPI_UNSIGNED_LONG_LONG);
    CHECK(MPI_T_event_read(instance, i, &wide) == MPI_SUCCESS);
    memcpy(&wide_copied, copied + displacements[type][i], sizeof wide);
    CHECK(wide == wide_copied, "element %d of %s", i, type_names[type]);
    return (long long)wide;
}

static size_t extent(int type)
{
    int last = type_elements[type] + names_comm[type] + names_site[type] - 1;
    return (size_t)displacements[type][last] +
           (datatypes[type][last] == MPI_INT ? sizeof(int) : sizeof(unsigned long long));
}

void on_event(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
              void *user_data)
{
    int code = (int)(long)user_data, type = code / 8, source = -1, ignored;
    char copied[128];
    MPI_Count when = 0, now = 0;
    struct seen *seen = &observed.list[observed.count++];
    (void)registration;
    (void)safety;
    memset(copied, 0x5a, sizeof copied);
    *seen = (struct seen){.type = type, .comm = code % 8 - 1};
    CHECK(MPI_T_event_copy(instance, copied) == MPI_SUCCESS);
    for (size_t i = extent(type); i < sizeof copied; i++)
        CHECK(copied[i] == 0x5a, "copy of %s wrote behind its end", type_names[type]);
    for (int i = 0; i < type_elements[type]; i++)
        seen->value[i] = element(instance, type, i, copied);
    if (names_comm[type])
        CHECK((MPI_Comm)(uintptr_t)element(instance, type, type_elements[type], copied) == comms[seen->comm]);
    int site = type_elements[type] + names_comm[type];
    if (names_site[type]) {
        uintptr_t told = (uintptr_t)element(instance, type, site, copied), caller = caller_of_mpi();
        CHECK(told == caller, "%s: site %#lx, not %#lx", type_names[type], (long)told, (long)caller);
    }
    CHECK(MPI_T_event_read(instance, site + names_site[type], &ignored) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_read(instance, -1, &ignored) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_get_source(instance, &source) == MPI_SUCCESS && source == 0);
    CHECK(MPI_T_event_get_timestamp(instance, &when) == MPI_SUCCESS);
    CHECK(MPI_T_source_get_timestamp(0, &now) == MPI_SUCCESS);
    CHECK(when >= begun && when <= now, "%s: %lld .. %lld .. %lld", type_names[type], (long long)begun, (long long)when,
          (long long)now);
    if (type == POSTED && seen->value[0] == 0)
        sends_posted[seen->comm]++;
    if (type == COMPLETED)
        messages_completed[seen->comm]++;
    seen->when = (long long)when;
    times_check(seen);
}

MPI_T_event_registration listen_to(int type, int comm, MPI_T_cb_safety safety, MPI_Info info)
{
    MPI_T_event_registration registration = NULL;
    int result = MPI_T_event_handle_alloc(type_index[type], comm < 0 ? NULL : &comms[comm], info, &registration);
    CHECK(result == MPI_SUCCESS, "handle of %s: %d", type_names[type], result);
    result = MPI_T_event_register_callback(registration, safety, MPI_INFO_NULL, (void *)(long)(type * 8 + comm + 1),
                                           on_event);
    CHECK(result == MPI_SUCCESS, "callback of %s: %d", type_names[type], result);
    return registration;
}

static void type_learn(int type)
{
    char name[64], text[64], description[1024];
    int length = sizeof name, description_length = sizeof description, verbosity = -1, num = ELEMENTS_MOST, bind = -1;
    int items = 0, item, text_length;
    MPI_T_enum names = MPI_T_ENUM_NULL;
    CHECK(MPI_T_event_get_index(type_names[type], &type_index[type]) == MPI_SUCCESS, "%s", type_names[type]);
    CHECK(MPI_T_event_get_info(type_index[type], name, &length, &verbosity, datatypes[type], displacements[type], &num,
                               &names, NULL, description, &description_length, &bind) == MPI_SUCCESS);
    CHECK(strcmp(name, type_names[type]) == 0 && length == (int)strlen(name) + 1);
    CHECK(description_length == (int)strlen(description) + 1 && description_length > 1);
    CHECK(verbosity == (type == COMPLETED || type == COLL_END || type == LOST     ? MPI_T_VERBOSITY_USER_BASIC
                        : type == POSTED || type == COLL_BEGIN || type == REQUEST ? MPI_T_VERBOSITY_USER_DETAIL
                                                                                  : MPI_T_VERBOSITY_TUNER_BASIC));
    CHECK(bind == (type == LOST ? MPI_T_BIND_NO_OBJECT : MPI_T_BIND_MPI_COMM));
    CHECK(displacements[type][0] == 0);
    for (int i = 1; i < num; i++)
        CHECK(displacements[type][i] > displacements[type][i - 1]);
    CHECK(MPI_T_enum_get_info(names, &items, NULL, NULL) == MPI_SUCCESS && items == num);
    names_comm[type] = names_site[type] = 0;
    for (int i = 0; i < num; i++) {
        text_length = sizeof text;
        CHECK(MPI_T_enum_get_item(names, i, &item, text, &text_length) == MPI_SUCCESS && item == i && text[0]);
        names_comm[type] |= strcmp(text, "comm") == 0;
        names_site[type] |= i == num - 1 && strcmp(text, "site") == 0; /* the last one */
    }
    CHECK(names_comm[type] == (type < SENDS_OVER));
    CHECK(names_site[type] == (type != LOST));
    type_elements[type] = num - names_comm[type] - names_site[type];
}

static void sources_check(void)
{
    MPI_T_source_order order;
    MPI_Count per_second = 0, most = 0, first, second;
    char name[64];
    int length = sizeof name, count = 0;
    CHECK(MPI_T_source_get_num(&count) == MPI_SUCCESS && count >= 1);
    CHECK(MPI_T_source_get_info(0, name, &length, NULL, NULL, &order, &per_second, &most, NULL) == MPI_SUCCESS);
    CHECK(strcmp(name, "mpit_clock") == 0 && order == MPI_T_SOURCE_UNORDERED);
    double begin = MPI_Wtime();
    CHECK(MPI_T_source_get_timestamp(0, &first) == MPI_SUCCESS);
    while (MPI_Wtime() - begin < 0.05)
        ;
    CHECK(MPI_T_source_get_timestamp(0, &second) == MPI_SUCCESS);
    double elapsed = MPI_Wtime() - begin, told = (double)(second - first) / (double)per_second;
    CHECK(told >= 0.049 && told <= elapsed * 1.01, "%g of %g s", told, elapsed);
    CHECK(most > second);
    CHECK(MPI_T_source_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_source_get_timestamp(-1, &first) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_source_get_timestamp(count, &first) == MPI_T_ERR_INVALID_INDEX);
}

static void category_check(void)
{
    int category, count = 0, indices[64], info_count = 0;
    CHECK(MPI_T_category_get_index("mpit/event", &category) == MPI_SUCCESS);
    CHECK(MPI_T_category_get_num_events(category, &count) == MPI_SUCCESS && count >= TYPES && count <= 64);
    CHECK(MPI_T_category_get_events(category, 64, indices) == MPI_SUCCESS);
    for (int type = 0; type < TYPES; type++) {
        int there = 0;
        for (int i = 0; i < count; i++)
            there += indices[i] == type_index[type];
        CHECK(there == 1, "%s stands %d times in the category", type_names[type], there);
    }
    CHECK(MPI_T_category_get_num(&info_count) == MPI_SUCCESS);
    CHECK(MPI_T_category_get_num_events(info_count, &count) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_events(-1, 64, indices) == MPI_T_ERR_INVALID_INDEX);
}

/* Before MPI_T_init_thread and after MPI_T_finalize. */
void outside_check(int before)
{
    int number = -1;
    MPI_Count ticks;
    MPI_T_event_registration registration;
    CHECK(MPI_T_event_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED, "%d", before);
    CHECK(MPI_T_source_get_timestamp(0, &ticks) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &registration) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(PMPI_T_event_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 && strcmp(argv[1], "threads") == 0, provided, all = 0;
#if defined(MPIT_DECLARES_EVENTS)
    if (!MPI_T_event_get_num) {
        fprintf(stderr, "listener: mpit is not loaded\n");
        return 3;
    }
#endif
    outside_check(1);
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    for (int type = 0; type < TYPES; type++) /* all of it is there before MPI_Init */
        type_learn(type);
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[2]);
    sources_check();
    category_check();
    if (threads) {
        threads_check();
    } else {
        traffic_check();
        corners_check();
    }
    MPI_Comm_free(&comms[2]);
    MPI_Comm_free(&comms[1]);
    MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d failures\n", all);
    MPI_Finalize();
    MPI_T_finalize();
    outside_check(0);
    return failures != 0;
}
