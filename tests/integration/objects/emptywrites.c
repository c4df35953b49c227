/*
 * emptywrites FILE: collective writes to which the even ranks bring nothing, behind calls that leave the stack full of
 * other things, and split reads of nothing; ROMIO in Open MPI leaves the status of such a call as it was. Each rank
 * prints what it wrote, and what mpit_io_bytes says.
 */
#include <mpi.h>

#include <stdio.h>
#include <string.h>

enum { COUNT = 10, TIMES = 10 };

__attribute__((noinline)) static int stack_fill(int with)
{
    volatile char room[20000];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = (char)with;
    return room[sizeof room / 2];
}

static MPI_T_pvar_handle bytes_open(MPI_T_pvar_session session, MPI_Comm *comm)
{
    int index, count;
    MPI_T_pvar_handle handle;
    if (MPI_T_pvar_get_index("mpit_io_bytes", MPI_T_PVAR_CLASS_AGGREGATE, &index) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 77);
    MPI_T_pvar_handle_alloc(session, index, comm, &handle, &count);
    MPI_T_pvar_start(session, handle);
    return handle;
}

int main(int argc, char *argv[])
{
    int data[COUNT] = {0}, rank, provided, failed = 0;
    unsigned long long written = 0, counted = 0;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_File file;
    MPI_T_pvar_session session;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(world, &rank);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle bytes = bytes_open(session, &world);
    int n = rank % 2 ? COUNT : 0, code = argc == 2 ? 0 : 2;
    code |= MPI_File_open(world, argv[argc - 1], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                          MPI_INFO_NULL, &file);
    for (int i = 0; i < TIMES && !code; i++) {
        stack_fill(i + 0x41);
        code |= MPI_File_write_at_all(file, 0, data, n, MPI_INT, MPI_STATUS_IGNORE);
        stack_fill(i + 0x51);
        code |= MPI_File_write_all(file, data, n, MPI_INT, MPI_STATUS_IGNORE);
        stack_fill(i + 0x61);
        code |= MPI_File_write_ordered(file, data, n, MPI_INT, MPI_STATUS_IGNORE);
        code |= MPI_File_write_at_all_begin(file, 0, data, COUNT, MPI_INT);
        failed += MPI_File_set_size(file, -1) != MPI_SUCCESS; /* which concerns nobody else */
        code |= MPI_File_write_at_all_end(file, data, MPI_STATUS_IGNORE);
        stack_fill(i + 0x71);
        code |= MPI_File_read_at_all_begin(file, 0, data, 0, MPI_INT);
        code |= MPI_File_read_at_all_end(file, data, MPI_STATUS_IGNORE);
        written += (3 * (unsigned long long)n + COUNT) * sizeof(int);
    }
    MPI_T_pvar_read(session, bytes, &counted);
    printf("%s: rank %d wrote %llu bytes, %llu are counted\n", !code && written == counted ? "right" : "wrong", rank,
           written, counted);
    MPI_File_close(&file);
    MPI_T_pvar_session_free(&session);
    MPI_Finalize();
    MPI_T_finalize();
    return code || failed != TIMES || written != counted;
}
