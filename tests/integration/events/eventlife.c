/*
 * eventlife FILE: two processes make and free communicators, windows and files, err, wait and access, and listen to the
 * events that tell so; bound types are heard for any communicator. Every event and element has to be what the program
 * did itself.
 */
#include <mpi.h>
#include <mpit/mpi_t.h>

#include "mpicaller.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    COMM_CREATED,
    COMM_FREED,
    WIN_CREATED,
    WIN_FREED,
    OPENED,
    CLOSED,
    ERROR,
    STALLED,
    RMA,
    IO,
    COMPLETED,
    ENDED,
    TYPES
};
enum { ELEMENTS_MOST = 10, SEEN_MOST = 512 };

static const char *const names[TYPES] = {"mpit_comm_created", "mpit_comm_freed",        "mpit_window_created",
                                         "mpit_window_freed", "mpit_file_opened",       "mpit_file_closed",
                                         "mpit_call_error",   "mpit_call_stalled",      "mpit_rma_call",
                                         "mpit_io_call",      "mpit_message_completed", "mpit_collective_end"};

struct seen {
    int type;
    long long value[ELEMENTS_MOST];
};

static struct seen list[SEEN_MOST];
static int seen_count, failures, rank, elements[TYPES];
static MPI_Datatype datatypes[TYPES][ELEMENTS_MOST];
static MPI_Comm found; /* what the last mpit_comm_created has told of, and a handle bound to it */
static MPI_T_event_registration found_handle;
static int found_messages;

#define CHECK(condition, ...) check((condition), #condition, __LINE__, "" __VA_ARGS__)
static void check(int good, const char *condition, int line, const char *format, ...)
{
    va_list args;
    if (good)
        return;
    va_start(args, format);
    fprintf(stderr, "rank %d: line %d: %s ", rank, line, condition);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    failures++;
}

static int item_of(const char *name)
{
    int index, class, count = 0, value = -1;
    MPI_T_enum items = MPI_T_ENUM_NULL;
    MPI_T_pvar_get_index("mpit_call_count", MPI_T_PVAR_CLASS_COUNTER, &index);
    MPI_T_pvar_get_info(index, NULL, NULL, NULL, &class, NULL, &items, NULL, NULL, NULL, NULL, NULL, NULL);
    MPI_T_enum_get_info(items, &count, NULL, NULL);
    for (int i = 0; i < count; i++) {
        char text[64];
        int length = sizeof text;
        MPI_T_enum_get_item(items, i, &value, text, &length);
        if (strcmp(text, name) == 0)
            return value;
    }
    return -1;
}

static void on_bound(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_cb_safety safety, void *data)
{
    (void)event, (void)handle, (void)safety, (void)data;
    found_messages++;
}

/* A tool that meets a new communicator listens to that one. */
static void found_listen(unsigned long long handle)
{
    int index;
    found = (MPI_Comm)(uintptr_t)handle;
    MPI_T_event_get_index("mpit_message_completed", &index);
    CHECK(MPI_T_event_handle_alloc(index, &found, MPI_INFO_NULL, &found_handle) == MPI_SUCCESS);
    CHECK(MPI_T_event_register_callback(found_handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, on_bound) ==
          MPI_SUCCESS);
}

static void on_event(MPI_T_event_instance event, MPI_T_event_registration handle, MPI_T_cb_safety safety, void *data)
{
    int type = (int)(intptr_t)data;
    struct seen *seen = &list[seen_count < SEEN_MOST - 1 ? seen_count++ : seen_count];
    (void)handle, (void)safety;
    seen->type = type;
    for (int i = 0; i < elements[type]; i++) {
        int number = 0;
        unsigned long long wide = 0;
        bool narrow = datatypes[type][i] == MPI_INT;
        CHECK(MPI_T_event_read(event, i, narrow ? (void *)&number : (void *)&wide) == MPI_SUCCESS);
        seen->value[i] = narrow ? number : (long long)wide;
    }
    unsigned long long site =
        (unsigned long long)seen->value[elements[type] - 1]; /* the last element of all types here */
    CHECK(site == caller_of_mpi(), "%s: site %llx, not %llx", names[type], site, (unsigned long long)caller_of_mpi());
    if (type == COMM_CREATED)
        found_listen((unsigned long long)seen->value[2]);
    if (type == RMA || type == IO) /* its records must not come between those of the call */
        MPI_Barrier(MPI_COMM_SELF);
}

static void listen_to_all(void)
{
    for (int type = 0; type < TYPES; type++) {
        int index, bind = -1;
        MPI_T_event_registration handle;
        elements[type] = ELEMENTS_MOST;
        CHECK(MPI_T_event_get_index(names[type], &index) == MPI_SUCCESS, "%s", names[type]);
        CHECK(MPI_T_event_get_info(index, NULL, NULL, NULL, datatypes[type], NULL, &elements[type], NULL, NULL, NULL,
                                   NULL, &bind) == MPI_SUCCESS);
        CHECK(bind == (type >= RMA ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT), "%s", names[type]);
        CHECK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &handle) == MPI_SUCCESS, "%s", names[type]);
        CHECK(MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, (void *)(intptr_t)type,
                                            on_event) == MPI_SUCCESS);
    }
}

/* The next event of this type, once; NULL and an error if there is none. Stalls come as they like. */
static const struct seen *next_of(int type)
{
    for (int i = 0; i < seen_count; i++)
        if (list[i].type == type) {
            list[i].type = -1;
            return &list[i];
        }
    CHECK(0, "no %s", names[type]);
    return NULL;
}

static int last_of(int type)
{
    int i = seen_count - 1;
    while (i >= 0 && list[i].type != type)
        i--;
    return i;
}

static void all_told(const char *what)
{
    for (int i = 0; i < seen_count; i++)
        CHECK(list[i].type < 0 || list[i].type == STALLED, "%s: one more %s, of call %lld", what, names[list[i].type],
              list[i].value[0]);
    seen_count = 0;
}

/* As events have handles; some MPIs have integers for them, and a window's may stand there with its sign. */
#define NUMBER(handle) ((unsigned)(uintptr_t)(handle))

static void comm_told(int type, const char *call, MPI_Comm comm, int size, MPI_Comm parent)
{
    const struct seen *seen = next_of(type);
    if (!seen)
        return;
    CHECK(seen->value[0] == item_of(call), "%s: call %lld", call, seen->value[0]);
    CHECK(seen->value[1] == size && (unsigned)seen->value[2] == NUMBER(comm), "%s", call);
    CHECK((unsigned)seen->value[3] == (parent == MPI_COMM_NULL ? 0 : NUMBER(parent)), "%s: parent", call);
}

static void communicators(void)
{
    MPI_Comm dup, half, copy, was;
    MPI_Request request;
    int number = rank, other;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    comm_told(COMM_CREATED, "MPI_Comm_dup", dup, 2, MPI_COMM_WORLD);
    all_told("dup");
    CHECK(NUMBER(found) == NUMBER(dup));
    MPI_Sendrecv(&number, 1, MPI_INT, 1 - rank, 1, &other, 1, MPI_INT, 1 - rank, 1, dup, MPI_STATUS_IGNORE);
    CHECK(found_messages == 2, "%d", found_messages);
    for (int i = 0; i < 2; i++) {
        const struct seen *seen = next_of(COMPLETED);
        CHECK(seen && seen->value[0] == i && seen->value[1] == 1 - rank && (unsigned)seen->value[6] == NUMBER(dup));
    }
    MPI_Comm_split(dup, rank, 0, &half);
    comm_told(COMM_CREATED, "MPI_Comm_split", half, 1, dup);
    MPI_Comm_split(dup, MPI_UNDEFINED, 0, &was);
    MPI_Comm_idup(half, &copy, &request);
    all_told("an idup is not there before its request is complete");
    for (int ended = 0; !ended;)
        MPI_Request_get_status(request, &ended, MPI_STATUS_IGNORE);
    comm_told(COMM_CREATED, "MPI_Comm_idup", copy, 1, half);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    all_told("idup");
    was = copy;
    MPI_Comm_free(&copy);
    comm_told(COMM_FREED, "MPI_Comm_free", was, 1, half);
    was = half;
    MPI_Comm_disconnect(&half);
    comm_told(COMM_FREED, "MPI_Comm_disconnect", was, 1, dup);
    was = dup;
    MPI_Comm_free(&dup);
    comm_told(COMM_FREED, "MPI_Comm_free", was, 2, MPI_COMM_WORLD);
    all_told("communicators");
}

static void object_told(int type, const char *call, int number, unsigned handle, MPI_Comm comm)
{
    const struct seen *seen = next_of(type);
    if (seen)
        CHECK(seen->value[0] == item_of(call) && seen->value[1] == number && (unsigned)seen->value[2] == handle &&
                  (sizeof(MPI_Win) > 4 || type > WIN_FREED || seen->value[2] >> 32 == 0) && /* without a sign */
                  (unsigned)seen->value[3] == NUMBER(comm),
              "%s: %lld %lld %llx %llx", call, seen->value[0], seen->value[1], seen->value[2], seen->value[3]);
}

static void access_told(int type, const char *call, int number, int target, long long bytes, MPI_Comm comm)
{
    const struct seen *seen = next_of(type);
    int behind = type == RMA ? 1 : 0;
    if (!seen)
        return;
    CHECK(seen->value[0] == item_of(call) && seen->value[1] == number, "%s: %lld %lld", call, seen->value[0],
          seen->value[1]);
    CHECK(type == IO || seen->value[2] == target, "%s: target %lld", call, seen->value[2]);
    CHECK(seen->value[2 + behind] == 0 && seen->value[3 + behind] == bytes, "%s: %lld bytes", call,
          seen->value[3 + behind]);
    CHECK(seen->value[4 + behind] > 0 && (unsigned)seen->value[5 + behind] == NUMBER(comm), "%s", call);
}

static void windows(void)
{
    double memory[4] = {0}, value = 1;
    MPI_Win first, win, was;
    MPI_Comm dup;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    comm_told(COMM_CREATED, "MPI_Comm_dup", dup, 2, MPI_COMM_WORLD);
    MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, dup, &first);
    MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, dup, &win);
    CHECK(last_of(WIN_CREATED) < last_of(RMA), "the window comes in front of the call");
    object_told(WIN_CREATED, "MPI_Win_create", 1, NUMBER(first), dup);
    object_told(WIN_CREATED, "MPI_Win_create", 2, NUMBER(win), dup);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_DOUBLE, 1 - rank, 2, 1, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    access_told(RMA, "MPI_Win_create", 1, MPI_UNDEFINED, 0, dup);
    access_told(RMA, "MPI_Win_create", 2, MPI_UNDEFINED, 0, dup);
    access_told(RMA, "MPI_Win_fence", 2, MPI_UNDEFINED, 0, dup);
    access_told(RMA, "MPI_Put", 2, 1 - rank, 8, dup);
    access_told(RMA, "MPI_Win_fence", 2, MPI_UNDEFINED, 0, dup);
    was = win;
    MPI_Win_free(&win);
    object_told(WIN_FREED, "MPI_Win_free", 2, NUMBER(was), dup);
    access_told(RMA, "MPI_Win_free", 2, MPI_UNDEFINED, 0, dup);
    was = first;
    MPI_Win_free(&first);
    object_told(WIN_FREED, "MPI_Win_free", 1, NUMBER(was), dup);
    access_told(RMA, "MPI_Win_free", 1, MPI_UNDEFINED, 0, dup);
    MPI_Comm_free(&dup);
    next_of(COMM_FREED);
    all_told("windows");
}

static void files(const char *name)
{
    char data[48] = {0};
    MPI_File file, was;
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    object_told(OPENED, "MPI_File_open", 1, NUMBER(file), MPI_COMM_WORLD);
    access_told(IO, "MPI_File_open", 1, 0, 0, MPI_COMM_WORLD);
    MPI_File_write_at(file, 48 * rank, data, 48, MPI_BYTE, MPI_STATUS_IGNORE);
    access_told(IO, "MPI_File_write_at", 1, 0, 48, MPI_COMM_WORLD);
    was = file;
    MPI_File_close(&file);
    object_told(CLOSED, "MPI_File_close", 1, NUMBER(was), MPI_COMM_WORLD);
    access_told(IO, "MPI_File_close", 1, 0, 0, MPI_COMM_WORLD);
    all_told("files");
}

static void error_told(const char *call, int code, int wanted)
{
    const struct seen *seen = next_of(ERROR);
    int class;
    MPI_Error_class(code, &class);
    CHECK(class == wanted, "%s returns class %d", call, class);
    CHECK(seen && seen->value[0] == item_of(call) && seen->value[1] == code && seen->value[2] == class &&
              (unsigned)seen->value[3] == NUMBER(MPI_COMM_WORLD),
          "%s", call);
}

/* Sends of a call that fails, of one that does both, and receives that are cut off: Open MPI tells of these, too. */
static void errors(void)
{
    int number[2] = {0, 1}, other, code;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Send(number, 1, MPI_INT, 7, 1, MPI_COMM_WORLD);
    error_told("MPI_Send", code, MPI_ERR_RANK);
    code = MPI_Sendrecv(number, 1, MPI_INT, 7, 1, &other, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    error_told("MPI_Sendrecv", code, MPI_ERR_RANK);
    MPI_Request request;
    MPI_Isend(number, 2, MPI_INT, rank, 2, MPI_COMM_WORLD, &request);
    code = MPI_Recv(&other, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    error_told("MPI_Recv", code, MPI_ERR_TRUNCATE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++)
        next_of(COMPLETED);
    all_told("errors");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Rank 0 waits a second for rank 1, in a collective on MPI_COMM_WORLD and one on another. */
static void stalls(void)
{
    long long longest = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        usleep(1000000); /* rank 0 may leave the first barrier late */
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) {
        const struct seen *seen = next_of(ENDED);
        CHECK(seen && seen->value[0] == item_of("MPI_Barrier") && (unsigned)seen->value[7] == NUMBER(MPI_COMM_WORLD));
    }
    for (int i = 0; i < seen_count; i++)
        if (list[i].type == STALLED && list[i].value[0] == item_of("MPI_Barrier") && list[i].value[1] > longest) {
            longest = list[i].value[1];
            CHECK((unsigned)list[i].value[2] == NUMBER(MPI_COMM_WORLD));
        }
    if (rank == 0)
        CHECK(longest > 200000000 && longest < 3000000000, "stalled for %lld ns", longest);
    all_told("stalls");
}

int main(int argc, char **argv)
{
    int provided, all;
    if (argc != 2) {
        fprintf(stderr, "usage: eventlife FILE\n");
        return 2;
    }
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    listen_to_all();
    communicators();
    windows();
    files(argv[1]);
    errors();
    stalls();
    MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d failures\n", all);
    MPI_Finalize();
    MPI_T_finalize();
    return failures != 0;
}
