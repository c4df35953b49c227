! Monitor windows through the module: what the program counts is what the report has.
module told_numbers
  use mpix_monitor
  implicit none
  integer(8) :: completed = -2, collectives = -2, bytes = -2, comms = -2, reports = 0, size_of_comm = -2, spans = 0
contains
  subroutine told(report, own) bind(c)
    type(MPIX_Monitor_report), intent(in) :: report
    type(c_ptr), value :: own
    type(MPIX_Monitor_interval), pointer :: period
    type(MPIX_Monitor_comm), pointer :: comm
    integer, pointer :: mark
    call c_f_pointer(report%period, period)
    call c_f_pointer(own, mark)
    completed = period%sum%completed
    collectives = period%sum%collectives
    bytes = period%sum%sent_bytes + period%sum%received_bytes
    comms = period%comm_count
    reports = reports + mark
    if (comms == 0) return
    call c_f_pointer(period%comms, comm)
    size_of_comm = comm%size
    spans = comm%span_ns
  end subroutine
end module

program monitor_module
  use mpi
  use mpix_monitor
  use told_numbers
  use, intrinsic :: iso_c_binding, only: c_loc
  implicit none
  type(MPIX_Monitorhandle) :: handle
  integer(MPIX_Monitor_request) :: request
  integer :: ierr, rank, i, started, refused
  integer, target :: mark = 7
  integer :: data(100)
  data = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  handle%own = c_loc(mark)
  handle%communicator = MPI_COMM_WORLD
  handle%name = 'module'
  handle%period_ns = -1
  call MPIX_Start_monitor(request, handle, told, refused)
  call MPIX_End_monitor(request, handle, ierr)
  handle%period_ns = 0
  handle%coll = 1
  handle%other = 0
  call MPIX_Start_monitor(request, handle, told, started)
  do i = 1, 5
    if (rank == 0) call MPI_Send(data, 100, MPI_INTEGER, 1, 0, MPI_COMM_WORLD, ierr)
    if (rank == 1) call MPI_Recv(data, 100, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  end do
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  handle%coll = 0
  call MPIX_End_monitor(request, handle, ierr)
  if (started == MPIX_MONITOR_ABSENT .and. ierr == MPIX_MONITOR_ABSENT .and. reports == 0) then
    print '(a)', 'absent'
  else if (started == MPIX_MONITOR_OK .and. refused == MPIX_MONITOR_ERR_PERIOD .and. ierr == MPIX_MONITOR_OK .and. &
           completed == 5 .and. collectives == 1 .and. &
           bytes == 2000 .and. comms == 1 .and. reports == 7 .and. size_of_comm == 2 .and. spans > 0 .and. &
           handle%coll == 1 .and. request == MPIX_MONITOR_REQUEST_NULL) then
    print '(a)', 'right'
  else
    print *, 'wrong', started, refused, ierr, completed, collectives, bytes, comms, reports, size_of_comm, spans, handle%coll
  end if
  call MPI_Finalize(ierr)
end program
