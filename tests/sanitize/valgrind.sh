#!/bin/bash
# valgrind.sh BUILD_VALGRIND [TEST...]
#
# Unit tests with threads under Valgrind's Helgrind and DRD, out of a build of preset valgrind, whose atomic operations are
# announced to both (announced.h). A line for each test and tool; some minutes.
. "$(dirname "$0")/../integration/verdict.sh"
build=$(cd "${1:?usage: valgrind.sh BUILD_VALGRIND [TEST...]}" && pwd) || exit 2
shift
[ $# -gt 0 ] || set -- request book meter windows
cd "$work" || exit 2

for tool in helgrind drd; do
    for name in "$@"; do
        if timeout "${LIMIT:-900}" valgrind -q --tool=$tool --error-exitcode=66 --log-file="$work/log" \
            "$build/tests/test_$name" >"$work/out" 2>&1; then ok "$tool: $name"; else
            status=$?
            cat "$work/log" >>"$work/out"
            cp "$work/out" "${TMPDIR:-/tmp}/$tool-$name.txt"
            not_ok "$tool: $name: status $status (${TMPDIR:-/tmp}/$tool-$name.txt)" "$work/log"
        fi
    done
done
verdict
