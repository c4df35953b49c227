# The traffic of languages.c from Python.
import sys
from array import array
import mpi4py
mpi4py.rc.threads = False  # MPI_Init, as the others
from mpi4py import MPI

K = 4
world = MPI.COMM_WORLD
rank, size = world.rank, world.size
right, left = (rank + 1) % size, (rank - 1) % size
total = 0


def ints(*values):
    return array("i", values)


def one(values, i):
    return [memoryview(values)[i:i + 1], MPI.INT]


def point_to_point(comm):
    global total
    out, into = ints(*(10 * rank + i for i in range(K))), ints(*[0] * K)
    comm.Sendrecv([out, MPI.INT], right, 1, [into, MPI.INT], left, 1)
    total += into[-1]
    status = MPI.Status()
    comm.Sendrecv([out, MPI.INT], right, 2, [into, MPI.INT], MPI.ANY_SOURCE, 2, status)
    assert status.source == left and status.tag == 2
    for way in range(2):
        requests = [comm.Irecv(one(into, i), left, 10 + i) for i in range(K)]
        requests += [comm.Isend(one(out, i), right, 10 + i) for i in range(K)]
        MPI.Request.Waitall(requests, [MPI.Status() for r in requests] if way else None)
        total += into[0] + into[-1]
    requests = [MPI.REQUEST_NULL, comm.Irecv([into, MPI.INT], left, 20)]
    comm.Send([out, MPI.INT], right, 20)
    assert MPI.Request.Waitany(requests) == 1
    requests = [MPI.REQUEST_NULL, comm.Irecv([into, MPI.INT], left, 21)]
    comm.Ssend([out, MPI.INT], right, 21)
    assert MPI.Request.Waitsome(requests) == [1]
    request = comm.Isend([out, MPI.INT], right, 22)
    comm.Probe(left, 22, status)
    assert status.Get_count(MPI.INT) == K
    comm.Recv([into, MPI.INT], left, 22)
    request.Wait()
    requests = [comm.Recv_init([into, MPI.INT], left, 23), comm.Send_init([out, MPI.INT], right, 23)]
    for _ in range(3):
        MPI.Prequest.Startall(requests)
        MPI.Request.Waitall(requests)
    for request in requests:
        request.Free()
    total += into[1]
    comm.Send([out, MPI.INT], MPI.PROC_NULL, 24)


def alone(comm):
    global total
    for _ in range(3):
        MPI.Request.Waitall([])
        assert MPI.Request.Testall([])
        MPI.Request.Waitany([])
        assert MPI.Request.Testany([])[1]
        MPI.Request.Waitsome([])
        MPI.Request.Testsome([])
        MPI.Prequest.Startall([])
    out, into, packed = ints(7 + rank), ints(0), bytearray(4)
    MPI.INT.Pack(out, packed, 0, comm)
    MPI.INT.Unpack(packed, 0, into, comm)
    MPI.SUM.Reduce_local([out, MPI.INT], [into, MPI.INT])
    assert into[0] == 2 * out[0]
    total += into[0]
    MPI.Attach_buffer(MPI.Alloc_mem(1 << 16))
    comm.Bsend([out, MPI.INT], right, 30)
    comm.Recv([into, MPI.INT], left, 30)
    MPI.Detach_buffer()
    total += into[0]


def bottom(comm):
    global total
    out, into = ints(100 + rank), ints(0)
    types = [MPI.INT.Create_hindexed([1], [MPI.Get_address(b)]).Commit() for b in (out, into)]
    comm.Sendrecv([MPI.BOTTOM, 1, types[0]], right, 3, [MPI.BOTTOM, 1, types[1]], left, 3)
    assert into[0] == 100 + left
    comm.Bcast([MPI.BOTTOM, 1, types[0]], 0)
    assert out[0] == 100
    for t in types:
        t.Free()
    total += into[0]


def collectives(comm):
    global total
    value, other, every = ints(rank + 1), ints(0), ints(*[rank] * size)
    counts, displs = [1] * size, list(range(size))
    comm.Barrier()
    comm.Allreduce(MPI.IN_PLACE, [value, MPI.INT], MPI.SUM)
    assert value[0] == size * (size + 1) // 2
    if rank == 0:
        comm.Reduce(MPI.IN_PLACE, [value, MPI.INT], MPI.MAX, 0)
        comm.Gather(MPI.IN_PLACE, [every, 1, MPI.INT], 0)
    else:
        comm.Reduce([value, MPI.INT], None, MPI.MAX, 0)
        comm.Gather([every, 1, MPI.INT], None, 0)
    comm.Allgather(MPI.IN_PLACE, [every, 1, MPI.INT])
    value[0] = rank
    comm.Allgatherv([value, MPI.INT], [every, counts, displs, MPI.INT])
    assert every[left] == left
    comm.Alltoallv(MPI.IN_PLACE, [every, counts, displs, MPI.INT])
    assert every[left] == rank
    comm.Scan([value, MPI.INT], [other, MPI.INT], MPI.SUM)
    total += other[0]
    comm.Ibcast([value, MPI.INT], size - 1).Wait()
    assert value[0] == size - 1


def communicators():
    copy = world.Dup()
    later, request = copy.Idup()
    request.Wait()
    half = later.Split(rank % 2, -rank)
    collectives(copy)
    later.Barrier()
    half.Barrier()
    later.Set_errhandler(MPI.ERRORS_RETURN)
    try:
        later.Send([ints(rank), MPI.INT], size, 5)
        raise SystemExit("a send to nobody succeeded")
    except MPI.Exception:
        pass
    ring = copy.Create_dist_graph_adjacent([left], [right], MPI.UNWEIGHTED, MPI.UNWEIGHTED)
    neighbours = ints(0, 0)
    ring.Neighbor_allgather([ints(rank), MPI.INT], [neighbours, 1, MPI.INT])
    assert neighbours[0] == left
    ring.Neighbor_alltoallv([ints(rank), [1], [0], MPI.INT], [neighbours, [1], [0], MPI.INT])
    ring.Ineighbor_alltoall([ints(rank), 1, MPI.INT], [neighbours, 1, MPI.INT]).Wait()
    assert neighbours[0] == left
    row = copy.Create_cart([size], [False])
    inner = ints(-1, -1)
    row.Neighbor_alltoall([ints(rank, rank), 1, MPI.INT], [inner, 1, MPI.INT])
    assert inner[0] == rank - 1
    for comm in (row, ring, half, later, copy):
        comm.Free()


point_to_point(world)
alone(world)
bottom(world)
collectives(world)
communicators()
MPI.Finalize()
# one write: print() makes two, and the launcher may put another rank's line between them
sys.stdout.write(f"rank {rank}: {total}\n")
sys.stdout.flush()
