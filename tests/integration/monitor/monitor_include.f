!     Monitor windows by include files and external subroutines.
      program monitor_include
      implicit none
      include 'mpif.h'
      include 'mpit/mpitf.inc'
      integer handle(MPIX_MONITOR_HANDLE)
      integer ierr, rank, i, started, refused, values(100)
      integer*8 request
      integer*8 seen(MPIX_MONITOR_VALUES)
      integer reports
      common /told_values/ seen, reports
      external told
      reports = 0
      do i = 1, 100
        values(i) = i
      end do
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPIX_MONITOR_DEFAULT(handle)
      handle(MPIX_H_COMMUNICATOR) = MPI_COMM_WORLD
      handle(MPIX_H_PERIOD_US) = -1
      call MPIX_START_MONITOR(request, handle, told, refused)
      call MPIX_END_MONITOR(request, handle, ierr)
      handle(MPIX_H_PERIOD_US) = 0
      call MPIX_START_MONITOR(request, handle, told, started)
      do i = 1, 6
        if (rank .eq. 0) then
          call MPI_SEND(values, 10, MPI_INTEGER, 1, 0, MPI_COMM_WORLD,
     &                  ierr)
        else
          call MPI_RECV(values, 10, MPI_INTEGER, 0, 0, MPI_COMM_WORLD,
     &                  MPI_STATUS_IGNORE, ierr)
        end if
      end do
      call MPI_BARRIER(MPI_COMM_WORLD, ierr)
      call MPI_BARRIER(MPI_COMM_WORLD, ierr)
      handle(MPIX_H_TRAFFIC) = 0
      call MPIX_END_MONITOR(request, handle, ierr)
      if (started .eq. MPIX_MONITOR_ABSENT .and.
     &    reports .eq. 0) then
        print '(a)', 'absent'
      else if (started .eq. MPIX_MONITOR_OK .and.
     &         refused .eq. MPIX_MONITOR_ERR_PERIOD .and.
     &         ierr .eq. MPIX_MONITOR_OK .and.
     &         reports .eq. 1 .and.
     &         seen(MPIX_V_LAST) .eq. 1 .and.
     &         seen(MPIX_V_COMPLETED) .eq. 6 .and.
     &         seen(MPIX_V_COLLECTIVES) .eq. 2 .and.
     &         seen(MPIX_V_SENTBYTES) + seen(MPIX_V_RECVBYTES)
     &         .eq. 240 .and. seen(MPIX_V_SMALL) .eq. 6 .and.
     &         seen(MPIX_V_CTRANSFERS) .eq. -1 .and.
     &         handle(MPIX_H_TRAFFIC) .eq. 1) then
        print '(a)', 'right'
      else
        print *, 'wrong', started, refused, ierr, reports, seen
      end if
      call MPI_FINALIZE(ierr)
      end

      subroutine told(values)
      implicit none
      include 'mpit/mpitf.inc'
      integer*8 values(MPIX_MONITOR_VALUES)
      integer*8 seen(MPIX_MONITOR_VALUES)
      integer reports, i
      common /told_values/ seen, reports
      do i = 1, MPIX_MONITOR_VALUES
        seen(i) = values(i)
      end do
      reports = reports + 1
      end
