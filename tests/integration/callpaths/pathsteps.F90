! Steps in Fortran: procedures of a module, and procedures that they contain. MODULE_NAME and PROCEDURE_NAME come from
! the compiler's command, since there are several of this file in one program.
module MODULE_NAME
   use iso_c_binding
   implicit none
   include 'mpif.h'
   integer(c_int), parameter :: note_fortran = 4

   interface
      function backtrace(frames, most) bind(c) result(count)
         import :: c_ptr, c_int
         type(c_ptr), value :: frames
         integer(c_int), value :: most
         integer(c_int) :: count
      end function
      function walk_frames(walk) bind(c) result(frames)
         import :: c_ptr
         type(c_ptr), value :: walk
         type(c_ptr) :: frames
      end function
      subroutine walk_busy(walk, busy) bind(c)
         import :: c_ptr, c_int
         type(c_ptr), value :: walk
         integer(c_int), value :: busy
      end subroutine
      function walk_note(walk, count, flags) bind(c) result(tag)
         import :: c_ptr, c_int
         type(c_ptr), value :: walk
         integer(c_int), value :: count, flags
         integer(c_int) :: tag
      end function
      function walk_choose(walk) bind(c) result(step)
         import :: c_ptr, c_funptr
         type(c_ptr), value :: walk
         type(c_funptr) :: step
      end function
      function walk_left(walk) bind(c) result(left)
         import :: c_ptr, c_int
         type(c_ptr), value :: walk
         integer(c_int) :: left
      end function
   end interface

   abstract interface
      function step_type(walk, level) bind(c) result(total)
         import :: c_ptr, c_int, c_long
         type(c_ptr), value :: walk
         integer(c_int), value :: level
         integer(c_long) :: total
      end function
   end interface

contains

   recursive function module_step(walk, level) bind(c, name=PROCEDURE_NAME) result(total)
      type(c_ptr), value :: walk
      integer(c_int), value :: level
      integer(c_long) :: total
      integer :: values(12)

      values = level
      call inner(level)
      total = sum(values)
      if (walk_left(walk) > 0) call call_mpi(walk)
      if (level > 0 .and. walk_left(walk) > 0) total = total + next_step(walk, level)

   contains

      recursive subroutine inner(times)
         integer(c_int), intent(in) :: times
         logical :: flag
         integer :: status(MPI_STATUS_SIZE), error, tag
         real :: automatic(mod(times, 3) * 7 + 1)

         automatic = real(times)
         call walk_busy(walk, 1)
         tag = walk_note(walk, backtrace(walk_frames(walk), 80), note_fortran)
         call MPI_Iprobe(0, tag, MPI_COMM_SELF, flag, status, error)
         call walk_busy(walk, 0)
         values(1) = values(1) + int(automatic(1))
         if (times > 2) call inner(times - 2)
         values(2) = values(2) + int(sum(automatic))
      end subroutine

   end function

   subroutine call_mpi(walk)
      type(c_ptr), value :: walk
      logical :: flag
      integer :: status(MPI_STATUS_SIZE), error, tag

      call walk_busy(walk, 1)
      tag = walk_note(walk, backtrace(walk_frames(walk), 80), note_fortran)
      call MPI_Iprobe(0, tag, MPI_COMM_SELF, flag, status, error)
      call walk_busy(walk, 0)
   end subroutine

   function next_step(walk, level) result(total)
      type(c_ptr), value :: walk
      integer(c_int), value :: level
      integer(c_long) :: total
      procedure(step_type), pointer :: step

      call c_f_procpointer(walk_choose(walk), step)
      total = step(walk, level - 1) + 1
   end function

end module
