#!/bin/bash
# test_control.sh BUILD_DIR
#
# Control variables that are written while a program runs, on both MPIs: the trace has the calls that began while it was
# on, of all threads, and no other; what reads such a trace says that it is a part; with nowhere to write there is none.
. "$(dirname "$0")/../common/verdict.sh"
PATH=$build/bin:$PATH
export MPIT_LARGE_MESSAGE_BYTES=100

# gives NAME STATUS COMMAND...: ends with that status
gives() {
    local name=$1 status=$2
    shift 2
    "$@" >"$work/out" 2>"$work/err" </dev/null
    local got=$?
    cat "$work/err" >>"$work/out"
    if [ $got = "$status" ]; then ok "$name"; else not_ok "$name: $got and not $status" "$work/out"; fi
}

# kept RANK TAG: how many sends with the tag the trace of the rank has
kept() { awk -v rank="$1" -v tag="$2" '{ sub(/ path [0-9]+$/, "") } $1 == rank && /MPI_Isend/ && $(NF - 1) == tag' "$work/events" | wc -l; }

for mpi in openmpi mpich; do
    there_is control || continue
    for ranks in 2 3; do
        name="$mpi, $ranks ranks" run=$work/$mpi-$ranks
        record="mpit-run --quiet --output $run" gives "$name: every write does what it says" 0 \
            launch $mpi $ranks "$build/tests/control-$mpi"
        cp "$work/out" "$work/program"
        mpit-dump --events "$run" >"$work/events" 2>"$work/err" || not_ok "$name: events" "$work/err"
        for ((rank = 0; rank < ranks; rank++)); do
            traced=$(sed -n "s/^rank $rank: traced \([0-9]*\),.*/\1/p" "$work/program")
            if [ -n "$traced" ] && [ "$traced" -gt 0 ] && [ "$(kept $rank 1)" = "$traced" ] && [ "$(kept $rank 2)" = 0 ]; then
                ok "$name: rank $rank: the trace has its $traced sends, and none of the others"
            else
                not_ok "$name: rank $rank: $(kept $rank 1) sends of ${traced:-?} and $(kept $rank 2) others"
            fi
        done
        gives "$name: no verdict on a part" 1 mpit-dump --verify "$run"
        if grep -q "switched on or off while the program ran" "$work/out"; then ok "$name: and why"; else
            not_ok "$name: and why" "$work/out"
        fi
        gives "$name: an archive" 0 mpit-dump --otf2 "$run/otf2" "$run"
        if grep -q "no messages and collectives" "$work/out"; then ok "$name: says what it has not"; else
            not_ok "$name: says what it has not" "$work/out"
        fi
        gives "$name: which is sound" 0 sound "$run/otf2"
        gives "$name: the summary counts everything" 0 mpit-dump --json "$run"
        record='' gives "$name: nowhere to write" 0 launch $mpi $ranks env LD_PRELOAD="$build/lib/libmpit.so" \
            "$build/tests/control-$mpi" nowhere
    done
done
verdict
