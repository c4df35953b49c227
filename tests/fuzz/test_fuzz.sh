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
# An input has 4 bits for the number of its sample. The six samples are numbers 1 to 6 and 7 to 12.
rm -rf "$build/samples" "$build/seeds" && mkdir -p "$build/samples" "$build/seeds" || exit 1
if [ -x "$build/../bin/mpit-collect" ]; then
    check "the build beside this one records samples" \
        python3 "$source/tests/integration/outputs/samples.py" "$build/.." --record "$build/samples"
else
    skip "samples of the build itself" "there is no build in $(dirname "$build"); those of tests/samples are used"
    for packed in "$source/tests/samples/run"/*.mpit.xz; do xz -dc "$packed" >"$build/samples/$(basename "$packed" .xz)"; done
fi
samples=("$build/samples"/*.mpit)
check "the fuzzer gets six samples" [ "${#samples[@]}" = 6 ]
for digit in 7 8 9 a b c; do printf '%b' "\\x${digit}0" >"$build/seeds/$digit"; done
export MPIT_FUZZ_SAMPLES="${samples[*]}"
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
for name in run columns summary names; do
    mkdir -p "$build/found/$name" "$build/new/$name"
    log=$build/fuzz-$name.log
    seeds=()
    [ "$name" != run ] || seeds=("$build/seeds")
    if "$build/tests/fuzz_$name" -runs="$inputs" -max_len=4096 -timeout=20 -rss_limit_mb=4096 \
        -artifact_prefix="$build/found/$name/" "$build/new/$name" "${seeds[@]}" "$source/tests/fuzz/corpus/$name" >"$log" 2>&1; then
        ok "$name: $(tail -1 "$log")"
    else
        grep -vE '^#[0-9]+' "$log" | tail -40 >"$work/out"
        not_ok "$name; the input is in $build/found/$name/" "$work/out"
    fi
done
verdict
