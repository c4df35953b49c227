#!/bin/bash
# asan.sh BUILD_ASAN [SCRIPT [ARGUMENT...]]
#
# Integration tests with AddressSanitizer and UndefinedBehaviorSanitizer, out of a build of preset asan. The recorder and
# the tools are compiled with both, the MPI programs are ordinary ones. So the runtime is preloaded into every process. Each
# process writes its reports to a file. One file is a failure, whatever the test says. Without a SCRIPT (a path below
# tests/integration) there is a selection. Leaks are not looked for.
. "$(dirname "$0")/../integration/common/verdict.sh"
tests=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:?usage: asan.sh BUILD_ASAN [SCRIPT [ARGUMENT...]]}" && pwd) || exit 2
shift
# libubsan begins: behind libasan it writes to standard error, not to files
runtime=$(gcc -print-file-name=libubsan.so):$(gcc -print-file-name=libasan.so)
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
        bash "$tests/integration/$script" "$build" "$@" >"$work/script" 2>&1
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
