/*
 * Threads that come and go, under MPI_THREAD_MULTIPLE. The program counts its own calls and messages and prints the
 * sums over all ranks; test_threads.sh compares them with what mpit counted. It knows mpit's variables, and runs
 * without it.
 *
 *     mpirun -n 1|2|... threads all [THREADS]      every case; THREADS of them one behind the other
 *     mpirun -n 1|2|... threads churn [THREADS]    only those
 *     mpirun -n 1|2|... threads alive [THREADS]    so many at once
 *
 * Status 1: something was wrong; 77: the MPI has no MPI_THREAD_MULTIPLE.
 */
#include <mpi.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    AT_ONCE = 16,
    BURSTS = 6,
    HANDED = 12,
    ROUNDS = 6,
    EARLY = 4,
    CANCELLED = 8,
    KEYED = 6,
    REUSERS = 4,
    REUSES = 100,
    SENDERS_FIRST_TAG = 1000,
    HERE_FIRST_TAG = 6000
};

enum { ISEND, IRECV, SENDRECV, WAIT, WAITALL, TESTALL, BARRIER, CALLS };

static const char *const call_names[CALLS] = {"MPI_Isend",   "MPI_Irecv",   "MPI_Sendrecv", "MPI_Wait",
                                              "MPI_Waitall", "MPI_Testall", "MPI_Barrier"};

static unsigned long long calls[CALLS], messages, message_bytes;
static int rank, ranks, right, left, faults;
static MPI_Comm comm;

#define MADE(call) ((void)__atomic_fetch_add(&calls[call], 1, __ATOMIC_RELAXED))

static void fault(const char *text)
{
    __atomic_fetch_add(&faults, 1, __ATOMIC_RELAXED);
    fprintf(stderr, "rank %d: wrong: %s\n", rank, text);
}

static void sent(size_t bytes)
{
    __atomic_fetch_add(&messages, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&message_bytes, bytes, __ATOMIC_RELAXED);
}

static void thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    if (pthread_create(thread, NULL, run, argument) != 0) {
        fprintf(stderr, "rank %d: no thread\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

/* ---- one message to the right neighbour, one from the left ------------------------------------------------------- */

static void exchange(int tag)
{
    int out[4] = {rank, tag, 3, 4}, in[4] = {-1, -1, -1, -1};
    int count = 1 + tag % 4;
    MADE(SENDRECV);
    MPI_Sendrecv(out, count, MPI_INT, right, tag, in, count, MPI_INT, left, tag, comm, MPI_STATUS_IGNORE);
    sent((size_t)count * sizeof(int));
    if (in[0] != left || (count > 1 && in[1] != tag))
        fault("a message of another thread");
}

static void to_itself(int tag)
{
    int out = tag, in = -1;
    MADE(SENDRECV);
    MPI_Sendrecv(&out, 1, MPI_INT, rank, tag, &in, 1, MPI_INT, rank, tag, comm, MPI_STATUS_IGNORE);
    sent(sizeof out);
    if (in != tag)
        fault("a message to itself");
}

static void *one_message(void *argument)
{
    to_itself((int)(long)argument);
    return NULL;
}

static void churn(int threads)
{
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        thread_start(&thread, one_message, (void *)(long)(i % 5000));
        pthread_join(thread, NULL);
    }
}

/* ---- many at once on one communicator ---------------------------------------------------------------------------- */

static void *some_messages(void *argument)
{
    for (int i = 0; i < ROUNDS; i++)
        exchange((int)(long)argument);
    return NULL;
}

static void bursts(int count)
{
    pthread_t threads[AT_ONCE];
    for (int i = 0; i < count; i++) {
        int at_once = AT_ONCE / 2 + i % (AT_ONCE / 2 + 1);
        for (int t = 0; t < at_once; t++)
            thread_start(&threads[t], some_messages, (void *)(long)t);
        for (int t = 0; t < at_once; t++)
            pthread_join(threads[t], NULL);
    }
}

/* Each waits until all are there: so many logs at the same time. */
static pthread_barrier_t all_here;

static void *message_beside_all(void *argument)
{
    to_itself((int)(long)argument);
    pthread_barrier_wait(&all_here);
    return NULL;
}

static void alive(int count)
{
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    pthread_barrier_init(&all_here, NULL, (unsigned)count);
    for (int t = 0; t < count; t++)
        thread_start(&threads[t], message_beside_all, (void *)(long)t);
    for (int t = 0; t < count; t++)
        pthread_join(threads[t], NULL);
    free(threads);
}

/* ---- posted in one thread, completed in another ------------------------------------------------------------------ */

struct handed {
    MPI_Request requests[2]; /* a receive, a send */
    int in, out, tag;
};

static struct handed handed[HANDED];

static void post(struct handed *h, int from, int to)
{
    h->in = -1;
    h->out = h->tag + rank;
    MADE(IRECV);
    MPI_Irecv(&h->in, 1, MPI_INT, from, h->tag, comm, &h->requests[0]);
    MADE(ISEND);
    MPI_Isend(&h->out, 1, MPI_INT, to, h->tag, comm, &h->requests[1]);
    sent(sizeof h->out);
}

static void *post_ring(void *argument)
{
    post(argument, left, right);
    return NULL;
}

static void *wait_for_both(void *argument)
{
    struct handed *h = argument;
    for (int i = 0; i < 2; i++) {
        MADE(WAIT);
        MPI_Wait(&h->requests[i], MPI_STATUS_IGNORE);
    }
    return NULL;
}

/* Requests of all threads in one array, until all are complete. */
static void *test_all(void *argument)
{
    MPI_Request requests[2 * HANDED];
    (void)argument;
    for (int i = 0; i < HANDED; i++)
        memcpy(&requests[2 * i], handed[i].requests, sizeof handed[i].requests);
    for (int done = 0; !done;) {
        MADE(TESTALL);
        MPI_Testall(2 * HANDED, requests, &done, MPI_STATUSES_IGNORE);
    }
    return NULL;
}

static void *wait_all(void *argument)
{
    MPI_Request requests[2 * HANDED];
    (void)argument;
    for (int i = 0; i < HANDED; i++)
        memcpy(&requests[2 * i], handed[i].requests, sizeof handed[i].requests);
    MADE(WAITALL);
    MPI_Waitall(2 * HANDED, requests, MPI_STATUSES_IGNORE);
    return NULL;
}

static void hand_over(void)
{
    pthread_t threads[HANDED];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < HANDED; i++) {
            handed[i].tag = SENDERS_FIRST_TAG + i;
            thread_start(&threads[i], post_ring, &handed[i]);
        }
        for (int i = 0; i < HANDED; i++)
            pthread_join(threads[i], NULL);
        if (round % 3 == 0) {
            for (int i = 0; i < HANDED; i++)
                thread_start(&threads[i], wait_for_both, &handed[HANDED - 1 - i]);
            for (int i = 0; i < HANDED; i++)
                pthread_join(threads[i], NULL);
        } else {
            thread_start(&threads[0], round % 3 == 1 ? test_all : wait_all, NULL);
            pthread_join(threads[0], NULL);
        }
        for (int i = 0; i < HANDED; i++)
            if (handed[i].in != handed[i].tag + left)
                fault("a message whose request was handed over");
    }
}

/* ---- posted by some while others wait: the library gives a handle of one thread to the next at once -------------- */

static void *post_and_wait(void *argument)
{
    struct handed h = {.tag = HERE_FIRST_TAG + (int)(long)argument};
    for (int i = 0; i < REUSES; i++) {
        post(&h, rank, rank);
        wait_for_both(&h);
        if (h.in != h.tag + rank)
            fault("a message whose handle was another thread's");
    }
    return NULL;
}

static void reuse(void)
{
    pthread_t threads[REUSERS];
    for (int t = 0; t < REUSERS; t++)
        thread_start(&threads[t], post_and_wait, (void *)(long)t);
    for (int t = 0; t < REUSERS; t++)
        pthread_join(threads[t], NULL);
}

/* ---- threads that begin before MPI_Init and end behind MPI_Finalize ---------------------------------------------- */

enum stage { BEFORE, BETWEEN, DONE, BEHIND };

static pthread_mutex_t stage_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stage_changed = PTHREAD_COND_INITIALIZER;
static enum stage stage;
static int early_done;
static pthread_t early[EARLY];

static void stage_set(enum stage next)
{
    pthread_mutex_lock(&stage_lock);
    stage = next;
    pthread_cond_broadcast(&stage_changed);
    pthread_mutex_unlock(&stage_lock);
}

static void stage_await(enum stage wanted)
{
    pthread_mutex_lock(&stage_lock);
    while (stage < wanted)
        pthread_cond_wait(&stage_changed, &stage_lock);
    pthread_mutex_unlock(&stage_lock);
}

static void *live_longer(void *argument)
{
    int version, subversion;
    MPI_Get_version(&version, &subversion); /* may be called at any time */
    stage_await(BETWEEN);
    for (int i = 0; i < ROUNDS; i++)
        exchange(2000 + (int)(long)argument);
    pthread_mutex_lock(&stage_lock);
    early_done++;
    pthread_cond_broadcast(&stage_changed);
    pthread_mutex_unlock(&stage_lock);
    stage_await(BEHIND);
    MPI_Get_version(&version, &subversion);
    return NULL;
}

/* ---- threads that do not return ---------------------------------------------------------------------------------- */

static int paused;

static void *until_cancelled(void *argument)
{
    to_itself((int)(long)argument);
    __atomic_fetch_add(&paused, 1, __ATOMIC_RELEASE);
    for (;;)
        pause();
    return NULL;
}

static void *until_exit(void *argument)
{
    to_itself((int)(long)argument);
    pthread_exit(NULL);
}

static void ended_early(void)
{
    pthread_t threads[CANCELLED], other;
    for (int i = 0; i < CANCELLED; i++)
        thread_start(&threads[i], until_cancelled, (void *)(long)i);
    while (__atomic_load_n(&paused, __ATOMIC_ACQUIRE) < CANCELLED)
        usleep(1000);
    for (int i = 0; i < CANCELLED; i++) {
        pthread_cancel(threads[i]);
        pthread_join(threads[i], NULL);
        thread_start(&other, until_exit, (void *)(long)i);
        pthread_join(other, NULL);
    }
}

/* ---- destructors that call MPI ----------------------------------------------------------------------------------- */

static pthread_key_t key_before, key_behind; /* made before MPI_Init, and after it */

static void send_at_the_end(void *value)
{
    to_itself((int)(long)value);
}

static void *leave_to_destructors(void *argument)
{
    pthread_setspecific(key_before, (void *)((long)argument + 1));
    pthread_setspecific(key_behind, (void *)((long)argument + 2));
    if ((long)argument % 2)
        to_itself((int)(long)argument);
    return NULL;
}

static void keyed(void)
{
    pthread_t threads[KEYED];
    pthread_key_create(&key_behind, send_at_the_end);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < KEYED; i++)
            thread_start(&threads[i], leave_to_destructors, (void *)(long)(i + 1));
        for (int i = 0; i < KEYED; i++)
            pthread_join(threads[i], NULL);
    }
}

/* ---- the sums ---------------------------------------------------------------------------------------------------- */

static struct counter {
    const char *name;
    int class;
    const unsigned long long *expected;
    MPI_T_pvar_handle handle;
} counters[] = {{.name = "mpit_send_count", .class = MPI_T_PVAR_CLASS_COUNTER, .expected = &messages},
                {.name = "mpit_recv_count", .class = MPI_T_PVAR_CLASS_COUNTER, .expected = &messages},
                {.name = "mpit_send_bytes", .class = MPI_T_PVAR_CLASS_AGGREGATE, .expected = &message_bytes}};

enum { COUNTERS = sizeof counters / sizeof counters[0] };

static MPI_T_pvar_session session;
static bool recorded;

static void counters_open(void)
{
    int provided, index, count;
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    MPI_T_pvar_session_create(&session);
    for (int i = 0; i < COUNTERS; i++) {
        if (MPI_T_pvar_get_index(counters[i].name, counters[i].class, &index) != MPI_SUCCESS)
            return;
        MPI_T_pvar_handle_alloc(session, index, &comm, &counters[i].handle, &count);
        MPI_T_pvar_start(session, counters[i].handle);
    }
    recorded = true;
}

static void counters_compare(void)
{
    for (int i = 0; recorded && i < COUNTERS; i++) {
        unsigned long long values[64] = {0}, sum = 0;
        MPI_T_pvar_read(session, counters[i].handle, values);
        sum = values[0];
        if (sum != *counters[i].expected) {
            fprintf(stderr, "rank %d: %s is %llu, not %llu\n", rank, counters[i].name, sum, *counters[i].expected);
            fault("a variable");
        }
    }
}

static void sums_print(void)
{
    unsigned long long mine[CALLS + 2], all[CALLS + 2];
    MADE(BARRIER); /* the last call that is counted: reductions below are not */
    MPI_Barrier(comm);
    memcpy(mine, calls, sizeof calls);
    mine[CALLS] = messages;
    mine[CALLS + 1] = message_bytes;
    MPI_Reduce(mine, all, CALLS + 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < CALLS; i++)
        printf("%s %llu\n", call_names[i], all[i]);
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    if (rank == 0)
        printf("messages %llu\nbytes %llu\nlargest %ld KiB\n", all[CALLS], all[CALLS + 1], usage.ru_maxrss);
}

static void all_cases(int threads)
{
    stage_set(BETWEEN);
    churn(threads);
    bursts(BURSTS);
    hand_over();
    reuse();
#if !defined(__SANITIZE_THREAD__) /* which does not bear that a thread leaves its interceptors so */
    ended_early();
#endif
    keyed();
    pthread_mutex_lock(&stage_lock);
    while (early_done < EARLY)
        pthread_cond_wait(&stage_changed, &stage_lock);
    pthread_mutex_unlock(&stage_lock);
}

int main(int argc, char **argv)
{
    int provided;
    const char *what = argc > 1 ? argv[1] : "all";
    int threads = argc > 2 ? atoi(argv[2]) : 300;
    bool all = strcmp(what, "all") == 0;
    pthread_key_create(&key_before, send_at_the_end);
    for (int i = 0; all && i < EARLY; i++)
        thread_start(&early[i], live_longer, (void *)(long)i);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return 77;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    right = (rank + 1) % ranks;
    left = (rank + ranks - 1) % ranks;
    counters_open();
    if (all)
        all_cases(threads);
    else if (strcmp(what, "churn") == 0)
        churn(threads);
    else if (strcmp(what, "alive") == 0)
        alive(threads);
    else
        fault("no such case");
    counters_compare();
    sums_print();
    MPI_Finalize();
    stage_set(BEHIND);
    for (int i = 0; all && i < EARLY; i++)
        pthread_join(early[i], NULL);
    return faults ? 1 : 0;
}
