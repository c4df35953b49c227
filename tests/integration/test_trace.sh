#!/bin/bash
# For each MPI, program and number of ranks: the replayed trace equals the live tallies cell for cell; the OTF2 archive
# read back through the OTF2 library is sound, and its messages, bytes and collectives are those of the tallies.
# Usage: test_trace.sh BUILD_DIRECTORY
set -u

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?the build directory is missing}" && pwd) || exit 2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 LC_ALL=C.UTF-8
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
unset LD_PRELOAD MPIT_OUTPUT MPIT_TRACE
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# check NAME COMMAND...: ok if it returns 0; what it printed is shown if not
check() {
    local name=$1
    shift
    if "$@" >"$work/out" 2>&1; then
        passed=$((passed + 1))
        echo "ok - $name"
    else
        failed=$((failed + 1))
        echo "not ok - $name"
        sed 's/^/#   /' "$work/out" | tail -20
    fi
}

summary() { "$build/bin/mpit-dump" --json "$1" >"$work/summary.json"; }
archive() { "$build/tests/otf2_check" --json "$1/otf2" >"$work/check.json"; }

# trace NAME MPI RANKS COMMAND...
trace() {
    local name="$1, $2, $3 ranks" mpi=$2 ranks=$3 run="$work/run"
    shift 3
    rm -rf "$run"
    check "$name: runs with --otf2" timeout 300 "$build/bin/mpit-run" --quiet --otf2 --output "$run" "mpirun.$mpi" -n "$ranks" "$@"
    check "$name: replay equals the tallies" "$build/bin/mpit-dump" --verify "$run"
    check "$name: archive is sound" archive "$run"
    check "$name: summary as JSON" summary "$run"
    check "$name: archive equals the tallies" python3 "$here/trace_compare.py" "$work/summary.json" "$work/check.json"
    check "$name: otf2-print reads it" otf2-print --silent "$run/otf2/traces.otf2"
}

for mpi in openmpi mpich; do
    [ -x "$build/tests/heat-$mpi" ] || continue
    trace heat $mpi 4 "$build/tests/heat-$mpi"
    for ranks in 2 3; do
        trace traffic $mpi $ranks "$build/tests/traffic-$mpi" $((ranks + 40))
    done
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
