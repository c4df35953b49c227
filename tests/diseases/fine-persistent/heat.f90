! Heat on a 2 x 2 grid, as good as it gets: persistent requests in communicators of rows and columns, started before the inner work, which is long
! enough for them. Even work. The total is reduced by rows only now and then. No disease: sick and fixed are the same.
program heat
  use mpi_f08
  use bench
  implicit none
  integer, parameter :: steps = 56, cells = 128
  integer :: rank, ranks, step
  type(MPI_Comm) :: row, column
  type(MPI_Request) :: halo(4)
  real(8), asynchronous :: out_row(cells), in_row(cells), out_column(cells), in_column(cells)
  real(8) :: total
  call bench_arguments()
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, row)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, column)
  out_row = rank; out_column = rank; in_row = 0; in_column = 0
  call MPI_Recv_init(in_row, cells, MPI_DOUBLE_PRECISION, 1 - mod(rank, 2), 1, row, halo(1))
  call MPI_Recv_init(in_column, cells, MPI_DOUBLE_PRECISION, 1 - rank / 2, 2, column, halo(2))
  call MPI_Send_init(out_row, cells, MPI_DOUBLE_PRECISION, 1 - mod(rank, 2), 1, row, halo(3))
  call MPI_Send_init(out_column, cells, MPI_DOUBLE_PRECISION, 1 - rank / 2, 2, column, halo(4))
  call MPI_Barrier(MPI_COMM_WORLD)
  call bench_begin(rank)
  do step = 1, steps
    call MPI_Startall(4, halo)
    call conduct_inside()
    call MPI_Waitall(4, halo, MPI_STATUSES_IGNORE)
    call conduct_border()
    if (mod(step, 14) == 0) call energy()
  end do
  call bench_end()
  do step = 1, 4
    call MPI_Request_free(halo(step))
  end do
  call MPI_Comm_free(row)
  call MPI_Comm_free(column)
  call MPI_Finalize()
contains
  subroutine conduct_inside()
    call bench_work(0.017d0)
  end subroutine
  subroutine conduct_border()
    call bench_work(0.005d0)
  end subroutine
  subroutine energy()
    real(8) :: mine
    mine = sum(in_row) + sum(in_column)
    call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, row)
  end subroutine
end program
