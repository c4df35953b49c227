#!/bin/bash
# For each MPI: mpit-top's JSON has what a program counts for itself, hangs are named with who waits for whom, killed ranks
# are told; its screens in terminals of all sizes and kinds, and the terminal as it was when it has ended (top.py).
# Usage: test_top.sh BUILD_DIRECTORY
. "$(dirname "$0")/../common/verdict.sh"

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?the build directory is missing}" && pwd) || exit 2
unset LD_PRELOAD "${!MPIT_@}" NO_COLOR COLUMNS LINES
top=$build/bin/mpit-top

# pyte is a package of Debian's own Python
python=python3
"$python" -c 'import pyte' 2>/dev/null || python=/usr/bin/python3

# refused NAME PATTERN OPTION...: status 2, and a line like that
refused() {
    local name=$1 pattern=$2 status
    shift 2
    "$top" "$@" >"$work/said" 2>&1 </dev/null
    status=$?
    if [ "$status" = 2 ] && grep -q -- "$pattern" "$work/said"; then ok "$name"; else not_ok "$name (status $status)" "$work/said"; fi
}
for value in 0.05 0 -1 nan 1s '' 1e9; do
    refused "an interval of '$value' is refused" "allowed are 0.1" --interval "$value"
done
refused "a list of ranks that is none" "is not a list of ranks" --ranks 1,x
refused "an unknown option" "unknown option" --twice
check "the help fits a screen" bash -c '[ "$("$0" --help | wc -l)" -le 24 ] && "$0" --help | grep -q Example' "$top"
# shellcheck disable=SC2016
check "a run that is not there" bash -c '! "$0" --once "$1/none" >"$1/said" 2>&1 && grep -q " does not exist" "$1/said"' "$top" "$work"

# a run of 4 ranks that has ended
mkdir "$work/four"
"$build/tests/pagejob" "$work/four" 4 5 >"$work/said" 2>&1 || not_ok "a job of 4 ranks" "$work/said"
told() { "$@" 2>"$work/err"; }
for how in --once "--once --json"; do
    # shellcheck disable=SC2086
    refused "ranks that the job has not ($how)" "no rank of --ranks 7,99- is on this node, only ranks 0-3" \
        $how --interval 0.1 --ranks 7,99- "$work/four"
    # shellcheck disable=SC2086
    check "ranks of which it has one ($how)" told "$top" $how --interval 0.1 --ranks 3,99 "$work/four"
    check "  the other one is named" grep -q "^mpit-top: rank 99 of --ranks 3,99 is not on this node$" "$work/err"
    # shellcheck disable=SC2086
    check "ranks that are all there ($how)" told "$top" $how --interval 0.1 --ranks 0-1,3- "$work/four"
    check "  nothing is said of them" [ ! -s "$work/err" ]
done

# beside each other: most of the time they wait
mpis=()
for mpi in openmpi mpich; do
    there_is livejob || continue
    mpis+=("$mpi")
    timeout 300 "$python" "$here/top.py" "$build" "$mpi" "$work" >"$work/$mpi.said" 2>&1 ||
        echo "not ok top.py ended with status $?" >>"$work/$mpi.said" &
done
wait
for mpi in "${mpis[@]}"; do
    while read -r line; do
        case $line in
        "ok "*) ok "${line#ok } ($mpi)" ;;
        "not ok "*) not_ok "${line#not ok } ($mpi)" ;;
        *) echo "    $line" ;;
        esac
    done <"$work/$mpi.said"
done
verdict
