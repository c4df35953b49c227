#!/bin/bash
# mpit-dump --diff: what it says of runs whose differences are known, as text, JSON and page, and --fail.
# Usage: test_diff.sh BUILD_DIRECTORY
outputs=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/../common/tooltest.sh"

# figure EXPRESSION: of the comparison in `out`; row(kind, begin) is its first row of that kind and begin of a name
figure() {
    python3 -c '
import json, sys
rows = json.load(open("out"))["rows"]
def row(kind, begin=""):
    return next(r for r in rows if r["kind"] == kind and r["name"].startswith(begin))
sys.exit(not eval(sys.argv[1]))' "$1"
}

# page NAME RUN...: the page of this comparison, as Chromium draws it, says what the text and the JSON say
page() {
    local name=$1 runs=() word
    shift
    for word; do [ "$word" = -- ] || runs+=("$word"); done
    if ! command -v chromium >out && ! command -v chromium-browser >out; then
        skip "$name" "there is no Chromium"
    elif ! mpit-dump --diff --html page.html "$@" >out 2>err && grep -q "without the plotting library" err; then
        skip "$name" "this build has no plotting library"
    else
        mpit-dump --diff "$@" >text && mpit-dump --diff --json "$@" >json
        check "$name" python3 "$outputs/htmldiff.py" page.html json text "${runs[@]}"
    fi
}

tells "one run alone" 2 err "needs two runs" mpit-dump --diff x
gives "no new run" 2 mpit-dump --diff x y --
tells "--fail without --diff" 2 err "needs --diff" mpit-dump --fail 'time>5%' x
tells "JSON and a page" 2 err "not both" mpit-dump --diff --json --html page.html x y
tells "a page, and another output" 2 err "only one of" mpit-dump --html page.html --analyze x
for mpi in openmpi mpich; do
    has $mpi || continue
    built $mpi steps
    for run in old-a old-b; do mpit-run --quiet --output $run-$mpi mpirun.$mpi -n 2 "./steps-$mpi" 100 1000; done
    for run in new-a new-b; do mpit-run --quiet --output $run-$mpi mpirun.$mpi -n 2 "./steps-$mpi" 80 60000; done
    gives "$mpi: two runs of the same" 0 mpit-dump --diff --fail 'messages>0%' --fail 'bytes>0%' --fail 'MPI_Send.count>0%' \
        old-a-$mpi old-b-$mpi
    says out "Calls, messages and bytes are the same everywhere"
    page "$mpi: the page of two runs of the same" old-a-$mpi old-b-$mpi
    gives "$mpi: a slower one with fewer messages" 3 mpit-dump --diff --fail 'time>50%' --fail 'messages<-10%' old-a-$mpi new-a-$mpi
    says err "limit broken: time changed by \+"
    says err "limit broken: messages changed by -20.0 %"
    says out "^run time .*: slower"
    says out "^  load balance .*% -> .*%"
    says out "MPI_Recv in exchange < main .* -> "
    says out "MPI_Send in exchange < main +100 -> +80 +-20.0 %  6.25 KiB -> 5 KiB"
    tells "$mpi: the other way round" 0 out "^run time .*: faster" mpit-dump --diff --fail 'time>0%' new-a-$mpi old-a-$mpi
    page "$mpi: the page of a faster one" new-a-$mpi old-a-$mpi
    for run in load_imbalance balanced; do mpit-run --quiet --output $run-$mpi mpirun.$mpi -n 2 "$build/tests/diseases-$mpi" $run .; done
    tells "$mpi: a cured fault" 0 out '^  gone +[0-9.]+ % -> +0.0 %  load imbalance of rank 1 in ' mpit-dump --diff load_imbalance-$mpi balanced-$mpi
    tells "$mpi: a new fault" 0 out '^  new +0.0 % -> +[0-9.]+ %  load imbalance of rank 1 in ' mpit-dump --diff balanced-$mpi load_imbalance-$mpi
    cp steps-$mpi copied-$mpi
    mpit-run --quiet --output other-$mpi mpirun.$mpi -n 2 "./copied-$mpi" 80 60000
    gives "$mpi: another program" 0 mpit-dump --diff old-a-$mpi other-$mpi
    says out "^run time .*: no verdict, as these are different programs \(steps-$mpi, copied-$mpi\)"
    page "$mpi: the page of another program" old-a-$mpi other-$mpi
    gives "$mpi: two sets" 0 mpit-dump --diff --json old-a-$mpi old-b-$mpi -- new-a-$mpi new-b-$mpi
    check "  the time of the run differs, since the sets do not overlap" figure 'row("run")["time_differs"]'
    check "  rank 1 computes longer: 80 x 60 ms, not 100 x 1 ms" figure \
        '0.08 < row("rank", "rank 1")["seconds"]["old"]["median"] < 3 < row("rank", "rank 1")["seconds"]["new"]["median"]'
    check "  counts are exact" figure \
        'row("function", "MPI_Send")["count"]["old"]["median"] == 100 and row("function", "MPI_Barrier")["count"]["new"]["max"] == 160'
    page "$mpi: the page of two sets" old-a-$mpi old-b-$mpi -- new-a-$mpi new-b-$mpi
    gives "$mpi: a limit that is none" 2 mpit-dump --diff --fail 'MPI_Send.messages>x%' old-a-$mpi new-a-$mpi
    says err "is no limit; allowed are"
    gives "$mpi: a limit on a function with a mistyped name" 2 mpit-dump --diff --fail 'MPI_AllReduce.count>1%' \
        old-a-$mpi new-a-$mpi
    says err "mpit records no function MPI_AllReduce; did you mean MPI_Allreduce\?"
    gives "$mpi: a limit on a function that is none" 2 mpit-dump --diff --fail 'MPI_Foobar.time>1%' old-a-$mpi new-a-$mpi
    says err "mpit records no function MPI_Foobar$"
    gives "$mpi: a limit on a function that was not called" 0 mpit-dump --diff --fail 'MPI_Alltoallw.count>0%' \
        old-a-$mpi new-a-$mpi
    says_not out "different numbers of ranks"
    mpit-run --quiet --output wide-$mpi mpirun.$mpi -n 3 "./steps-$mpi" 100 1000
    gives "$mpi: a run with more ranks" 0 mpit-dump --diff old-a-$mpi wide-$mpi
    says out "^The runs have different numbers of ranks \(2 to 3\): .*--scaling"
    page "$mpi: the page of a run with more ranks" old-a-$mpi wide-$mpi
    tells "$mpi: the same as JSON" 0 out '"ranks_differ": true' mpit-dump --diff --json old-a-$mpi wide-$mpi
    says out '"most_ranks": 3'
    if [ -s page.html ]; then
        gives "$mpi: a page without a name, and a broken limit" 3 mpit-dump --fail 'messages<-10%' --diff --html old-a-$mpi/ \
            old-b-$mpi -- new-a-$mpi/ new-b-$mpi
        says out "old-a-$mpi-new-a-$mpi.html"
        check "  it is the page of these runs" grep -q '"old":\["old-a-'$mpi'/","old-b-'$mpi'"\]' old-a-$mpi-new-a-$mpi.html
        gives "$mpi: no place for a page" 1 mpit-dump --diff --html /nowhere/page.html old-a-$mpi new-a-$mpi
    fi
    tells "$mpi: a run that is not there" 1 err "no-such-run does not exist" mpit-dump --diff old-a-$mpi no-such-run
done
verdict
