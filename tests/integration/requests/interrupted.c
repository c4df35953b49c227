/*
 * Signal handlers that call MPI, wherever they have interrupted the program: in the MPI library, and in the recorder.
 *
 *     interrupted storm SECONDS     messages to itself, while handlers call MPI
 *     interrupted stack SECONDS     the same with handlers that have a stack of their own
 *     interrupted jump | exit       handlers that leave the recorder by a jump, or with their thread
 *     interrupted callback          callbacks that leave an MPI call of their own by a jump
 *
 * Prints what it called itself: "NAME COUNT".
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { MICROSECONDS = 100, ROUNDS = 100, CALLS_AFTER = 1000 };

static long handled, messages;
static sigjmp_buf back;
static MPI_Comm copy;
static __thread volatile int known; /* the thread has called MPI: the recorder holds no lock in what follows */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void timer_set(int microseconds)
{
    struct itimerval every = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &every, NULL);
}

static void handler_set(void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART | flags};
    sigaction(SIGALRM, &action, NULL);
}

static void called(int number, siginfo_t *info, void *context)
{
    int value;
    (void)number;
    (void)info;
    (void)context;
    MPI_Initialized(&value);
    MPI_Comm_rank(copy, &value);
    MPI_Comm_size(MPI_COMM_WORLD, &value);
    handled++;
}

static void message_to_self(MPI_Comm comm)
{
    int in = 0, out = 1;
    MPI_Request requests[2];
    MPI_Irecv(&in, 1, MPI_INT, 0, 1, comm, &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, 0, 1, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    messages += in;
}

static void storm(double seconds, int flags)
{
    double end = now() + seconds;
    handler_set(called, flags);
    timer_set(MICROSECONDS);
    while (now() < end)
        for (int i = 0; i < 100; i++)
            message_to_self(i % 2 ? copy : MPI_COMM_SELF);
    timer_set(0);
    printf("MPI_Initialized %ld\nMPI_Comm_rank %ld\nMPI_Comm_size %ld\nMPI_Isend %ld\n", handled, handled, handled,
           messages);
}

/* Has the signal interrupted the recorder? */
static int in_recorder(const void *context)
{
#if defined(__x86_64__)
    const ucontext_t *at = context;
    Dl_info info;
    const char *name = dladdr((void *)at->uc_mcontext.gregs[REG_RIP], &info) ? info.dli_fname : "";
    return name && strstr(name, "libmpit-") != NULL;
#else
    (void)context;
    return 0;
#endif
}

static void leave_by_jump(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    if (in_recorder(context))
        siglongjmp(back, 1);
}

static void leave_with_thread(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    if (known && in_recorder(context))
        pthread_exit(NULL);
}

/* A function that does not come back to functions of the recorder's from within the library. */
static void ask_forever(void)
{
    for (int flag;; known = 1)
        MPI_Comm_rank(copy, &flag);
}

/* All of these are recorded. */
static void probe_after(void)
{
    int flag;
    for (int i = 0; i < CALLS_AFTER; i++)
        MPI_Iprobe(0, 1, copy, &flag, MPI_STATUS_IGNORE);
}

static void jump(void)
{
    static volatile int jumps;
    handler_set(leave_by_jump, 0);
    for (sigsetjmp(back, 1); jumps < ROUNDS; jumps++) {
        timer_set(MICROSECONDS);
        if (sigsetjmp(back, 1) == 0)
            ask_forever();
        timer_set(0);
    }
    probe_after();
    printf("after %d\n", CALLS_AFTER);
}

static void *thread_ask(void *argument)
{
    ask_forever();
    return argument;
}

static void *thread_probe_after(void *argument)
{
    probe_after();
    return argument;
}

/* Threads of the libraries must not get the signals. */
static void leave(void)
{
    pthread_t thread;
    handler_set(leave_with_thread, 0);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_create(&thread, NULL, thread_ask, NULL);
        do {
            usleep(MICROSECONDS);
            pthread_kill(thread, SIGALRM);
        } while (pthread_tryjoin_np(thread, NULL));
    }
    pthread_create(&thread, NULL, thread_probe_after, NULL); /* it goes on with the log of one that has ended */
    pthread_join(thread, NULL);
    printf("after %d\n", CALLS_AFTER);
}

/* ---- callbacks --------------------------------------------------------------------------------------------------- */

static void failed(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    siglongjmp(back, 1);
}

/* Called by the library while the program completes requests. Its send fails. */
static int query(void *state, MPI_Status *status)
{
    int value = 0;
    (void)state;
    if (!sigsetjmp(back, 0))
        MPI_Send(&value, 1, MPI_INT, 9999, 0, copy);
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 0;
    status->MPI_TAG = 0;
    return MPI_SUCCESS;
}

static int nothing(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

static void requests_post(MPI_Request requests[3])
{
    static int sent = 1, received;
    MPI_Irecv(&received, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
    MPI_Isend(&sent, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]);
    MPI_Grequest_start(query, nothing, cancel, NULL, &requests[2]);
    MPI_Grequest_complete(requests[2]);
}

static void callbacks(void)
{
    MPI_Request requests[3];
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(failed, &handler);
    MPI_Comm_set_errhandler(copy, handler);
    for (int i = 0; i < ROUNDS; i++) {
        int flag = 0;
        requests_post(requests);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        requests_post(requests);
        MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        requests_post(requests);
        while (!flag)
            MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE);
    }
    MPI_Errhandler_free(&handler);
    printf("MPI_Waitall %d\nMPI_Wait %d\nMPI_Isend %d\n", ROUNDS, 3 * ROUNDS, 3 * ROUNDS);
}

int main(int argc, char **argv)
{
    int provided;
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    const char *mode = argc > 1 ? argv[1] : "";
    MPI_Init_thread(&argc, &argv, strcmp(mode, "exit") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    sigaltstack(&stack, NULL);
    if (!strcmp(mode, "storm") && argc > 2)
        storm(atof(argv[2]), 0);
    else if (!strcmp(mode, "stack") && argc > 2)
        storm(atof(argv[2]), SA_ONSTACK);
    else if (!strcmp(mode, "jump"))
        jump();
    else if (!strcmp(mode, "exit"))
        leave();
    else if (!strcmp(mode, "callback"))
        callbacks();
    MPI_Finalize();
    return 0;
}
