#!/bin/bash
# Builds the fuzzers with clang and runs each for a number of inputs, from its corpus. Longer:
#   tests/fuzz/test_fuzz.sh BUILD_DIRECTORY 10000000
# Usage: test_fuzz.sh BUILD_DIRECTORY [INPUTS]
. "$(dirname "$0")/../integration/common/verdict.sh"

source=$(cd "$(dirname "$0")/../.." && pwd)
build=$(mkdir -p "${1:?the build directory is missing}" && cd "$1" && pwd) || exit 2
inputs=${2:-10000}

cmake -S "$source" -B "$build" -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug \
    "-DCMAKE_C_FLAGS_DEBUG=-O1 -gline-tables-only" -DMPIT_FUZZ=ON -DMPIT_SANITIZE=address,undefined -DMPIT_WERROR=ON >"$build/configure.log" 2>&1 || {
    cat "$build/configure.log"
    exit 1
}
cmake --build "$build" --target fuzzers >"$build/build.log" 2>&1 || {
    tail -40 "$build/build.log"
    exit 1
}
samples=()
for packed in "$source"/tests/samples/run-[5-9]/*1.mpit.xz "$source"/tests/samples/run-1[01]/*.mpit.xz; do
    sample=$build/samples/$(basename "$(dirname "$packed")")-$(basename "$packed" .xz)
    mkdir -p "$build/samples" && xz -dc "$packed" >"$sample" || exit 1
    samples+=("$sample")
done
export MPIT_FUZZ_SAMPLES="${samples[*]}"
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
for name in run columns summary names; do
    mkdir -p "$build/found/$name" "$build/new/$name"
    log=$build/fuzz-$name.log
    if "$build/tests/fuzz_$name" -runs="$inputs" -max_len=4096 -timeout=20 -rss_limit_mb=4096 \
        -artifact_prefix="$build/found/$name/" "$build/new/$name" "$source/tests/fuzz/corpus/$name" >"$log" 2>&1; then
        ok "$name: $(tail -1 "$log")"
    else
        grep -vE '^#[0-9]+' "$log" | tail -40 >"$work/out"
        not_ok "$name; the input is in $build/found/$name/" "$work/out"
    fi
done
verdict
