/*
 * Persistent requests that one thread starts while another one tests or waits for their array.
 *
 *     restarted testsome | testany | test | sends | waitall | collectives
 *
 * One process, which sends to itself. Prints what it did: "messages N", "collectives N".
 */
#include <mpi.h>
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#endif

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { REQUESTS = 4, ROUNDS = 50 };

static MPI_Request array[REQUESTS];
static int states[REQUESTS]; /* 1: started; the thread that completes it sets it back, with release and acquire */
static int buffers[REQUESTS][2], from[2] = {1, 2};
static const char *mode;

static int load(const int *value)
{
    return __atomic_load_n(value, __ATOMIC_ACQUIRE);
}

static void store(int *place, int value)
{
    __atomic_store_n(place, value, __ATOMIC_RELEASE);
}

/* Completes whatever is started, until all rounds are done. */
static void *complete(void *argument)
{
    int left = REQUESTS * ROUNDS, flag, index, count, indices[REQUESTS];
    (void)argument;
    while (left > 0) {
        if (!strcmp(mode, "test")) {
            for (int i = 0; i < REQUESTS; i++) {
                MPI_Status status;
                MPI_Test(&array[i], &flag, &status);
                if (flag && status.MPI_SOURCE == 0) { /* an inactive one has an empty status */
                    store(&states[i], 0);
                    left--;
                }
            }
        } else if (!strcmp(mode, "testany")) {
            MPI_Testany(REQUESTS, array, &index, &flag, MPI_STATUS_IGNORE);
            if (flag && index != MPI_UNDEFINED) {
                store(&states[index], 0);
                left--;
            }
        } else {
            MPI_Testsome(REQUESTS, array, &count, indices, MPI_STATUSES_IGNORE);
            for (int i = 0; count != MPI_UNDEFINED && i < count; i++) {
                store(&states[indices[i]], 0);
                left--;
            }
        }
    }
    return NULL;
}

static void start(int i)
{
    usleep(50); /* into a call of the other thread */
    store(&states[i], 1);
    MPI_Start(&array[i]);
}

static void idle_wait(int i)
{
    while (load(&states[i]))
        sched_yield();
}

static void receives(void)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < REQUESTS; i++) {
            idle_wait(i);
            start(i);
            MPI_Send(from, 2, MPI_INT, 0, i, MPI_COMM_WORLD);
        }
}

static void sends(void)
{
    int in[2];
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < REQUESTS; i++) {
            idle_wait(i);
            start(i);
            MPI_Recv(in, 2, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
}

static void collectives(void)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < REQUESTS; i++) {
            idle_wait(i);
            start(i);
        }
}

static void threads_run(void (*work)(void))
{
    pthread_t thread;
    pthread_create(&thread, NULL, complete, NULL);
    work();
    pthread_join(thread, NULL);
}

static int entered;

static void *wait_for_all(void *argument)
{
    store(&entered, 1);
    MPI_Waitall(2, array, MPI_STATUSES_IGNORE);
    return argument;
}

/* The second one is inactive when the call begins, and is started while that waits for the first one. */
static void waitall(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        store(&entered, 0);
        MPI_Start(&array[0]);
        pthread_create(&thread, NULL, wait_for_all, NULL);
        while (!load(&entered))
            sched_yield();
        for (int i = 0; i < 100; i++)
            sched_yield();
        MPI_Start(&array[1]);
        MPI_Send(from, 2, MPI_INT, 0, 1, MPI_COMM_WORLD);
        MPI_Send(from, 2, MPI_INT, 0, 0, MPI_COMM_WORLD);
        pthread_join(thread, NULL);
        MPI_Wait(&array[1], MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    int provided, count = strcmp(argc > 1 ? argv[1] : "", "waitall") ? REQUESTS * ROUNDS : 2 * ROUNDS;
    mode = argc > 1 ? argv[1] : "";
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    int messages = strcmp(mode, "collectives") != 0;
    for (int i = 0; i < REQUESTS; i++) {
        if (!strcmp(mode, "sends"))
            MPI_Send_init(from, 2, MPI_INT, 0, i, MPI_COMM_WORLD, &array[i]);
        else if (messages)
            MPI_Recv_init(buffers[i], 2, MPI_INT, 0, i, MPI_COMM_WORLD, &array[i]);
        else
            MPI_Allreduce_init(from, buffers[i], 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &array[i]);
    }
    if (!strcmp(mode, "waitall"))
        waitall();
    else
        threads_run(!strcmp(mode, "sends") ? sends : messages ? receives : collectives);
    for (int i = 0; i < REQUESTS; i++)
        MPI_Request_free(&array[i]);
    MPI_Finalize();
    printf("messages %d\ncollectives %d\n", messages ? count : 0, messages ? 0 : count);
    return 0;
}
