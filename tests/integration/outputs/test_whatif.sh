#!/bin/bash
# test_whatif.sh BUILD_DIR
#
# mpit-dump --what-if predicts how long a run takes with one thing different. The truth is the same program (asked.c) with
# that thing different. On both MPIs. Latency and bandwidth: two hosts with a cable between them that takes time
# (farcable.py); where namespaces are not permitted this part is skipped.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../common/verdict.sh"
. "$here/../launch/hosts.sh"

# recorded_once ARGUMENTS: asked in $run. Each rank has a processor, also where both are on hosts of their own
recorded_once() {
    fresh_run
    "${on[@]}" "$build/bin/mpit-run" --quiet --trace --output "$run" "${launcher[@]}" -n "$ranks" \
        bash -c 'exec taskset -c $((${OMPI_COMM_WORLD_RANK:-$PMI_RANK} % 2)) "$@"' - "$build/tests/asked-$mpi" "$@" >"$work/log" 2>&1 </dev/null || { cat "$work/log" && return 1; }
}
# recorded ARGUMENTS: the shortest of three runs, in $run and $work/json: what disturbs a run makes it longer
recorded() {
    local i ns least='' shortest
    for i in 1 2 3; do
        recorded_once "$@" && "$build/bin/mpit-dump" --json "$run" >"$work/json.$i" || return
        ns=$(python3 -c 'import json, sys; print(int(1e9 * json.load(open(sys.argv[1]))["jobs"][0]["run_seconds"]["max"]))' "$work/json.$i")
        if [ -z "$least" ] || [ "$ns" -lt "$least" ]; then
            least=$ns shortest=$run
            cp "$work/json.$i" "$work/json"
        fi
    done
    run=$shortest
}
# predicts QUESTION ARGUMENTS: the run in $asked, and one with these arguments, are as QUESTION says
predicts() {
    local question=$1
    shift
    "$build/bin/mpit-dump" --json --what-if "$question" "$asked" >"$work/answer" || return 1
    recorded "$@" && python3 "$here/whatif.py" "$work/answer" "$work/json"
}

# asked_in_vain QUESTION STATUS WORDS: there is no answer, and why
asked_in_vain() {
    "$build/bin/mpit-dump" --what-if "$1" "$asked" >"$work/answer" 2>&1
    [ $? = "$2" ] && grep -q -- "$3" "$work/answer" || { cat "$work/answer" && return 1; }
}
# sensitive: --analyze says what more latency costs: a microsecond a thousandth of a millisecond
sensitive() {
    "$build/bin/mpit-dump" --json --analyze "$asked" >"$work/answer" && python3 -c '
import json, sys
network = json.load(open(sys.argv[1]))["jobs"][0]["network"]
print(network)
# 60 barriers, 30 exchanges and 30 sums. Who comes to a barrier much later than the other one does not wait for its message
assert network["unknown"] is None and 25e3 < network["ns_per_us_latency"] < 150e3, "cost"
assert network["latency_ns"] is None or 0 < network["latency_ns"] < 1e6 # None: no receive waited
assert network["bytes_per_second"] is None
run = json.load(open(sys.argv[1]))["jobs"][0]["efficiency"]["run_ns"]
# with more latency more ranks wait for messages, so that the cost grows faster
assert 0.2 < network["latency_tolerance_ns"] * network["ns_per_us_latency"] / 1e3 / (0.01 * run) < 1.05, "tolerance"' "$work/answer"
}

alone() {
    mpi=$1 ranks=2 on=() launcher=("mpirun.$1")
    there_is asked || return
    check "$mpi: it is recorded" recorded 60 4000 1 4000 1000 1
    asked=$run
    check "$mpi: rank 1 balanced" predicts 'rank 1 balanced' 60 4000 1 0 1000 1
    check "$mpi: a function free" predicts 'wait_for_all free' 60 4000 1 4000 1000 0
    check "$mpi: MPI_Barrier free" predicts 'MPI_Barrier free' 60 4000 1 4000 1000 0
    check "$mpi: sensitivities" sensitive
    for wrong in faster 'latency 5' 'latency x-1' 'latency x' 'bandwidth +1s' 'rank -1 balanced' 'rank 1' ' free'; do
        check "$mpi: '$wrong' is no question" asked_in_vain "$wrong" 2 "is no question; allowed are 'latency x0.5'"
    done
    check "$mpi: a rank that is not there" asked_in_vain 'rank 9 balanced' 1 "the run has no such rank"
    check "$mpi: a place that is not there" asked_in_vain 'nowhere.c:1 free' 1 "the run has no call there"
    check "$mpi: no large message" asked_in_vain 'bandwidth x2' 1 "the bandwidth is not known"
    check "$mpi: computing x0.5" predicts 'computing x0.5' 60 2000 1 2000 1000 1
}

# cable MICROSECONDS [BYTES_PER_MICROSECOND]
cable() {
    echo "$1 ${2:-0}" >"$work/cable"
    kill -USR1 "$cable_pid"
}

hosts_network() {
    echo "0 0" >"$work/cable"
    : >"$work/cable.log"
    python3 "$here/farcable.py" "$work/cable" "$(cat "$work/mpit-a.pid")" eth0 "$(cat "$work/mpit-b.pid")" eth0 >"$work/cable.log" &
    cable_pid=$!
    disown
    hosts_wait grep -q ready "$work/cable.log" || return
    local number=0 host
    for host in $hosts_names; do
        number=$((number + 1))
        hosts_on "$host" ip addr add "10.77.0.$number/24" dev eth0 && hosts_on "$host" ip link set eth0 up || return
    done
}

far() {
    mpi=$1 ranks=$2
    there_is asked || return
    mpirun_on "$mpi" "mpit-a:$((ranks / 2)),mpit-b:$((ranks / 2))"
    launcher=("${mpirun[@]}") on=(hosts_on mpit-a env)
    [ "$mpi" = openmpi ] || on+=(LD_PRELOAD="$build/tests/lateprogress.so") # a repair of MPICH's (lateprogress.c)
    cable 100
    check "$mpi: $ranks ranks on two hosts" recorded 200 2000 0 0 1000 0
    asked=$run
    for more in 100 500 2000; do
        cable $((100 + more))
        check "$mpi: latency +${more}us" predicts "latency +${more}us" 200 2000 0 0 1000 0
    done
    cable 1000
    check "$mpi: 1 ms" recorded 200 2000 0 0 1000 0
    asked=$run
    cable 500
    check "$mpi: latency x0.5" predicts 'latency x0.5' 200 2000 0 0 1000 0
    cable 100 20
    check "$mpi: 20 MB/s" recorded 20 1000 0 0 1000000 0
    asked=$run
    cable 100 10
    check "$mpi: bandwidth x0.5" predicts 'bandwidth x0.5' 20 1000 0 0 1000000 0
    cable 100 40
    check "$mpi: bandwidth x2" predicts 'bandwidth x2' 20 1000 0 0 1000000 0
}

if [ "${2:-}" != inside ]; then
    for mpi in openmpi mpich; do
        left_out $mpi || alone $mpi
    done
    if ! hosts_possible || [ ! -e /dev/net/tun ]; then
        skip "two hosts" "${hosts_refused:-there is no /dev/net/tun}"
        verdict
        exit
    fi
    verdict || exit 1
    shared=$(mktemp -d "$build/mpit-far.XXXXXX") || exit 2
    trap 'hosts_end; rm -rf "$work" "$shared"' EXIT
    trap 'exit 130' INT TERM HUP
    hosts_alone bash "$0" "$build" inside "$shared"
    exit $?
fi
rm -rf "$work"
trap - EXIT
work=$3 # the hosts share it
cd "$work" || exit 2
unset LD_PRELOAD "${!MPIT_@}" PRTE_MCA_rmaps_default_mapping_policy PRTE_MCA_mapby # each host gets its processes
export UCX_NET_DEVICES=eth0 UCX_TLS=tcp,self
if ! hosts_open "$work" "$build"; then
    not_ok "two hosts can be made"
    verdict
    exit 1
fi
for mpi in openmpi mpich; do
    left_out $mpi || far $mpi 2
done
verdict
