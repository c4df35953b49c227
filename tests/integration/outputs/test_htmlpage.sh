#!/bin/bash
# The page of mpit-dump --html, drawn by headless Chromium: each figure is there and shows what --json and --analyze say,
# of runs of each MPI with a trace, with run files alone and with neither, with counters and samples, of several jobs, of
# 512 ranks and of more; it can be used by keys and in a narrow window, loads nothing, and names that would do harm in a page are shown as they are.
# Without Chromium, or a plotting library in this build, it is skipped (exit status 77), and says so.
# Usage: test_htmlpage.sh BUILD_DIRECTORY
. "$(dirname "$0")/../common/verdict.sh"

here=$(cd "$(dirname "$0")" && pwd)
unset LD_PRELOAD "${!MPIT_@}"
export LC_ALL=C.UTF-8
dump=$build/bin/mpit-dump judge=$here/htmlpage.py
cd "$work" || exit 2

# refused NAME STATUS PATTERN OPTION...: mpit-dump ends with this status, and says a line like that
refused() {
    local name=$1 status=$2 pattern=$3
    shift 3
    "$dump" "$@" >said.out 2>said
    if [ $? -eq "$status" ] && grep -Eq -- "$pattern" said; then ok "$name"; else not_ok "$name" said; fi
}

# page NAME RUN WORD...: the page of a run is drawn and judged
page() {
    local name=$1 run=$2
    shift 2
    check "$name: --html" "$dump" --html "$run.html" "$run"
    check "$name: what the page shows" python3 "$judge" judge "$dump" "$run" "$run.html" "$@"
}

# part NAME RUN OPTION...: the page of a part is, too, and its figures are those of --json with the same options
part() {
    local name=$1 run=$2
    shift 2
    check "$name: --html $*" "$dump" --html part.html "$@" "$run"
    check "$name: what the page of $* shows" python3 "$judge" judge "$dump" "$run" part.html trace files "$@"
}

# made RUN RANKS STEPS [--planted]
made() {
    mkdir "$1"
    check "$1: a job of $2 ranks is made" "$build/tests/pagejob" "$@"
}

mkdir none && "$build/tests/pagejob" none 2 2 || exit 2
if "$dump" --html page.html none 2>said; then
    command -v chromium >chromium || command -v chromium-browser >chromium
else
    cat said
fi
if ! [ -s chromium ]; then
    check "without a plotting library --html says so" sh -c '[ -s page.html ] || grep -q "without the plotting library" said'
    skip "pages of --html" "there is no Chromium, or this build has no plotting library"
    verdict && exit 77
    exit 1
fi

used=
for mpi in openmpi mpich; do
    there_is heat || continue
    heat=("$build/tests/heat-$mpi" --rows 128 --columns 128 --steps 60)
    record="$build/bin/mpit-run --quiet --trace --sample 200 --output trace-$mpi"
    check "$mpi: a run with a trace" launch $mpi 4 "${heat[@]}"
    page "$mpi, with a trace" trace-$mpi trace files
    if [ -z "$used" ]; then # a page is the same of any MPI
        used=$mpi
        check "$mpi, with a trace: keys, pointer, choices" python3 "$here/htmluse.py" "$dump" trace-$mpi trace-$mpi.html
        part "$mpi" trace-$mpi --ranks 1,3
        part "$mpi" trace-$mpi --functions p2p,MPI_Allreduce
        part "$mpi" trace-$mpi --ranks 0,2 --window :10s --comm '*'
    fi
    record="$build/bin/mpit-run --quiet --output plain-$mpi"
    check "$mpi: a run without" launch $mpi 2 "${heat[@]}"
    page "$mpi, with the summary alone" plain-$mpi
    check "$mpi, a rank of it: --html" "$dump" --html part.html --ranks 1 plain-$mpi
    check "$mpi, a rank of it: what the page shows" python3 "$judge" judge "$dump" plain-$mpi part.html --ranks 1
done
mpi=mpich
if there_is heat; then
    record="env MPIT_REDUCE=0 $build/bin/mpit-run --quiet --os --output counted"
    check "a run with run files, without a trace" launch mpich 3 "$build/tests/heat-mpich" --rows 128 --columns 128 --steps 60
    page "run files, no trace" counted files
    record="$build/bin/mpit-run --quiet --trace --os --fabric --sample 500 --output below"
    check "a run with all that can be asked for" launch mpich 2 "$build/tests/phases-mpich" 10
    page "counters, fabric and samples" below trace files below
    for kept in 0 1; do
        record="env MPIT_TIMING=0 MPIT_REDUCE=$kept $build/bin/mpit-run --quiet --output untimed-$kept"
        check "a run without times, MPIT_REDUCE=$kept" launch mpich 2 "$build/tests/heat-mpich" --rows 128 --columns 128 --steps 60
        page "no call was timed, MPIT_REDUCE=$kept" untimed-$kept
    done
fi

if there_is livejob; then
    mkdir hung.go
    timeout -s INT 5 "$build/bin/mpit-run" --quiet --trace --output hung mpirun.mpich -n 3 "$build/tests/livejob-mpich" "$PWD/hung.go" \
        deadlock >hung.said 2>&1
    page "a run that hung" hung trace files unended
fi

mkdir ring
check "a trace with a gap is there" python3 -c 'import lzma, sys
open("ring/ring.mpit", "wb").write(lzma.open(sys.argv[1]).read())' "$here/../../samples/run/ring.mpit.xz"
page "a trace with a gap" ring trace files gaps
made planted 4 12 --planted
page "names that would do harm" planted trace files names
made files 2 8
check "two jobs in one run" sh -c 'mkdir both && cp files/*.mpit both/ && cp trace-*/*.mpit both/'
jobs=$("$dump" --json both | grep -c '"job":')
page "the last of $jobs jobs" both trace files "jobs=$jobs" "job=$jobs"
check "a rank that not all jobs have" "$dump" --html part.html --ranks 3 both
for job in $(seq "$jobs"); do
    check "  the page of job $job" python3 "$judge" judge "$dump" both part.html trace files "jobs=$jobs" "job=$job" --ranks 3
done
made wide 512 20
page "512 ranks" wide trace files
check "512 ranks: keys, pointer, choices" python3 "$here/htmluse.py" "$dump" wide wide.html
check "512 ranks: a page of some MB" sh -c '[ "$(wc -c <wide.html)" -lt 8000000 ]'
made wider 700 8
page "700 ranks, in groups" wider trace files groups

# the judge sees what it is to see
sed 's|<main id="figures">|<img src="http://127.0.0.1:9/x.png">&|' planted.html >loads.html
check "what is loaded would be seen" python3 "$judge" loads loads.html
sed 's/"send_count":\[/"send_count":[1/' planted.html >wrong.html
check "a wrong number would be seen" sh -c 'python3 "$1" judge "$2" planted wrong.html trace files names 2>&1 |
    grep "AssertionError: ranks send_count: shown"' - "$judge" "$dump"

check "a full disk is told once" sh -c '"$1" --html - planted 2>&1 >/dev/full | tee said && [ "$(wc -l <said)" = 1 ] && grep -q "No space left" said' - "$dump"
refused "no place for a page" 1 'cannot be written' --html /nowhere/page.html planted
refused "no file" 2 'needs a value' --html
refused "an option for a file" 2 "'--html' needs a file" --html --json planted
check "standard output" sh -c '"$1" --html - planted | cmp - planted.html' - "$dump"
check "nothing half is left" sh -c '! ls -- *.partial.* 2>/dev/null'
verdict
