! Local functions, switched recording and collectives, of which Open MPI's Fortran layer makes calls of its own.
program filters
#ifdef USE_F08
  use mpi_f08
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
  integer :: rank, size, error, i, mine, all(64), counts(64), places(64), key
  integer(kind=MPI_ADDRESS_KIND) :: attribute
  logical :: there
#ifdef USE_F08
  type(MPI_Datatype) :: kind_of_four
#else
  integer :: kind_of_four
#endif
  call MPI_Init(error)
  do i = 1, 3
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  end do
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  mine = rank
  counts = 1
  do i = 1, 64
    places(i) = i - 1
  end do
  do i = 1, 4
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, attribute, there, error)
    if (.not. there) stop 2
  end do
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, key, attribute, error)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, key, attribute, error)
  call MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 4, kind_of_four, error)
  do i = 1, 5
    call MPI_Gather(mine, 1, MPI_INTEGER, all, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call MPI_Gatherv(mine, 1, MPI_INTEGER, all, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call MPI_Scatter(all, 1, MPI_INTEGER, mine, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
  end do
  call MPI_Pcontrol(0)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, attribute, there, error)
  call MPI_Pcontrol(1)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  if (mine /= rank) stop 1
  call MPI_Finalize(error)
end program
