#!/bin/bash
# MPIT_SUMMARY_LIMIT_BYTES: a summary keeps its bound, and what shares a line is still counted. crowded.c knows its messages.
# Usage: test_summarysize.sh BUILD_DIRECTORY
. "$(dirname "$0")/../common/tooltest.sh"

comms=150 ranks=3
# member EXPRESSION: of the JSON of the job in `run`
member() {
    check "  $1" python3 -c "import json, subprocess
job = json.loads(subprocess.run(['mpit-dump', '--json', 'run'], stdout=subprocess.PIPE).stdout)['jobs'][0]
comms = {comm['name']: comm for comm in job['communicators']}
whole = [comm for name, comm in comms.items() if '/dup' in name]
sent = {comm['send_count'] for comm in whole}
sites = job['callsites']
assert $1, (len(comms), len(sites), comms.keys())"
}
# bounded LIMIT: the program runs with the bound, and the file of its summary keeps it
bounded() { # shellcheck disable=SC2086
    rm -rf run
    gives "$mpi: a bound of $1 bytes" 0 env MPIT_SUMMARY_LIMIT_BYTES="$1" mpit-run --quiet --output run mpirun.$mpi $over -n $ranks ./crowded-$mpi $comms
    size=$(stat -c %s run/*.mpit)
}
totals() {
    member 'sum(comm["send_count"] for comm in comms.values()) == 3 * 2 * 150'
    member 'job["calls"]["MPI_Sendrecv"]["count"] == 3 * 2 * 150'
    member 'sum(site["count"] for site in sites) == sum(call["count"] for call in job["calls"].values())'
}

for mpi in openmpi mpich; do
    has $mpi || continue
    built $mpi crowded
    over=$([ $mpi = openmpi ] && echo --oversubscribe)
    bounded 0
    check "  which is none: $size bytes" [ "$size" -gt 4096 ]
    totals
    member 'len(whole) == 150 and len(sites) >= 64'
    bounded 2048
    check "  is kept: $size bytes" [ "$size" -le $((2048 + 40 * ranks)) ]
    totals
    member '0 < len(whole) < 150 and "(other communicators)" in comms and len(sites) < 64'
    member 'all(comm["ranks"] == 3 and comm["send_count"] in (3, 6, 9) for comm in whole)'
    bounded 1
    totals
    check "  is too little: $size bytes" [ "$size" -lt 3000 ]
    member 'len(comms) == 2 and len(sites) == 1'
    echo 'summary_limit_bytes = 1' >site.conf
    rm -rf run # shellcheck disable=SC2086
    gives "$mpi: a bound of the site" 0 env MPIT_CONF="$work/site.conf" MPIT_OUTPUT="$work/run" LD_PRELOAD="$build/lib/libmpit.so" mpirun.$mpi $over -n $ranks ./crowded-$mpi $comms
    member 'len(comms) == 2 and len(sites) == 1'
    rm -rf run # shellcheck disable=SC2086
    gives "  is not for mpit-run" 0 env MPIT_CONF="$work/site.conf" mpit-run --quiet --output run mpirun.$mpi $over -n $ranks ./crowded-$mpi $comms
    member 'len(whole) == 150'
    bounded 4k
    one_says 1 'MPIT_SUMMARY_LIMIT_BYTES=4k cannot be used: allowed are whole numbers of bytes; summaries have no limit'
    member 'len(whole) == 150'
done

verdict
