! Monitor windows for Fortran 2003 and later: the module mpix_monitor. share/doc/monitor.md says the rest.
!
!   use mpix_monitor
!   type(MPIX_Monitorhandle) :: handle
!   integer(MPIX_Monitor_request) :: request
!   call MPIX_Start_monitor(request, handle, told, ierr)
!   ...
!   call MPIX_End_monitor(request, handle, ierr)
!
!   subroutine told(report, own) bind(c)
!     use mpix_monitor
!     type(MPIX_Monitor_report), intent(in) :: report
!     type(c_ptr), value :: own
!     type(MPIX_Monitor_interval), pointer :: period
!     call c_f_pointer(report%period, period)
!     print *, period%sum%completed
!   end subroutine
!
! Compile this file with the program, and link libmpit-monitor, which is the same for all MPIs. The types are those of
! mpit/monitor_report.h, where each field is explained; what is not known is -1 (MPIX_MONITOR_UNKNOWN).
module mpix_monitor
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: c_ptr, c_f_pointer, c_null_ptr, c_associated
  public :: MPIX_Monitorhandle, MPIX_Monitor_figures, MPIX_Monitor_pending, MPIX_Monitor_comm, MPIX_Monitor_coll
  public :: MPIX_Monitor_call, MPIX_Monitor_other, MPIX_Monitor_interval, MPIX_Monitor_report, MPIX_Monitor_function
  public :: MPIX_Start_monitor, MPIX_End_monitor

  integer, parameter, public :: MPIX_Monitor_request = c_int64_t ! the kind of a request
  integer(c_int64_t), parameter, public :: MPIX_MONITOR_REQUEST_NULL = 0
  integer(c_int64_t), parameter, public :: MPIX_MONITOR_UNKNOWN = -1
  integer, parameter, public :: MPIX_MONITOR_BUCKETS = 40
  integer, parameter, public :: MPIX_MONITOR_ALL = -1 ! in the place of a communicator
  integer, parameter, public :: MPIX_MONITOR_OK = 0, MPIX_MONITOR_ABSENT = 1, MPIX_MONITOR_ERR_ARGUMENT = 2, &
      MPIX_MONITOR_ERR_OPTION = 3, MPIX_MONITOR_ERR_COMM = 4, MPIX_MONITOR_ERR_PERIOD = 5, MPIX_MONITOR_ERR_FILE = 6, &
      MPIX_MONITOR_ERR_REQUEST = 7, MPIX_MONITOR_ERR_TIME = 8, MPIX_MONITOR_ERR_MEMORY = 9, MPIX_MONITOR_ERR_THREAD = 10
  integer, parameter, public :: MPIX_MONITOR_AT_END = 1, MPIX_MONITOR_AT_PERIOD = 2, MPIX_MONITOR_AT_FINALIZE = 3

  type :: MPIX_Monitorhandle
    integer :: profile = 1, other = 0, pttopt = 1, coll = 1, comm = 1, msgsize = 1, traffic = 1
    integer :: communicator = MPIX_MONITOR_ALL ! INTEGER, or %MPI_VAL of one of mpi_f08
    integer(c_int64_t) :: period_ns = 0
    character(len=1024) :: file = ' '
    character(len=63) :: name = ' '
    type(c_ptr) :: own = c_null_ptr
  end type

  type, bind(c) :: MPIX_Monitor_figures
    integer(c_int64_t) :: p2p_time_ns, wait_time_ns, coll_time_ns, comm_time_ns, rma_time_ns, io_time_ns
    integer(c_int64_t) :: transfer_time_ns, coll_transfer_time_ns, stall_time_ns, fabric_time_ns
    integer(c_int64_t) :: completed, sent, received, timeouts, collectives, coll_transfers
    integer(c_int64_t) :: sent_bytes, received_bytes, coll_bytes, rma_bytes, io_bytes, small, large
    integer(c_int64_t), dimension(MPIX_MONITOR_BUCKETS) :: sent_size_count, sent_size_bytes, received_size_count, &
        received_size_bytes, coll_size_count
  end type

  type, bind(c) :: MPIX_Monitor_pending
    integer(c_int64_t) :: sends, recvs, send_bytes, calls, call_time_ns, p2p_time_ns, wait_time_ns, coll_time_ns
  end type

  type, bind(c) :: MPIX_Monitor_comm
    integer(c_int32_t) :: bytes, flags
    type(c_ptr) :: name, label
    integer(c_int32_t) :: size, rank, remote_size, reserved
    integer(c_int64_t) :: first_ns, last_ns, span_ns
    type(MPIX_Monitor_pending) :: before, after
    type(MPIX_Monitor_figures) :: figures
  end type

  type, bind(c) :: MPIX_Monitor_coll
    integer(c_int32_t) :: bytes, processes
    type(c_ptr) :: kind
    integer(c_int64_t) :: count, time_ns
  end type

  type, bind(c) :: MPIX_Monitor_call
    integer(c_int32_t) :: bytes, thread, tid, peer
    type(c_ptr) :: function, comm
    integer(c_int64_t) :: since_ns, inside_ns
  end type

  type, bind(c) :: MPIX_Monitor_site
    integer(c_int32_t) :: bytes, frame_count
    type(c_ptr) :: function, frames, module
    integer(c_int64_t) :: offset, count, time_ns, stall_time_ns, sent, sent_bytes, received, received_bytes
  end type

  type, bind(c) :: MPIX_Monitor_other
    integer(c_int64_t) :: fabric_time_ns, fabric_ops, fabric_bytes, fabric_polls, fabric_empty_polls, &
        fabric_poll_time_ns, os_time_ns, os_switches, os_faults
    type(c_ptr) :: counters
    integer(c_int32_t) :: counter_count, counter_bytes
  end type

  type, bind(c) :: MPIX_Monitor_interval
    integer(c_int32_t) :: bytes, threads
    integer(c_int64_t) :: begin_ns, end_ns, duration_ns, mpi_time_ns, inside_ns, begun_before_ns, unfinished_ns, &
        stall_time_ns, events
    type(MPIX_Monitor_pending) :: before, after
    type(MPIX_Monitor_figures) :: sum
    type(c_ptr) :: comms, colls, calls_before, calls_after
    integer(c_int32_t) :: comm_count, comm_bytes, coll_count, coll_bytes, call_before_count, call_after_count, &
        call_bytes, reserved
    type(MPIX_Monitor_other) :: other
    integer(c_int64_t) :: useful_time_ns
    type(c_ptr) :: sites
    integer(c_int32_t) :: site_count, site_bytes
  end type

  type, bind(c) :: MPIX_Monitor_report
    integer(c_int32_t) :: bytes, reason, options, rank, size, last
    integer(c_int64_t) :: request
    type(c_ptr) :: name
    integer(c_int64_t) :: sequence, period_ns, number, missed, due_ns, late_ns, large_bytes, timeout_ns
    type(c_ptr) :: period, whole, warnings
    integer(c_int32_t) :: warning_count, reserved
  end type

  type, bind(c) :: c_monitorhandle
    integer(c_int32_t) :: bytes, profile, other, pttopt, coll, comm, msgsize, traffic
    integer(c_int64_t) :: communicator, period_ns
    type(c_ptr) :: file, name, own
    integer(c_int32_t) :: descriptor, reserved
  end type

  abstract interface
    subroutine MPIX_Monitor_function(report, own) bind(c)
      import :: MPIX_Monitor_report, c_ptr
      type(MPIX_Monitor_report), intent(in) :: report
      type(c_ptr), value :: own
    end subroutine
  end interface

  interface
    integer(c_int) function mpit_monitor_start(request, handle, f, communicator) bind(c)
      import :: c_int, c_int32_t, c_int64_t, c_monitorhandle, c_funptr
      integer(c_int64_t), intent(out) :: request
      type(c_monitorhandle), intent(in) :: handle
      type(c_funptr), value :: f
      integer(c_int32_t), value :: communicator
    end function
    integer(c_int) function mpit_monitor_end(request) bind(c)
      import :: c_int, c_int64_t
      integer(c_int64_t), intent(inout) :: request
    end function
  end interface

contains

  ! Without f and without handle%file the report is printed.
  subroutine MPIX_Start_monitor(request, handle, f, ierr)
    integer(MPIX_Monitor_request), intent(out) :: request
    type(MPIX_Monitorhandle), intent(in) :: handle
    procedure(MPIX_Monitor_function), optional :: f
    integer, intent(out), optional :: ierr
    character(len=1025, kind=c_char), target :: file
    character(len=64, kind=c_char), target :: name
    type(c_monitorhandle) :: c
    type(c_funptr) :: told
    integer :: result
    file = trim(handle%file) // c_null_char
    name = trim(handle%name) // c_null_char
    c = c_monitorhandle(int(c_sizeof(c), c_int32_t), handle%profile, handle%other, handle%pttopt, handle%coll, &
                        handle%comm, handle%msgsize, handle%traffic, 0, handle%period_ns, c_loc(file), c_loc(name), &
                        handle%own, 2, 0)
    told = c_null_funptr
    if (present(f)) told = c_funloc(f)
    result = mpit_monitor_start(request, c, told, int(handle%communicator, c_int32_t))
    if (present(ierr)) ierr = result
  end subroutine

  ! The seven options of the handle are back at their defaults afterwards.
  subroutine MPIX_End_monitor(request, handle, ierr)
    integer(MPIX_Monitor_request), intent(inout) :: request
    type(MPIX_Monitorhandle), intent(inout) :: handle
    integer, intent(out), optional :: ierr
    type(MPIX_Monitorhandle) :: default
    integer :: result
    handle%profile = default%profile
    handle%other = default%other
    handle%pttopt = default%pttopt
    handle%coll = default%coll
    handle%comm = default%comm
    handle%msgsize = default%msgsize
    handle%traffic = default%traffic
    result = mpit_monitor_end(request)
    if (present(ierr)) ierr = result
  end subroutine

end module
