#!/bin/bash
# test_interrupted.sh BUILD_DIR [SECONDS]
#
# MPI calls in signal handlers (interrupted.c): each is recorded, or counted as lost because the handler had interrupted
# the recorder. The messages of the program are counted exactly, the trace gives the tallies, and no run file is damaged.
. "$(dirname "$0")/../common/verdict.sh"
build=$(cd "${1:?usage: test_interrupted.sh BUILD_DIR [SECONDS]}" && pwd) || exit 2
seconds=${2:-1}

# judged CODE: the summary `j` and what the program called itself `own`
judged() {
    "$build/bin/mpit-dump" --json "$run" 2>>"$work/out" | python3 -c '
import json, sys
own = {line.split()[0]: int(line.split()[1]) for line in open(sys.argv[1]) if len(line.split()) == 2}
j, = json.load(sys.stdin)["jobs"]
calls, lost, comms = {n: c["count"] for n, c in j["calls"].items()}, j["lost"], {c["name"]: c for c in j["communicators"]}
print(own, calls, lost)
sys.exit(not eval(sys.argv[2]))' "$work/said" "$1" >>"$work/out" 2>&1
}

# interrupted NAME CODE ARGUMENT...
interrupted() {
    local name=$1 code=$2
    shift 2
    run=$work/run-$mpi-$1
    rm -rf "$run"
    if ! launch "$mpi" 1 env MPIT_RECORD_LOCAL_CALLS=1 MPIT_OUTPUT="$run" $more \
        LD_PRELOAD="$build/lib/libmpit.so" "$build/tests/interrupted-$mpi" "$@" >"$work/said" 2>"$work/out" </dev/null; then
        not_ok "$mpi: $name runs" "$work/out"
        return
    fi
    if judged "$code"; then ok "$mpi: $name"; else not_ok "$mpi: $name" "$work/out"; fi
}

exact='(calls["MPI_Isend"] == calls["MPI_Irecv"] == calls["MPI_Waitall"] == own["MPI_Isend"] and set(lost) == {"reentered"} and
    sum(calls[n] for n in own) + lost["reentered"] == sum(own.values()) and
    sum(c["send_count"] for c in comms.values()) == sum(c["recv_count"] for c in comms.values()) == own["MPI_Isend"] and
    comms["MPI_COMM_SELF/dup#1"]["send_count"] * 2 == own["MPI_Isend"])'
for mpi in openmpi mpich; do
    there_is interrupted || continue
    more=MPIT_TRACE=1
    for mode in storm stack; do
        interrupted "calls of handlers are recorded or lost, $mode" "$exact" $mode "$seconds"
        check "$mpi: the trace gives the tallies, $mode" "$build/bin/mpit-dump" --verify "$run"
    done
    if [ "$mpi" = openmpi ] && ! ompi_info 2>/dev/null | grep -q "pml: ucx"; then
        skip "$mpi: operations below MPI" "this Open MPI has no UCX"
    elif [ "$mpi" = openmpi ]; then
        more="MPIT_TRACE=1 MPIT_FABRIC=1 OMPI_MCA_pml=ucx OMPI_MCA_pml_ucx_tls=any OMPI_MCA_pml_ucx_devices=any"
        interrupted "calls of handlers are recorded or lost, with operations below MPI" "$exact" stack "$seconds"
        check "$mpi: the trace gives the tallies, with operations below MPI" "$build/bin/mpit-dump" --verify "$run"
    fi
    more=MPIT_TRACE=1
    interrupted "a call keeps its kind when a callback leaves a call of its own by a jump" \
        '(all(calls[n] == own[n] for n in own) and "MPI_Send" not in calls and
          comms["MPI_COMM_SELF"]["recv_count"] == own["MPI_Isend"])' callback
    check "$mpi: the trace gives the tallies, callbacks" "$build/bin/mpit-dump" --verify "$run"
    if [ "$(uname -m)" != x86_64 ]; then
        skip "$mpi: handlers that leave the recorder" "the program knows only on x86_64 where it was interrupted"
        continue
    fi
    more=MPIT_REDUCE=0 # the run file stays
    for mode in jump exit; do
        interrupted "the thread is recorded after a handler has left the recorder, $mode" \
            'calls["MPI_Iprobe"] == own["after"] and comms["MPI_COMM_SELF/dup#1"]["p2p_time_ns"] > 0' $mode
        count=$("$build/bin/mpit-dump" --csv "$run" 2>"$work/out" | grep -c 'MPI_Iprobe.*MPI_COMM_SELF/dup#1')
        if [ "$count" -gt 500 ]; then ok "$mpi: $count calls in the run file, $mode"; else not_ok "$mpi: calls in the run file, $mode" "$work/out"; fi
    done
done
verdict
