#!/bin/bash
# test_collectives.sh BUILD_DIR
#
# The program collectives counts its neighbourhood and persistent collectives itself, with their bytes, and mpit agrees;
# on both MPIs, with 1 to 4 processes. Nothing is lost, what is replayed from the trace equals the tallies, cell for
# cell, and the archive holds.
. "$(dirname "$0")/verdict.sh"
build=$(cd "${1:?usage: test_collectives.sh BUILD_DIR}" && pwd) || exit 2

for mpi in openmpi mpich; do
    [ -x "$build/tests/collectives-$mpi" ] || continue
    for ranks in 1 2 3 4; do counted_run collectives $ranks; done
done
verdict
