/* Posted by one thread and completed by another. */
#include "requests.h"
#include "../common/mpi4.h"

#include <pthread.h>
#include <sched.h>

enum { THREADS = 3, HANDED = 40, ROUNDS = 6 };

struct hand {
    pthread_t thread;
    int number;
    MPI_Request sends[HANDED], receives[HANDED];
    MPI_Message message;
    int posted, matched; /* turns, with release and acquire */
};

static struct hand hands[THREADS];

static void turn_wait(const int *turn, int value)
{
    while (__atomic_load_n(turn, __ATOMIC_ACQUIRE) != value)
        sched_yield();
}

/* Completes what the other thread has posted, in a way that depends on the round. */
static void hand_complete(struct hand *h, int round, int tag)
{
    int outcount, indices[HANDED], left_over = HANDED, index;
    (void)tag;
    if (round % 3 == 0)
        CALL(MPI_Waitall, HANDED, h->receives, MPI_STATUSES_IGNORE);
    for (; round % 3 == 1 && left_over; left_over -= outcount)
        CALL(MPI_Waitsome, HANDED, h->receives, &outcount, indices, MPI_STATUSES_IGNORE);
    for (; round % 3 == 2 && left_over; left_over--)
        CALL(MPI_Waitany, HANDED, h->receives, &index, MPI_STATUS_IGNORE);
    for (int i = HANDED - 1; i >= 0; i--)
        CALL(MPI_Wait, &h->sends[i], MPI_STATUS_IGNORE);
    for (int i = 0; i < HANDED; i++)
        received(&books[i % COMMS], (size_t)i * sizeof(int));
}

static void *hand_work(void *argument)
{
    struct hand *h = argument;
    MPI_Status status;
    int own[HANDED], tag = 1000 * (h->number + 1);
    for (int round = 0; round < ROUNDS; round++) {
        turn_wait(&h->posted, 2 * round + 1);
        hand_complete(h, round, tag);
        CALL(MPI_Mprobe, left(), tag + 500, books[0].comm, &h->message, &status);
        __atomic_store_n(&h->posted, 2 * round + 2, __ATOMIC_RELEASE);
        CALL(MPI_Sendrecv, own, HANDED, MPI_INT, right(), tag + 501, in[6], HANDED, MPI_INT, left(), tag + 501,
             books[1].comm, MPI_STATUS_IGNORE);
        sent(&books[1], sizeof own, 1);
        received(&books[1], sizeof own);
    }
    return NULL;
}

/* Thread 0 posts for all, and receives what they have matched. */
void across_threads(void)
{
    static int buffers[THREADS][HANDED][HANDED];
    MPI_Request extra[THREADS];
    for (int t = 0; t < THREADS; t++) {
        hands[t].number = t;
        pthread_create(&hands[t].thread, NULL, hand_work, &hands[t]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int t = 0; t < THREADS; t++) {
            int tag = 1000 * (t + 1);
            for (int i = 0; i < HANDED; i++)
                CALL(MPI_Irecv, buffers[t][i], HANDED, MPI_INT, left(), tag + i, books[i % COMMS].comm,
                     &hands[t].receives[i]);
            for (int i = 0; i < HANDED; i++)
                post_send(&books[i % COMMS], i, tag + i, &hands[t].sends[i]);
            post_send(&books[0], 12, tag + 500, &extra[t]);
            __atomic_store_n(&hands[t].posted, 2 * round + 1, __ATOMIC_RELEASE);
        }
        for (int t = 0; t < THREADS; t++) {
            MPI_Request request;
            turn_wait(&hands[t].posted, 2 * round + 2);
            if (t % 2) {
                CALL(MPI_Mrecv, in[7], 4096, MPI_INT, &hands[t].message, MPI_STATUS_IGNORE);
            } else {
                CALL(MPI_Imrecv, in[7], 4096, MPI_INT, &hands[t].message, &request);
                CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
            }
            received(&books[0], 12 * sizeof(int));
        }
        CALL(MPI_Waitall, THREADS, extra, MPI_STATUSES_IGNORE);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(hands[t].thread, NULL);
}

#if HAS_MPI4
static MPI_Request parts[2];

static void *part_ready(void *argument)
{
    CALL(MPI_Pready, *(int *)argument, parts[0]);
    return NULL;
}

/* Each thread says of one partition that it is ready, while the first waits for all of them. */
void partitions_of_threads(void)
{
    enum { COUNT = 25, CYCLES = 5 };
    pthread_t threads[THREADS];
    int numbers[THREADS];
    CALL(MPI_Psend_init, out, THREADS, COUNT, MPI_INT, right(), TAG, books[0].comm, MPI_INFO_NULL, &parts[0]);
    CALL(MPI_Precv_init, in[0], THREADS, COUNT, MPI_INT, left(), TAG, books[0].comm, MPI_INFO_NULL, &parts[1]);
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        CALL(MPI_Startall, 2, parts);
        for (int t = 0; t < THREADS; t++) {
            numbers[t] = t;
            pthread_create(&threads[t], NULL, part_ready, &numbers[t]);
        }
        for (int t = 0; t < THREADS; t++)
            pthread_join(threads[t], NULL);
        CALL(MPI_Waitall, 2, parts, MPI_STATUSES_IGNORE);
        sent(&books[0], THREADS * COUNT * sizeof(int), 1);
        received(&books[0], THREADS * COUNT * sizeof(int));
    }
    CALL(MPI_Request_free, &parts[0]);
    CALL(MPI_Request_free, &parts[1]);
}
#endif
