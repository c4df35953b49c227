#!/bin/bash
# Processes that do not come out of MPI_Init, or never call it, are part of their job: under the rank that the launcher
# gave them, with those who wait for them.
# Usage: test_starting.sh BUILD_DIRECTORY
. "$(dirname "$0")/../common/tooltest.sh"

# one_job FILE: the post-mortem is of one job, of which all is known
one_job() {
    says_not "$1" 'job 1 of 2|unknown|rank -1|run files of'
}
for mpi in openmpi mpich; do
    has $mpi || continue
    check "a library for $mpi is built" "mpicc.$mpi" -shared -fPIC -o "libwithin-$mpi.so" within.c
    check "a program for $mpi is built" "mpicc.$mpi" starting.c -o "starting-$mpi" -L. "-lwithin-$mpi" "-Wl,-rpath,$work" -Wl,--no-as-needed

    mpit-run --output "dies-$mpi" --summary "dies-$mpi.json" "mpirun.$mpi" -n 3 "./starting-$mpi" dies >out 2>err </dev/null
    check "$mpi: rank 1 dies within MPI_Init" test $? -ne 0
    one_job err
    says err '  3 of 3 processes did not end normally:'
    says err ' rank 1: in MPI_Init at [^ ]+.*, for [1-9]\..* s; crashed, was killed'
    says err ' rank 2: in MPI_Recv on MPI_COMM_WORLD at [^ ]+.*, from rank 1, for '
    says err ' rank 0: in MPI_Barrier on MPI_COMM_WORLD at [^ ]+.*, which have not entered: ranks 1-2, for '
    check "  the summary has all three, and no figures of the one" python3 - "dies-$mpi.json" <<'EOF'
import json, sys
jobs = json.load(open(sys.argv[1]))["jobs"]
assert len(jobs) == 1 and jobs[0]["world_size"] == 3 and jobs[0]["ranks"] == 3, jobs
spread = jobs[0]["run_seconds"]
assert spread["min_rank"] in (0, 2) and spread["max_rank"] in (0, 2), spread
assert spread["min"] <= spread["max"], spread
EOF
    tells "  of rank 1 alone" 0 out ' rank 1: in MPI_Init' mpit-dump --crash --ranks 1 "dies-$mpi"
    says out '^ *1 +0 .*MPI_Init .*has not returned'
    says_not out 'rank [02]:'
    tells "  and there is no rank 3" 2 err 'the job has ranks 0 to 2' mpit-dump --crash --ranks 3 "dies-$mpi"

    mpit-run --output "trace-$mpi" --otf2 "mpirun.$mpi" -n 3 "./starting-$mpi" dies >out 2>err </dev/null
    one_job err
    says err 'ended before MPI_Init returned: rank 1 is left out'
    says_not err 'have no run file|outside MPI'
    gives "$mpi: the archive is of the others" 0 mpit-dump --otf2 "archive-$mpi" "trace-$mpi"
    says err 'ended before MPI_Init returned: rank 1 is left out'
    gives "  and sound" 0 "$build/tests/otf2judge" "archive-$mpi"

    mpit-run --output "never-$mpi" "mpirun.$mpi" -n 3 "./starting-$mpi" never >out 2>err </dev/null
    check "$mpi: rank 1 never calls it" test $? -ne 0
    says_not err 'job 1 of 2|unknown|rank -1'
    says err ' has files of only 2 of the 3 processes of a job: rank 1 is missing .*: the missing one may not have called MPI_Init'
    says err 'ranks      3, 2 of them recorded'
    says err '  2 of 3 processes did not end normally:'
    says err ' ranks 0, 2: in MPI_Init at [^ ]+.*, for '
    says err ' rank 1: no run file; MPI_Init was not called'

    mpit-run --output "hangs-$mpi" timeout -s INT 8 "mpirun.$mpi" -n 3 "./starting-$mpi" hangs >hangs.out 2>err </dev/null &
    hanging=$!
    sleep 5
    gives "$mpi: one that hangs in there, live" 0 mpit-top --once --json "hangs-$mpi"
    check "  is told with those who wait for it" python3 - out <<'EOF'
import json, sys
jobs = json.load(open(sys.argv[1]))["jobs"]
assert len(jobs) == 1 and jobs[0]["world_size"] == 3, jobs
ranks = {rank["rank"]: rank for rank in jobs[0]["ranks"]}
assert sorted(ranks) == [0, 1, 2], ranks
assert ranks[1]["call"]["name"] == "MPI_Init", ranks[1]
assert ranks[2]["call"]["name"] == "MPI_Recv" and "rank 1" in json.dumps(ranks[2]), ranks[2]
EOF
    wait $hanging

    gives "$mpi: one that was launched by nothing" 137 mpit-run --output "alone-$mpi" "./starting-$mpi" dies
    says err ' rank .unknown.: in MPI_Init at [^ ]+.*, for '

    if unshare -pf --mount-proc true 2>/dev/null; then # jobs whose processes have the same numbers
        for kept in 1 0; do
            MPIT_REDUCE=$kept mpit-run --quiet --output "same-$mpi-$kept" sh -c "for job in 1 2; do
                unshare -pf --mount-proc ./starting-$mpi fine; done" >out 2>err </dev/null
            tells "$mpi: processes of one number are two jobs (MPIT_REDUCE=$kept)" 0 out '^job 2 of 2' mpit-dump "same-$mpi-$kept"
        done
    else
        skip "$mpi: processes of one number" "it takes namespaces of their own"
    fi

    mpit-run --trace --quiet --output "jobs-$mpi" sh -c "./starting-$mpi dies
        for job in 1 2; do mpirun.$mpi -n 1 ./starting-$mpi fine; done" >out 2>err </dev/null
    gives "$mpi: of three jobs the two that began are converted" 0 mpit-dump --otf2 "archives-$mpi" "jobs-$mpi"
    says err 'note: 1 of 3 jobs have no archive: MPI_Init returned in none of their processes'
    check "  each to an archive of its own" test "$(find "archives-$mpi" -name traces.otf2 | wc -l)" = 2
    gives "  and both are judged" 0 "$build/tests/otf2judge" "archives-$mpi"
    check "  each by its name" test "$(grep -c "^archives-$mpi/" out)" = 2
    check "  and each is sound" test "$(grep -c '^sound: 0 errors' out)" = 2
    gives "  also as JSON" 0 "$build/tests/otf2judge" --json "archives-$mpi"
    check "  that has them all" python3 -c "import json, sys
archives = json.load(open('out'))['archives']
assert [a['verdict'] for a in archives] == ['sound'] * 2, archives
assert len({a['archive'] for a in archives}) == 2, archives"
    for archive in "archives-$mpi"/*/; do
        : >"$archive/traces.def"
        break
    done
    tells "  one that cannot be read is the worst" 2 out '^sound: 0 errors' "$build/tests/otf2judge" "archives-$mpi"
    gives "$mpi: so they are for Perfetto" 0 mpit-dump --perfetto "jobs-$mpi.json" "jobs-$mpi"
    says err 'note: 1 of 3 jobs are left out'
    check "  both" test "$(grep -oc 'job [23], ' "jobs-$mpi.json")" -ge 2
    gives "$mpi: where none began there is nothing" 1 mpit-dump --otf2 "no-archive-$mpi" "alone-$mpi"
    says err 'nothing to convert: MPI_Init returned in none of the processes|mpit-run --trace records'
done
verdict
