#!/bin/bash
# test_transparent.sh BUILD_DIR
#
# A program does not notice mpit: what it prints, what it writes and how it ends are the same with and without. What was
# recorded meanwhile gives the same figures when it is replayed.
#   heat   on both MPIs, with 1, 2 and 4 processes
#   hpcc   (Debian's, Open MPI) with 2: the results file but for what was timed
. "$(dirname "$0")/../common/verdict.sh"
source=$(cd "$(dirname "$0")/../.." && pwd)

# twice NAME MPI RANKS PROGRAM [ARGUMENT...]: without mpit, then with it; each in a folder of its own
twice() {
    local name=$1 way
    shift
    for way in without with; do
        mkdir -p "$work/$name/$way"
        record=
        [ $way = with ] && record="$build/bin/mpit-run --quiet --trace --output $work/$name/run"
        (
            cd "$work/$name/$way" || exit 125
            [ -e "$work/$name/input" ] && cp "$work/$name/input"/* .
            launch "$@" >"$work/$name/$way.out" 2>"$work/$name/$way.err" </dev/null
            echo $? >"$work/$name/$way.status"
        )
    done
}

# same NAME WHAT: the two ways' files of that kind are equal
same() {
    check "$1: same $2" diff "$work/$1/without.$2" "$work/$1/with.$2"
}

# replayed NAME: the trace that was kept gives the tallies, cell for cell
replayed() {
    check "$1: replay equals the counters" "$build/bin/mpit-dump" --verify "$work/$1/run"
}

# The results file without what depends on time: the lines and fields that hold times, rates and what follows from them
# (a line CPU is there if any time was measured). Scaled residual is of matrices that hpcc makes anew each time.
# RandomAccess makes as many updates as fit into a time that it measures first.
without_timings() {
    sed -E \
        -e '/[Ss]econds|[GT][Uu][Pp]|[Gg]flop|GB\/s|Byte\/s|MB\/s|msecs?|usec/d' \
        -e '/[0-9] sec\b|^CPU |^Scaled residual|_[Tt]ime[0-9]*=|CheckTime=|[GT]flops?=|GBs=|GUPs=|STREAM_[A-Z][a-z]+=|Latency|Bandwidth/d' \
        -e '/max number of ping pong|max client pings|MPI_Wtime granularity|Use MPI_Wtick/d' \
        -e '/(Start|End) of |^(Copy|Scale|Add|Triad): |^(Begin|End) of |^Current time/d' \
        -e '/^(Generation time|Tuning|Computing|Inverse FFT): /d' \
        -e '/updates EXECUTED|ExeUpdates=/d' \
        -e '/each test below will take|microseconds|clock ticks|granularity|precision/d' \
        -e 's/^(WALL .*) [0-9.]+ (PASSED|FAILED).*/\1 \2/' \
        -e 's/^(W[RC][0-9A-Z]+( +[0-9]+){4}) .*/\1/' "$1"
}

heat() {
    local mpi ranks
    for mpi in openmpi mpich; do
        there_is heat || continue
        for ranks in 1 2 4; do
            twice "heat-$mpi-$ranks" $mpi $ranks "$build/tests/heat-$mpi" --rows 96 --columns 128 --steps 200 --every 20
            same "heat-$mpi-$ranks" out
            same "heat-$mpi-$ranks" err
            same "heat-$mpi-$ranks" status
            grep -q '^checksum' "$work/heat-$mpi-$ranks/with.out" || not_ok "heat-$mpi-$ranks: prints a checksum"
            replayed "heat-$mpi-$ranks"
        done
    done
}

hpcc_results() {
    if ! command -v hpcc >/dev/null; then
        skip hpcc "it is not installed"
        return
    fi
    mkdir -p "$work/hpcc/input"
    cp "$source/apps/hpccinf.txt" "$work/hpcc/input/hpccinf.txt"
    twice hpcc openmpi 2 hpcc
    for way in without with; do
        without_timings "$work/hpcc/$way/hpccoutf.txt" >"$work/hpcc/$way.results"
    done
    same hpcc out
    same hpcc err
    replayed hpcc
    same hpcc status
    same hpcc results
    if [ "$(wc -l <"$work/hpcc/with.results")" -gt 200 ] && grep -q '^Success=1' "$work/hpcc/with.results"; then
        ok "hpcc: finds its results right"
    else
        not_ok "hpcc: finds its results right" "$work/hpcc/with.results"
    fi
    ls "$work/hpcc/run"/* >/dev/null 2>&1 || not_ok "hpcc: was recorded"
}

heat
hpcc_results
verdict
