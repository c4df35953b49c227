#!/bin/bash
# mpit-run behind the launcher, once for each process: one job is one run, told once, whoever launched it.
# Usage: test_launched.sh BUILD_DIRECTORY
. "$(dirname "$0")/../common/tooltest.sh"

run_of() { sed -n 's/^mpit-run: recorded in \([^ ;]*\).*/\1/p' err; }
json_has() { check "  $1: $2" python3 -c "import json, sys; job = json.load(open('$1'))['jobs'][0]; sys.exit(not ($2))"; }
for mpi in openmpi mpich; do
    has $mpi || continue
    built $mpi ring fall
    gives "$mpi: three, each with its mpit-run" 0 "mpirun.$mpi" -n 3 mpit-run --summary $mpi.json ./ring-$mpi
    one_says 1 'mpit-run: recorded in mpit-run-[-.0-9a-z]+; '
    one_says 1 'mpit-run: '
    json_has $mpi.json 'job["world_size"] == 3 and job["calls"]["MPI_Sendrecv"]["count"] == 3'
    gives "$mpi: a bad setting is named once" 0 env MPIT_FLIGHT_EVENTS=x "mpirun.$mpi" -n 3 \
        mpit-run --output "$mpi-1" --otf2 ./ring-$mpi
    one_says 1 'MPIT_FLIGHT_EVENTS'
    one_says 1 "recorded in $mpi-1 .OTF2 archive"
    gives "  the trace is whole" 0 mpit-dump --verify "$mpi-1"
    gives "$mpi: a remark is made once, too" 0 "mpirun.$mpi" -n 3 mpit-run --trace --timing 0 ./ring-$mpi
    one_says 1 'a trace needs the time of every call'
    if several_contexts $mpi; then
        gives "  for all programs of the line" 0 "mpirun.$mpi" -n 1 ./ring-$mpi : -n 1 mpit-run --trace --timing 0 ./ring-$mpi
        one_says 1 'a trace needs the time of every call'
    fi
    script some-$mpi 'case ${PMI_RANK:-$OMPI_COMM_WORLD_RANK} in 0) unset LD_PRELOAD ;; esac' "exec ./ring-$mpi"
    gives "$mpi: those are recorded that are not the first" 0 env MPIT_REDUCE=0 mpit-run --output "$mpi-some" \
        --trace --timing 0 "mpirun.$mpi" -n 3 ./some-$mpi
    one_says 1 'a trace needs the time of every call'
    mkdir -m 1777 "$mpi-spool"
    for run in 1 2 3 4 5 6; do
        MPIT_SPOOL=$PWD/$mpi-spool mpit-run --quiet --trace --output "$mpi-short-$run" "mpirun.$mpi" -n 2 ./ring-$mpi >out 2>err
    done
    check "$mpi: six short runs with a trace leave no live files" [ -z "$(find "$mpi-spool" -mindepth 2)" ]
    gives "$mpi: a run of two processes" 0 mpit-run --output "$mpi-whole" --trace "mpirun.$mpi" -n 2 ./ring-$mpi
    gives "  becomes two files" 0 "$build/tests/jobsplit" "$mpi-whole" "$mpi-two"
    script late-$mpi "set -- '$PWD/$mpi-two'/*.mpit" 'cp "$1" "$MPIT_OUTPUT"' '(sleep 1; cp "$2" "$MPIT_OUTPUT") >&- 2>&- &'
    gives "$mpi: results of another host that come a second later" 0 env PMI_RANK=0 PMI_SIZE=2 \
        mpit-run --output "$mpi-late" --otf2 ./late-$mpi
    one_says 1 'ranks      2 on '
    check "  no rank is missing" sh -c "! grep missing out err"
    tells "  nor in the archive" 0 out '2 (ranks|locations|processes)' "$build/tests/otf2judge" "$mpi-late/otf2/traces.otf2"
    gives "$mpi: the directory of another run" 0 "mpirun.$mpi" -n 3 mpit-run --output "$mpi-1" ./ring-$mpi
    one_says 1 "$mpi-1 already has a recorded run, so this run is written to $mpi-1.1"
    one_says 1 "recorded in $mpi-1.1;"
    one_says 1 'ranks      3 on '
    check "  all have taken the same other one" [ ! -e "$mpi-1.2" ]
    gives "  with --strict" 2 env PMI_RANK=1 PMI_SIZE=2 mpit-run --strict --output "$mpi-1" ./ring-$mpi
    says err "already has a recorded run; name a new one with --output"
    fails=3 # PRRTE ends the whole job when one process fails
    if [ $mpi = openmpi ] && [ "$openmpi_version" -ge 5 ]; then fails=0; fi
    gives "$mpi: the launcher above tells which MPI" $fails "mpirun.$mpi" -n 2 mpit-run sh -c "./ring-$mpi $fails"
    one_says 1 'ranks      2 on '
    check "  the directory is there" [ -d "$(run_of)" ]
    if several_contexts $mpi; then
        gives "$mpi: only one of three is recorded" 0 "mpirun.$mpi" -n 1 mpit-run --trace ./ring-$mpi : -n 2 ./ring-$mpi
        one_says 1 ' has files of only 1 of the 3 processes of a job: ranks 1-2 are missing'
    else
        skip "$mpi: several programs on a line" "its launcher crashes, without mpit, too"
    fi
    for how in -1 3 0; do # MPICH waits for the others where one ends with 0, with mpit and without
        [ $mpi$how = mpich0 ] && continue
        tries=1 # MPICH 5.0.2 leaves the others alone now and then (1 of 40), without mpit, too
        if [ $mpi = mpich ] && [ "$mpich_version" = 5 ]; then tries=3; fi
        while ((tries-- > 0)); do
            timeout 30 "mpirun.$mpi" -n 2 mpit-run ./fall-$mpi $how >out 2>err </dev/null
            status=$? # of whichever process the launcher hears of first
            [ $status = 124 ] || break
        done
        check "$mpi: the first ends with $how, and the launcher learns of it (status $status)" \
            test $status -ne 0 -a $status -ne 124
    done
    gives "$mpi: a directory for what records nothing" 0 "mpirun.$mpi" -n 2 mpit-run --output "none-$mpi" true
    one_says 1 "no MPI process recorded"
    gives "  which is not for another job" 0 env PMI_RANK=0 PMI_SIZE=2 mpit-run --output "none-$mpi" true
    says err "none-$mpi belongs to another job, so this run is written to none-$mpi.1"
done
for mpi in openmpi mpich; do
    has $mpi || continue
    step=(env SLURM_JOB_ID=7 SLURM_STEP_ID=1 SLURM_STEP_NUM_TASKS=2) # as srun's steps have it
    gives "$mpi: srun, the second" 5 "${step[@]}" SLURM_PROCID=1 mpit-run ./ring-$mpi 5
    check "  says nothing" [ ! -s err ]
    gives "  the first" 0 "${step[@]}" SLURM_PROCID=0 mpit-run ./ring-$mpi
    one_says 1 "recorded in mpit-run-slurm-7.1"
    check "  for both" [ "$(find mpit-run-slurm-7.1 -name '*.mpit' | wc -l)" = 2 ]
    gives "  a later step" 0 "${step[@]}" SLURM_PROCID=0 SLURM_STEP_ID=2 mpit-run --output mpit-run-slurm-7.1 ./ring-$mpi
    one_says 1 "recorded in mpit-run-slurm-7.1.1;"
    gives "  its second" 0 "${step[@]}" SLURM_PROCID=1 SLURM_STEP_ID=2 mpit-run --output mpit-run-slurm-7.1 ./ring-$mpi
    check "  goes there, too" [ "$(find mpit-run-slurm-7.1.1 -name '*.mpit' | wc -l)" = 2 ]
    mkdir -p starved/bin starved/lib && cp "$build"/lib/libmpit.so "$build"/lib/libmpit-$mpi.so starved/lib
    script starved/bin/mpit-collect 'end=$(($(date +%s) + 2))' 'while [ "$(date +%s)" -lt $end ]; do i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; done' \
        "exec '$build/bin/mpit-collect' \"\$@\""
    gives "$mpi: mpit-collect computes for a second before it reads or writes" 0 \
        env LD_PRELOAD="$PWD/starved/lib/libmpit.so" MPIT_OUTPUT="$PWD/starved-run" ./ring-$mpi
    says_not err "is slow"
    check "  its results are there when the program has ended" [ "$(find starved-run -name '*.mpit' | wc -l)" = 1 ]
    rm -r starved starved-run
    gives "  a program that is not there" 127 "${step[@]}" SLURM_PROCID=1 mpit-run ./there-is-none
    gives "  a job of one process below it" 0 "${step[@]}" SLURM_PROCID=1 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 \
        mpit-run sh -c "unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE; exec ./ring-$mpi"
    one_says 1 "recorded in mpit-run-20[-0-9]+;"
    gives "  a script of the job, in no step" 0 env SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_NTASKS=2 mpit-run ./ring-$mpi
    one_says 1 "recorded in mpit-run-20[-0-9]+;"
    rm -r mpit-run-slurm-7.1 mpit-run-slurm-7.1.1
done
again=(env SLURM_JOB_ID=7 SLURM_STEP_ID=1 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0)
gives "a job of Slurm" 0 "${again[@]}" mpit-run --output again true
gives "  its other processes" 0 "${again[@]}" mpit-run --output again true
gives "  queued again, with the same number" 0 "${again[@]}" SLURM_RESTART_COUNT=1 mpit-run --output again true
says err "again belongs to another job, so this run is written to again\.1"
again=(env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 PMIX_NAMESPACE=77)
key=OMPI_MCA_orte_precondition_transports # Open MPI's: mpirun has the number of a process that has gone
gives "a job of Open MPI" 0 "${again[@]}" $key=1f-2e mpit-run true
gives "  its other processes" 0 "${again[@]}" $key=1f-2e mpit-run true
gives "  another of the same name" 0 "${again[@]}" $key=1f-2d mpit-run true
says err "mpit-run-77 belongs to another job, so this run is written to mpit-run-77\.1"
again=(env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 PMIX_NAMESPACE=78 PMIX_HOSTNAME=node1) # Open MPI 5
uri=PMIX_SERVER_URI4=78@0
gives "a job of PRRTE" 0 "${again[@]}" "$uri.0;tcp4://10.0.0.1:4001" mpit-run true
gives "  its other processes" 0 "${again[@]}" "$uri.0;tcp4://10.0.0.1:4001" mpit-run true
gives "  on another host" 0 "${again[@]}" PMIX_HOSTNAME=node11 "$uri.1;tcp4://10.0.0.2:4001" mpit-run true
check "  are in one directory" [ ! -e mpit-run-78.1 ]
gives "  another of the same name" 0 "${again[@]}" "$uri.0;tcp4://10.0.0.1:4002" mpit-run true
says err "mpit-run-78 belongs to another job, so this run is written to mpit-run-78\.1"
touch -d "1 hour ago" mpit-run-78/.mpit-launch mpit-run-78.1/.mpit-launch
gives "  an old one, on another host" 0 "${again[@]}" PMIX_HOSTNAME=node2 "$uri.1;tcp4://10.0.0.2:4003" mpit-run true
says err "mpit-run-78 belongs to another job, so this run is written to mpit-run-78\.2"
if has mpich; then # without mpit-run, which would give each job a directory of its own
    named=(env PMI_JOBID=1 MPIT_OUTPUT="$work/named" LD_PRELOAD="$build/lib/libmpit.so")
    for kind in summary trace; do
        for round in first second; do
            gives "the $round job of a name that comes round, $kind" 0 mpirun.mpich -n 2 "${named[@]}" \
                MPIT_TRACE=$((${#kind} == 5)) ./ring-mpich
        done
        gives "  are two" 0 mpit-dump --json named
        cp out named.json
        check "  with two ranks each" python3 -c "import json; jobs = json.load(open('named.json'))['jobs']
ranks = [(job['world_size'], [row['rank'] for row in job['by_rank']]) for job in jobs]
assert ranks == [(2, [0, 1])] * 2 and len({job['job'] for job in jobs}) == 2, ranks"
        rm -r named
    done
fi
gives "a directory that takes no claim" 0 bash -o pipefail -c \
    "(trap '' XFSZ; ulimit -f 0; PMI_RANK=0 PMI_SIZE=2 exec mpit-run --output unclaimed true) 2>&1 | cat"
says out "output directory unclaimed cannot be written: File too large; the program runs without recording"
check "  is not left behind" test ! -e unclaimed
gives "a launcher that tells no job" 0 env PMI_RANK=0 PMI_SIZE=2 mpit-run true
one_says 1 "a launcher started 2 processes like this one.*with --output.*; the program runs without recording"
gives "  its second says nothing" 0 env PMI_RANK=1 PMI_SIZE=2 mpit-run true
check "  at all" [ ! -s err ]
gives "  with --strict" 2 env PMI_RANK=1 PMI_SIZE=2 mpit-run --strict true

verdict
