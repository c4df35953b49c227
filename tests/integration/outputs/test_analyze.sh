#!/bin/bash
# test_analyze.sh BUILD_DIR
#
# mpit-dump --analyze on both MPIs: each pattern with a program that waits for a time that it measures itself; the matrix
# against the program's own count and against the tallies; serialization and transfer; a crash; a trace with a gap; without a trace; filters.
. "$(dirname "$0")/../common/verdict.sh"
here=$(cd "$(dirname "$0")" && pwd)
dump=$build/bin/mpit-dump

# judged NAME COMMAND...: ok if it returns 0
judged() {
    local name=$1
    shift
    if "$@" >"$work/out" 2>&1; then ok "$name: $(tail -n 1 "$work/out")"; else not_ok "$name" "$work/out"; fi
}

# recorded NAME MPI RANKS PROGRAM...: into $work/NAME; its status is not looked at
recorded() {
    local name=$1 mpi=$2 ranks=$3 record
    shift 3
    rm -rf "${work:?}/$name"
    record="$build/bin/mpit-run --quiet --trace --output $work/$name"
    launch "$mpi" "$ranks" "$@" >"$work/log" 2>&1 </dev/null
}

# A process that loses the processor at the wrong moment is no fault of the analysis, and does not do so every time.
waits() {
    local mpi=$1 ranks=$2 try
    for try in 1 2 3; do
        rm -rf "$work/notes"
        mkdir "$work/notes"
        recorded waits "$mpi" "$ranks" "$build/tests/waits-$mpi" "$work/notes" || { cat "$work/log"; return 1; }
        "$dump" --analyze --json "$work/waits" >"$work/analysis.json" || return 1
        python3 "$here/analyze.py" waits "$work/analysis.json" "$work/notes" && return 0
        echo "try $try"
    done
    return 1
}

# split CASE: serialization and transfer, against a program that counts for itself
split() {
    local mpi=$1 case=$2 try
    for try in 1 2 3; do
        rm -rf "$work/notes"
        mkdir "$work/notes"
        recorded split "$mpi" 2 "$build/tests/splits-$mpi" "$case" "$work/notes" || { cat "$work/log"; return 1; }
        "$dump" --analyze --json "$work/split" >"$work/analysis.json" && "$dump" --json "$work/split" >"$work/summary.json" || return 1
        python3 "$here/splits.py" "$case" "$work/analysis.json" "$work/summary.json" "$work/notes" && return 0
        echo "try $try"
    done
    return 1
}

tallies() {
    "$dump" --analyze --json "$1" >"$work/analysis.json" && "$dump" --json "$1" >"$work/summary.json" &&
        python3 "$here/analyze.py" tallies "$work/analysis.json" "$work/summary.json"
}

crash() {
    "$dump" --analyze --json "$work/crash" >"$work/analysis.json" &&
        python3 "$here/analyze.py" crash "$work/analysis.json" "$1"
}

# only RANK NAME: every line but the head is of this rank, and of MPI_Recv on the communicator NAME
only() {
    "$dump" --events --ranks "$1" --comm "$2" --functions MPI_Recv --window 0: "$work/waits" >"$work/events" || return 1
    awk -v rank="$1" 'NR > 1 && NF && $1 != "+" && ($1 != rank || !/MPI_Recv/) { bad = 1 } $1 == "+" { parts++ } END { exit bad || NR - parts != 2 }' \
        "$work/events" && grep -q "\"$2\"" "$work/events"
}

# selected: the wait of one case alone; nothing of it in a window before the job, on another rank, of another function
selected() {
    local sum='import json, sys; print(sum(w["time_ns"] for w in json.load(sys.stdin)["jobs"][0]["waits"]) > 0)'
    set -- --analyze --json --comm sender_recv "$work/waits"
    "$dump" "$@" | python3 -c "$sum" | grep -qx True &&
        "$dump" --ranks 1- "$@" | python3 -c "$sum" | grep -qx False &&
        "$dump" --functions coll "$@" | python3 -c "$sum" | grep -qx False &&
        "$dump" --window :1ns "$@" | python3 -c "$sum" | grep -qx False &&
        ! "$dump" --verify --ranks 1 "$work/waits" 2>"$work/err" && grep -q 'and --functions need' "$work/err" &&
        ! "$dump" --analyze --window 3:2 "$work/waits" 2>"$work/err" && grep -q 'not a time window' "$work/err"
}

# refused RUN TEXT: nothing is analysed, with this reason
refused() {
    ! "$dump" --analyze "$1" >"$work/text" 2>"$work/err" && grep -q "$2" "$work/err" || { cat "$work/text" "$work/err"; return 1; }
}

# says WHAT RUN: the analysis as text has such a line
says() { "$dump" --analyze "$2" 2>&1 | tee "$work/text" | grep -qE "$1" || { cat "$work/text"; return 1; }; }

for mpi in openmpi mpich; do
    there_is waits || continue
    mkdir -p "$work/notes"
    if record='' limit=60 launch $mpi 3 "$build/tests/waits-$mpi" "$work/notes" >"$work/log" 2>&1 </dev/null; then
        judged "$mpi: each wait is as long as it was" waits $mpi 3
        judged "$mpi: --events of one rank, communicator and function" only 0 sender_recv
        judged "$mpi: --analyze of a part" selected
        judged "$mpi: text names the patterns" says 'Late Broadcast +[0-9.]+ ms' "$work/waits"
    else
        skip "$mpi: waits of known lengths" "the program hangs without mpit, too" # Open MPI 6.0.0rc2
    fi
    recorded traffic $mpi 3 "$build/tests/traffic-$mpi" 11 20
    judged "$mpi: traffic's matrix is that of the tallies" tallies "$work/traffic"
    for case in imbalance chain delay both requests synchronous; do
        judged "$mpi: serialization and transfer, $case" split $mpi $case
    done
    judged "$mpi: the first screen splits communication" grep -q 'communication = serialization .* x transfer' <("$dump" "$work/split")
    record="$build/bin/mpit-run --quiet --no-trace --output $work/untraced" launch $mpi 2 "$build/tests/splits-$mpi" chain "$work/notes" >"$work/log" 2>&1
    judged "$mpi: without a trace both are null" grep -q '"serialization": null' <("$dump" --json "$work/untraced")
    recorded crash $mpi 2 "$build/tests/waits-$mpi" --crash 200
    judged "$mpi: a process that killed itself" crash 200
    MPIT_TRACE_LIMIT_BYTES=150000 recorded cut $mpi 2 "$build/tests/heat-$mpi" --rows 64 --columns 64 --steps 2000
    judged "$mpi: a gap is told" says 'records of its trace are missing' "$work/cut"
    judged "$mpi: no path through a gap" says 'unknown: the trace of a rank has a gap' "$work/cut"
    MPIT_FILTER=-MPI_Isend recorded part $mpi 2 "$build/tests/heat-$mpi" --rows 64 --columns 64 --steps 20
    judged "$mpi: no messages without their sends" says '^  unknown: messages cannot be matched' "$work/part"
    record="$build/bin/mpit-run --quiet --no-trace --output $work/none" launch $mpi 2 "$build/tests/waits-$mpi" --crash 10 >"$work/log" 2>&1
    judged "$mpi: a crash without a trace is not analysed" refused "$work/none" 'has no trace'
done
verdict
