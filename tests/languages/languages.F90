! The traffic of languages.c from Fortran: with mpif.h, -DUSE_MPI with the module mpi, -DUSE_F08 with mpi_f08.
#if defined(USE_F08)
#define MODULE use mpi_f08
#define INCLUDED
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
#define STATUS type(MPI_Status)
#define SOURCE_OF(s) s%MPI_SOURCE
#define TAG_OF(s) s%MPI_TAG
#else
#if defined(USE_MPI)
#define MODULE use mpi
#define INCLUDED
#else
#define MODULE
#define INCLUDED include 'mpif.h'
#endif
#define COMM integer
#define REQUEST integer
#define DATATYPE integer
#define STATUS integer
#define SOURCE_OF(s) s(MPI_SOURCE)
#define TAG_OF(s) s(MPI_TAG)
#endif

module state
  implicit none
  integer :: rank, nranks, right, left
  integer :: total = 0
end module

subroutine expect(met, line)
  use state
  MODULE
  implicit none
  INCLUDED
  logical, intent(in) :: met
  integer, intent(in) :: line
  integer :: error
  if (met) return
  write (0, '(a,i0,a,i0,a)') 'rank ', rank, ': line ', line, ' is not as expected'
  call MPI_Abort(MPI_COMM_WORLD, 1, error)
end subroutine

subroutine point_to_point(world)
  use state
  MODULE
  implicit none
  INCLUDED
  integer, parameter :: k = 4
  COMM :: world
  integer, asynchronous :: outgoing(k), incoming(k)
  integer :: i, way, place, ready, error, indices(k)
  REQUEST :: requests(2*k)
#if defined(USE_F08)
  STATUS :: one, many(2*k)
#else
  STATUS :: one(MPI_STATUS_SIZE), many(MPI_STATUS_SIZE, 2*k)
#endif
  do i = 1, k
    outgoing(i) = 10*rank + i - 1
  end do
  call MPI_Sendrecv(outgoing, k, MPI_INTEGER, right, 1, incoming, k, MPI_INTEGER, left, 1, world, MPI_STATUS_IGNORE, error)
  total = total + incoming(k)
  call MPI_Sendrecv(outgoing, k, MPI_INTEGER, right, 2, incoming, k, MPI_INTEGER, MPI_ANY_SOURCE, 2, world, one, error)
  call expect(SOURCE_OF(one) == left .and. TAG_OF(one) == 2, __LINE__)
  do way = 0, 1
    do i = 1, k
      call MPI_Irecv(incoming(i:i), 1, MPI_INTEGER, left, 9 + i, world, requests(i), error)
    end do
    do i = 1, k
      call MPI_Isend(outgoing(i:i), 1, MPI_INTEGER, right, 9 + i, world, requests(k + i), error)
    end do
    if (way == 0) then
      call MPI_Waitall(2*k, requests, MPI_STATUSES_IGNORE, error)
    else
      call MPI_Waitall(2*k, requests, many, error)
#if defined(USE_F08)
      call expect(many(k)%MPI_SOURCE == left .and. many(k)%MPI_TAG == 9 + k, __LINE__)
#else
      call expect(many(MPI_SOURCE, k) == left .and. many(MPI_TAG, k) == 9 + k, __LINE__)
#endif
    end if
    total = total + incoming(1) + incoming(k)
  end do
  requests(1) = MPI_REQUEST_NULL
  requests(2) = MPI_REQUEST_NULL
  call MPI_Irecv(incoming, k, MPI_INTEGER, left, 20, world, requests(2), error)
  call MPI_Send(outgoing, k, MPI_INTEGER, right, 20, world, error)
  call MPI_Waitany(2, requests, place, MPI_STATUS_IGNORE, error)
  call expect(requests(2) == MPI_REQUEST_NULL, __LINE__)
  call MPI_Irecv(incoming, k, MPI_INTEGER, left, 21, world, requests(2), error)
  call MPI_Ssend(outgoing, k, MPI_INTEGER, right, 21, world, error)
  call MPI_Waitsome(2, requests, ready, indices, many, error)
  call expect(ready == 1, __LINE__)
  print '(a,i0,a,i0,1x,i0)', 'rank ', rank, ' completes ', place, indices(1) ! MPICH 4.0: from 0 in mpi_f08
  call MPI_Isend(outgoing, k, MPI_INTEGER, right, 22, world, requests(1), error)
  call MPI_Probe(left, 22, world, one, error)
  call MPI_Get_count(one, MPI_INTEGER, ready, error)
  call expect(ready == k, __LINE__)
  call MPI_Recv(incoming, k, MPI_INTEGER, left, 22, world, MPI_STATUS_IGNORE, error)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
  call MPI_Recv_init(incoming, k, MPI_INTEGER, left, 23, world, requests(1), error)
  call MPI_Send_init(outgoing, k, MPI_INTEGER, right, 23, world, requests(2), error)
  do i = 1, 3
    call MPI_Startall(2, requests, error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  end do
  call MPI_Request_free(requests(1), error)
  call MPI_Request_free(requests(2), error)
  total = total + incoming(2)
  call MPI_Send(outgoing, k, MPI_INTEGER, MPI_PROC_NULL, 24, world, error)
end subroutine

! Completion calls with no requests; data that is packed and reduced here; a buffer that is given back.
subroutine alone(world)
  use state
#if defined(USE_F08)
  use, intrinsic :: iso_c_binding, only: c_ptr
#endif
  MODULE
  implicit none
  INCLUDED
  integer, parameter :: bytes = 65536
  COMM :: world
  REQUEST :: nothing(1)
#if defined(USE_F08)
  STATUS :: one, many(1)
  type(c_ptr) :: back
#else
  STATUS :: one(MPI_STATUS_SIZE), many(MPI_STATUS_SIZE, 1), back(bytes/4)
#endif
  integer, asynchronous, save :: memory(bytes/4)
  integer :: outgoing(1), incoming(1), packed(1), i, at, place, ready, indices(1), given, error
  logical :: flag
  nothing(1) = MPI_REQUEST_NULL
  do i = 1, 3
    call MPI_Waitall(0, nothing, many, error)
    flag = .false.
    call MPI_Testall(0, nothing, flag, MPI_STATUSES_IGNORE, error)
    call expect(flag, __LINE__)
    call MPI_Waitany(0, nothing, place, one, error)
    flag = .false.
    call MPI_Testany(0, nothing, place, flag, MPI_STATUS_IGNORE, error)
    call expect(flag, __LINE__)
    call MPI_Waitsome(0, nothing, ready, indices, many, error)
    call MPI_Testsome(0, nothing, ready, indices, many, error)
    call MPI_Startall(0, nothing, error)
  end do
  outgoing = 7 + rank
  incoming = 0
  at = 0
  call MPI_Pack(outgoing, 1, MPI_INTEGER, packed, 4, at, world, error)
  at = 0
  call MPI_Unpack(packed, 4, at, incoming, 1, MPI_INTEGER, world, error)
  call MPI_Reduce_local(outgoing, incoming, 1, MPI_INTEGER, MPI_SUM, error)
  call expect(incoming(1) == 2*outgoing(1), __LINE__)
  total = total + incoming(1)
  call MPI_Buffer_attach(memory, bytes, error)
  call MPI_Bsend(outgoing, 1, MPI_INTEGER, right, 30, world, error)
  call MPI_Recv(incoming, 1, MPI_INTEGER, left, 30, world, MPI_STATUS_IGNORE, error)
  call MPI_Buffer_detach(back, given, error)
  total = total + incoming(1)
end subroutine

! A message from and into absolute addresses.
subroutine bottom(world)
  use state
  MODULE
  implicit none
  INCLUDED
  COMM :: world
  integer, volatile :: outgoing, incoming
  integer :: one(1), error
  integer(kind=MPI_ADDRESS_KIND) :: address(1)
  DATATYPE :: from, to
  one(1) = 1
  outgoing = 100 + rank
  incoming = 0
  call MPI_Get_address(outgoing, address(1), error)
  call MPI_Type_create_hindexed(1, one, address, MPI_INTEGER, from, error)
  call MPI_Get_address(incoming, address(1), error)
  call MPI_Type_create_hindexed(1, one, address, MPI_INTEGER, to, error)
  call MPI_Type_commit(from, error)
  call MPI_Type_commit(to, error)
  call MPI_Sendrecv(MPI_BOTTOM, 1, from, right, 3, MPI_BOTTOM, 1, to, left, 3, world, MPI_STATUS_IGNORE, error)
  call expect(incoming == 100 + left, __LINE__)
  call MPI_Bcast(MPI_BOTTOM, 1, from, 0, world, error)
  call expect(outgoing == 100, __LINE__)
  call MPI_Type_free(from, error)
  call MPI_Type_free(to, error)
  total = total + incoming
end subroutine

subroutine collectives(over)
  use state
  MODULE
  implicit none
  INCLUDED
  COMM :: over
  integer, asynchronous :: number(1)
  integer :: other(1), all(nranks), counts(nranks), displs(nranks), i, error
  REQUEST :: posted
  number = rank + 1
  counts = 1
  displs = [(i, i = 0, nranks - 1)]
  all = rank
  call MPI_Barrier(over, error)
  call MPI_Allreduce(MPI_IN_PLACE, number, 1, MPI_INTEGER, MPI_SUM, over, error)
  call expect(number(1) == nranks*(nranks + 1)/2, __LINE__)
  if (rank == 0) then
    call MPI_Reduce(MPI_IN_PLACE, number, 1, MPI_INTEGER, MPI_MAX, 0, over, error)
    call MPI_Gather(MPI_IN_PLACE, 1, MPI_INTEGER, all, 1, MPI_INTEGER, 0, over, error)
    call expect(all(nranks) == nranks - 1, __LINE__)
  else
    call MPI_Reduce(number, other, 1, MPI_INTEGER, MPI_MAX, 0, over, error)
    call MPI_Gather(all, 1, MPI_INTEGER, other, 1, MPI_INTEGER, 0, over, error)
  end if
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INTEGER, over, error)
  number = rank
  call MPI_Allgatherv(number, 1, MPI_INTEGER, all, counts, displs, MPI_INTEGER, over, error)
  call expect(all(left + 1) == left, __LINE__)
  call MPI_Alltoallv(MPI_IN_PLACE, counts, displs, MPI_INTEGER, all, counts, displs, MPI_INTEGER, over, error)
  call expect(all(left + 1) == rank, __LINE__)
  call MPI_Scan(number, other, 1, MPI_INTEGER, MPI_SUM, over, error)
  total = total + other(1)
  call MPI_Ibcast(number, 1, MPI_INTEGER, nranks - 1, over, posted, error)
  call MPI_Wait(posted, MPI_STATUS_IGNORE, error)
  call expect(number(1) == nranks - 1, __LINE__)
end subroutine

subroutine communicators(world)
  use state
  MODULE
  implicit none
  INCLUDED
  COMM :: world, copy, later, half, ring
  REQUEST :: posted
  integer :: neighbours(2), lefts(1), rights(1), own(1), error, one(1) = 1, none(1) = 0, dims(1), outer(2), inner(2)
  logical :: periods(1) = .false.
  COMM :: row
  lefts = left
  rights = right
  own = rank
  call MPI_Comm_dup(world, copy, error)
  call MPI_Comm_idup(copy, later, posted, error)
  call MPI_Wait(posted, MPI_STATUS_IGNORE, error)
  call MPI_Comm_split(later, mod(rank, 2), -rank, half, error)
  call collectives(copy)
  call MPI_Barrier(later, error)
  call MPI_Barrier(half, error)
  call MPI_Comm_set_errhandler(later, MPI_ERRORS_RETURN, error)
  call MPI_Send(own, 1, MPI_INTEGER, nranks, 5, later, error)
  call expect(error /= MPI_SUCCESS, __LINE__)
  call MPI_Dist_graph_create_adjacent(copy, 1, lefts, MPI_UNWEIGHTED, 1, rights, MPI_UNWEIGHTED, MPI_INFO_NULL, &
                                      .false., ring, error)
  call MPI_Neighbor_allgather(own, 1, MPI_INTEGER, neighbours, 1, MPI_INTEGER, ring, error)
  call expect(neighbours(1) == left, __LINE__)
  call MPI_Neighbor_alltoallv(own, one, none, MPI_INTEGER, neighbours, one, none, MPI_INTEGER, ring, error)
  call MPI_Ineighbor_alltoall(own, 1, MPI_INTEGER, neighbours, 1, MPI_INTEGER, ring, posted, error)
  call MPI_Wait(posted, MPI_STATUS_IGNORE, error)
  call expect(neighbours(1) == left, __LINE__)
  dims = nranks
  call MPI_Cart_create(copy, 1, dims, periods, .false., row, error)
  outer = rank
  inner = -1
  call MPI_Neighbor_alltoall(outer, 1, MPI_INTEGER, inner, 1, MPI_INTEGER, row, error)
  if (rank > 0) call expect(inner(1) == rank - 1, __LINE__)
  if (rank == 0) call expect(inner(1) == -1, __LINE__)
  call MPI_Comm_free(row, error)
  call MPI_Comm_free(ring, error)
  call MPI_Comm_free(half, error)
  call MPI_Comm_free(later, error)
  call MPI_Comm_free(copy, error)
end subroutine

program languages
  use state
  MODULE
  implicit none
  INCLUDED
  integer :: error
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, nranks, error)
  right = mod(rank + 1, nranks)
  left = mod(rank + nranks - 1, nranks)
  call point_to_point(MPI_COMM_WORLD)
  call alone(MPI_COMM_WORLD)
  call bottom(MPI_COMM_WORLD)
  call collectives(MPI_COMM_WORLD)
  call communicators(MPI_COMM_WORLD)
  call MPI_Finalize(error)
  print '(a,i0,a,i0)', 'rank ', rank, ': ', total
end program
