#!/bin/bash
# test_children.sh BUILD_DIR
#
# Programs that fork, exec and the like (all cases of children.c) on both MPIs, with a trace and without: the parent's numbers are its
# own, no child leaves a file or touches one, and an MPI program that is started so has a run of its own.
. "$(dirname "$0")/../common/verdict.sh"
here=$(cd "$(dirname "$0")" && pwd)
PATH=$build/bin:$PATH
ranks=2

cases="at-once exits leaves thread-exits stays exec-plain exec-mpi vfork spawn shell daemon windows among-threads"

# counted RUN: prints what is wrong with it
counted() {
    mpit-dump --json "$1" >"$work/json" && python3 - "$work/json" "$work/out" $ranks <<'PYTHON'
import json, sys
jobs = json.load(open(sys.argv[1]))["jobs"]
expected = int(dict(line.split() for line in open(sys.argv[2]) if len(line.split()) == 2)["messages"])
ranks = int(sys.argv[3])
def facts(job):
    world = [c for c in job["communicators"] if c["name"] == "MPI_COMM_WORLD"][0]
    return job["ranks"], job["calls"]["MPI_Sendrecv"]["count"], world["send_count"], world["recv_count"]
got = sorted(map(facts, jobs))
wanted = sorted([(ranks, expected, expected, expected)] + [(1, 7, 7, 7)] * ranks)
if got != wanted:
    sys.exit(f"(ranks, MPI_Sendrecv, sent, received) of the jobs are {got}, not {wanted}")
PYTHON
}

# files RUN: a job file for each of the jobs (the ranks' and one for each that a rank has started); nothing else
files() {
    ls -A "$1"
    [ "$(find "$1" -name '*.mpit' | wc -l) $(find "$1" -type f | wc -l)" = "$((1 + ranks)) $((1 + ranks))" ]
}

for mpi in openmpi mpich; do
    there_is children || continue
    for trace in 0 1; do
        name="$mpi, trace $trace" run=$work/$mpi-$trace
        # shellcheck disable=SC2086
        if MPIT_TRACE=$trace MPIT_OUTPUT=$run launch $mpi $ranks env LD_PRELOAD="$build/lib/libmpit.so" \
            "$build/tests/children-$mpi" $cases >"$work/out" 2>"$work/err" </dev/null; then ok "$name: runs"; else
            not_ok "$name: runs" "$work/err"
        fi
        check "$name: the counts are the parents' and those of the MPI programs that they started" counted "$run"
        check "$name: the files are theirs" files "$run"
        [ $trace = 0 ] || check "$name: the traces give the tallies" mpit-dump --verify "$run"
    done
    check "$mpi: waitsall.c" mpicc.$mpi -O2 -o "$work/waitsall-$mpi" "$here/waitsall.c"
    for how in plain ignores reaper; do
        # a small spool: rank 0 starts mpit-collect at the begin, too
        for more in MPIT_TRACE=0 "MPIT_TRACE=1 MPIT_SPOOL_LIMIT_BYTES=2000000"; do
            # shellcheck disable=SC2086
            launch $mpi $ranks env LD_PRELOAD="$build/lib/libmpit.so" MPIT_OUTPUT="$work/waits-$mpi" $more \
                "$work/waitsall-$mpi" $how >"$work/out" 2>&1 </dev/null
            check "$mpi, $how, $more: wait() and SIGCHLD find no mpit-collect" test "$(sort "$work/out" | tr '\n' ' ')" = "right right "
        done
    done
    [ $mpi = mpich ] || continue # Open MPI's daemon of a single process is such a child, and inherits.c cannot begin
    if unshare --pid --fork --mount-proc true 2>/dev/null; then
        mkdir "$work/spool" # no collector of another job may lock it meanwhile
        timeout -k 1 60 env MPIT_SPOOL="$work/spool" unshare --pid --fork --mount-proc env LD_PRELOAD="$build/lib/libmpit.so" MPIT_OUTPUT="$work/first-$mpi" \
            "$work/waitsall-$mpi" plain >"$work/out" 2>&1 </dev/null
        check "$mpi: nor does process 1 of a namespace" grep -qx right "$work/out"
        check "  which has its results, or says where they are" test "$(find "$work/first-$mpi" -name '*.mpit' | wc -l)$(
            grep -c mpit-collect "$work/out")" != 00
    else
        skip "$mpi: process 1 of a namespace" "none can be made here"
    fi
    check "$mpi: inherits.c" mpicc.$mpi -O2 -o "$work/inherits" "$here/inherits.c"
    record="mpit-run --quiet --output $work/inherited" launch $mpi 2 "$work/inherits" >"$work/out" 2>&1 </dev/null
    mpit-dump --json "$work/inherited" >"$work/json" 2>"$work/err"
    check "$mpi: a program that has inherited the launcher's variables is no rank of the job" python3 - "$work/json" <<'PYTHON'
import json, sys
jobs = sorted((job["world_size"], job["ranks"]) for job in json.load(open(sys.argv[1]))["jobs"])
sys.exit(0 if jobs == [(2, 1), (2, 2)] else f"(size, ranks recorded) of the jobs are {jobs}")
PYTHON
done
verdict
