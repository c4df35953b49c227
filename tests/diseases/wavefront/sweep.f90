! A wavefront over a line of ranks (as in transport sweeps, from left to right and back in turn). A rank sends its edge only after all its planes (36 ms):
! so ranks work one after the other. Fixed: planes in 9 blocks, each edge is sent as soon as its block is done, and ranks work at the same time.
program sweep
  use mpi_f08
  use bench
  implicit none
  integer, parameter :: sweeps = 8
  integer :: rank, ranks, i, blocks
  real(8) :: edge(500), flux
  call bench_arguments()
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  edge = 0
  flux = 0
  blocks = merge(1, 9, sick)
  call MPI_Barrier(MPI_COMM_WORLD)
  call bench_begin(rank)
  do i = 1, sweeps
    call octant(i)
    call converge(flux)
  end do
  call bench_end()
  call MPI_Finalize()
contains
  subroutine octant(i)
    integer, intent(in) :: i
    integer :: before, after, block
    before = rank - 1
    after = rank + 1
    if (mod(i, 2) == 0) then
      before = rank + 1
      after = rank - 1
    end if
    if (before < 0 .or. before >= ranks) before = MPI_PROC_NULL
    if (after < 0 .or. after >= ranks) after = MPI_PROC_NULL
    do block = 1, blocks
      call upstream(before, block)
      call planes()                                                                             ! @cause
      call downstream(after, block)
    end do
  end subroutine
  subroutine upstream(from, block)
    integer, intent(in) :: from, block
    call MPI_Recv(edge, size(edge), MPI_DOUBLE_PRECISION, from, block, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ! @symptom
  end subroutine
  subroutine planes()
    call bench_work(36d-3 / blocks)                                                             ! @cause
  end subroutine
  subroutine downstream(to, block)
    integer, intent(in) :: to, block
    call MPI_Send(edge, size(edge), MPI_DOUBLE_PRECISION, to, block, MPI_COMM_WORLD)            ! @cause
  end subroutine
  subroutine converge(flux)
    real(8), intent(inout) :: flux
    real(8) :: mine
    mine = flux + 1
    call MPI_Allreduce(mine, flux, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)            ! @symptom
  end subroutine
end program
