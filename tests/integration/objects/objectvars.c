/*
 * objectvars FILE [threads]
 *
 * Variables that are bound to windows and files: the program counts what it does on each, and holds it against their
 * handles. With "threads" two of them use the same objects at once. What a communicator's windows have together is what
 * the variables of the communicator have. Exit status 0: all agree; 1: they do not; 77: mpit is not there, the calls
 * were made all the same.
 */
#include "../common/callcount.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT, BYTES, TIME, FIGURES, OBJECTS = 3, ITEMS = 64, ROUNDS = 100000, LIVES = 100 };

static const int classes[] = {MPI_T_PVAR_CLASS_COUNTER, MPI_T_PVAR_CLASS_AGGREGATE, MPI_T_PVAR_CLASS_TIMER};
static const char *const win_names[] = {"mpit_win_rma_count", "mpit_win_rma_bytes", "mpit_win_rma_time"};
static const char *const file_names[] = {"mpit_file_io_count", "mpit_file_io_bytes", "mpit_file_io_time"};
static const char *const comm_names[2][FIGURES] = {{"", "mpit_rma_bytes", "mpit_rma_time"},
                                                   {"", "mpit_io_bytes", "mpit_io_time"}};
static double data[ITEMS];
static int peer;
static bool threads; /* or one alone */

/* A window or a file, what the program has counted on it, and its handles. */
struct object {
    void *at;
    const char *const *names;
    unsigned long long moved[2];
    struct watch watches[FIGURES];
};

static void object_watch(struct object *object)
{
    object->moved[COUNT] = object->moved[BYTES] = 0;
    for (int i = 0; i < FIGURES; i++)
        object->watches[i] = watch_open(object->names[i], classes[i], object->at);
}

static void moved(struct object *object, unsigned long long calls, unsigned long long bytes)
{
    object->moved[COUNT] += calls;
    object->moved[BYTES] += bytes;
}

static unsigned long long object_value(const struct object *object, int figure)
{
    return watch_value(&object->watches[figure]);
}

static void object_check(const struct object *object, const char *when)
{
    char what[128];
    for (int i = COUNT; i <= BYTES && !absent; i++) {
        snprintf(what, sizeof what, "%s %s", object->names[i], when);
        check(object_value(object, i), object->moved[i], what);
    }
}

/* The first two are all that is on this communicator. Each value is rounded to nanoseconds by itself. */
static void sums_check(const struct object *objects, const struct watch *of_comm, const char *const *names)
{
    for (int i = BYTES; i <= TIME && !absent; i++) {
        unsigned long long sum = object_value(&objects[0], i) + object_value(&objects[1], i);
        unsigned long long all = watch_value(&of_comm[i]), apart = sum > all ? sum - all : all - sum;
        if (apart > (i == TIME ? 4 : 0))
            check(sum, all, names[i]);
    }
}

/* ---- one call of many kinds ------------------------------------------------------------------------------------- */

static void window_use(struct object *object)
{
    MPI_Win win = *(MPI_Win *)object->at;
    MPI_Request requests[3];
    double one = 1, was;
    CALL(MPI_Win_fence, 0, win);
    CALL(MPI_Put, data, 5, MPI_DOUBLE, peer, 0, 5, MPI_DOUBLE, win);
    CALL(MPI_Put, data, 0, MPI_DOUBLE, peer, 0, 0, MPI_DOUBLE, win);
    CALL(MPI_Put, data, 2, MPI_DOUBLE, MPI_PROC_NULL, 0, 2, MPI_DOUBLE, win);
    CALL(MPI_Get, data, 3, MPI_DOUBLE, peer, 8, 3, MPI_DOUBLE, win);
    CALL(MPI_Accumulate, data, 4, MPI_DOUBLE, peer, 16, 4, MPI_DOUBLE, MPI_SUM, win);
    CALL(MPI_Win_fence, 0, win);
    moved(object, 3, (5 + 3 + 4) * sizeof(double));
    CALL(MPI_Win_lock, MPI_LOCK_EXCLUSIVE, peer, 0, win);
    CALL(MPI_Fetch_and_op, &one, &was, MPI_DOUBLE, peer, 30, MPI_SUM, win);
    CALL(MPI_Win_unlock, peer, win);
    CALL(MPI_Win_lock_all, 0, win);
    CALL(MPI_Rput, data, 6, MPI_DOUBLE, peer, 32, 6, MPI_DOUBLE, win, &requests[0]);
    CALL(MPI_Rget, data + 8, 7, MPI_DOUBLE, peer, 40, 7, MPI_DOUBLE, win, &requests[1]);
    CALL(MPI_Raccumulate, data, 1, MPI_DOUBLE, peer, 50, 1, MPI_DOUBLE, MPI_SUM, win, &requests[2]);
    moved(object, 4, (1 + 6 + 7 + 1) * sizeof(double));
    object_check(object, "when the requests are posted");
    CALL(MPI_Wait, &requests[0], MPI_STATUS_IGNORE);
    CALL(MPI_Waitall, 2, requests + 1, MPI_STATUSES_IGNORE);
    CALL(MPI_Win_unlock_all, win);
}

static void file_use(struct object *object)
{
    MPI_File file = *(MPI_File *)object->at;
    MPI_Request requests[3];
    MPI_Offset mine = (MPI_Offset)rank * (MPI_Offset)sizeof data;
    CALL(MPI_File_write_at, file, mine, data, ITEMS, MPI_DOUBLE, MPI_STATUS_IGNORE);
    CALL(MPI_File_sync, file);
    CALL(MPI_File_read_at, file, mine, data, 5, MPI_DOUBLE, MPI_STATUS_IGNORE);
    CALL(MPI_File_read_at, file, 1 << 30, data, 5, MPI_DOUBLE, MPI_STATUS_IGNORE); /* there is nothing */
    moved(object, 2, (ITEMS + 5) * sizeof(double));
    object_check(object, "behind blocking accesses");
    CALL(MPI_File_iwrite_at, file, mine, data, 6, MPI_DOUBLE, &requests[0]);
    CALL(MPI_File_iread_at, file, mine, data, 7, MPI_DOUBLE, &requests[1]);
    CALL(MPI_File_iread_at, file, mine, data + 8, 8, MPI_DOUBLE, &requests[2]);
    object_check(object, "while accesses are under way");
    CALL(MPI_Wait, &requests[0], MPI_STATUS_IGNORE);
    CALL(MPI_Waitall, 2, requests + 1, MPI_STATUSES_IGNORE);
    moved(object, 3, (6 + 7 + 8) * sizeof(double));
    CALL(MPI_File_seek, file, mine, MPI_SEEK_SET);
    CALL(MPI_File_write_at_all_begin, file, mine, data, 9, MPI_DOUBLE);
    object_check(object, "in a split access");
    CALL(MPI_File_write_at_all_end, file, data, MPI_STATUS_IGNORE);
    CALL(MPI_File_read_all, file, data, 10, MPI_DOUBLE, MPI_STATUS_IGNORE);
    moved(object, 2, (9 + 10) * sizeof(double));
}

/* One access that moves one item. */
static void access_once(struct object *object)
{
    if (object->names == file_names) {
        MPI_Offset mine = (MPI_Offset)rank * (MPI_Offset)sizeof data;
        MPI_File_write_at(*(MPI_File *)object->at, mine, data, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Win win = *(MPI_Win *)object->at;
    MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win);
    MPI_Put(data, 1, MPI_DOUBLE, peer, 0, 1, MPI_DOUBLE, win);
    MPI_Win_unlock(peer, win);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

struct crowd {
    struct object *objects;
    int rounds;
};

static void *access_often(void *argument)
{
    const struct crowd *crowd = argument;
    for (int i = 0; i < crowd->rounds; i++) {
        struct object *object = &crowd->objects[i % 2];
        MPI_Win win = object->names == win_names ? *(MPI_Win *)object->at : MPI_WIN_NULL;
        if (win != MPI_WIN_NULL)
            MPI_Put(data, 1, MPI_DOUBLE, peer, 0, 1, MPI_DOUBLE, win);
        else
            access_once(object);
    }
    return NULL;
}

/* Two threads use two objects by turns. */
static void threads_use(struct object *objects, int rounds)
{
    struct crowd crowd = {objects, rounds};
    pthread_t other;
    bool windows = objects->names == win_names;
    for (int i = 0; i < 2 && windows; i++)
        CALL(MPI_Win_lock_all, 0, *(MPI_Win *)objects[i].at);
    pthread_create(&other, NULL, access_often, &crowd);
    access_often(&crowd);
    pthread_join(other, NULL);
    for (int i = 0; i < 2 && windows; i++)
        CALL(MPI_Win_unlock_all, *(MPI_Win *)objects[i].at);
    for (int i = 0; i < 2; i++) {
        moved(&objects[i], (unsigned long long)rounds, (unsigned long long)rounds * sizeof(double));
        object_check(&objects[i], "that two threads have used");
    }
}

/* ---- handles ----------------------------------------------------------------------------------------------------- */

/* A second handle, which is started later, stopped, written and reset, while the first one sees all. */
static void handle_use(struct object *object)
{
    unsigned long long value = 100;
    access_once(object);
    struct watch w = watch_open(object->names[COUNT], classes[COUNT], object->at);
    check(watch_value(&w), 0, "a fresh handle");
    access_once(object);
    check(watch_value(&w), 1, "a handle that was started in the middle");
    MPI_T_pvar_stop(w.session, w.handle);
    access_once(object);
    check(watch_value(&w), 1, "a stopped handle");
    MPI_T_pvar_start(w.session, w.handle);
    MPI_T_pvar_write(w.session, w.handle, &value);
    access_once(object);
    MPI_T_pvar_readreset(w.session, w.handle, &value);
    check(value, 101, "a handle that was written");
    access_once(object);
    check(watch_value(&w), 1, "a handle behind readreset");
    MPI_T_pvar_reset(w.session, w.handle);
    check(watch_value(&w), 0, "a handle that was reset");
    MPI_T_pvar_session_free(&w.session);
    access_once(object);
    moved(object, 6, 6 * sizeof(double));
    object_check(object, "that has had a second handle");
}

/* The object is gone: all that a handle is good for is to be freed. */
static void dead_check(struct object *object)
{
    unsigned long long value = 0;
    for (int i = 0; i < FIGURES; i++) {
        struct watch *w = &object->watches[i];
        const int results[] = {
            MPI_T_pvar_read(w->session, w->handle, &value), MPI_T_pvar_write(w->session, w->handle, &value),
            MPI_T_pvar_reset(w->session, w->handle),        MPI_T_pvar_readreset(w->session, w->handle, &value),
            MPI_T_pvar_stop(w->session, w->handle),         MPI_T_pvar_start(w->session, w->handle)};
        for (size_t k = 0; k < sizeof results / sizeof results[0]; k++)
            check((unsigned long long)results[k], MPI_T_ERR_INVALID_HANDLE, "a call on the handle of a freed object");
        check((unsigned long long)MPI_T_pvar_handle_free(w->session, &w->handle), MPI_SUCCESS, "handle_free");
        MPI_T_pvar_session_free(&w->session);
    }
}

static void refused(const char *const *names, void *at, int expected, const char *what)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int index, count;
    MPI_T_pvar_session_create(&session);
    for (int i = 0; i < FIGURES && MPI_T_pvar_get_index(names[i], classes[i], &index) == MPI_SUCCESS; i++)
        check((unsigned long long)MPI_T_pvar_handle_alloc(session, index, at, &handle, &count),
              (unsigned long long)expected, what);
    MPI_T_pvar_session_free(&session);
}

/* ---- windows and files ------------------------------------------------------------------------------------------ */

/* All that is done with three of them. The first two are on `comm`. */
static void objects_use(struct object *objects, MPI_Comm *comm, void (*use)(struct object *), int rounds)
{
    bool files = objects->names == file_names;
    const char *timing = getenv("MPIT_TIMING");
    struct watch of_comm[FIGURES];
    for (int i = 0; i < OBJECTS; i++)
        access_once(&objects[i]); /* before anybody asks */
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < OBJECTS; i++)
        object_watch(&objects[i]);
    for (int i = BYTES; i < FIGURES; i++)
        of_comm[i] = watch_open(comm_names[files][i], classes[i], comm);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < OBJECTS; i++)
            use(&objects[round == 1 ? 0 : i]);
    for (int i = 0; i < OBJECTS; i++)
        object_check(&objects[i], "at the end");
    if (threads)
        threads_use(objects, rounds);
    if (!absent)
        handle_use(&objects[1]);
    sums_check(objects, of_comm, comm_names[files]);
    for (int i = 0; i < OBJECTS && !absent; i++)
        check(object_value(&objects[i], TIME) > 0, !timing || atoi(timing) > 0, "that time has passed");
}

/* Windows that follow each other, each with a handle that outlives it: no handle sees what is done on another window.
 */
static void lives_use(MPI_Comm comm)
{
    struct object object = {.names = win_names}, before = object;
    double *memory;
    MPI_Win win;
    for (int i = 0; i < LIVES; i++) {
        CALL(MPI_Win_allocate, sizeof data, sizeof(double), MPI_INFO_NULL, comm, &memory, &win);
        object.at = &win;
        object_watch(&object);
        for (int k = 0; k <= i % 3; k++)
            access_once(&object);
        moved(&object, (unsigned long long)i % 3 + 1, ((unsigned long long)i % 3 + 1) * sizeof(double));
        object_check(&object, "of windows that follow each other");
        if (before.at && !absent)
            dead_check(&before);
        before = object;
        CALL(MPI_Win_free, &win);
    }
    if (!absent)
        dead_check(&before);
}

static void windows_use(MPI_Comm comms[2])
{
    MPI_Win wins[OBJECTS], gone;
    struct object objects[OBJECTS];
    double *memory;
    for (int i = 0; i < OBJECTS; i++) {
        CALL(MPI_Win_allocate, sizeof data, sizeof(double), MPI_INFO_NULL, comms[i / 2], &memory, &wins[i]);
        memset(memory, 0, sizeof data);
        objects[i] = (struct object){.at = &wins[i], .names = win_names};
    }
    objects_use(objects, &comms[0], window_use, ROUNDS);
    gone = wins[0];
    CALL(MPI_Win_free, &wins[0]);
    refused(win_names, NULL, MPI_T_ERR_INVALID, "no window");
    refused(win_names, &wins[0], MPI_T_ERR_INVALID_HANDLE, "MPI_WIN_NULL");
    refused(win_names, &gone, MPI_T_ERR_INVALID_HANDLE, "a freed window");
    memset(&gone, 0x5a, sizeof gone);
    refused(win_names, &gone, MPI_T_ERR_INVALID_HANDLE, "no handle of a window");
    CALL(MPI_Win_allocate, sizeof data, sizeof(double), MPI_INFO_NULL, comms[0], &memory, &wins[0]);
    if (!absent)
        dead_check(&objects[0]);
    object_watch(&objects[0]); /* of the new one, often at the same handle */
    for (int i = 0; i < OBJECTS; i++) {
        window_use(&objects[i]);
        object_check(&objects[i], "when another window has come");
    }
    for (int i = 0; i < OBJECTS; i++)
        CALL(MPI_Win_free, &wins[i]);
}

static void files_use(MPI_Comm comms[2], const char *name)
{
    MPI_File files[OBJECTS], gone;
    struct object objects[OBJECTS];
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    char names[OBJECTS][1024];
    for (int i = 0; i < OBJECTS; i++) {
        snprintf(names[i], sizeof names[i], "%s.%d", name, i);
        CALL(MPI_File_open, comms[i / 2], names[i], mode, MPI_INFO_NULL, &files[i]);
        objects[i] = (struct object){.at = &files[i], .names = file_names};
    }
    objects_use(objects, &comms[0], file_use, ROUNDS / 1000);
    gone = files[0];
    CALL(MPI_File_close, &files[0]);
    refused(file_names, NULL, MPI_T_ERR_INVALID, "no file");
    refused(file_names, &files[0], MPI_T_ERR_INVALID_HANDLE, "MPI_FILE_NULL");
    refused(file_names, &gone, MPI_T_ERR_INVALID_HANDLE, "a closed file");
    CALL(MPI_File_open, comms[0], names[0], mode, MPI_INFO_NULL, &files[0]);
    if (!absent)
        dead_check(&objects[0]);
    object_watch(&objects[0]);
    for (int i = 0; i < OBJECTS; i++) {
        file_use(&objects[i]);
        object_check(&objects[i], "when another file has come");
    }
    for (int i = 0; i < OBJECTS; i++)
        CALL(MPI_File_close, &files[i]);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Comm comms[2];
    if (argc < 2) {
        fprintf(stderr, "usage: objectvars FILE [threads]\n");
        return 2;
    }
    threads = argc > 2;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    peer = (rank + 1) % size;
    for (int i = 0; i < 2; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    windows_use(comms);
    lives_use(comms[0]);
    files_use(comms, argv[1]);
    for (int i = 0; i < 2; i++)
        MPI_Comm_free(&comms[i]);
    return callcount_end("windows and files one by one");
}
