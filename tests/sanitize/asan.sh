#!/bin/bash
# asan.sh BUILD MPI|all [SCRIPT [ARGUMENT...]]
#
# Integration tests with AddressSanitizer and UndefinedBehaviorSanitizer. The recorder of an MPI, or of all, and the tools
# are compiled with both, in BUILD/asan. The MPI programs are the ordinary ones of BUILD. So the runtime is preloaded into
# every process. Each process writes its reports to a file. One file is a failure, whatever the test says. Without a SCRIPT
# (a path below tests/integration) there is a selection. Leaks are not looked for.
. "$(dirname "$0")/../integration/common/verdict.sh"
source=$(cd "$(dirname "$0")/../.." && pwd)
usage="usage: asan.sh BUILD MPI|all [SCRIPT [ARGUMENT...]]"
plain=$(cd "${1:?$usage}" && pwd) chosen=${2:?$usage} || exit 2
shift 2
build=$plain/asan
# libubsan begins: behind libasan it writes to standard error, not to files
runtime=$(gcc -print-file-name=libubsan.so):$(gcc -print-file-name=libasan.so)
if [ "$runtime" = libubsan.so:libasan.so ]; then
    skip "sanitizers" "gcc has no libasan and no libubsan"
    verdict
    exit
fi

recorders=() absent=()
for mpi in openmpi mpich; do
    case $chosen in
    "$mpi" | all) recorders+=("-UMPIT_${mpi}_CC") ;;
    *) recorders+=("-DMPIT_${mpi}_CC=OFF") absent+=(! -name "*-$mpi*") ;;
    esac
done
# Functions in line make most of the code: without optimization, the wrappers alone compile for minutes.
cmake -S "$source" -B "$build" -G Ninja -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_C_FLAGS_DEBUG=-O1 -g1" \
    -DMPIT_SANITIZE=address,undefined -DMPIT_TESTS=OFF -DMPIT_TOP=OFF -DMPIT_EXPORTER=OFF \
    -DMPIT_PAGE=OFF -DMPIT_PPROF=OFF "${recorders[@]}" >"$work/out" 2>&1 || {
    cat "$work/out"
    exit 1
}
cmake --build "$build" >"$work/out" 2>&1 || {
    tail -n 40 "$work/out"
    exit 1
}
rm -rf "$build/tests"
mkdir "$build/tests"
find "$plain/tests" -maxdepth 1 -type f "${absent[@]}" -exec ln -s -t "$build/tests" {} +

reports=$work/reports
mkdir "$reports"

# clean NAME: no report was written
clean() {
    local report
    report=$(find "$reports" -type f -print -quit)
    if [ -z "$report" ]; then ok "$1: no report"; else not_ok "$1: a report" "$report"; fi
    rm -f "$reports"/*
}

# run SCRIPT [ARGUMENT...]
run() {
    local script=$1 name
    shift
    name=$(basename "$script" .sh)
    LD_PRELOAD=$runtime UCX_MEM_EVENTS=no \
        ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0:log_path=$reports/report \
        UBSAN_OPTIONS=print_stacktrace=1:log_path=$reports/report \
        bash "$source/tests/integration/$script" "$build" "$@" >"$work/script" 2>&1
    case $? in
    0) ok "$name: $(tail -n 1 "$work/script")" ;;
    77) skip "$name" "$(tail -n 1 "$work/script")" ;;
    *)
        grep -A 20 '^not ok' "$work/script" >"$work/out"
        not_ok "$name: $(tail -n 1 "$work/script")" "$work/out"
        ;;
    esac
    clean "$name"
}

if [ $# -gt 0 ]; then
    run "$@"
else
    export TRAFFIC_ROUNDS=20
    run tally/test_traffic.sh 1
    run tally/test_mixture.sh 1 20
    run threads/test_threads.sh
fi
verdict
