#!/bin/bash
# test_lookalikes.sh BUILD_DIR
#
# Launches into one output directory, one after the other and at once, of which the launcher's marks are alike: the same port, the
# same process number, no launcher among the visible ancestors. Two launches are never one job, and the ranks of one launch always are.
. "$(dirname "$0")/../common/verdict.sh"
here=$(cd "$(dirname "$0")" && pwd)
PATH=$build/bin:$PATH
cd "$work" || exit 2
inside="unshare --pid --fork --mount-proc" # a PID namespace of its own
export MPIT_SPOOL=$work/spool OMPI_MCA_btl_base_warn_component_unused=0
export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo # files of its shared memory have the names that are alike
mkdir "$MPIT_SPOOL"

# jobs RUN: size/ranks/messages of each
jobs() {
    mpit-dump --json "$1" | python3 -c '
import json, sys
print(*sorted("%d/%d/%d" % (job["world_size"], job["ranks"], job["calls"]["MPI_Sendrecv"]["count"]) for job in json.load(sys.stdin)["jobs"]))'
}
# tried NAME JOBS LINES: a script with these lines, behind mpit-run and without it
tried() {
    printf '%s\n' "$3" wait >script
    timeout 60 mpit-run --quiet --output "$1-run" bash script >out 2>&1 </dev/null
    timeout 60 env LD_PRELOAD="$build/lib/libmpit.so" MPIT_OUTPUT="$work/$1-direct" bash script >>out 2>&1 </dev/null
    for run in "$1-run" "$1-direct"; do
        echo "jobs: $(jobs "$run"), right: $2" >>out
        if [ "$(jobs "$run")" = "$2" ]; then ok "$run"; else not_ok "$run" out; fi
    done
}

there_are_namespaces=$($inside true 2>/dev/null && echo yes)
[ -n "$there_are_namespaces" ] || skip "launches in PID namespaces" "none can be made here"
for mpi in openmpi mpich; do
    there_is children || continue
    check "$mpi: lookalike.c" mpicc.$mpi -O2 -o "lookalike-$mpi" "$here/lookalike.c"
    mpirun="mpirun.$mpi -n" one="$work/lookalike-$mpi 11" other="$work/lookalike-$mpi 17 late"
    if [ $mpi = mpich ]; then
        tried mpich-ports "2/2/22 2/2/22 3/3/51" "export MPIEXEC_PORT_RANGE=50200:50220
$mpirun 2 $one
$mpirun 2 $one
$mpirun 3 $other"
    fi
    [ -n "$there_are_namespaces" ] || continue
    tried $mpi-launchers-contained "2/2/22 2/2/34" "$inside $mpirun 2 $one
$inside $mpirun 2 $other"
    tried $mpi-launchers-contained-at-once "2/2/34 2/2/34" "for i in 1 2; do
OMPI_MCA_orte_tmpdir_base=$work/tmp\$i $inside $mpirun 2 $other &
done"
    [ $mpi = mpich ] || continue # Open MPI's ranks ask their daemon by process numbers
    tried mpich-ranks-contained "2/2/22 3/3/51" "$mpirun 2 $inside $one
$mpirun 3 $inside $other"
    tried mpich-ranks-contained-at-once "2/2/34 2/2/34" "$mpirun 2 $inside $other &
$mpirun 2 $inside $other &"
done
verdict
