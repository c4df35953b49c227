#!/bin/bash
# Clocks of several nodes: each rank looks to mpit as if it were on a node of its own, with a clock that is seconds off
# and drifts by up to 100 ppm (tests/clocks/faultyclock.c). On the time line that the tools make of it no message arrives
# before it was sent, and the measured times are as near to the true ones as the measurements claim.
# Usage: test_clocks.sh BUILD_DIRECTORY [MESSAGES_PER_RANK]
here=$(cd "$(dirname "$0")" && pwd)
messages=${2:-0} # 0: what is quick
. "$here/../common/verdict.sh"
unset LD_PRELOAD MPIT_OUTPUT MPIT_TRACE MPIT_REDUCE MPIT_CLOCK_SYNC

# nodes FAULTS: those of the ranks from now on
nodes() {
    export FAULT_NODES=$1
    FAULT_BEGIN_NS=$(python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))')
    export FAULT_BEGIN_NS
}

# recorded NAME RANKS PROGRAM...: a trace in $run
recorded() {
    local name=$1 ranks=$2
    shift 2
    run=$work/run-$mpi
    rm -rf "$run"
    record="env LD_PRELOAD=$build/tests/faultyclock.so $build/bin/mpit-run --quiet --trace --output $run"
    limit=280 launch "$mpi" "$ranks" "$@" >"$work/out" 2>&1 </dev/null
    local status=$?
    cp "$work/out" "$work/said"
    record=
    if [ "${wanted_status:-$status}" = any ] && [ "$status" != 0 ] || [ "$status" = "${wanted_status:-0}" ]; then ok "$mpi: $name"; else not_ok "$mpi: $name (status $status)" "$work/out"; fi
}

# truth NAME CONDITION: of the figures that clocktruth gives, as an expression of python
truth() {
    if "$build/tests/clocktruth" "$run" >"$work/truth" 2>"$work/err" &&
        python3 -c "
import sys
words = open('$work/truth').read().split()
sys.exit(not eval(sys.argv[1], dict(zip(words[::2], map(int, words[1::2])))))" "$2"; then
        ok "$mpi: $1 ($(cat "$work/truth"))"
    else
        cat "$work/err" >>"$work/truth"
        not_ok "$mpi: $1: $2" "$work/truth"
    fi
}

says() {
    check "$mpi: $1" eval "$2"
}

# offsets ARCHIVE: those of rank 1
offsets() {
    otf2-print -C "$1" >"$work/offsets"
    python3 -c "
import re, sys
found = [(int(t), int(o)) for t, o in re.findall(r'^CLOCK_OFFSET +1 +Time: (\d+), Offset: ([+-]\d+)', sys.stdin.read(), re.M)]
print(found)
sys.exit(len(found) < 2 or found != sorted(found) or any(abs(o + 3e9) > 2e7 for t, o in found))" <"$work/offsets"
}

# arrivals ARCHIVE PER_RANK: by the times that the OTF2 library makes of stamps and offsets
arrivals() {
    otf2-print "$1" | python3 -c "
import collections, re, sys
times = collections.defaultdict(lambda: ([], []))
for line in sys.stdin:
    found = re.match(r'MPI_(I?SEND|I?RECV) +(\d+) +(\d+) .*?(?:Receiver|Sender): (\d+)', line)
    if found:
        kind, here, at, there = found.group(1), *map(int, found.groups()[1:])
        sent = kind.endswith('SEND')
        times[(here, there) if sent else (there, here)][not sent].append(at)
messages = early = 0
for sends, receives in times.values():
    assert len(sends) == len(receives)
    messages += len(sends)
    early += sum(r < s for s, r in zip(sends, receives))
print(messages, 'messages,', early, 'early')
sys.exit(messages != 4 * $2 or early)"
}

four=0:0,3000000000:100,-5000000000:-80,7000000:35
given=$messages
for mpi in openmpi mpich; do
    program=$build/tests/messages-$mpi
    there_is messages || continue

    # MPICH's processes do not give way: with more of them than processors each message takes a time slice
    messages=$given few=2000
    if [ "$mpi" = mpich ]; then few=200; fi
    if [ "$given" = 0 ]; then messages=$((few * 5)); fi

    nodes $four
    recorded "four nodes" 4 "$program" "$messages"
    truth "no message is early" "messages == 4 * $messages and early == 0 and early_without > messages / 4 and times == 2"
    truth "as near to the truth as the measurements claim" "off_measured_ns <= bound_ns + 1000"
    says "nothing is left in the directory" "! ls -A '$run' | grep '^\.mpit-clock'"
    says "the summary says how well the clocks are known, and how" \
        "'$build/bin/mpit-dump' --full '$run' | grep -E '^clocks of 4 nodes: within .* when measured over TCP, 2 times: drift up to [0-9.]+ ppm'"
    says "JSON has it" "'$build/bin/mpit-dump' --json '$run' | python3 -c '
import json, sys
clocks = json.load(sys.stdin)[\"jobs\"][0][\"clocks\"]
sys.exit(clocks[\"nodes\"] != 4 or clocks[\"measured\"] != 4 or clocks[\"times\"] != 2 or clocks[\"error_ns\"] <= 0 or
         (clocks[\"way\"], clocks[\"trouble\"]) != (\"tcp\", None))'"
    says "the archive is made, and says it, too" \
        "'$build/bin/mpit-dump' --otf2 '$run/otf2' '$run' 2>&1 | grep 'clocks of 4 nodes'"
    says "the archive is sound" "'$build/tests/otf2judge' '$run/otf2'"
    says "ClockOffset takes back the three seconds, at begin and end" "offsets '$run/otf2/traces.otf2'"
    says "what reads the archive finds no message early" "arrivals '$run/otf2/traces.otf2' $messages"

    nodes 0:0,2000000000:50
    recorded "two nodes, three processes" 3 "$program" "$few"
    truth "each node is measured once for all of its processes" "ranks == 3 and early == 0 and times == 2"

    nodes $four
    wanted_status=any recorded "a rank is killed" 4 "$program" "$((few * 2))" 0 0 killed
    truth "what was measured at the begin, and the messages, are used" "early == 0 and times == 1 and messages > $few"

    nodes $four
    MPIT_CLOCK_SYNC=none recorded "nothing measured" 4 "$program" "$few"
    truth "messages alone set the clocks" "early == 0 and times == 0"
    says "which is said, and why" "'$build/bin/mpit-dump' --otf2 '$run/otf2' '$run' 2>&1 |
        grep -E '^.*clocks of 4 nodes: not measured, .*, corrected by .*, because messages were early; MPIT_CLOCK_SYNC=none'"

    [ "$mpi" = openmpi ] || continue # MPICH cannot make this broadcast
    nodes 0:0,1000000:20
    mpicc.openmpi -o "$work/wide" "$here/wide.c" >"$work/out" 2>&1 || not_ok "wide.c compiles" "$work/out"
    recorded "a collective of 2.25 GiB beside a receive" 2 "$work/wide"
    "$build/bin/mpit-dump" --analyze "$run" >"$work/analysis" 2>&1
    says "its size is not taken for the end of its call" "! grep 'received before' '$work/analysis' && grep 'Late Sender' '$work/analysis'"

    mpicc.openmpi -o "$work/widethreads" "$here/widethreads.c" >"$work/out" 2>&1 || not_ok "widethreads.c compiles" "$work/out"
    recorded "receives of a thread within a long one of another" 2 "$work/widethreads"
    "$build/bin/mpit-dump" --csv "$run" >"$work/csv"
    says "they are not taken for each other: both leave the last barrier at once" "python3 -c '
import csv
ends = {row[\"rank\"]: float(row[\"start_s\"]) + float(row[\"duration_s\"])
        for row in csv.DictReader(open(\"$work/csv\")) if (row[\"what\"], row[\"function\"]) == (\"call\", \"MPI_Barrier\")}
print(ends)
assert len(ends) == 2 and ends[\"0\"] > 6 and abs(ends[\"0\"] - ends[\"1\"]) < 0.2'"
done
verdict
