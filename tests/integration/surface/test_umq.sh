#!/bin/bash
# test_umq.sh BUILD_DIR
#
# Unexpected messages on both MPIs: mpit_umq_length is what is under way, and the standard's example, compiled as it
# stands, sees it wherever it is: in the program, its functions shown to libraries or not, and preloaded before or
# behind mpit. What such a tool receives is counted once.
. "$(dirname "$0")/../common/verdict.sh"
PATH=$build/bin:$PATH
k=4

# counted NAME RUN RANKS: the run has each message once at its sender and once at its receiver
counted() {
    mpit-dump --json "$2" >"$work/json" 2>"$work/err" || not_ok "$1: mpit-dump" "$work/err"
    if python3 - "$work/json" $((k * $3)) <<'PYTHON' >"$work/out" 2>&1; then ok "$1: each message is counted once"; else
import json, sys
for job in json.load(open(sys.argv[1]))["jobs"]:
    calls = {name: call["count"] for name, call in job["calls"].items()}
    world = [c for c in job["communicators"] if c["name"] == "MPI_COMM_WORLD"][0]
    got = (world["send_count"], world["recv_count"], calls.get("MPI_Isend"), calls.get("MPI_Recv"))
    if got != (int(sys.argv[2]),) * 4:
        sys.exit(f"messages sent, received, MPI_Isend, MPI_Recv: {got}, all of them {sys.argv[2]} expected")
PYTHON
        not_ok "$1: each message is counted once" "$work/out"
    fi
}

# sees NAME RANKS: rank 0's tool has read k messages of each rank, then one less for each receive
sees() {
    seq $((k * $2)) -1 1 | sed 's/.*/spy: rank 0 reads &, result 0/' >"$work/expected"
    grep '^spy: rank 0' "$work/err" >"$work/spied"
    if diff "$work/expected" "$work/spied" >"$work/diff"; then ok "$1: sees $((k * $2)) messages and less from then on"; else
        not_ok "$1: sees $((k * $2)) messages and less from then on" "$work/diff"
    fi
}

for mpi in openmpi mpich; do
    mpit=$build/lib/libmpit.so example=$build/tests/umq_example-$mpi.so
    there_is umq || continue
    for ranks in 2 3; do
        if record="mpit-run --quiet --output $work/umq-$mpi-$ranks" launch $mpi $ranks "$build/tests/umq-$mpi" \
            >"$work/out" 2>"$work/err" </dev/null && [ "$(grep -c ' 0 failures' "$work/out")" = $ranks ]; then
            ok "$mpi, $ranks ranks: the length is what is under way"
        else
            cat "$work/err" >>"$work/out"
            not_ok "$mpi, $ranks ranks: the length is what is under way" "$work/out"
        fi
        # without a run directory the neighbours are found in /proc
        name="$mpi, $ranks ranks: nothing but the preload"
        launch $mpi $ranks env -u MPIT_OUTPUT LD_PRELOAD="$mpit" "$build/tests/unexpected-example-$mpi" $k \
            >"$work/out" 2>"$work/err" </dev/null || not_ok "$name: runs" "$work/err"
        sees "$name" $ranks
        for kind in example hidden; do
            name="$mpi, $ranks ranks: $kind" run=$work/$kind-$mpi-$ranks
            record="mpit-run --quiet --output $run" launch $mpi $ranks "$build/tests/unexpected-$kind-$mpi" $k \
                >"$work/out" 2>"$work/err" </dev/null || not_ok "$name: runs" "$work/err"
            sees "$name" $ranks
            counted "$name" "$run" $ranks
        done
        for order in "$example:$mpit" "$mpit:$example"; do
            name="$mpi, $ranks ranks: ${order##*/} behind" run=$work/$(basename "$order")-$mpi-$ranks
            MPIT_OUTPUT=$run launch $mpi $ranks env LD_PRELOAD="$order" "$build/tests/unexpected-$mpi" $k \
                >"$work/out" 2>"$work/err" </dev/null || not_ok "$name: runs" "$work/err"
            sees "$name" $ranks
            counted "$name" "$run" $ranks
        done
    done
done
verdict
