/*
 * samplestorm SECONDS: everything that a sampler may come upon, at once: malloc, dlopen, fork, popen, threads that come
 * and go, waits that a signal would end, writes that it would cut short, threads that block all signals or wait for all
 * of them. Each thread checks what it is told. Prints "ok" and how often the main loop came round, or what was wrong.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern sighandler_t __sysv_signal(int number, sighandler_t handler);

static volatile int stop;
static int wrong;

#define CHECK(holds)                                                                                                   \
    do {                                                                                                               \
        if (!(holds) && __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED) < 20)                                          \
            fprintf(stderr, "WRONG: line %d: %s (errno %d)\n", __LINE__, #holds, errno);                               \
    } while (0)

static void *allocates(void *value)
{
    unsigned random = (unsigned)(uintptr_t)value;
    void *blocks[50];
    while (!stop) {
        for (int i = 0; i < 50; i++)
            CHECK((blocks[i] = malloc((size_t)rand_r(&random) % 100000)));
        for (int i = 0; i < 50; i++)
            free(blocks[i]);
    }
    return NULL;
}

static void *loads(void *value)
{
    static const char *const names[] = {"libm.so.6", "libutil.so.1", "libstdc++.so.6", "libresolv.so.2"};
    for (unsigned i = 0; !stop; i++) {
        void *handle = dlopen(names[i % 4], RTLD_NOW | RTLD_LOCAL);
        if (handle)
            CHECK(dlclose(handle) == 0);
    }
    return value;
}

static void *forks(void *value)
{
    while (!stop) {
        int status = 0;
        pid_t child = fork();
        if (child == 0)
            _exit(7);
        CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
        char line[16] = "";
        FILE *pipe = popen("echo line", "r");
        CHECK(pipe && fgets(line, sizeof line, pipe) && strcmp(line, "line\n") == 0);
        CHECK(pipe && pclose(pipe) == 0);
    }
    return value;
}

static void *returns(void *value)
{
    return value;
}

static void *starts(void *value)
{
    while (!stop) {
        pthread_t threads[4];
        for (uintptr_t i = 0; i < 4; i++)
            CHECK(pthread_create(&threads[i], NULL, returns, (void *)i) == 0);
        for (uintptr_t i = 0; i < 4; i++) {
            void *result = NULL;
            CHECK(pthread_join(threads[i], &result) == 0 && result == (void *)i);
        }
    }
    return value;
}

static struct timespec in_a_while(clockid_t clock, long ns)
{
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += ns;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

/* A signal to the process may come to any thread while something is pending for the main one, and ends its call: these
 * here are the program's own signals. */
static void signals_ignore(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
}

/* All of these would end with EINTR. */
static void *waits(void *value)
{
    signals_ignore();
    struct timespec short_time = {0, 3000000};
    struct pollfd none = {.fd = -1};
    struct epoll_event event;
    int epoll = epoll_create1(0), set = semget(IPC_PRIVATE, 1, 0600);
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    while (!stop) {
        struct timeval time = {0, 2000};
        struct sembuf take = {0, -1, 0};
        struct timespec until = in_a_while(CLOCK_REALTIME, 2000000);
        CHECK(nanosleep(&short_time, NULL) == 0);
        CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &short_time, NULL) == 0);
        CHECK(usleep(2000) == 0);
        CHECK(poll(&none, 1, 3) == 0);
        CHECK(poll(&none, 1, 0) == 0);
        CHECK(ppoll(&none, 1, &short_time, NULL) == 0);
        CHECK(select(0, NULL, NULL, NULL, &time) == 0);
        CHECK(pselect(0, NULL, NULL, NULL, &short_time, NULL) == 0);
        CHECK(epoll_wait(epoll, &event, 1, 2) == 0);
        CHECK(epoll_pwait(epoll, &event, 1, 2, NULL) == 0);
        CHECK(sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT);
        CHECK(set < 0 || (semtimedop(set, &take, 1, &short_time) == -1 && errno == EAGAIN));
    }
    if (set >= 0)
        semctl(set, 0, IPC_RMID);
    close(epoll);
    return value;
}

/* Waits for whatever signal comes, and must get none that the program knows nothing of. */
static void *waits_for_signals(void *value)
{
    sigset_t all, old, pending;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    sigdelset(&all, SIGCHLD);
    while (!stop) {
        siginfo_t info;
        const struct timespec time = {0, 2000000};
        CHECK(sigtimedwait(&all, &info, &time) == -1 && errno == EAGAIN);
        sigpending(&pending);
        for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
            CHECK(sigismember(&pending, number) == 0);
    }
    pthread_sigmask(SIG_SETMASK, NULL, &old);
    CHECK(sigismember(&old, SIGUSR1) == 1);
    return value;
}

/* Somebody has cancelled it, and it comes to where it may end only when all is over. */
static void *is_cancelled(void *value)
{
    volatile double sum = 0;
    pthread_cancel(pthread_self());
    while (!stop)
        sum = sum + 1;
    pthread_testcancel();
    return sum > 0 ? value : NULL;
}

enum { BIG = 1 << 20 };
static char big[BIG];
static int ends[2];

static void *writes(void *value)
{
    signals_ignore();
    while (!stop) {
        CHECK(write(ends[0], big, BIG) == BIG);
        CHECK(send(ends[0], big, BIG, 0) == BIG);
    }
    shutdown(ends[0], SHUT_WR);
    return value;
}

/* With a timeout, which makes a socket's calls end with EINTR. */
static void *reads(void *value)
{
    struct timeval limit = {20, 0};
    char *place = malloc(BIG);
    ssize_t bytes;
    signals_ignore();
    CHECK(setsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
    while ((bytes = recv(ends[1], place, BIG, MSG_WAITALL)) > 0)
        CHECK(bytes == BIG);
    CHECK(bytes == 0);
    free(place);
    return value;
}

/* A daemon that makes everything anew: the sampler must not be killed by its own signal then. */
static void handlers_reset(void)
{
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        struct sigaction old, fresh = {.sa_handler = SIG_DFL};
        CHECK(sigaction(number, &fresh, &old) == 0 && old.sa_handler == SIG_DFL);
        CHECK(__sysv_signal(number, SIG_DFL) == SIG_DFL); /* what signal() is in strict C */
    }
}

static volatile int handled;

static void on_any(int number, siginfo_t *info, void *context)
{
    (void)context;
    CHECK(info->si_signo == number && info->si_code == SI_QUEUE && info->si_value.sival_int == number);
    handled++;
}

/* Each of them is the program's, the sampler's one too. */
static void signals_queue(void)
{
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        struct sigaction mine = {.sa_sigaction = on_any, .sa_flags = SA_SIGINFO}, none = {.sa_handler = SIG_DFL};
        int before = handled;
        CHECK(sigaction(number, &mine, NULL) == 0);
        CHECK(pthread_sigqueue(pthread_self(), number, (union sigval){.sival_int = number}) == 0);
        for (int i = 0; i < 1000 && handled == before; i++)
            usleep(1000);
        CHECK(handled == before + 1);
        CHECK(sigaction(number, &none, NULL) == 0);
    }
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static long main_loop(double seconds, int rank, int size)
{
    static int numbers[5000];
    unsigned random = 1;
    long rounds = 0;
    double begin = MPI_Wtime();
    for (int go = 1; go; rounds++) {
        int sum = -1;
        MPI_Comm comm;
        for (int i = 0; i < 5000; i++)
            numbers[i] = rand_r(&random);
        qsort(numbers, 5000, sizeof *numbers, compare);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == size * (size - 1) / 2);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_free(&comm);
        go = MPI_Wtime() - begin < seconds;
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return rounds;
}

int main(int argc, char *argv[])
{
    static void *(*const routines[])(void *) = {allocates, allocates,        loads, forks, starts, waits, writes,
                                                reads,     waits_for_signals};
    enum { COUNT = sizeof routines / sizeof routines[0] };
    pthread_t threads[COUNT], before[2], cancelled;
    void *result = NULL;
    int level, rank, size, all = 0;
    double seconds = argc > 1 ? atof(argv[1]) : 2;
    CHECK(pthread_create(&before[0], NULL, waits, NULL) == 0); /* they wait when the sampler begins */
    CHECK(pthread_create(&before[1], NULL, waits_for_signals, NULL) == 0);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    signals_queue();
    handlers_reset();
    for (uintptr_t i = 0; i < COUNT; i++)
        CHECK(pthread_create(&threads[i], NULL, routines[i], (void *)(i + 1)) == 0);
    CHECK(pthread_create(&cancelled, NULL, is_cancelled, NULL) == 0);
    long rounds = main_loop(seconds, rank, size);
    stop = 1;
    for (int i = 0; i < COUNT; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(pthread_join(before[0], NULL) == 0 && pthread_join(before[1], NULL) == 0);
    CHECK(pthread_join(cancelled, &result) == 0 && result == PTHREAD_CANCELED);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s: %ld rounds\n", all ? "WRONG" : "ok", rounds);
    MPI_Finalize();
    return all != 0;
}
