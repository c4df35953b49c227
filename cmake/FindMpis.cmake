# Finds every MPI on the machine, one for each ABI: MPIT_MPIS is a list of names from Backends.cmake; for each NAME
# MPIT_<NAME>_INCLUDES, MPIT_<NAME>_CC (its compiler wrapper) and MPIT_<NAME>_RUN (its launcher).
# Another wrapper can be given with -DMPIT_openmpi_CC=... (and so on), by its path or by its name on PATH. OFF leaves an MPI
# out.

include(${CMAKE_CURRENT_LIST_DIR}/Backends.cmake)

foreach(mpi ${MPIT_BACKENDS})
  if(MPIT_${mpi}_CC AND NOT MPIT_${mpi}_CC MATCHES "/")
    set(name ${MPIT_${mpi}_CC})
    unset(MPIT_${mpi}_CC CACHE)
    find_program(MPIT_${mpi}_CC NAMES ${name} REQUIRED)
  endif()
  find_program(MPIT_${mpi}_CC NAMES ${MPIT_${mpi}_WRAPPERS} DOC "C compiler wrapper of ${MPIT_${mpi}_TITLE}")
endforeach()
find_program(MPIT_any_CC NAMES mpicc)

# Which ABI does a wrapper compile for? Its mpi.h defines the backend's macro.
function(mpit_wrapper_abi wrapper result)
  execute_process(COMMAND ${wrapper} -E -dM -include mpi.h -x c /dev/null OUTPUT_VARIABLE macros ERROR_QUIET)
  set(${result} "" PARENT_SCOPE)
  foreach(mpi ${MPIT_BACKENDS})
    if(macros MATCHES "#define ${MPIT_${mpi}_MACRO}[ (\n]")
      set(${result} ${mpi} PARENT_SCOPE)
      break()
    endif()
  endforeach()
endfunction()

if(MPIT_any_CC)
  mpit_wrapper_abi(${MPIT_any_CC} any_abi)
  if(any_abi AND MPIT_${any_abi}_CC MATCHES "NOTFOUND$")
    set(MPIT_${any_abi}_CC ${MPIT_any_CC} CACHE FILEPATH "" FORCE)
  endif()
endif()

# Debian 14 brings the header and the library of the standard ABI, but no wrapper that works.
foreach(mpi ${MPIT_BACKENDS})
  if(MPIT_${mpi}_CC MATCHES "NOTFOUND$" AND MPIT_${mpi}_INCLUDES)
    list(TRANSFORM MPIT_${mpi}_INCLUDES PREPEND ${CMAKE_LIBRARY_ARCHITECTURE}/ OUTPUT_VARIABLE places)
    find_path(MPIT_${mpi}_HEADERS mpi.h PATHS /usr/lib /usr/local/lib PATH_SUFFIXES ${places} ${MPIT_${mpi}_INCLUDES}
              NO_DEFAULT_PATH)
    list(GET MPIT_${mpi}_RUNTIMES 0 runtime)
    if(MPIT_${mpi}_HEADERS)
      set(line "${CMAKE_C_COMPILER} -I${MPIT_${mpi}_HEADERS}")
      file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/wrapper/mpicc_${mpi} CONTENT
        "#!/bin/sh\n[ \"$1\" != -show ] || { echo '@line@ -l:@runtime@'; exit 0; }\nexec @line@ \"$@\" -l:@runtime@\n" @ONLY)
      file(COPY ${CMAKE_BINARY_DIR}/wrapper/mpicc_${mpi} DESTINATION ${CMAKE_BINARY_DIR}/bin
           FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
      set(MPIT_${mpi}_CC ${CMAKE_BINARY_DIR}/bin/mpicc_${mpi} CACHE FILEPATH "" FORCE)
    endif()
  endif()
endforeach()

foreach(mpi ${MPIT_BACKENDS})
  find_program(MPIT_${mpi}_RUN NAMES ${MPIT_${mpi}_LAUNCHERS} DOC "launcher of ${MPIT_${mpi}_TITLE}")
endforeach()

set(MPIT_MPIS)
foreach(mpi ${MPIT_BACKENDS})
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
