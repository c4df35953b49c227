#!/bin/bash
# test_loops.sh BUILD_DIR
#
# The summary finds the loop of a program, counts its passes, and says which of them are slow, and where. It invents no
# loop. On both MPIs, 2 to 16 ranks, from the short trace and from a whole one.
. "$(dirname "$0")/../common/verdict.sh"
here=$(cd "$(dirname "$0")" && pwd)
export PATH=$build/bin:$PATH

# told MPI RANKS MODE PASSES [OPTION of mpit-run]
told() {
    local mpi=$1 ranks=$2 mode=$3 passes=$4 record
    fresh_run
    record="mpit-run --quiet ${5:-} --output $run"
    launch "$mpi" "$ranks" "$build/tests/loops-$mpi" "$mode" "$passes" >"$work/log" 2>&1 || { cat "$work/log"; return 1; }
    mpit-dump --json "$run" >"$work/json" || return 1
    python3 "$here/loops.py" "$work/json" "$mode" "$passes" "$ranks"
}

for mpi in openmpi mpich; do
    there_is loops || continue
    check "$mpi: passes" told $mpi 2 even 100
    check "$mpi: passes, a whole trace" told $mpi 2 even 100 --trace
    check "$mpi: 16 ranks" told $mpi 16 even 40
    check "$mpi: a check in every tenth pass" told $mpi 3 checked 100
    check "$mpi: more passes than windows" told $mpi 2 ring 450
    check "$mpi: slow passes" told $mpi 4 outliers 60
    check "$mpi: one slow pass" told $mpi 3 single 60
    check "$mpi: passes get longer" told $mpi 3 drift 60
    check "$mpi: a ring" told $mpi 5 ring 50
    check "$mpi: a chain" told $mpi 4 chain 50
    check "$mpi: communicators of halves" told $mpi 6 halves 50
    check "$mpi: two loops" told $mpi 2 two 80
    check "$mpi: no loop" told $mpi 2 none 50
    check "$mpi: no loop of all ranks" told $mpi 4 master 90
done
verdict
