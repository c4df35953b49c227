#!/bin/bash
# test_restarted.sh BUILD_DIR
#
# Persistent requests that one thread starts while another one tests or waits for their array (restarted.c): each
# operation is counted once, and has one end in the trace and in the archive.
. "$(dirname "$0")/../common/verdict.sh"
build=$(cd "${1:?usage: test_restarted.sh BUILD_DIR}" && pwd) || exit 2

for mpi in openmpi mpich; do
    there_is restarted || continue
    modes="testsome testany test sends"
    # without mpit, too, MPICH 4.0.2 waits forever in the one, and fails in the other
    [ $mpi = openmpi ] && modes="$modes waitall collectives"
    if [ $mpi = mpich ] && [ "$mpich_version" -ge 5 ]; then
        modes=sends
        skip "mpich: testsome, testany, test" "MPICH $mpich_version completes receives before their messages, or crashes, without mpit, too"
    fi
    for mode in $modes; do
        run=$work/run-$mpi-$mode
        record="$build/bin/mpit-run --quiet --otf2 --output $run"
        launch $mpi 1 "$build/tests/restarted-$mpi" "$mode" >"$work/said" 2>"$work/out" </dev/null ||
            not_ok "$mpi: $mode runs" "$work/out"
        "$build/bin/mpit-dump" --json "$run" 2>>"$work/out" | python3 -c '
import json, sys
own = {line.split()[0]: int(line.split()[1]) for line in open(sys.argv[1]) if len(line.split()) == 2}
j, = json.load(sys.stdin)["jobs"]
c, = [c for c in j["communicators"] if c["name"] == "MPI_COMM_WORLD"]
print(own, c["send_count"], c["recv_count"], c["recv_bytes"], c["coll_count"], j["lost"])
m = own["messages"]
sys.exit([c["send_count"], c["recv_count"], c["recv_bytes"], c["coll_count"]] != [m, m, 8 * m, own["collectives"]]
         or bool(j["lost"]))' "$work/said" >>"$work/out" 2>&1 && ok "$mpi: counts of $mode" || not_ok "$mpi: counts of $mode" "$work/out"
        check "$mpi: the trace gives the tallies, $mode" "$build/bin/mpit-dump" --verify "$run"
        check "$mpi: the archive holds, $mode" sound "$run/otf2"
    done
done
verdict
