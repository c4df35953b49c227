/* Callbacks that call MPI, free their handle or cannot be called; safety levels; threads. */
#include "listener.h"

#include <pthread.h>
#include <stddef.h>

static int calls, drops, drop_notices, frees, last_safety;
static MPI_T_event_instance kept;

static void send_to_self(MPI_Comm comm)
{
    int me, number = 1, got;
    MPI_Comm_rank(comm, &me);
    MPI_Sendrecv(&number, 1, MPI_INT, me, 1, &got, 1, MPI_INT, me, 1, comm, MPI_STATUS_IGNORE);
}

static void on_dropped(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety,
                       void *user_data)
{
    (void)registration;
    CHECK(source == 0 && user_data == &calls);
    last_safety = (int)safety;
    drops += (int)count;
    drop_notices++;
}

static void calling_back(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                         void *user_data)
{
    int tag;
    (void)registration;
    CHECK(user_data == &calls);
    last_safety = (int)safety;
    calls++;
    send_to_self(comms[1]);
    CHECK(MPI_T_event_read(instance, 2, &tag) == MPI_SUCCESS && tag == 1);
    kept = instance;
}

static void counting(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                     void *user_data)
{
    (void)instance;
    (void)registration;
    last_safety = (int)safety;
    __atomic_add_fetch((int *)user_data, 1, __ATOMIC_RELAXED);
}

static unsigned long long calls_counted(int *handle_made)
{
    static MPI_T_pvar_session session;
    static MPI_T_pvar_handle handle;
    static unsigned long long counts[1024];
    int index, n;
    if (!*handle_made) {
        MPI_T_pvar_session_create(&session);
        MPI_T_pvar_get_index("mpit_call_count", MPI_T_PVAR_CLASS_COUNTER, &index);
        CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &n) == MPI_SUCCESS && n <= 1024);
        MPI_T_pvar_start(session, handle);
        *handle_made = 1;
    }
    MPI_T_pvar_read(session, handle, counts);
    return counts[CALL(MPI_Sendrecv)];
}

/* What a callback calls is recorded and raises nothing further; the handler hears of it. */
static void callback_that_calls(void)
{
    int ignored, made = 0;
    MPI_T_event_registration handle = NULL;
    CHECK(MPI_T_event_handle_alloc(type_index[POSTED], &comms[1], MPI_INFO_NULL, &handle) == MPI_SUCCESS);
    CHECK(MPI_T_event_set_dropped_handler(handle, on_dropped) == MPI_SUCCESS);
    CHECK(MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &calls, calling_back) ==
          MPI_SUCCESS);
    unsigned long long before = calls_counted(&made);
    for (int i = 0; i < 3; i++)
        send_to_self(comms[1]);
    CHECK(calls_counted(&made) - before == 6, "%llu", calls_counted(&made) - before);
    CHECK(calls == 3 && drops == 3 && drop_notices == 3, "%d calls, %d drops in %d", calls, drops, drop_notices);
    CHECK(last_safety == MPI_T_CB_REQUIRE_NONE);
    CHECK(MPI_T_event_read(kept, 0, &ignored) == MPI_T_ERR_INVALID_HANDLE); /* its time is over */
    CHECK(MPI_T_event_set_dropped_handler(handle, NULL) == MPI_SUCCESS);
    send_to_self(comms[1]);
    CHECK(drops == 3);
    CHECK(MPI_T_event_handle_free(handle, NULL, NULL) == MPI_SUCCESS);
}

static void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user_data)
{
    (void)safety;
    CHECK(user_data == &frees);
    CHECK(MPI_T_event_handle_free(registration, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
    frees++;
}

static void freeing(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                    void *user_data)
{
    int direction;
    (void)safety;
    (void)user_data;
    calls++;
    CHECK(MPI_T_event_handle_free(registration, &frees, on_free) == MPI_SUCCESS);
    CHECK(frees == 0); /* this very callback is running */
    CHECK(MPI_T_event_read(instance, 0, &direction) == MPI_SUCCESS);
}

static void free_inside(void)
{
    MPI_T_event_registration handle = NULL;
    calls = 0;
    CHECK(MPI_T_event_handle_alloc(type_index[POSTED], &comms[1], MPI_INFO_NULL, &handle) == MPI_SUCCESS);
    MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, freeing);
    send_to_self(comms[1]);
    CHECK(calls == 1 && frees == 1, "%d calls, %d frees", calls, frees);
    send_to_self(comms[1]);
    CHECK(calls == 1 && frees == 1);
}

static int copy_and_send(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)keyval;
    (void)extra;
    *(void **)out = in;
    *flag = 1;
    send_to_self(comm);
    return MPI_SUCCESS;
}

/* Inside of an MPI call a callback may not call MPI: one that wants to is not called there. */
static void inside_of_a_call(void)
{
    int keyval, mark, none = 0, restricted = 0;
    MPI_Comm child;
    MPI_T_event_registration handle = NULL;
    drops = 0;
    MPI_Comm_create_keyval(copy_and_send, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(comms[1], keyval, &mark);
    MPI_T_event_handle_alloc(type_index[POSTED], &comms[1], MPI_INFO_NULL, &handle);
    MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &none, counting);
    MPI_T_event_set_dropped_handler(handle, on_dropped);
    MPI_Comm_dup(comms[1], &child);
    MPI_Comm_free(&child);
    CHECK(none == 0 && drops == 0, "%d calls, %d drops", none, drops); /* no callback could hear of them there */
    MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &calls, counting);
    calls = 0;
    send_to_self(comms[1]);
    CHECK(calls == 1 && drops == 1, "%d calls, %d drops", calls, drops);
    MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, &restricted, counting);
    MPI_Comm_dup(comms[1], &child);
    MPI_Comm_free(&child);
    CHECK(restricted == 1 && last_safety == MPI_T_CB_REQUIRE_MPI_RESTRICTED && calls == 1);
    send_to_self(comms[1]); /* the lowest level that fits */
    CHECK(restricted == 1 && calls == 2 && last_safety == MPI_T_CB_REQUIRE_NONE);
    MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL);
    send_to_self(comms[1]);
    CHECK(restricted == 2 && calls == 2 && last_safety == MPI_T_CB_REQUIRE_NONE);
    CHECK(MPI_T_event_handle_free(handle, NULL, NULL) == MPI_SUCCESS);
    MPI_Comm_delete_attr(comms[1], keyval);
    MPI_Comm_free_keyval(&keyval);
}

static void bad_arguments(void)
{
    int number, count = 0;
    MPI_Comm gone;
    MPI_Info info = MPI_INFO_NULL;
    MPI_T_event_registration handle = NULL, none = NULL;
    MPI_T_event_get_num(&count);
    CHECK(MPI_T_event_get_num(NULL) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_event_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS);
    CHECK(MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &info, NULL, NULL, NULL) == MPI_SUCCESS);
    CHECK(info != MPI_INFO_NULL && MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_T_event_get_index("no such event", &number) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_event_get_index(NULL, &number) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_event_handle_alloc(count, NULL, MPI_INFO_NULL, &handle) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_handle_alloc(type_index[SENDS_OVER], NULL, MPI_INFO_NULL, &handle) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_event_handle_alloc(type_index[POSTED], &comms[1], MPI_INFO_NULL, NULL) == MPI_T_ERR_INVALID);
    MPI_Comm_dup(comms[1], &gone);
    MPI_Comm old = gone;
    CHECK(MPI_T_event_handle_alloc(type_index[POSTED], &gone, MPI_INFO_NULL, &handle) == MPI_SUCCESS);
    MPI_Comm_free(&gone);
    CHECK(MPI_T_event_handle_alloc(type_index[POSTED], &old, MPI_INFO_NULL, &none) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_register_callback(handle, (MPI_T_cb_safety)99, MPI_INFO_NULL, NULL, counting) ==
          MPI_T_ERR_INVALID);
    CHECK(MPI_T_event_callback_get_info(handle, MPI_T_CB_REQUIRE_NONE, &info) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, counting) == MPI_SUCCESS);
    CHECK(MPI_T_event_callback_set_info(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_T_event_callback_get_info(handle, MPI_T_CB_REQUIRE_NONE, &info) == MPI_SUCCESS);
    CHECK(info != MPI_INFO_NULL && MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(PMPI_T_event_handle_free(handle, NULL, NULL) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_free(handle, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_handle_free(NULL, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_handle_free((MPI_T_event_registration)&number, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, counting) ==
          MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_set_dropped_handler(handle, on_dropped) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_read(NULL, 0, &number) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_read((MPI_T_event_instance)&number, 0, &number) == MPI_T_ERR_INVALID_HANDLE);
}

void corners_check(void)
{
    callback_that_calls();
    free_inside();
    inside_of_a_call();
    bad_arguments();
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 2000 };
static int stop_churn;

static void *sender(void *argument)
{
    MPI_Comm comm = *(MPI_Comm *)argument;
    for (int i = 0; i < ROUNDS; i++)
        send_to_self(comm);
    return NULL;
}

static void *churner(void *argument)
{
    int heard = 0;
    while (!__atomic_load_n(&stop_churn, __ATOMIC_RELAXED)) {
        MPI_T_event_registration handle = NULL;
        CHECK(MPI_T_event_handle_alloc(type_index[COMPLETED], argument, MPI_INFO_NULL, &handle) == MPI_SUCCESS);
        MPI_T_event_register_callback(handle, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, &heard, counting);
        CHECK(MPI_T_event_handle_free(handle, NULL, NULL) == MPI_SUCCESS);
    }
    return NULL;
}

/* Each thread sends on a communicator of its own; others come and go with handles meanwhile. */
void threads_check(void)
{
    pthread_t senders[THREADS], churn;
    MPI_Comm own[THREADS];
    MPI_T_event_registration handles[THREADS], loose = NULL;
    int posted[THREADS] = {0}, unsafe = 0;
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &own[i]);
        MPI_T_event_handle_alloc(type_index[POSTED], &own[i], MPI_INFO_NULL, &handles[i]);
        MPI_T_event_register_callback(handles[i], MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, &posted[i], counting);
    }
    MPI_T_event_handle_alloc(type_index[POSTED], &own[0], MPI_INFO_NULL, &loose);
    MPI_T_event_register_callback(loose, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, &unsafe, counting);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&senders[i], NULL, sender, &own[i]);
    pthread_create(&churn, NULL, churner, &own[1]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(senders[i], NULL);
    __atomic_store_n(&stop_churn, 1, __ATOMIC_RELAXED);
    pthread_join(churn, NULL);
    for (int i = 0; i < THREADS; i++) {
        CHECK(posted[i] == ROUNDS, "thread %d: %d events", i, posted[i]);
        CHECK(MPI_T_event_handle_free(handles[i], NULL, NULL) == MPI_SUCCESS);
        MPI_Comm_free(&own[i]);
    }
    CHECK(unsafe == 0); /* several threads may be in it at once: not this one */
    CHECK(last_safety == MPI_T_CB_REQUIRE_THREAD_SAFE);
    MPI_T_event_handle_free(loose, NULL, NULL);
}
