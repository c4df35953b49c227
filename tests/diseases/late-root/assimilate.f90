! Data assimilation. Rank 2 gives the others their observations. These are at hand when a cycle begins, but it first computes the statistics of
! the last cycle and scatters then; its own domain is smaller, so that work is even. Fixed: it scatters first.
program assimilate
  use mpi_f08
  use bench
  implicit none
  integer, parameter :: cycles = 30, stations = 50, keeper = 2
  integer :: rank, ranks, cycle_
  real(8), allocatable :: all_stations(:), innovations(:)
  real(8) :: local(stations), innovation
  call bench_arguments()
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  allocate (all_stations(stations * ranks), innovations(ranks))
  all_stations = 1
  call bench_begin(rank)
  do cycle_ = 1, cycles
    if (rank == keeper .and. sick) call statistics()
    call observations()                                                       ! @cause @symptom
    if (rank == keeper .and. .not. sick) call statistics()
    call forecast()
    call innovate()                                                           ! @cause
  end do
  call bench_end()
  call MPI_Finalize()
contains
  subroutine statistics()
    call bench_work(0.018d0)                                                  ! @cause
  end subroutine
  subroutine observations()
    call MPI_Scatter(all_stations, stations, MPI_DOUBLE_PRECISION, &          ! @cause @symptom
                     local, stations, MPI_DOUBLE_PRECISION, keeper, MPI_COMM_WORLD) ! @cause @symptom
  end subroutine
  subroutine forecast()
    if (rank == keeper) then
      call bench_work(0.006d0)
    else
      call bench_work(0.024d0)
    end if
  end subroutine
  subroutine innovate()
    innovation = sum(local)
    call MPI_Gather(innovation, 1, MPI_DOUBLE_PRECISION, innovations, 1, MPI_DOUBLE_PRECISION, keeper, MPI_COMM_WORLD) ! @cause
  end subroutine
end program
