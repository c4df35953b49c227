/*
 * A newer MPI library than the local mpi.h: functions of MPI 4.0 and 4.1 by those of MPI 3.1, as MPI_* and PMPI_*. Empty
 * where mpi.h declares them all. All buffers of the library are one.
 */
#include "newer.h"

#define BOTH(name) extern __typeof__(name) P##name __attribute__((alias(#name)))

#if NEWER_LACKS_LARGE

enum { PROCESSES_MOST = 16 };

int MPI_Send_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    return PMPI_Send(buf, (int)count, type, dest, tag, comm);
}

int MPI_Recv_c(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    return PMPI_Recv(buf, (int)count, type, source, tag, comm, status);
}

int MPI_Isend_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                MPI_Request *request)
{
    return PMPI_Isend(buf, (int)count, type, dest, tag, comm, request);
}

int MPI_Irecv_c(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request)
{
    return PMPI_Irecv(buf, (int)count, type, source, tag, comm, request);
}

int MPI_Allreduce_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return PMPI_Allreduce(sendbuf, recvbuf, (int)count, type, op, comm);
}

int MPI_Alltoallv_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,
                    void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype,
                    MPI_Comm comm)
{
    int processes, small[4][PROCESSES_MOST];
    PMPI_Comm_size(comm, &processes);
    for (int i = 0; i < processes && i < PROCESSES_MOST; i++) {
        small[0][i] = (int)sendcounts[i];
        small[1][i] = (int)sdispls[i];
        small[2][i] = (int)recvcounts[i];
        small[3][i] = (int)rdispls[i];
    }
    return PMPI_Alltoallv(sendbuf, small[0], small[1], sendtype, recvbuf, small[2], small[3], recvtype, comm);
}

int MPI_Type_create_darray_c(int size, int rank, int ndims, const MPI_Count gsizes[], const int distribs[],
                             const int dargs[], const int psizes[], int order, MPI_Datatype oldtype,
                             MPI_Datatype *newtype)
{
    int first = (int)gsizes[0];
    return ndims == 1 ? PMPI_Type_create_darray(size, rank, 1, &first, distribs, dargs, psizes, order, oldtype, newtype)
                      : MPI_ERR_ARG;
}

BOTH(MPI_Send_c);
BOTH(MPI_Recv_c);
BOTH(MPI_Isend_c);
BOTH(MPI_Irecv_c);
BOTH(MPI_Allreduce_c);
BOTH(MPI_Alltoallv_c);
BOTH(MPI_Type_create_darray_c);

#endif

#if NEWER_LACKS_BUFFERS

/* A detached buffer is empty. */
static int flush(void)
{
    void *buffer;
    int size;
    int result = PMPI_Buffer_detach(&buffer, &size);
    return result == MPI_SUCCESS ? PMPI_Buffer_attach(buffer, size) : result;
}

int MPI_Buffer_flush(void)
{
    return flush();
}

static int flush_begin(MPI_Request *request)
{
    return PMPI_Ibarrier(MPI_COMM_SELF, request);
}

int MPI_Buffer_iflush(MPI_Request *request)
{
    return flush_begin(request);
}

int MPI_Comm_attach_buffer(MPI_Comm comm, void *buffer, int size)
{
    (void)comm;
    return PMPI_Buffer_attach(buffer, size);
}

int MPI_Comm_detach_buffer(MPI_Comm comm, void *buffer, int *size)
{
    (void)comm;
    return PMPI_Buffer_detach(buffer, size);
}

int MPI_Comm_flush_buffer(MPI_Comm comm)
{
    (void)comm;
    return flush();
}

int MPI_Comm_iflush_buffer(MPI_Comm comm, MPI_Request *request)
{
    (void)comm;
    return flush_begin(request);
}

int MPI_Request_get_status_some(int incount, const MPI_Request requests[], int *outcount, int indices[],
                                MPI_Status statuses[])
{
    *outcount = 0;
    for (int i = 0; i < incount; i++) {
        int ended = 0;
        int result = PMPI_Request_get_status(
            requests[i], &ended, statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[*outcount]);
        if (result != MPI_SUCCESS)
            return result;
        if (ended)
            indices[(*outcount)++] = i;
    }
    return MPI_SUCCESS;
}

int MPI_Request_get_status_all(int count, const MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    *flag = 1;
    for (int i = 0; i < count; i++) {
        int ended = 0;
        int result = PMPI_Request_get_status(requests[i], &ended,
                                             statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
        if (result != MPI_SUCCESS)
            return result;
        *flag = *flag && ended;
    }
    return MPI_SUCCESS;
}

int MPI_Request_get_status_any(int count, const MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    *flag = 0;
    *index = MPI_UNDEFINED;
    for (int i = 0; i < count && !*flag; i++) {
        int result = PMPI_Request_get_status(requests[i], flag, status);
        if (result != MPI_SUCCESS)
            return result;
        if (*flag)
            *index = i;
    }
    return MPI_SUCCESS;
}

int MPI_Status_get_tag(const MPI_Status *status, int *tag)
{
    *tag = status->MPI_TAG;
    return MPI_SUCCESS;
}

int MPI_Status_set_tag(MPI_Status *status, int tag)
{
    status->MPI_TAG = tag;
    return MPI_SUCCESS;
}

BOTH(MPI_Buffer_flush);
BOTH(MPI_Buffer_iflush);
BOTH(MPI_Comm_attach_buffer);
BOTH(MPI_Comm_detach_buffer);
BOTH(MPI_Comm_flush_buffer);
BOTH(MPI_Comm_iflush_buffer);
BOTH(MPI_Request_get_status_some);
BOTH(MPI_Request_get_status_all);
BOTH(MPI_Request_get_status_any);
BOTH(MPI_Status_get_tag);
BOTH(MPI_Status_set_tag);

#endif
