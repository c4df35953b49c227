#!/bin/bash
# test_manyfiles.sh BUILD_DIR
#
# Jobs with more run files than a tool keeps mapped (RUN_MAPS_MOST in reader.h): the summary, the list of events and the
# replay have each of them once, in the order of ranks, however many jobs they are of; and a tool that may have few maps
# does with few. If all of them died, the post-mortem says for whom they waited: its time grows with the ranks, and not
# with their square. The run files are copies of one that a program left (manyfiles.c).
. "$(dirname "$0")/../common/verdict.sh"
limit=300
many=5000 # above RUN_MAPS_MOST

mpi=openmpi
[ -x "$build/tests/heat-$mpi" ] || mpi=mpich
export MPIT_FLIGHT_EVENTS=64
MPIT_REDUCE=0 MPIT_TRACE=1 live_run "$work/one" launch $mpi 1 "$build/tests/heat-$mpi" --rows 8 --columns 8 --steps 2 --every 1 >"$work/out" 2>&1 </dev/null || not_ok "a run to be copied" "$work/out"
run_file=("$work"/one/*.mpit)

# figures DIRECTORY: ranks of each job, then calls of all of them
figures() {
    "$build/bin/mpit-dump" --json "$1" >"$work/json" 2>"$work/told" # its status may tell of a damaged file
    python3 - "$work/json" <<'EOF'
import json, sys
jobs = json.load(open(sys.argv[1]))["jobs"]
print(*sorted({job["ranks"] for job in jobs}), "ranks,", len(jobs), "jobs,",
      sum(call["count"] for job in jobs for call in job["calls"].values()), "calls,",
      sum(comm["send_count"] for job in jobs for comm in job["communicators"]), "messages")
EOF
}

# many_check COUNT JOBS
many_check() {
    local each
    each=$(figures "$work/one" | sed 's/.*jobs, \([0-9]*\) calls.*/\1/')
    "$build/tests/manyfiles" "${run_file[0]}" "$work/many" "$1" "$2" >"$work/out" 2>&1 || not_ok "$1 run files" "$work/out"
    figures "$work/many" >"$work/out"
    if grep -q "^$(($1 / $2)) ranks, $2 jobs, $((each * $1)) calls" "$work/out" && [ "$each" -gt 10 ]; then
        ok "the summary of $1 run files: $(cat "$work/out")"
    else
        not_ok "the summary of $1 run files, $each calls each: $(cat "$work/out")" "$work/told"
    fi
}

many_check 600 200
rm -rf "$work/many"
many_check $many 1

# A table as large as all possible numbers of call paths in each reader would be 2.5 GiB. Pages of the files count, too.
memory=$(python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$build/bin/mpit-dump" --json "$work/many")
if [ "$memory" -lt 1200000 ]; then ok "$many run files need $memory KiB"; else not_ok "$many run files need $memory KiB"; fi

"$build/bin/mpit-dump" --verify "$work/many" >"$work/out" 2>"$work/told"
status=$?
seq -f 'rank %.0f: the replayed trace equals the counters' 0 $((many - 1)) >"$work/wanted"
if [ $status = 0 ] && cmp -s "$work/out" "$work/wanted"; then ok "each of $many is replayed, by rank"; else
    not_ok "each of $many is replayed, by rank (status $status)" "$work/told"
fi

# The analysis goes from rank to rank for each call, and reads many events of a file at a time.
if strace -o "$work/maps" true 2>/dev/null; then
    strace -f -c -e trace=mmap -o "$work/maps" "$build/bin/mpit-dump" --analyze "$work/many" >"$work/out" 2>"$work/told"
    maps=$(awk '$NF == "mmap" { print $4 }' "$work/maps")
    if grep -q ": $many ranks$" "$work/out" && [ "$maps" -lt $((20 * many)) ]; then ok "the analysis of $many ranks makes $maps maps"; else
        not_ok "the analysis of $many ranks makes $maps maps" "$work/out"
    fi
else
    skip "maps of the analysis" "strace is not installed, or may not trace here"
fi

# all were copied from one, so that call n of all ranks comes before call n + 1 of any
listing() { awk '$6 ~ /^MPI_/ { print $1, $3, $6 }'; }
"$build/bin/mpit-dump" --events "$work/one" 2>/dev/null | listing >"$work/each"
"$build/bin/mpit-dump" --events "$work/many" 2>"$work/told" | listing >"$work/out"
awk -v many=$many '{ for (i = 0; i < many; i++) print i, $2, $3 }' "$work/each" >"$work/wanted"
if [ "$(wc -l <"$work/each")" -gt 10 ] && cmp "$work/out" "$work/wanted" >>"$work/told" 2>&1; then
    ok "each of $many has its events, by time and rank: $(wc -l <"$work/out") calls"
else
    not_ok "each of $many has its events, by time and rank: $(wc -l <"$work/out") calls" "$work/told"
fi

# Without a trace only the header is kept of a reader.
MPIT_REDUCE=0 live_run "$work/plain" launch $mpi 1 "$build/tests/heat-$mpi" --rows 8 --columns 8 --steps 2 --every 1 >"$work/out" 2>&1 </dev/null || not_ok "a run without a trace" "$work/out"
run_file=("$work"/plain/*.mpit)
each=$(figures "$work/plain" | sed 's/.*jobs, \([0-9]*\) calls.*/\1/')
for count in 1500 $many; do
    rm -rf "$work/many"
    "$build/tests/manyfiles" "${run_file[0]}" "$work/many" $count 1 >"$work/out" 2>&1 || not_ok "$count run files" "$work/out"
    memory[$count]=$(python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$build/bin/mpit-dump" "$work/many")
done
kept=$(((memory[$many] - memory[1500]) * 1024 / (many - 1500)))
if [ $kept -lt 6500 ]; then ok "a file without a trace needs $kept bytes"; else not_ok "a file without a trace needs $kept bytes"; fi
file=$work/many/host00000.1000.mpit
printf 'XXXX' | dd of="$file" bs=1 seek=4096 conv=notrunc 2>"$work/out" # the first chunk
figures "$work/many" >"$work/out"
if grep -q "^$((many - 1)) ranks, 1 jobs, $((each * (many - 1))) calls" "$work/out" && grep -q "${file##*/} is damaged: no chunk at byte 4096" "$work/told"; then
    ok "a damaged file among many: $(cat "$work/out")"
else
    not_ok "a damaged file among many, $each calls each: $(cat "$work/out")" "$work/told"
fi

# died_check END WORDS...: the post-mortem has these. With a loop over ranks in a loop over ranks it took minutes.
died_check() {
    local end=$1 words lacks="" used
    shift
    rm -rf "$work/died"
    "$build/tests/manyfiles" "${run_file[0]}" "$work/died" $many 1 "$end" >"$work/out" 2>&1 || not_ok "$many dead processes" "$work/out"
    used=$(python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[2:], stdout=open(sys.argv[1], "w"), stderr=subprocess.STDOUT)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(int(used.ru_utime + used.ru_stime), used.ru_maxrss)' "$work/out" "$build/bin/mpit-dump" --crash "$work/died")
    for words in "$@"; do grep -qF -- "$words" "$work/out" || lacks="$lacks; not there: $words"; done
    [ "${used% *}" -lt 15 ] && [ "${used#* }" -lt 200000 ] || lacks="; seconds and KiB: $used$lacks"
    if [ -z "$lacks" ]; then ok "$many processes died in $end: seconds and KiB: $used"; else
        not_ok "$many processes died in $end$lacks" "$work/out"
    fi
}
half=$((many / 2))
died_check halves "$many of $many processes did not end normally" \
    "ranks 0-$((half - 1)): in MPI_Barrier on MPI_COMM_WORLD, which have not entered: ranks $half-$((many - 1)), for" \
    "ranks $half-$((many - 1)): in MPI_Recv on MPI_COMM_WORLD, from ranks 0-$((half - 1)), for" \
    "rank 0 waits for rank $half, which waits for rank 0: a deadlock"
died_check rows "ranks 1-69: in MPI_Allreduce on MPI_COMM_WORLD/split#1:0, which has not entered: rank 0, for" \
    "ranks 71-139: in MPI_Allreduce on MPI_COMM_WORLD/split#1:1, which has not entered: rank 70, for"
died_check ring "which waits for rank 63, which waits for $((many - 64)) more ranks in turn, the last of which waits for rank 0: a deadlock"
# A file is opened to see whether it is a container, to read it, and for its call paths; each time after a look with O_PATH.
if strace -o "$work/opened" true 2>/dev/null; then
    strace -f -c -e trace=openat -o "$work/opened" "$build/bin/mpit-dump" --crash "$work/died" >"$work/out" 2>&1
    opened=$(awk '$NF == "openat" { print $4 }' "$work/opened")
    if [ "$opened" -lt $((7 * many)) ]; then ok "the post-mortem of $many processes opens $opened files"; else
        not_ok "the post-mortem of $many processes opens $opened files" "$work/out"
    fi
else
    skip "opened files of the post-mortem" "strace is not installed, or may not trace here"
fi
verdict
