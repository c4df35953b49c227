/*
 * mpit_umq_length: rank 0 of each communicator compares what it reads with what it knows to be under way. Nothing here
 * depends on timing: who sends has sent when a barrier is through, and who waits is asked for again until it is so.
 *
 * Prints a line for each figure that is wrong, and how many there were; exits with 1 if any.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LARGE = 1 << 22, PATIENCE_MS = 20000, MANY = 200 };

static int rank, size, checks, failures;
static char *large_buffer;

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        int check_result = (call);                                                                                     \
        if (check_result != MPI_SUCCESS) {                                                                             \
            fprintf(stderr, "umq: rank %d: %s returned %d\n", rank, #call, check_result);                              \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

static void same(const char *what, unsigned long long read, unsigned long long expected)
{
    checks++;
    if (read != expected) {
        failures++;
        printf("rank %d: %s: read %llu, %llu expected\n", rank, what, read, expected);
    }
}

struct figure {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
};

static struct figure open_figure(const char *name, int class, MPI_Comm comm)
{
    struct figure figure;
    int index, count;
    CHECK(MPI_T_pvar_get_index(name, class, &index));
    CHECK(MPI_T_pvar_session_create(&figure.session));
    CHECK(MPI_T_pvar_handle_alloc(figure.session, index, &comm, &figure.handle, &count));
    same("values of a handle", (unsigned long long)count, 1);
    return figure;
}

static unsigned long long value(struct figure *figure)
{
    unsigned long long read = 0;
    CHECK(MPI_T_pvar_read(figure->session, figure->handle, &read));
    return read;
}

static int int_value(struct figure *figure)
{
    int read[2] = {-1, 4711};
    CHECK(MPI_T_pvar_read(figure->session, figure->handle, read));
    same("what lies behind an int", (unsigned long long)read[1], 4711);
    return read[0];
}

/* The last of each part: nobody sends for the next one before all have read. */
static void close_figure(struct figure *figure, MPI_Comm comm)
{
    CHECK(MPI_Barrier(comm));
    CHECK(MPI_T_pvar_handle_free(figure->session, &figure->handle));
    CHECK(MPI_T_pvar_session_free(&figure->session));
}

/* Until the figure is what is expected, at most so long. */
static unsigned long long awaited(struct figure *figure, unsigned long long expected)
{
    struct timespec pause = {0, 1000000};
    unsigned long long read = value(figure);
    for (int ms = 0; read != expected && ms < PATIENCE_MS; ms++) {
        nanosleep(&pause, NULL);
        read = value(figure);
    }
    return read;
}

/* Every rank sends k small messages to rank 0, itself too; they are received in another order than they were sent. */
static void small_ones(MPI_Comm comm, int k)
{
    int me, n, got;
    CHECK(MPI_Comm_rank(comm, &me));
    CHECK(MPI_Comm_size(comm, &n));
    struct figure length = open_figure("mpit_umq_length", MPI_T_PVAR_CLASS_LEVEL, comm);
    struct figure peers = open_figure("mpit_umq_peers", MPI_T_PVAR_CLASS_SIZE, comm);
    CHECK(MPI_Barrier(comm));
    same("peers", value(&peers), (unsigned long long)n);
    same("before any message", value(&length), 0);
    CHECK(MPI_Barrier(comm));
    int values[MANY];
    MPI_Request requests[MANY];
    for (int i = 0; i < k; i++) {
        values[i] = i; /* a library may let a send to oneself wait for its receive */
        CHECK(MPI_Isend(&values[i], 1, MPI_INT, 0, i, comm, &requests[i]));
    }
    CHECK(MPI_Barrier(comm));
    unsigned long long left = me == 0 ? (unsigned long long)k * (unsigned)n : 0;
    same("all sent", value(&length), left);
    for (int i = k - 1; me == 0 && i >= 0; i--)
        for (int from = 0; from < n; from++) {
            CHECK(MPI_Recv(&got, 1, MPI_INT, from, i, comm, MPI_STATUS_IGNORE));
            same("value", (unsigned long long)got, (unsigned long long)i);
            same("one less", value(&length), --left);
        }
    CHECK(MPI_Waitall(k, requests, MPI_STATUSES_IGNORE));
    close_figure(&length, comm);
    close_figure(&peers, comm);
}

/* The handle comes when the messages are there already. */
static void late_handle(MPI_Comm comm)
{
    int me, n, got;
    CHECK(MPI_Comm_rank(comm, &me));
    CHECK(MPI_Comm_size(comm, &n));
    CHECK(MPI_Send(&me, 1, MPI_INT, (me + 1) % n, 3, comm));
    CHECK(MPI_Barrier(comm));
    struct figure length = open_figure("mpit_umq_length", MPI_T_PVAR_CLASS_LEVEL, comm);
    same("a late handle", value(&length), 1);
    CHECK(MPI_Recv(&got, 1, MPI_INT, (me + n - 1) % n, 3, comm, MPI_STATUS_IGNORE));
    same("a late handle, received", value(&length), 0);
    close_figure(&length, comm);
}

/* Messages wait in two communicators, and the second was made when the handles were there already. What waits in
 * neither communicator of this test counts as well, so all is a difference. */
static void every_communicator(MPI_Comm comm)
{
    int me, n, got, value_of_all = 5;
    MPI_Comm second;
    MPI_Request pending[2];
    struct figure all = open_figure("mpit_umq_length_total", MPI_T_PVAR_CLASS_LEVEL, comm);
    struct figure unexpected = open_figure("unexpected_recvq_length", MPI_T_PVAR_CLASS_LEVEL, comm);
    struct figure posted = open_figure("posted_recvq_length", MPI_T_PVAR_CLASS_LEVEL, comm);
    CHECK(MPI_Comm_rank(comm, &me));
    CHECK(MPI_Comm_size(comm, &n));
    CHECK(MPI_Comm_dup(comm, &second));
    CHECK(MPI_Barrier(second));
    unsigned long long before = value(&all);
    int posted_before = int_value(&posted);
    CHECK(MPI_Barrier(second));
    int to = (me + 1) % n, from = (me + n - 1) % n;
    CHECK(MPI_Send(&value_of_all, 1, MPI_INT, to, 7, comm));
    CHECK(MPI_Send(&value_of_all, 1, MPI_INT, to, 8, second));
    CHECK(MPI_Send(&value_of_all, 1, MPI_INT, to, 9, second));
    CHECK(MPI_Barrier(comm));
    same("in all communicators", value(&all), before + 3);
    same("the same, as MPICH calls it", (unsigned)int_value(&unexpected), before + 3);
    CHECK(MPI_Recv(&got, 1, MPI_INT, from, 9, second, MPI_STATUS_IGNORE));
    same("in all communicators, one received", value(&all), before + 2);
    CHECK(MPI_Recv(&got, 1, MPI_INT, from, 7, comm, MPI_STATUS_IGNORE));
    CHECK(MPI_Recv(&got, 1, MPI_INT, from, 8, second, MPI_STATUS_IGNORE));
    same("in all communicators, all received", value(&all), before);
    CHECK(MPI_Irecv(&got, 1, MPI_INT, from, 10, comm, &pending[0]));
    CHECK(MPI_Irecv(&got, 1, MPI_INT, from, 11, second, &pending[1]));
    same("posted, as MPICH calls it", (unsigned)int_value(&posted), (unsigned)posted_before + 2);
    CHECK(MPI_Barrier(comm));
    CHECK(MPI_Send(&value_of_all, 1, MPI_INT, to, 10, comm));
    CHECK(MPI_Send(&value_of_all, 1, MPI_INT, to, 11, second));
    CHECK(MPI_Waitall(2, pending, MPI_STATUSES_IGNORE));
    same("none posted any more", (unsigned)int_value(&posted), (unsigned)posted_before);
    CHECK(MPI_Comm_free(&second));
    close_figure(&all, comm);
    close_figure(&unexpected, comm);
    close_figure(&posted, comm);
}

/* The last rank waits in a send that is too large to leave before it is received. */
static void blocked_sender(MPI_Comm comm, int sendrecv)
{
    int me, n, small = 1;
    CHECK(MPI_Comm_rank(comm, &me));
    CHECK(MPI_Comm_size(comm, &n));
    struct figure length = open_figure("mpit_umq_length", MPI_T_PVAR_CLASS_LEVEL, comm);
    CHECK(MPI_Barrier(comm));
    if (me == n - 1 && sendrecv) {
        CHECK(MPI_Sendrecv(large_buffer, LARGE, MPI_BYTE, 0, 5, &small, 1, MPI_INT, 0, 6, comm, MPI_STATUS_IGNORE));
    } else if (me == n - 1) {
        CHECK(MPI_Ssend(large_buffer, LARGE, MPI_BYTE, 0, 5, comm));
        CHECK(MPI_Recv(&small, 1, MPI_INT, 0, 6, comm, MPI_STATUS_IGNORE));
    }
    if (me == 0) {
        same(sendrecv ? "a blocked sendrecv" : "a blocked sender", awaited(&length, 1), 1);
        same("still blocked", value(&length), 1);
        CHECK(MPI_Recv(large_buffer, LARGE, MPI_BYTE, n - 1, 5, comm, MPI_STATUS_IGNORE));
        same("a blocked sender, received", value(&length), 0);
        CHECK(MPI_Send(&small, 1, MPI_INT, n - 1, 6, comm));
    }
    CHECK(MPI_Barrier(comm));
    same("nothing is left", value(&length), 0);
    close_figure(&length, comm);
}

/* Nonblocking receives: one that takes what waits, one for a process that sends nothing, one from any source. */
static void posted_receives(MPI_Comm comm)
{
    int me, n, buffers[4];
    MPI_Request requests[4];
    CHECK(MPI_Comm_rank(comm, &me));
    CHECK(MPI_Comm_size(comm, &n));
    struct figure length = open_figure("mpit_umq_length", MPI_T_PVAR_CLASS_LEVEL, comm);
    if (me == 0) /* nothing comes from here before the end */
        CHECK(MPI_Irecv(&buffers[0], 1, MPI_INT, 0, 1, comm, &requests[0]));
    CHECK(MPI_Barrier(comm));
    for (int i = 0; me == n - 1 && i < 3; i++)
        CHECK(MPI_Send(&i, 1, MPI_INT, 0, 2, comm));
    CHECK(MPI_Barrier(comm));
    if (me == 0) {
        same("a receive for another source", value(&length), 3);
        CHECK(MPI_Irecv(&buffers[1], 1, MPI_INT, n - 1, 2, comm, &requests[1]));
        same("a receive for this source", value(&length), 2);
        CHECK(MPI_Irecv(&buffers[2], 1, MPI_INT, MPI_ANY_SOURCE, 2, comm, &requests[2]));
        same("a receive from any source", value(&length), 1);
        CHECK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        same("one completed", value(&length), 1);
        CHECK(MPI_Recv_init(&buffers[3], 1, MPI_INT, n - 1, 2, comm, &requests[3]));
        same("a persistent receive that is not started", value(&length), 1);
        CHECK(MPI_Start(&requests[3]));
        same("a persistent receive", value(&length), 0);
        CHECK(MPI_Waitall(2, &requests[2], MPI_STATUSES_IGNORE));
        CHECK(MPI_Request_free(&requests[3]));
        CHECK(MPI_Send(&me, 1, MPI_INT, 0, 1, comm));
        same("a message for a posted receive", value(&length), 0);
        CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        same("all received", value(&length), 0);
    }
    CHECK(MPI_Barrier(comm));
    close_figure(&length, comm);
}

/* Receives take the messages whose tags they name, and leave the others. `passed`: so many messages have gone before.
 */
static void tags(MPI_Comm comm, int passed)
{
    int me, n, got, last;
    MPI_Request end, one, any;
    CHECK(MPI_Comm_rank(comm, &me));
    CHECK(MPI_Comm_size(comm, &n));
    last = n - 1;
    struct figure length = open_figure("mpit_umq_length", MPI_T_PVAR_CLASS_LEVEL, comm);
    struct figure high = open_figure("mpit_umq_length", MPI_T_PVAR_CLASS_HIGHWATERMARK, comm);
    CHECK(MPI_T_pvar_start(high.session, high.handle));
    if (me == 0)
        CHECK(MPI_Irecv(&got, 1, MPI_INT, last, 7777, comm, &end));
    for (int i = 0; i < passed; i++) {
        if (me == last)
            CHECK(MPI_Send(&i, 1, MPI_INT, 0, i % 100, comm));
        if (me == 0)
            CHECK(MPI_Recv(&got, 1, MPI_INT, i % 2 ? last : MPI_ANY_SOURCE, i % 3 ? i % 100 : MPI_ANY_TAG, comm,
                           MPI_STATUS_IGNORE));
        if (i % 100 == 99)
            CHECK(MPI_Barrier(comm));
    }
    CHECK(MPI_Barrier(comm));
    CHECK(MPI_T_pvar_reset(high.session, high.handle));
    for (int i = 0; me == last && i < 100; i++)
        CHECK(MPI_Send(&i, 1, MPI_INT, 0, i, comm));
    CHECK(MPI_Barrier(comm));
    if (me == 0) {
        same("a receive for a tag that does not come", value(&length), 100);
        for (int i = 99; i >= 10; i--) {
            CHECK(MPI_Recv(&got, 1, MPI_INT, last, i, comm, MPI_STATUS_IGNORE));
            same("the tag that came last is received first", value(&length), (unsigned long long)i);
        }
        CHECK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 5, comm, &one));
        same("a receive for the tag from any source", value(&length), 9);
        CHECK(MPI_Wait(&one, MPI_STATUS_IGNORE));
        same("that completed", value(&length), 9);
        CHECK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 5, comm, &one));
        same("another one for it", value(&length), 9);
        CHECK(MPI_Irecv(&got, 1, MPI_INT, last, MPI_ANY_TAG, comm, &any));
        same("a receive for any tag", value(&length), 8);
        CHECK(MPI_Wait(&any, MPI_STATUS_IGNORE));
        for (int i = 1; i < 10; i++)
            if (i != 5)
                CHECK(MPI_Recv(&got, 1, MPI_INT, last, i, comm, MPI_STATUS_IGNORE));
        same("all that came are received", value(&length), 0);
        same("the watermark beside a receive for another tag", value(&high), 100);
    }
    CHECK(MPI_Barrier(comm));
    CHECK(MPI_T_pvar_reset(high.session, high.handle));
    CHECK(MPI_Barrier(comm));
    if (me == last) {
        CHECK(MPI_Send(&me, 1, MPI_INT, 0, 5, comm));
        CHECK(MPI_Send(&me, 1, MPI_INT, 0, 7777, comm));
    }
    CHECK(MPI_Barrier(comm));
    if (me == 0) {
        same("messages that receives waited for", value(&length), 0);
        CHECK(MPI_Wait(&one, MPI_STATUS_IGNORE));
        CHECK(MPI_Wait(&end, MPI_STATUS_IGNORE));
        same("and the watermark", value(&high), 0);
    }
    CHECK(MPI_Barrier(comm));
    CHECK(MPI_T_pvar_stop(high.session, high.handle));
    close_figure(&high, comm);
    close_figure(&length, comm);
}

/* What waits for a receive, and receives that wait or have got what they waited for. */
struct queues {
    int messages[MANY], message_count; /* tags, in the order of the sends */
    struct {
        int tag, got;
        MPI_Request request;
    } receives[MANY];
    int receive_count;
};

static void queues_send(struct queues *queues, int tag)
{
    for (int i = 0; i < queues->receive_count; i++)
        if (queues->receives[i].tag == tag && !queues->receives[i].got) {
            queues->receives[i].got = 1;
            return;
        }
    queues->messages[queues->message_count++] = tag;
}

/* Takes the first message with the tag out. */
static int queues_take(struct queues *queues, int tag)
{
    for (int i = 0; i < queues->message_count; i++)
        if (queues->messages[i] == tag) {
            memmove(&queues->messages[i], &queues->messages[i + 1],
                    (size_t)(--queues->message_count - i) * sizeof queues->messages[0]);
            return 1;
        }
    return 0;
}

/* Random sends and receives of few tags or many, in steps of all processes, against queues of the program's own. */
static void modelled(MPI_Comm comm, int tag_count)
{
    enum { STEPS = 400 };
    static struct queues queues;
    static int buffers[STEPS];
    int me, n, got;
    CHECK(MPI_Comm_rank(comm, &me));
    CHECK(MPI_Comm_size(comm, &n));
    memset(&queues, 0, sizeof queues);
    srand(5);
    struct figure length = open_figure("mpit_umq_length", MPI_T_PVAR_CLASS_LEVEL, comm);
    for (int i = 0; i < STEPS; i++) {
        int what = rand() % 8, tag = rand() % tag_count, chosen = rand();
        if (what < 3 && queues.message_count < MANY / 2) {
            if (me == n - 1)
                CHECK(MPI_Send(&i, 1, MPI_INT, 0, tag, comm));
            queues_send(&queues, tag);
            CHECK(MPI_Barrier(comm));
        } else if (what < 5 && queues.receive_count < 20) {
            int k = queues.receive_count++;
            queues.receives[k].tag = tag;
            queues.receives[k].got = queues_take(&queues, tag);
            if (me == 0)
                CHECK(MPI_Irecv(&buffers[i], 1, MPI_INT, n - 1, tag, comm, &queues.receives[k].request));
        } else if (what < 7 && queues.message_count) {
            tag = queues.messages[chosen % queues.message_count];
            queues_take(&queues, tag);
            if (me == 0)
                CHECK(MPI_Recv(&got, 1, MPI_INT, n - 1, tag, comm, MPI_STATUS_IGNORE));
        } else if (queues.receive_count && queues.receives[chosen % queues.receive_count].got) {
            int k = chosen % queues.receive_count;
            if (me == 0)
                CHECK(MPI_Wait(&queues.receives[k].request, MPI_STATUS_IGNORE));
            memmove(&queues.receives[k], &queues.receives[k + 1],
                    (size_t)(--queues.receive_count - k) * sizeof queues.receives[0]);
        }
        if (me == 0)
            same("random sends and receives", value(&length), (unsigned long long)queues.message_count);
        CHECK(MPI_Barrier(comm));
    }
    for (int k = 0; k < queues.receive_count; k++) {
        if (me == n - 1 && !queues.receives[k].got)
            CHECK(MPI_Send(&me, 1, MPI_INT, 0, queues.receives[k].tag, comm));
        if (me == 0)
            CHECK(MPI_Wait(&queues.receives[k].request, MPI_STATUS_IGNORE));
    }
    for (int i = 0; me == 0 && i < queues.message_count; i++)
        CHECK(MPI_Recv(&got, 1, MPI_INT, n - 1, queues.messages[i], comm, MPI_STATUS_IGNORE));
    close_figure(&length, comm);
}

/* What the watermark has to have seen between two reads, though nobody read then. */
static void watermark(MPI_Comm comm)
{
    int me, n, got;
    CHECK(MPI_Comm_rank(comm, &me));
    CHECK(MPI_Comm_size(comm, &n));
    struct figure high = open_figure("mpit_umq_length", MPI_T_PVAR_CLASS_HIGHWATERMARK, comm);
    struct figure early = open_figure("mpit_umq_length", MPI_T_PVAR_CLASS_HIGHWATERMARK, comm);
    CHECK(MPI_T_pvar_start(high.session, high.handle));
    CHECK(MPI_T_pvar_start(early.session, early.handle));
    same("the watermark at its start", value(&high), 0);
    for (int height = 4; height > 0; height -= 2) {
        CHECK(MPI_Barrier(comm));
        for (int i = 0; me == n - 1 && i < height; i++)
            CHECK(MPI_Send(&i, 1, MPI_INT, 0, 1, comm));
        CHECK(MPI_Barrier(comm));
        for (int i = 0; me == 0 && i < height; i++) {
            MPI_Request request;
            CHECK(MPI_Irecv(&got, 1, MPI_INT, n - 1, 1, comm, &request));
            CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        CHECK(MPI_Barrier(comm));
        same("the watermark", value(&high), me == 0 ? (unsigned long long)height : 0);
        same("another session's watermark", value(&early), me == 0 ? 4 : 0);
        CHECK(MPI_T_pvar_reset(high.session, high.handle));
        same("the watermark after reset", value(&high), 0);
    }
    CHECK(MPI_T_pvar_stop(early.session, early.handle));
    CHECK(MPI_Send(&me, 1, MPI_INT, me, 9, comm));
    CHECK(MPI_Recv(&got, 1, MPI_INT, me, 9, comm, MPI_STATUS_IGNORE));
    same("a message to oneself", value(&high), 1);
    same("a watermark that is stopped", value(&early), me == 0 ? 4 : 0);
    CHECK(MPI_Send(&me, 1, MPI_INT, me, 9, comm));
    CHECK(MPI_T_pvar_reset(early.session, early.handle));
    CHECK(MPI_Recv(&got, 1, MPI_INT, me, 9, comm, MPI_STATUS_IGNORE));
    same("a watermark that was reset while it was stopped", value(&early), 1);
    CHECK(MPI_T_pvar_start(early.session, early.handle));
    same("the same from its start on", value(&early), 0);
    close_figure(&high, comm);
    close_figure(&early, comm);
}

/* MPI_T_UMQ_LENGTH: an int, which keeps its value while it is stopped. */
static void named(MPI_Comm comm)
{
    int me, got;
    CHECK(MPI_Comm_rank(comm, &me));
    struct figure length = open_figure("MPI_T_UMQ_LENGTH", MPI_T_PVAR_CLASS_LEVEL, comm);
    CHECK(MPI_T_pvar_start(length.session, length.handle));
    CHECK(MPI_Send(&me, 1, MPI_INT, me, 1, comm));
    CHECK(MPI_Send(&me, 1, MPI_INT, me, 1, comm));
    same("the named one", (unsigned long long)int_value(&length), 2);
    CHECK(MPI_T_pvar_stop(length.session, length.handle));
    CHECK(MPI_Recv(&got, 1, MPI_INT, me, 1, comm, MPI_STATUS_IGNORE));
    same("the named one, stopped", (unsigned long long)int_value(&length), 2);
    CHECK(MPI_T_pvar_start(length.session, length.handle));
    same("the named one, started again", (unsigned long long)int_value(&length), 1);
    same("reset of a level", MPI_T_pvar_reset(length.session, length.handle) == MPI_T_ERR_PVAR_NO_WRITE, 1);
    CHECK(MPI_Recv(&got, 1, MPI_INT, me, 1, comm, MPI_STATUS_IGNORE));
    close_figure(&length, comm);
}

static struct figure alarmed;
static volatile sig_atomic_t alarms, too_many;
static unsigned long long most;

static void alarm_read(int signal)
{
    unsigned long long read;
    (void)signal;
    alarms = alarms + 1;
    if (MPI_T_pvar_read(alarmed.session, alarmed.handle, &read) != MPI_SUCCESS || read > most)
        too_many = too_many + 1;
}

/* A signal handler reads while all ranks send to rank 0 and it receives; never more than have been sent at most. */
static void storm(MPI_Comm comm)
{
    enum { ROUNDS = 2000, BURST = 8 };
    int me, n, got;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    struct itimerspec every = {{0, 100000}, {0, 100000}};
    struct sigaction action = {.sa_handler = alarm_read, .sa_flags = SA_RESTART};
    timer_t timer;
    CHECK(MPI_Comm_rank(comm, &me));
    CHECK(MPI_Comm_size(comm, &n));
    alarmed = open_figure("mpit_umq_length", MPI_T_PVAR_CLASS_LEVEL, comm);
    most = me == 0 ? (unsigned long long)BURST * (unsigned)n : 0;
    sigaction(SIGRTMIN, &action, NULL);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &every, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BURST; i++)
            CHECK(MPI_Send(&i, 1, MPI_INT, 0, 1, comm));
        for (int i = 0; me == 0 && i < BURST * n; i++)
            CHECK(MPI_Recv(&got, 1, MPI_INT, i % n, 1, comm, MPI_STATUS_IGNORE));
        CHECK(MPI_Barrier(comm));
    }
    timer_delete(timer);
    same("reads over what can be", (unsigned long long)too_many, 0);
    same("the handler ran", alarms > 0, 1);
    same("after the storm", value(&alarmed), 0);
    close_figure(&alarmed, comm);
}

static void all_on(MPI_Comm comm)
{
    small_ones(comm, 3);
    late_handle(comm);
    every_communicator(comm);
    blocked_sender(comm, 0);
    blocked_sender(comm, 1);
    posted_receives(comm);
    tags(comm, 0);
    tags(comm, 10000); /* more than the event buffers hold */
    watermark(comm);
    named(comm);
    small_ones(comm, MANY);
}

int main(int argc, char **argv)
{
    int provided, total = 0;
    MPI_Comm copy, reversed, half, own;
    CHECK(MPI_Init(&argc, &argv));
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    large_buffer = calloc(1, LARGE);
    all_on(MPI_COMM_WORLD);
    modelled(MPI_COMM_WORLD, 4);
    modelled(MPI_COMM_WORLD, 30);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    CHECK(MPI_Comm_split(copy, 0, -rank, &reversed));
    CHECK(MPI_Comm_split(reversed, rank % 2, 0, &half));
    CHECK(MPI_Comm_dup(MPI_COMM_SELF, &own));
    all_on(copy);
    all_on(reversed);
    small_ones(half, 5);
    small_ones(own, 2);
    storm(reversed);
    CHECK(MPI_Comm_free(&half));
    CHECK(MPI_Comm_free(&own));
    CHECK(MPI_Comm_free(&reversed));
    CHECK(MPI_Comm_free(&copy));
    printf("rank %d: %d checks, %d failures\n", rank, checks, failures);
    CHECK(MPI_Allreduce(&failures, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    free(large_buffer);
    CHECK(MPI_T_finalize());
    CHECK(MPI_Finalize());
    return total != 0;
}
