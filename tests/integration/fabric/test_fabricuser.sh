#!/bin/bash
# test_fabricuser.sh BUILD_DIR
#
# Programs that use libfabric or UCX without MPI: operations, bytes, polls, refusals, errors and what is outstanding are
# what the program itself has counted; the trace says the same; and so for fi_pingpong.
. "$(dirname "$0")/../common/verdict.sh"
here=$(cd "$(dirname "$0")" && pwd)
PATH=$build/bin:$PATH

# counted NAME PROGRAM ARGUMENT...: its last arguments say whether there are threads
counted() {
    local name=$1 run=$work/run
    shift
    timeout --kill-after=10 60 mpit-run --quiet --trace --fabric --output "$run" "$@" >"$work/own" 2>"$work/err" </dev/null
    local status=$?
    if [ $status = 77 ]; then skip "$name" "$(head -n 1 "$work/err")"; rm -rf "$run"; return; fi
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
else
    skip "programs of libfabric" "this build has none"
fi
user=$build/tests/ucxuser
if [ -x "$user" ]; then
    for transport in tcp,self sm,self; do
        export UCX_TLS=$transport
        counted "ucx on $transport, sleeping in callbacks" "$user" sleepy
        counted "ucx on $transport, cancelled and truncated" "$user" odd
        counted "ucx on $transport, all kinds" "$user" flushes tags callbacks rma actives atomics streams odd tags
    done
    unset UCX_TLS
else
    skip "programs of UCX" "this build has none"
fi

# pingpong_once PROVIDER TYPE [record]: 50 messages each way, and one that says the end
pingpong_once() {
    local port=$((20000 + RANDOM % 20000)) server=() client=() status # another one may have the port
    if [ "${3:-}" = record ]; then
        rm -rf "$work/server" "$work/client"
        server=(mpit-run --quiet --output "$work/server")
        client=(mpit-run --quiet --output "$work/client")
    fi
    timeout --kill-after=5 30 "${server[@]}" fi_pingpong -p "$1" -e "$2" -d lo -I 50 -S 64 -B $port >"$work/out" 2>&1 &
    for _ in {1..100}; do
        if ss -Hltn "sport = :$port" | grep -q .; then break; fi
        sleep 0.1
    done
    timeout --kill-after=5 30 "${client[@]}" fi_pingpong -p "$1" -e "$2" -d lo -I 50 -S 64 -P $port 127.0.0.1 >>"$work/out" 2>&1
    status=$?
    wait $! && [ $status = 0 ]
}

# pingpong PROVIDER TYPE
pingpong() {
    local name="fi_pingpong, $1, $2" side
    pingpong_once "$@" record || pingpong_once "$@" record || pingpong_once "$@" record || {
        if ! pingpong_once "$@" && ! pingpong_once "$@"; then
            skip "$name" "it fails without mpit, too: $(tail -n 1 "$work/out")"
            return
        fi
    }
    for side in server client; do
        mpit-dump --json "$work/$side" >"$work/json" 2>>"$work/out"
        check "$name, $side: sends and receives are what it was told to do" python3 - "$work/json" "$1" <<'PYTHON'
import json, sys
providers = json.load(open(sys.argv[1]))["jobs"][0]["fabric"]["providers"]
counts = {name: f["count"] for name, f in providers[0]["functions"].items()}
sends, receives = counts.get("fi_send", 0) + counts.get("fi_inject", 0), counts.get("fi_recv", 0)
bytes_ = sum(providers[0]["functions"].get(f, {"bytes": 0})["bytes"] for f in ("fi_send", "fi_inject"))
# a buffer is posted ahead; one for the message that says the end
good = (len(providers), providers[0]["provider"], sends, bytes_, counts.get("fi_sendmsg")) == (1, sys.argv[2], 50, 3200, 1)
if not good or receives not in (51, 52) or providers[0]["completed"] > providers[0]["started"]:
    sys.exit(f"{providers}")
PYTHON
    done
}
if command -v fi_pingpong >/dev/null; then
    for way in "tcp msg" "tcp;ofi_rxm rdm" "net rdm" "sockets msg" "sockets rdm" "sockets dgram" "udp dgram"; do
        pingpong $way
    done
else
    skip fi_pingpong "it is not installed"
fi
verdict
