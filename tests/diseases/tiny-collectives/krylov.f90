! A Krylov solver that orthogonalises by thousands of dot products, each with a reduction of its own. Fixed: they are reduced together.
program krylov
  use mpi_f08
  use bench
  implicit none
  integer, parameter :: iterations = 30, vectors = 4000
  integer :: rank, ranks, i
  real(8) :: partial(vectors), dots(vectors)
  call bench_arguments()
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call bench_begin(rank)
  partial = rank
  do i = 1, iterations
    call multiply()
    call orthogonalise()
  end do
  call bench_end()
  call MPI_Finalize()
contains
  subroutine multiply()
    call bench_work(0.004d0)
  end subroutine
  subroutine orthogonalise()
    integer :: k
    if (sick) then
      do k = 1, vectors
        call MPI_Allreduce(partial(k), dots(k), 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)     ! @cause @symptom
      end do
    else
      call MPI_Allreduce(partial, dots, vectors, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    end if
  end subroutine
end program
