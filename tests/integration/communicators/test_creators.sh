#!/bin/bash
# test_creators.sh BUILD_DIR
#
# The program creators makes communicators in all the ways there are and counts what it does on each: mpit knows each of
# them by the same name on all ranks, and counts the same. Worlds that were spawned, jobs that meet, threads, sessions.
# MPICH's ch4:ucx can neither spawn nor connect: there the calls fail as they do without mpit, and make nothing.
. "$(dirname "$0")/../common/verdict.sh"
check=$(cd "$(dirname "$0")" && pwd)/creators.py
PATH=$build/bin:$PATH

# judged NAME RUN OUTPUT [CALL=COUNT...]: what lies in the run directory, against what the program said
judged() {
    local name=$1 run=$2 said=$3
    shift 3
    mpit-dump --json "$run" >"$run.json" 2>"$work/err" && mpit-dump --events "$run" >"$run.events" 2>>"$work/err" ||
        not_ok "$name: mpit-dump" "$work/err"
    if python3 "$check" "$said" "$run.json" "$run.events" "$@" >"$work/out" 2>&1; then
        ok "$name: $(tail -n 1 "$work/out")"
    else
        not_ok "$name: the same names and counts" "$work/out"
    fi
    check "$name: the trace gives the tallies" mpit-dump --verify "$run"
    if mpit-dump --otf2 "$run/archive" "$run" >"$work/out" 2>&1; then
        find "$run/archive" -name traces.otf2 -printf '%h\n' >"$work/archives"
        [ -s "$work/archives" ] || not_ok "$name: there is an archive" "$work/out"
        while read -r archive; do
            check "$name: an archive holds" sound "$archive"
        done <"$work/archives"
    else
        not_ok "$name: the archive is written" "$work/out"
    fi
}

# creators MPI RANKS MODE [CALL=COUNT...]
creators() {
    local mpi=$1 ranks=$2 mode=$3 name="$3-$1" run=$work/run-$1-$3
    shift 3
    mkdir "$run.scratch" "$run.lines"
    CREATORS_SAID=$run.lines record="mpit-run --quiet --trace --output $run" launch "$mpi" "$ranks" \
        "$build/tests/creators-$mpi" "$mode" "$run.scratch" >"$run.said" 2>"$work/err" </dev/null
    local status=$?
    cat "$run.lines"/* >>"$run.said" # a launcher may cut what ranks print, and put it together in any order
    if [ $status -eq 0 ]; then ok "$name runs"; else
        cat "$run.said" >>"$work/err"
        not_ok "$name runs (status $status)" "$work/err"
    fi
    judged "$name" "$run" "$run.said" "$@"
}

# meeting: two jobs, which need a server that both can reach
meeting() {
    local run=$work/run-meeting uri=$work/uri server client status=0
    timeout 120 ompi-server --no-daemonize -r "$uri" >"$work/server" 2>&1 </dev/null &
    local names=$!
    for _ in $(seq 300); do [ -s "$uri" ] || sleep 0.1; done
    mkdir "$run.scratch"
    record="mpit-run --quiet --trace --output $run" launch openmpi 2 --ompi-server "file:$uri" \
        "$build/tests/creators-openmpi" server "$run.scratch" >"$run.server" 2>"$work/err1" </dev/null &
    server=$!
    record="mpit-run --quiet --trace --output $run-client" launch openmpi 1 --ompi-server "file:$uri" \
        "$build/tests/creators-openmpi" client "$run.scratch" >"$run.client" 2>"$work/err2" </dev/null &
    client=$!
    wait $server || status=$?
    wait $client || status=$?
    kill "$names" 2>/dev/null
    cat "$run.server" "$run.client" >"$run.said"
    if [ $status -eq 0 ]; then ok "two jobs meet"; else
        cat "$run.said" "$work/err1" "$work/err2" "$work/server" >"$work/out"
        not_ok "two jobs meet (status $status)" "$work/out"
    fi
    mv "$run-client"/*.mpit "$run" # one directory has both jobs
    judged "two jobs" "$run" "$run.said" MPI_Comm_accept=2 MPI_Comm_connect=1
}

# summaries DIRECTORY: worlds that were spawned are told from the one that was not. Open MPI 5 does not say by whom.
summaries() {
    local tree wanted="[(1, True, 2), (2, False, 0), (2, True, 2), (3, True, 2)]" line="spawned by job [0-9a-f]*"
    if [ $worlds = 2 ]; then wanted="[(2, False, 0), (2, True, 0)]" line="spawned by another job"; fi
    tree=$(python3 -c 'import json, sys
jobs = {j["job"]: j for j in json.load(open(sys.argv[1]))["jobs"]}
chain = sorted((j["world_size"], j["spawned"], jobs[j["spawned_by"]]["world_size"] if j["spawned_by"] else 0)
               for j in jobs.values())
print(chain)' "$1.json" 2>&1)
    if [ "$tree" = "$wanted" ]; then
        ok "$worlds worlds, and who spawned which"
    else
        not_ok "$worlds worlds, and who spawned which: $tree"
    fi
    mpit-dump --full "$1" >"$work/out" 2>&1
    if [ "$(grep -c "^  $line$" "$work/out")" = $((worlds - 1)) ]; then ok "the summary says so"; else
        not_ok "the summary says so" "$work/out"
    fi
}

# together: without a trace each world has its summary, connected as they are
together() {
    local run=$work/run-together
    mkdir "$run.scratch"
    record="mpit-run --quiet --output $run" launch openmpi 2 "$build/tests/creators-openmpi" spawn "$run.scratch" \
        >"$run.said" 2>"$work/err" </dev/null || not_ok "spawning without a trace" "$work/err"
    mpit-dump --json "$run" >"$run.json" 2>"$work/err" || not_ok "spawning without a trace: mpit-dump" "$work/err"
    if python3 "$check" "$run.said" "$run.json" /dev/null "${spawned[@]}" >"$work/out" 2>&1; then
        ok "spawning without a trace: $(tail -n 1 "$work/out")"
    else
        not_ok "spawning without a trace" "$work/out"
    fi
    if [ "$(find "$run" -name '*.mpit' | wc -l)" = "$worlds" ]; then
        ok "$worlds summaries"
    else
        find "$run" >"$work/out"
        not_ok "$worlds summaries" "$work/out"
    fi
}

# idups CASE NAME...: communicators of these names, each with two collectives a rank, and none else but MPI's own
idups() {
    local case=$1 run=$work/run-$mpi-idup-$1
    shift
    record="mpit-run --quiet --trace --output $run" launch "$mpi" 2 "$build/tests/idups-$mpi" "$case" \
        >"$work/out" 2>&1 </dev/null && [ "$(grep -o right "$work/out" | wc -l)" = 2 ] || {
        not_ok "idup, $case, $mpi" "$work/out"
        return
    }
    mpit-dump --json "$run" 2>"$work/out" | python3 -c 'import json, sys
job, = json.load(sys.stdin)["jobs"]
seen = {c["name"]: c["coll_count"] for c in job["communicators"]
        if c["name"] not in ("MPI_COMM_WORLD", "MPI_COMM_SELF")}
lost = {cause: count for cause, count in job["lost"].items() if count}
print(seen, lost)
sys.exit(seen != {name: 4 for name in sys.argv[1:]} or bool(lost))' "$@" >>"$work/out" 2>&1 &&
        mpit-dump --verify "$run" >>"$work/out" 2>&1 && ok "idup, $case, $mpi" || not_ok "idup, $case, $mpi" "$work/out"
}

names=(MPI_Publish_name=1 MPI_Lookup_name=1 MPI_Unpublish_name=1)
for mpi in openmpi mpich; do
    there_is creators || continue
    connected=(MPI_Open_port=3 MPI_Close_port=3 MPI_Comm_accept=4 MPI_Comm_connect=4 MPI_Comm_join=2)
    mkdir "$work/native"
    if ! limit=30 launch $mpi 4 "$build/tests/creators-$mpi" here "$work/native" >"$work/out" 2>&1 </dev/null; then
        skip "$mpi: halves of a world that meet" "MPI_Comm_connect does not return, without mpit either" # MPICH 5.0.2
        export CREATORS_UNCONNECTED=1
        connected=(MPI_Open_port=1 MPI_Close_port=1)
    fi
    rm -rf "$work/native"
    creators $mpi 4 here "${names[@]}" "${connected[@]}" MPI_Comm_create_group=15 MPI_Intercomm_create=12 MPI_Intercomm_merge=8
    unset CREATORS_UNCONNECTED
    for case in grow unmapped value overwritten; do
        idups $case MPI_COMM_WORLD/idup#{1..4}
    done
    idups told MPI_COMM_WORLD/idup#{1,3,5,7} MPI_COMM_WORLD/split#{2,4,6,8}:0
    creators $mpi 4 threads MPI_Comm_create_group=160
    if [ $mpi = openmpi ]; then
        worlds=4 spawned=(MPI_Comm_spawn=4 MPI_Comm_spawn_multiple=2)
        if [ "$openmpi_version" -ge 5 ]; then
            skip "$mpi: several worlds" "Open MPI 5.0.7 crashes, without mpit, too"
            export CREATORS_ONE_WORLD=1
            worlds=2 spawned=(MPI_Comm_spawn=2)
        fi
        creators $mpi 2 spawn "${spawned[@]}" MPI_Comm_get_parent=$((2 * worlds))
        summaries "$work/run-openmpi-spawn"
        together
        if command -v ompi-server >/dev/null; then meeting; else skip "two jobs meet" "there is no ompi-server"; fi
    fi
    if [ $mpi = mpich ] || [ "$openmpi_version" -ge 5 ]; then
        creators $mpi 4 sessions MPI_Session_init=8 MPI_Session_finalize=8 MPI_Comm_create_from_group=8 \
            MPI_Intercomm_create_from_groups=4
        creators $mpi 4 around MPI_Session_init=8 MPI_Session_finalize=8 MPI_Init=4 MPI_Finalize=4
    fi
done
verdict
