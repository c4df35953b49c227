#!/bin/bash
# test_threehosts.sh BUILD_DIR [OLDER_BUILD_DIR]
#
# Jobs on three hosts (hosts.sh), on both MPIs: clocks that are seconds apart and drift, directories that each host has for
# itself, a host without mpit, a host that dies, and a host with an older mpit (by hand: the build of an older version).
# Where namespaces are not permitted it is skipped (exit status 77), and says so.
here=$(cd "$(dirname "$0")" && pwd)
older=${2:-}
hosts_names="mpit-a mpit-b mpit-c mpit-d" # the last two die, one for each MPI
. "$here/../common/verdict.sh"
. "$here/hosts.sh"

if [ "${3:-}" != inside ]; then
    if ! hosts_possible; then
        skip "jobs on three hosts" "$hosts_refused"
        verdict
        exit
    fi
    shared=$(mktemp -d "$build/mpit-three.XXXXXX") || exit 2
    trap 'hosts_end; rm -rf "$work" "$shared"' EXIT
    trap 'exit 130' INT TERM HUP
    hosts_alone bash "$0" "$build" "$older" inside "$shared"
    exit $?
fi
rm -rf "$work"
trap - EXIT
work=$4 # the hosts share it
cd "$work" || exit 2
unset LD_PRELOAD "${!MPIT_@}" PRTE_MCA_rmaps_default_mapping_policy PRTE_MCA_mapby # each host gets its process
export UCX_NET_DEVICES=eth0 UCX_TLS=tcp,self

# gives NAME STATUS COMMAND...: on mpit-a, with what it prints in the files out and err.
gives() {
    local name=$1 wanted=$2 status
    shift 2
    hosts_on mpit-a env ${late:+LD_PRELOAD="$late"} timeout --kill-after=5 90 "$@" >out 2>err </dev/null
    status=$?
    if [ "$status" = "$wanted" ]; then ok "$name"; else
        (echo "status $status, wanted $wanted" && cat err out) >checked
        not_ok "$name" checked
    fi
}
says() { if grep -Eq -- "$2" "$1"; then ok "  $1 says: $2"; else not_ok "  $1 says: $2" "$1"; fi; }
# jobs DIRECTORY EXPRESSION: true of the list of its jobs
jobs() {
    "$build/bin/mpit-dump" --json "$1" >summary.json 2>dump.err
    python3 -c '
import json, sys
jobs = json.load(open("summary.json"))["jobs"]
found = [(job["world_size"], job["ranks"]) for job in jobs]
assert eval(sys.argv[1]), found' "$2" || { cat dump.err && return 1; }
}
# everywhere COMMAND...: on each host that lives
everywhere() {
    local host
    for host in $hosts_names; do hosts_on "$host" "$@" 2>/dev/null; done
}
sums_to_one() { # the parts that each host has kept for itself make one job
    rm -rf together && mkdir together
    # shellcheck disable=SC2016 # words of the inner shell
    hosts_wait sh -c '[ -z "$(pgrep mpit-collect)" ]'
    # shellcheck disable=SC2016
    everywhere sh -c 'cp "$0"/logs/* "$1"' "$work/private" "$work/together"
    check "  the parts of all hosts together are one job" jobs together "$1"
}
always_on() { # a command that the launcher starts, with the library and a directory of its host's own
    words=(env LD_PRELOAD="$build/lib/libmpit.so${late:+:$late}" MPIT_OUTPUT="$work/private/logs" "$@")
}

clocks() {
    local faults="0:0,2300000000:60,-5100000000:-80" run=$work/clocks
    export FAULT_NODES=$faults FAULT_BEGIN_NS
    FAULT_BEGIN_NS=$(python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))')
    gives "$mpi: clocks that are 7 s apart, and drift by 140 ppm" 0 env LD_PRELOAD="$build/tests/faultyclock.so${late:+:$late}" \
        "$build/bin/mpit-run" --quiet --trace --output "$run" "${mpirun[@]}" -n 3 \
        env FAULT_NODES=$faults FAULT_BEGIN_NS="$FAULT_BEGIN_NS" \
        bash -c "exec env LD_PRELOAD=$build/tests/faultyclock.so:\$LD_PRELOAD $build/tests/messages-$mpi 500"
    unset FAULT_NODES FAULT_BEGIN_NS
    check "  is one job of three ranks" jobs "$run" 'found == [(3, 3)]'
    check "  its trace equals the counters" "$build/bin/mpit-dump" --verify "$run"
    FAULT_NODES=$faults FAULT_BEGIN_NS=0 "$build/tests/clocktruth" "$run" >truth 2>&1
    check "  no message arrives before it is sent" grep -qE 'messages [1-9][0-9]* early 0 ' truth
    rm -rf "$run"
}

one_file_without_trace() {
    local files=("$1"/*.mpit)
    [ ${#files[@]} = 1 ] && ! "$build/bin/mpit-dump" --events "$1" >/dev/null 2>&1 || { ls -l "$1" && return 1; }
}
# plain NAME EXPRESSION [VARIABLE=VALUE]: a run without --trace on hosts whose clocks are 7 s apart. Rank 1 computes longer, and
# the short traces of all hosts tell it. Then they go, and the job is one file
plain() {
    local faults="0:0,2300000000:60,-5100000000:-80" run=$work/plain
    export FAULT_NODES=$faults FAULT_BEGIN_NS
    FAULT_BEGIN_NS=$(python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))')
    gives "$mpi: $1" 0 env LD_PRELOAD="$build/tests/faultyclock.so${late:+:$late}" "${@:3}" \
        "$build/bin/mpit-run" --quiet --output "$run" "${mpirun[@]}" -n 3 \
        env FAULT_NODES=$faults FAULT_BEGIN_NS="$FAULT_BEGIN_NS" \
        bash -c "exec env LD_PRELOAD=$build/tests/faultyclock.so:\$LD_PRELOAD $build/tests/diseases-$mpi load_imbalance $work"
    unset FAULT_NODES FAULT_BEGIN_NS
    check "  is one job of three ranks" jobs "$run" 'found == [(3, 3)]'
    check "  is one file, without a trace" one_file_without_trace "$run"
    check "  its finding: $2" python3 -c '
import json, sys
job = json.load(open("summary.json"))["jobs"][0]
part, run, first = job["analysed_seconds"], job["run_seconds"]["max"], (job["findings"] or [{"rule": "none"}])[0]
assert eval(sys.argv[1]), (part, run, first)' "$2"
    rm -rf "$run"
}

apart() {
    everywhere rm -rf "$work/private/logs"
    always_on "${heat[@]}"
    gives "$mpi: always on, each host has a directory of its own" 0 "${mpirun[@]}" -n 3 "${words[@]}"
    sums_to_one 'found == [(3, 3)]'
}

without_library() {
    everywhere rm -rf "$work/private/logs"
    hosts_on "$third" mount -t tmpfs tmpfs "$build/lib"
    always_on "${heat[@]}"
    gives "$mpi: a host without mpit" 0 "${mpirun[@]}" -n 3 "${words[@]}"
    says err "ld.so: object .*libmpit.so.* cannot be preloaded"
    hosts_on "$third" umount "$build/lib"
    sums_to_one 'found == [(3, 2)]'
    "$build/bin/mpit-dump" together >out 2>&1
    says out "rank 2 is missing|ranks +3, 2 of them recorded"
}

# What an epilog does on the hosts that live. The launcher may end their processes a while after its own end.
two_are_kept() {
    local host
    rm -rf together && mkdir together
    for host in mpit-a mpit-b; do
        hosts_on $host env MPIT_OUTPUT="$work/private/logs" "$build/bin/mpit-collect" --all
        # shellcheck disable=SC2016 # words of the inner shell
        hosts_on $host sh -c 'cp "$0"/logs/* "$1"' "$work/private" "$work/together"
    done
    jobs together 'found == [(3, 2)]'
}

# Its processes are gone, and so are their live files. The other ranks are ended by the launcher.
host_dies() {
    local job
    everywhere rm -rf "$work/private/logs"
    always_on "$build/tests/heat-$mpi" --rows 64 --columns 64 --steps 100000000
    hosts_on mpit-a timeout --kill-after=5 60 "${mpirun[@]}" -n 3 "${words[@]}" >out 2>err </dev/null &
    job=$!
    # shellcheck disable=SC2016 # words of the inner shell
    check "$mpi: a host that dies while a job runs" hosts_wait hosts_on "$third" bash -c 'ls /dev/shm/mpit-*/*/*.mpit'
    sleep 1
    hosts_die "$third"
    wait $job
    local status=$?
    check "  the job ends (status $status), and not by the time limit" test $status != 124 -a $status != 137
    check "  the other two ranks are kept" hosts_wait two_are_kept
    "$build/bin/mpit-dump" together >out 2>&1
    says out "rank 2 is missing|ranks +3, 2 of them recorded"
}

older_host() {
    if [ -z "$older" ]; then
        skip "$mpi: a host with an older mpit" "the build of an older version was not named"
        return
    fi
    everywhere rm -rf "$work/private/logs"
    cp -r "$older/lib" older-lib # the hosts share it
    check "$mpi: an older mpit on one host" hosts_on "$third" mount --bind "$work/older-lib" "$build/lib"
    always_on "${heat[@]}"
    gives "  a job" 0 "${mpirun[@]}" -n 3 "${words[@]}"
    sums_to_one 'len(jobs) == 1 and sum(job["ranks"] for job in jobs) == 3'
    gives "  and with a trace" 0 "$build/bin/mpit-run" --trace --output "$work/mixed" "${mpirun[@]}" -n 3 "${heat[@]}"
    check "  one job of three ranks" jobs "$work/mixed" 'found == [(3, 3)]'
    check "  its trace equals the counters" "$build/bin/mpit-dump" --verify "$work/mixed"
    rm -rf mixed older-lib
    hosts_on "$third" umount "$build/lib"
}

if ! hosts_open "$work" "$build"; then
    not_ok "three hosts can be made"
    verdict
    exit 1
fi
for mpi in openmpi mpich; do
    there_is heat || continue
    heat=("$build/tests/heat-$mpi" --rows 64 --columns 64 --steps 200)
    # late: a repair of MPICH's (lateprogress.c)
    if [ $mpi = openmpi ]; then third=mpit-c late=; else third=mpit-d late=$build/tests/lateprogress.so; fi
    mpirun_on $mpi mpit-a:1,mpit-b:1,$third:1
    gives "$mpi: heat without mpit" 0 "${mpirun[@]}" -n 3 "${heat[@]}"
    clocks
    plain "a plain run on hosts whose clocks are apart" 'part == run and first["rule"] == "load_imbalance" and first["ranks"] == [1] and 0.3 < first["seconds"] < 0.65'
    plain "and if their clocks are not measured" 'part is None and (job["not_judged"] or first["rule"] == "load_imbalance")' MPIT_CLOCK_SYNC=none
    apart
    without_library
    older_host
    host_dies
done
verdict
