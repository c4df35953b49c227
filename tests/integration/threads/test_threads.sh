#!/bin/bash
# test_threads.sh BUILD_DIR
#
# Threads that come and go (threads.c) on both MPIs: what the program counts itself is what the variables, the summary,
# the replayed trace and the OTF2 archive say, and neither the logs nor the run file nor the process grow with the number of
# threads that have been.
. "$(dirname "$0")/../common/verdict.sh"
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: test_threads.sh BUILD_DIR}" && pwd) || exit 2
PATH=$build/bin:$PATH

# exact NAME RUN [OPTION...]: the run has what the program printed (in out)
exact() {
    local name=$1 run=$2
    shift 2
    mpit-dump --json "$run" >"$work/json" 2>"$work/err" || not_ok "$name: mpit-dump" "$work/err"
    if python3 "$here/../common/threadsums.py" "$work/json" "$work/out" "$@" >"$work/diff" 2>&1; then
        ok "$name: every sum is the program's"
    else
        not_ok "$name: every sum is the program's" "$work/diff"
    fi
}

# runs NAME MPI RANKS PROGRAM...: ends with status 0; 77 (no MPI_THREAD_MULTIPLE) is a failure of both that are tested
runs() {
    local name=$1
    shift
    if launch "$@" >"$work/out" 2>"$work/err" </dev/null; then ok "$name: runs, and its variables are right"; else
        cat "$work/out" >>"$work/err"
        not_ok "$name: runs, and its variables are right" "$work/err"
    fi
}

# smaller NAME NUMBER BOUND
smaller() {
    if [ "$2" -gt 0 ] && [ "$2" -le "$3" ]; then ok "$1: $2, at most $3"; else not_ok "$1: $2, at most $3"; fi
}

# bytes RUN: of its run files
bytes() { # of what was recorded, as it was before it was packed
    rm -rf "$work/plain"
    "$build/tests/jobsplit" --plain "$1" "$work/plain" && cat "$work"/plain/* | wc -c
}

for mpi in openmpi mpich; do
    program=$build/tests/threads-$mpi mpit=$build/lib/libmpit.so
    there_is threads || continue

    run=$work/plain-$mpi
    record="mpit-run --quiet --output $run" runs "$mpi" $mpi 2 "$program" all 100
    exact "$mpi" "$run" --threads 48

    # the handle of a request that is waited for is another thread's before mpit sees the end
    run=$work/counted-$mpi late=$work/slowreturn-$mpi.so
    "mpicc.$mpi" -shared -fPIC -o "$late" "$here/slowreturn.c" >"$work/out" 2>&1 || not_ok "$mpi: slowreturn.c" "$work/out"
    record="mpit-run --quiet --timing 0 --output $run" runs "$mpi, only counted" \
        $mpi 2 env LD_PRELOAD="$mpit:$late" "$program" all 100
    exact "$mpi, only counted" "$run"

    run=$work/traced-$mpi
    record="mpit-run --quiet --otf2 --output $run" runs "$mpi, with a trace" $mpi 2 "$program" all 100
    exact "$mpi, with a trace" "$run"
    check "$mpi: the trace gives the tallies" mpit-dump --verify "$run"
    "$build/tests/otf2judge" --json "$run/otf2" >"$work/check.json" 2>"$work/err"
    check "$mpi: the archive is sound" test $? -eq 0
    check "$mpi: the archive has what the tallies have" python3 "$here/../common/trace_compare.py" "$work/json" "$work/check.json"

    for how in cancelled early; do # the former with many writes of the trace, where a thread could be cancelled
        run=$work/$how-$mpi
        record="mpit-run --quiet --output $run --trace" MPIT_FLIGHT_EVENTS=64 MPIT_RECORD_LOCAL_CALLS=1 \
            runs "$mpi, $how" $mpi 1 timeout 100 "$build/tests/threadlives-$mpi" $how
        waits=$(sed -n 's/^MPI_Waitall //p' "$work/out")
        mpit-dump --json "$run" >"$work/json" 2>"$work/err"
        check "$mpi, $how: $waits calls" python3 -c "
import json; assert json.load(open('$work/json'))['jobs'][0]['calls']['MPI_Waitall']['count'] == $waits"
        check "$mpi, $how: the trace gives the tallies" mpit-dump --verify "$run"
    done

    # with counters a thread opens some at its first call, and closes them at its end
    record="mpit-run --quiet --output $work/pending-$mpi --papi perf::PAGE-FAULTS" MPIT_RECORD_LOCAL_CALLS=1 \
        runs "$mpi, pending" $mpi 2 timeout 100 "$build/tests/threadlives-$mpi" pending
    record="mpit-run --quiet --output $work/late-$mpi" runs "$mpi, late" $mpi 2 timeout 100 \
        "$build/tests/threadlives-$mpi" late "$work/go-$mpi"

    # more threads at once than there is memory for event buffers: the counts do not suffer, also not in 52 of 64 MiB
    run=$work/alive-$mpi
    record="mpit-run --quiet --output $run-less" MPIT_BUFFER_LIMIT_BYTES=$((52 << 20)) \
        runs "$mpi, 600 threads at once in less memory" $mpi 1 "$program" alive 600
    exact "$mpi, 600 threads at once in less memory" "$run-less"
    record="mpit-run --quiet --output $run" runs "$mpi, 600 threads at once" $mpi 1 "$program" alive 600
    exact "$mpi, 600 threads at once" "$run"

    # one behind the other: they share a log, and with a trace 64 of them
    for trace in 0 1; do
        for threads in 300 10000; do
            run=$work/churn-$mpi-$trace-$threads
            MPIT_REDUCE=0 MPIT_TRACE=$trace MPIT_OUTPUT=$run runs "$mpi, $threads threads, trace $trace" \
                $mpi 1 env LD_PRELOAD="$mpit" "$program" churn $threads
            kib=$(sed -n 's/^largest \([0-9]*\) KiB$/\1/p' "$work/out")
            [ $threads = 300 ] && kib_few=$kib
            exact "$mpi, $threads threads, trace $trace" "$run" --threads $((trace ? 64 : 2))
        done
        few=$work/churn-$mpi-$trace-300 many=$work/churn-$mpi-$trace-10000
        smaller "$mpi: bytes that 9700 threads add to the run file, trace $trace" \
            $(($(bytes "$many") - $(bytes "$few") + 1)) $((trace ? 9700 * 200 : 1))
        smaller "$mpi: KiB that 9700 threads add to the process, trace $trace" $((kib - kib_few > 0 ? kib - kib_few : 1)) 4096
        [ $trace = 0 ] || check "$mpi: the trace of 10000 threads gives the tallies" mpit-dump --verify "$many"
    done
done
verdict
