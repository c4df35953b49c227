/*
 * Programs with one fault each, by name. Two ranks run for about a second. They compute in sleep, which is useful time
 * as well.
 *
 *     diseases FAULT DIRECTORY
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static int rank;
static const char *directory;
static double begin;

static void compute(int milliseconds)
{
    usleep(1000 * (useconds_t)milliseconds);
}

/* True for the time that a fault lasts. Ranks that have to agree share its value. */
static int goes_on(void)
{
    return MPI_Wtime() < begin + 0.8;
}

/* Nothing is wrong: equal work, few collectives. */
static void none(void)
{
    for (int step = 0; step < 10; step++)
        compute(100);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void load_imbalance(void)
{
    double sum, own = rank;
    for (int step = 0; step < 5; step++) {
        compute(rank == 1 ? 200 : 40);
        MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* Rank 0 writes alone, in MPI, while the others wait. */
static void late_rank(void)
{
    enum { BYTES = 8 << 20 };
    char *data = calloc(1, BYTES), path[4096];
    MPI_File file;
    snprintf(path, sizeof path, "%s/late", directory);
    MPI_File_open(MPI_COMM_SELF, rank == 0 ? path : "/dev/null", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    compute(200);
    for (int i = 0; i < 200 && rank == 0; i++)
        MPI_File_write_at(file, 0, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Bcast(data, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_File_close(&file);
    free(data);
}

/* Each rank sends to itself, so that none waits for another. */
static void small_messages(void)
{
    for (int sent = 0, got; goes_on(); sent++) {
        MPI_Request request;
        MPI_Irecv(&got, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
        MPI_Send(&sent, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* Each rank looks for a message that comes only at the end. */
static void polling(void)
{
    int done = 0, value = 0, other = 1 - rank;
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &request);
    while (goes_on())
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    MPI_Send(&rank, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void many_small_collectives(void)
{
    int more = 1;
    while (more) {
        int own = goes_on();
        MPI_Allreduce(&own, &more, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* More than a short trace has room for. Rank 0 is ahead, and rank 1 has a call more. */
static void many_messages(void)
{
    for (int i = 0, room = 0; i < 750000; i++) {
        MPI_Request request;
        MPI_Bcast(&room, 1, MPI_INT, i % 2, MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Send(&i, 1, MPI_INT, 1, i % 3, MPI_COMM_WORLD);
        } else if (rank == 1) {
            MPI_Irecv(&room, 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : 0, i % 3, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
}

static void uneven_steps(void)
{
    for (int i = 0; i < 200; i++) {
        int room = i;
        compute(rank == 1 ? 60 : 1);
        MPI_Sendrecv_replace(&room, 1, MPI_INT, 1 - rank, 1, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* A short trace has a part of the first loop, and the second one. */
static void late_change(void)
{
    many_messages();
    uneven_steps();
}

/* A short trace does not have what takes the time. */
static void change_between(void)
{
    many_messages();
    uneven_steps();
    many_messages();
}

/* Only the barriers make ranks wait that have equal work, in another order. */
static void barriers(void)
{
    for (int step = 0; step < 20; step++) {
        compute(step % 2 == rank ? 40 : 5);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void made_in_loop(void)
{
    for (int more = 1; more;) {
        int own = goes_on();
        for (int i = 0; i < 20; i++) {
            MPI_Comm other;
            MPI_Comm_dup(MPI_COMM_WORLD, &other);
            MPI_Comm_free(&other);
        }
        MPI_Allreduce(&own, &more, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void small_io(void)
{
    char path[4096];
    MPI_File file;
    snprintf(path, sizeof path, "%s/small.%d", directory, rank);
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int at = 0; goes_on(); at++)
        MPI_File_write_at(file, sizeof at * (at % 1000), &at, sizeof at, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

static void long_init(void)
{
    compute(20); /* a shorter run is not judged */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Ranks work one after the other. */
static void serialization(void)
{
    int token = 0;
    for (int step = 0; step < 4; step++) {
        if (step || rank)
            MPI_Recv(&token, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        compute(120);
        if (step < 3 || rank == 0)
            MPI_Send(&token, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
    }
}

/* Rank 1 receives only after it has computed. Until then rank 0 waits in its send, and computes later. */
static void late_receives(void)
{
    enum { BYTES = 4 << 20 };
    char *data = calloc(1, BYTES);
    for (int step = 0, token = 0; step < 5; step++) {
        if (rank == 0) {
            MPI_Send(data, BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            compute(100);
            MPI_Send(&token, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        } else {
            compute(100);
            MPI_Recv(data, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(&token, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    free(data);
}

/* The same messages, but rank 0 computes before it sends. Rank 1 is there a little earlier. */
static void early_receives(void)
{
    enum { BYTES = 4 << 20 };
    char *data = calloc(1, BYTES);
    for (int step = 0, token = 0; step < 5; step++) {
        compute(rank == 0 ? 115 : 100);
        if (rank == 0) {
            MPI_Send(data, BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            MPI_Send(&token, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        } else {
            MPI_Recv(data, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(&token, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    free(data);
}

enum { LARGE_BYTES = 4 << 20, LARGE_COUNT = 200 };

/* All ranks send to rank 0, and wait for it. */
static void hot_spot(void)
{
    int size;
    char *data = calloc(1, LARGE_BYTES);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < LARGE_COUNT; i++) {
        if (rank)
            MPI_Send(data, LARGE_BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        for (int from = 1; rank == 0 && from < size; from++)
            MPI_Recv(data, LARGE_BYTES, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    free(data);
}

/* As much is sent, but each rank receives the same. */
static void no_hot_spot(void)
{
    int size;
    char *data = calloc(2, LARGE_BYTES);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < LARGE_COUNT; i++)
        MPI_Sendrecv(data, LARGE_BYTES, MPI_CHAR, (rank + 1) % size, 0, data + LARGE_BYTES, LARGE_BYTES, MPI_CHAR,
                     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(data);
}

static double processor_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* Nothing is wrong: ranks compute the same, and meet. They work for their processor time. */
static void balanced(void)
{
    for (int step = 0; step < 30; step++) {
        for (double end = processor_seconds() + 0.01; processor_seconds() < end;)
            continue;
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* What this process has used since MPI_Init. */
static void usage_tell(const struct rusage *before)
{
    struct rusage now;
    getrusage(RUSAGE_SELF, &now);
    printf("usage %d %.6f %.6f %ld\n", rank,
           (double)(now.ru_utime.tv_sec - before->ru_utime.tv_sec) +
               1e-6 * (double)(now.ru_utime.tv_usec - before->ru_utime.tv_usec),
           (double)(now.ru_stime.tv_sec - before->ru_stime.tv_sec) +
               1e-6 * (double)(now.ru_stime.tv_usec - before->ru_stime.tv_usec),
           now.ru_majflt - before->ru_majflt);
    fflush(stdout);
}

static const struct {
    const char *name;
    void (*run)(void);
} faults[] = {{"none", none},
              {"balanced", balanced},
              {"load_imbalance", load_imbalance},
              {"late_rank", late_rank},
              {"small_messages", small_messages},
              {"polling", polling},
              {"many_small_collectives", many_small_collectives},
              {"late_change", late_change},
              {"change_between", change_between},
              {"barriers", barriers},
              {"made_in_loop", made_in_loop},
              {"small_io", small_io},
              {"long_init", long_init},
              {"serialization", serialization},
              {"late_receives", late_receives},
              {"early_receives", early_receives},
              {"hot_spot", hot_spot},
              {"no_hot_spot", no_hot_spot}};

int main(int argc, char *argv[])
{
    struct rusage before;
    MPI_Init(&argc, &argv);
    getrusage(RUSAGE_SELF, &before);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    directory = argc > 2 ? argv[2] : ".";
    begin = MPI_Wtime();
    for (size_t i = 0; argc > 1 && i < sizeof faults / sizeof *faults; i++)
        if (strcmp(argv[1], faults[i].name) == 0) {
            faults[i].run();
            usage_tell(&before);
            MPI_Finalize();
            return 0;
        }
    fprintf(stderr, "diseases: no such fault\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
}
