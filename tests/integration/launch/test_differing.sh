#!/bin/bash
# A traced job whose processes differ: one has no mpit, or other settings, or is stopped. No message of mpit's meets one
# of the program's, so that its results are right, and no process waits for another one longer than a bound.
# Usage: test_differing.sh BUILD_DIRECTORY
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../common/verdict.sh"
unset LD_PRELOAD "${!MPIT_@}" "${!FAULT_@}"

# What one rank runs before the program: wrapper RANK COMMANDS
wrapper() {
    printf '%s\n' '#!/bin/bash' "[ \"\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}\" != $1 ] || {" "$2" '}' 'exec "$@"' >"$work/wrapper"
    chmod +x "$work/wrapper"
}

# differs NAME RANKS RIGHT ARGUMENT...: the ranks print the right results and end, $preload and mpit before them
differs() {
    local name=$1 ranks=$2
    shift 2
    run=$work/run
    rm -rf "$run"
    mkdir "$run"
    record="env LD_PRELOAD=${preload:+$preload:}$build/lib/libmpit.so MPIT_OUTPUT=$run MPIT_TRACE=${traced-1}"
    limit=${limit:-30} launch "$mpi" "$ranks" "$work/wrapper" "$build/tests/differing-$mpi" "$@" >"$work/out" 2>"$work/err" </dev/null
    local status=$?
    record=
    cat "$work/err" >>"$work/out"
    if [ "$status" = 0 ] && [ "$(grep -c "right" "$work/out")" = "$ranks" ]; then ok "$mpi: $name"; else
        echo "status $status" >>"$work/out"
        not_ok "$mpi: $name" "$work/out"
    fi
}

# reports TEXT: the summary's line about the clocks
reports() {
    "$build/bin/mpit-dump" --full "$run" >"$work/report" 2>&1
    if grep -Eq "^clocks of .*$1" "$work/report"; then ok "$mpi:   clocks: $1"; else
        grep clocks "$work/report" >"$work/line"
        ls -A "$run" >>"$work/line"
        not_ok "$mpi:   clocks: $1" "$work/line"
    fi
}

# quick RANKS...: their MPI_Init took less than 3 s
quick() {
    local rank
    for rank in "$@"; do
        if awk -v rank="$rank" '$1 == "rank" && $2 == rank { found = $5 < 3000 } END { exit !found }' "$work/out"; then
            ok "$mpi:   rank $rank does not wait"
        else
            not_ok "$mpi:   rank $rank does not wait" "$work/out"
        fi
    done
}

one_node() {
    local words
    for words in 1 6; do
        wrapper none :
        traced='' differs "a control variable switches the trace of one process on, $words words" 2 $words mpit_trace
        wrapper 1 'export MPIT_TRACE=0'
        differs "one process has MPIT_TRACE=0, $words words" 2 $words
        wrapper 1 'unset LD_PRELOAD'
        differs "one process has no mpit, $words words" 2 $words - native
        wrapper 1 'export MPIT_DISABLE=1'
        differs "one process has MPIT_DISABLE, $words words" 2 $words - native
        wrapper 1 'export MPIT_REDUCE=0'
        differs "one process has MPIT_REDUCE=0, $words words" 2 $words - native
        wrapper 1 'unset MPIT_OUTPUT'
        differs "one process has no MPIT_OUTPUT, $words words" 2 $words - native
        wrapper 1 'export MPIT_CLOCK_SYNC=none'
        differs "one process has MPIT_CLOCK_SYNC=none, $words words" 2 $words
    done
}

# Each rank on a node of its own, by the word of tests/clocks/faultyclock.c.
several_nodes() {
    local preload=$build/tests/faultyclock.so
    FAULT_BEGIN_NS=$(python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))')
    export FAULT_BEGIN_NS FAULT_NODES=0:0,3000000000:100,-5000000000:-80,7000000:35
    wrapper none :
    differs "four nodes" 4 6
    reports "over TCP, 2 times"
    wrapper 0 'unset LD_PRELOAD'
    differs "rank 0 has no mpit" 4 6 - native
    quick 1 2 3
    reports "not measured, .*; rank 0 left no address in the output directory"
    wrapper 2 'unset LD_PRELOAD'
    differs "the leader of a node has no mpit" 4 6 - native
    quick 0 1 3
    reports "over TCP, .*; some nodes did not connect in time"
    wrapper 2 'export MPIT_TRACE=0'
    differs "the leader of a node has no trace" 4 6
    reports "over TCP, .*; some nodes did not connect in time"
    wrapper 1 'export MPIT_CLOCK_SYNC=none'
    differs "the leader of a node does not take part" 4 6
    reports "over TCP, .*; some nodes did not connect in time"
    wrapper none :
    FAULT_STOP=2:listen differs "the leader of a node is stopped" 4 6
    quick 0 1 3
    reports "over TCP, .*; some nodes did not connect in time"
    FAULT_STOP=0:accept differs "the leader of rank 0's node is stopped" 4 6
    quick 1 2 3
    reports "(over TCP, once|not measured).*; some nodes did not connect in time"
    FAULT_STOP=1:accept differs "a leader that others measure against is stopped" 4 6
    quick 0 2 3
    reports "over TCP, 2 times"
}

for mpi in openmpi mpich; do
    there_is differing || continue
    one_node
    several_nodes
done
verdict
