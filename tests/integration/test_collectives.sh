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
    for ranks in 1 2 3 4; do
        run=$work/run-$mpi-$ranks
        record="$build/bin/mpit-run --quiet --otf2 --output $run"
        if launch $mpi $ranks "$build/tests/collectives-$mpi" >"$work/out" 2>&1 </dev/null; then
            ok "collectives-$mpi: $(tail -n 1 "$work/out")"
        else
            not_ok "collectives-$mpi with $ranks processes (status $?)" "$work/out"
        fi
        if "$build/bin/mpit-dump" --verify "$run" >"$work/out" 2>&1; then
            ok "replayed trace equals the tallies: $mpi with $ranks processes"
        else
            not_ok "replayed trace equals the tallies: $mpi with $ranks processes" "$work/out"
        fi
        if "$build/tests/otf2_check" "$run/otf2" >"$work/out" 2>&1; then
            ok "the archive holds: $mpi with $ranks processes"
        else
            not_ok "the archive holds: $mpi with $ranks processes" "$work/out"
        fi
        rm -rf "$run"
    done
done
verdict
