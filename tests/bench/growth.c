/*
 * growth MODE N: a program that has N of something, and says what it has come to.
 *
 *     ranks N     as many processes as it was started with; N is not used
 *     threads N   N threads at once, each with some calls
 *     comms N     N duplicates of MPI_COMM_SELF alive at once, a call on each
 *     cycles N    N duplicates of MPI_COMM_SELF, each freed before the next is made
 *     peers N     each rank sends to the N ranks behind it
 *     calls N     N calls of MPI_Iprobe
 *     requests N  N receives outstanding at once, from itself
 *
 * Rank 0 prints one line: the largest resident memory in KiB of any rank before MPI_Finalize; what MPI_Init took beside
 * the MPI library's part (marks.c), which is the recorder's, in microseconds, and in microseconds of processor time,
 * the most of any rank; the same of MPI_Finalize, on rank 0, where the summaries come together; the MPI library's
 * parts; the files and the bytes on disk that the run directory had before MPI_Finalize. Memory is what is not shared
 * with other processes, and what is mapped of files, each once.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static double us_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void probe(MPI_Comm comm, long times)
{
    for (int flag; times > 0; times--)
        MPI_Iprobe(MPI_ANY_SOURCE, 1, comm, &flag, MPI_STATUS_IGNORE);
}

static void *thread_calls(void *gate)
{
    probe(MPI_COMM_SELF, 100);
    pthread_barrier_wait(gate);
    pthread_barrier_wait(gate);
    return NULL;
}

/* They live until `measure` has been called. */
static void threads(long n, void (*measure)(void))
{
    pthread_barrier_t gate;
    pthread_t *thread = calloc((size_t)n, sizeof *thread);
    pthread_barrier_init(&gate, NULL, (unsigned)n + 1);
    for (long i = 0; i < n; i++)
        pthread_create(&thread[i], NULL, thread_calls, &gate);
    pthread_barrier_wait(&gate);
    measure();
    pthread_barrier_wait(&gate);
    for (long i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    free(thread);
}

static void comms(long n, void (*measure)(void))
{
    MPI_Comm *comm = calloc((size_t)n, sizeof *comm);
    for (long i = 0; i < n; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &comm[i]);
        probe(comm[i], 1);
    }
    measure();
    for (long i = 0; i < n; i++)
        MPI_Comm_free(&comm[i]);
    free(comm);
}

static void cycles(long n)
{
    for (MPI_Comm comm; n > 0; n--) {
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        probe(comm, 1);
        MPI_Comm_free(&comm);
    }
}

static void peers(long n)
{
    int rank, size, in = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 1; i <= n && i < size; i++)
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + i) % size, 1, &in, 1, MPI_INT, (rank + size - i) % size, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void requests(long n, void (*measure)(void))
{
    MPI_Request *request = calloc((size_t)n, sizeof *request);
    int in, out = 1;
    for (long i = 0; i < n; i++)
        MPI_Irecv(&in, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request[i]);
    measure();
    for (long i = 0; i < n; i++) {
        MPI_Send(&out, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
        MPI_Wait(&request[i], MPI_STATUS_IGNORE);
    }
    free(request);
}

/* ---- what it has come to ----------------------------------------------------------------------------------------- */

static double figures[3]; /* KiB, files, bytes on disk */

static double memory_kib(void)
{
    char line[256];
    double kib = 0, value;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Pss: %lf", &value) == 1)
            kib = value;
    if (file)
        fclose(file);
    return kib;
}

static void directory_measure(void)
{
    const char *path = getenv("MPIT_OUTPUT");
    DIR *directory = path ? opendir(path) : NULL;
    struct stat status;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (entry->d_name[0] == '.' || fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        figures[1]++;
        figures[2] += (double)status.st_blocks * 512;
    }
    if (directory)
        closedir(directory);
}

static void measure(void)
{
    figures[0] = memory_kib();
    MPI_Barrier(MPI_COMM_WORLD);
    directory_measure();
}

/* What the recorder adds to a call of the MPI library, by two clocks, and what the library itself takes. */
struct share {
    double added[2], library;
};

static const clockid_t clocks[2] = {CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID};

static void share_begin(struct share *share)
{
    for (int i = 0; i < 2; i++)
        share->added[i] = -us_of(clocks[i]);
}

static void share_end(struct share *share, int call)
{
    double(*marks)[2] = (double(*)[2])dlsym(RTLD_DEFAULT, "growth_marks");
    for (int i = 0; i < 2; i++)
        share->added[i] += us_of(clocks[i]);
    share->library = marks ? marks[call][0] : share->added[0];
    for (int i = 0; i < 2; i++)
        share->added[i] = marks ? share->added[i] - marks[call][i] : 0;
}

/* Appends what each rank waited for the recorder in MPI_Finalize, in microseconds, if the file is named. */
static void end_note(double added)
{
    const char *path = getenv("GROWTH_ENDS");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file)
        fprintf(file, "%.0f\n", added);
    if (file)
        fclose(file);
}

static void mode_run(const char *mode, long n, int level)
{
    if (strcmp(mode, "threads") == 0 && level == MPI_THREAD_MULTIPLE)
        threads(n, measure);
    else if (strcmp(mode, "comms") == 0)
        comms(n, measure);
    else if (strcmp(mode, "cycles") == 0)
        cycles(n);
    else if (strcmp(mode, "peers") == 0)
        peers(n);
    else if (strcmp(mode, "calls") == 0)
        probe(MPI_COMM_SELF, n);
    else if (strcmp(mode, "requests") == 0)
        requests(n, measure);
}

int main(int argc, char *argv[])
{
    if (argc != 3) {
        fprintf(stderr, "usage: growth MODE N (ranks, threads, comms, cycles, peers, calls, requests)\n");
        return 2;
    }
    struct share init, finalize;
    int level, rank;
    share_begin(&init);
    MPI_Init_thread(&argc, &argv, strcmp(argv[1], "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    share_end(&init, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    mode_run(argv[1], atol(argv[2]), level);
    if (figures[0] == 0)
        measure();
    double all[6] = {figures[0], figures[1], figures[2], init.added[0], init.added[1], init.library}, most[6];
    MPI_Reduce(all, most, 6, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    share_begin(&finalize);
    MPI_Finalize();
    share_end(&finalize, 1);
    end_note(finalize.added[0]);
    if (rank == 0)
        printf("%.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f\n", most[0], most[3], most[4], finalize.added[0],
               finalize.added[1], most[5], finalize.library, most[1], most[2]);
    return 0;
}
