#!/bin/bash
# The outputs name the place of a call: file, line and function, as the program itself says where its calls are.
# Usage: test_places.sh BUILD_DIRECTORY
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../common/tooltest.sh"

line() { awk -v name="$1" '$1 == name { print $2; exit }' lines; }

for mpi in openmpi mpich; do
    has $mpi || continue
    check "places.c for $mpi is built" "mpicc.$mpi" -g -O0 places.c -o "places-$mpi"

    rm -f lines
    mpit-run --output "hangs-$mpi" timeout -s INT 100 "mpirun.$mpi" -n 2 "./places-$mpi" hang lines >said 2>err </dev/null &
    hanging=$!
    sleep 5
    gives "$mpi: mpit-top of a hanging job" 0 mpit-top --once --json "hangs-$mpi"
    check "  JSON has the places of the calls" python3 "$here/places.py" top out lines
    tells "  and as text" 0 out "MPI_Recv .*at places.c:$(line recv) \(hang < main\)" mpit-top --once "hangs-$mpi"
    pkill -INT -P $hanging timeout
    wait $hanging
    says err "rank 1: in MPI_Recv on MPI_COMM_WORLD at places.c:$(line recv) \(hang < main\), from rank 0, for "
    tells "  mpit-top of its directory" 1 err "the job in hangs-$mpi has ended; mpit-dump shows it" mpit-top --once "hangs-$mpi"
    gives "  mpit-dump --crash" 0 mpit-dump --crash "hangs-$mpi"
    says out "rank 1: in MPI_Recv on MPI_COMM_WORLD at places.c:$(line recv) \(hang < main\), from rank 0, for "
    says out "rank 0: in MPI_Reduce on MPI_COMM_WORLD at places.c:[0-9]+ \(hang < main\), which has not entered: rank 1"

    check "wrapped.c for $mpi is built" "mpicc.$mpi" -g -O1 "$here/wrapped.c" -o "wrapped-$mpi"
    gives "$mpi: a wrapper of MPI_Allreduce with two callers" 0 mpit-run --quiet --output "wrapped-run-$mpi" "mpirun.$mpi" -n 2 "./wrapped-$mpi"
    gives "  the first screen" 0 mpit-dump "wrapped-run-$mpi"
    says out "^  wrapped.c:[0-9]+ solve > all_sum +MPI_Allreduce "
    says out "^  wrapped.c:[0-9]+ diagnose > all_s.. +MPI_Allreduce "
    gives "  all of it" 0 mpit-dump --full "wrapped-run-$mpi"
    check "  MPI time below functions" sh -c "sed -n '/^MPI time below/,/^\$/p' out | awk 'NR > 1 { print \$1 }' | xargs |
        grep -xE 'solve diagnose|diagnose solve'"
    gives "  JSON" 0 mpit-dump --json "wrapped-run-$mpi"
    check "  has the place, and the function that calls MPI" python3 -c "
import json
sites = [s for s in json.load(open('out'))['jobs'][0]['callsites'] if s['mpi'] == 'MPI_Allreduce']
assert sorted(s['place']['function'] for s in sites) == ['diagnose', 'solve'] and {s['function'] for s in sites} == {'all_sum'}"

    strip -o "stripped-$mpi" "wrapped-$mpi"
    gives "$mpi: a stripped program" 0 mpit-run --quiet --output "stripped-run-$mpi" "mpirun.$mpi" -n 2 "./stripped-$mpi"
    tells "  says where names would come from" 0 out "^  stripped-$mpi has no names of its functions" \
        mpit-dump "stripped-run-$mpi"

    gives "$mpi: a trace" 0 mpit-run --quiet --trace --output "late-$mpi" "mpirun.$mpi" -n 3 "./places-$mpi" late lines
    gives "  mpit-dump --analyze" 0 mpit-dump --analyze "late-$mpi"
    says out "Late Sender [0-9.]+ .?s: places.c:$(line wait) \(exchange\) waits for places.c:$(line send) \(exchange\) of rank 1$"
    segment="places.c:$(line barrier) \(late\) -> places.c:$(line irecv) \(exchange\): [0-9.]+ .?s on rank 1, [0-9.]+ .?s on the others"
    says out "before, $segment"
    says out "^  $segment; [0-9.]+ .?s of the critical path"
    gives "  as JSON" 0 mpit-dump --analyze --json "late-$mpi"
    check "  its waits name both ends, and the late rank's segment" python3 "$here/places.py" analyze out lines
    gives "$mpi: trace events" 0 mpit-dump --perfetto out.json "late-$mpi"
    check "  each call has its place and its stack" python3 "$here/places.py" perfetto out.json lines

    gives "$mpi: an OTF2 archive" 0 mpit-dump --otf2 "archive-$mpi" "late-$mpi"
    check "  every message has 4 bytes" sh -c "otf2-print archive-$mpi/traces.otf2 | grep -E '^MPI_I?(SEND|RECV) ' >messages;
        [ \$(wc -l <messages) = 30 ] && ! grep -vE 'Length: 4(,|\$)' messages"
    tells "  it has no faults" 0 out "sound: 0 errors, 0 warnings" "$build/tests/otf2judge" "archive-$mpi"
    otf2-print "archive-$mpi/traces.otf2" >events
    check "  each Enter has a call path" [ "$(grep -c '^ENTER ' events)" = "$(grep -c 'ATTRIBUTES: ("call path" <0>; CALLING_CONTEXT; ' events)" ]
    check "  15 sends have their line" [ "$(grep -A1 '^ENTER .*"MPI_Send"' events | grep -c "\"exchange@places.c:$(line send)\"")" = 15 ]
    otf2-print -G "archive-$mpi/traces.otf2" >out
    says out "^CALLING_CONTEXT .*Region: \"exchange\".*places.c:$(line wait)\".*Parent: \"late@places.c:"
    check "  functions are no regions of it" sh -c "! grep -E '^ENTER .*\"(main|late|exchange)\"' events"

    gives "$mpi: an archive with the program's functions" 0 mpit-dump --otf2 "functions-$mpi" --otf2-callpaths "late-$mpi"
    tells "  it has no faults" 0 out "sound: 0 errors, 0 warnings" "$build/tests/otf2judge" "functions-$mpi"
    otf2-print "functions-$mpi/traces.otf2" >events
    for function in main:3 late:3 exchange:15; do
        check "  enters and leaves ${function%:*} ${function#*:} times" \
            [ "$(grep -c "^ENTER .*\"${function%:*}\"" events),$(grep -c "^LEAVE .*\"${function%:*}\"" events)" = "${function#*:},${function#*:}" ]
    done
    check "  MPI_Wait is in exchange, and MPI_Barrier is not" awk -v rank=1 '
        $2 == rank && /^ENTER .*"exchange"/ { inside = 1 }
        $2 == rank && /^LEAVE .*"exchange"/ { inside = 0 }
        $2 == rank && /^ENTER .*"MPI_Wait"/ { waits++; bad += !inside }
        $2 == rank && /^ENTER .*"MPI_Barrier"/ { bad += inside }
        END { exit bad || waits != 5 }' events
    tells "  and needs --otf2" 2 err "--otf2-callpaths needs --otf2" mpit-dump --otf2-callpaths "late-$mpi"
    gives "$mpi: a trace without call paths" 0 env MPIT_CALL_DEPTH=0 mpit-run --quiet --trace --output "deep-$mpi" "mpirun.$mpi" -n 3 "./places-$mpi" late lines
    gives "  mpit-dump --analyze" 0 mpit-dump --analyze "deep-$mpi"
    says_not out "by place|between MPI calls"
done
verdict
