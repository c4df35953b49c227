#!/bin/bash
# test_objectvars.sh BUILD_DIR
#
# Variables that are bound to windows and files hold what the program objectvars has counted, on both MPIs: with one thread,
# whose trace replays to the tallies; and with two, where calls are timed, or not.
. "$(dirname "$0")/../common/verdict.sh"
export OMPI_MCA_osc=sm                               # the one that takes threads
export OMPI_MCA_hwloc_base_binding_policy=none # two of them on two processors

for mpi in openmpi mpich; do
    there_is objectvars || continue
    for ranks in 1 2; do counted_run objectvars $ranks "$work/file"; done
    for timing in 1 0; do
        record="env MPIT_TIMING=$timing LD_PRELOAD=$build/lib/libmpit.so" check "$mpi, two threads, MPIT_TIMING=$timing" \
            launch $mpi 2 "$build/tests/objectvars-$mpi" "$work/file" threads
    done
done
verdict
