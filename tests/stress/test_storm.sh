#!/bin/bash
# test_storm.sh BUILD_DIR [SECONDS]
#
# storm.c on both MPIs, with 1 and 2 processes: signals read and reset handles while threads send, and the sums are exact.
# A few seconds each as a test; by hand for a minute: bash tests/stress/test_storm.sh build 60
. "$(dirname "$0")/../integration/common/verdict.sh"
seconds=${2:-3}
limit=$((seconds * 4 + 120))

for mpi in openmpi mpich; do
    there_is storm || continue
    for ranks in 1 2; do
        name="storm-$mpi with $ranks processes, $seconds s each"
        record="$build/bin/mpit-run --quiet --output $work/run"
        if launch $mpi $ranks "$build/tests/storm-$mpi" "$seconds" >"$work/out" 2>&1 </dev/null; then
            ok "$name: $(sed -n 's/^rank 0: //p' "$work/out")"
        else
            status=$?
            if [ $status -eq 77 ]; then
                skip "$name" "the MPI has no MPI_THREAD_MULTIPLE"
            else
                not_ok "$name (status $status)" "$work/out"
            fi
        fi
        rm -rf "$work/run"
    done
done
verdict
