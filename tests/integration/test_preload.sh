#!/bin/bash
# test_preload.sh BUILD_DIR
#
# The preload library without mpit-run: right, wrong, both at once, disabled, with nowhere to write. Whatever it is, the
# program prints what it prints without it, and what is wrong is said: once by each process, what is wrong in the
# environment once by the job.
. "$(dirname "$0")/verdict.sh"
build=$(cd "${1:?usage: test_preload.sh BUILD_DIR}" && pwd) || exit 2
library() { echo "$build/lib/libmpit-$1.so"; }
small="--rows 64 --columns 64 --steps 100"

# same NAME MPI STATEMENT...: heat with these variables in its environment computes the same
same() {
    local name=$1 mpi=$2
    shift 2
    if env "$@" timeout 120 "mpirun.$mpi" -n 2 "$build/tests/heat-$mpi" $small >"$work/out" 2>"$work/err" </dev/null &&
        diff "$work/native-$mpi" "$work/out" >"$work/diff"; then
        ok "$mpi: $name: the same output"
    else
        cat "$work/diff" >>"$work/err"
        not_ok "$mpi: $name: the same output" "$work/err"
    fi
}

# says COUNT PATTERN: standard error of the last program has so many lines like it
says() {
    if [ "$(grep -c -- "$2" "$work/err")" = "$1" ]; then ok "  says $1 times: $2"; else
        not_ok "  says $1 times: $2" "$work/err"
    fi
}

silent() {
    if [ -s "$work/err" ]; then not_ok "  says nothing" "$work/err"; else ok "  says nothing"; fi
}

for mpi in openmpi mpich; do
    other=$([ $mpi = openmpi ] && echo mpich || echo openmpi)
    [ -e "$(library $mpi)" ] && [ -e "$(library $other)" ] || continue
    launch $mpi 2 "$build/tests/heat-$mpi" $small >"$work/native-$mpi" 2>&1

    same "the right library" $mpi LD_PRELOAD="$(library $mpi)"
    silent
    same "the other MPI's library" $mpi LD_PRELOAD="$(library $other)" MPIT_OUTPUT="$work/wrong"
    says 2 "this preload is for the"
    if [ -e "$work/wrong" ]; then not_ok "  writes nothing"; else ok "  writes nothing"; fi
    same "both libraries" $mpi LD_PRELOAD="$(library $other):$(library $mpi)" MPIT_OUTPUT="$work/both-$mpi"
    if ls "$work/both-$mpi"/*.summary >/dev/null 2>&1; then ok "  the right one records"; else
        not_ok "  the right one records"
    fi
    same "MPIT_DISABLE" $mpi LD_PRELOAD="$(library $mpi)" MPIT_DISABLE=1 MPIT_OUTPUT="$work/disabled"
    silent
    same "a directory that cannot be made" $mpi LD_PRELOAD="$(library $mpi)" MPIT_OUTPUT=/proc/no/such MPIT_TRACE=1
    says 2 "cannot make the run directory /proc/no/such"
    same "settings that cannot be used" $mpi LD_PRELOAD="$(library $mpi)" MPIT_FLIGHT_EVENTS=-1 MPIT_TRACE=yes
    says 1 "MPIT_FLIGHT_EVENTS=-1 cannot be used: allowed are whole numbers from 0 to"
    says 1 "MPIT_TRACE=yes cannot be used"
    same "a trace without a directory" $mpi LD_PRELOAD="$(library $mpi)" MPIT_TRACE=1
    says 1 "MPIT_TRACE needs MPIT_OUTPUT"
    same "no event buffer" $mpi LD_PRELOAD="$(library $mpi)" MPIT_FLIGHT_EVENTS=0
    same "the least memory" $mpi LD_PRELOAD="$(library $mpi)" MPIT_BUFFER_LIMIT_BYTES=1048576
    same "a trace that may not be" $mpi LD_PRELOAD="$(library $mpi)" MPIT_OUTPUT="$work/limit-$mpi" MPIT_TRACE=1 \
        MPIT_TRACE_LIMIT_BYTES=1
done
for command in "ls /" "sh -c true" "true"; do
    LD_PRELOAD="$(library openmpi):$(library mpich)" $command >"$work/out" 2>"$work/err" || not_ok "$command"
    if [ -s "$work/err" ]; then not_ok "$command: silent" "$work/err"; else ok "$command: silent"; fi
done
verdict
