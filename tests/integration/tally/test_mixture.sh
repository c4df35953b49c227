#!/bin/bash
# test_mixture.sh BUILD_DIR [SEED [ROUNDS]]
#
# Random mixtures of requests, completed by calls on many of them (mixture.c): what mpit shows is what the program counts
# itself, on both MPIs, with 1, 2 and 4 processes; and what is replayed from the trace equals the counters, cell for cell. The seed is
# drawn unless it is given; each line has it.
. "$(dirname "$0")/../common/verdict.sh"
seed=${2:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')} rounds=${3:-150}

for mpi in openmpi mpich; do
    there_is mixture || continue
    for ranks in 1 2 4; do
        for trace in "" --trace; do
            name="mixture-$mpi with $ranks processes, seed $seed, $rounds rounds${trace:+, traced}"
            fresh_run
            record="$build/bin/mpit-run --quiet $trace --output $run"
            if launch "$mpi" "$ranks" "$build/tests/mixture-$mpi" "$work/file" "$seed" "$rounds" >"$work/out" 2>&1 </dev/null; then
                ok "$name: $(sed -n 's/^seed.*: //p' "$work/out")"
            else
                not_ok "$name (status $?)" "$work/out"
            fi
            [ -z "$trace" ] || check "  replayed trace equals the counters, seed $seed" "$build/bin/mpit-dump" --verify "$run"
            rm -rf "$run"
        done
    done
done
verdict
