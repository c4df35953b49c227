! Matched messages by mpi_f08: found by the blocking and the nonblocking probe, received with and without a request.
! matched.py knows what it makes.
program matched
    use mpi_f08
    implicit none
    integer, parameter :: rounds = 10
    type(MPI_Comm) :: comm
    type(MPI_Message) :: message(3)
    type(MPI_Request) :: sends(3), request
    type(MPI_Status) :: status
    integer :: rank, size, left, right, i, k, count, out(100), in(100)
    logical :: flag

    call MPI_Init()
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, size)
    right = mod(rank + 1, size)
    left = mod(rank + size - 1, size)
    out = rank
    do i = 1, rounds
        do k = 1, 3
            call MPI_Isend(out, 10 * k, MPI_INTEGER, right, k, comm, sends(k))
        end do
        call MPI_Mprobe(left, 1, comm, message(1), status)
        call MPI_Mprobe(MPI_ANY_SOURCE, 2, comm, message(2), MPI_STATUS_IGNORE)
        flag = .false.
        do while (.not. flag)
            call MPI_Improbe(left, 3, comm, flag, message(3), status)
        end do
        call MPI_Imrecv(in, 100, MPI_INTEGER, message(3), request)
        call MPI_Wait(request, status)
        call MPI_Get_count(status, MPI_INTEGER, count)
        if (count /= 30 .or. in(1) /= left) error stop 2
        call MPI_Mrecv(in, 100, MPI_INTEGER, message(2), MPI_STATUS_IGNORE)
        call MPI_Mrecv(in, 100, MPI_INTEGER, message(1), status)
        if (status%MPI_TAG /= 1 .or. in(1) /= left) error stop 3
        call MPI_Waitall(3, sends, MPI_STATUSES_IGNORE)
    end do
    call MPI_Mprobe(MPI_PROC_NULL, 1, comm, message(1), status)
    call MPI_Mrecv(in, 100, MPI_INTEGER, message(1), status)
    call MPI_Comm_free(comm)
    call MPI_Finalize()
end program matched
