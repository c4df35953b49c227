#!/bin/bash
# test_fabricuser.sh BUILD_DIR
#
# Programs that use libfabric or UCX without MPI: operations, bytes, polls, refusals, errors and what is outstanding are
# what the program itself has counted; the trace says the same; and so for fi_pingpong.
. "$(dirname "$0")/verdict.sh"
build=$(cd "${1:?usage: test_fabricuser.sh BUILD_DIR}" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
PATH=$build/bin:$PATH

# counted NAME PROGRAM ARGUMENT...: its last arguments say whether there are threads
counted() {
    local name=$1 run=$work/run
    shift
    timeout --kill-after=10 60 mpit-run --quiet --trace --fabric --output "$run" "$@" >"$work/own" 2>"$work/err" </dev/null
    local status=$?
    if [ $status = 77 ]; then echo "# $name: $(head -n 1 "$work/err")"; rm -rf "$run"; return; fi
    if [ $status = 0 ]; then ok "$name"; else not_ok "$name (status $status)" "$work/err"; fi
    mpit-dump --json "$run" >"$work/json"
    check "$name: the summary has what the program has counted" python3 "$here/userbook.py" "$work/json" "$work/own" "${@: -1}"
    check "$name: replayed, the trace gives the same" mpit-dump --verify "$run"
    rm -rf "$run"
}

user=$build/tests/fabricuser
if [ -x "$user" ]; then
    for provider in "tcp;ofi_rxm" net sockets; do
        for case in messages tagged rma peek cancelled truncated multi chosen threads; do
            [ "$provider, $case" != "net, chosen" ] || continue # it tells of all sends, chosen or not
            counted "$provider, $case" "$user" "$provider" $case
        done
    done
    counted "sockets, all that it alone can" "$user" sockets messages atomics refused shared scalable
    counted "sockets, mixed" "$user" sockets messages tagged cancelled truncated messages threads
fi
verdict
