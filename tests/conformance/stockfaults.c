/*
 * Where stock libraries were found to fall short, beyond the sentences that the other files have: calls in signal
 * handlers, threads that count while others read, arguments that crash.
 */
#define _GNU_SOURCE
#include "survey.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static MPI_T_pvar_session signal_session;
static MPI_T_pvar_handle signal_handle;
static int signal_atomic;
static volatile sig_atomic_t signal_count, signal_failed;

static void read_in_signal(int number)
{
    static unsigned long long values[VALUES_MOST];
    (void)number;
    signal_count++;
    if (MPI_T_pvar_read(signal_session, signal_handle, values) != MPI_SUCCESS)
        signal_failed++;
}

static void all_in_signal(int number)
{
    static unsigned long long values[VALUES_MOST];
    (void)number;
    signal_count++;
    int failed = MPI_T_pvar_stop(signal_session, signal_handle) != MPI_SUCCESS;
    failed += MPI_T_pvar_start(signal_session, signal_handle) != MPI_SUCCESS;
    failed += MPI_T_pvar_read(signal_session, signal_handle, values) != MPI_SUCCESS;
    failed += MPI_T_pvar_write(signal_session, signal_handle, values) != MPI_SUCCESS;
    failed += MPI_T_pvar_reset(signal_session, signal_handle) != MPI_SUCCESS;
    if (signal_atomic)
        failed += MPI_T_pvar_readreset(signal_session, signal_handle, values) != MPI_SUCCESS;
    if (failed)
        signal_failed++;
}

/* A timer's signal 2,000 times a second. */
static void timer_begin(void (*handler)(int))
{
    struct sigaction action;
    struct itimerval every = {{0, 500}, {0, 500}};
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
}

static void timer_end(void)
{
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
}

/* Uses MPI and MPI_T for half a second, while signals come. */
static void busy(const struct pvar *p)
{
    MPI_T_pvar_session session = session_new();
    unsigned long long values[VALUES_MOST];
    double end = MPI_Wtime() + 0.5;
    while (MPI_Wtime() < end) {
        MPI_T_pvar_handle handle;
        int count, index;
        traffic(1);
        if (!pvar_handle(p, session, &handle, &count))
            continue;
        MPI_T_pvar_start(session, handle);
        for (int i = 0; i < 100; i++)
            MPI_T_pvar_read(session, handle, values);
        MPI_T_pvar_stop(session, handle);
        MPI_T_pvar_get_index(p->name, p->class, &index);
        MPI_T_pvar_handle_free(session, &handle);
    }
    MPI_T_pvar_session_free(&session);
}

static int storm_on(const struct pvar *p, void (*handler)(int))
{
    int count;
    signal_session = session_new();
    if (!pvar_handle(p, signal_session, &signal_handle, &count))
        return 0;
    if (!p->continuous)
        MPI_T_pvar_start(signal_session, signal_handle);
    signal_atomic = p->atomic;
    timer_begin(handler);
    busy(p);
    timer_end();
    expect(signal_count > 10, "%s: only %d signals came", p->name, (int)signal_count);
    /* what the library's own variables cannot do may be said by a code */
    expect(!p->own || signal_failed == 0, "%s: %d of %d calls in a signal handler failed", p->name, (int)signal_failed,
           (int)signal_count);
    MPI_T_pvar_session_free(&signal_session);
    signal_count = signal_failed = 0;
    return 1;
}

TEST(signal_read_own, RUNNING, "15.3.7",
     "Advice: reads are possible in signal handlers, whatever they interrupt: a counter of mpit.")
{
    const struct pvar *p = pvar_named("mpit_send_count", MPI_T_PVAR_CLASS_COUNTER);
    some(p != NULL, "counter of mpit");
    some(storm_on(p, read_in_signal), "counter of mpit");
}

TEST(signal_read_array, RUNNING, "15.3.7",
     "Advice: reads are possible in signal handlers, whatever they interrupt: an array of mpit.")
{
    const struct pvar *p = pvar_named("mpit_send_size_count", MPI_T_PVAR_CLASS_COUNTER);
    some(p != NULL, "array of mpit");
    some(storm_on(p, read_in_signal), "array of mpit");
}

TEST(signal_read_native, RUNNING, "15.3.7",
     "Advice: a read in a signal handler, whatever it interrupts, does not hang: a variable of the library.")
{
    int found = 0;
    EACH_PVAR(p)
        if (!p->own && !found)
            found = storm_on(p, read_in_signal);
    some(found, "variable of the library that can be read");
}

TEST(signal_all_calls, RUNNING, "15.3.7",
     "Advice: start, stop, write, reset and readreset are possible in signal handlers: a counter of mpit.")
{
    const struct pvar *p = pvar_named("mpit_send_bytes", MPI_T_PVAR_CLASS_AGGREGATE);
    some(p != NULL, "counter of mpit");
    some(storm_on(p, all_in_signal), "counter of mpit");
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

enum { COUNTING_THREADS = 3, COUNTING_MESSAGES = 4000 };

static void *count_run(void *comm)
{
    char byte = 0, in;
    for (int i = 0; i < COUNTING_MESSAGES; i++) {
        MPI_Request request;
        MPI_Isend(&byte, 1, MPI_CHAR, 0, 3, *(MPI_Comm *)comm, &request);
        MPI_Recv(&in, 1, MPI_CHAR, 0, 3, *(MPI_Comm *)comm, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return NULL;
}

static volatile bool counting;
static MPI_T_pvar_handle shared_handle;
static MPI_T_pvar_session shared_session;
static unsigned long long shared_sum;

static void *drain_run(void *unused)
{
    unsigned long long part;
    (void)unused;
    while (counting)
        if (MPI_T_pvar_readreset(shared_session, shared_handle, &part) == MPI_SUCCESS)
            __atomic_add_fetch(&shared_sum, part, __ATOMIC_RELAXED);
    return NULL;
}

static void drained_by(int readers)
{
    pthread_t senders[COUNTING_THREADS], drains[4];
    static MPI_Comm comms[COUNTING_THREADS];
    const struct pvar *p = pvar_named("mpit_send_count", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle whole[COUNTING_THREADS];
    unsigned long long part, expected = COUNTING_MESSAGES;
    int count, level;
    some(p != NULL, "counter with an atomic readreset");
    MPI_Query_thread(&level);
    if (level != MPI_THREAD_MULTIPLE)
        skip("MPI gives no MPI_THREAD_MULTIPLE");
    shared_session = session_new();
    for (int i = 0; i < COUNTING_THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
        NEED(MPI_T_pvar_handle_alloc(shared_session, p->index, &comms[i], &whole[i], &count));
    }
    shared_handle = whole[0];
    NEED(MPI_T_pvar_start(shared_session, MPI_T_PVAR_ALL_HANDLES));
    counting = true;
    for (int i = 0; i < readers; i++)
        pthread_create(&drains[i], NULL, drain_run, NULL);
    for (int i = 0; i < COUNTING_THREADS; i++)
        pthread_create(&senders[i], NULL, count_run, &comms[i]);
    for (int i = 0; i < COUNTING_THREADS; i++)
        pthread_join(senders[i], NULL);
    counting = false;
    for (int i = 0; i < readers; i++)
        pthread_join(drains[i], NULL);
    NEED(MPI_T_pvar_readreset(shared_session, shared_handle, &part));
    expect(shared_sum + part == expected, "%llu messages, %llu by readreset", expected, shared_sum + part);
    for (int i = 1; i < COUNTING_THREADS; i++) {
        NEED(MPI_T_pvar_read(shared_session, whole[i], &part));
        expect(part == expected, "%llu messages of a thread, %llu were read", expected, part);
    }
}

TEST(readreset_loses_nothing, THREADED, "15.3.7",
     "Readreset is atomic: while threads count, no event is lost or counted twice.")
{
    drained_by(1);
}

TEST(readreset_in_two_threads, THREADED, "15.3.7",
     "Readreset is atomic: also when two threads drain one handle, each event is in one of the values.")
{
    drained_by(2);
}

static void *sessions_run(void *failed)
{
    for (int i = 0; i < 100; i++) {
        MPI_T_pvar_session session;
        int count;
        if (MPI_T_pvar_session_create(&session) != MPI_SUCCESS) {
            __atomic_add_fetch((int *)failed, 1, __ATOMIC_RELAXED);
            continue;
        }
        int n = 0;
        MPI_T_pvar_get_num(&n);
        for (int index = 0; index < n; index++) {
            int bind = -1;
            MPI_T_pvar_handle handle;
            unsigned long long values[VALUES_MOST];
            char name[64] = "";
            int length = 64;
            if (MPI_T_pvar_get_info(index, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, &bind, NULL, NULL,
                                    NULL) != MPI_SUCCESS ||
                bind != MPI_T_BIND_NO_OBJECT || strncmp(name, "mtl_psm", 7) == 0 ||
                MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) != MPI_SUCCESS)
                continue;
            MPI_T_pvar_start(session, handle);
            if (count <= VALUES_MOST && MPI_T_pvar_read(session, handle, values) != MPI_SUCCESS)
                __atomic_add_fetch((int *)failed, 1, __ATOMIC_RELAXED);
            MPI_T_pvar_handle_free(session, &handle);
        }
        MPI_T_pvar_session_free(&session);
    }
    return NULL;
}

TEST(sessions_in_threads, THREADED, "15.3.4",
     "With MPI_THREAD_MULTIPLE, threads use sessions and handles at the same time.")
{
    pthread_t threads[4];
    int failed = 0, n = 0;
    NEED(MPI_T_pvar_get_num(&n));
    some(n, "performance variables");
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, sessions_run, &failed);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    expect(failed == 0, "%d calls failed", failed);
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

TEST(freed_comm_is_refused, RUNNING, "15.3.2",
     "A handle of a communicator that was freed: an error code (MPI_T_ERR_INVALID_HANDLE), no crash.")
{
    int found = 0, count;
    EACH_PVAR(p) {
        MPI_T_pvar_session session = session_new();
        MPI_T_pvar_handle handle;
        MPI_Comm comm;
        double values[VALUES_MOST];
        if (p->bind != MPI_T_BIND_MPI_COMM)
            continue;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (MPI_T_pvar_handle_alloc(session, p->index, &comm, &handle, &count) != MPI_SUCCESS) {
            MPI_Comm_free(&comm);
            continue;
        }
        if (!p->continuous)
            MPI_T_pvar_start(session, handle);
        MPI_Comm_free(&comm);
        EXPECT_CODE(pvar_values(p, session, handle, count, values), MPI_T_ERR_INVALID_HANDLE,
                    "%s of a freed communicator", p->name);
        EXPECT_CODE(MPI_T_pvar_session_free(&session), MPI_SUCCESS, "%s", p->name);
        found++;
    }
    some(found, "variable that is bound to a communicator");
}

TEST(reused_comm_is_another, RUNNING, "15.3.2",
     "A handle stays with its communicator: one that is made later, at the same address, is another.")
{
    int found = 0, count;
    EACH_PVAR(p) {
        MPI_T_pvar_session session = session_new();
        MPI_T_pvar_handle handle;
        MPI_Comm comm, next;
        double values[VALUES_MOST];
        if (p->bind != MPI_T_BIND_MPI_COMM || !p->own)
            continue;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (MPI_T_pvar_handle_alloc(session, p->index, &comm, &handle, &count) != MPI_SUCCESS)
            continue;
        MPI_Comm_free(&comm);
        MPI_Comm_dup(MPI_COMM_WORLD, &next);
        MPI_Barrier(next);
        EXPECT_CODE(pvar_values(p, session, handle, count, values), MPI_T_ERR_INVALID_HANDLE,
                    "%s of a freed communicator", p->name);
        MPI_Comm_free(&next);
        MPI_T_pvar_session_free(&session);
        if (++found == 10)
            break;
    }
    some(found, "variable of mpit that is bound to a communicator");
}

PVAR_TEST(null_comm_is_refused, "15.3.2", "MPI_COMM_NULL, or no object where one is needed: an error code.",
          p->bind == MPI_T_BIND_MPI_COMM && strncmp(p->name, "mtl_psm", 7) != 0,
          "variable that is bound to a communicator")
{
    MPI_Comm none = MPI_COMM_NULL;
    EXPECT_REFUSED(MPI_T_pvar_handle_alloc(session, p->index, &none, &handle, &count), "%s with MPI_COMM_NULL",
                   p->name);
    EXPECT_REFUSED(MPI_T_pvar_handle_alloc(session, p->index, NULL, &handle, &count), "%s with no object", p->name);
}

TEST(alloc_survives_every_pvar, RUNNING, "15.3.7", "A handle of each pvar, also of inactive ones: a code, no crash.")
{
    int n = 0, count;
    MPI_T_pvar_session session = session_new();
    MPI_Comm comm = MPI_COMM_WORLD;
    unsigned long long values[VALUES_MOST];
    NEED(MPI_T_pvar_get_num(&n));
    some(n, "performance variables");
    for (int i = 0; i < n; i++) {
        MPI_T_pvar_handle handle;
        int bind = -1;
        MPI_T_pvar_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &bind, NULL, NULL, NULL);
        if (bind != -1 && bind != MPI_T_BIND_NO_OBJECT && bind != MPI_T_BIND_MPI_COMM)
            continue;
        if (MPI_T_pvar_handle_alloc(session, i, &comm, &handle, &count) == MPI_SUCCESS && count <= VALUES_MOST)
            MPI_T_pvar_read(session, handle, values);
    }
}

TEST(nulls_are_refused, TOOL, "15.3.10", "NULL where a result or a name has to be: an error code, no crash.")
{
    int index;
    EXPECT_REFUSED(MPI_T_pvar_get_num(NULL), "NULL");
    EXPECT_REFUSED(MPI_T_cvar_get_num(NULL), "NULL");
    EXPECT_REFUSED(MPI_T_category_get_num(NULL), "NULL");
    EXPECT_REFUSED(MPI_T_category_changed(NULL), "NULL");
    EXPECT_REFUSED(MPI_T_pvar_session_create(NULL), "NULL");
    EXPECT_REFUSED(MPI_T_pvar_session_free(NULL), "NULL");
    EXPECT_REFUSED(MPI_T_cvar_handle_free(NULL), "NULL");
    EXPECT_REFUSED(MPI_T_pvar_get_index(NULL, MPI_T_PVAR_CLASS_COUNTER, &index), "NULL");
    EXPECT_REFUSED(MPI_T_cvar_get_index(NULL, &index), "NULL");
    EXPECT_REFUSED(MPI_T_category_get_index(NULL, &index), "NULL");
}

TEST(null_index_is_refused, TOOL, "15.3.10", "NULL for the index that is asked for: an error code, no crash.")
{
    char name[256] = "";
    int length = 256, found = 0;
    EACH_PVAR(p) {
        EXPECT_REFUSED(MPI_T_pvar_get_index(p->name, p->class, NULL), "%s", p->name);
        found++;
    }
    if (MPI_T_cvar_get_info(0, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_SUCCESS) {
        EXPECT_REFUSED(MPI_T_cvar_get_index(name, NULL), "%s", name);
        found++;
    }
    some(found, "variables before MPI_Init");
}

PVAR_TEST(null_buffer_is_refused, "15.3.10", "NULL for a buffer of values: an error code, no crash.", true,
          "variable that can be read")
{
    EXPECT_REFUSED(MPI_T_pvar_read(session, handle, NULL), "%s", p->name);
    EXPECT_REFUSED(MPI_T_pvar_write(session, handle, NULL), "%s", p->name);
    EXPECT_REFUSED(MPI_T_pvar_readreset(session, handle, NULL), "%s", p->name);
}

PVAR_TEST(null_handle_is_refused, "15.3.10", "NULL for the handle that is asked for: an error code, no crash.", true,
          "variable that can be bound here")
{
    MPI_Comm comm = MPI_COMM_WORLD;
    EXPECT_REFUSED(MPI_T_pvar_handle_alloc(session, p->index, &comm, NULL, &count), "%s", p->name);
    EXPECT_REFUSED(MPI_T_pvar_handle_free(session, NULL), "%s", p->name);
}

TEST(wild_handles_are_refused, RUNNING, "15.3.10",
     "Sessions and handles that are no such thing: an error code, no crash.")
{
    static const uintptr_t wild[] = {1, 9, 0x1000, 0x7fffffffffffffff, (uintptr_t)-2};
    MPI_T_pvar_session session = session_new();
    unsigned long long value = 0;
    for (int i = 0; i < 5; i++) {
        MPI_T_pvar_session s = (MPI_T_pvar_session)wild[i];
        MPI_T_pvar_handle h = (MPI_T_pvar_handle)wild[i];
        MPI_T_cvar_handle c = (MPI_T_cvar_handle)wild[i];
        EXPECT_REFUSED(MPI_T_pvar_read(session, h, &value), "a handle %#lx", wild[i]);
        EXPECT_REFUSED(MPI_T_pvar_start(s, h), "a session %#lx", wild[i]);
        EXPECT_REFUSED(MPI_T_pvar_session_free(&s), "a session %#lx", wild[i]);
        EXPECT_REFUSED(MPI_T_cvar_read(c, &value), "a cvar handle %#lx", wild[i]);
    }
}

TEST(cvar_stale_handle, RUNNING, "15.3.10", "A cvar handle that was freed: MPI_T_ERR_INVALID_HANDLE, no crash.")
{
    int n = 0, found = 0;
    static unsigned char value[1 << 16];
    NEED(MPI_T_cvar_get_num(&n));
    for (int i = 0; i < n && found < 20; i++) {
        MPI_T_cvar_handle handle, stale;
        int bind = -1, count = 0;
        MPI_T_cvar_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &bind, NULL);
        if (bind != MPI_T_BIND_NO_OBJECT || MPI_T_cvar_handle_alloc(i, NULL, &handle, &count) != MPI_SUCCESS ||
            count > 4096)
            continue;
        stale = handle;
        MPI_T_cvar_handle_free(&handle);
        EXPECT_CODE(MPI_T_cvar_read(stale, value), MPI_T_ERR_INVALID_HANDLE, "a freed handle of cvar %d", i);
        EXPECT_CODE(MPI_T_cvar_handle_free(&stale), MPI_T_ERR_INVALID_HANDLE, "a freed handle of cvar %d", i);
        found++;
    }
    some(found, "control variables");
}

TEST(second_init_keeps_the_level, BARE, "15.3.4",
     "A second init sets provided, and does not lower the level that the first one got.")
{
    int first = INT_MIN, second = INT_MIN, third = INT_MIN;
    NEED(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &first));
    NEED(MPI_T_init_thread(MPI_THREAD_SINGLE, &second));
    NEED(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &third));
    expect(second != INT_MIN, "the second call leaves provided unset");
    expect(second >= first || second == INT_MIN, "first %d, then %d", first, second);
    expect(third == first, "first %d, at the third time %d", first, third);
}
