/*
 * The storm: a timer signal, 10,000 times a second on whichever thread, reads, resets, starts and stops performance
 * variables while four threads send under MPI_THREAD_MULTIPLE and a fifth does the same to the same handles, and makes
 * and frees handles. At the end every sum is what the program counted itself, to the last message.
 *
 *     mpirun -n 1|2 storm [SECONDS]        needs mpit; each thread sends to its neighbour, or to itself
 *
 * Prints one line a rank; its status is 1 if anything was wrong, and 77 if the MPI has no MPI_THREAD_MULTIPLE.
 */
#include <mpi.h>

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SENDERS = 4, SLOTS = 64, BYTES_MOST = 3000, LARGE = 1000, PENDING_MOST = 2 * SENDERS };

static int rank, ranks, faults;
static MPI_Comm comm, own_comm;
static MPI_T_pvar_session session, other_session;
static bool ended;

static void fault(const char *format, ...)
{
    va_list args;
    if (__atomic_fetch_add(&faults, 1, __ATOMIC_RELAXED) >= 20)
        return;
    va_start(args, format);
    fprintf(stderr, "rank %d: ", rank);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

/* ---- handles ----------------------------------------------------------------------------------------------------- */

struct pvar {
    const char *name;
    int class;
    bool in_other; /* session */
    MPI_T_pvar_handle handle;
    int count;
};

enum { WHOLE, PARTS, SIZES, SMALL, PART_TIME, TIME, PAUSES, RESETS, HIGH, LOW, PENDING, SPAN, CALLS, LEVEL, PVARS };

static struct pvar pvars[PVARS] = {
    [WHOLE] = {.name = "mpit_send_count", .class = 1},
    [PARTS] = {.name = "mpit_recv_bytes", .class = 2},
    [SIZES] = {.name = "mpit_send_size_count", .class = 1, .in_other = true},
    [SMALL] = {.name = "mpit_small_count", .class = 1},
    [PART_TIME] = {.name = "mpit_p2p_time", .class = 3},
    [TIME] = {.name = "mpit_p2p_time", .class = 3, .in_other = true},
    [PAUSES] = {.name = "mpit_recv_size_count", .class = 1},
    [RESETS] = {.name = "mpit_p2p_count", .class = 1, .in_other = true},
    [HIGH] = {.name = "mpit_message_bytes", .class = 4},
    [LOW] = {.name = "mpit_message_bytes", .class = 5},
    [PENDING] = {.name = "mpit_pending_sends", .class = 4},
    [SPAN] = {.name = "mpit_comm_span", .class = 3},
    [CALLS] = {.name = "mpit_mpi_fraction", .class = 6},
    [LEVEL] = {.name = "mpit_pending_sends", .class = 7},
};

static MPI_T_pvar_session session_of(const struct pvar *pvar)
{
    return pvar->in_other ? other_session : session;
}

static void need(int code, const char *what, const char *name)
{
    if (code == MPI_SUCCESS)
        return;
    fprintf(stderr, "storm: %s of %s returned %d (is mpit loaded?)\n", what, name, code);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static int pvar_index(const char *name, int class)
{
    const int classes[] = {0,
                           MPI_T_PVAR_CLASS_COUNTER,
                           MPI_T_PVAR_CLASS_AGGREGATE,
                           MPI_T_PVAR_CLASS_TIMER,
                           MPI_T_PVAR_CLASS_HIGHWATERMARK,
                           MPI_T_PVAR_CLASS_LOWWATERMARK,
                           MPI_T_PVAR_CLASS_PERCENTAGE,
                           MPI_T_PVAR_CLASS_LEVEL};
    int index;
    need(MPI_T_pvar_get_index(name, classes[class], &index), "MPI_T_pvar_get_index", name);
    return index;
}

static void pvars_open(void)
{
    need(MPI_T_pvar_session_create(&session), "MPI_T_pvar_session_create", "a session");
    need(MPI_T_pvar_session_create(&other_session), "MPI_T_pvar_session_create", "a session");
    for (int i = 0; i < PVARS; i++) {
        struct pvar *pvar = &pvars[i];
        int index = pvar_index(pvar->name, pvar->class);
        need(MPI_T_pvar_handle_alloc(session_of(pvar), index, &comm, &pvar->handle, &pvar->count),
             "MPI_T_pvar_handle_alloc", pvar->name);
        if (pvar->count > SLOTS)
            MPI_Abort(MPI_COMM_WORLD, 2);
        if (i != CALLS && i != LEVEL)
            need(MPI_T_pvar_start(session_of(pvar), pvar->handle), "MPI_T_pvar_start", pvar->name);
    }
}

static uint64_t pvar_read(int which, uint64_t *values)
{
    struct pvar *pvar = &pvars[which];
    if (MPI_T_pvar_read(session_of(pvar), pvar->handle, values) != MPI_SUCCESS)
        fault("%s cannot be read", pvar->name);
    return values[0];
}

static uint64_t pvar_readreset(int which, uint64_t *values)
{
    struct pvar *pvar = &pvars[which];
    if (MPI_T_pvar_readreset(session_of(pvar), pvar->handle, values) != MPI_SUCCESS)
        fault("%s cannot be read and reset", pvar->name);
    return values[0];
}

/* ---- what the signal and the fifth thread do --------------------------------------------------------------------- */

static uint64_t parts, sizes[SLOTS], small, part_time, high, low = UINT64_MAX, signals;
static MPI_T_pvar_handle passing; /* comes and goes; a stale one is an error and harms no other */

static void add(uint64_t *sum, uint64_t value)
{
    __atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
}

static void extreme(uint64_t *most, uint64_t value, bool larger)
{
    uint64_t seen = __atomic_load_n(most, __ATOMIC_RELAXED);
    while ((larger ? value > seen : value < seen) &&
           !__atomic_compare_exchange_n(most, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static void readresets(void)
{
    uint64_t values[SLOTS];
    add(&parts, pvar_readreset(PARTS, values));
    add(&small, pvar_readreset(SMALL, values));
    if (values[0] >> 40)
        fault("mpit_small_count was %llu", (unsigned long long)values[0]);
    add(&part_time, pvar_readreset(PART_TIME, values));
    pvar_readreset(SIZES, values);
    for (int i = 0; i < pvars[SIZES].count; i++)
        add(&sizes[i], values[i]);
    extreme(&high, pvar_readreset(HIGH, values), true);
    extreme(&low, pvar_readreset(LOW, values), false);
}

static void reads(void)
{
    static uint64_t whole_seen, span_most;
    union {
        uint64_t values[SLOTS];
        double fraction;
    } got;
    uint64_t before = __atomic_load_n(&whole_seen, __ATOMIC_ACQUIRE), level;
    if (pvar_read(WHOLE, got.values) < before)
        fault("mpit_send_count fell from %llu to %llu", (unsigned long long)before, (unsigned long long)got.values[0]);
    extreme(&whole_seen, got.values[0], true);
    level = pvar_read(LEVEL, got.values);
    if (pvar_read(PENDING, got.values) > PENDING_MOST || level > PENDING_MOST)
        fault("%llu pending sends, at most %llu", (unsigned long long)level, (unsigned long long)got.values[0]);
    extreme(&span_most, pvar_read(SPAN, got.values), true);
    pvar_read(PAUSES, got.values);
    pvar_read(CALLS, got.values);
    if (!(got.fraction >= 0 && got.fraction <= 1))
        fault("mpit_mpi_fraction was %f", got.fraction);
}

static void change(int which, int (*call)(MPI_T_pvar_session, MPI_T_pvar_handle))
{
    if (call(session_of(&pvars[which]), pvars[which].handle) != MPI_SUCCESS)
        fault("%s cannot be started, stopped or reset", pvars[which].name);
}

static void changes(unsigned what)
{
    static const struct {
        int which;
        int (*call)(MPI_T_pvar_session, MPI_T_pvar_handle);
    } table[] = {
        {PAUSES, MPI_T_pvar_start},  {PAUSES, MPI_T_pvar_stop},   {RESETS, MPI_T_pvar_reset},
        {PENDING, MPI_T_pvar_reset}, {PENDING, MPI_T_pvar_start}, {PENDING, MPI_T_pvar_stop},
        {SPAN, MPI_T_pvar_stop},     {SPAN, MPI_T_pvar_start},    {SPAN, MPI_T_pvar_reset},
    };
    change(table[what % 9].which, table[what % 9].call);
    MPI_T_pvar_handle stale = __atomic_load_n(&passing, __ATOMIC_ACQUIRE);
    if (stale != MPI_T_PVAR_HANDLE_NULL) {
        uint64_t value;
        MPI_T_pvar_reset(session, stale);
        MPI_T_pvar_stop(session, stale);
        MPI_T_pvar_readreset(session, stale, &value);
        MPI_T_pvar_start(session, stale);
    }
}

static void on_signal(int number)
{
    (void)number;
    uint64_t at = __atomic_fetch_add(&signals, 1, __ATOMIC_RELAXED);
    readresets();
    reads();
    changes((unsigned)at);
    changes((unsigned)(at * 5 / 3));
}

/* A handle that the signal knows is freed, another comes into its place: that one counts exactly what is sent. */
static void pass_one(int index)
{
    MPI_T_pvar_handle known, unknown;
    int count, put = 1, got;
    uint64_t value = 77;
    need(MPI_T_pvar_handle_alloc(session, index, &own_comm, &known, &count), "handle_alloc", "a passing handle");
    __atomic_store_n(&passing, known, __ATOMIC_RELEASE);
    MPI_T_pvar_start(session, known);
    MPI_Sendrecv(&put, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, own_comm, MPI_STATUS_IGNORE);
    need(MPI_T_pvar_handle_free(session, &known), "handle_free", "a passing handle");
    need(MPI_T_pvar_handle_alloc(session, index, &own_comm, &unknown, &count), "handle_alloc", "a handle behind it");
    need(MPI_T_pvar_start(session, unknown), "pvar_start", "a handle behind it");
    for (int i = 0; i < 3; i++)
        MPI_Sendrecv(&put, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, own_comm, MPI_STATUS_IGNORE);
    need(MPI_T_pvar_read(session, unknown, &value), "pvar_read", "a handle behind it");
    if (value != 3)
        fault("a handle in the place of another one has %llu, not 3", (unsigned long long)value);
    need(MPI_T_pvar_handle_free(session, &unknown), "handle_free", "a handle behind it");
}

static void *work_on(void *argument)
{
    int counter = pvar_index("mpit_send_count", 1);
    (void)argument;
    for (unsigned at = 1; !__atomic_load_n(&ended, __ATOMIC_ACQUIRE); at++) {
        changes(at);
        if (at % 5 == 0)
            readresets();
        reads();
        if (at % 50 == 0)
            pass_one(counter);
    }
    __atomic_store_n(&passing, MPI_T_PVAR_HANDLE_NULL, __ATOMIC_RELEASE);
    return NULL;
}

/* ---- what is sent ------------------------------------------------------------------------------------------------ */

struct sender {
    pthread_t thread;
    int tag;
    uint64_t sent, bytes_in, small, most, sizes[SLOTS];
};

static int bucket(uint64_t bytes)
{
    int slot = 0;
    for (; bytes; bytes >>= 1)
        slot++;
    return slot;
}

/* How long a message of a thread is follows from its number: the receiver knows it too. */
static int length(int tag, uint64_t number)
{
    return (int)((number * 2654435761u + (unsigned)tag * 97) % BYTES_MOST);
}

static void exchange(struct sender *sender, uint64_t number)
{
    char out[BYTES_MOST] = "", in[BYTES_MOST];
    int peer = ranks - 1 - rank, bytes = length(sender->tag, number), more;
    MPI_Request requests[2];
    MPI_Isend(out, bytes, MPI_BYTE, peer, sender->tag, comm, &requests[0]);
    more = number % 3 == 0;
    if (more)
        MPI_Isend(out, bytes, MPI_BYTE, peer, sender->tag, comm, &requests[1]);
    for (int i = 0; i <= more; i++) {
        MPI_Recv(in, BYTES_MOST, MPI_BYTE, peer, sender->tag, comm, MPI_STATUS_IGNORE);
        sender->sent++;
        sender->bytes_in += (uint64_t)bytes;
        sender->small += bytes < LARGE ? 2 : 0; /* sent and received */
        sender->sizes[bucket((uint64_t)bytes)]++;
    }
    sender->most = (uint64_t)bytes > sender->most ? (uint64_t)bytes : sender->most;
    MPI_Waitall(1 + more, requests, MPI_STATUSES_IGNORE);
}

/* Both sides make the same number of exchanges: the lower rank says with each batch whether another follows. */
static void *send_on(void *argument)
{
    struct sender *sender = argument;
    int peer = ranks - 1 - rank, again = 1;
    uint64_t number = 0;
    while (again) {
        for (int i = 0; i < 50; i++)
            exchange(sender, number++);
        again = !__atomic_load_n(&ended, __ATOMIC_ACQUIRE);
        if (peer > rank)
            MPI_Send(&again, 1, MPI_INT, peer, 100 + sender->tag, MPI_COMM_WORLD);
        else if (peer < rank)
            MPI_Recv(&again, 1, MPI_INT, peer, 100 + sender->tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return NULL;
}

static timer_t timer_begin(void)
{
    timer_t timer;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec every = {.it_interval = {.tv_nsec = 100000}, .it_value = {.tv_nsec = 100000}};
    sigaction(SIGUSR1, &action, NULL);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &every, NULL) != 0) {
        perror("storm: timer");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return timer;
}

static void time_pass(double seconds)
{
    double begin = MPI_Wtime();
    while (MPI_Wtime() - begin < seconds)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static struct sender blow(double seconds)
{
    static struct sender senders[SENDERS];
    struct sender all = {.sent = 0};
    pthread_t worker;
    timer_t timer = timer_begin();
    for (int i = 0; i < SENDERS; i++) {
        senders[i].tag = i;
        pthread_create(&senders[i].thread, NULL, send_on, &senders[i]);
    }
    pthread_create(&worker, NULL, work_on, NULL);
    time_pass(seconds);
    __atomic_store_n(&ended, true, __ATOMIC_RELEASE);
    pthread_join(worker, NULL);
    for (int i = 0; i < SENDERS; i++) {
        pthread_join(senders[i].thread, NULL);
        all.sent += senders[i].sent;
        all.bytes_in += senders[i].bytes_in;
        all.small += senders[i].small;
        all.most = senders[i].most > all.most ? senders[i].most : all.most;
        for (int b = 0; b < SLOTS; b++)
            all.sizes[b] += senders[i].sizes[b];
    }
    timer_delete(timer);
    return all;
}

static void equal(const char *what, uint64_t mpit, uint64_t program)
{
    if (mpit != program)
        fault("%s: mpit has %llu, the program %llu", what, (unsigned long long)mpit, (unsigned long long)program);
}

/* A variable of many values that everybody started and stopped: all of them run, or none does. */
static void pauses_check(struct sender *sender)
{
    uint64_t before[SLOTS], behind[SLOTS], sent[SLOTS] = {0}, went = 0, all = 0;
    for (int round = 0; round < 2; round++) {
        memcpy(sent, sender->sizes, sizeof sent);
        pvar_read(PAUSES, before);
        for (uint64_t i = 0; i < 60; i++)
            exchange(sender, i);
        pvar_read(PAUSES, behind);
        went = all = 0;
        for (int i = 0; i < pvars[PAUSES].count; i++) {
            went += behind[i] - before[i];
            all += sender->sizes[i] - sent[i];
            if (round == 1)
                equal("mpit_recv_size_count, started", behind[i] - before[i], sender->sizes[i] - sent[i]);
        }
        if (went != 0 && went != all)
            fault("%llu of %llu messages were counted: some values run and some do not", (unsigned long long)went,
                  (unsigned long long)all);
        change(PAUSES, MPI_T_pvar_start);
    }
}

/* Signals add to it on threads of the MPI library, too, which end when they like. */
static uint64_t taken(const uint64_t *sum)
{
    return __atomic_load_n(sum, __ATOMIC_ACQUIRE);
}

static void sums_check(const struct sender *all)
{
    uint64_t values[SLOTS];
    readresets(); /* what was left */
    equal("mpit_send_count", pvar_read(WHOLE, values), all->sent);
    equal("mpit_recv_bytes, the sum of what was read and reset", taken(&parts), all->bytes_in);
    equal("mpit_small_count, the sum of what was read and reset", taken(&small), all->small);
    equal("mpit_p2p_time, the sum of what was read and reset", taken(&part_time), pvar_read(TIME, values));
    for (int i = 0; i < pvars[SIZES].count; i++)
        equal("mpit_send_size_count, the sum of what was read and reset", taken(&sizes[i]), all->sizes[i]);
    equal("mpit_message_bytes, the largest that was read and reset", taken(&high), all->most);
    equal("mpit_message_bytes, the smallest that was read and reset", taken(&low), 0);
    equal("mpit_pending_sends", pvar_read(LEVEL, values), 0);
}

static void large_set(void)
{
    MPI_T_cvar_handle handle;
    int index, count;
    unsigned long long bytes = LARGE;
    need(MPI_T_cvar_get_index("mpit_large_message_bytes", &index), "cvar_get_index", "mpit_large_message_bytes");
    need(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count), "cvar_handle_alloc", "mpit_large_message_bytes");
    need(MPI_T_cvar_write(handle, &bytes), "cvar_write", "mpit_large_message_bytes");
    need(MPI_T_cvar_handle_free(&handle), "cvar_handle_free", "mpit_large_message_bytes");
}

int main(int argc, char **argv)
{
    int provided;
    double seconds = argc > 1 ? atof(argv[1]) : 3;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return 77;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks > 2 || seconds <= 0) {
        fprintf(stderr, "storm: 1 or 2 ranks, and a number of seconds\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    need(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), "MPI_T_init_thread", "the program");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_SELF, &own_comm);
    large_set();
    pvars_open();
    MPI_Barrier(MPI_COMM_WORLD);
    struct sender all = blow(seconds);
    MPI_Barrier(MPI_COMM_WORLD);
    sums_check(&all);
    all.tag = 50;
    pauses_check(&all);
    printf("rank %d: %llu messages, %llu signals, %d faults\n", rank, (unsigned long long)all.sent,
           (unsigned long long)signals, faults);
    int worst = faults;
    MPI_Allreduce(&faults, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_T_pvar_session ends[] = {session, other_session}; /* these stay as signals have read them */
    for (int i = 0; i < 2; i++)
        MPI_T_pvar_session_free(&ends[i]);
    MPI_T_finalize();
    MPI_Finalize();
    return worst != 0 || signals == 0 || all.sent == 0;
}
