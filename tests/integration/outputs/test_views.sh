#!/bin/bash
# For each MPI: the CSV of a trace equals its event list and the tallies; the trace events (--perfetto) keep the rules of
# their format and have the calls, regions, samples and messages; filters leave the same in all outputs, and sound archives;
# a full disk, a limit or a signal leaves no half file.
# Usage: test_views.sh BUILD_DIRECTORY
. "$(dirname "$0")/../common/verdict.sh"

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
export LC_ALL=C.UTF-8
unset LD_PRELOAD "${!MPIT_@}"
dump=$build/bin/mpit-dump views=$here/views.py

# refused NAME PATTERN COMMAND...: it fails, and says a line like that
refused() {
    local name=$1 pattern=$2
    shift 2
    # shellcheck disable=SC2016
    check "$name" sh -c '! "$@" >said 2>&1 && cat said && grep -Eq -- "$0" said' "$pattern" "$@"
}
# record MPI RANKS COMMAND...: a trace in run/
record() {
    local mpi=$1 ranks=$2
    shift 2
    fresh_run
    ln -sfn "$run" run
    timeout 300 "$build/bin/mpit-run" --quiet --trace --output "$run" "mpirun.$mpi" -n "$ranks" "$@"
}
# shown FILE OPTION...: of run/
shown() {
    local file=$1
    shift
    "$dump" "$@" run >"$file"
}
# written NAME: run/ as CSV and as trace events
written() {
    check "$1: CSV" shown all.csv --csv
    check "$1: trace events" "$dump" --perfetto all.json run
    check "$1: trace events keep the rules, and have the calls" python3 "$views" trace all.json all.csv
}
tallied() {
    check "$1: events as text" shown all.events --events
    check "$1: summary" shown all.summary --json
    check "$1: the CSV equals the events and the tallies" python3 "$views" csv all.csv all.events all.summary
}
# part NAME OPTION TEXT: a filter
part() {
    local name="$1, $2 $3"
    check "$name: CSV" shown part.csv --csv "$2" "$3"
    check "$name: CSV is a part of all" python3 "$views" part all.csv part.csv "$2" "$3"
    check "$name: trace events" "$dump" --perfetto part.json "$2" "$3" run
    check "$name: trace events have the same" python3 "$views" trace part.json part.csv
    rm -rf archive
    check "$name: archive" "$dump" --otf2 archive "$2" "$3" run
    check "$name: archive is sound" archive_is_sound part.csv
    check "$name: archive says that it is a part" sh -c "otf2-print -I archive/traces.otf2 |
        grep -q 'MPIT::SELECTION'"
}
archive_is_sound() {
    "$build/tests/otf2judge" archive || return 1
    otf2-print archive/traces.otf2 | grep -c '^ENTER ' >found
    [ "$(cat found)" = "$(grep -c ',call,' "$1")" ] || {
        echo "$(cat found) calls entered, $(grep -c ',call,' "$1") asked for"
        return 1
    }
}

cd "$work" || exit 2
cat >killed.c <<'END'
#include <mpi.h>
#include <signal.h>
#include <unistd.h>
int main(int argc, char *argv[])
{
    int rank, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0) /* for what never comes */
        MPI_Recv(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sleep(1); /* the other one is in its call by then */
    kill(getpid(), SIGKILL);
    return 0;
}
END

killed() {
    local name="killed, $1"
    check "$name: is compiled" "mpicc.$1" killed.c -o killed
    record "$1" 2 ./killed >/dev/null 2>&1
    written "$name"
    check "$name: the call that did not return" grep -q ',unfinished,MPI_Recv,' all.csv
    check "$name: is there, too" grep -q '"name":"MPI_Recv".*"unfinished":true' all.json
}

regions() {
    local name="regions, $1"
    check "$name: the library is compiled" "mpicc.$1" -fPIC -shared -I"$root/include" \
        "$root/share/examples/workqueue.c" -o libworkqueue.so
    check "$name: the program is compiled" "mpicc.$1" -I"$root/include" "$root/share/examples/taskfarm.c" -L. \
        -lworkqueue -Wl,-rpath,. -o taskfarm
    check "$name: runs" record "$1" 2 ./taskfarm
    written "$name"
    tallied "$name"
    check "$name: has regions" grep -q '"ph":"B".*"name":"workqueue_transfer","cat":"region"' all.json
    check "$name: has samples" grep -q '"ph":"C".*"name":"workqueue_sent_bytes.*"args":{"value":480}' all.json
}

filters() {
    local name="heat, $1"
    part "$name" --ranks 1-2
    part "$name" --comm 'MPI_COMM_WORLD/cart*'
    part "$name" --functions MPI_Isend
    part "$name" --window "$(awk -F, '$5 == "MPI_Irecv" && !n++ { print $6 }' all.csv):$(awk -F, \
        '$5 == "MPI_Isend" && ++n == 200 { print $6 }' all.csv)"
    check "$name: between two ranks there are messages" "$dump" --otf2 "two-$1" --ranks 0-1 run
    check "$name: their archive is sound" sh -c "'$build/tests/otf2judge' 'two-$1' |
        grep -Eq '^sound: .* [1-9][0-9]* messages matched'"
    refused "$name: no such rank" 'rank 9 does not exist; the job has ranks 0 to 3' "$dump" --csv --ranks 0-9 run
    refused "$name: no such communicator" "the name 'nix'; the names are .*MPI_COMM_WORLD" "$dump" --csv --comm nix run
    refused "$name: no such function" "'MPI_Nix' is neither .*p2p" "$dump" --csv --functions MPI_Nix run
    refused "$name: a window that is turned round" 'FROM:TO' "$dump" --perfetto new.json --window 3:2 run
    refused "$name: a filter where nothing is filtered" 'and --functions need' "$dump" --verify --ranks 0 run
}

files() {
    local name="heat, $1"
    rm -rf files
    mkdir files
    check "$name: interrupted" python3 "$views" interrupt "$dump" run
    refused "$name: a limit on the size of files" 'File too large' \
        sh -c "ulimit -f 64; '$dump' --perfetto files/new.json run"
    refused "$name: a full disk" 'No space left' "$dump" --perfetto /dev/full run
    refused "$name: a full disk, page" 'full cannot be written: No space left' "$dump" --html /dev/full run
    refused "$name: a full disk, CSV" 'No space left' sh -c "'$dump' --csv run >/dev/full"
    refused "$name: no such folder" 'No such file' "$dump" --perfetto files/none/new.json run
    refused "$name: a folder" 'Is a directory' "$dump" --perfetto files run
    check "$name: nothing is left" rmdir files
    mkdir -p files
    check "$name: standard output" sh -c "'$dump' --perfetto - run | cmp - all.json"
    # in a folder of its own: where links of /dev may be replaced, they are not to be
    check "$name: standard output by its name" sh -c "rm -f own && ln -s /proc/self/fd/1 own && echo before >files/out &&
        '$dump' --perfetto own run >>files/out && test -L own && (echo before && cat all.json) | cmp - files/out"
    check "$name: standard error by its name" sh -c "ln -sf /proc/self/fd/2 own && echo before >files/err &&
        '$dump' --perfetto own run 2>>files/err && test -L own && (echo before && cat all.json) | cmp - files/err"
    check "$name: a file that is there is replaced" sh -c "echo old >files/old.json &&
        '$dump' --perfetto files/old.json run && cmp files/old.json all.json"
}

# names that are no UTF-8, or would move a cursor, are in all outputs as they are in JSON
names() {
    mkdir planted && "$build/tests/pagejob" planted 2 3 --planted && "$dump" --json planted >planted.json &&
        "$dump" --csv planted >planted.csv && "$dump" --events planted >planted.events &&
        python3 "$views" names planted.json planted.csv planted.events
}
check "names that would do harm are the same in JSON, CSV and text" names

for mpi in openmpi mpich; do
    there_is heat || continue
    check "heat, $mpi: runs" record $mpi 4 "$build/tests/heat-$mpi" --rows 128 --columns 128
    written "heat, $mpi"
    tallied "heat, $mpi"
    check "heat, $mpi: an arrow for each message" python3 "$views" arrows all.json all.summary all.csv
    filters $mpi
    files $mpi
    check "traffic, $mpi: runs" record $mpi 2 "$build/tests/traffic-$mpi" 42
    written "traffic, $mpi"
    tallied "traffic, $mpi"
    check "traffic, $mpi: an arrow for each message" python3 "$views" arrows all.json all.summary all.csv
    check "threads, $mpi: runs" record $mpi 2 "$build/tests/threads-$mpi" all 10
    written "threads, $mpi"
    tallied "threads, $mpi"
    regions $mpi
    killed $mpi
done
verdict
