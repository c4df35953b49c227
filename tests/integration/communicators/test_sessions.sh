#!/bin/bash
# test_sessions.sh BUILD_DIR
#
# Where runs with sessions end (sessions.c): killed while no session is open, opened behind MPI_Finalize and within it.
# On the MPIs that have sessions.
. "$(dirname "$0")/../common/verdict.sh"
PATH=$build/bin:$PATH

# calls RUN CALL: how often it was counted
calls() {
    mpit-dump --json "$1" | python3 -c '
import json, sys
(job,) = json.load(sys.stdin)["jobs"]
print(job["calls"].get(sys.argv[1], {"count": 0})["count"])' "$2"
}

badly="closed the last session, but did not exit normally"
for mpi in openmpi mpich; do
    program=$build/tests/sessions-$mpi late=$build/tests/latesession-$mpi.so
    there_is sessions || continue
    "$program" none >/dev/null 2>&1
    if [ $? = 77 ]; then
        skip "$mpi" "it has no sessions"
        continue
    fi
    for mode in exit killed; do
        run=$work/$mpi-$mode
        record="mpit-run --quiet --output $run" launch $mpi 1 "$program" $mode >"$work/out" 2>&1
        check "$mpi, $mode: its session is counted" test "$(calls "$run" MPI_Session_init)" = 1
        mpit-dump --full "$run" >"$work/text" 2>&1
        check "$mpi, $mode: the end is told from the other" \
            test "$(grep -c "$badly" "$work/text")" = "$([ $mode = killed ] && echo 1 || echo 0)"
    done
    record="env LD_PRELOAD=$build/lib/libmpit.so MPIT_OUTPUT=$work/$mpi-setting MPIT_FLIGHT_EVENTS=x" \
        launch $mpi 3 "$program" exit >"$work/out" 2>"$work/err"
    check "$mpi: without a world, one of three processes names a bad setting" \
        test "$(grep -c MPIT_FLIGHT_EVENTS "$work/err")" = 1
    check "$mpi: a program that waits in a session" "mpicc.$mpi" -O2 -o "$work/stall" "$(dirname "$0")/sessionstall.c"
    record="mpit-run --quiet --output $work/$mpi-stall" launch $mpi 2 "$work/stall" >"$work/out" 2>&1
    mpit-dump --full "$work/$mpi-stall" >"$work/text" 2>&1
    check "$mpi: its share of stalls is of the time in MPI" sh -c "grep '^  stalled ' '$work/text' && mpit-dump --json '$work/$mpi-stall' |
        python3 '$(dirname "$0")/sessionstall.py' '$work/text'"
    for mode in after during; do
        for reduce in 1 0; do
            run=$work/$mpi-$mode-$reduce
            record="env LD_PRELOAD=$late MPIT_REDUCE=$reduce mpit-run --quiet --output $run" launch $mpi 2 "$program" \
                $mode >"$work/out" 2>"$work/err"
            check "$mpi, $mode, MPIT_REDUCE=$reduce: ends well" test $? = 0
            check "  the world's calls are there" test "$(calls "$run" MPI_Barrier)" = 10
            check "  nothing is said" test ! -s "$work/err"
            check "  the sessions are counted, too" test "$(calls "$run" MPI_Session_finalize)" = 2
            mpit-dump --full "$run" >"$work/text" 2>&1
            check "  the processes ended well" test "$(grep -c "$badly" "$work/text")" = 0
        done
    done
done
verdict
