#!/bin/bash
# mpit-dump --scaling: the figures of runs that measured themselves, and input that does not fit.
# Usage: test_scaling.sh BUILD_DIRECTORY
. "$(dirname "$0")/../common/tooltest.sh"

# figure EXPRESSION: of the scaling in `out`; rows by ranks, and the longest run, mean and largest useful time in `own`
figure() {
    python3 -c '
import json, sys
document = json.load(open("out"))
rows = {row["ranks"]: row for row in document["rows"]}
ranks = {}
for line in open("measured"):
    word, count, run, useful = line.split()
    ranks.setdefault(int(count), []).append((float(run), float(useful)))
def measured(times):
    runs, useful = zip(*times)
    return max(runs), sum(useful) / len(useful), max(useful)
own = {count: measured(times) for count, times in ranks.items()}
def near(a, b):
    if abs(a - b) > 0.02 * abs(b):
        print(a, "is not near", b)
        return False
    return True
sys.exit(not eval(sys.argv[1]))' "$1"
}

outputs=$(cd "$(dirname "$0")" && pwd)
# page NAME RUN...: the page of the runs has the figures of the JSON
page() {
    local name=$1
    shift
    if ! command -v chromium >out && ! command -v chromium-browser >out; then
        skip "$name" "there is no Chromium"
    elif ! mpit-dump --scaling --html page.html "$@" >out 2>err && grep -q "without the plotting library" err; then
        skip "$name" "this build has no plotting library"
    else
        mpit-dump --scaling --json "$@" >json
        check "$name" python3 "$outputs/htmlscaling.py" page.html json
    fi
}

gives "no run" 2 mpit-dump --scaling
tells "one run alone" 2 err "needs two runs or more" mpit-dump --scaling x
tells "--weak without --scaling" 2 err "needs --scaling" mpit-dump --weak x
for mpi in openmpi mpich; do
    has $mpi || continue
    built $mpi scaled steps
    over=$([ $mpi = openmpi ] && echo --oversubscribe)
    rm -f measured
    for ranks in 1 2 4; do # shellcheck disable=SC2086
        mpit-run --quiet --output run$ranks-$mpi mpirun.$mpi $over -n $ranks ./scaled-$mpi 800 100 50 100 >>measured
    done
    tells "$mpi: three runs, not in order" 0 out "^Strong scaling" mpit-dump --scaling run4-$mpi run1-$mpi run2-$mpi
    says out "^ +1 .* 1\.00 "
    says out "From 1 to 4 ranks the global efficiency goes from"
    says_not out "use --weak"
    gives "$mpi: the same as JSON" 0 mpit-dump --scaling --json run4-$mpi run1-$mpi run2-$mpi
    check "  the runs are sorted by ranks" figure '[row["ranks"] for row in document["rows"]] == [1, 2, 4]'
    check "  run times are those that the program measured" figure 'all(near(rows[n]["seconds"], own[n][0]) for n in rows)'
    check "  the speedup follows from them" figure \
        'all(near(rows[n]["speedup"], own[1][0] / own[n][0]) for n in rows) and rows[1]["speedup"] == 1'
    check "  load balance" figure 'all(near(rows[n]["efficiency"]["load_balance"], own[n][1] / own[n][2]) for n in rows)'
    check "  communication" figure 'all(near(rows[n]["efficiency"]["communication"], own[n][2] / own[n][0]) for n in rows)'
    check "  computation scaling" figure 'all(near(rows[n]["computation_scaling"], own[1][1] / (n * own[n][1])) for n in rows)'
    check "  the whole is the product of its parts" figure \
        'all(near(rows[n]["global_efficiency"], own[1][1] / (n * own[n][0])) for n in rows)'
    check "  what the program does lowers it: 950 ms, then 350 ms on rank 0 and three turns" figure \
        'rows[4]["global_efficiency"] < 0.6 < 0.9 < rows[1]["global_efficiency"] and rows[4]["computation_scaling"] < 0.9'
    page "$mpi: the page has the same figures" run4-$mpi run1-$mpi run2-$mpi
    tells "$mpi: weak scaling is told apart" 0 out "^Weak scaling" mpit-dump --scaling --weak run4-$mpi run1-$mpi
    says out "leave out --weak"
    rm measured
    for ranks in 1 4; do # shellcheck disable=SC2086
        mpit-run --quiet --output grown$ranks-$mpi mpirun.$mpi $over -n $ranks ./scaled-$mpi 0 200 0 0 >>measured
    done
    tells "$mpi: work that grows with the ranks" 0 out "use --weak" mpit-dump --scaling grown1-$mpi grown4-$mpi
    gives "$mpi: as weak scaling" 0 mpit-dump --scaling --weak --json grown1-$mpi grown4-$mpi
    check "  each rank computes as long as before" figure 'near(rows[4]["computation_scaling"], own[1][1] / own[4][1])'
    check "  and the speedup is that of the work" figure 'near(rows[4]["speedup"], 4 * own[1][0] / own[4][0])'
    check "  which is no doubt" figure 'document["doubtful"] is False'
    gives "$mpi: two runs with equal ranks" 0 mpit-dump --scaling --json run1-$mpi run4-$mpi grown4-$mpi
    check "  their median" figure 'rows[4]["runs"] == 2 and rows[1]["runs"] == 1'
    gives "$mpi: only equal ranks" 1 mpit-dump --scaling run4-$mpi grown4-$mpi
    says err "all runs have 4 ranks; --scaling needs runs with different numbers of ranks, and --diff"
    mpit-run --quiet --output other-$mpi mpirun.$mpi -n 2 ./steps-$mpi 3 1000
    gives "$mpi: another program" 1 mpit-dump --scaling run4-$mpi other-$mpi
    one_says 1 "of different programs: run4-$mpi has scaled-$mpi, other-$mpi has steps-$mpi"
    MPIT_FILTER=-MPI_Barrier mpit-run --quiet --output part-$mpi mpirun.$mpi -n 2 ./scaled-$mpi 10 0 0 0 >out
    gives "$mpi: a run without some calls" 0 mpit-dump --scaling --json run1-$mpi part-$mpi
    says err "part-$mpi: its efficiencies are not known"
    check "  has no efficiencies" figure 'rows[2]["global_efficiency"] is None and rows[2]["speedup"] > 1'
    tells "$mpi: a run that is not there" 1 err "no-such-run does not exist" mpit-dump --scaling run1-$mpi no-such-run
done
verdict
