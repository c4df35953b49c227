#!/bin/bash
# valgrind.sh BUILD_VALGRIND [TEST...]
#
# Unit tests with threads under Valgrind's Helgrind and DRD, out of a build of preset valgrind, whose atomic operations are
# announced to both (announced.h). A line for each test and tool; some minutes.
. "$(dirname "$0")/../integration/verdict.sh"
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: valgrind.sh BUILD_VALGRIND [TEST...]}" && pwd) || exit 2
shift
[ $# -gt 0 ] || set -- request book meter windows commreuse instrument storm
cd "$work" || exit 2

# reported TOOL WANTED FLAG...: whether published.c has a report
reported() {
    local tool=$1 wanted=$2 got=yes
    shift 2
    cc -g -include "$here/announced.h" "$@" "$here/published.c" -o published -lpthread || exit 2
    valgrind -q --fair-sched=yes --tool="$tool" --error-exitcode=66 ./published >"$work/out" 2>&1 && got=no
    if [ $got = "$wanted" ]; then ok "$tool: published $*: reported: $got"; else
        not_ok "$tool: published $*: reported: $got" "$work/out"
    fi
}

for tool in helgrind drd; do
    reported $tool no
    reported $tool yes -DORDER=__ATOMIC_RELAXED
    reported $tool yes -DPLAIN
    for name in "$@"; do
        if timeout "${LIMIT:-900}" valgrind -q --fair-sched=yes --tool=$tool --error-exitcode=66 --log-file="$work/log" \
            "$build/tests/test_$name" >"$work/out" 2>&1; then ok "$tool: $name"; else
            status=$?
            cat "$work/log" >>"$work/out"
            cp "$work/out" "${TMPDIR:-/tmp}/$tool-$name.txt"
            not_ok "$tool: $name: status $status (${TMPDIR:-/tmp}/$tool-$name.txt)" "$work/log"
        fi
    done
done
verdict
