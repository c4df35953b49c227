#!/bin/bash
# test_findings.sh BUILD_DIR
#
# Findings of the summary on both MPIs: a program with one fault each (diseases.c). Its finding comes first, with the
# place of the call. A program without a fault has none, and one with nearly
# the same messages has another. The first screen has 24 lines of 80 columns.
# First from sums alone, then from a trace: the short one, which goes at the end, and one that is kept.
. "$(dirname "$0")/../common/verdict.sh"
here=$(cd "$(dirname "$0")" && pwd)
export PATH=$build/bin:$PATH

# diagnosed MPI RANKS FAULT RULE FUNCTION
diagnosed() {
    local mpi=$1 ranks=$2 fault=$3 record
    shift 3
    fresh_run
    record="mpit-run --quiet $traced --output $run"
    launch "$mpi" "$ranks" "$build/tests/diseases-$mpi" "$fault" "$work" >"$work/log" 2>&1 || { cat "$work/log"; return 1; }
    mpit-dump --json "$run" >"$work/json" && mpit-dump "$run" >"$work/screen" || return 1
    python3 "$here/findings.py" "$work/json" "$work/screen" "$@"
    case $? in 0) return 0 ;; 77) return 77 ;; esac # other programs took the processors
    cat "$work/screen"
    return 1
}

# loaded MPI LOOPS WANTED: a sound program on one processor beside so many busy loops
loaded() {
    local mpi=$1 loops=() loop i result=0 processor
    processor=$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')
    for ((i = 0; i < $2; i++)); do
        taskset -c "$processor" bash -c 'while :; do :; done' &
        loops+=($!)
    done
    fresh_run
    record="taskset -c $processor mpit-run --quiet --no-trace --output $run"
    launch "$mpi" 2 "$build/tests/diseases-$mpi" balanced "$work" >"$work/log" 2>&1 || result=1
    for loop in "${loops[@]}"; do kill "$loop"; done
    [ $result = 0 ] && mpit-dump --json "$run" >"$work/json" && mpit-dump "$run" >"$work/screen" &&
        python3 "$here/usage.py" "$work/json" "$work/screen" "$work/log" "$3"
}

# brief: the last run has kept no trace, but its findings are of one
brief() {
    ! mpit-dump --events "$run" >/dev/null 2>"$work/err" && python3 - "$work/json" "$(du -sb "$run" | cut -f1)" <<'PYTHON'
import json, sys
job = json.load(open(sys.argv[1]))["jobs"][0]
if not job["analysed_seconds"] or int(sys.argv[2]) > 100000:
    sys.exit(f"analysed: {job['analysed_seconds']}, {sys.argv[2]} bytes")
PYTHON
}

# stored: the finding of a trace is in the job file. mpit-jobs does not read the trace of another user
stored() {
    [ "$(id -u)" = 0 ] || return 77
    chown nobody "$run"/*.mpit && mpit-jobs --json "$run" | grep -q '"rule": "serialization"'
}

# counted OPTION...: a run that has no trace, not even a short one
counted() {
    fresh_run
    record="mpit-run --quiet $* --output $run"
    launch "$mpi" 2 "$build/tests/diseases-$mpi" serialization "$work" >"$work/log" 2>&1 &&
        mpit-dump --json "$run" | grep -q '"analysed_seconds": null'
}

# analysed STEPS CONDITION: how much of a run with so many steps its findings are made of
analysed() {
    fresh_run
    record="mpit-run --quiet --output $run"
    launch "$mpi" 2 "$build/tests/heat-$mpi" --rows 16 --columns 16 --steps "$1" >"$work/log" 2>&1 && mpit-dump --json "$run" >"$work/json" &&
        python3 - "$work/json" "$2" <<'PYTHON'
import json, sys
job = json.load(open(sys.argv[1]))["jobs"][0]
part, run, lost = job["analysed_seconds"], job["run_seconds"]["max"], sum(job["lost"].values())
if lost or not eval(sys.argv[2]):
    sys.exit(f"analysed: {part} of {run} s, {lost} lost")
PYTHON
}

faults=(load_imbalance late_rank small_messages polling many_small_collectives barriers made_in_loop small_io long_init
        late_receives)
for mpi in openmpi mpich; do
    there_is diseases || continue
    traced=--no-trace
    check "$mpi: nothing stands out of a sound program" diagnosed $mpi 2 none none
    for fault in "${faults[@]}"; do
        check "$mpi: $fault" diagnosed $mpi 2 "$fault" "$fault" "$fault"
    done
    check "$mpi: serialization by sums" diagnosed $mpi 2 serialization waits_unexplained serialization
    check "$mpi: late receives do not come where receives are early" diagnosed $mpi 2 early_receives -late_receives
    check "$mpi: hot spot" diagnosed $mpi 3 hot_spot hot_spot hot_spot
    check "$mpi: no hot spot where all receive the same" diagnosed $mpi 3 no_hot_spot -hot_spot
    check "$mpi: no serialization where one computes longer" diagnosed $mpi 2 load_imbalance -waits_unexplained
    for traced in "" --trace; do
        for fault in serialization late_receives; do
            check "$mpi: $fault, with a trace $traced" diagnosed $mpi 2 "$fault" "$fault" "$fault"
            [ "$traced" ] || check "$mpi: $fault: the short trace is gone" brief
            [ "$traced$fault" != --traceserialization ] || check "$mpi: its finding is stored" stored
        done
        check "$mpi: late receives do not come where a trace shows early ones $traced" diagnosed $mpi 2 early_receives -late_receives
        check "$mpi: no serialization where a trace shows none $traced" diagnosed $mpi 2 load_imbalance -serialization
    done
    traced=
    check "$mpi: a short trace has all of a short run" analysed 2000 'part == run'
    check "$mpi: and the first part of a longer one" analysed 150000 'part and part < run'
    check "$mpi: and a small part of a long one that goes on like that" analysed 1200000 'part and part < run / 4'
    check "$mpi: the last part tells of what comes later" diagnosed $mpi 2 late_change load_imbalance
    check "$mpi: and the head says so" grep -q 'analysed   the last' "$work/screen"
    check "$mpi: small parts tell nothing of what is between them" diagnosed $mpi 2 change_between load_imbalance
    check "$mpi: and so nothing is said to be analysed" grep -q '"analysed_seconds": null' "$work/json"
    for option in --no-trace --timing\ 0 --start-paused --filter\ p2p; do
        check "$mpi: $option: no short trace" counted $option
    done
    MPIT_TRACE=0 check "$mpi: MPIT_TRACE=0: no short trace" counted
    traced=--no-trace
    if grep -q '^[1-9]' /proc/self/schedstat; then
        check "$mpi: a sound program beside three busy loops" loaded $mpi 3 lack
        check "$mpi: the same alone" loaded $mpi 0 any
    else
        skip "$mpi: a sound program beside three busy loops" "this kernel does not tell who waits for a processor"
    fi
    check "$mpi: more ranks than processors" diagnosed $mpi "$(($(nproc) + 2))" none oversubscribed
done
verdict
