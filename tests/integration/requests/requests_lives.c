/* How requests live and end: persistent, asked, freed while active, many of one handle. */
#include "requests.h"

#include <string.h>

/* Inactive and null requests stand between those that complete; some are started, others are not. */
void persistent(void)
{
    enum { N = 8 };
    MPI_Request r[N];
    MPI_Status statuses[N];
    int indices[N], outcount, index, flag, gone;
    struct book *b = &books[0];
    for (int i = 0; i < N; i++)
        r[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < 3; i++) {
        CALL(MPI_Recv_init, in[i], 4096, MPI_INT, left(), TAG + i, b->comm, &r[2 * i]);
        CALL(MPI_Send_init, out, 100 * i, MPI_INT, right(), TAG + i, b->comm, &r[2 * i + 1]);
    }
    CALL(MPI_Test, &r[0], &flag, &statuses[0]);
    CALL(MPI_Wait, &r[1], MPI_STATUS_IGNORE);
    CALL(MPI_Testany, N, r, &index, &flag, &statuses[0]);
    check(flag && index == MPI_UNDEFINED, 1, "persistent", "a test of inactive requests");
    CALL(MPI_Testall, N, r, &flag, statuses);
    CALL(MPI_Waitall, N, r, MPI_STATUSES_IGNORE);
    for (int cycle = 0; cycle < 12; cycle++) {
        int first = cycle % 2, left_over = 4; /* the first two pairs, or the last two */
        CALL(MPI_Startall, 2, r + 2 * first);
        CALL(MPI_Start, &r[2 * first + 2]);
        CALL(MPI_Start, &r[2 * first + 3]);
        while (left_over > 0) {
            outcount = 0;
            if (cycle % 4 == 0) {
                CALL(MPI_Waitsome, N, r, &outcount, indices, cycle == 4 ? MPI_STATUSES_IGNORE : statuses);
            } else if (cycle % 4 == 1) {
                CALL(MPI_Testsome, N, r, &outcount, indices, statuses);
            } else if (cycle % 4 == 2) {
                CALL(MPI_Waitany, N, r, &index, &statuses[0]);
                outcount = 1;
            } else {
                CALL(MPI_Testany, N, r, &index, &flag, MPI_STATUS_IGNORE);
                outcount = flag && index != MPI_UNDEFINED;
            }
            left_over -= outcount;
        }
        for (int i = first; i < first + 2; i++) {
            sent(b, (size_t)(100 * i) * sizeof(int), 1);
            received(b, (size_t)(100 * i) * sizeof(int));
        }
    }
    for (int i = 0; i < 5; i++) { /* cancelled, and started again */
        CALL(MPI_Start, &r[0]);
        CALL(MPI_Cancel, &r[0]);
        CALL(MPI_Wait, &r[0], &statuses[0]);
        MPI_Test_cancelled(&statuses[0], &gone);
        check((unsigned long long)gone, 1, "persistent", "cancelled receives");
        cancelled += gone != 0;
        MPI_Barrier(MPI_COMM_WORLD);
        CALL(MPI_Startall, 2, r);
        CALL(MPI_Waitall, 2, r, statuses);
        sent(b, 0, 1);
        received(b, 0);
    }
    for (int i = 0; i < 6; i++)
        CALL(MPI_Request_free, &r[i]);
}

/* Asked, before another call completes them. */
void asked(void)
{
    MPI_Request receive, send;
    int flag = 1;
    CALL(MPI_Irecv, in[0], 4096, MPI_INT, left(), TAG, books[0].comm, &receive);
    CALL(MPI_Request_get_status, receive, &flag, MPI_STATUS_IGNORE);
    check((unsigned long long)flag, 0, "asked", "a receive that nobody sends to");
    MPI_Barrier(MPI_COMM_WORLD);
    post_send(&books[0], 17, TAG, &send);
    for (flag = 0; !flag;)
        CALL(MPI_Request_get_status, receive, &flag, MPI_STATUS_IGNORE);
    CALL(MPI_Wait, &receive, MPI_STATUS_IGNORE);
    received(&books[0], 17 * sizeof(int));
    for (flag = 0; !flag;)
        CALL(MPI_Test, &send, &flag, MPI_STATUS_IGNORE);
    for (int i = 0; i < 5; i++) { /* and freed when they have ended: they brought their messages */
        CALL(MPI_Irecv, in[0], 4096, MPI_INT, left(), TAG, books[0].comm, &receive);
        post_send(&books[0], (size_t)i, TAG, &send);
        for (flag = 0; !flag;)
            CALL(MPI_Request_get_status, receive, &flag, MPI_STATUS_IGNORE);
        CALL(MPI_Request_free, &receive);
        received(&books[0], (size_t)i * sizeof(int));
        CALL(MPI_Wait, &send, MPI_STATUS_IGNORE);
    }
}

/* Freed while active: of a send nothing is missed but its end; what a receive brings is seen by nobody. Their handles
 * are those of the next requests. */
void freed(void)
{
    enum { ROUNDS = 50, MOST = 4096 };
    MPI_Request receive, gone, sends[2];
    MPI_Status status;
    int done = 0, count;
    for (int i = 0; i < ROUNDS; i++) {
        CALL(MPI_Irecv, in[0], MOST, MPI_INT, left(), TAG, books[0].comm, &receive);
        CALL(MPI_Isend, out, i, MPI_INT, right(), TAG, books[0].comm, &gone);
        sent(&books[0], (size_t)i * sizeof(int), 0);
        CALL(MPI_Request_free, &gone);
        CALL(MPI_Wait, &receive, &status);
        received(&books[0], (size_t)i * sizeof(int));
    }
#if defined(MPICH_VERSION)
    if (size == 1) /* MPICH 4.0.2 never completes a send to a receive of the same process that was freed */
        return;
#endif
    for (int i = 0; i < ROUNDS; i++) {
        CALL(MPI_Irecv, in[1], 1, MPI_INT, left(), TAG + 1, books[1].comm, &gone);
        CALL(MPI_Request_free, &gone);
        unseen++;
        MPI_Barrier(MPI_COMM_WORLD);
        CALL(MPI_Irecv, in[2], MOST, MPI_INT, left(), TAG + 2, books[0].comm, &receive);
        CALL(MPI_Isend, out, 1, MPI_INT, right(), TAG + 1, books[1].comm, &sends[0]);
        CALL(MPI_Isend, out, 2 * i, MPI_INT, right(), TAG + 2, books[0].comm, &sends[1]);
        sent(&books[1], sizeof(int), 1);
        sent(&books[0], (size_t)(2 * i) * sizeof(int), 1);
        CALL(MPI_Waitall, 2, sends, MPI_STATUSES_IGNORE);
        CALL(MPI_Wait, &receive, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        done += count;
        received(&books[0], (size_t)(2 * i) * sizeof(int));
    }
    check((unsigned long long)done, ROUNDS * (ROUNDS - 1), "freed", "what arrived");
}

/* Messages on both communicators with equal handles, completed from the last to the first and every other way. */
void equal_handles(void)
{
    enum { N = 48 };
    MPI_Request sends[N], receives[N], copies[N];
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < N; i++)
            CALL(MPI_Irecv, &in[0][i * 16], 16, MPI_INT, left(), TAG + i, books[i % COMMS].comm, &receives[i]);
        for (int i = 0; i < N; i++)
            post_send(&books[i % COMMS], i % 16, TAG + i, &sends[i]);
        memcpy(copies, sends, sizeof sends);
        for (int i = N - 1; i >= 0; i--)
            CALL(MPI_Wait, round == 3 ? &copies[i] : &sends[i], MPI_STATUS_IGNORE);
        for (int i = 0; i < N; i += 2)
            CALL(MPI_Wait, &receives[i], MPI_STATUS_IGNORE);
        CALL(MPI_Waitall, N, receives, MPI_STATUSES_IGNORE); /* half of them are null */
        for (int i = 0; i < N; i++)
            received(&books[i % COMMS], (size_t)(i % 16) * sizeof(int));
    }
}

enum { CROWD = 300, ROOM = 16, CYCLED = 40 }; /* a crowd is more than there are buckets, so that some share one */

static int *crowd_room(int i)
{
    return &in[i / 256][i % 256 * ROOM];
}

/* Neighbours that are nobody: calls and no messages. */
static void nobody(MPI_Comm comm)
{
    MPI_Request requests[2];
    CALL(MPI_Irecv, in[7], 4, MPI_INT, MPI_PROC_NULL, TAG, comm, &requests[0]);
    CALL(MPI_Isend, out, 4, MPI_INT, MPI_PROC_NULL, TAG, comm, &requests[1]);
    CALL(MPI_Sendrecv, out, 4, MPI_INT, MPI_PROC_NULL, TAG, in[7], 4, MPI_INT, MPI_PROC_NULL, TAG, comm,
         MPI_STATUS_IGNORE);
    CALL(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
}

/* More requests at once than there are places, of every kind, completed one by one, some at once, and all. */
void crowded(void)
{
    MPI_Request receives[CROWD], sends[CROWD], cycled[2 * CYCLED], sums[COMMS];
    MPI_Status statuses[CROWD];
    int sum[COMMS], index, flag, outcount, indices[CROWD];
    for (int i = 0; i < CYCLED; i++) {
        CALL(MPI_Recv_init, crowd_room(i) + 2048, ROOM, MPI_INT, left(), 100 + i, books[1].comm, &cycled[2 * i]);
        CALL(MPI_Send_init, out, i % ROOM, MPI_INT, right(), 100 + i, books[1].comm, &cycled[2 * i + 1]);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < CROWD; i++)
            CALL(MPI_Irecv, crowd_room(i), ROOM, MPI_INT, left(), TAG + i, books[i % COMMS].comm, &receives[i]);
        for (int c = 0; c < COMMS; c++)
            CALL(MPI_Iallreduce, &rank, &sum[c], 1, MPI_INT, MPI_SUM, books[c].comm, &sums[c]);
        CALL(MPI_Startall, 2 * CYCLED, cycled);
        for (int i = 0; i < CROWD; i++)
            post_send(&books[i % COMMS], i % ROOM, TAG + i, &sends[i]);
        nobody(books[0].comm);
        for (int i = CROWD - 1; i >= CROWD / 2; i--)
            CALL(MPI_Wait, &receives[i], MPI_STATUS_IGNORE);
        CALL(MPI_Waitall, 20, receives, round ? MPI_STATUSES_IGNORE : statuses);
        for (flag = 0; !flag;)
            CALL(MPI_Testall, 10, receives + 20, &flag, statuses);
        CALL(MPI_Waitany, 30, receives + 20, &index, &statuses[0]); /* the first ten are null */
        CALL(MPI_Waitsome, 30, receives + 20, &outcount, indices, statuses);
        for (flag = 0; !flag;)
            CALL(MPI_Testany, 32, receives + 50, &index, &flag, MPI_STATUS_IGNORE);
        CALL(MPI_Waitall, CROWD, receives, MPI_STATUSES_IGNORE);
        CALL(MPI_Waitall, 32, cycled, MPI_STATUSES_IGNORE);
        CALL(MPI_Waitall, 2 * CYCLED - 32, cycled + 32, statuses);
        CALL(MPI_Startall, 4, cycled);
        CALL(MPI_Waitall, 4, cycled, statuses);
        CALL(MPI_Waitall, CROWD, sends, MPI_STATUSES_IGNORE);
        CALL(MPI_Waitall, COMMS, sums, MPI_STATUSES_IGNORE);
        for (int i = 0; i < CROWD; i++)
            received(&books[i % COMMS], (size_t)(i % ROOM) * sizeof(int));
        for (int i = 0; i < CYCLED + 2; i++) {
            sent(&books[1], (size_t)(i % CYCLED % ROOM) * sizeof(int), 1);
            received(&books[1], (size_t)(i % CYCLED % ROOM) * sizeof(int));
        }
    }
    for (int i = 0; i < 2 * CYCLED; i++)
        CALL(MPI_Request_free, &cycled[i]);
}
