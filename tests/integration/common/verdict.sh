# What the test scripts share: how MPI programs are launched here, and how results are told. Sourced by them. Their first
# argument is the build directory, $build.
#
#   ok NAME                     says that a promise was kept
#   not_ok NAME [FILE]          says that it was not, with what FILE holds
#   check NAME COMMAND...       one or the other, as the command returns. Status 77: a skip, its last line says why
#   skip NAME WHY               says that it cannot be tested here
#   left_out MPI                this script is to look at the other one (TEST_ONE_MPI is set: the fast tests)
#   there_is PROGRAM            PROGRAM-$mpi is here. If not: a skip without that MPI, a failure with it
#   several_contexts MPI        its launcher can start two programs in one job
#   openmpi_version             4, 5 ...: of mpirun.openmpi
#   mpich_version               4, 5 ...: of mpirun.mpich
#   openmpi_osc                 how its one-sided communication works on one node
#   verdict                     the closing line; fails if anything did, and is a skip (status 77) if nothing could be tested
#   launch MPI RANKS PROGRAM    runs it, with $record before the launcher if that is set
#   fresh_run                   makes $run the name of an output directory that no run has had: on a slow disk the collector
#                               outlives its mpit-run, and would write into a directory of the same name
#   live_run OUT COMMAND...     runs it; its live files are in OUT, as nothing is collected
#   unpacked RUN                each of its processes has a file of its own in $work/unpacked
#   sound ARCHIVE               nothing is found in the archive
#   counted_run NAME RANKS...   a program that counts for itself: recorded, replayed, its archive checked ($build, $mpi);
#                               what it said is in $work/said, its run goes to $keep if that is set

set -u
build=$(cd "${1:?usage: ${0##*/} BUILD_DIR}" && pwd) || exit 2
export LC_ALL=C
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# more processes than processors: let those that wait give way. Each launcher of Open MPI has its own word for it
export OMPI_MCA_mpi_yield_when_idle=1
openmpi_version=$(mpirun.openmpi --version 2>/dev/null | sed -nE '1s/.* ([0-9]+)\..*/\1/p')
mpich_version=$(mpirun.mpich --version 2>/dev/null | sed -nE 's/^ *Version: +([0-9]+)\..*/\1/p')
: "${mpich_version:=4}"
case ${openmpi_version:=4} in
4) export OMPI_MCA_rmaps_base_oversubscribe=1 ;;
5) export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe ;;
*) export PRTE_MCA_mapby=:oversubscribe ;;
esac
# Open MPI 5 takes an address behind a gateway for one that no process here can reach, and says so for each spawned world.
[ "$openmpi_version" = 4 ] || export OMPI_MCA_btl_tcp_if_include=lo
# Open MPI 4.1.4's own choice on one node (rdma) crashes in MPI_Compare_and_swap, and with one process in MPI_Win_create,
# natively just as with mpit. Later ones have no pt2pt.
openmpi_osc=$([ "$openmpi_version" = 4 ] && echo pt2pt,sm || echo rdma,sm)

# several_contexts MPI: its launcher can start two programs in one job. Debian's Open MPI 5.0.7 crashes.
several_contexts() { timeout 60 "mpirun.$1" -n 1 true : -n 1 true >/dev/null 2>&1 </dev/null; }

passed=0 failed=0 skipped=0
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

check() {
    local name=$1
    shift
    "$@" >"$work/checked" 2>&1
    case $? in
    0) ok "$name" ;;
    77) skip "$name" "$(tail -n 1 "$work/checked")" ;;
    *) not_ok "$name" "$work/checked" ;;
    esac
}

skip() {
    skipped=$((skipped + 1))
    echo "skipped $1: $2"
}

left_out() {
    local name=${0##*/} one=openmpi
    [ -n "${TEST_ONE_MPI:-}" ] || return 1
    [ $((${#name} % 2)) = 0 ] || one=mpich
    [ "$1" != $one ] && [ -e "$build/lib/libmpit-$one.so" ]
}

there_is() {
    ! left_out "$mpi" || return 1
    [ -x "$build/tests/$1-$mpi" ] && return
    if [ -e "$build/lib/libmpit-$mpi.so" ]; then not_ok "there is $1-$mpi"; else skip "$mpi" "this build is not for it"; fi
    return 1
}

verdict() {
    local also=
    [ "$skipped" -eq 0 ] || also=", $skipped skipped"
    echo "$passed passed, $failed failed$also"
    if [ "$failed" -eq 0 ] && [ "$passed" -eq 0 ] && [ "$skipped" -gt 0 ]; then return 77; fi
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

# launch MPI RANKS PROGRAM [ARGUMENT...], with $record before the launcher if that is set
launch() {
    local mpi=$1 ranks=$2
    shift 2
    timeout --kill-after=10 "${limit:-120}" ${record:-} "mpirun.$mpi" -n "$ranks" "$@"
}

runs=0
fresh_run() {
    run=$work/run-$((runs += 1))
}

live_run() {
    local out=$1 spool=$work/live-spool status
    shift
    mkdir -p "$out" "$spool"
    MPIT_SPOOL=$spool MPIT_OUTPUT=/proc/nowhere LD_PRELOAD=$build/lib/libmpit.so "$@"
    status=$?
    cp "$spool"/*/*/*.mpit "$out"
    rm -rf "$spool"
    return $status
}

unpacked() {
    rm -rf "$work/unpacked"
    "$build/tests/jobsplit" "$1" "$work/unpacked"
}

# sound ARCHIVE: otf2judge finds nothing, no warning either
sound() {
    "$build/tests/otf2judge" "$1" && "$build/tests/otf2judge" --json "$1" | grep -q '"warnings": 0'
}

# counted_run NAME RANKS [ARGUMENT...]
counted_run() {
    local name=$1 ranks=$2 run=$work/run-$mpi-$2 record
    shift 2
    record="$build/bin/mpit-run --quiet --otf2 --output $run"
    if launch "$mpi" "$ranks" "$build/tests/$name-$mpi" "$@" >"$work/out" 2>&1 </dev/null; then
        ok "$name-$mpi: $(tail -n 1 "$work/out")"
    else
        not_ok "$name-$mpi with $ranks processes (status $?)" "$work/out"
    fi
    mv "$work/out" "$work/said"
    check "replayed trace equals the counters: $mpi with $ranks processes" "$build/bin/mpit-dump" --verify "$run"
    check "the archive holds: $mpi with $ranks processes" sound "$run/otf2"
    if [ -n "${keep:-}" ]; then mv "$run" "$keep"; else rm -rf "$run"; fi
}
