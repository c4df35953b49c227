/*
 * sampleshort: calls that a signal ends early or cuts short, and threads that are easily missed, under the sampler.
 * Each is told apart by what the program itself knows. Prints "ok", or a line for all that was wrong.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

extern int __xpg_sigpause(int number); /* what <signal.h> calls sigpause, and deprecates */

enum { PIECE = 65536, MESSAGES = 16, RANDOM = 24 << 20 };
static const size_t all = 16 << 20;
static int wrong;

#define CHECK(holds)                                                                                                   \
    do {                                                                                                               \
        if (!(holds))                                                                                                  \
            wrong = printf("WRONG: line %d: %s (errno %d)\n", __LINE__, #holds, errno);                                \
    } while (0)

static void rest(long ns)
{
    const struct timespec time = {0, ns};
    nanosleep(&time, NULL);
}

static void *reads_slowly(void *value)
{
    char *place = malloc(PIECE);
    for (size_t got = 0; got < all;) {
        ssize_t bytes = read(*(int *)value, place, PIECE);
        if (bytes <= 0)
            break;
        got += (size_t)bytes;
        rest(200000);
    }
    free(place);
    return NULL;
}

static void sends(int file)
{
    int ends[2];
    pthread_t reader;
    off_t from = 0;
    struct timeval limit = {20, 0};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pthread_create(&reader, NULL, reads_slowly, &ends[1]);
    CHECK(sendfile(ends[0], file, &from, all) == (ssize_t)all);
    pthread_join(reader, NULL);

    char *data = calloc(1, all);
    struct iovec whole = {data, all}, piece = {data, all / MESSAGES};
    pthread_create(&reader, NULL, reads_slowly, &ends[1]);
    CHECK(pwritev2(ends[0], &whole, 1, -1, 0) == (ssize_t)all);
    pthread_join(reader, NULL);

    struct mmsghdr messages[MESSAGES] = {0};
    for (int i = 0; i < MESSAGES; i++)
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &piece, .msg_iovlen = 1};
    setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    pthread_create(&reader, NULL, reads_slowly, &ends[1]);
    CHECK(sendmmsg(ends[0], messages, MESSAGES, 0) == MESSAGES);
    shutdown(ends[0], SHUT_WR);
    pthread_join(reader, NULL);
    for (int i = 0; i < MESSAGES; i++)
        CHECK(messages[i].msg_len == all / MESSAGES);
    free(data);
    close(ends[0]);
    close(ends[1]);
}

static void draws(void)
{
    char *data = malloc(RANDOM);
    CHECK(getrandom(data, RANDOM, 0) == RANDOM);
    free(data);
}

static volatile int signalled, stop;
static pthread_t main_thread;

static void notes(int number)
{
    signalled = number;
}

static void *signals(void *value)
{
    rest(300000000);
    pthread_kill(main_thread, SIGUSR1);
    return value;
}

static void pauses(void)
{
    pthread_t other;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGUSR1, notes);
    pthread_create(&other, NULL, signals, NULL);
    CHECK(__xpg_sigpause(SIGUSR1) == -1 && errno == EINTR && signalled == SIGUSR1);
    pthread_join(other, NULL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void *computes(void *value)
{
    volatile double sum = 0;
    while (!stop)
        sum = sum + 1;
    return value;
}

static int computes_too(void *value)
{
    return computes(value) ? 1 : 7;
}

static pthread_t inner;
static bool has_inner;

/* A reduction that begins a thread, as one with an OpenMP region does. */
static void adds(void *in, void *out, int *length, MPI_Datatype *type)
{
    (void)type;
    if (!has_inner)
        has_inner = pthread_create(&inner, NULL, computes, NULL) == 0;
    for (int i = 0; i < *length; i++)
        ((int *)out)[i] += ((int *)in)[i];
}

static void starts(void)
{
    pthread_attr_t attributes;
    pthread_t masked;
    thrd_t standard;
    sigset_t full;
    MPI_Op op;
    int one = 1, sum = 0, result = 0;
    sigfillset(&full);
    pthread_attr_init(&attributes);
    pthread_attr_setsigmask_np(&attributes, &full);
    CHECK(pthread_create(&masked, &attributes, computes, NULL) == 0);
    CHECK(thrd_create(&standard, computes_too, NULL) == thrd_success);
    MPI_Op_create(adds, 1, &op);
    for (int i = 0; i < 2; i++) /* as root it adds for certain */
        MPI_Reduce(&one, &sum, 1, MPI_INT, op, i, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    CHECK(has_inner);
    signalled = 0;
    signal(SIGUSR2, notes);
    if (has_inner)
        pthread_kill(inner, SIGUSR2);
    rest(500000000);
    CHECK(signalled == SIGUSR2);
    stop = 1;
    pthread_join(masked, NULL);
    CHECK(thrd_join(standard, &result) == thrd_success && result == 7);
    if (has_inner)
        pthread_join(inner, NULL);
    pthread_attr_destroy(&attributes);
}

int main(int argc, char *argv[])
{
    MPI_Init(&argc, &argv);
    main_thread = pthread_self();
    int file = memfd_create("file", 0);
    CHECK(file >= 0 && ftruncate(file, (off_t)all) == 0);
    sends(file);
    draws();
    pauses();
    starts();
    close(file);
    if (!wrong)
        puts("ok");
    MPI_Finalize();
    return wrong != 0;
}
