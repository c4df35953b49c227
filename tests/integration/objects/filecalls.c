#include "filecalls.h"

#include <stdio.h>

enum { ITEMS = 100 };

static int data[2 * ITEMS];

static void posted_wait(int n, MPI_Request *requests)
{
    CALL(MPI_Waitall, n, requests, MPI_STATUSES_IGNORE);
}

/* With a pointer of the process's own. Everybody in its own part of the file, which has ITEMS integers each. */
static int own_pointer_use(MPI_File file, MPI_Offset mine)
{
    MPI_Request request;
    CALL(MPI_File_seek, file, mine, MPI_SEEK_SET);
    CALL(MPI_File_write, file, data, 7, MPI_INT, MPI_STATUS_IGNORE);
    CALL(MPI_File_iwrite, file, data, 8, MPI_INT, &request);
    posted_wait(1, &request);
    CALL(MPI_File_seek, file, mine, MPI_SEEK_SET);
    CALL(MPI_File_iread, file, data, 9, MPI_INT, &request);
    posted_wait(1, &request);
    CALL(MPI_File_iread_all, file, data, 2, MPI_INT, &request);
    posted_wait(1, &request);
    CALL(MPI_File_read_all, file, data, 3, MPI_INT, MPI_STATUS_IGNORE);
    CALL(MPI_File_seek, file, mine, MPI_SEEK_SET);
    CALL(MPI_File_write_all_begin, file, data, 5, MPI_INT);
    CALL(MPI_File_write_all_end, file, data, MPI_STATUS_IGNORE);
    CALL(MPI_File_seek, file, mine, MPI_SEEK_SET);
    CALL(MPI_File_read_all_begin, file, data, 6, MPI_INT);
    CALL(MPI_File_read_all_end, file, data, MPI_STATUS_IGNORE);
    return 7 + 8 + 9 + 2 + 3 + 5 + 6;
}

static int offset_use(MPI_File file, MPI_Offset mine)
{
    MPI_Request request;
    CALL(MPI_File_write_at_all, file, mine, data, 11, MPI_INT, MPI_STATUS_IGNORE);
    CALL(MPI_File_iwrite_at_all, file, mine, data, 12, MPI_INT, &request);
    posted_wait(1, &request);
    CALL(MPI_File_read_at_all_begin, file, mine, data, 13, MPI_INT);
    CALL(MPI_File_read_at_all_end, file, data, MPI_STATUS_IGNORE);
    return 11 + 12 + 13;
}

/* With the pointer that all share. The file is longer than what is read of it. */
static int shared_pointer_use(MPI_Comm comm, MPI_File file)
{
    MPI_Request request;
    MPI_Offset at = -1;
    CALL(MPI_Barrier, comm);
    CALL(MPI_File_seek_shared, file, 0, MPI_SEEK_SET);
    CALL(MPI_File_get_position_shared, file, &at);
    check((unsigned long long)at, 0, "the shared position");
    CALL(MPI_Barrier, comm);
    CALL(MPI_File_read_shared, file, data, 2, MPI_INT, MPI_STATUS_IGNORE);
    CALL(MPI_File_iread_shared, file, data, 3, MPI_INT, &request);
    posted_wait(1, &request);
    CALL(MPI_File_iwrite_shared, file, data, 4, MPI_INT, &request);
    posted_wait(1, &request);
    CALL(MPI_Barrier, comm);
    CALL(MPI_File_read_ordered, file, data, 5, MPI_INT, MPI_STATUS_IGNORE);
    CALL(MPI_File_read_ordered_begin, file, data, 6, MPI_INT);
    CALL(MPI_File_read_ordered_end, file, data, MPI_STATUS_IGNORE);
    return 2 + 3 + 4 + 5 + 6;
}

/* Behind the end there is nothing to read, whatever the status of a collective read says. */
static int end_use(MPI_Comm comm, MPI_File file)
{
    const MPI_Offset bytes = (MPI_Offset)size * ITEMS * (MPI_Offset)sizeof(int);
    CALL(MPI_Barrier, comm);
    CALL(MPI_File_set_size, file, bytes);
    CALL(MPI_File_seek, file, bytes - 5 * (MPI_Offset)sizeof(int), MPI_SEEK_SET);
    CALL(MPI_File_read_all, file, data, 4, MPI_INT, MPI_STATUS_IGNORE);
    CALL(MPI_File_read_all, file, data, 9, MPI_INT, MPI_STATUS_IGNORE);
    CALL(MPI_File_read_all, file, data, 9, MPI_INT, MPI_STATUS_IGNORE);
    CALL(MPI_File_read_at_all, file, bytes - 2 * (MPI_Offset)sizeof(int), data, 9, MPI_INT, MPI_STATUS_IGNORE);
    return 5 + 2;
}

unsigned long long filecalls_use(MPI_Comm comm, const char *name)
{
    char another[1024];
    MPI_File file;
    MPI_Info info;
    MPI_Offset mine = (MPI_Offset)rank * ITEMS * (MPI_Offset)sizeof(int);
    int items = 0;
    snprintf(another, sizeof another, "%s.another", name);
    CALL(MPI_File_open, comm, another, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    CALL(MPI_File_preallocate, file, (MPI_Offset)size * ITEMS * (MPI_Offset)sizeof(int));
    CALL(MPI_File_set_atomicity, file, 1);
    CALL(MPI_File_set_atomicity, file, 0);
    MPI_File_get_info(file, &info);
    CALL(MPI_File_set_info, file, info);
    MPI_Info_free(&info);
    items += own_pointer_use(file, mine);
    items += offset_use(file, mine);
    items += shared_pointer_use(comm, file);
    items += end_use(comm, file);
    CALL(MPI_File_close, &file);
    CALL(MPI_Barrier, comm);
    if (rank == 0)
        CALL(MPI_File_delete, another, MPI_INFO_NULL);
    return (unsigned long long)items * sizeof(int);
}
