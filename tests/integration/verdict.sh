# What the test scripts share: how MPI programs are launched here, and how results are told. Sourced by them.
#
#   ok NAME                     says that a promise was kept
#   not_ok NAME [FILE]          says that it was not, with what FILE holds
#   verdict                     the closing line; fails if anything did

set -u
export LC_ALL=C
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# more processes than processors: let those that wait give way
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1

passed=0 failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/mpit-test.XXXXXX")
trap 'rm -rf "$work"' EXIT

ok() {
    passed=$((passed + 1))
    echo "ok $1"
}

not_ok() {
    failed=$((failed + 1))
    echo "not ok $1"
    if [ $# -gt 1 ] && [ -s "$2" ]; then head -n 40 "$2" | sed 's/^/    /'; fi
}

verdict() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

# launch MPI RANKS PROGRAM [ARGUMENT...], with $record before the launcher if that is set
launch() {
    local mpi=$1 ranks=$2
    shift 2
    timeout --kill-after=10 "${limit:-120}" ${record:-} "mpirun.$mpi" -n "$ranks" "$@"
}
