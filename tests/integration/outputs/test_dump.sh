#!/bin/bash
# What mpit-dump, mpit-list and mpit-exporter promise on the command line: messages, exit statuses, what they print.
# Usage: test_dump.sh BUILD_DIRECTORY
samples=$(cd "$(dirname "$0")/../../samples/run" && pwd)
. "$(dirname "$0")/../common/tooltest.sh"

echo "# mpit-dump"
tells "help" 0 out "^Example: " mpit-dump --help
tells "no run" 2 err "no run is named, and there is none in this directory" mpit-dump
tells "an unknown option" 2 err "unknown option '--frobnicate'$" mpit-dump --frobnicate x
tells "a misspelt option" 2 err "unknown option '--analyse'; did you mean --analyze\?" mpit-dump --analyse x
tells "two outputs" 2 err "only one of" mpit-dump --json --events x
tells "a directory that is not there" 1 err "no-such-run does not exist" mpit-dump no-such-run
mkdir empty
mkdir older newer && xzcat "$samples/summary.mpit.xz" | tee older/job.mpit >newer/job.mpit
touch -d 2020-01-01 older
tells "no run where there are some" 0 err "this is the newest run here, newer" mpit-dump --json
tells "no run inside of one" 0 err "this is the newest run here, \\." bash -c 'cd older && mpit-dump --json'
rm -r older newer
tells "a directory that is no run directory" 1 err "empty is not a run directory" mpit-dump empty
tells "a file that is none" 1 err "ring.c is not an mpit run file" mpit-dump ring.c
tells "an archive that is there already" 1 err "empty exists already" mpit-dump --otf2 empty no-such-run
for sample in plain sampled counters; do
    mkdir "foreign-$sample" && xzcat "$samples/$sample.mpit.xz" >"foreign-$sample/host.1.mpit"
    check "control characters in a file of others reach no terminal ($sample)" python3 escapes.py "$build/bin" "foreign-$sample"
done
for mpi in openmpi mpich; do
    has $mpi || continue
    built $mpi ring names hang late waits
    timeout 120 mpit-run --no-trace --output crash-$mpi mpirun.$mpi -n 2 ./ring-$mpi 0 crash >out 2>err
    live_run "foreign-$mpi" timeout 120 mpirun.$mpi -n 2 ./ring-$mpi 0 crash >out 2>err
    check "$mpi: nor of a job that has crashed" python3 escapes.py "$build/bin" "foreign-$mpi"
    gives "a traced run of $mpi" 0 mpit-run --trace --quiet --output trace-$mpi mpirun.$mpi -n 2 ./ring-$mpi
    tells "  summary" 0 out "MPI_Sendrecv +2 " mpit-dump --full trace-$mpi
    says_not out "MPI_Init .* 0\.0 %" # its stalls are not known
    check "  at most 100 columns" test "$(wc -L <out)" -le 100
    mpit-dump --full trace-$mpi >out
    check "  and in a terminal without UTF-8, ASCII" sh -c "LC_ALL=C mpit-dump --full trace-$mpi | grep -q '##' && ! LC_ALL=C mpit-dump --full trace-$mpi | grep -q '█'"
    tells "  events" 0 out "MPI_Sendrecv +MPI_COMM_WORLD +[01] +0 +4" mpit-dump --events trace-$mpi
    says out "\+ received"
    gives "  JSON" 0 mpit-dump --json trace-$mpi
    check "  is JSON" sh -c "mpit-dump --json trace-$mpi | python3 -m json.tool >/dev/null"
    tells "  verify" 0 out "rank 1: the replayed trace equals the counters" mpit-dump --verify trace-$mpi
    tells "  archive" 0 out "^wrote archive-$mpi$" mpit-dump --otf2 archive-$mpi trace-$mpi
    check "  with an anchor file" test -s archive-$mpi/traces.otf2
    gives "  communicators with long names" 0 mpit-run --trace --quiet --output names-run-$mpi mpirun.$mpi -n 1 ./names-$mpi
    gives "    the summary has these whole" 0 mpit-dump --full names-run-$mpi
    check "    each with its numbers" python3 lines.py out
    mpit-dump --events names-run-$mpi >out
    check "    events stand in columns" python3 aligned.py out MPI_COMM_WORLD/split#1:0/split#1:0/split#1:0/split#1:0/split#1:0
    check "    the full name is in the JSON" sh -c "mpit-dump --json names-run-$mpi |
        grep -q 'MPI_COMM_WORLD/split#1:0/split#1:0/split#1:0/split#1:0/split#1:0\"'"
    gives "  an archive where no directory is" 1 mpit-dump --otf2 no/where/archive trace-$mpi
    says err "the archive no/where/archive cannot be created: no/where: No such file or directory"
    # of a rank that ends with a status, Open MPI's launcher kills those that are still in MPI_Finalize
    gives "a run of $mpi without a trace" 0 mpit-run --output plain-$mpi mpirun.$mpi -n 2 ./ring-$mpi
    gives "  a page without a name" 0 mpit-dump --html plain-$mpi
    check "    is named like the run" test -s plain-$mpi.html
    says out "^wrote plain-$mpi.html$"
    gives "  a page to standard output" 0 mpit-dump --html - plain-$mpi
    says_not out "^wrote"
    gives "  call paths" 0 mpit-dump --callpaths plain-$mpi
    says out "^Call paths, sums over all ranks; without MPI_Init and MPI_Finalize, which are no part of the run time$"
    says out "MPI_Init  2 calls .*s  of run -  stalled -" # not watched
    gives "  samples without a rate" 0 mpit-run --quiet --output sampled-$mpi --sample mpirun.$mpi -n 2 ./ring-$mpi
    tells "    are 100 a second" 0 out "sampled at 100 Hz" mpit-dump --profile sampled-$mpi
    gives "  events of a run without a trace" 1 mpit-dump --events plain-$mpi
    says err "plain-$mpi was recorded without --trace: it has no events; mpit-run --trace records every event"
    check "    nothing is listed" test ! -s out
    gives "  events of a crash without a trace" 1 mpit-dump --events crash-$mpi
    says err "crash-$mpi was recorded without --trace: it has only the last events of each thread"
    says out "MPI_Sendrecv +MPI_COMM_WORLD"
    timeout 120 mpit-run --trace --quiet --output hang-run-$mpi mpirun.$mpi -n 2 ./hang-$mpi >out 2>err
    gives "  a call that did not return" 0 mpit-dump --events hang-run-$mpi
    says out "^ +0 +0 +[0-9.]+ +- +MPI_Recv +MPI_COMM_WORLD +1 +- +- has not returned"
    check "    and one only" test "$(grep -c 'has not returned' out)" -eq 1
    gives "  verify of a run without a trace" 1 mpit-dump --verify plain-$mpi
    says out "nothing to replay: this job has only a summary \(mpit-run --trace"
    for run in plain trace; do
        tells "  the summary of $run has all calls" 0 out "MPI_Finalize +2 " mpit-dump --full $run-$mpi
    done
    tells "  an archive of a run without a trace" 1 err "no events to convert" mpit-dump --otf2 nothing-$mpi plain-$mpi
    check "  leaves nothing behind" test ! -e nothing-$mpi
    unpacked trace-$mpi
    tells "  one rank of it" 0 out "1 of them recorded" mpit-dump --full "$(find unpacked -name '*.mpit' | head -1)"
    MPIT_TRACE=1 live_run cut-$mpi mpirun.$mpi -n 2 ./ring-$mpi >out 2>err
    damaged=$(find cut-$mpi -name '*.mpit' | sort | head -1)
    truncate -s 5000 "cut-$mpi/${damaged##*/}"
    tells "  a truncated file is named, the rest shown" 1 err "cut-$mpi/${damaged##*/} is truncated" mpit-dump cut-$mpi
    says out "MPI_Sendrecv"
    for file in cut-$mpi/*.mpit; do # names that move the cursor: of the host and of the program
        python3 -c '
import os, sys
data = bytearray(open(sys.argv[1], "rb").read())
for name in (os.uname().nodename, "ring-" + sys.argv[2]):
    at = data.index(name.encode())
    data[at:at + 2] = b"\33]"
open(sys.argv[1], "wb").write(data)' "$file" $mpi
    done
    for how in "" --analyze --events --crash --json "--ranks 0" --csv --verify; do
        # shellcheck disable=SC2086
        mpit-dump $how cut-$mpi >out 2>err
        check "  mpit-dump $how: no terminal is told what stands in a file" sh -c "! cat out err | grep -q '$(printf '\033')'"
        check "    but it is spoken of" test -s err
    done
    gives "  a window behind the end" 2 mpit-dump --csv --window 1000: trace-$mpi
    says err "window begins at 1000.000 s, but the job lasted only [0-9.]+ s"
    MPIT_TRACE=1 live_run "back-$mpi" "./ring-$mpi" >out 2>err
    gives "    nor in a run without mpit-run" 2 mpit-dump --csv --window 1000: back-$mpi
    for file in back-$mpi/*.mpit; do # end_realtime_ns: the node's clock was set back
        printf '\1\0\0\0\0\0\0\0' | dd of="$file" bs=1 seek=96 conv=notrunc status=none
    done
    gives "    unless it is not known how long that was" 0 mpit-dump --csv --window 1000: back-$mpi
    mpit-run --quiet --trace --output "late.$mpi" "mpirun.$mpi" -n 2 "./late-$mpi" "go.$mpi" >out 2>err &
    late=$!
    for _ in $(seq 300); do
        mpit-dump --crash "late.$mpi" >out 2>err && grep -Eq 'rank 0: in MPI_Finalize at [^ ]+.*, (which has not entered: rank 1, )?for .* still running' out && break
        sleep 0.1
    done
    says out "rank 0: in MPI_Finalize at [^ ]+.*, (which has not entered: rank 1, )?for .* still running"
    says out "rank 1: outside MPI"
    sleep 3 # in which rank 0 waits, and no call is under way
    touch "go.$mpi"
    wait $late
    gives "$mpi: the calls of MPI_Finalize" 0 mpit-dump --json "late.$mpi"
    check "  of which there are two" python3 -c 'import json
calls = json.load(open("out"))["jobs"][0]["calls"]
assert calls["MPI_Finalize"]["count"] == 2, calls'
    (env LD_PRELOAD="$build/lib/libmpit.so" MPIT_OUTPUT="waits.$mpi" timeout -s KILL 2 "./waits-$mpi" &) >out 2>err
    sleep 3
    gives "$mpi: killed, and nobody saw it" 0 mpit-dump --crash "waits.$mpi"
    says out "rank 0: in MPI_Recv on MPI_COMM_SELF at [^ ]+.*, from rank 0, (for [0-9.]+ [mun]?s at least, )?until it died at an unknown time; crashed, was killed"
    gives "  what each process counted, from its file" 0 mpit-list --run trace-$mpi 'mpit_call_count'
    says out "^ +0 +mpit_call_count +COUNTER .*MPI_Finalize 1"
    says out "^ +1 +mpit_call_count +COUNTER .*MPI_Finalize 1"
    gives "    as JSON" 0 mpit-list --run trace-$mpi --json 'mpit_send_count'
    check "    of both ranks" sh -c "mpit-list --run trace-$mpi --json 'mpit_send_count' | python3 -c '
import json, sys; found = json.load(sys.stdin)[\"variables\"]
assert {v[\"rank\"] for v in found} == {0, 1} and any(v[\"communicator\"] == \"MPI_COMM_WORLD\" for v in found)'"
    gives "    no variable of that name" 1 mpit-list --run trace-$mpi 'no_such_*'
    tells "    a run that kept none" 1 err "only the summary of its job" mpit-list --run plain-$mpi
    tells "  a full disk is told" 1 err "standard output cannot be written" sh -c "mpit-dump --events trace-$mpi >/dev/full"
done

echo "# mpit-exporter"
tells "a run that is not there" 1 err "nosuch does not exist" mpit-exporter --once nosuch
says out "^mpit_exporter_errors_total 1$"

echo "# mpit-list"
tells "help" 0 out "^Example: " mpit-list --help
tells "an unknown option" 2 err "unknown option '--frobnicate'" mpit-list --frobnicate
tells "an MPI that is none" 2 err "not 'lam'" mpit-list --mpi lam
for mpi in openmpi mpich; do
    has $mpi || continue
    tells "pvars of $mpi" 0 out "^mpit_send_count +COUNTER +unsigned long long +comm +1 --. mpit" mpit-list --mpi $mpi --pvars
    check "  at most 100 columns" sh -c "grep -q '^mpit_' out && ! grep -E '^(mpit| )' out | grep -qE '.{101}'"
    tells "cvars of $mpi" 0 out "^mpit_large_message_bytes .* mpit = 8192" mpit-list --mpi $mpi --cvars 'mpit_*'
    gives "native variables of $mpi" 0 mpit-list --mpi $mpi --native
    says_not out "mpit_"
    tells "a pattern that matches nothing" 1 err "no variable matches 'no_such_\*'" mpit-list --mpi $mpi 'no_such_*'
    gives "JSON of $mpi" 0 mpit-list --mpi $mpi --json
    check "  is JSON with native and own variables" sh -c "mpit-list --mpi $mpi --json | python3 -c '
import json, sys; mpi = json.load(sys.stdin)[\"mpis\"][0]
assert any(v[\"mpit\"] for v in mpi[\"pvars\"]) and any(not v[\"mpit\"] for v in mpi[\"cvars\"])'"
done
gives "--run with an option of an MPI" 2 mpit-list --run . --pvars
gives "--run of what is no run" 1 mpit-list --run "$PWD/there-is-none"
cp "$build/bin/mpit-list" "$build/bin/mpit-run" .
tells "mpit-list without an MPI" 1 err "no MPI found" ./mpit-list
gives "mpit-run without its libraries runs the command unrecorded" 0 ./mpit-run ls
says err "this installation of mpit is not complete: .*libmpit.so does not exist"

verdict
