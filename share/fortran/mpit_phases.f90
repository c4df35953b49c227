! Phases of a Fortran program in mpit (share/doc/phases.md). Without mpit they do nothing.
!
!     use mpit_phases
!     call mpit_phase_begin("solve")
!     call mpit_phase_end("solve")
module mpit_phases
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_char
  implicit none
  private
  public :: mpit_phase_begin, mpit_phase_end

  interface
    function pcontrol(level, name) bind(C, name="MPI_Pcontrol")
      import :: c_char, c_int
      integer(c_int), value :: level
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: pcontrol
    end function
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
end module
