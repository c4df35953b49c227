#!/bin/bash
# test_surface.sh BUILD_DIR
#
# The MPI_T interface as a tool uses it, in every order of the two pairs of init and finalize, on both MPIs: what was
# listed once stays, codes are right, the library's own variables behave as the standard says.
. "$(dirname "$0")/../common/verdict.sh"

# one MPI RANKS ORDER [OPTION...]: options of the launcher
one() {
    local mpi=$1 ranks=$2 order=$3 name="$1, $2 processes: $3${4:+ (${*:4})}"
    if LD_PRELOAD=$build/lib/libmpit.so timeout --kill-after=10 120 "mpirun.$mpi" "${@:4}" -n "$ranks" \
        "$build/tests/surface-$mpi" "$order" >"$work/out" 2>&1 </dev/null; then
        ok "$name: $(sed -n '$p' "$work/out")"
    else
        not_ok "$name (status $?)" "$work/out"
    fi
}

for mpi in openmpi mpich; do
    there_is surface || continue
    for order in around inside; do one $mpi 2 $order; done
    for order in behind repeated nested threads; do one $mpi 1 $order; done
    one $mpi 2 sessions
done
# Natively its checks may fail. Open MPI 6.0.0rc2 does not get that far: it crashes in MPI_Init.
monitoring=(--mca pml_monitoring_enable 2)
if [ -x "$build/tests/surface-openmpi" ]; then
    timeout 60 mpirun.openmpi "${monitoring[@]}" -n 2 "$build/tests/surface-openmpi" sessions >/dev/null 2>&1 </dev/null
    if [ $? -gt 127 ]; then
        skip "openmpi: ${monitoring[*]}" "MPI_Init crashes with it, without mpit, too"
    else
        for order in sessions around; do one openmpi 2 $order "${monitoring[@]}"; done
    fi
fi
verdict
