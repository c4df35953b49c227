/*
 * A program that counts for itself, in memory that outlives it, and does not come to its end. crash.py holds what mpit
 * recorded against that.
 *
 *     crash BOOKS OPERATIONS THREADS END CALLS
 *
 * BOOKS is a directory: each process has a file RANK there, mapped, in which each thread writes down the call that it
 * is about to make, and behind that that it has returned. OPERATIONS: `mixed`, `plain` (collectives, one event each),
 * `comms` (communicators that are made and freed) or `waits` (for 32 messages at once). END is what happens when rank 1
 * (of a world of one: rank 0) has made CALLS calls; `forever`: nothing, and somebody else ends it.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { THREADS_MOST = 4, LAST = 1 << 16, COMMS = 8, WAITS = 16 };
enum kind {
    ALLREDUCE,
    SENDRECV,
    ISEND,
    IRECV,
    WAITALL,
    BARRIER,
    COMM_DUP,
    COMM_FREE,
    RECV,
    REDUCE,
    BCAST,
    SEND,
    KINDS
};

struct entry {
    uint32_t kind, value; /* value: bytes of a collective, tag of a message */
};

struct account {
    volatile uint64_t begun, returned;
    volatile uint64_t count[KINDS]; /* returned */
    volatile struct entry last[LAST];
};

struct book {
    volatile uint32_t ready, pid, threads, in_finalize;
    struct account thread[THREADS_MOST];
};

static struct book *book;
static int rank, size;
static const char *operations, *end, *books;
static uint64_t calls;
static bool mark_due;     /* in front of the next wait */
static volatile int turn; /* of the threads to make their first call */

#define CALL(account, kind_, value_, call)                                                                             \
    do {                                                                                                               \
        uint64_t n_ = (account)->begun;                                                                                \
        (account)->last[n_ % LAST].kind = (kind_);                                                                     \
        (account)->last[n_ % LAST].value = (uint32_t)(value_);                                                         \
        (account)->begun = n_ + 1;                                                                                     \
        if ((call) != MPI_SUCCESS)                                                                                     \
            _exit(70);                                                                                                 \
        (account)->returned = n_ + 1;                                                                                  \
        (account)->count[kind_]++;                                                                                     \
    } while (0)

static void book_open(const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%d", directory, rank);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *book) != 0)
        exit(71);
    book = mmap(NULL, sizeof *book, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (book == MAP_FAILED)
        exit(71);
    book->pid = (uint32_t)getpid();
}

static uint64_t draw(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

/* Rank 0 and 1 wait for each other, and the others for them. */
static void hang(struct account *account, MPI_Comm comm)
{
    int token = 1, sum;
    if (strcmp(end, "hang-requests") == 0) { /* 0 and 1 in requests, of which one is none of the circle */
        MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        int tokens[3], count = rank < 2 ? 2 : 1;
        CALL(account, IRECV, 4711,
             MPI_Irecv(&tokens[0], 1, MPI_INT, rank < 2 ? 1 - rank : 0, 4711, comm, &requests[0]));
        if (rank < 2)
            CALL(account, IRECV, 4712, MPI_Irecv(&tokens[1], 1, MPI_INT, MPI_ANY_SOURCE, 4712, comm, &requests[1]));
        CALL(account, WAITALL, 0, MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    }
    if (strcmp(end, "hang-collective") == 0) { /* 0 waits for 2, which waits for 0 to come to the barrier */
        if (rank == 0)
            CALL(account, RECV, 4711, MPI_Recv(&token, 1, MPI_INT, 2, 4711, comm, MPI_STATUS_IGNORE));
        CALL(account, BARRIER, 0, MPI_Barrier(comm));
    }
    if (strcmp(end, "hang-rooted") == 0) { /* for a root that computes: whoever waits for rank 1 waits for it */
        for (;;)
            if (rank == 0)
                pause();
            else if (rank == 1)
                CALL(account, BCAST, 4, MPI_Bcast(&token, 1, MPI_INT, 0, comm));
            else
                CALL(account, RECV, 4711, MPI_Recv(&token, 1, MPI_INT, 1, 4711, comm, MPI_STATUS_IGNORE));
    }
    if (strncmp(end, "hang-sends", strlen("hang-sends")) == 0 &&
        rank < 2) { /* too much to be sent before it is received */
        static int tokens[1 << 20];
        MPI_Request request;
        if (strcmp(end, "hang-sends-posted") == 0) /* what never comes */
            CALL(account, IRECV, 4712, MPI_Irecv(&token, 1, MPI_INT, 1 - rank, 4712, comm, &request));
        CALL(account, SEND, 4711, MPI_Send(tokens, 1 << 20, MPI_INT, 1 - rank, 4711, comm));
    }
    if (strcmp(end, "hang-dead") == 0) { /* 1 waits and is killed by somebody, then 0 waits for it; 2 and 3 hang */
        char path[4096];
        snprintf(path, sizeof path, "%s.dead", books);
        while (rank == 0 && access(path, F_OK) != 0)
            usleep(10000);
        CALL(account, RECV, 4711, MPI_Recv(&token, 1, MPI_INT, rank ^ 1, 4711, comm, MPI_STATUS_IGNORE));
    }
    if (rank > 0) /* rank 1 leaves it, the root waits for rank 0 alone */
        CALL(account, REDUCE, 4, MPI_Reduce(&token, &sum, 1, MPI_INT, MPI_SUM, 2, comm));
    if (rank < 2)
        CALL(account, RECV, 4711, MPI_Recv(&token, 1, MPI_INT, 1 - rank, 4711, comm, MPI_STATUS_IGNORE));
    CALL(account, BARRIER, 0, MPI_Barrier(comm));
}

static void raise_fault(void)
{
    volatile int *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *nowhere = 1;
}

/* For the one who traces it. */
static void mark(bool later)
{
    mark_due = later;
    if (!later)
        raise(SIGURG);
}

static void come_to_an_end(struct account *account, MPI_Comm comm)
{
    if (strncmp(end, "hang", 4) == 0)
        hang(account, comm);
    if (strcmp(end, "killall") == 0)
        raise(SIGKILL);
    if (rank != (size > 1))
        return;
    unsigned long long bytes; /* a limit on the size of files, set where no write is under way */
    if (sscanf(end, "fsize=%llu", &bytes) == 1)
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){bytes, bytes});
    if (strcmp(end, "kill") == 0)
        raise(SIGKILL);
    else if (strcmp(end, "MPI_Abort") == 0)
        MPI_Abort(comm, 5);
    else if (strcmp(end, "abort") == 0)
        abort();
    else if (strcmp(end, "segfault") == 0)
        raise_fault();
    else if (strcmp(end, "_exit") == 0)
        _exit(3);
    else if (strcmp(end, "exit") == 0)
        exit(3);
    else if (strcmp(end, "term") == 0)
        raise(SIGTERM);
    else if (strcmp(end, "mark") == 0)
        mark(strcmp(operations, "waits") == 0);
}

/* A process's messages to itself: they have arrived when it waits for them. */
static void waits(struct account *account, MPI_Comm comm, uint64_t drawn)
{
    static __thread char out[WAITS], in[WAITS];
    MPI_Request requests[2 * WAITS];
    int first = (int)(drawn % 30000);
    for (int i = 0; i < WAITS; i++) {
        CALL(account, IRECV, first + i, MPI_Irecv(&in[i], 1, MPI_BYTE, rank, first + i, comm, &requests[2 * i]));
        CALL(account, ISEND, first + i, MPI_Isend(&out[i], 1, MPI_BYTE, rank, first + i, comm, &requests[2 * i + 1]));
    }
    bool marked = mark_due;
    if (marked)
        mark(false);
    CALL(account, WAITALL, 0, MPI_Waitall(2 * WAITS, requests, MPI_STATUSES_IGNORE));
    while (marked)
        ; /* until the one who traces it ends it */
}

static void messages(struct account *account, MPI_Comm comm, uint64_t n)
{
    static __thread char out[1024], in[1024];
    int right = (rank + 1) % size, left = (rank + size - 1) % size, tag = (int)(n % 30000), bytes = (int)(n % 1000);
    MPI_Request requests[2];
    if (n % 2) {
        CALL(account, SENDRECV, tag,
             MPI_Sendrecv(out, bytes, MPI_BYTE, right, tag, in, 1000, MPI_BYTE, left, tag, comm, MPI_STATUS_IGNORE));
        return;
    }
    CALL(account, IRECV, tag, MPI_Irecv(in, 1000, MPI_BYTE, left, tag, comm, &requests[0]));
    CALL(account, ISEND, tag, MPI_Isend(out, bytes, MPI_BYTE, right, tag, comm, &requests[1]));
    CALL(account, WAITALL, 0, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}

static void step(struct account *account, MPI_Comm comm, uint64_t *state, MPI_Comm others[COMMS])
{
    static __thread char out[1024], in[1024];
    uint64_t drawn = draw(state), which = drawn % 16;
    int bytes = 1 + (int)(drawn / 16 % 1000);
    MPI_Comm *other = &others[drawn / 16 % COMMS];
    if (strcmp(operations, "plain") == 0)
        which = 0;
    if (strcmp(operations, "comms") == 0)
        which = 15;
    if (strcmp(operations, "waits") == 0)
        waits(account, comm, drawn);
    else if (which < 5)
        CALL(account, ALLREDUCE, bytes, MPI_Allreduce(out, in, bytes, MPI_BYTE, MPI_BOR, comm));
    else if (which < 14)
        messages(account, comm, drawn / 16);
    else if (which < 15)
        CALL(account, BARRIER, 0, MPI_Barrier(comm));
    else if (*other == MPI_COMM_NULL)
        CALL(account, COMM_DUP, 0, MPI_Comm_dup(comm, other));
    else
        CALL(account, COMM_FREE, 0, MPI_Comm_free(other));
}

static void *work(void *argument)
{
    int number = (int)(intptr_t)argument;
    struct account *account = &book->thread[number];
    uint64_t state = 88172645463325252u + (uint64_t)number;
    MPI_Comm comm, others[COMMS];
    for (int i = 0; i < COMMS; i++)
        others[i] = MPI_COMM_NULL;
    while (turn != number)
        usleep(100);
    CALL(account, COMM_DUP, 0, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    turn = number + 1;
    while (turn < (int)book->threads)
        usleep(100);
    if (number == 0)
        book->ready = 1;
    while (account->returned < calls || strcmp(end, "forever") == 0)
        step(account, comm, &state, others);
    while (number == 0 && strcmp(end, "finalize") != 0) { /* the others wait for it, or go on until they are ended */
        come_to_an_end(account, comm);
        step(account, comm, &state, others);
        end = strcmp(end, "mark") == 0 ? "none" : end;
    }
    for (int i = 0; i < COMMS; i++)
        if (others[i] != MPI_COMM_NULL)
            CALL(account, COMM_FREE, 0, MPI_Comm_free(&others[i]));
    return NULL;
}

int main(int argc, char *argv[])
{
    pthread_t threads[THREADS_MOST];
    int level;
    if (argc != 6)
        return 64;
    books = argv[1];
    operations = argv[2];
    int count = atoi(argv[3]);
    end = argv[4];
    calls = strtoull(argv[5], NULL, 10);
    MPI_Init_thread(&argc, &argv, count > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    book_open(argv[1]);
    book->threads = (uint32_t)count;
    for (int i = 1; i < count; i++)
        pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
    work(NULL);
    for (int i = 1; i < count; i++)
        pthread_join(threads[i], NULL);
    book->in_finalize = 1;
    MPI_Finalize();
    return 0;
}
