! Phases and regions of a Fortran program in mpit (share/doc/phases.md). Without mpit they do nothing.
!
!     use mpit_phases
!     call mpit_phase_begin("solve")             type(mpit_region), save, target :: solve
!     call mpit_phase_end("solve")               call mpit_region_enter(solve, "solve")
!                                                call mpit_region_leave(solve)
module mpit_phases
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: mpit_phase_begin, mpit_phase_end, mpit_region, mpit_region_enter, mpit_region_leave

  type, bind(C) :: mpit_region ! struct mpit_region of mpit/instrument_interface.h
    type(c_ptr) :: cell = c_null_ptr, entry = c_null_ptr, name = c_null_ptr, description = c_null_ptr, category = c_null_ptr
    integer(c_int32_t) :: bind = 0, verbosity = 0
  end type

  interface
    function pcontrol(level, name) bind(C, name="MPI_Pcontrol")
      import :: c_char, c_int
      integer(c_int), value :: level
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: pcontrol
    end function
    function symbol_find(library, name) bind(C, name="dlsym")
      import :: c_char, c_funptr, c_ptr
      type(c_ptr), value :: library
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: symbol_find
    end function
  end interface

  abstract interface
    function find_function(version) bind(C)
      import :: c_int32_t, c_ptr
      integer(c_int32_t), value :: version
      type(c_ptr) :: find_function
    end function
    function register_function(region) bind(C)
      import :: c_int, mpit_region
      type(mpit_region), intent(inout) :: region
      integer(c_int) :: register_function
    end function
    subroutine cell_function(cell) bind(C)
      import :: c_ptr
      type(c_ptr), value :: cell
    end subroutine
  end interface

contains

  subroutine mpit_phase_begin(name)
    character(*), intent(in) :: name
    integer(c_int) :: ignored
    ignored = pcontrol(1_c_int, trim(name)//c_null_char)
  end subroutine

  subroutine mpit_phase_end(name)
    character(*), intent(in) :: name
    integer(c_int) :: ignored
    ignored = pcontrol(-1_c_int, trim(name)//c_null_char)
  end subroutine

  ! A function of struct mpit_interface, by its place there. Not associated: mpit is not loaded.
  function function_at(place) result(at)
    integer, intent(in) :: place
    type(c_funptr) :: at, symbol
    procedure(find_function), pointer :: find
    type(c_funptr), pointer :: table(:)
    type(c_ptr) :: address
    at = c_null_funptr
    symbol = symbol_find(c_null_ptr, "mpit_instrument_interface"//c_null_char)
    if (.not. c_associated(symbol)) return
    call c_f_procpointer(symbol, find)
    address = find(1_c_int32_t)
    if (.not. c_associated(address)) return
    call c_f_pointer(address, table, [place + 2])
    at = table(place + 2)
  end function

  ! The first call of a region registers it. Its name has up to 63 letters, digits and underscores.
  subroutine mpit_region_enter(region, name)
    type(mpit_region), intent(inout) :: region
    character(*), intent(in) :: name
    character(kind=c_char), target :: texts(len(name) + 1), category(8)
    procedure(register_function), pointer :: register
    integer(c_int) :: ignored
    if (.not. c_associated(region%entry) .and. c_associated(function_at(9))) then
      texts = transfer(trim(name)//repeat(c_null_char, len(name) + 1 - len_trim(name)), texts)
      category = transfer("fortran"//c_null_char, category)
      region%name = c_loc(texts)
      region%description = c_loc(category)
      region%category = c_loc(category)
      call c_f_procpointer(function_at(9), register)
      ignored = register(region)
    end if
    call cell_call(region, 19)
  end subroutine

  subroutine mpit_region_leave(region)
    type(mpit_region), intent(in) :: region
    call cell_call(region, 20)
  end subroutine

  subroutine cell_call(region, place)
    type(mpit_region), intent(in) :: region
    integer, intent(in) :: place
    procedure(cell_function), pointer :: called
    if (.not. c_associated(region%cell)) return
    call c_f_procpointer(function_at(place), called)
    call called(region%cell)
  end subroutine
end module
