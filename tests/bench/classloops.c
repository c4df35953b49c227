#include "classloops.h"

#include "../integration/common/mpi4.h"

#include <mpi.h>
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Neighbor_alltoall_init MPIX_Neighbor_alltoall_init
#endif

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MANY = 16, TAG = 1, TAG_PERSISTENT = 2, TAG_PARTITIONED = 3, TAG_AGAIN = 4, TAG_NEVER = 77 };

static MPI_Comm self, grid;
static MPI_Group group;
static MPI_Win window, fenced;
static double *memory, *more_memory;
static MPI_File file;
static MPI_Request pair[2], sum, neighbors;
#if HAS_MPI4
static MPI_Request parts[2];
#endif
static double one[2] = {1, 1}, other[2];
static char file_name[512];

void class_objects_make(void)
{
    int dims = 1, periods = 1;
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Comm_group(self, &group);
    MPI_Cart_create(self, 1, &dims, &periods, 0, &grid);
    MPI_Win_allocate(1024, sizeof(double), MPI_INFO_NULL, self, &memory, &window);
    MPI_Win_allocate(1024, sizeof(double), MPI_INFO_NULL, self, &more_memory, &fenced);
    MPI_Win_lock_all(0, window);
    const char *folder = getenv("TMPDIR");
    snprintf(file_name, sizeof file_name, "%s/callcost.%d", folder ? folder : "/tmp", (int)getpid());
    MPI_File_open(self, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_Send_init(one, 1, MPI_DOUBLE, 0, TAG_PERSISTENT, self, &pair[0]);
    MPI_Recv_init(other, 1, MPI_DOUBLE, 0, TAG_PERSISTENT, self, &pair[1]);
    MPI_Allreduce_init(one, other, 1, MPI_DOUBLE, MPI_SUM, self, MPI_INFO_NULL, &sum);
    MPI_Neighbor_alltoall_init(one, 1, MPI_DOUBLE, other, 1, MPI_DOUBLE, grid, MPI_INFO_NULL, &neighbors);
#if HAS_MPI4
    MPI_Psend_init(one, 1, 1, MPI_DOUBLE, 0, TAG_PARTITIONED, self, MPI_INFO_NULL, &parts[0]);
    MPI_Precv_init(other, 1, 1, MPI_DOUBLE, 0, TAG_PARTITIONED, self, MPI_INFO_NULL, &parts[1]);
#endif
}

void class_objects_free(void)
{
    MPI_Request_free(&pair[0]);
    MPI_Request_free(&pair[1]);
    MPI_Request_free(&sum);
    MPI_Request_free(&neighbors);
#if HAS_MPI4
    MPI_Request_free(&parts[0]);
    MPI_Request_free(&parts[1]);
#endif
    MPI_File_close(&file);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Win_free(&fenced);
    MPI_Comm_free(&grid);
    MPI_Group_free(&group);
    MPI_Comm_free(&self);
}

/* ---- point to point ---------------------------------------------------------------------------------------------- */

static void loop_blocking(long n)
{
    MPI_Request request;
    for (long i = 0; i < n; i++) {
        MPI_Isend(one, 1, MPI_DOUBLE, 0, TAG, self, &request);
        MPI_Recv(other, 1, MPI_DOUBLE, 0, TAG, self, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* The same once more: how far two measurements of one thing lie apart. */
static void loop_again(long n)
{
    MPI_Request request;
    for (long i = 0; i < n; i++) {
        MPI_Isend(one, 1, MPI_DOUBLE, 0, TAG_AGAIN, self, &request);
        MPI_Recv(other, 1, MPI_DOUBLE, 0, TAG_AGAIN, self, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void loop_sendrecv(long n)
{
    for (long i = 0; i < n; i++)
        MPI_Sendrecv(one, 1, MPI_DOUBLE, 0, TAG, other, 1, MPI_DOUBLE, 0, TAG, self, MPI_STATUS_IGNORE);
}

static void loop_single(long n)
{
    MPI_Request request;
    for (long i = 0; i < n; i++) {
        MPI_Irecv(other, 1, MPI_DOUBLE, 0, TAG, self, &request);
        MPI_Send(one, 1, MPI_DOUBLE, 0, TAG, self);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void loop_test(long n)
{
    MPI_Request request;
    int flag;
    for (long i = 0; i < n; i++) {
        MPI_Irecv(other, 1, MPI_DOUBLE, 0, TAG, self, &request);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        MPI_Send(one, 1, MPI_DOUBLE, 0, TAG, self);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void loop_waitall(long n)
{
    MPI_Request requests[2];
    for (long i = 0; i < n; i++) {
        MPI_Irecv(other, 1, MPI_DOUBLE, 0, TAG, self, &requests[0]);
        MPI_Isend(one, 1, MPI_DOUBLE, 0, TAG, self, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void many_post(MPI_Request requests[2 * MANY])
{
    for (int k = 0; k < MANY; k++)
        MPI_Irecv(other, 1, MPI_DOUBLE, 0, TAG, self, &requests[k]);
    for (int k = 0; k < MANY; k++)
        MPI_Isend(one, 1, MPI_DOUBLE, 0, TAG, self, &requests[MANY + k]);
}

static void loop_waitmany(long n)
{
    MPI_Request requests[2 * MANY];
    for (long i = 0; i < n; i++) {
        many_post(requests);
        MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
    }
}

/* A program that wants the statuses: then the library fills them with and without mpit. */
static void loop_manytold(long n)
{
    MPI_Request requests[2 * MANY];
    MPI_Status statuses[2 * MANY];
    for (long i = 0; i < n; i++) {
        many_post(requests);
        MPI_Waitall(2 * MANY, requests, statuses);
    }
}

static void loop_waitany(long n)
{
    MPI_Request requests[2];
    int index;
    for (long i = 0; i < n; i++) {
        MPI_Irecv(other, 1, MPI_DOUBLE, 0, TAG, self, &requests[0]);
        MPI_Isend(one, 1, MPI_DOUBLE, 0, TAG, self, &requests[1]);
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    }
}

static void loop_persistent(long n)
{
    for (long i = 0; i < n; i++) {
        MPI_Startall(2, pair);
        MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
    }
}

static void loop_start(long n)
{
    for (long i = 0; i < n; i++) {
        MPI_Start(&pair[1]);
        MPI_Start(&pair[0]);
        MPI_Wait(&pair[1], MPI_STATUS_IGNORE);
        MPI_Wait(&pair[0], MPI_STATUS_IGNORE);
    }
}

#if HAS_MPI4
static void loop_isendrecv(long n)
{
    MPI_Request request;
    for (long i = 0; i < n; i++) {
        MPI_Isendrecv(one, 1, MPI_DOUBLE, 0, TAG, other, 1, MPI_DOUBLE, 0, TAG, self, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void loop_partitioned(long n)
{
    for (long i = 0; i < n; i++) {
        MPI_Start(&parts[1]);
        MPI_Start(&parts[0]);
        MPI_Pready(0, parts[0]);
        MPI_Wait(&parts[0], MPI_STATUS_IGNORE);
        MPI_Wait(&parts[1], MPI_STATUS_IGNORE);
    }
}
#endif

static void loop_probe(long n)
{
    int flag;
    for (long i = 0; i < n; i++)
        MPI_Iprobe(0, TAG_NEVER, self, &flag, MPI_STATUS_IGNORE);
}

static void loop_mprobe(long n)
{
    MPI_Request request;
    MPI_Message message;
    for (long i = 0; i < n; i++) {
        MPI_Isend(one, 1, MPI_DOUBLE, 0, TAG, self, &request);
        MPI_Mprobe(0, TAG, self, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(other, 1, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* ---- collectives ------------------------------------------------------------------------------------------------- */

static void loop_collective(long n)
{
    for (long i = 0; i < n; i++)
        MPI_Allreduce(one, other, 1, MPI_DOUBLE, MPI_SUM, self);
}

static void loop_icollective(long n)
{
    MPI_Request request;
    for (long i = 0; i < n; i++) {
        MPI_Iallreduce(one, other, 1, MPI_DOUBLE, MPI_SUM, self, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void loop_pcollective(long n)
{
    for (long i = 0; i < n; i++) {
        MPI_Start(&sum);
        MPI_Wait(&sum, MPI_STATUS_IGNORE);
    }
}

static void loop_neighbor(long n)
{
    for (long i = 0; i < n; i++)
        MPI_Neighbor_alltoall(one, 1, MPI_DOUBLE, other, 1, MPI_DOUBLE, grid);
}

static void loop_ineighbor(long n)
{
    MPI_Request request;
    for (long i = 0; i < n; i++) {
        MPI_Ineighbor_alltoall(one, 1, MPI_DOUBLE, other, 1, MPI_DOUBLE, grid, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void loop_pneighbor(long n)
{
    for (long i = 0; i < n; i++) {
        MPI_Start(&neighbors);
        MPI_Wait(&neighbors, MPI_STATUS_IGNORE);
    }
}

/* ---- windows and files ------------------------------------------------------------------------------------------- */

static void loop_put(long n)
{
    for (long i = 0; i < n; i++) {
        MPI_Put(one, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, window);
        MPI_Win_flush(0, window);
    }
}

static void loop_get(long n)
{
    for (long i = 0; i < n; i++) {
        MPI_Get(other, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, window);
        MPI_Win_flush(0, window);
    }
}

static void loop_accumulate(long n)
{
    for (long i = 0; i < n; i++) {
        MPI_Accumulate(one, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_SUM, window);
        MPI_Win_flush(0, window);
    }
}

static void loop_rput(long n)
{
    MPI_Request request;
    for (long i = 0; i < n; i++) {
        MPI_Rput(one, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void loop_lock(long n)
{
    for (long i = 0; i < n; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, fenced);
        MPI_Win_unlock(0, fenced);
    }
}

static void loop_fence(long n)
{
    for (long i = 0; i < n; i++)
        MPI_Win_fence(0, fenced);
}

static void loop_pscw(long n)
{
    for (long i = 0; i < n; i++) {
        MPI_Win_post(group, 0, fenced);
        MPI_Win_start(group, 0, fenced);
        MPI_Win_complete(fenced);
        MPI_Win_wait(fenced);
    }
}

static void loop_file(long n)
{
    MPI_Offset bytes;
    for (long i = 0; i < n; i++)
        MPI_File_get_size(file, &bytes);
}

static void loop_write(long n)
{
    for (long i = 0; i < n; i++) {
        MPI_File_write_at(file, 0, one, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
        MPI_File_read_at(file, 0, other, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
    }
}

static void loop_writetold(long n)
{
    MPI_Status status;
    for (long i = 0; i < n; i++) {
        MPI_File_write_at(file, 0, one, 1, MPI_DOUBLE, &status);
        MPI_File_read_at(file, 0, other, 1, MPI_DOUBLE, &status);
    }
}

static void loop_iwrite(long n)
{
    MPI_Request request;
    for (long i = 0; i < n; i++) {
        MPI_File_iwrite_at(file, 0, one, 0, MPI_DOUBLE, &request); /* without data: no thread of the library writes */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* ---- whole lives ------------------------------------------------------------------------------------------------- */

static void loop_dup(long n)
{
    MPI_Comm made;
    for (long i = 0; i < n; i++) {
        MPI_Comm_dup(self, &made);
        MPI_Comm_free(&made);
    }
}

static void loop_split(long n)
{
    MPI_Comm made;
    for (long i = 0; i < n; i++) {
        MPI_Comm_split(self, 5, 0, &made);
        MPI_Comm_free(&made);
    }
}

static void loop_create(long n)
{
    MPI_Comm made;
    for (long i = 0; i < n; i++) {
        MPI_Comm_create(self, group, &made);
        MPI_Comm_free(&made);
    }
}

static void loop_cart(long n)
{
    int dims = 1, periods = 1;
    MPI_Comm made;
    for (long i = 0; i < n; i++) {
        MPI_Cart_create(self, 1, &dims, &periods, 0, &made);
        MPI_Comm_free(&made);
    }
}

static void loop_window(long n)
{
    MPI_Win made;
    for (long i = 0; i < n; i++) {
        MPI_Win_create(one, sizeof one, sizeof *one, MPI_INFO_NULL, self, &made);
        MPI_Win_free(&made);
    }
}

static void loop_open(long n)
{
    MPI_File made;
    for (long i = 0; i < n; i++) {
        MPI_File_open(self, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &made);
        MPI_File_close(&made);
    }
}

/* ---- local functions, which are recorded where mpit_record_local_calls is on ------------------------------------ */

static void loop_rank(long n)
{
    int rank, size;
    for (long i = 0; i < n; i++) {
        MPI_Comm_rank(self, &rank);
        MPI_Comm_size(self, &size);
    }
}

static void loop_group(long n)
{
    int zero = 0;
    MPI_Group made;
    for (long i = 0; i < n; i++) {
        MPI_Group_incl(group, 1, &zero, &made);
        MPI_Group_free(&made);
    }
}

static void loop_topology(long n)
{
    int place = 0, rank;
    for (long i = 0; i < n; i++) {
        MPI_Cart_rank(grid, &place, &rank);
        MPI_Cart_coords(grid, rank, 1, &place);
    }
}

static void loop_datatype(long n)
{
    MPI_Datatype type;
    for (long i = 0; i < n; i++) {
        MPI_Type_contiguous(4, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&type);
    }
}

static void loop_info(long n)
{
    MPI_Info info;
    for (long i = 0; i < n; i++) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "key", "value");
        MPI_Info_free(&info);
    }
}

static void loop_attribute(long n)
{
    void *value;
    int flag;
    for (long i = 0; i < n; i++)
        MPI_Comm_get_attr(self, MPI_TAG_UB, &value, &flag);
}

const struct class_loop class_loops[] = {
    {"blocking", loop_blocking, 3, 1, 0},
    {"sendrecv", loop_sendrecv, 1, 1, 0},
    {"single", loop_single, 3, 1, 0},
    {"test", loop_test, 4, 1, 0},
    {"waitall", loop_waitall, 3, 1, 0},
    {"waitmany", loop_waitmany, 2 * MANY + 1, 10, 0},
    {"manytold", loop_manytold, 2 * MANY + 1, 10, 0},
    {"waitany", loop_waitany, 4, 1, 0},
#if HAS_MPI4
    {"isendrecv", loop_isendrecv, 2, 1, 0},
#endif
    {"persistent", loop_persistent, 2, 1, 0},
    {"start", loop_start, 4, 1, 0},
#if HAS_MPI4
    {"partitioned", loop_partitioned, 5, 4, 0},
#endif
    {"probe", loop_probe, 1, 1, 0},
    {"mprobe", loop_mprobe, 4, 1, 0},
    {"collective", loop_collective, 1, 1, 0},
    {"icollective", loop_icollective, 2, 4, 0},
    {"pcollective", loop_pcollective, 2, 4, 0},
    {"neighbor", loop_neighbor, 1, 4, 0},
    {"ineighbor", loop_ineighbor, 2, 4, 0},
    {"pneighbor", loop_pneighbor, 2, 4, 0},
    {"put", loop_put, 2, 4, 0},
    {"get", loop_get, 2, 4, 0},
    {"accumulate", loop_accumulate, 2, 4, 0},
    {"rput", loop_rput, 2, 4, 0},
    {"lock", loop_lock, 2, 4, 0},
    {"fence", loop_fence, 1, 4, 0},
    {"pscw", loop_pscw, 4, 8, 0},
    {"file", loop_file, 1, 4, 0},
    {"write", loop_write, 2, 8, 0},
    {"writetold", loop_writetold, 2, 8, 0},
    {"iwrite", loop_iwrite, 2, 20, 0},
    {"dup", loop_dup, 2, 20, 300},
    {"split", loop_split, 2, 20, 300},
    {"create", loop_create, 2, 20, 300},
    {"cart", loop_cart, 2, 20, 300},
    {"window", loop_window, 2, 100, 0},
    {"open", loop_open, 2, 100, 0},
    {"rank", loop_rank, 2, 1, 0},
    {"group", loop_group, 2, 1, 0},
    {"topology", loop_topology, 2, 1, 0},
    {"datatype", loop_datatype, 3, 4, 0},
    {"info", loop_info, 3, 4, 0},
    {"attribute", loop_attribute, 1, 1, 0},
    {"again", loop_again, 3, 1, 0},
};
const size_t class_loop_count = sizeof class_loops / sizeof class_loops[0];
