! A particle-in-cell plasma on a 2 x 2 grid. The beam is in the part of rank 1, which has 2.8 times the particles. Ranks meet their neighbours only,
! so that rank 2, which is no neighbour of rank 1, waits for ranks 0 and 3, which wait for rank 1. Fixed: particles are spread evenly.
program plasma
  use mpi_f08
  use bench
  implicit none
  integer, parameter :: steps = 40, cells = 16
  integer :: rank, ranks, step
  type(MPI_Comm) :: grid
  real(8) :: out(cells, 4), in(cells, 4), charge, total
  call bench_arguments()
  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, [2, ranks / 2], [.false., .false.], .false., grid)
  call MPI_Comm_rank(grid, rank)
  call bench_begin(rank)
  out = rank; in = 0
  do step = 1, steps
    call deposit()
    call trade_fields()
  end do
  charge = sum(in)
  call MPI_Reduce(charge, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, grid)
  call bench_end()
  call MPI_Finalize()
contains
  subroutine deposit()
    real(8) :: ms
    ms = 10
    if (sick .and. rank == 1) ms = 28                                         ! @cause
    if (.not. sick) ms = (10d0 * (ranks - 1) + 28) / ranks
    call bench_work(ms * 1d-3)                                                ! @cause
  end subroutine
  subroutine trade_fields()
    call MPI_Neighbor_alltoall(out, cells, MPI_DOUBLE_PRECISION, in, cells, MPI_DOUBLE_PRECISION, grid)   ! @cause @symptom
  end subroutine
end program
