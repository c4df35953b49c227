/*
 * The bytes of data that a process puts into a collective and gets out of it.
 *
 * They are counted by the program's buffers: MPI_IN_PLACE counts as if the data had been in the other buffer. There is
 * one function for each operation, with the arguments of the C binding, or the bytes where they are the same on all
 * ranks. `large`: counts in arrays are MPI_Count.
 */
#ifndef MPIT_PROBES_COLLECTIVE_H
#define MPIT_PROBES_COLLECTIVE_H

#include "native.h"
#include "registry/book.h"
#include "thread/log.h"
#include "wrappers/topology.h"

struct coll_bytes {
    uint64_t in, out;
};

/* The place of this process in the communicator of a collective. */
struct coll_place {
    int32_t rank, size, peers; /* peers: size of the group that data comes from and goes to */
    bool inter;
};

static inline struct coll_place coll_place(const struct comm *comm)
{
    bool inter = comm->remote_size > 0;
    return (struct coll_place){comm->rank, comm->size, inter ? comm->remote_size : comm->size, inter};
}

/* True on the root: this rank in an intra-communicator, MPI_ROOT in an inter-communicator. */
static inline bool coll_is_root(struct coll_place place, int root)
{
    return place.inter ? root == MPI_ROOT : root == place.rank;
}

/* True on a process that exchanges data with the root. In the root's own group of an inter-communicator only the root
 * takes part. */
static inline bool coll_is_leaf(struct coll_place place, int root)
{
    return place.inter ? root >= 0 : true;
}

static inline int64_t count_at(const void *counts, int i, int large)
{
    return large ? (int64_t)((const MPI_Count *)counts)[i] : ((const int *)counts)[i];
}

/* Finds the predefined operations, once, when MPI is initialized. */
void operations_find(void);
/* Returns the bits of an operation that was not the last one. */
uint64_t operation_code(struct log *log, MPI_Op op);

HOT uint64_t operation_bits(struct log *log, MPI_Op op)
{
    return __builtin_expect(log->operation.handle == op, 1) ? log->operation.bits : operation_code(log, op);
}

/* Before the call: stores in the live state what all ranks have to give. Asks MPI nothing, which has not accepted the
 * arguments. Returns the bytes, or AGREED_BYTES for a type that is not predefined. */
HOT uint64_t coll_agree(const struct probe *probe, int64_t count, MPI_Datatype type, uint64_t operation)
{
    uint32_t size;
    uint64_t bytes = abi_type_size(type, &size) ? (uint64_t)(count > 0 ? count : 0) * size : AGREED_BYTES;
    RELAXED_STORE(&probe->log->state->agreed, bytes | operation);
    return bytes;
}

/* After the call: the bytes, of any type. */
static inline uint64_t coll_agreed(uint64_t bytes, int64_t count, MPI_Datatype type)
{
    return __builtin_expect(bytes != AGREED_BYTES, 1) ? bytes : native_bytes_slow(count, type);
}

uint64_t coll_sum(const void *counts, int n, MPI_Datatype type, int large);
uint64_t coll_sum_types(const void *counts, int n, const MPI_Datatype *types, int large);

/* The same over a process's neighbors. Places without a process move nothing. */
uint64_t neighbor_sum(const struct topology *topology, int n, const void *counts, MPI_Datatype type, int large);
uint64_t neighbor_sum_types(const struct topology *topology, int n, const void *counts, const MPI_Datatype *types,
                            int large);

#define COLL static inline struct coll_bytes
#define UNUSED __attribute__((unused))
#define BUFFERS UNUSED const void *sendbuf, UNUSED void *recvbuf

COLL coll_barrier(UNUSED struct coll_place place, UNUSED int large)
{
    return (struct coll_bytes){0, 0};
}

COLL coll_bcast(struct coll_place place, uint64_t bytes, int root)
{
    bool is_root = coll_is_root(place, root);
    return (struct coll_bytes){is_root ? bytes : 0, is_root ? 0 : bytes};
}

/* Each process's block goes to the root. */
COLL coll_to_root(struct coll_place place, int root, uint64_t block, uint64_t all)
{
    bool is_root = coll_is_root(place, root);
    bool sends = place.inter ? !is_root && coll_is_leaf(place, root) : true;
    return (struct coll_bytes){sends ? block : 0, is_root ? all : 0};
}

COLL coll_gather(struct coll_place place, UNUSED int large, const void *sendbuf, int64_t sendcount,
                 MPI_Datatype sendtype, UNUSED void *recvbuf, int64_t recvcount, MPI_Datatype recvtype, int root)
{
    bool is_root = coll_is_root(place, root);
    uint64_t theirs = is_root ? native_bytes(recvcount, recvtype) : 0;
    uint64_t mine = is_root && (place.inter || sendbuf == ABI_IN_PLACE) ? theirs
                    : coll_is_leaf(place, root)                         ? native_bytes(sendcount, sendtype)
                                                                        : 0;
    return coll_to_root(place, root, mine, theirs * (uint64_t)place.peers);
}

COLL coll_gatherv(struct coll_place place, int large, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype,
                  UNUSED void *recvbuf, const void *recvcounts, UNUSED const void *displs, MPI_Datatype recvtype,
                  int root)
{
    bool is_root = coll_is_root(place, root);
    uint64_t all = is_root ? coll_sum(recvcounts, place.peers, recvtype, large) : 0;
    uint64_t mine = 0;
    if (is_root && !place.inter && sendbuf == ABI_IN_PLACE)
        mine = native_bytes(count_at(recvcounts, place.rank, large), recvtype);
    else if (!(place.inter && is_root) && coll_is_leaf(place, root))
        mine = native_bytes(sendcount, sendtype);
    return coll_to_root(place, root, mine, all);
}

static inline struct coll_bytes coll_mirror(struct coll_bytes bytes)
{
    return (struct coll_bytes){bytes.out, bytes.in};
}

COLL coll_scatter(struct coll_place place, int large, UNUSED const void *sendbuf, int64_t sendcount,
                  MPI_Datatype sendtype, void *recvbuf, int64_t recvcount, MPI_Datatype recvtype, int root)
{
    return coll_mirror(coll_gather(place, large, recvbuf, recvcount, recvtype, NULL, sendcount, sendtype, root));
}

COLL coll_scatterv(struct coll_place place, int large, UNUSED const void *sendbuf, const void *sendcounts,
                   const void *displs, MPI_Datatype sendtype, void *recvbuf, int64_t recvcount, MPI_Datatype recvtype,
                   int root)
{
    return coll_mirror(
        coll_gatherv(place, large, recvbuf, recvcount, recvtype, NULL, sendcounts, displs, sendtype, root));
}

COLL coll_allgather(struct coll_place place, UNUSED int large, const void *sendbuf, int64_t sendcount,
                    MPI_Datatype sendtype, UNUSED void *recvbuf, int64_t recvcount, MPI_Datatype recvtype)
{
    uint64_t block = native_bytes(recvcount, recvtype);
    return (struct coll_bytes){sendbuf == ABI_IN_PLACE ? block : native_bytes(sendcount, sendtype),
                               block * (uint64_t)place.peers};
}

COLL coll_allgatherv(struct coll_place place, int large, const void *sendbuf, int64_t sendcount, MPI_Datatype sendtype,
                     UNUSED void *recvbuf, const void *recvcounts, UNUSED const void *displs, MPI_Datatype recvtype)
{
    uint64_t in = sendbuf == ABI_IN_PLACE ? native_bytes(count_at(recvcounts, place.rank, large), recvtype)
                                          : native_bytes(sendcount, sendtype);
    return (struct coll_bytes){in, coll_sum(recvcounts, place.peers, recvtype, large)};
}

COLL coll_alltoall(struct coll_place place, UNUSED int large, const void *sendbuf, int64_t sendcount,
                   MPI_Datatype sendtype, UNUSED void *recvbuf, int64_t recvcount, MPI_Datatype recvtype)
{
    uint64_t out = native_bytes(recvcount, recvtype);
    uint64_t in = sendbuf == ABI_IN_PLACE ? out : native_bytes(sendcount, sendtype);
    return (struct coll_bytes){in * (uint64_t)place.peers, out * (uint64_t)place.peers};
}

COLL coll_alltoallv(struct coll_place place, int large, const void *sendbuf, const void *sendcounts,
                    UNUSED const void *sdispls, MPI_Datatype sendtype, UNUSED void *recvbuf, const void *recvcounts,
                    UNUSED const void *rdispls, MPI_Datatype recvtype)
{
    uint64_t out = coll_sum(recvcounts, place.peers, recvtype, large);
    return (struct coll_bytes){sendbuf == ABI_IN_PLACE ? out : coll_sum(sendcounts, place.peers, sendtype, large), out};
}

COLL coll_alltoallw(struct coll_place place, int large, const void *sendbuf, const void *sendcounts,
                    UNUSED const void *sdispls, const MPI_Datatype *sendtypes, UNUSED void *recvbuf,
                    const void *recvcounts, UNUSED const void *rdispls, const MPI_Datatype *recvtypes)
{
    uint64_t out = coll_sum_types(recvcounts, place.peers, recvtypes, large);
    return (struct coll_bytes){
        sendbuf == ABI_IN_PLACE ? out : coll_sum_types(sendcounts, place.peers, sendtypes, large), out};
}

COLL coll_reduce(struct coll_place place, uint64_t bytes, int root)
{
    return coll_to_root(place, root, bytes, bytes);
}

COLL coll_allreduce(UNUSED struct coll_place place, uint64_t bytes)
{
    return (struct coll_bytes){bytes, bytes};
}

COLL coll_reduce_scatter(struct coll_place place, int large, BUFFERS, const void *recvcounts, MPI_Datatype type,
                         UNUSED MPI_Op op)
{
    return (struct coll_bytes){coll_sum(recvcounts, place.size, type, large),
                               native_bytes(count_at(recvcounts, place.rank, large), type)};
}

COLL coll_reduce_scatter_block(struct coll_place place, uint64_t block)
{
    return (struct coll_bytes){block * (uint64_t)place.size, block};
}

COLL coll_scan(UNUSED struct coll_place place, uint64_t bytes)
{
    return (struct coll_bytes){bytes, bytes};
}

COLL coll_exscan(struct coll_place place, uint64_t bytes)
{
    return (struct coll_bytes){bytes, place.rank > 0 ? bytes : 0}; /* the first rank gets nothing */
}

/*
 * Neighborhood collectives: blocks from each process that is a source of the topology, and to each that is a
 * destination. As in other collectives, data that go to all alike (allgather) count once.
 */
COLL coll_neighbor_allgather(const struct topology *topology, UNUSED int large, UNUSED const void *sendbuf,
                             int64_t sendcount, MPI_Datatype sendtype, UNUSED void *recvbuf, int64_t recvcount,
                             MPI_Datatype recvtype)
{
    return (struct coll_bytes){topology->receivers ? native_bytes(sendcount, sendtype) : 0,
                               topology->senders ? native_bytes(recvcount, recvtype) * (uint64_t)topology->senders : 0};
}

COLL coll_neighbor_allgatherv(const struct topology *topology, int large, UNUSED const void *sendbuf, int64_t sendcount,
                              MPI_Datatype sendtype, UNUSED void *recvbuf, const void *recvcounts,
                              UNUSED const void *displs, MPI_Datatype recvtype)
{
    return (struct coll_bytes){topology->receivers ? native_bytes(sendcount, sendtype) : 0,
                               neighbor_sum(topology, topology->sources, recvcounts, recvtype, large)};
}

COLL coll_neighbor_alltoall(const struct topology *topology, UNUSED int large, UNUSED const void *sendbuf,
                            int64_t sendcount, MPI_Datatype sendtype, UNUSED void *recvbuf, int64_t recvcount,
                            MPI_Datatype recvtype)
{
    /* both types and counts are nearly always equal: then one lookup is enough */
    bool alike = topology->receivers && recvtype == sendtype && recvcount == sendcount;
    uint64_t out = topology->receivers ? native_bytes(sendcount, sendtype) : 0;
    uint64_t in = alike ? out : topology->senders ? native_bytes(recvcount, recvtype) : 0;
    return (struct coll_bytes){out * (uint64_t)topology->receivers, in * (uint64_t)topology->senders};
}

COLL coll_neighbor_alltoallv(const struct topology *topology, int large, UNUSED const void *sendbuf,
                             const void *sendcounts, UNUSED const void *sdispls, MPI_Datatype sendtype,
                             UNUSED void *recvbuf, const void *recvcounts, UNUSED const void *rdispls,
                             MPI_Datatype recvtype)
{
    return (struct coll_bytes){neighbor_sum(topology, topology->destinations, sendcounts, sendtype, large),
                               neighbor_sum(topology, topology->sources, recvcounts, recvtype, large)};
}

COLL coll_neighbor_alltoallw(const struct topology *topology, int large, UNUSED const void *sendbuf,
                             const void *sendcounts, UNUSED const void *sdispls, const MPI_Datatype *sendtypes,
                             UNUSED void *recvbuf, const void *recvcounts, UNUSED const void *rdispls,
                             const MPI_Datatype *recvtypes)
{
    return (struct coll_bytes){neighbor_sum_types(topology, topology->destinations, sendcounts, sendtypes, large),
                               neighbor_sum_types(topology, topology->sources, recvcounts, recvtypes, large)};
}

#endif
