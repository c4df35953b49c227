#!/bin/bash
# test_manycomms.sh BUILD_DIR
#
# Communicators that are made and freed again and again, with requests, windows and files that outlive them, and many
# alive at once; on both MPIs. The program manycomms counts for itself, and mpit agrees, however often slots have been
# used again. The recorder does not grow, and a trace names each event's communicator.
. "$(dirname "$0")/../common/verdict.sh"
scripts=$(cd "$(dirname "$0")" && pwd)
export OMPI_MCA_osc=$openmpi_osc # see test_objects.sh
limit=300

# run_check NAME RANKS CYCLES ALIVE [WORD...] with $options of mpit-run: leaves $run and $work/out
run_check() {
    local name=$1 ranks=$2
    shift 2
    fresh_run
    record="$build/bin/mpit-run --quiet $options --output $run --summary $work/json.json"
    if launch "$mpi" "$ranks" "$build/tests/manycomms-$mpi" "$1" "$2" "$work/file" "${@:3}" >"$work/out" 2>&1 </dev/null; then
        ok "$mpi: $name: $(grep manycomms: "$work/out")"
    else
        not_ok "$mpi: $name (status $?)" "$work/out"
    fi
    check "$mpi: $name: mpit counts what the program counts" python3 "$scripts/manycomms.py" "$work/out" "$work/json.json"
}

verify_check() {
    check "$mpi: $1: replayed trace equals the counters" "$build/bin/mpit-dump" --verify "$run"
}

for mpi in openmpi mpich; do
    there_is manycomms || continue
    options=
    run_check "100,000 cycles" 1 100000 0
    grown=$(grep -o '[-0-9]* kilobytes' "$work/out" | cut -d' ' -f1)
    if [ "${grown:-100000}" -lt 4096 ]; then
        ok "$mpi: the process does not grow with the cycles"
    else
        not_ok "$mpi: the process does not grow with the cycles: $grown kilobytes" "$work/out"
    fi
    options=--trace
    run_check "a trace" 2 1200 300
    verify_check "a trace"
    run_check "threads" 2 400 0 threads
    verify_check "threads"
    run_check "names" 2 1500 0
    "$build/bin/mpit-dump" --events "$run" >"$work/events" 2>&1
    check "$mpi: each event names its communicator" \
        python3 "$scripts/manycomms.py" "$work/out" "$work/json.json" "$work/events" 1500
    if "$build/bin/mpit-dump" --otf2 "$run/otf2" "$run" >"$work/told" 2>&1 &&
        "$build/tests/otf2judge" "$run/otf2" >"$work/told" 2>&1; then
        ok "$mpi: the archive holds"
    else
        not_ok "$mpi: the archive holds" "$work/told"
    fi
    options=
    run_check "few" 1 40 0
    # MPICH 4.0 has context ids for 2048 communicators
    alive=10000
    [ $mpi = openmpi ] || alive=1900
    run_check "$alive alive at once" 1 20 $alive
done
verdict
