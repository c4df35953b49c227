/* circles FIRST OTHERS DIRECTORY: rank 0 makes the call FIRST, all others OTHERS. Writes DIRECTORY/rank.N just before.
 *
 * barrier bcast(of rank 0) ibarrier recv(from the next rank) split dup create cart win_create win_free fence file_open
 * file_close set_view finalize late(a minute outside of MPI)
 *
 * self_dup before FIRST ("self_dup:split"): three copies of MPI_COMM_SELF first. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static char path[4096];
static MPI_Win window;
static MPI_File file;

static void communicators(const char *how)
{
    MPI_Comm made;
    MPI_Group group;
    int period = 0;
    if (!strcmp(how, "split"))
        MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &made);
    else if (!strcmp(how, "dup"))
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
    else if (!strcmp(how, "cart"))
        MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &period, 0, &made);
    else if (!strcmp(how, "create")) {
        MPI_Comm_group(MPI_COMM_WORLD, &group);
        MPI_Comm_create(MPI_COMM_WORLD, group, &made);
    }
}

static void messages(const char *how)
{
    int value = 0;
    MPI_Request request;
    if (!strcmp(how, "barrier"))
        MPI_Barrier(MPI_COMM_WORLD);
    else if (!strcmp(how, "bcast"))
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    else if (!strcmp(how, "recv"))
        MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (!strcmp(how, "ibarrier")) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void windows_and_files(const char *how)
{
    static int memory[4];
    MPI_Win made;
    MPI_File opened;
    if (!strcmp(how, "win_create"))
        MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
    else if (!strcmp(how, "win_free"))
        MPI_Win_free(&window);
    else if (!strcmp(how, "fence"))
        MPI_Win_fence(0, window);
    else if (!strcmp(how, "file_open"))
        MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &opened);
    else if (!strcmp(how, "file_close"))
        MPI_File_close(&file);
    else if (!strcmp(how, "set_view"))
        MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
}

int main(int argc, char **argv)
{
    static int memory[4];
    char name[4096];
    if (argc != 4)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "%s/file", argv[3]);
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    const char *how = rank ? argv[2] : argv[1];
    for (int i = 0; i < 3 && strncmp(how, "self_dup:", 9) == 0; i++) {
        MPI_Comm copy;
        MPI_Comm_dup(MPI_COMM_SELF, &copy);
    }
    how += strncmp(how, "self_dup:", 9) == 0 ? 9 : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(name, sizeof name, "%s/rank.%d", argv[3], rank);
    FILE *mark = fopen(name, "w");
    if (mark)
        fclose(mark);
    communicators(how);
    messages(how);
    windows_and_files(how);
    if (!strcmp(how, "late"))
        sleep(60);
    MPI_Finalize();
    return 0;
}
