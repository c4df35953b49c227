#!/bin/bash
# test_pitfalls.sh BUILD_DIR
#
# What programs do that a recorder must survive (pitfalls.c), on both MPIs, with a run directory and without; and a
# profiling tool whose name begins as the library's does.
. "$(dirname "$0")/../common/verdict.sh"
cd "$work" || exit 2

for mpi in openmpi mpich; do
    there_is pitfalls || continue
    for case in null-status closed-descriptor many-communicators forked-reader jump finalized-listener kept-session left-collectives left-receives no-context-left replaced-stderr; do
        for output in "" "$work/run-$mpi-$case"; do
            bound= ranks=1
            case $case in left-*) ranks=3 ;; esac
            [ $case = no-context-left ] && ranks=2
            [ $case = many-communicators ] && bound=MPIT_BUFFER_LIMIT_BYTES=1048576
            if launch $mpi $ranks env $bound ${output:+MPIT_OUTPUT="$output" MPIT_TRACE=1} \
                LD_PRELOAD="$build/lib/libmpit.so" "$build/tests/pitfalls-$mpi" $case >out 2>err </dev/null &&
                [ "$(grep -o right out | wc -l)" = $ranks ]; then
                ok "$mpi: $case${output:+, with a trace}"
            else
                cat err >>out
                not_ok "$mpi: $case${output:+, with a trace}" out
            fi
        done
    done
    launch $mpi 2 "$build/tests/pitfalls-$mpi" numbers >native 2>err </dev/null
    launch $mpi 2 env MPIT_OUTPUT="$work/run-$mpi-numbers" LD_PRELOAD="$build/lib/libmpit.so" \
        "$build/tests/pitfalls-$mpi" numbers >out 2>>err </dev/null
    numbers=$(grep -o 'communicator [-0-9]*' out | sort)
    if [ "$(wc -l <<<"$numbers")" = 6 ] && [ "$numbers" = "$(grep -o 'communicator [-0-9]*' native | sort)" ]; then
        ok "$mpi: the program's communicators are those that it has without mpit"
    else
        cat native err >>out
        not_ok "$mpi: the program's communicators are those that it has without mpit" out
    fi
    # without a launcher, which would read it
    mkfifo "$work/pipe-$mpi"
    exec 9<>"$work/pipe-$mpi"
    if timeout --kill-after=5 60 env LD_PRELOAD="$build/lib/libmpit.so" "$build/tests/pitfalls-$mpi" full-stderr \
        >out 2>&9 </dev/null && grep -qx right out; then
        ok "$mpi: stderr is a full pipe"
    else
        not_ok "$mpi: stderr is a full pipe" out
    fi
    exec 9>&-
    # a tool in front that is called as Open MPI's and MPICH's libraries are
    cp "$build/tests/umq_example-$mpi.so" "$work/libmpiP.so"
    launch $mpi 1 env MPIT_OUTPUT="$work/tool-$mpi" LD_PRELOAD="$work/libmpiP.so:$build/lib/libmpit.so" \
        "$build/tests/callcost-$mpi" self 100 >out 2>err </dev/null
    if "$build/bin/mpit-dump" --full "$work/tool-$mpi" >out 2>>err && grep -q 'MPI_Isend' out; then
        ok "$mpi: a tool named libmpiP.so in front"
    else
        cat err >>out
        not_ok "$mpi: a tool named libmpiP.so in front" out
    fi
done
verdict
