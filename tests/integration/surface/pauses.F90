! pauses: numbered phases of MPI_Pcontrol in Fortran, where it has only the level. A rank prints them as pauses.c does.
program pauses
#ifdef USE_F08
  use mpi_f08
#else
  implicit none
  include 'mpif.h'
#endif
  integer :: rank, size, error, turn, one, total
  double precision :: start, off, before, begun, least(2), most(2)

  one = 1
  least = 0
  most = 0
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  start = MPI_Wtime()
  call rest(0.03d0)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  off = MPI_Wtime() - start
  do turn = 1, 3
    before = MPI_Wtime()
    call MPI_Pcontrol(5)
    begun = MPI_Wtime()
    call rest(0.005d0)
    call MPI_Allreduce(one, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    least(1) = least(1) + MPI_Wtime() - begun
    call MPI_Pcontrol(-5)
    most(1) = most(1) + MPI_Wtime() - before
    before = MPI_Wtime()
    call MPI_Pcontrol(12)
    begun = MPI_Wtime()
    call rest(0.002d0)
    least(2) = least(2) + MPI_Wtime() - begun
    call MPI_Pcontrol(-12)
    most(2) = most(2) + MPI_Wtime() - before
    call MPI_Pcontrol(1)
    call MPI_Pcontrol(-1)
  end do
  print '(I0,A,F0.9)', rank, ' fact off ', off
  print '(I0,A,F0.9,A,F0.9,A)', rank, ' phase 3 3 ', least(1), ' ', most(1), ' 5'
  print '(I0,A,F0.9,A,F0.9,A)', rank, ' phase 3 0 ', least(2), ' ', most(2), ' 12'
  call MPI_Finalize(error)
contains
  subroutine rest(seconds)
    double precision, intent(in) :: seconds
    double precision :: begin
    begin = MPI_Wtime()
    do while (MPI_Wtime() - begin < seconds)
    end do
  end subroutine
end program
