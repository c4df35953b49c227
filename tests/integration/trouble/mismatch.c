/* mismatch CASE: ranks that come to collectives that do not match, or that only seem so. The last rank is the one that
 * differs. Before that, all ranks make BEFORE collectives on the communicator "cells". The right cases end in a barrier that
 * the last rank does not reach. */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BEFORE = 11, LENGTH = 64 };

static int rank, size, last;
static double in[LENGTH], *out;
static MPI_Comm cells;

static void function(void)
{
    if (rank == last)
        MPI_Bcast(in, LENGTH, MPI_DOUBLE, 0, cells);
    else
        MPI_Allreduce(in, out, LENGTH, MPI_DOUBLE, MPI_SUM, cells);
    MPI_Barrier(cells);
}

static void barrier(void)
{
    if (rank == last)
        MPI_Barrier(cells);
    else
        MPI_Allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, cells);
    MPI_Allreduce(in, out, LENGTH, MPI_DOUBLE, MPI_SUM, cells);
}

static void scan(void)
{
    if (rank == last)
        MPI_Exscan(in, out, 1, MPI_DOUBLE, MPI_SUM, cells);
    else
        MPI_Scan(in, out, 1, MPI_DOUBLE, MPI_SUM, cells);
    if (rank != last)
        MPI_Barrier(cells);
    else
        sleep(60);
}

static void gather(void)
{
    if (rank == last)
        MPI_Gather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, last, cells);
    else
        MPI_Alltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, cells);
    MPI_Barrier(cells);
}

/* Three different ones. */
static void three(void)
{
    if (rank == last)
        MPI_Barrier(cells);
    else if (rank == last - 1)
        MPI_Allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, cells);
    else
        MPI_Allreduce(in, out, LENGTH, MPI_DOUBLE, MPI_SUM, cells);
    MPI_Barrier(cells);
}

/* The first rank is the root for all others. */
static void root(void)
{
    MPI_Reduce(in, out, LENGTH, MPI_DOUBLE, MPI_SUM, rank == last ? last : 0, cells);
    MPI_Barrier(cells);
}

static void roots(void)
{
    MPI_Scatter(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, rank >= last - 1 ? 1 : 0, cells);
    MPI_Barrier(cells);
}

/* All get what they wait for, and the ranks go on. */
static void passed(void)
{
    MPI_Bcast(in, 1, MPI_DOUBLE, rank == last ? last : 0, cells);
    for (int i = 0; i < 20; i++)
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == last)
        sleep(60);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Others have room for more than the root sends. */
static void sizes(void)
{
    MPI_Bcast(in, rank == last ? 12 : 10, MPI_DOUBLE, 0, cells);
    for (int i = 0; i < 20; i++)
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == last)
        sleep(60);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* All get a result, and it is wrong. */
static void operation(void)
{
    MPI_Allreduce(in, out, 1, MPI_DOUBLE, rank == last ? MPI_MAX : MPI_SUM, cells);
    if (rank == last)
        sleep(60);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void operation_root(void)
{
    MPI_Reduce(in, out, 1, MPI_INT, rank == last ? MPI_BOR : MPI_LOR, 1, cells);
    if (rank == last)
        sleep(60);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void operation_posted(void)
{
    MPI_Request request;
    MPI_Iallreduce(in, out, 1, MPI_DOUBLE, rank == last ? MPI_PROD : MPI_MIN, cells, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == last)
        sleep(60);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The last rank never comes, and the one before it differs. */
static void operation_under_way(void)
{
    if (rank == last)
        sleep(60);
    MPI_Allreduce(in, out, 1, MPI_DOUBLE, rank == last - 1 ? MPI_MIN : MPI_SUM, cells);
}

static void size_under_way(void)
{
    if (rank == last)
        sleep(60);
    MPI_Bcast(in, rank == last - 1 ? 12 : 10, MPI_DOUBLE, last, cells);
}

/* The job ends as if all were right. */
static void unnoticed_operation(void)
{
    for (int i = 0; i < 100; i++)
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, rank == last && i == 50 ? MPI_MAX : MPI_SUM, cells);
    usleep(300000);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The same. A message is left. */
static void unnoticed(void)
{
    for (int i = 0; i < 100; i++)
        MPI_Bcast(in, 1, MPI_DOUBLE, rank == last && i == 50 ? last : 0, cells);
    if (rank == last)
        MPI_Send(in, 1, MPI_DOUBLE, 0, 77, cells);
    for (int i = 0; i < 100; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    usleep(300000);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* In a communicator of the last two ranks. */
static void part(void)
{
    MPI_Comm pair;
    MPI_Comm_split(cells, rank >= last - 1, rank, &pair);
    MPI_Comm_set_name(pair, "pair");
    MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, pair);
    if (rank == last)
        MPI_Scan(in, out, 1, MPI_DOUBLE, MPI_SUM, pair);
    else if (rank == last - 1)
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, pair);
    MPI_Barrier(cells);
}

/* The first collective of a communicator. */
static void first(void)
{
    MPI_Comm half;
    MPI_Comm_split(cells, rank * 2 / size, rank, &half);
    MPI_Comm_set_name(half, "half");
    if (rank == last)
        MPI_Barrier(half);
    else
        MPI_Allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, half);
    MPI_Barrier(cells);
}

static void late(void)
{
    for (int i = 0; i < 200; i++)
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, cells);
    barrier();
}

static void posted(void)
{
    MPI_Request request;
    if (rank == last)
        MPI_Ibcast(in, 1, MPI_DOUBLE, 0, cells, &request);
    else
        MPI_Iallreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, cells, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(cells);
}

/* The library matches a blocking and a nonblocking collective, or it hangs. */
static void mixed(void)
{
    MPI_Request request;
    if (rank == last) {
        MPI_Ibarrier(cells, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sleep(60);
    } else {
        MPI_Barrier(cells);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void made(void)
{
    MPI_Comm other;
    if (rank == last)
        MPI_Comm_dup(cells, &other);
    else
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, cells);
    MPI_Barrier(cells);
}

/* All make one, and the last rank another. */
static void more(void)
{
    MPI_Comm other;
    MPI_Comm_dup(cells, &other);
    if (rank == last)
        MPI_Comm_split(cells, 0, rank, &other);
    MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, cells);
    MPI_Barrier(cells);
}

static void window(void)
{
    MPI_Win win;
    if (rank == last)
        MPI_Win_create(in, sizeof in, 1, MPI_INFO_NULL, cells, &win);
    else
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, cells);
    MPI_Barrier(cells);
}

static void neighbor(void)
{
    MPI_Comm ring;
    MPI_Cart_create(cells, 1, (int[]){size}, (int[]){1}, 0, &ring);
    MPI_Comm_set_name(ring, "ring");
    if (rank == last)
        MPI_Neighbor_alltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, ring);
    else
        MPI_Neighbor_allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, ring);
    if (rank == last)
        sleep(60);
    MPI_Barrier(ring);
}

/* Between the even and the odd ranks. */
static MPI_Comm bridge(void)
{
    MPI_Comm own, both;
    MPI_Comm_split(cells, rank % 2, rank, &own);
    MPI_Intercomm_create(own, 0, cells, !(rank % 2), 5, &both);
    MPI_Comm_set_name(both, "bridge");
    return both;
}

static void inter(void)
{
    MPI_Comm both = bridge();
    if (rank == last)
        MPI_Allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, both);
    else
        MPI_Barrier(both);
    MPI_Barrier(cells);
}

/* A rank leaves a loop before the others. */
static void error_branch(void)
{
    for (int i = 0; i < 5 && !(rank == last && i == 2); i++)
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, cells);
}

static void skipped(void)
{
    for (int i = 0; i < 5; i++)
        if (rank != last || i != 2)
            MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, cells);
    MPI_Barrier(cells);
}

static void turned(void)
{
    MPI_Comm other;
    MPI_Comm_dup(cells, &other);
    MPI_Comm_set_name(other, "other");
    MPI_Comm one = rank == last ? other : cells;
    MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, one);
    MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, one == cells ? other : cells);
}

static void turned_functions(void)
{
    MPI_Comm other;
    MPI_Comm_dup(cells, &other);
    MPI_Comm_set_name(other, "other");
    if (rank == last) {
        MPI_Barrier(other);
        MPI_Allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, cells);
    } else {
        MPI_Allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, cells);
        MPI_Barrier(other);
    }
}

/* ---- a rank that leaves ------------------------------------------------------------------------------------------ */

static void left_by_exit(void)
{
    if (rank == last)
        exit(3);
    MPI_Barrier(cells);
}

static void left_at_once(void)
{
    if (rank == last)
        _exit(4);
    MPI_Barrier(cells);
}

static void left_by_abort(void)
{
    if (rank == last)
        abort();
    MPI_Barrier(cells);
}

/* ---- right ones -------------------------------------------------------------------------------------------------- */

static void wait_here(void)
{
    if (rank == last)
        sleep(60);
    MPI_Barrier(cells);
}

/* Those that have left the broadcast are in the next collective. */
static void ahead(void)
{
    MPI_Bcast(in, 1, MPI_DOUBLE, 0, cells);
    wait_here();
}

/* Posted in one order, and waited for in two. */
static void waited_otherwise(void)
{
    MPI_Comm other;
    MPI_Request requests[2];
    MPI_Comm_dup(cells, &other);
    MPI_Ibarrier(cells, &requests[0]);
    MPI_Iallreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, other, &requests[1]);
    MPI_Wait(&requests[rank == last], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[rank != last], MPI_STATUS_IGNORE);
    wait_here();
}

/* Each rank posts in its own order on two communicators: no wait of one needs the other's. */
static void posted_otherwise(void)
{
    MPI_Comm other;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Comm_dup(cells, &other);
    MPI_Ibarrier(rank == last ? other : cells, &requests[0]);
    MPI_Ibarrier(rank == last ? cells : other, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    wait_here();
}

/* The root's group has MPI_ROOT and MPI_PROC_NULL. */
static void inter_roots(void)
{
    MPI_Comm both = bridge();
    int of_root = rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Bcast(in, 1, MPI_DOUBLE, rank % 2 ? 0 : of_root, both);
    MPI_Barrier(both);
    wait_here();
}

/* One signature, other counts and types. */
static void types(void)
{
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_commit(&pair);
    MPI_Bcast(in, rank == last ? 4 : 8, rank == last ? pair : MPI_DOUBLE, 0, cells);
    wait_here();
}

/* The same in calls that have not returned. */
static void signatures(void)
{
    MPI_Datatype ten;
    MPI_Type_contiguous(10, MPI_INT, &ten);
    MPI_Type_commit(&ten);
    if (rank == last)
        sleep(60);
    MPI_Bcast(in, rank ? 10 : 1, rank ? MPI_INT : ten, last, cells);
}

static void add(void *from, void *to, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++)
        ((double *)to)[i] += ((double *)from)[i];
}

/* A rank has an operation more, so that their handles differ. */
static void own_operation(void)
{
    MPI_Op one, other;
    MPI_Op_create(add, 1, &one);
    MPI_Op_create(add, 1, &other);
    for (int i = 0; i < 3; i++) {
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, rank ? one : other, cells);
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, cells);
        MPI_Reduce(in, out, 1, MPI_DOUBLE, MPI_MAX, 0, cells);
    }
    MPI_Op_free(&one);
    wait_here();
}

static void locations(void)
{
    struct {
        double value;
        int place;
    } mine[2] = {{rank, rank}, {-rank, rank}}, all[2];
    MPI_Allreduce(mine, all, 2, MPI_DOUBLE_INT, MPI_MAXLOC, cells);
    MPI_Allreduce(mine, all, 2, MPI_DOUBLE_INT, MPI_MINLOC, cells);
    MPI_Reduce(mine, all, 1, MPI_DOUBLE_INT, MPI_MAXLOC, last, cells);
    wait_here();
}

static void in_place(void)
{
    MPI_Allreduce(rank == last ? MPI_IN_PLACE : in, out, 4, MPI_DOUBLE, MPI_SUM, cells);
    MPI_Reduce(rank ? in : MPI_IN_PLACE, out, 4, MPI_DOUBLE, MPI_MAX, 0, cells);
    MPI_Scan(rank == 1 ? MPI_IN_PLACE : in, out, 4, MPI_DOUBLE, MPI_SUM, cells);
    MPI_Reduce_scatter_block(rank == 1 ? MPI_IN_PLACE : in, out, 4, MPI_DOUBLE, MPI_SUM, cells);
    wait_here();
}

/* In calls without an operation, after collectives of each rank alone. */
static void making(void)
{
    MPI_Comm other;
    MPI_Allreduce(in, out, 1, MPI_DOUBLE, rank ? MPI_MAX : MPI_MIN, MPI_COMM_SELF);
    if (rank == last)
        sleep(60);
    MPI_Comm_dup(cells, &other);
}

static void counts(void)
{
    int counts[16], at[16], sum = 0;
    for (int r = 0; r < size; sum += counts[r++]) {
        counts[r] = r + 1;
        at[r] = sum;
    }
    double *all = calloc((size_t)sum, sizeof *all);
    MPI_Gatherv(in, rank + 1, MPI_DOUBLE, rank ? NULL : all, counts, at, MPI_DOUBLE, 0, cells);
    MPI_Allgatherv(in, rank + 1, MPI_DOUBLE, all, counts, at, MPI_DOUBLE, cells);
    free(all);
    wait_here();
}

/* The same call from two places. */
static void places(void)
{
    if (rank == last)
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, cells);
    else
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, cells);
    wait_here();
}

/* One rank is in no part. Another part makes more communicators and collectives. */
static void parts(void)
{
    MPI_Comm half, more;
    MPI_Comm_split(cells, rank == last ? MPI_UNDEFINED : rank % 2, rank, &half);
    for (int i = 0; half != MPI_COMM_NULL && i < 2 + rank % 2; i++) {
        MPI_Comm_dup(half, &more);
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, more);
        MPI_Comm_free(&more);
    }
    wait_here();
}

static void *reduce_on(void *comm)
{
    double own[2] = {0};
    for (int i = 0; i < 50; i++)
        MPI_Allreduce(own, own + 1, 1, MPI_DOUBLE, MPI_SUM, *(MPI_Comm *)comm);
    return NULL;
}

/* Two threads, each with a communicator. */
static void threads(void)
{
    MPI_Comm other;
    pthread_t thread;
    MPI_Comm_dup(cells, &other);
    pthread_create(&thread, NULL, reduce_on, &other);
    reduce_on(&cells);
    pthread_join(thread, NULL);
    wait_here();
}

/* A message in place of a part of the collective's time. */
static void messages(void)
{
    if (rank == 0)
        MPI_Send(in, 1, MPI_DOUBLE, last, 1, cells);
    if (rank == last) {
        MPI_Recv(in, 1, MPI_DOUBLE, 0, 1, cells, MPI_STATUS_IGNORE);
        sleep(60);
    }
    MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, cells);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"function", function},
                 {"barrier", barrier},
                 {"scan", scan},
                 {"gather", gather},
                 {"three", three},
                 {"root", root},
                 {"roots", roots},
                 {"passed", passed},
                 {"sizes", sizes},
                 {"operation", operation},
                 {"operation_root", operation_root},
                 {"operation_posted", operation_posted},
                 {"operation_under_way", operation_under_way},
                 {"size_under_way", size_under_way},
                 {"unnoticed_operation", unnoticed_operation},
                 {"unnoticed", unnoticed},
                 {"part", part},
                 {"first", first},
                 {"late", late},
                 {"posted", posted},
                 {"mixed", mixed},
                 {"made", made},
                 {"more", more},
                 {"window", window},
                 {"neighbor", neighbor},
                 {"inter", inter},
                 {"error_branch", error_branch},
                 {"skipped", skipped},
                 {"turned", turned},
                 {"turned_functions", turned_functions},
                 {"left_by_exit", left_by_exit},
                 {"left_at_once", left_at_once},
                 {"left_by_abort", left_by_abort},
                 {"ahead", ahead},
                 {"waited_otherwise", waited_otherwise},
                 {"posted_otherwise", posted_otherwise},
                 {"inter_roots", inter_roots},
                 {"types", types},
                 {"signatures", signatures},
                 {"own_operation", own_operation},
                 {"locations", locations},
                 {"making", making},
                 {"in_place", in_place},
                 {"counts", counts},
                 {"places", places},
                 {"parts", parts},
                 {"threads", threads},
                 {"messages", messages}};
    int level;
    MPI_Init_thread(&argc, &argv, argc > 1 && strcmp(argv[1], "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    last = size - 1;
    out = calloc((size_t)(LENGTH * size), sizeof *out);
    MPI_Comm_dup(MPI_COMM_WORLD, &cells);
    MPI_Comm_set_name(cells, "cells");
    for (int i = 0; i < BEFORE; i++)
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, cells);
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    MPI_Finalize();
    free(out);
    return 0;
}
