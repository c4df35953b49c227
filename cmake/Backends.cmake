# The table of backends: one entry for each MPI ABI. Four things follow from it:
#
#   FindMpis.cmake   looks for these compiler wrappers
#   targets          the recorder libmpit-NAME.so, the walker mpit-list-walk-NAME
#   backends.h       libmpit.so finds which MPI a process uses
#   --mpi NAME       of the tools
#
#   TITLE      its name in texts
#   MACRO      only its mpi.h defines this macro
#   PACKAGE    Debian's package to build with
#   HEADER     in src/native: facts of this ABI alone, in abi_NAME.h, and in abi_NAME.c if there is one
#   WRAPPERS   names of its C compiler. A plain mpicc is tried, too
#   LAUNCHERS  for the tests
#   MARKER     a symbol that every library of the family exports, whatever the library is called. Without one the
#              library's name decides
#   INCLUDES   where its mpi.h may be if no compiler wrapper was found. The build then makes a wrapper
#   RUNTIMES   the C library, as a program that is linked to it asks for it: loaded where a program takes MPI for loaded
#   LIBRARIES  what names of such libraries begin with
#   FORTRAN    likewise, of its libraries that bind MPI to Fortran
#   CPLUSPLUS  likewise, to C++
function(mpit_backend name)
  set(fields TITLE MACRO PACKAGE HEADER MARKER)
  set(lists WRAPPERS INCLUDES LAUNCHERS LIBRARIES FORTRAN CPLUSPLUS RUNTIMES)
  cmake_parse_arguments(entry "" "${fields}" "${lists}" ${ARGN})
  foreach(field ${fields} ${lists})
    set(MPIT_${name}_${field} "${entry_${field}}" PARENT_SCOPE)
  endforeach()
  set(MPIT_BACKENDS ${MPIT_BACKENDS} ${name} PARENT_SCOPE)
endfunction()

set(MPIT_BACKENDS)

mpit_backend(openmpi
  TITLE "Open MPI" MACRO OPEN_MPI PACKAGE libopenmpi-dev HEADER abi_openmpi.h
  WRAPPERS mpicc.openmpi LAUNCHERS mpirun.openmpi mpirun
  MARKER ompi_mpi_comm_world LIBRARIES libmpi.so.20 libmpi.so.40
  FORTRAN libmpi_mpifh libmpi_usempi CPLUSPLUS libmpi_cxx.so RUNTIMES libmpi.so.40)

# shared by Intel MPI, MVAPICH and Cray MPICH
mpit_backend(mpich
  TITLE "MPICH" MACRO MPICH_VERSION PACKAGE libmpich-dev HEADER abi_mpich.h
  WRAPPERS mpicc.mpich LAUNCHERS mpirun.mpich mpiexec.hydra mpirun
  MARKER MPIR_Dup_fn LIBRARIES libmpich libmpi_cray libmpi_gnu libmpi_intel libmpi.so.12
  FORTRAN libmpichf libmpifort libfmpich CPLUSPLUS libmpicxx.so RUNTIMES libmpich.so.12 libmpi.so.12)

# Open MPI 6, MPICH 5 and later ones have it beside their own. The last entry: their own mpi.h may name its version, too.
mpit_backend(abi
  TITLE "the standard MPI ABI" MACRO MPI_ABI_VERSION PACKAGE "an MPI of version 5" HEADER abi_standard.h
  WRAPPERS mpicc_abi INCLUDES openmpi/include/standard_abi mpi_abi_mpich/include mpich/include/standard_abi
  LAUNCHERS mpiexec mpirun LIBRARIES libmpi_abi RUNTIMES libmpi_abi.so.1)

# backends.h: X(ID, NAME, TITLE, MARKER, LIBRARIES, FORTRAN, CPLUSPLUS, RUNTIMES), lists as words with a space behind each
function(mpit_backends_header file)
  set(rows)
  foreach(name ${MPIT_BACKENDS})
    string(TOUPPER ${name} id)
    set(row "X(${id}, \"${name}\", \"${MPIT_${name}_TITLE}\", \"${MPIT_${name}_MARKER}\"")
    foreach(field LIBRARIES FORTRAN CPLUSPLUS RUNTIMES)
      string(REPLACE ";" " " words "${MPIT_${name}_${field}}")
      string(APPEND row ", \"${words} \"")
    endforeach()
    string(APPEND rows " \\\n    ${row})")
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT
    "/* Made from cmake/Backends.cmake, which says what the columns are. */\n#define BACKENDS(X)@rows@\n" @ONLY)
endfunction()
