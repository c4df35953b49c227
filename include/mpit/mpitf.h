! Monitor windows for Fortran programs that include files; fixed and free form. share/doc/monitor.md says the rest.
!
!       include 'mpif.h'
!       include 'mpit/mpitf.h'
!       integer handle(MPIX_MONITOR_HANDLE), ierr
!       integer*8 request
!       external told
!       call MPIX_MONITOR_DEFAULT(handle)
!       call MPIX_START_MONITOR(request, handle, told, ierr)
!       ...
!       call MPIX_END_MONITOR(request, handle, ierr)
!
!       subroutine told(values)
!       include 'mpit/mpitf.h'
!       integer*8 values(MPIX_MONITOR_VALUES)
!       print *, values(MPIX_V_COMPLETED)
!       end
!
! MPIX_MONITOR_PRINT in the place of `told`: the report is printed. MPIX_START_MONITOR_FILE(request, handle, told, file,
! ierr) appends it to a file as a line of JSON. Link libmpit-monitor; it is the same for all MPIs.
!
! What is not known has the value -1. Times are nanoseconds.
!
! Options: 1 or 0, at these places of the handle; the communicator (-1: all), the period in microseconds (0: none)
      integer MPIX_MONITOR_HANDLE
      parameter (MPIX_MONITOR_HANDLE = 16)
      integer MPIX_MONITOR_VALUES
      parameter (MPIX_MONITOR_VALUES = 48)
      integer MPIX_H_PROFILE
      parameter (MPIX_H_PROFILE = 1)
      integer MPIX_H_OTHER
      parameter (MPIX_H_OTHER = 2)
      integer MPIX_H_PTTOPT
      parameter (MPIX_H_PTTOPT = 3)
      integer MPIX_H_COLL
      parameter (MPIX_H_COLL = 4)
      integer MPIX_H_COMM
      parameter (MPIX_H_COMM = 5)
      integer MPIX_H_MSGSIZE
      parameter (MPIX_H_MSGSIZE = 6)
      integer MPIX_H_TRAFFIC
      parameter (MPIX_H_TRAFFIC = 7)
      integer MPIX_H_COMMUNICATOR
      parameter (MPIX_H_COMMUNICATOR = 8)
      integer MPIX_H_PERIOD_US
      parameter (MPIX_H_PERIOD_US = 9)
! What the functions return
      integer MPIX_MONITOR_OK
      parameter (MPIX_MONITOR_OK = 0)
      integer MPIX_MONITOR_ABSENT
      parameter (MPIX_MONITOR_ABSENT = 1)
      integer MPIX_MONITOR_ERR_ARGUMENT
      parameter (MPIX_MONITOR_ERR_ARGUMENT = 2)
      integer MPIX_MONITOR_ERR_OPTION
      parameter (MPIX_MONITOR_ERR_OPTION = 3)
      integer MPIX_MONITOR_ERR_COMM
      parameter (MPIX_MONITOR_ERR_COMM = 4)
      integer MPIX_MONITOR_ERR_PERIOD
      parameter (MPIX_MONITOR_ERR_PERIOD = 5)
      integer MPIX_MONITOR_ERR_FILE
      parameter (MPIX_MONITOR_ERR_FILE = 6)
      integer MPIX_MONITOR_ERR_REQUEST
      parameter (MPIX_MONITOR_ERR_REQUEST = 7)
      integer MPIX_MONITOR_ERR_TIME
      parameter (MPIX_MONITOR_ERR_TIME = 8)
      integer MPIX_MONITOR_ERR_MEMORY
      parameter (MPIX_MONITOR_ERR_MEMORY = 9)
      integer MPIX_MONITOR_ERR_THREAD
      parameter (MPIX_MONITOR_ERR_THREAD = 10)
! Places in the values of a report: since the report before
      integer MPIX_V_SEQUENCE
      parameter (MPIX_V_SEQUENCE = 1) ! report of the window: 1, 2, ...
      integer MPIX_V_REASON
      parameter (MPIX_V_REASON = 2) ! 1 end, 2 period, 3 MPI_Finalize
      integer MPIX_V_LAST
      parameter (MPIX_V_LAST = 3) ! 1: the last report
      integer MPIX_V_NUMBER
      parameter (MPIX_V_NUMBER = 4) ! of the period
      integer MPIX_V_MISSED
      parameter (MPIX_V_MISSED = 5) ! periods without a report before it
      integer MPIX_V_LATE
      parameter (MPIX_V_LATE = 6) ! ns behind its time
      integer MPIX_V_BEGIN
      parameter (MPIX_V_BEGIN = 7) ! begin, ns since 1970
      integer MPIX_V_END
      parameter (MPIX_V_END = 8) ! end, likewise
      integer MPIX_V_DURATION
      parameter (MPIX_V_DURATION = 9) ! ns
      integer MPIX_V_MPI
      parameter (MPIX_V_MPI = 10) ! in calls that returned, ns
      integer MPIX_V_INSIDE
      parameter (MPIX_V_INSIDE = 11) ! inside of the interval, ns
      integer MPIX_V_STALL
      parameter (MPIX_V_STALL = 12) ! stalled in MPI, ns
      integer MPIX_V_P2P
      parameter (MPIX_V_P2P = 13) ! calls of point to point, ns
      integer MPIX_V_WAIT
      parameter (MPIX_V_WAIT = 14) ! calls that complete, ns
      integer MPIX_V_TRANSFER
      parameter (MPIX_V_TRANSFER = 15) ! transfer time of messages, ns
      integer MPIX_V_COLL
      parameter (MPIX_V_COLL = 16) ! collectives, ns
      integer MPIX_V_COLLTR
      parameter (MPIX_V_COLLTR = 17) ! from first to last transfer, ns
      integer MPIX_V_FABRIC
      parameter (MPIX_V_FABRIC = 18) ! below MPI, ns
      integer MPIX_V_COMPLETED
      parameter (MPIX_V_COMPLETED = 19) ! messages completed
      integer MPIX_V_SENT
      parameter (MPIX_V_SENT = 20) ! messages sent
      integer MPIX_V_RECEIVED
      parameter (MPIX_V_RECEIVED = 21) ! messages received
      integer MPIX_V_TIMEOUTS
      parameter (MPIX_V_TIMEOUTS = 22) ! messages that took too long
      integer MPIX_V_COLLECTIVES
      parameter (MPIX_V_COLLECTIVES = 23) ! collectives completed
      integer MPIX_V_CTRANSFERS
      parameter (MPIX_V_CTRANSFERS = 24) ! transfers inside of them
      integer MPIX_V_SENTBYTES
      parameter (MPIX_V_SENTBYTES = 25) ! bytes sent
      integer MPIX_V_RECVBYTES
      parameter (MPIX_V_RECVBYTES = 26) ! bytes received
      integer MPIX_V_COLLBYTES
      parameter (MPIX_V_COLLBYTES = 27) ! bytes of collectives
      integer MPIX_V_SMALL
      parameter (MPIX_V_SMALL = 28) ! small messages
      integer MPIX_V_LARGE
      parameter (MPIX_V_LARGE = 29) ! large messages
      integer MPIX_V_BSENDS
      parameter (MPIX_V_BSENDS = 30) ! at the begin: sends posted,
      integer MPIX_V_BRECVS
      parameter (MPIX_V_BRECVS = 31) ! receives posted,
      integer MPIX_V_BCALLS
      parameter (MPIX_V_BCALLS = 32) ! calls under way
      integer MPIX_V_ASENDS
      parameter (MPIX_V_ASENDS = 33) ! at the end: sends posted,
      integer MPIX_V_ARECVS
      parameter (MPIX_V_ARECVS = 34) ! receives posted,
      integer MPIX_V_ACALLS
      parameter (MPIX_V_ACALLS = 35) ! calls under way
      external MPIX_MONITOR_DEFAULT, MPIX_MONITOR_PRINT
      external MPIX_START_MONITOR, MPIX_START_MONITOR_FILE
      external MPIX_END_MONITOR
