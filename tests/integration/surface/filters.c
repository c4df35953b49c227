/*
 * Calls in known numbers, for tests of what is recorded of them: filters, timing, MPI_Pcontrol, local functions.
 *
 *   filters all          traffic of all kinds, once
 *   filters sections     the same traffic three times: recorded, while MPI_Pcontrol(0) holds, and recorded again, with
 *                        requests that are posted in one stretch and completed in the next
 *   filters local        local functions, with mpit_record_local_calls off, on and off again
 *   filters loop N       N times Isend, Irecv, Waitall, Send, Recv
 *
 * Each rank counts for itself what it called while that is to be recorded. Lines "rank R: NAME COUNT ..." tell it of
 * each, "all ranks: ..." of all, and "on COMMUNICATOR: ..." what all called for it.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 20, MESSAGE = 16 };

static int rank, size;
static int recording = 1;

/* it does not come to rest */
/* clang-format off */
#define COUNTED(X)                                                                                                     \
    X(Send)                                                                                                            \
    X(Recv)                                                                                                            \
    X(Sendrecv)                                                                                                        \
    X(Isend)                                                                                                           \
    X(Irecv)                                                                                                           \
    X(Wait)                                                                                                            \
    X(Waitall) X(Test) X(Iprobe) X(Send_init) X(Recv_init) X(Start) X(Request_free) X(Barrier) X(Allreduce) X(Ibcast)  \
        X(Comm_dup) X(Comm_idup) X(Comm_split) X(Comm_free) X(Win_create) X(Win_fence) X(Put) X(Win_free) X(Comm_rank) \
            X(Type_size) X(Get_count)
/* clang-format on */

struct counts {
#define FIELD(name) unsigned long name;
    COUNTED(FIELD)
#undef FIELD
};
enum { COUNTERS = sizeof(struct counts) / sizeof(unsigned long) };

/* What the calls are made for: a communicator of traffic(), or none of these. */
enum place { ELSEWHERE, ON_DUP, ON_IDUP, ON_SPLIT, PLACES };
static const char *const place_names[PLACES] = {[ON_DUP] = "MPI_COMM_WORLD/dup#1",
                                                [ON_IDUP] = "MPI_COMM_WORLD/dup#1/idup#1",
                                                [ON_SPLIT] = "MPI_COMM_WORLD/split#2:0"};
static enum place place;
static struct counts counts[PLACES];

#define CALL(name, ...) (counts[place].name += (unsigned long)recording, MPI_##name(__VA_ARGS__))

static void counts_add(struct counts *to, const struct counts *from)
{
    for (int i = 0; i < COUNTERS; i++)
        ((unsigned long *)to)[i] += ((const unsigned long *)from)[i];
}

static void line_print(const char *title, const struct counts *of)
{
    char line[2048];
    int used = snprintf(line, sizeof line, "%s:", title);
#define PRINT(name)                                                                                                    \
    if (of->name)                                                                                                      \
        used += snprintf(line + used, sizeof line - (size_t)used, " MPI_%s %lu", #name, of->name);
    COUNTED(PRINT)
#undef PRINT
    printf("%s\n", line);
}

/* By one rank, with calls that mpit does not record: launchers mix the lines of ranks. */
static void counts_print(void)
{
    struct counts all = {0}, mine = {0};
    struct counts *each = calloc((size_t)size, sizeof *each);
    for (int i = 0; i < PLACES; i++)
        counts_add(&mine, &counts[i]);
    PMPI_Gather(&mine, COUNTERS, MPI_UNSIGNED_LONG, each, COUNTERS, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
    PMPI_Reduce(rank ? counts : MPI_IN_PLACE, counts, PLACES * COUNTERS, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++) {
        char title[32];
        snprintf(title, sizeof title, "rank %d", i);
        line_print(title, &each[i]);
        counts_add(&all, &each[i]);
    }
    for (int i = 1; rank == 0 && i < PLACES; i++) {
        char title[64];
        snprintf(title, sizeof title, "on %s", place_names[i]);
        line_print(title, &counts[i]);
    }
    if (rank == 0)
        line_print("all ranks", &all);
    free(each);
    fflush(stdout);
}

static void stop(const char *what)
{
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(const int *got, int from)
{
    for (int i = 0; i < MESSAGE; i++)
        if (got[i] != from * 1000 + i)
            stop("a message arrived wrong");
}

static void fill(int *data)
{
    for (int i = 0; i < MESSAGE; i++)
        data[i] = rank * 1000 + i;
}

static void blocking(MPI_Comm comm, int right, int left)
{
    int out[MESSAGE], in[MESSAGE], flag;
    MPI_Status status;
    fill(out);
    for (int i = 0; i < ROUNDS; i++) {
        if (rank % 2 == 0) {
            CALL(Send, out, MESSAGE, MPI_INT, right, 1, comm);
            CALL(Recv, in, MESSAGE, MPI_INT, left, 1, comm, MPI_STATUS_IGNORE);
        } else {
            CALL(Recv, in, MESSAGE, MPI_INT, left, 1, comm, MPI_STATUS_IGNORE);
            CALL(Send, out, MESSAGE, MPI_INT, right, 1, comm);
        }
        check(in, left);
        CALL(Sendrecv, out, MESSAGE, MPI_INT, right, 2, in, MESSAGE, MPI_INT, left, 2, comm, &status);
        check(in, left);
        CALL(Iprobe, MPI_ANY_SOURCE, 99, comm, &flag, MPI_STATUS_IGNORE);
    }
}

static void nonblocking(MPI_Comm comm, int right, int left)
{
    int out[MESSAGE], in[2][MESSAGE], flag;
    MPI_Request requests[4];
    fill(out);
    for (int i = 0; i < ROUNDS; i++) {
        CALL(Irecv, in[0], MESSAGE, MPI_INT, left, 3, comm, &requests[0]);
        CALL(Irecv, in[1], MESSAGE, MPI_INT, left, 4, comm, &requests[1]);
        CALL(Isend, out, MESSAGE, MPI_INT, right, 3, comm, &requests[2]);
        CALL(Isend, out, MESSAGE, MPI_INT, right, 4, comm, &requests[3]);
        if (i % 2) {
            CALL(Waitall, 4, requests, MPI_STATUSES_IGNORE);
        } else {
            CALL(Test, &requests[3], &flag, MPI_STATUS_IGNORE);
            for (int k = 0; k < 4; k++)
                CALL(Wait, &requests[k], MPI_STATUS_IGNORE);
        }
        check(in[0], left);
        check(in[1], left);
    }
}

static void persistent(MPI_Comm comm, int right, int left)
{
    int out[MESSAGE], in[MESSAGE];
    MPI_Request send, recv;
    fill(out);
    CALL(Send_init, out, MESSAGE, MPI_INT, right, 5, comm, &send);
    CALL(Recv_init, in, MESSAGE, MPI_INT, left, 5, comm, &recv);
    for (int i = 0; i < ROUNDS; i++) {
        CALL(Start, &recv);
        CALL(Start, &send);
        CALL(Wait, &send, MPI_STATUS_IGNORE);
        CALL(Wait, &recv, MPI_STATUS_IGNORE);
        check(in, left);
    }
    CALL(Request_free, &send);
    CALL(Request_free, &recv);
}

static void collective(MPI_Comm comm)
{
    int one = 1, sum, data = 7;
    MPI_Request request;
    for (int i = 0; i < ROUNDS; i++) {
        CALL(Barrier, comm);
        CALL(Allreduce, &one, &sum, 1, MPI_INT, MPI_SUM, comm);
        if (sum != size)
            stop("a sum is wrong");
        CALL(Ibcast, &data, 1, MPI_INT, 0, comm, &request);
        CALL(Wait, &request, MPI_STATUS_IGNORE);
    }
}

static void window(MPI_Comm comm, int right)
{
    int shared = -1, mine = rank;
    MPI_Win win;
    CALL(Win_create, &shared, sizeof shared, sizeof shared, MPI_INFO_NULL, comm, &win);
    CALL(Win_fence, 0, win);
    CALL(Put, &mine, 1, MPI_INT, right, 0, 1, MPI_INT, win);
    CALL(Win_fence, 0, win);
    CALL(Win_free, &win);
}

static void traffic(void)
{
    MPI_Comm dup, idup, half;
    MPI_Request request;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    CALL(Comm_dup, MPI_COMM_WORLD, &dup);
    CALL(Comm_idup, dup, &idup, &request);
    CALL(Wait, &request, MPI_STATUS_IGNORE);
    CALL(Comm_split, MPI_COMM_WORLD, 0, -rank, &half);
    place = ON_DUP;
    blocking(dup, right, left);
    place = ON_IDUP;
    nonblocking(idup, right, left);
    place = ON_DUP;
    persistent(dup, right, left);
    place = ON_SPLIT;
    collective(half);
    place = ON_IDUP;
    collective(idup);
    place = ON_DUP;
    window(dup, right);
    place = ELSEWHERE;
    CALL(Comm_free, &half);
    CALL(Comm_free, &idup);
    CALL(Comm_free, &dup);
}

/* Posted in one stretch, completed in the next: what is recorded of the messages goes with the posting. */
static void across(int level)
{
    int out[MESSAGE], in[MESSAGE];
    MPI_Request requests[2];
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    fill(out);
    CALL(Irecv, in, MESSAGE, MPI_INT, left, 6, MPI_COMM_WORLD, &requests[0]);
    CALL(Isend, out, MESSAGE, MPI_INT, right, 6, MPI_COMM_WORLD, &requests[1]);
    MPI_Pcontrol(level, "any", 2.5, 3, 4, 5, 6, 7, 8, 9.5);
    recording = level > 0;
    CALL(Wait, &requests[0], MPI_STATUS_IGNORE);
    CALL(Wait, &requests[1], MPI_STATUS_IGNORE);
    check(in, left);
}

static void sections(void)
{
    MPI_Pcontrol(-3);
    traffic();
    across(0);
    traffic();
    across(1);
    traffic();
    across(0);
    across(2);
    CALL(Barrier, MPI_COMM_WORLD);
}

static void local_set(int on)
{
    int provided, index, count;
    MPI_T_cvar_handle handle;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        stop("no MPI_T");
    if (MPI_T_cvar_get_index("mpit_record_local_calls", &index) == MPI_SUCCESS) {
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
        if (MPI_T_cvar_write(handle, &on) != MPI_SUCCESS)
            stop("mpit_record_local_calls cannot be written");
        MPI_T_cvar_handle_free(&handle);
    }
    MPI_T_finalize();
    recording = on;
}

static void local(void)
{
    int n;
    MPI_Status status;
    memset(&status, 0, sizeof status);
    for (int on = 0; on < 3; on++) {
        local_set(on % 2);
        for (int i = 0; i < 10; i++) {
            CALL(Comm_rank, MPI_COMM_WORLD, &n);
            if (n != rank)
                stop("a rank is wrong");
            CALL(Type_size, MPI_DOUBLE, &n);
            if (n != sizeof(double))
                stop("a size is wrong");
            MPI_Wtime();
        }
    }
    recording = 1;
    CALL(Barrier, MPI_COMM_WORLD);
}

static void loop(int n)
{
    int out[MESSAGE], in[MESSAGE];
    MPI_Request requests[2];
    fill(out);
    for (int i = 0; i < n; i++) {
        CALL(Irecv, in, MESSAGE, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[0]);
        CALL(Isend, out, MESSAGE, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[1]);
        CALL(Waitall, 2, requests, MPI_STATUSES_IGNORE);
        CALL(Isend, out, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[0]);
        CALL(Recv, in, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CALL(Wait, &requests[0], MPI_STATUS_IGNORE);
    }
}

/* So many communicators that slots are used again. */
static void churn(int n)
{
    int out[MESSAGE], in[MESSAGE];
    MPI_Request requests[2];
    MPI_Comm dup;
    fill(out);
    for (int i = 0; i < n; i++) {
        CALL(Comm_dup, MPI_COMM_SELF, &dup);
        CALL(Irecv, in, MESSAGE, MPI_INT, 0, 3, dup, &requests[0]);
        CALL(Isend, out, MESSAGE, MPI_INT, 0, 3, dup, &requests[1]);
        CALL(Waitall, 2, requests, MPI_STATUSES_IGNORE);
        CALL(Comm_free, &dup);
    }
}

int main(int argc, char *argv[])
{
    const char *what = argc > 1 ? argv[1] : "all";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "sections") == 0)
        sections();
    else if (strcmp(what, "local") == 0)
        local();
    else if (strcmp(what, "churn") == 0)
        churn(argc > 2 ? atoi(argv[2]) : 300);
    else if (strcmp(what, "loop") == 0)
        loop(argc > 2 ? atoi(argv[2]) : 100);
    else
        traffic();
    counts_print();
    MPI_Finalize();
    return 0;
}
