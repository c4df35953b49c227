/* What of MPI 4 an mpi.h has. Open MPI 5 says that it is MPI 3.1, and has all of MPI 4 but the large counts. */
#ifndef MPIT_TESTS_MPI4_H
#define MPIT_TESTS_MPI4_H

#include <mpi.h>

#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#define HAS_MPI4 1
#else
#define HAS_MPI4 (MPI_VERSION >= 4)
#endif
#define HAS_LARGE_COUNTS (MPI_VERSION >= 4)

#endif
