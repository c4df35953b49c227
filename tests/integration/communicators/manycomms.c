/*
 * manycomms CYCLES ALIVE: makes and frees communicators, and counts for itself what happens on them.
 *
 *   cycles    dup, name, barrier, free and split, message, free, CYCLES in all. Of some, a request, a persistent request,
 *             a window or a file is still there when the communicator is freed, and is finished behind it.
 *   alive     ALIVE communicators at once, each with another number of messages, which handles of mpit_send_count see
 *   handles   one that is bound to a freed communicator says so for ever, whoever has its slot
 *   threads   under MPI_THREAD_MULTIPLE (argument "threads"): each thread makes and frees its own
 *
 * Rank 0 writes what it did in one line, for the script to hold against what mpit says:
 *
 *   manycomms: RANKS ranks, SENDS sends, BARRIERS barriers, MADE made, HWM kilobytes more than after the first 1000
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { THREADS = 3, WARM = 1000, WINDOWED = 997, FILED = 499, POSTED = 7, PERSISTENT = 11, CHAINED = 13 };

static int rank, ranks, faults;
static const char *file_path;

struct counts {
    long sends, barriers, made;
};

static void fault(const char *what, long a, long b)
{
    char line[200];
    snprintf(line, sizeof line, "manycomms: rank %d: %s: %ld, not %ld\n", rank, what, a, b);
    fputs(line, stderr);
    __atomic_add_fetch(&faults, 1, __ATOMIC_RELAXED);
}

static long memory_kilobytes(void)
{
    char line[200];
    long kilobytes = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmRSS: %ld", &kilobytes) == 1)
            break;
    if (status)
        fclose(status);
    return kilobytes;
}

/* A message to the next in the ring, with the receive pending while the communicator is freed. */
static void exchange_and_free(MPI_Comm *comm, struct counts *counts)
{
    int size, me, out = 1, in = 0;
    MPI_Request requests[2];
    MPI_Comm_size(*comm, &size);
    MPI_Comm_rank(*comm, &me);
    MPI_Irecv(&in, 1, MPI_INT, (me + size - 1) % size, 5, *comm, &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, (me + 1) % size, 5, *comm, &requests[1]);
    MPI_Comm_free(comm);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    counts->sends++;
    if (in != 1)
        fault("the message brought", in, 1);
}

static void persistent_and_free(MPI_Comm *comm, struct counts *counts)
{
    int size, me, out = 2, in = 0;
    MPI_Request requests[2];
    MPI_Comm_size(*comm, &size);
    MPI_Comm_rank(*comm, &me);
    MPI_Recv_init(&in, 1, MPI_INT, (me + size - 1) % size, 6, *comm, &requests[0]);
    MPI_Send_init(&out, 1, MPI_INT, (me + 1) % size, 6, *comm, &requests[1]);
    MPI_Comm_free(comm);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        counts->sends++;
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void window_and_free(MPI_Comm *comm)
{
    int *base;
    MPI_Win win;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, *comm, &base, &win);
    MPI_Comm_free(comm);
    MPI_Win_fence(0, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

static void file_and_free(MPI_Comm *comm)
{
    MPI_File file;
    int value = rank;
    if (MPI_File_open(*comm, file_path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS) {
        fault("the file could not be opened", 1, 0);
        return;
    }
    MPI_Comm_free(comm);
    MPI_File_write_at(file, (MPI_Offset)(rank * (int)sizeof value), &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

static void cycle(long number, MPI_Comm from, struct counts *counts, int alone)
{
    MPI_Comm comm, child;
    char name[32];
    if (number % 2) {
        MPI_Comm_dup(from, &comm);
        snprintf(name, sizeof name, "number %ld", number);
        if (number % 10 == 1)
            MPI_Comm_set_name(comm, name);
        MPI_Barrier(comm);
        counts->barriers++;
    } else {
        MPI_Comm_split(from, rank % 2, rank, &comm);
    }
    counts->made++;
    if (number % CHAINED == 0) { /* the parent goes first, and the child's end is charged to it */
        MPI_Comm_dup(comm, &child);
        counts->made++;
        MPI_Comm_free(&comm);
        comm = child;
    }
    if (number % POSTED == 0)
        exchange_and_free(&comm, counts);
    else if (number % PERSISTENT == 0)
        persistent_and_free(&comm, counts);
    else if (number % WINDOWED == 0 && !alone)
        window_and_free(&comm);
    else if (number % FILED == 0 && !alone)
        file_and_free(&comm);
    else
        MPI_Comm_free(&comm);
}

/* ---- handles ----------------------------------------------------------------------------------------------------- */

static int pvar_index, pvar_found;
static MPI_T_pvar_session session;

static MPI_T_pvar_handle handle_on(MPI_Comm comm)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int count;
    if (MPI_T_pvar_handle_alloc(session, pvar_index, &comm, &handle, &count) != MPI_SUCCESS ||
        MPI_T_pvar_start(session, handle) != MPI_SUCCESS)
        fault("no handle for a communicator", 1, 0);
    return handle;
}

static void alive_at_once(int alive, struct counts *counts)
{
    MPI_Comm *comms = malloc((size_t)alive * sizeof *comms);
    MPI_T_pvar_handle *handles = malloc((size_t)alive * sizeof *handles);
    for (int i = 0; i < alive; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
        counts->made++;
        if (pvar_found)
            handles[i] = handle_on(comms[i]);
    }
    for (int i = alive; i-- > 0;)
        for (int m = 0; m < i % 5; m++) {
            int in, out = i;
            MPI_Sendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, comms[i], MPI_STATUS_IGNORE);
            counts->sends++;
        }
    for (int i = 0; i < alive; i++) {
        unsigned long long value = 0;
        if (pvar_found && MPI_T_pvar_read(session, handles[i], &value) != MPI_SUCCESS)
            fault("a handle could not be read", i, 0);
        if (pvar_found && value != (unsigned long long)(i % 5))
            fault("messages of one of many communicators", (long)value, i % 5);
        MPI_Comm_free(&comms[i]);
        if (pvar_found && MPI_T_pvar_read(session, handles[i], &value) != MPI_T_ERR_INVALID_HANDLE)
            fault("a freed communicator's handle was read", 0, 1);
        if (pvar_found && i % 3)
            MPI_T_pvar_handle_free(session, &handles[i]); /* the others stay while slots are used again */
    }
    for (int i = 0; i < 2 * WARM; i++)
        cycle(2 * i + 1, MPI_COMM_SELF, counts, 1);
    for (int i = 0; i < alive; i += 3) {
        unsigned long long value;
        if (pvar_found && MPI_T_pvar_read(session, handles[i], &value) != MPI_T_ERR_INVALID_HANDLE)
            fault("a handle reads what another communicator has counted", i, 0);
        if (pvar_found)
            MPI_T_pvar_handle_free(session, &handles[i]);
    }
    free(comms);
    free(handles);
}

/* ---- totals ------------------------------------------------------------------------------------------------------ */

enum { TOTAL_SENDS, TOTAL_BARRIERS, TOTAL_SENT_BYTES, TOTAL_PENDING, TOTALS };
enum { MANY = 10000 }; /* sends that take many milliseconds */

static MPI_T_pvar_handle totals[TOTALS];
static unsigned long long total_seen;
static volatile sig_atomic_t totals_fell, totals_read;
static int totals_timed;

static MPI_T_pvar_handle total_open(const char *name, int class)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int index, count;
    if (MPI_T_pvar_get_index(name, class, &index) != MPI_SUCCESS ||
        MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) != MPI_SUCCESS || count != 1)
        fault("no handle of a total", 1, 0);
    if (class != MPI_T_PVAR_CLASS_LEVEL && MPI_T_pvar_start(session, handle) != MPI_SUCCESS)
        fault("a total cannot be started", 1, 0);
    return handle;
}

/* In whatever the program does, the total never falls. Of threads of MPI the handler is not wanted: two would compare
 * their values in the wrong order. They get the signal while the main thread blocks it. */
static void total_look(int number)
{
    unsigned long long now = 0;
    (void)number;
    if (gettid() != getpid())
        return;
    if (MPI_T_pvar_read(session, totals[TOTAL_SENDS], &now) != MPI_SUCCESS || now < total_seen)
        totals_fell = 1;
    total_seen = now;
    totals_read++;
}

static void handles_open(int threads)
{
    int provided;
    MPI_T_init_thread(threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    pvar_found = MPI_T_pvar_get_index("mpit_send_count", MPI_T_PVAR_CLASS_COUNTER, &pvar_index) == MPI_SUCCESS;
    if (!pvar_found)
        return;
    totals[TOTAL_SENDS] = total_open("mpit_send_count_total", MPI_T_PVAR_CLASS_COUNTER);
    totals[TOTAL_BARRIERS] = total_open("mpit_coll_count_total", MPI_T_PVAR_CLASS_COUNTER);
    totals[TOTAL_SENT_BYTES] = total_open("mpit_send_bytes_total", MPI_T_PVAR_CLASS_AGGREGATE);
    totals[TOTAL_PENDING] = total_open("mpit_pending_sends_total", MPI_T_PVAR_CLASS_LEVEL);
    if (!threads) { /* a handler would run in several threads at once */
        struct itimerval each = {{0, 1000}, {0, 1000}};
        signal(SIGPROF, total_look);
        setitimer(ITIMER_PROF, &each, NULL);
        totals_timed = 1;
    }
}

static void total_check(int which, const char *what, long own)
{
    unsigned long long value = 0;
    if (MPI_T_pvar_read(session, totals[which], &value) != MPI_SUCCESS || value != (unsigned long long)own)
        fault(what, (long)value, own);
}

static void totals_check(const struct counts *counts)
{
    struct itimerval never = {{0, 0}, {0, 0}};
    if (!pvar_found)
        return;
    setitimer(ITIMER_PROF, &never, NULL);
    total_check(TOTAL_SENDS, "mpit_send_count_total", counts->sends);
    total_check(TOTAL_BARRIERS, "mpit_coll_count_total", counts->barriers);
    total_check(TOTAL_SENT_BYTES, "mpit_send_bytes_total", counts->sends * (long)sizeof(int));
    total_check(TOTAL_PENDING, "mpit_pending_sends_total", 0);
    if (totals_fell)
        fault("mpit_send_count_total was seen to fall", 1, 0);
    if (totals_timed && !totals_read && counts->sends > MANY)
        fault("no signal handler has read a total", totals_read, 1);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

struct worker {
    pthread_t thread;
    MPI_Comm from;
    long cycles;
    struct counts counts;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (long i = 1; i <= worker->cycles; i++)
        cycle(i, worker->from, &worker->counts, 1);
    return NULL;
}

static void threads_run(long cycles, struct counts *counts)
{
    static struct worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &workers[i].from);
        counts->made++;
        workers[i].cycles = cycles;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        MPI_Comm_free(&workers[i].from);
        counts->sends += workers[i].counts.sends;
        counts->barriers += workers[i].counts.barriers;
        counts->made += workers[i].counts.made;
    }
}

int main(int argc, char **argv)
{
    long cycles = argc > 2 ? atol(argv[1]) : 0, before = 0, after;
    int alive = argc > 2 ? atoi(argv[2]) : 0, provided, threads = argc > 4 && strcmp(argv[4], "threads") == 0;
    struct counts counts = {0}, all = {0};
    if (argc < 4) {
        fputs("usage: manycomms CYCLES ALIVE FILE [threads]\n", stderr);
        return 2;
    }
    file_path = argv[3];
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_name(MPI_COMM_WORLD, "all of them");
    handles_open(threads);
    for (long i = 1; i <= cycles; i++) {
        cycle(i, MPI_COMM_WORLD, &counts, 0);
        if (i == WARM)
            before = memory_kilobytes();
    }
    after = memory_kilobytes();
    if (alive)
        alive_at_once(alive, &counts);
    if (threads && provided == MPI_THREAD_MULTIPLE)
        threads_run(cycles, &counts);
    totals_check(&counts);
    MPI_Reduce(&counts, &all, 3, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("manycomms: %d ranks, %ld sends, %ld barriers, %ld made, %ld kilobytes more than after the first 1000\n",
               ranks, all.sends, all.barriers, all.made, cycles < WARM ? 0 : after - before);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    return faults != 0;
}
