! Regions of a Fortran program in mpit (share/doc/phases.md). Without mpit they do nothing. With a C library before glibc 2.34 the
! program is linked with -ldl.
!
!     use mpit_regions
!     type(mpit_region), save :: solve
!     call mpit_region_enter(solve, "solve")     the first one: by one thread alone
!     call mpit_region_leave(solve)
module mpit_regions
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: mpit_region, mpit_region_enter, mpit_region_leave

  type, bind(C) :: mpit_region ! struct mpit_region of mpit/instrument_interface.h
    type(c_ptr) :: cell = c_null_ptr, entry = c_null_ptr, name = c_null_ptr, description = c_null_ptr, category = c_null_ptr
    integer(c_int32_t) :: bind = 0, verbosity = 0
  end type

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

  interface
    function symbol_find(library, name) bind(C, name="dlsym")
      import :: c_char, c_funptr, c_ptr
      type(c_ptr), value :: library
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: symbol_find
    end function
  end interface

  procedure(register_function), pointer, save :: register_region => null()
  procedure(cell_function), pointer, save :: enter => null(), leave => null()
  logical, save :: looked = .false.

contains

  ! Finds the functions of struct mpit_interface, once. Not associated: mpit is not loaded.
  subroutine functions_find()
    type(c_funptr) :: symbol
    procedure(find_function), pointer :: find
    type(c_funptr), pointer :: table(:)
    type(c_ptr) :: address
    looked = .true.
    symbol = symbol_find(c_null_ptr, "mpit_instrument_interface"//c_null_char)
    if (.not. c_associated(symbol)) return
    call c_f_procpointer(symbol, find)
    address = find(1_c_int32_t)
    if (.not. c_associated(address)) return
    call c_f_pointer(address, table, [22])
    call c_f_procpointer(table(11), register_region)
    call c_f_procpointer(table(21), enter)
    call c_f_procpointer(table(22), leave)
  end subroutine

  ! The name has up to 63 letters, digits and underscores.
  subroutine region_register(region, name)
    type(mpit_region), intent(inout) :: region
    character(*), intent(in) :: name
    character(kind=c_char), target :: texts(len(name) + 1), category(8)
    integer(c_int) :: ignored
    if (.not. looked) call functions_find()
    if (.not. associated(register_region)) return
    texts = transfer(trim(name)//repeat(c_null_char, len(name) + 1 - len_trim(name)), texts)
    category = transfer("fortran"//c_null_char, category)
    region%name = c_loc(texts)
    region%description = c_loc(category)
    region%category = c_loc(category)
    ignored = register_region(region)
    region%name = c_null_ptr
  end subroutine

  subroutine mpit_region_enter(region, name)
    type(mpit_region), intent(inout) :: region
    character(*), intent(in) :: name
    if (.not. c_associated(region%entry)) call region_register(region, name)
    if (c_associated(region%cell)) call enter(region%cell)
  end subroutine

  subroutine mpit_region_leave(region)
    type(mpit_region), intent(in) :: region
    if (c_associated(region%cell)) call leave(region%cell)
  end subroutine
end module
