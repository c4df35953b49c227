# Finds every MPI on the machine, one for each ABI: MPIT_MPIS is a list of openmpi and mpich; for each NAME
# MPIT_<NAME>_INCLUDES, MPIT_<NAME>_CC (its compiler wrapper) and MPIT_<NAME>_RUN (its launcher).
# A wrapper that is not on PATH under these names can be given with -DMPIT_openmpi_CC=... or -DMPIT_mpich_CC=...

find_program(MPIT_openmpi_CC NAMES mpicc.openmpi DOC "Open MPI's C compiler wrapper")
find_program(MPIT_mpich_CC NAMES mpicc.mpich DOC "MPICH's C compiler wrapper")
find_program(MPIT_any_CC NAMES mpicc)

# Which ABI does a wrapper compile for? Open MPI's mpi.h defines OPEN_MPI, MPICH's MPICH_VERSION.
function(mpit_wrapper_abi wrapper result)
  execute_process(COMMAND ${wrapper} -E -dM -include mpi.h -x c /dev/null OUTPUT_VARIABLE macros ERROR_QUIET)
  if(macros MATCHES "#define OPEN_MPI ")
    set(${result} openmpi PARENT_SCOPE)
  elseif(macros MATCHES "#define MPICH_VERSION")
    set(${result} mpich PARENT_SCOPE)
  else()
    set(${result} "" PARENT_SCOPE)
  endif()
endfunction()

if(MPIT_any_CC)
  mpit_wrapper_abi(${MPIT_any_CC} any_abi)
  if(any_abi AND NOT MPIT_${any_abi}_CC)
    set(MPIT_${any_abi}_CC ${MPIT_any_CC} CACHE FILEPATH "" FORCE)
  endif()
endif()

find_program(MPIT_openmpi_RUN NAMES mpirun.openmpi mpirun DOC "Open MPI's launcher")
find_program(MPIT_mpich_RUN NAMES mpirun.mpich mpiexec.hydra mpirun DOC "MPICH's launcher")

set(MPIT_MPIS)
foreach(mpi openmpi mpich)
  if(MPIT_${mpi}_CC)
    mpit_wrapper_abi(${MPIT_${mpi}_CC} abi)
    if(abi STREQUAL mpi)
      list(APPEND MPIT_MPIS ${mpi})
      execute_process(COMMAND ${MPIT_${mpi}_CC} -show OUTPUT_VARIABLE line OUTPUT_STRIP_TRAILING_WHITESPACE)
      string(REGEX MATCHALL "-I[^ ]+" includes "${line}")
      string(REPLACE "-I" "" MPIT_${mpi}_INCLUDES "${includes}")
      message(STATUS "MPI for the ${mpi} ABI: ${MPIT_${mpi}_CC}")
    else()
      message(WARNING "${MPIT_${mpi}_CC} does not compile for the ${mpi} ABI; it is left out")
    endif()
  endif()
endforeach()
if(NOT MPIT_MPIS)
  message(FATAL_ERROR "No MPI found: neither mpicc.openmpi, mpicc.mpich nor mpicc is on PATH. Install one "
                      "(Debian: libopenmpi-dev or libmpich-dev), or name its wrapper with -DMPIT_openmpi_CC=... "
                      "or -DMPIT_mpich_CC=...")
endif()
