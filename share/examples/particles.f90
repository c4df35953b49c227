! Particles in boxes, one box a process, with two faults for mpit to find. It is in Fortran 2008.
!
!     mpif90 -g -O2 particles.f90 -o particles
!     mpirun -n 4 ./particles [steps]
!
!     Rank 2 computes sixteen times as long as the others, in push.
!     Rank 1 writes a log before it hands particles over, so its neighbor waits.
module boxes
    use mpi_f08
    implicit none
    integer, parameter :: particles = 20000, leaving = 12
    double precision :: place(particles), speed(particles), sent(4, leaving), received(4, leaving)
contains
    subroutine fill(rank)
        integer, intent(in) :: rank
        integer :: i
        do i = 1, particles
            place(i) = dble(i) / particles + rank
            speed(i) = sin(dble(i))
        end do
    end subroutine fill

    subroutine push(times)
        integer, intent(in) :: times
        integer :: time
        do time = 1, times
            speed = speed - 1d-3 * sin(place)
            place = place + 1d-3 * speed
        end do
    end subroutine push

    integer function write_log(step)
        integer, intent(in) :: step
        character(len=80) :: line
        integer :: i
        write_log = 0
        do i = 1, particles, 6
            write (line, '(i8,2es24.16)') step, place(i), speed(i)
            write_log = write_log + len_trim(line)
        end do
    end function write_log

    subroutine handover(left, right)
        integer, intent(in) :: left, right
        integer :: i
        do i = 1, leaving
            sent(:, i) = [place(i), speed(i), 0d0, 0d0]
        end do
        i = size(sent)
        call MPI_Sendrecv(sent, i, MPI_REAL8, right, 1, received, i, MPI_REAL8, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    end subroutine handover
end module boxes

program main
    use boxes
    implicit none
    character(len=16) :: text
    integer :: rank, size, step, steps = 100, logged = 0
    double precision :: energy, total
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    if (command_argument_count() > 0) then
        call get_command_argument(1, text)
        read (text, *) steps
    end if
    call fill(rank)
    do step = 1, steps
        if (rank == 1) logged = logged + write_log(step)
        call handover(modulo(rank - 1, size), modulo(rank + 1, size))
        call push(merge(160, 10, rank == 2))
        energy = sum(speed**2)
        call MPI_Allreduce(energy, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    end do
    if (rank == 1) print '(a,i0,a,es12.4,a,i0,a)', 'after ', steps, ' steps the energy is ', total, &
        '; the log has ', logged, ' bytes'
    call MPI_Finalize()
end program main
