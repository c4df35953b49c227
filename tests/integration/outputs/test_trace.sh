#!/bin/bash
# For each MPI, program and number of ranks: the replayed trace equals the live tallies cell for cell; the OTF2 archive
# read back through the OTF2 library is sound, and its messages, bytes and collectives are those of the tallies. A trace
# that was cut makes a sound archive that does not claim to be complete.
# Usage: test_trace.sh BUILD_DIRECTORY
. "$(dirname "$0")/../common/verdict.sh"

here=$(cd "$(dirname "$0")" && pwd)
export LC_ALL=C.UTF-8
unset LD_PRELOAD MPIT_OUTPUT MPIT_TRACE

summary() { "$build/bin/mpit-dump" --json "$1" >"$work/summary.json"; }
archive() { "$build/tests/otf2judge" --json "$1/otf2" >"$work/check.json"; }

# trace NAME MPI RANKS COMMAND...
trace() {
    local name="$1, $2, $3 ranks" mpi=$2 ranks=$3 run="$work/run"
    shift 3
    rm -rf "$run"
    check "$name: runs with --otf2" timeout 300 "$build/bin/mpit-run" --quiet --otf2 --output "$run" "mpirun.$mpi" -n "$ranks" "$@"
    check "$name: replay equals the counters" "$build/bin/mpit-dump" --verify "$run"
    check "$name: archive is sound" archive "$run"
    check "$name: summary as JSON" summary "$run"
    check "$name: archive equals the counters" python3 "$here/../common/trace_compare.py" "$work/summary.json" "$work/check.json"
    check "$name: otf2-print reads it, and each program ends" programs "$ranks"
}

# programs COUNT: so many processes of the archive in run/ have a begin and an end of their program
programs() {
    local events=$work/events
    otf2-print "$work/run/otf2/traces.otf2" >"$events" || return 1
    grep -cE '^PROGRAM_(BEGIN|END) ' "$events" | grep -qx $((2 * $1)) || {
        grep -E '^PROGRAM_' "$events"
        return 1
    }
}

# cut MPI BYTES: heat with a trace that may not be larger
cut_trace() {
    local name="heat, $1, cut after $2 bytes" run="$work/run"
    rm -rf "$run"
    check "$name: runs with --otf2" env MPIT_TRACE_LIMIT_BYTES="$2" timeout 300 "$build/bin/mpit-run" --quiet --otf2 \
        --output "$run" "mpirun.$1" -n 2 "$build/tests/heat-$1" --rows 64 --columns 64 --steps 2000
    check "$name: the cut is told" sh -c "'$build/bin/mpit-dump' '$run' | grep 'not in the trace: .*trace_limit'"
    check "$name: archive is sound" archive "$run"
    check "$name: no process claims to be complete" programs 0
    check "$name: what was entered is left" sh -c "
        [ \$(grep -c '^ENTER ' '$work/events') -gt 1000 ] &&
        [ \$(grep -c '^ENTER ' '$work/events') = \$(grep -c '^LEAVE ' '$work/events') ]"
}

# ring_trace MPI: a trace that keeps its end
ring_trace() {
    local name="heat, $1, the last events" run="$work/run" shown="$work/shown" size
    rm -rf "$run" "$shown"
    mkdir "$shown"
    check "$name: runs" timeout 300 "$build/bin/mpit-run" --quiet --trace-limit 200000 --trace-policy ring \
        --output "$run" "mpirun.$1" -n 2 "$build/tests/heat-$1" --rows 64 --columns 64 --steps 6000
    "$build/bin/mpit-dump" --events "$run" >"$shown/events" 2>&1
    check "$name: the gap is at the start" grep -q '(from the start) [0-9]* events are missing here (trace_limit, the oldest events were replaced)' "$shown/events"
    check "$name: the end is there" sh -c "tail -16 '$shown/events' | grep -q MPI_"
    size=$(du -bs "$run" | cut -f 1)
    check "$name: the file is bounded ($size bytes)" [ "$size" -lt 300000 ]
}

# cut_while_read DUMP RUN: all files but one page go away while the first lines of the events are read
cut_while_read() {
    "$1" --events "$2" 2>"$2/said" | {
        head -n 1
        truncate -s 4096 "$2"/*.mpit
        cat
    } >"$2/text"
    [ "${PIPESTATUS[0]}" = 1 ] && grep -q '^mpit-dump: a run file was cut short while it was read' "$2/said"
}

# packed_trace MPI: live files with a trace, and the job file of them: the same to the last byte of all outputs, in at most
# 8 bytes for each call
packed_trace() {
    local name="heat, $1, packed" run="$work/run" shown="$work/shown" calls
    rm -rf "$run" "$shown"
    mkdir "$shown"
    MPIT_TRACE=1 check "$name: runs, and nothing is collected" live_run "$shown/live" timeout 300 "mpirun.$1" -n 4 \
        "$build/tests/heat-$1" --rows 256 --columns 256
    cp -r "$shown/live" "$shown/cut"
    cp -r "$shown/live" "$run"
    check "$name: files that are cut short while they are read are an end with a word" cut_while_read "$build/bin/mpit-dump" "$shown/cut"
    check "$name: it becomes one job file" "$build/bin/mpit-collect" --join "$run"
    for what in events json verify; do
        check "$name: --$what of the live files" sh -c "'$build/bin/mpit-dump' --$what '$shown/live' >'$shown/$what.live'"
        check "$name: --$what of the job file" sh -c "'$build/bin/mpit-dump' --$what '$run' >'$shown/$what.packed'"
        check "$name: --$what is the same" cmp "$shown/$what.live" "$shown/$what.packed"
    done
    calls=$(grep -c MPI_ "$shown/events.packed")
    check "$name: at most 8 bytes a call ($calls calls)" [ "$(du -bs "$run" | cut -f 1)" -le $((8 * calls)) ]
    check "$name: nothing else is left" [ "$(ls -A "$run" | wc -l)" = 1 ]
}

# Six bytes of a block of events are others: each output that reads them says so, and none makes something else of them.
damaged_trace() {
    local name="heat, $1, damaged" run="$work/run" file how
    file=$(find "$run" -name '*.mpit' | sort | head -n 1)
    python3 -c '
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
kind, _, size = struct.unpack("=IIQ", data[72:88]) # of the first section: the events come last
assert kind == 1
data[64 + size - 500:64 + size - 494] = b"\xff\xfe\xfd\xfc\xfb\xfa"
open(sys.argv[1], "wb").write(data)' "$file"
    for how in --events --csv --analyze --verify '--ranks 0 --window 0:100' '--perfetto /dev/null' "--otf2 $run/otf2"; do
        # shellcheck disable=SC2086 # an option and its value
        "$build/bin/mpit-dump" $how "$run" >"$work/out" 2>&1
        check "$name: $how tells it, status $?" sh -c "[ $? = 1 ] && grep -q 'is damaged: its events cannot be read' '$work/out'"
    done
    check "$name: the tallies are whole" "$build/bin/mpit-dump" --json "$run"
}

for mpi in openmpi mpich; do
    there_is heat || continue
    trace heat $mpi 4 "$build/tests/heat-$mpi"
    for ranks in 2 3; do
        trace traffic $mpi $ranks "$build/tests/traffic-$mpi" $((ranks + 40))
    done
    cut_trace $mpi 1
    cut_trace $mpi 150000
    packed_trace $mpi
    damaged_trace $mpi
    ring_trace $mpi
done
verdict
