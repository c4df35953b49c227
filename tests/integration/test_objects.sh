#!/bin/bash
# test_objects.sh BUILD_DIR
#
# The program objects counts what it does with windows and files, and mpit agrees; on both MPIs, with 1 to 4 processes.
# Nothing is lost, and what is replayed from the trace equals the tallies, cell for cell.
. "$(dirname "$0")/verdict.sh"
build=$(cd "${1:?usage: test_objects.sh BUILD_DIR}" && pwd) || exit 2

# Open MPI 4.1.4's own choice on one node (osc rdma) crashes in MPI_Compare_and_swap, with one process in
# MPI_Win_create, natively just as with mpit.
export OMPI_MCA_osc=pt2pt,sm

for mpi in openmpi mpich; do
    [ -x "$build/tests/objects-$mpi" ] || continue
    for ranks in 1 2 4; do counted_run objects $ranks "$work/file"; done
done
verdict
