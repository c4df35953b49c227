#!/bin/bash
# test_fuzz.sh BUILD_FUZZ READER [INPUTS]
#
# A fuzzer of a build of preset fuzz (run, columns, summary or names) reads a number of inputs, made of its corpus. What it
# finds stays in the build.
. "$(dirname "$0")/../integration/common/verdict.sh"
here=$(cd "$(dirname "$0")" && pwd)
usage="usage: test_fuzz.sh BUILD_FUZZ READER [INPUTS]"
build=$(cd "${1:?$usage}" && pwd) || exit 2
name=${2:?$usage} inputs=${3:-10000}

# An input has 4 bits for the number of its sample. The six samples are numbers 1 to 6 and 7 to 12.
mkdir -p "$work/samples" "$work/seeds" "$build/found/$name" "$build/new/$name" || exit 2
for packed in "$here/../samples/run"/*.mpit.xz; do xz -dc "$packed" >"$work/samples/$(basename "$packed" .xz)"; done
samples=("$work/samples"/*)
check "the fuzzer gets six samples" [ "${#samples[@]}" = 6 ]
for digit in 7 8 9 a b c; do printf '%b' "\\x${digit}0" >"$work/seeds/$digit"; done
seeds=()
[ "$name" != run ] || seeds=("$work/seeds")
export MPIT_FUZZ_SAMPLES="${samples[*]}"
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
if "$build/tests/fuzz_$name" -runs="$inputs" -max_len=4096 -timeout=20 -rss_limit_mb=4096 \
    -artifact_prefix="$build/found/$name/" "$build/new/$name" "${seeds[@]}" "$here/corpus/$name" >"$work/log" 2>&1; then
    ok "$name: $(tail -1 "$work/log")"
else
    grep -vE '^#[0-9]+' "$work/log" | tail -40 >"$work/out"
    not_ok "$name; the input is in $build/found/$name/" "$work/out"
fi
verdict
