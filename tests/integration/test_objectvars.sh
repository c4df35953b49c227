#!/bin/bash
# test_objectvars.sh BUILD_DIR
#
# Variables that are bound to windows and files hold what the program objectvars has counted, on both MPIs; also where no
# call is timed, or one of three. A trace of the same run replays to the tallies.
. "$(dirname "$0")/verdict.sh"
build=$(cd "${1:?usage: test_objectvars.sh BUILD_DIR}" && pwd) || exit 2
export OMPI_MCA_osc=sm # the one that takes threads

for mpi in openmpi mpich; do
    [ -x "$build/tests/objectvars-$mpi" ] || continue
    for ranks in 1 2; do counted_run objectvars $ranks "$work/file"; done
    for timing in 0 3; do
        record="env MPIT_TIMING=$timing LD_PRELOAD=$build/lib/libmpit.so" \
            check "$mpi: one of $timing calls is timed" launch $mpi 2 "$build/tests/objectvars-$mpi" "$work/file"
    done
done
verdict
