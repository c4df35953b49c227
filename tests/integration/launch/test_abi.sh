#!/bin/bash
# test_abi.sh BUILD_DIR
#
# Programs that are linked to the standard MPI ABI, with the library of each MPI that has one: programs that count for
# themselves, one that loads MPI late, mpi4py if it is there for this ABI. Skipped where no MPI has the ABI.
. "$(dirname "$0")/../common/verdict.sh"
PATH=$build/bin:$PATH
unset LD_PRELOAD "${!MPIT_@}"

# counted PROGRAM RANKS [ARGUMENT...]: what it counts is what mpit counts, what is replayed equals it, nothing is lost
counted() {
    local program=$1 ranks=$2 run=$work/$library-$1-$2
    shift 2
    record="mpit-run --quiet --trace --output $run" check "$library: $program, $ranks processes" \
        launch "$library" "$ranks" "$build/tests/$program-abi" "$@"
    echo "# $(grep -h "mismatches" "$work/checked" | tail -n 1)"
    check "  the replayed trace equals the counters" mpit-dump --verify "$run"
    mpit-dump --json "$run" >"$work/json"
    check "  it is one job of all ranks, recorded through the ABI" python3 -c '
import json, sys
job, = json.load(open(sys.argv[1]))["jobs"]
assert job["ranks"] == int(sys.argv[2]), job["ranks"]' "$work/json" "$ranks"
}

# late: a program without MPI loads a plugin that is linked to the ABI
late() {
    local run=$work/$library-late
    record="mpit-run --quiet --output $run" check "$library: MPI comes with a plugin" launch "$library" 2 "$work/host" "$work/plugin.so"
    mpit-dump --json "$run" >"$work/json"
    check "  its calls are counted" python3 -c '
import json, sys
job, = json.load(open(sys.argv[1]))["jobs"]
assert job["calls"]["MPI_Allreduce"]["count"] == 14, job["calls"]' "$work/json"
}

# python: mpi4py that was built for the ABI; MPI4PY_ABI names its folder
python() {
    local run=$work/$library-python
    record="mpit-run --quiet --output $run" check "$library: mpi4py" launch "$library" 2 \
        env PYTHONPATH="$MPI4PY_ABI" python3 -c 'import array
from mpi4py import MPI
world, one, total = MPI.COMM_WORLD, array.array("i", [1]), array.array("i", [0])
assert MPI.Get_abi_version()[0] == 1
for i in range(5):
    world.Allreduce(one, total)
    assert total[0] == 2'
    mpit-dump --json "$run" >"$work/json"
    check "  its calls are counted" python3 -c '
import json, sys
job, = json.load(open(sys.argv[1]))["jobs"]
assert job["calls"]["MPI_Allreduce"]["count"] == 10, job["calls"]' "$work/json"
}

compiler=$build/bin/mpicc_abi
if [ ! -e "$build/lib/libmpit-abi.so" ] || [ ! -x "$compiler" ]; then
    skip "programs of the standard ABI" "this build is not for it"
    verdict
    exit
fi
cat >"$work/plugin.c" <<'C'
#include <mpi.h>
int run(void);
int run(void)
{
    int one = 1, sum = 0, size;
    MPI_Init(0, 0);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 7; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum != size;
}
C
cat >"$work/host.c" <<'C'
#include <dlfcn.h>
int main(int argc, char *argv[])
{
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
    int (*run)(void) = plugin ? (int (*)(void))dlsym(plugin, "run") : 0;
    return run ? run() : 2;
}
C
check "a plugin" "$compiler" -shared -fPIC -o "$work/plugin.so" "$work/plugin.c"
check "a program without MPI" cc -o "$work/host" "$work/host.c" -ldl
for library in openmpi mpich; do
    file=$(find /usr/lib -name "libmpi_abi_$library.so.*" 2>/dev/null | head -n 1)
    if [ -z "$file" ] || ! command -v "mpirun.$library" >/dev/null; then
        skip "$library" "it has no library of the ABI here"
        continue
    fi
    mkdir "$work/lib-$library"
    ln -s "$file" "$work/lib-$library/libmpi_abi.so.1"
    export LD_LIBRARY_PATH=$work/lib-$library
    counted traffic 2
    counted traffic 3
    counted collectives 2
    counted objects 1 "$work/file-$library"
    counted requests 2
    if launch "$library" 2 "$build/tests/mixture-abi" "$work/file-$library" 1 150 >"$work/out" 2>&1; then
        counted mixture 2 "$work/file-$library" 1 150
    else
        skip "$library: mixture" "it fails without mpit, too: $(tail -n 1 "$work/out")" # MPICH 5.0.2: Invalid MPI_Request
    fi
    late
    if [ -n "${MPI4PY_ABI:-}" ]; then python; else skip "$library: mpi4py" "MPI4PY_ABI does not name one for the ABI"; fi
done
verdict
