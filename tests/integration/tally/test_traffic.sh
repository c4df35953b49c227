#!/bin/bash
# test_traffic.sh BUILD_DIR [SEED...]
#
# The program traffic counts for itself, and every variable that mpit shows agrees; on both MPIs, with 2, 3 and 4
# processes. With a trace, what is replayed from it equals the counters, cell for cell.
. "$(dirname "$0")/../common/verdict.sh"
shift
[ $# -gt 0 ] || set -- 1 2 3
rounds=${TRAFFIC_ROUNDS:-60}

# one MPI RANKS SEED [OPTION...]: options of mpit-run
one() {
    local mpi=$1 ranks=$2 seed=$3 name
    shift 3
    name="traffic-$mpi with $ranks processes, seed $seed${*:+, $*}"
    run=$work/run-$mpi-$ranks-$seed$*
    record="$build/bin/mpit-run --quiet $* --output $run"
    if launch "$mpi" "$ranks" "$build/tests/traffic-$mpi" "$seed" "$rounds" >"$work/out" 2>&1 </dev/null; then
        ok "$name: $(sed -n 's/^seed.*; //p' "$work/out")"
    else
        not_ok "$name (status $?)" "$work/out"
    fi
}

verified() {
    if "$build/bin/mpit-dump" --verify "$run" >"$work/out" 2>&1; then
        ok "replayed trace equals the counters: $(basename "$run")"
    else
        not_ok "replayed trace equals the counters: $(basename "$run")" "$work/out"
    fi
    if sound "$run/otf2" >"$work/out" 2>&1; then
        ok "the archive holds: $(basename "$run"): $(tail -n 1 "$work/out")"
    else
        not_ok "the archive holds: $(basename "$run")" "$work/out"
    fi
}

for mpi in openmpi mpich; do
    there_is traffic || continue
    for ranks in 2 3 4; do
        for seed in "$@"; do
            one $mpi $ranks "$seed"
            rm -rf "$run"
        done
        one $mpi $ranks $((100 + ranks)) --otf2
        verified
        rm -rf "$run"
    done
done
verdict
