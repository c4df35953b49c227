/*
 * Communicates when it is told to, counts what it does, and waits outside of MPI meanwhile, so that what others read of
 * it stands still.
 *
 * Usage: reported DIRECTORY
 *
 * Steps are files in the directory that somebody makes: step.1, step.2, ...; what each says is one of
 *
 *   traffic N     N rounds of messages of many sizes, and of collectives, on MPI_COMM_WORLD and a duplicate of it
 *   comms N       N communicators with a message on each, kept
 *   churn N       the same, each freed before the next one is made
 *   name TEXT     MPI_Comm_set_name of the duplicate (hexadecimal)
 *   uneven N      N times rank r rests for 20 ms * (r + 1), and waits for the others in a reduction
 *   kill RANK     that rank is killed, by itself
 *   hang RANK     all others wait in MPI_Recv for what that rank sends when a file `release` is there
 *   end           MPI_Finalize
 *
 * After each step a rank writes done.STEP.RANK: what it has counted so far, as JSON. After `uneven` it writes before that
 * waited.RANK: how many seconds it was in reductions.
 */
#define _GNU_SOURCE
#include "../common/seconds.h"

#include <mpi.h>

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZES = 18, BUCKETS = 40, COMMS_MOST = 4096 };

static struct {
    uint64_t sends, receives, send_bytes, receive_bytes, collectives, reductions, copies, isends;
    uint64_t sent_by_size[BUCKETS];
} count;

static const char *directory;
static int rank, size;
static MPI_Comm copy, kept[COMMS_MOST];
static int kept_count;

static unsigned bucket(uint64_t bytes)
{
    unsigned slot = 0;
    for (; bytes; bytes >>= 1)
        slot++;
    return slot;
}

static void sent(uint64_t bytes)
{
    count.sends++;
    count.send_bytes += bytes;
    count.sent_by_size[bucket(bytes)]++;
}

static void received(uint64_t bytes)
{
    count.receives++;
    count.receive_bytes += bytes;
}

/* Around the ring. */
static void message(MPI_Comm comm, int bytes)
{
    static char out[1 << SIZES], in[1 << SIZES];
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Request requests[2];
    MPI_Irecv(in, bytes, MPI_BYTE, last, 1, comm, &requests[0]);
    MPI_Isend(out, bytes, MPI_BYTE, next, 1, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    count.isends++;
    sent((uint64_t)bytes);
    received((uint64_t)bytes);
}

static void reduction(MPI_Comm comm)
{
    double mine = rank, all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, comm);
    count.collectives++;
    count.reductions++;
}

static void traffic(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        for (int s = 0; s < SIZES; s++) {
            message(MPI_COMM_WORLD, s ? 1 << s : 0);
            message(copy, (1 << s) - 1);
        }
        reduction(MPI_COMM_WORLD);
        reduction(copy);
        reduction(copy);
    }
}

static void comms(int wanted, bool keep)
{
    for (int i = 0; i < wanted && kept_count < COMMS_MOST; i++) {
        MPI_Comm made;
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
        count.copies++;
        message(made, 100);
        if (keep)
            kept[kept_count++] = made;
        else
            MPI_Comm_free(&made);
    }
}

static void name_set(const char *hexadecimal)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    unsigned byte;
    for (size_t i = 0; i + 1 < sizeof name && sscanf(hexadecimal + 2 * i, "%2x", &byte) == 1; i++)
        name[i] = (char)byte;
    MPI_Comm_set_name(copy, name);
}

/* A rank that rests is outside of MPI, and rests as long on a busy machine. */
static void uneven(int rounds)
{
    double waited = 0;
    char path[4096];
    for (int i = 0; i < rounds; i++) {
        usleep(20000 * ((unsigned)rank + 1));
        double begin = now();
        reduction(copy);
        waited += now() - begin;
    }
    snprintf(path, sizeof path, "%s/waited.%d", directory, rank);
    FILE *file = fopen(path, "w");
    if (!file || fprintf(file, "%.9f\n", waited) < 0 || fclose(file) != 0)
        exit(3);
}

static bool file_is_there(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return access(path, F_OK) == 0;
}

/* One that nobody sends for a while. */
static void hang(int sender)
{
    char byte = 0;
    if (rank != sender) {
        MPI_Recv(&byte, 1, MPI_BYTE, sender, 2, copy, MPI_STATUS_IGNORE);
        received(1);
        return;
    }
    while (!file_is_there("release"))
        usleep(10000);
    for (int to = 0; to < size; to++)
        if (to != rank) {
            MPI_Send(&byte, 1, MPI_BYTE, to, 2, copy);
            sent(1);
        }
}

/* Written beside and renamed, so that whoever sees it sees all of it. */
static void counts_write(int step)
{
    char path[4096], beside[4160];
    snprintf(path, sizeof path, "%s/done.%d.%d", directory, step, rank);
    snprintf(beside, sizeof beside, "%s.new", path);
    FILE *file = fopen(beside, "w");
    if (!file)
        exit(3);
    fprintf(file,
            "{\"sends\": %ju, \"receives\": %ju, \"send_bytes\": %ju, \"receive_bytes\": %ju, \"collectives\": %ju, "
            "\"reductions\": %ju, \"copies\": %ju, \"isends\": %ju, \"sizes\": [",
            (uintmax_t)count.sends, (uintmax_t)count.receives, (uintmax_t)count.send_bytes,
            (uintmax_t)count.receive_bytes, (uintmax_t)count.collectives, (uintmax_t)count.reductions,
            (uintmax_t)count.copies, (uintmax_t)count.isends);
    for (int i = 0; i < BUCKETS; i++)
        fprintf(file, "%s%ju", i ? ", " : "", (uintmax_t)count.sent_by_size[i]);
    fprintf(file, "]}\n");
    if (fclose(file) != 0 || rename(beside, path) != 0)
        exit(3);
}

/* Reads what is to be done; waits until it is there. */
static void step_read(int step, char text[1024])
{
    char name[32], path[4096];
    snprintf(name, sizeof name, "step.%d", step);
    while (!file_is_there(name))
        usleep(10000);
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(text, 1024, file))
        exit(3);
    fclose(file);
}

int main(int argc, char *argv[])
{
    if (argc != 2)
        return 2;
    directory = argv[1];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    count.copies++;
    counts_write(0);
    for (int step = 1;; step++) {
        char text[1024], what[16] = "", how[1000] = "";
        step_read(step, text);
        sscanf(text, "%15s %999s", what, how);
        if (strcmp(what, "traffic") == 0)
            traffic(atoi(how));
        else if (strcmp(what, "comms") == 0 || strcmp(what, "churn") == 0)
            comms(atoi(how), what[1] == 'o');
        else if (strcmp(what, "name") == 0)
            name_set(how);
        else if (strcmp(what, "uneven") == 0)
            uneven(atoi(how));
        else if (strcmp(what, "kill") == 0 && atoi(how) == rank)
            raise(SIGKILL);
        else if (strcmp(what, "hang") == 0)
            hang(atoi(how));
        else if (strcmp(what, "end") == 0)
            break;
        counts_write(step);
    }
    for (int i = 0; i < kept_count; i++)
        MPI_Comm_free(&kept[i]);
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return 0;
}
