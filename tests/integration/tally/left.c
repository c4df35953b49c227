/* left KIND COUNT: makes COUNT objects of a kind in a loop of COUNT passes and frees some. It counts for itself, and prints
 * for each function that made objects "left FUNCTION LINE COUNT": how many are not freed or completed at MPI_Finalize.
 *
 * KIND growing: each pass leaves one of each kind, made in leave(). begin: all of them are made before the loop. freed: each
 * pass frees what it made. spare: ever more, freed in the end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 20000 };

struct made {
    const char *function;
    int line, count;
};
static struct made made[32];

/* Counts an object of the call in the line above. Returns where. */
static struct made *count_at(const char *function, int line)
{
    int i = 0;
    while (made[i].function && (made[i].line != line || strcmp(made[i].function, function) != 0))
        i++;
    made[i].function = function;
    made[i].line = line;
    made[i].count++;
    return &made[i];
}
#define COUNT(function) count_at(#function, __LINE__)

static int buffer[64];

static void compute(long us)
{
    struct timespec now, begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

/* One of each kind, which nobody frees. Nobody sends what the request waits for. */
static void leave(void)
{
    static const int first[] = {0};
    const MPI_Comm world = MPI_COMM_WORLD;
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR, bytes = sizeof buffer;
    MPI_Comm comm;
    MPI_Win window;
    MPI_File file;
    MPI_Datatype type, pair;
    MPI_Group group, part;
    MPI_Request request;
    struct made *windows;
    MPI_Comm_dup(world, &comm), COUNT(MPI_Comm_dup);
    MPI_Win_create(buffer, bytes, 1, MPI_INFO_NULL, world, &window), windows = COUNT(MPI_Win_create);
#if defined(MPICH) /* over UCX it aborts in MPI_Finalize if a window is left */
    MPI_Win_free(&window), windows->count--;
#endif
    (void)windows;
    MPI_File_open(MPI_COMM_SELF, "left.data", mode, MPI_INFO_NULL, &file), COUNT(MPI_File_open);
    MPI_Type_vector(2, 1, 3, MPI_INT, &type), COUNT(MPI_Type_vector)->count--; /* it is freed */
    MPI_Type_contiguous(2, type, &pair), COUNT(MPI_Type_contiguous);
    MPI_Type_free(&type);
    MPI_Comm_group(world, &group), COUNT(MPI_Comm_group);
    MPI_Group_incl(group, 1, first, &part), COUNT(MPI_Group_incl);
    MPI_Irecv(buffer, 1, MPI_INT, 0, 77, world, &request), COUNT(MPI_Irecv);
    MPI_Send_init(buffer, 1, MPI_INT, 0, 78, world, &request), COUNT(MPI_Send_init);
}

/* The same, and all is freed. */
static void use(int own)
{
    MPI_Comm comm;
    MPI_Datatype type, again;
    MPI_Group group, empty;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_contiguous(3, MPI_DOUBLE, &type);
    MPI_Type_dup(type, &again);
    MPI_Type_commit(&type);
    MPI_Type_free(&again);
    MPI_Type_free(&type);
    MPI_Comm_group(comm, &group);
    MPI_Group_incl(group, 0, NULL, &empty);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Irecv(buffer, 1, MPI_INT, own, 5, MPI_COMM_WORLD, &request);
    MPI_Send(buffer + 1, 1, MPI_INT, own, 5, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv_init(buffer, 1, MPI_INT, own, 6, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Send(buffer + 1, 1, MPI_INT, own, 6, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
    static MPI_Datatype spare[MOST];
    const char *kind = argc > 1 ? argv[1] : "growing";
    int count = argc > 2 ? atoi(argv[2]) : 30, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < count && strcmp(kind, "begin") == 0; i++)
        leave();
    for (int i = 0; i < count && i < MOST; i++) {
        if (strcmp(kind, "growing") == 0)
            leave();
        if (strcmp(kind, "freed") == 0)
            use(rank);
        if (strcmp(kind, "spare") == 0)
            MPI_Type_contiguous(i + 1, MPI_INT, &spare[i]);
        compute(2000);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    compute(strcmp(kind, "begin") == 0 ? 1500000 : 0);
    for (int i = 0; i < count && i < MOST && strcmp(kind, "spare") == 0; i++)
        MPI_Type_free(&spare[i]);
    for (int i = 0; rank == 0 && made[i].function; i++)
        printf("left %s %d %d\n", made[i].function, made[i].line, made[i].count);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
