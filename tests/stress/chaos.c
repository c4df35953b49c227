/* chaos DIRECTORY SEED ROUNDS END RANK: a short job that checks each result itself, and ends in one of many ways.
 *
 * A collective, or a ring of messages, comes at once after MPI_Init. All ranks draw the same operations from SEED. Each
 * rank writes into DIRECTORY/rank.N and to stdout how many results it checked and how many were wrong. Then RANK ends:
 *
 *   finalize   as all others
 *   main-gone  all: the main thread leaves by pthread_exit, another one calls MPI_Finalize
 *   kill, abort, exit, _exit   by that; the others wait for a message from it, until the launcher ends them
 *   kill-alone, _exit-alone    by that; the others come to MPI_Finalize (mpirun --enable-recovery)
 *
 * CHAOS_CONTROL names a control variable that is set to 1 before MPI_Init. Exit status 1 if a result was wrong. */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 3000 };

static unsigned long long random_state;
static int world_rank, world_size, book;
static long checked, wrong;

static unsigned draw(unsigned below)
{
    random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(random_state >> 33) % below;
}

static void check(long got, long right)
{
    checked++;
    wrong += got != right;
}

static long value(int rank, int round, int at)
{
    return rank * 1000003L + round * 1009L + at;
}

/* Messages to the right neighbour, of any size up to a rendezvous. */
static void ring(MPI_Comm comm, int round)
{
    static long out[LONGEST], in[LONGEST];
    int rank, size, length = 1 + (int)draw(draw(4) ? 20 : LONGEST - 1);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int left = (rank + size - 1) % size;
    for (int i = 0; i < length; i++)
        out[i] = value(rank, round, i);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Irecv(in, LONGEST, MPI_LONG, left, round, comm, &requests[0]);
    MPI_Isend(out, length, MPI_LONG, (rank + 1) % size, round, comm, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    int count;
    MPI_Get_count(&statuses[0], MPI_LONG, &count);
    check(count, length);
    check(in[0], value(left, round, 0));
    check(in[length - 1], value(left, round, length - 1));
}

/* Whatever comes, from whomever: a message that is not the program's would show. */
static void any_source(MPI_Comm comm, int round)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank) {
        long out = value(rank, round, 0);
        MPI_Send(&out, 1, MPI_LONG, 0, 100 + round, comm);
        return;
    }
    for (int i = 1; i < size; i++) {
        long in[4] = {-1};
        MPI_Status status;
        MPI_Recv(in, 4, MPI_LONG, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        int count;
        MPI_Get_count(&status, MPI_LONG, &count);
        check(count, 1);
        check(status.MPI_TAG, 100 + round);
        check(in[0], value(status.MPI_SOURCE, round, 0));
    }
}

static void sums(MPI_Comm comm, int round)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    long mine = value(rank, round, 0), sum = -1, all = 0;
    for (int i = 0; i < size; i++)
        all += value(i, round, 0);
    if (draw(2)) {
        MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm);
    } else {
        MPI_Request request;
        MPI_Iallreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    check(sum, all);
}

static void exchanges(MPI_Comm comm, int round)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    long out[16], in[16], got[16], root = draw((unsigned)size), word = value((int)root, round, 7);
    for (int i = 0; i < size; i++)
        out[i] = value(rank, round, i);
    MPI_Alltoall(out, 1, MPI_LONG, in, 1, MPI_LONG, comm);
    for (int i = 0; i < size; i++)
        check(in[i], value(i, round, rank));
    MPI_Allgather(&out[1], 1, MPI_LONG, got, 1, MPI_LONG, comm);
    for (int i = 0; i < size; i++)
        check(got[i], value(i, round, 1));
    long all = rank == root ? word : -1;
    MPI_Bcast(&all, 1, MPI_LONG, (int)root, comm);
    check(all, word);
}

static void operation(MPI_Comm comm, int round)
{
    switch (draw(5)) {
    case 0:
        ring(comm, round);
        break;
    case 1:
        any_source(comm, round);
        MPI_Barrier(comm);
        break;
    case 2:
        sums(comm, round);
        break;
    case 3:
        exchanges(comm, round);
        break;
    default:
        MPI_Barrier(comm);
    }
}

/* Duplicates, and halves of a communicator, that are used and freed. */
static void communicators(int round)
{
    MPI_Comm copy, half;
    int rank, size;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    operation(copy, round);
    MPI_Comm_split(copy, world_rank % 2, -world_rank, &half);
    MPI_Comm_size(half, &size);
    MPI_Comm_rank(half, &rank);
    check(size, (world_size + 1 - world_rank % 2) / 2);
    check(rank, size - 1 - world_rank / 2); /* the order is reversed */
    unsigned long long before = random_state;
    sums(half, round);
    random_state = before; /* halves may have drawn differently */
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
}

static void die(const char *end)
{
    usleep(30000); /* the launcher passes on what was printed */
    if (!strncmp(end, "kill", 4))
        raise(SIGKILL);
    if (!strcmp(end, "abort"))
        abort();
    if (!strcmp(end, "exit"))
        exit(3);
    _exit(0);
}

/* Writes a control variable, if the library has one of that name. What is written is local to this process. */
static void control_write(const char *name)
{
    int provided, index, count, value = 1;
    MPI_T_cvar_handle handle;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS &&
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS) {
        MPI_T_cvar_write(handle, &value);
        MPI_T_cvar_handle_free(&handle);
    }
    MPI_T_finalize();
}

/* The results, where the launcher's output may not get to. */
static int book_open(const char *directory)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/rank.%d", directory, world_rank);
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        exit(2);
    return file;
}

static void finalize(void)
{
    MPI_Finalize();
    dprintf(book, "finalized\n");
}

/* The main thread has left. The process looks like a zombie then. */
static void *finalize_alone(void *main_thread)
{
    pthread_join(*(pthread_t *)main_thread, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    finalize();
    exit(wrong != 0);
}

static void work(int rounds)
{
    draw(2) ? operation(MPI_COMM_WORLD, 0) : exchanges(MPI_COMM_WORLD, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    for (int round = 1; round <= rounds; round++) {
        draw(8) ? operation(MPI_COMM_WORLD, round) : communicators(round);
        if (draw(4) == 0)
            usleep(1000);
    }
}

int main(int argc, char **argv)
{
    static pthread_t main_thread;
    if (argc != 6)
        return 2;
    random_state = strtoull(argv[2], NULL, 10);
    const char *end = argv[4];
    int dying = atoi(argv[5]), provided;
    if (getenv("CHAOS_CONTROL"))
        control_write(getenv("CHAOS_CONTROL"));
    if (strcmp(end, "main-gone"))
        MPI_Init(&argc, &argv);
    else
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    work(atoi(argv[3]));
    book = book_open(argv[1]);
    dprintf(book, "%ld checked, %ld wrong\n", checked, wrong);
    printf("rank %d of %d: %ld checked, %ld wrong\n", world_rank, world_size, checked, wrong);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(end, "main-gone")) {
        pthread_t thread;
        main_thread = pthread_self();
        pthread_create(&thread, NULL, finalize_alone, &main_thread);
        pthread_exit(NULL);
    }
    if (strcmp(end, "finalize")) {
        if (world_rank == dying)
            die(end);
        if (!strstr(end, "alone")) {
            long in;
            MPI_Recv(&in, 1, MPI_LONG, dying, 999, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        usleep(60000); /* it is dead by then */
    }
    finalize();
    return wrong != 0;
}
