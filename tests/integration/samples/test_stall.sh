#!/bin/bash
# test_stall.sh BUILD_DIR
#
# Work and stall: waits whose length the program knows (stall.c) on each way that the MPI libraries make progress, live, in the
# summary and in the replayed trace; and a profiler that asks for the state in a signal handler (collector.c).
. "$(dirname "$0")/../common/verdict.sh"
PATH=$build/bin:$PATH
declare -A ways=([ob1]="--mca pml ob1" [tcp]="--mca pml ob1 --mca btl tcp,self" [ofi]="--mca pml cm --mca mtl ofi"
    [ucx]="--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any")

# goes WAY: the MPI itself can go this way, without mpit
goes() {
    # shellcheck disable=SC2086
    timeout 60 mpirun.$mpi ${ways[$1]:-} -n 2 "$build/tests/heat-$mpi" --steps 2 >"$work/out" 2>&1 </dev/null && return
    skip "$mpi, $1" "no program runs this way, without mpit either"
    return 1
}

# recorded NAME RUN PROGRAM...: under mpit-run with a trace; each line of the program's that is not ok fails. With $guarded what
# a poll does in the C library is seen, too: sockets move a message on, and Open MPI's yield gives the processor to the other
recorded() {
    local name=$1 run=$2
    shift 2
    # shellcheck disable=SC2086
    timeout 200 mpit-run --quiet --trace ${guarded:-} --output "$run" "$@" >"$work/out" 2>"$work/err" </dev/null
    local status=$?
    cat "$work/err" >>"$work/out"
    local wrong large
    wrong=$(grep -c '^WRONG' "$work/out") large=$(grep -c '^WRONG: large transfer' "$work/out")
    if [ "$name" = ofi ] && [ $status -eq 1 ] && [ "$wrong" -gt 0 ] && [ "$wrong" = "$large" ] &&
        [ "$(grep -c '^ok: ' "$work/out")" -ge 20 ]; then
        ok "$name: $(grep -c '^ok: ' "$work/out") cases are as the program says (known: of a large transfer too little is work)"
    elif [ $status -eq 0 ] && [ "$wrong" = 0 ] && grep -q '^ok: ' "$work/out"; then
        ok "$name: $(grep -c '^ok: ' "$work/out") cases are as the program says"
    else
        not_ok "$name: status $status" "$work/out"
    fi
}

# told RUN NAME: the summary knows it, and the trace is replayed to the same
told() {
    if mpit-dump --verify "$1" >"$work/out" 2>&1; then ok "$2: the replay has the same stalls"; else
        not_ok "$2: --verify" "$work/out"
    fi
    mpit-dump --json "$1" >"$work/json" 2>&1
    if python3 - "$work/json" >"$work/out" 2>&1 <<'EOF'; then ok "$2: the summary's stalls add up"; else not_ok "$2: the summary" "$work/out"; fi
import json, sys
job = json.load(open(sys.argv[1]))["jobs"][0]
by_reason, by_call = sum(job["stalls_ns"].values()), sum(call["stall_ns"] or 0 for call in job["calls"].values())
print(job["stalls_ns"], by_call)
# each is rounded to nanoseconds by itself
assert abs(by_reason - by_call) <= len(job["calls"]) * job["ranks"] + 10
assert job["calls"]["MPI_Init"]["stall_ns"] is None
assert all((call["stall_ns"] or 0) <= call["time_ns"] for call in job["calls"].values())
assert job["calls"]["MPI_Test"]["stall_ns"] == 0 and job["calls"]["MPI_Irecv"]["stall_ns"] == 0
assert all(job["stalls_ns"][reason] > 0 for reason in ("stall_send", "stall_recv", "stall_coll", "stall_wait", "stall_other"))
world = [comm for comm in job["communicators"] if comm["name"] == "MPI_COMM_WORLD"][0]
assert 0 < world["stall_ns"] <= by_reason + 10
EOF
}

# crowded: on two processors beside a busy loop, also with more processes than processors; Open MPI's polls yield or do not
crowded() {
    local ranks yields busy
    taskset -c 0,1 sh -c 'while :; do :; done' &
    busy=$!
    for ranks in 2 4; do
        for yields in 0 $([ $mpi = mpich ] || echo 1); do
            if OMPI_MCA_mpi_yield_when_idle=$yields timeout 120 taskset -c 0,1 mpit-run --quiet --output \
                "$work/crowd-$mpi-$ranks-$yields" mpirun.$mpi -n $ranks "$build/tests/stallcrowd-$mpi" \
                >"$work/out" 2>&1 </dev/null; then
                ok "$mpi, $ranks processes, yields $yields: stalls are the waits"
            else
                not_ok "$mpi, $ranks processes, yields $yields: stalls" "$work/out"
            fi
        done
    done
    kill $busy
    wait $busy 2>/dev/null
}

for mpi in openmpi mpich; do
    there_is stall || continue
    names=mpich
    [ $mpi = openmpi ] && names="ob1 tcp ucx ofi"
    for way in $names; do
        guarded=
        [[ $way == ucx ]] || guarded="--sample 0"
        # shellcheck disable=SC2086
        goes "$way" && recorded "$way" "$work/$way" mpirun.$mpi ${ways[$way]:-} -n 2 "$build/tests/stall-$mpi" 50 && told "$work/$way" "$way"
    done
    crowded
    guarded=
    recorded "$mpi: threads" "$work/threads-$mpi" mpirun.$mpi -n 2 "$build/tests/stallthreads-$mpi" 100
    recorded "$mpi: sampled" "$work/sampled-$mpi" mpirun.$mpi -n 2 "$build/tests/collector-$mpi" 200
done
verdict
