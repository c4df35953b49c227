/*
 * objects FILE
 *
 * Windows and files on communicators of the program's own: every call is counted by the program itself, and held
 * against mpit_call_count, mpit_rma_bytes, mpit_io_bytes and the times. Exit status 0: all agree; 1: they do not; 77:
 * mpit is not there, the calls were made all the same.
 */
#include "../common/callcount.h"
#include "filecalls.h"
#include "../common/mpi4.h"

#include <stdio.h>
#include <string.h>

enum { ELEMENTS = 100 };

static int nowhere;                  /* accesses to MPI_PROC_NULL */
static unsigned long long elsewhere; /* bytes at windows of communicators that are not watched */

/* Accesses that combine, as the archive names them, and the bytes that they move. */
enum atomic { ACCUMULATE, FETCH_AND_ADD, SWAP, FETCH_AND_ACCUMULATE, COMPARE_AND_SWAP, ATOMICS };
static const char *const atomic_names[] = {"ACCUMULATE", "FETCH_AND_ADD", "SWAP", "FETCH_AND_ACCUMULATE",
                                           "COMPARE_AND_SWAP"};
static int atomics[ATOMICS];
static unsigned long long sent, received, at_targets;

static void atomic(enum atomic kind, size_t bytes_sent, size_t bytes_received, size_t bytes_at_target)
{
    atomics[kind]++;
    sent += bytes_sent;
    received += bytes_received;
    at_targets += bytes_at_target;
}

/* What is fetched is what the operation before has left. */
static unsigned long long atomics_use(MPI_Win win, int peer)
{
    const size_t one = sizeof(double), before = at_targets;
    double put = 3, add = 4, most = 90, other[2] = {5, 6}, fetched[2] = {0, 0};
    CALL(MPI_Win_lock, MPI_LOCK_EXCLUSIVE, peer, 0, win);
    CALL(MPI_Accumulate, &put, 1, MPI_DOUBLE, peer, 90, 1, MPI_DOUBLE, MPI_REPLACE, win);
    atomic(ACCUMULATE, one, 0, one);
    CALL(MPI_Accumulate, &put, 1, MPI_DOUBLE, peer, 91, 1, MPI_DOUBLE, MPI_REPLACE, win);
    atomic(ACCUMULATE, one, 0, one);
    CALL(MPI_Accumulate, &add, 1, MPI_DOUBLE, peer, 90, 1, MPI_DOUBLE, MPI_PROD, win);
    atomic(ACCUMULATE, one, 0, one);
    CALL(MPI_Win_flush, peer, win);
    CALL(MPI_Fetch_and_op, &add, fetched, MPI_DOUBLE, peer, 90, MPI_SUM, win);
    atomic(FETCH_AND_ADD, one, one, one);
    CALL(MPI_Win_flush, peer, win);
    check((unsigned long long)fetched[0], 12, "what was multiplied");
    CALL(MPI_Fetch_and_op, &most, fetched, MPI_DOUBLE, peer, 90, MPI_MAX, win);
    atomic(FETCH_AND_ACCUMULATE, one, one, one);
    CALL(MPI_Win_flush, peer, win);
    check((unsigned long long)fetched[0], 16, "what was added");
    CALL(MPI_Fetch_and_op, &put, fetched, MPI_DOUBLE, peer, 90, MPI_REPLACE, win);
    atomic(SWAP, one, one, one);
    CALL(MPI_Win_flush, peer, win);
    check((unsigned long long)fetched[0], 90, "the larger one");
    CALL(MPI_Fetch_and_op, NULL, fetched, MPI_DOUBLE, peer, 90, MPI_NO_OP, win);
    atomic(FETCH_AND_ACCUMULATE, 0, one, one);
    CALL(MPI_Win_flush, peer, win);
    check((unsigned long long)fetched[0], 3, "what was swapped in");
    CALL(MPI_Get_accumulate, other, 2, MPI_DOUBLE, fetched, 2, MPI_DOUBLE, peer, 90, 2, MPI_DOUBLE, MPI_REPLACE, win);
    atomic(SWAP, 2 * one, 2 * one, 2 * one);
    CALL(MPI_Win_flush, peer, win);
    CALL(MPI_Get_accumulate, NULL, 0, MPI_DOUBLE, fetched, 2, MPI_DOUBLE, peer, 90, 2, MPI_DOUBLE, MPI_NO_OP, win);
    atomic(FETCH_AND_ACCUMULATE, 0, 2 * one, 2 * one);
    CALL(MPI_Win_flush, peer, win);
    check((unsigned long long)fetched[1], 6, "what the second swap has left");
#if HAS_LARGE_COUNTS
    counted(MPI_Get_accumulate_c(other, 2, MPI_DOUBLE, fetched, 2, MPI_DOUBLE, peer, 90, 2, MPI_DOUBLE, MPI_SUM, win),
            "MPI_Get_accumulate");
    atomic(FETCH_AND_ADD, 2 * one, 2 * one, 2 * one);
#endif
    CALL(MPI_Win_unlock, peer, win);
    return at_targets - before;
}

/* Every operation on a window of `comm`, in each kind of epoch; returns the bytes that were accessed at targets. */
static unsigned long long window_use(MPI_Comm comm, MPI_Win win, int peer)
{
    static double data[ELEMENTS], fetched[ELEMENTS];
    double one = 1, other = 2, before;
    long zero = 0, was;
    unsigned long long bytes = 0;
    MPI_Request requests[4];
    MPI_Group all;
    MPI_Info info;
    MPI_Comm_group(comm, &all);
    MPI_Info_create(&info);
    CALL(MPI_Win_set_info, win, info);
    MPI_Info_free(&info);
    CALL(MPI_Win_fence, 0, win);
    CALL(MPI_Put, data, 10, MPI_DOUBLE, peer, 0, 10, MPI_DOUBLE, win);
    CALL(MPI_Put, data, 3, MPI_DOUBLE, MPI_PROC_NULL, 0, 3, MPI_DOUBLE, win);
    nowhere++;
    CALL(MPI_Win_fence, 0, win);
    CALL(MPI_Get, data, 7, MPI_DOUBLE, peer, 20, 7, MPI_DOUBLE, win);
    CALL(MPI_Win_fence, 0, win);
    CALL(MPI_Accumulate, data, 5, MPI_DOUBLE, peer, 30, 5, MPI_DOUBLE, MPI_SUM, win);
    atomic(ACCUMULATE, 5 * sizeof(double), 0, 5 * sizeof(double));
    CALL(MPI_Win_fence, 0, win);
    bytes += (10 + 7 + 5) * sizeof(double);

    CALL(MPI_Win_post, all, 0, win);
    CALL(MPI_Win_start, all, 0, win);
    CALL(MPI_Put, data, 2, MPI_DOUBLE, peer, 40, 2, MPI_DOUBLE, win);
    CALL(MPI_Win_complete, win);
    CALL(MPI_Win_wait, win);
    bytes += 2 * sizeof(double);

    int ended = 0;
    CALL(MPI_Win_post, all, 0, win);
    CALL(MPI_Win_start, all, 0, win);
    CALL(MPI_Win_complete, win);
    while (!ended)
        CALL(MPI_Win_test, win, &ended);

    CALL(MPI_Win_lock, MPI_LOCK_EXCLUSIVE, peer, 0, win);
    CALL(MPI_Fetch_and_op, &one, &before, MPI_DOUBLE, peer, 50, MPI_SUM, win);
    atomic(FETCH_AND_ADD, sizeof(double), sizeof(double), sizeof(double));
    CALL(MPI_Win_flush, peer, win);
    CALL(MPI_Compare_and_swap, &zero, &zero, &was, MPI_LONG, peer, 51, win);
    atomic(COMPARE_AND_SWAP, 2 * sizeof(long), sizeof(long), sizeof(long));
    CALL(MPI_Win_flush_local, peer, win);
    CALL(MPI_Win_unlock, peer, win);
    bytes += sizeof(double) + sizeof(long);

    CALL(MPI_Win_lock_all, 0, win);
    CALL(MPI_Get_accumulate, &other, 1, MPI_DOUBLE, fetched, 1, MPI_DOUBLE, peer, 52, 1, MPI_DOUBLE, MPI_SUM, win);
    atomic(FETCH_AND_ADD, sizeof(double), sizeof(double), sizeof(double));
    CALL(MPI_Win_flush_all, win);
    CALL(MPI_Rput, data, 4, MPI_DOUBLE, peer, 60, 4, MPI_DOUBLE, win, &requests[0]);
    CALL(MPI_Rget, fetched, 6, MPI_DOUBLE, peer, 70, 6, MPI_DOUBLE, win, &requests[1]);
    CALL(MPI_Raccumulate, data, 1, MPI_DOUBLE, peer, 80, 1, MPI_DOUBLE, MPI_SUM, win, &requests[2]);
    atomic(ACCUMULATE, sizeof(double), 0, sizeof(double));
    CALL(MPI_Rget_accumulate, data, 1, MPI_DOUBLE, fetched + 50, 1, MPI_DOUBLE, peer, 81, 1, MPI_DOUBLE, MPI_REPLACE,
         win, &requests[3]);
    atomic(SWAP, sizeof(double), sizeof(double), sizeof(double));
    CALL(MPI_Wait, &requests[0], MPI_STATUS_IGNORE);
    CALL(MPI_Waitall, 3, requests + 1, MPI_STATUSES_IGNORE);
    CALL(MPI_Win_flush_local_all, win);
    CALL(MPI_Win_sync, win);
    CALL(MPI_Win_unlock_all, win);
    bytes += (1 + 4 + 6 + 1 + 1) * sizeof(double);
    MPI_Group_free(&all);
    return bytes + atomics_use(win, peer);
}

/* Two windows by turns, on two communicators; then windows that follow each other, often at one handle. Returns the
 * bytes of those on `comm`. */
static unsigned long long windows_alternate(MPI_Comm comm, void *memory, MPI_Aint size_, int peer)
{
    static double data[4];
    unsigned long long bytes = 0;
    MPI_Comm other;
    MPI_Win wins[2];
    CALL(MPI_Comm_dup, comm, &other);
    for (int i = 0; i < 2; i++) {
        CALL(MPI_Win_create, memory, size_, sizeof(double), MPI_INFO_NULL, i ? other : comm, &wins[i]);
        CALL(MPI_Win_fence, 0, wins[i]);
    }
    for (int i = 0; i < 20; i++)
        CALL(MPI_Put, data, i % 4, MPI_DOUBLE, peer, 0, i % 4, MPI_DOUBLE, wins[i % 3 == 0]);
    for (int i = 0; i < 20; i++)
        *(i % 3 ? &bytes : &elsewhere) += (unsigned long long)(i % 4) * sizeof(double);
    for (int i = 0; i < 2; i++) {
        CALL(MPI_Win_fence, 0, wins[i]);
        CALL(MPI_Win_free, &wins[i]);
    }
    for (int i = 0; i < 8; i++) {
        CALL(MPI_Win_create, memory, size_, sizeof(double), MPI_INFO_NULL, i % 2 ? other : comm, &wins[0]);
        CALL(MPI_Win_fence, 0, wins[0]);
        CALL(MPI_Put, data, 3, MPI_DOUBLE, peer, 0, 3, MPI_DOUBLE, wins[0]);
        CALL(MPI_Win_fence, 0, wins[0]);
        CALL(MPI_Win_free, &wins[0]);
        *(i % 2 ? &elsewhere : &bytes) += 3 * sizeof(double);
    }
    CALL(MPI_Comm_free, &other);
    return bytes;
}

/* A ring, as each of the graph topologies. */
static void graphs_use(MPI_Comm comm)
{
    int degrees[64], edges[128], one = 1, next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Comm made;
    for (int i = 0; i < size && i < 64; i++) {
        degrees[i] = 2 * (i + 1);
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
    }
    CALL(MPI_Graph_create, comm, size, degrees, edges, 0, &made);
    CALL(MPI_Comm_free, &made);
    CALL(MPI_Dist_graph_create, comm, 1, &rank, &one, &next, &one, MPI_INFO_NULL, 0, &made);
    CALL(MPI_Barrier, made);
    CALL(MPI_Comm_free, &made);
    CALL(MPI_Dist_graph_create_adjacent, comm, 1, &before, &one, 1, &next, &one, MPI_INFO_NULL, 0, &made);
    CALL(MPI_Barrier, made);
    CALL(MPI_Comm_free, &made);
}

/* Blocking, nonblocking, collective, split and shared accesses; the last read meets the end of the file. */
static unsigned long long file_use(MPI_Comm comm, const char *name)
{
    static int data[4 * ELEMENTS];
    MPI_File file;
    MPI_Offset length, mine = (MPI_Offset)rank * ELEMENTS * (MPI_Offset)sizeof(int);
    MPI_Status status;
    MPI_Request requests[2];
    unsigned long long items = 0;
    CALL(MPI_File_open, comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    CALL(MPI_File_set_size, file, 0);
    CALL(MPI_File_write_at, file, mine, data, ELEMENTS, MPI_INT, MPI_STATUS_IGNORE);
    CALL(MPI_File_sync, file);
    CALL(MPI_Barrier, comm);
    CALL(MPI_File_get_size, file, &length);
    check((unsigned long long)length, (unsigned long long)size * ELEMENTS * sizeof(int), "the file's size");
    CALL(MPI_File_read_at_all, file, mine, data, ELEMENTS, MPI_INT, &status);
    CALL(MPI_File_seek, file, mine, MPI_SEEK_SET);
    CALL(MPI_File_read, file, data, 9, MPI_INT, MPI_STATUS_IGNORE);
    CALL(MPI_File_iread_at, file, mine, data, 11, MPI_INT, &requests[0]);
    CALL(MPI_File_iwrite_at, file, mine, data + ELEMENTS, 12, MPI_INT, &requests[1]);
    CALL(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
    CALL(MPI_File_iread_at, file, mine, data, 13, MPI_INT, &requests[0]);
    CALL(MPI_Wait, &requests[0], MPI_STATUS_IGNORE);
    CALL(MPI_File_write_at_all_begin, file, mine, data, 14, MPI_INT);
    CALL(MPI_File_write_at_all_end, file, data, MPI_STATUS_IGNORE);
    CALL(MPI_File_set_view, file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    CALL(MPI_File_write_all, file, data, 0, MPI_INT, MPI_STATUS_IGNORE);
    items += ELEMENTS + ELEMENTS + 9 + 11 + 12 + 13 + 14;
    CALL(MPI_Barrier, comm);
    CALL(MPI_File_read_at, file, (MPI_Offset)size * ELEMENTS - 5, data, ELEMENTS, MPI_INT, MPI_STATUS_IGNORE);
    CALL(MPI_File_seek_shared, file, 0, MPI_SEEK_SET);
    CALL(MPI_File_write_shared, file, data, 3, MPI_INT, MPI_STATUS_IGNORE);
    CALL(MPI_File_write_ordered, file, data, 4, MPI_INT, MPI_STATUS_IGNORE);
    CALL(MPI_File_seek, file, 0, MPI_SEEK_SET);
    CALL(MPI_File_iwrite_all, file, data, 6, MPI_INT, &requests[0]);
    CALL(MPI_File_iread_at_all, file, 0, data + ELEMENTS, 2, MPI_INT, &requests[1]);
    CALL(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
    CALL(MPI_File_write_ordered_begin, file, data, 8, MPI_INT);
    CALL(MPI_File_write_ordered_end, file, data, MPI_STATUS_IGNORE);
    items += 3 + 4 + 6 + 2 + 8;
    items += 5; /* what there was */
    CALL(MPI_File_close, &file);
    return items * sizeof(int);
}

/* Each seek, as the archive has it, and which of them it has not. */
static char seeks[1024];

static void sought(const char *from, long asked, long arrived)
{
    size_t used = strlen(seeks);
    snprintf(seeks + used, sizeof seeks - used, " %s:%ld:%ld", from, asked, arrived);
}

/* In bytes; then in a view that begins at byte 16 and has two of each four integers; and behind that in bytes again. */
static void seeks_use(MPI_Comm comm, const char *name)
{
    char another[1024];
    MPI_File file;
    MPI_Datatype pair, tile;
    MPI_Offset at = 0;
    snprintf(another, sizeof another, "%s.seeks", name);
    CALL(MPI_File_open, comm, another, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
         &file);
    CALL(MPI_File_set_size, file, 1000);
    CALL(MPI_File_seek, file, 24, MPI_SEEK_SET);
    sought("FROM_START", 24, 24);
    CALL(MPI_File_seek, file, 8, MPI_SEEK_CUR);
    sought("FROM_CURRENT", 8, 32);
    CALL(MPI_File_seek, file, -10, MPI_SEEK_END);
    sought("FROM_END", -10, 990);
    check(MPI_File_seek(file, -5, MPI_SEEK_SET) != MPI_SUCCESS, 1, "that there is nothing before the file");
    counted(MPI_SUCCESS, "MPI_File_seek");
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 4 * (MPI_Aint)sizeof(int), &tile);
    MPI_Type_commit(&tile);
    CALL(MPI_File_set_view, file, 16, MPI_INT, tile, "native", MPI_INFO_NULL);
    CALL(MPI_File_seek, file, 5, MPI_SEEK_SET);
    sought("FROM_START", 5 * (long)sizeof(int), 16 + (2 * 4 + 1) * (long)sizeof(int));
    CALL(MPI_File_seek, file, -3, MPI_SEEK_CUR);
    sought("FROM_CURRENT", -3 * (long)sizeof(int), 16 + 4 * (long)sizeof(int));
    CALL(MPI_File_get_position_shared, file, &at);
    CALL(MPI_File_seek_shared, file, 6, MPI_SEEK_SET);
    sought("FROM_START", 6 * (long)sizeof(int), 16 + 3 * 4 * (long)sizeof(int));
    CALL(MPI_File_seek_shared, file, 2, MPI_SEEK_CUR); /* others may have moved it when one of them asks */
    CALL(MPI_File_set_view, file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    CALL(MPI_File_seek, file, 7, MPI_SEEK_CUR);
    sought("FROM_CURRENT", 7, 7);
    CALL(MPI_File_get_size, file, &at);
    check((unsigned long long)at, 1000, "the size of the file that was sought in");
    CALL(MPI_File_close, &file);
    MPI_Type_free(&pair);
    MPI_Type_free(&tile);
}

static void disconnected_use(MPI_Comm comm)
{
    MPI_Comm made;
    CALL(MPI_Comm_get_parent, &made);
    CALL(MPI_Comm_dup, comm, &made);
    CALL(MPI_Barrier, made);
    CALL(MPI_Comm_disconnect, &made);
}

static void figures_check(const struct watch *of_comm, const struct watch *of_world, unsigned long long bytes,
                          unsigned long long io, const struct watch *count)
{
    unsigned long long value;
    watch_read(&of_comm[0], &value);
    check(value, bytes, "mpit_rma_bytes");
    watch_read(&of_comm[1], &value);
    check(value, io, "mpit_io_bytes");
    for (int i = 0; i < 4; i++) {
        watch_read(&of_world[i], &value);
        check(value > 0, i == 2, "that the other communicator was charged"); /* it had windows, and no more */
        watch_read(&of_comm[i], &value);
        check(value > 0, 1, "that time and bytes were charged");
    }
    callcount_compare(count);
}

/* What objects.py finds in the archive. */
static void book_print(unsigned long long bytes, unsigned long long io)
{
    unsigned long long mine[] = {bytes, io}, all[2];
    MPI_Reduce(mine, all, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    printf("book: nowhere=%d window_bytes=%llu file_bytes=%llu", nowhere, all[0], all[1]);
    printf(" sent=%llu received=%llu at_targets=%llu", sent, received, at_targets);
    for (int i = 0; i < ATOMICS; i++)
        printf(" %s=%d", atomic_names[i], atomics[i]);
    callcount_print(stdout);
    printf("\nseeks:%s\n", seeks);
}

int main(int argc, char **argv)
{
    char title[128];
    unsigned long long bytes = 0, io;
    if (argc != 2) {
        fprintf(stderr, "usage: objects FILE\n");
        return 2;
    }
    callcount_begin(&argc, &argv);
    MPI_Comm comm;
    struct watch count = watch_open("mpit_call_count", MPI_T_PVAR_CLASS_COUNTER, NULL);
    CALL(MPI_Comm_dup, MPI_COMM_WORLD, &comm);
    MPI_Comm world = MPI_COMM_WORLD;
    static const char *const names[] = {"mpit_rma_bytes", "mpit_io_bytes", "mpit_rma_time", "mpit_io_time"};
    struct watch of_comm[4], of_world[4];
    for (int i = 0; i < 4; i++) {
        int class = i < 2 ? MPI_T_PVAR_CLASS_AGGREGATE : MPI_T_PVAR_CLASS_TIMER;
        of_comm[i] = watch_open(names[i], class, &comm);
        of_world[i] = watch_open(names[i], class, &world);
    }
    static double memory[2 * ELEMENTS];
    double *base;
    MPI_Win win;
    for (int kind = 0; kind < 2; kind++) {
        if (kind == 0)
            CALL(MPI_Win_create, memory, sizeof memory, sizeof(double), MPI_INFO_NULL, comm, &win);
        else
            CALL(MPI_Win_allocate, sizeof memory, sizeof(double), MPI_INFO_NULL, comm, &base, &win);
        if (kind == 0)
            MPI_Win_set_name(win, "the first"); /* which mpit counts only when it is told to */
        bytes += window_use(comm, win, (rank + 1) % size);
        CALL(MPI_Win_free, &win);
    }
    bytes += windows_alternate(comm, memory, sizeof memory, (rank + 1) % size);
    graphs_use(comm);
    MPI_Comm here; /* for Debian's MPICH 5.0.2 each process is on a node of its own */
    CALL(MPI_Comm_split_type, comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    CALL(MPI_Win_allocate_shared, sizeof(double), sizeof(double), MPI_INFO_NULL, here, &base, &win);
    CALL(MPI_Win_free, &win);
    CALL(MPI_Comm_free, &here);
    CALL(MPI_Win_create_dynamic, MPI_INFO_NULL, comm, &win);
    CALL(MPI_Win_attach, win, memory, sizeof memory);
    CALL(MPI_Win_detach, win, memory);
    CALL(MPI_Win_free, &win);
    for (int i = 0; i < 20; i++) { /* handles that are used again */
        CALL(MPI_Win_create_dynamic, MPI_INFO_NULL, i % 2 ? world : comm, &win);
        CALL(MPI_Win_free, &win);
    }
    io = file_use(comm, argv[1]) + filecalls_use(comm, argv[1]);
    seeks_use(comm, argv[1]);
    disconnected_use(comm);
    if (!absent)
        figures_check(of_comm, of_world, bytes, io, &count);
    MPI_Comm_free(&comm);
    book_print(bytes + elsewhere, io);
    snprintf(title, sizeof title, "%llu bytes at windows, %llu bytes of files", bytes, io);
    return callcount_end(title);
}
