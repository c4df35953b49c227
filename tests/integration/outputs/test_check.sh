#!/bin/bash
# test_check.sh BUILD_DIR
#
# otf2judge finds every planted fault, says what is wrong with damaged files, and finds nothing in our own
# archives; those of a killed rank have warnings of the kind `unfinished` at the most. Other readers take them, too:
# otf2-print, Python's otf2, and ViTE, whose picture has an arrow for each message.
. "$(dirname "$0")/../common/verdict.sh"
here=$(cd "$(dirname "$0")" && pwd)

# gives NAME STATUS COMMAND...: its output is in $work/out
gives() {
    local name=$1 expected=$2 status
    shift 2
    "$@" >"$work/out" 2>&1
    status=$?
    if [ "$status" = "$expected" ]; then ok "$name"; else not_ok "$name: exit status $status" "$work/out"; fi
}

# figure NAME: of the verdict in $work/check.json
figure() {
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["figures"][sys.argv[2]])' "$work/check.json" "$1"
}

# The system's own python, because the module is Debian's.
python_reads() {
    /usr/bin/python3 - "$1" "$2" <<'PYTHON'
import sys
import otf2
with otf2.reader.open(sys.argv[1]) as trace:
    count = sum(1 for _ in trace.events)
sys.exit(0 if count == int(sys.argv[2]) else f"{count} events, not {sys.argv[2]}")
PYTHON
}

# An arrow is a line with a triangle at its end; nothing else in the picture is a triangle.
vite_draws() {
    local arrows
    QT_QPA_PLATFORM=offscreen XDG_RUNTIME_DIR=$work timeout 200 vite -e "$work/picture.svg" "$1" || return 1
    arrows=$(grep -o '<polygon' "$work/picture.svg" | wc -l)
    echo "$arrows arrows, $2 messages"
    [ "$arrows" = "$2" ]
}

newer_vite() { dpkg --compare-versions "$(dpkg-query -W -f '${Version}' vite 2>/dev/null)" ge 1.4; }
# vite_ends: it draws an archive at all
vite_ends() {
    "$build/bin/mpit-run" --quiet --otf2 --output "$work/small" "mpirun.$1" -n 1 "$build/tests/heat-$1" --rows 8 --columns 8 \
        --steps 2 >"$work/out" 2>&1 </dev/null
    QT_QPA_PLATFORM=offscreen XDG_RUNTIME_DIR=$work timeout 30 vite -e "$work/small.svg" "$work/small/otf2/traces.otf2" >"$work/out" 2>&1
    [ $? -ne 124 ]
}

demo() {
    local run=$work/run anchor=$work/run/otf2/traces.otf2
    record="$build/bin/mpit-run --quiet --otf2 --output $run"
    gives "$mpi: heat runs" 0 launch "$mpi" 4 "$build/tests/heat-$mpi" --rows 64 --columns 64 --steps 100
    gives "$mpi: its archive is sound" 0 "$build/tests/otf2judge" "$run/otf2"
    gives "$mpi: ... by its anchor" 0 "$build/tests/otf2judge" "$anchor"
    gives "$mpi: ... by its run" 0 "$build/tests/otf2judge" "$run"
    if grep -q '^sound: 0 errors, 0 warnings; 4 processes, 4 locations, ' "$work/out" && [ "$(wc -l <"$work/out")" = 1 ]; then
        ok "$mpi: nothing is found"
    else
        not_ok "$mpi: nothing is found" "$work/out"
    fi
    "$build/tests/otf2judge" --json "$run" >"$work/check.json"
    gives "$mpi: otf2-print reads it" 0 otf2-print --silent "$anchor"
    gives "$mpi: Python's otf2 reads $(figure events) events" 0 python_reads "$anchor" "$(figure events)"
    if [ "$vite" = ends ] || ! newer_vite; then
        gives "$mpi: ViTE draws $(figure messages_matched) arrows" 0 vite_draws "$anchor" "$(figure messages_matched)"
    else # 1.4 of Debian's sid, with the archive of two ranks that ViTE 1.2 draws in 0.1 s
        skip "$mpi: ViTE draws the arrows" "ViTE does not end with a small archive"
    fi
    if [ "$(figure messages_matched)" = "$(figure sends)" ] && [ "$(figure sends)" -gt 100 ]; then
        ok "$mpi: all messages of the demo match"
    else
        not_ok "$mpi: all messages of the demo match" "$work/check.json"
    fi
    rm -rf "$run"
}

# messages_sent RUN: so far, by both ranks of a job that runs; 0 until both are there
messages_sent() {
    "$build/bin/mpit-dump" --json "$1" 2>/dev/null | python3 -c '
import json, sys
try:
    (job,) = json.load(sys.stdin)["jobs"]
except ValueError:
    job = {"ranks": 0}
print(sum(comm["send_count"] for comm in job["communicators"]) if job["ranks"] == 2 else 0)'
}

# A rank is killed while it sends. Its peers' messages have no other end; that is told, and is no fault of the archive.
killed() {
    local run=$work/killed pid launcher tries
    record=''
    timeout 120 "$build/bin/mpit-run" --quiet --trace --output "$run" "mpirun.$mpi" -n 2 "$build/tests/heat-$mpi" --rows 64 \
        --columns 64 --steps 100000000 >"$work/out" 2>&1 </dev/null &
    launcher=$!
    for ((tries = 0; tries < 300; tries++)); do # the size of a file says nothing: it is made ready for more
        [ "$(messages_sent "$run")" -ge 5000 ] && break
        sleep 0.2
    done
    pid=$(heat_process "$launcher")
    if [ -n "$pid" ]; then kill -KILL "$pid"; else not_ok "$mpi: a process of heat to kill" "$work/out"; fi
    wait "$launcher"
    "$build/bin/mpit-dump" --otf2 "$work/archive" "$run" >"$work/out" 2>&1
    gives "$mpi: the archive of a killed rank has no errors" 0 "$build/tests/otf2judge" --json "$work/archive"
    cp "$work/out" "$work/check.json"
    gives "$mpi: ... and no other warnings than of what is unfinished" 0 python3 -c '
import json, sys
said = json.load(open(sys.argv[1]))
print(said["found"], said["figures"], said["findings"])
sys.exit(said["figures"]["messages_matched"] < 100 or bool(set(said["found"]) - {"unfinished"}))' "$work/check.json"
    rm -rf "$run" "$work/archive"
}

# The first process below the launcher that is the program.
heat_process() {
    local child found
    for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
        if [ "$(cat "/proc/$child/comm" 2>/dev/null)" = "heat-$mpi" ]; then
            echo "$child"
            return 0
        fi
        found=$(heat_process "$child")
        if [ -n "$found" ]; then
            echo "$found"
            return 0
        fi
    done
}

gives "the rules have a table" 0 "$build/tests/otf2judge" --rules
if [ "$(wc -l <"$work/out")" = "$(cut -d' ' -f1 "$work/out" | sort -u | wc -l)" ] && [ "$(wc -l <"$work/out")" -gt 60 ]; then
    ok "with an identifier for each"
else
    not_ok "with an identifier for each" "$work/out"
fi
documented=$here/../../otf2judge/README.md
while read -r rule _; do
    if grep -q "^| \`$rule\` |" "$documented"; then continue; fi
    not_ok "$rule is in tests/otf2judge/README.md"
done <"$work/out"
gives "a directory without an archive" 2 "$build/tests/otf2judge" "$work"
gives "nothing at all" 2 "$build/tests/otf2judge" "$work/nowhere"
gives "an option that it does not have" 2 "$build/tests/otf2judge" --verify "$work"
python3 "$here/check.py" "$build" "$work" >"$work/faults"
status=$?
grep '^not ok' -A 2 "$work/faults"
if [ "$status" = 0 ]; then ok "planted faults: $(tail -n 1 "$work/faults")"; else not_ok "planted faults" "$work/faults"; fi
for mpi in openmpi mpich; do
    there_is heat || continue
    vite=$(vite_ends $mpi && echo ends)
    demo
    killed
done
verdict
