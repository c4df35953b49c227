#!/bin/bash
# valgrind.sh BUILD_VALGRIND [TEST...]
#
# Unit tests with threads under Valgrind's Helgrind and DRD, out of a build of preset valgrind, whose atomic operations are
# announced to both (announced.h), and whose tests do less (effort.h). A line for each test and tool. Helgrind takes 20 to 200
# seconds a test; DRD makes a segment of each announced edge and takes minutes to hours where readers spin, so that it gets
# those that have few edges. Named tests run under both.
. "$(dirname "$0")/../integration/common/verdict.sh"
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: valgrind.sh BUILD_VALGRIND [TEST...]}" && pwd) || exit 2
shift
# of a test with arguments: which of its cases have threads
declare -A cases=([commreuse]='threads_*') chosen=([helgrind]='request requestcrowds book meter windows windowraces instrument commreuse' [drd]='request requestcrowds instrument')
[ $# -gt 0 ] && chosen=([helgrind]="$*" [drd]="$*")
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
    for name in ${chosen[$tool]}; do
        if timeout "${LIMIT:-900}" valgrind -q --fair-sched=yes --tool=$tool --error-exitcode=66 --log-file="$work/log" \
            "$build/tests/test_$name" ${cases[$name]:+"${cases[$name]}"} >"$work/out" 2>&1; then ok "$tool: $name"; else
            status=$?
            cat "$work/log" >>"$work/out"
            cp "$work/out" "${TMPDIR:-/tmp}/$tool-$name.txt"
            not_ok "$tool: $name: status $status (${TMPDIR:-/tmp}/$tool-$name.txt)" "$work/log"
        fi
    done
done
verdict
