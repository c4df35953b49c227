#!/bin/bash
# test_events.sh BUILD_DIR
#
# MPI_T events on both MPIs: the program listener counts for itself and agrees with every event and element. The header
# compiles as C and C++, alone; a program with it links and starts without mpit, position-independent or not.
. "$(dirname "$0")/../common/verdict.sh"
source=$(cd "$(dirname "$0")/../../.." && pwd)

# Open MPI 4.1.4's own choice on one node (osc rdma) crashes, natively just as with mpit (test_objects.sh).
export OMPI_MCA_osc=$openmpi_osc

# agrees NAME MPI RANKS PROGRAM ARGUMENT...
agrees() {
    local name=$1 mpi=$2 ranks=$3 program=$4
    shift 4
    if record="$build/bin/mpit-run --quiet --output $work/run" launch "$mpi" "$ranks" "$build/tests/$program-$mpi" "$@" \
        >"$work/out" 2>&1 </dev/null && grep -q '^0 failures' "$work/out"; then
        ok "$name"
    else
        not_ok "$name" "$work/out"
    fi
    rm -rf "$work/run"
}

# A trace in which callbacks have called MPI is counted again, and is the same.
replayed() {
    local mpi=$1 program=$2
    shift 2
    if record="$build/bin/mpit-run --quiet --trace --output $work/run" launch "$mpi" 2 "$build/tests/$program-$mpi" "$@" \
        >"$work/out" 2>&1 </dev/null && "$build/bin/mpit-dump" --verify "$work/run" >"$work/out" 2>&1; then
        ok "$mpi: the trace of $program equals the counters"
    else
        not_ok "$mpi: the trace of $program equals the counters" "$work/out"
    fi
    rm -rf "$work/run"
}

# ends NAME STATUS COMMAND...: the tool, run by the command, ends with the status
ends() {
    local name=$1 wanted=$2 status=0
    shift 2
    timeout 60 "$@" "$work/tool" >"$work/out" 2>&1 || status=$?
    if [ $status -eq "$wanted" ]; then ok "$name"; else not_ok "$name (status $status)" "$work/out"; fi
}

header() {
    local mpi=$1 option name
    cat >"$work/tool.c" <<'END'
#include <mpit/mpi_t.h>
#include <mpit/mpi_t.h>
int main(void)
{
    int number = 0, provided;
    MPI_T_cb_safety safety = MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE;
    MPI_T_source_order order = MPI_T_SOURCE_ORDERED;
    int codes[] = {MPI_T_ERR_INVALID, MPI_T_ERR_NOT_SUPPORTED, MPI_T_ERR_NOT_ACCESSIBLE, MPI_T_ERR_INVALID_INDEX,
                   MPI_T_ERR_INVALID_HANDLE, MPI_T_ERR_NOT_INITIALIZED, MPI_T_ERR_INVALID_NAME, MPI_T_ERR_MEMORY,
                   MPI_T_ERR_OUT_OF_HANDLES, MPI_T_ERR_CANNOT_INIT, MPI_ERR_OTHER, MPI_SUCCESS};
    for (unsigned i = 0; i < sizeof codes / sizeof codes[0]; i++)
        for (unsigned k = 0; k < i; k++)
            if (codes[i] == codes[k] || codes[i] > MPI_ERR_LASTCODE)
                return 1;
#ifdef OPEN_MPI /* as Open MPI 6 has them: the library may be newer than mpi.h */
    if (MPI_T_ERR_NOT_SUPPORTED != 82 || MPI_T_ERR_NOT_ACCESSIBLE != 81)
        return 1;
#endif
    switch (number) { /* two that are the same do not compile */
    case MPI_T_BIND_NO_OBJECT: case MPI_T_BIND_MPI_COMM: case MPI_T_BIND_MPI_DATATYPE: case MPI_T_BIND_MPI_ERRHANDLER:
    case MPI_T_BIND_MPI_FILE: case MPI_T_BIND_MPI_GROUP: case MPI_T_BIND_MPI_OP: case MPI_T_BIND_MPI_REQUEST:
    case MPI_T_BIND_MPI_WIN: case MPI_T_BIND_MPI_MESSAGE: case MPI_T_BIND_MPI_INFO: case MPI_T_BIND_MPI_SESSION:
    default: break;
    }
#ifdef MPIT_DECLARES_EVENTS
    if (!MPI_T_event_get_num)
        return (int)safety - 3 + (int)order;
#endif
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (PMPI_T_event_get_num(&number) != MPI_SUCCESS)
        return 1;
    return number >= 9 ? 42 : 0;
}
END
    cp "$work/tool.c" "$work/tool.cc"
    for option in "mpicc.$mpi -pie -fPIE" "mpicc.$mpi -fPIC -no-pie" "mpicxx.$mpi"; do
        name="$mpi: ${option%% *} ${option#* }"
        command -v "${option%% *}" >/dev/null || { skip "$name" "there is no ${option%% *}" && continue; }
        local file=tool.c
        case $option in mpicxx*) file=tool.cc ;; esac
        # shellcheck disable=SC2086
        if ! $option -Wall -Wextra -Wno-cast-function-type -I"$source/include" "$work/$file" -o "$work/tool" 2>"$work/out"; then
            not_ok "$name compiles" "$work/out"
            continue
        fi
        ends "$name: starts without mpit" 0 env
        ends "$name: finds the events with mpit" 42 env LD_PRELOAD="$build/lib/libmpit.so"
    done
}

# All 51 calls of MPI 4.1, each under both names.
exported() {
    local mpi=$1 count
    count=$(nm -D --defined-only "$build/lib/libmpit.so" | grep -cE ' T P?MPI_T_')
    if [ "$count" -eq 102 ]; then ok "$mpi: 51 calls under two names"; else not_ok "$mpi: $count of 102 names"; fi
}

for mpi in openmpi mpich; do
    there_is listener || continue
    for ranks in 1 2 3; do
        agrees "$mpi, $ranks processes: every event and element" $mpi $ranks listener
    done
    agrees "$mpi: four threads" $mpi 1 listener threads
    agrees "$mpi: communicators, windows, files, errors, stalls; any communicator" $mpi 2 eventlife "$work/file"
    replayed $mpi listener
    replayed $mpi eventlife "$work/file"
    header $mpi
    exported $mpi
done
verdict
