#!/bin/bash
# test_fabric.sh BUILD_DIR
#
# What is seen below MPI, on each transport: what collectives send is what their algorithms must send, messages and bytes
# are the program's own, and variables, summary, trace and archive say the same. Where nothing goes through libfabric or
# UCX, nothing is counted and the summary says so.
. "$(dirname "$0")/../common/verdict.sh"
here=$(cd "$(dirname "$0")" && pwd)
PATH=$build/bin:$PATH

# told NAME MPI RANKS KIND BARRIER [FABRIC]: the program on that transport, by what its variables ask for or all along
told() {
    local name="$1, $3 ranks" run=$work/run
    local record="mpit-run --quiet --otf2 --trace ${6:-} --output $run"
    if launch "$2" "$3" "$build/tests/fabriccolls-$2" "$4" "$5" >"$work/said" 2>"$work/err" </dev/null; then
        ok "$name: $(tail -n 1 "$work/said")"
    else
        cat "$work/said" >>"$work/err"
        not_ok "$name" "$work/err"
    fi
    check "$name: replayed, the trace gives the same" mpit-dump --verify "$run"
    check "$name: the archive holds" sound "$run/otf2"
    mpit-dump --json "$run" >"$work/json"
    if [ -z "${6:-}" ]; then check "$name: the summary says the same" python3 "$here/fabric.py" "$work/json" "$work/said"; fi
    mpit-dump --full "$run" >"$work/text"
    if [ "$4" = none ] && grep -q "The MPI library did not call libfabric or UCX" "$work/text"; then ok "$name: the summary says that it is nothing"; fi
    if [ "$4" = none ] && ! grep -q "The MPI library did not call libfabric or UCX" "$work/text"; then not_ok "$name: the summary says that it is nothing" "$work/text"; fi
    rm -rf "$run"
}

# Open MPI's ways, each with settings of its own
doubling() { OMPI_MCA_coll_tuned_barrier_algorithm=3 told "$1" openmpi "$2" "$3" doubling "${4:-}"; }
bruck() { OMPI_MCA_coll_tuned_barrier_algorithm=4 told "$1" openmpi "$2" "$3" dissemination "${4:-}"; }
ucx() {
    local -x OMPI_MCA_pml=ucx OMPI_MCA_pml_ucx_tls=any OMPI_MCA_pml_ucx_devices=any
    doubling "openmpi, ucx, doubling" 4 seen+others
    doubling "openmpi, ucx, doubling" 3 seen+others
    bruck "openmpi, ucx, dissemination" 3 seen+others --fabric
}
libfabric() { # PROVIDER
    local -x OMPI_MCA_pml=cm OMPI_MCA_mtl=ofi
    [ -z "$1" ] || local -x OMPI_MCA_mtl_ofi_provider_include="$1"
    if [ "$openmpi_version" -ge 6 ] && ! limit=20 launch openmpi 3 "$build/tests/fabriccolls-openmpi" none doubling >"$work/out" 2>&1 </dev/null; then
        skip "openmpi, libfabric ${1:-as it is}" "Open MPI $openmpi_version does not run on it without mpit, either"
        return
    fi
    doubling "openmpi, libfabric ${1:-as it is}" 3 seen+others+acks
    bruck "openmpi, libfabric ${1:-as it is}, dissemination" 4 seen+others+acks
}
ob1() {
    local -x OMPI_MCA_pml=ob1 OMPI_MCA_btl=$([ "$openmpi_version" = 4 ] && echo vader || echo sm),self
    doubling "openmpi, ob1" 3 none
    doubling "openmpi, ob1, asked all along" 3 none --fabric
}

mpi=openmpi
if there_is fabriccolls; then
    export OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_bcast_algorithm=6 # binomial
    export OMPI_MCA_coll_tuned_allgather_algorithm=4                                     # ring
    ucx
    for provider in "tcp;ofi_rxm" sockets ""; do
        libfabric "$provider"
    done
    ob1
fi
mpi=mpich
if there_is fabriccolls; then
    dissemination=dissemination
    [ "$mpich_version" -lt 5 ] || dissemination=k_dissemination # with k = 2, its default
    export MPIR_CVAR_BARRIER_INTRA_ALGORITHM=$dissemination MPIR_CVAR_BCAST_INTRA_ALGORITHM=binomial
    export MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM=ring MPIR_CVAR_ENABLE_SMP_COLLECTIVES=0
    export MPIR_CVAR_NOLOCAL=1 # nor others that know who shares a node
    told mpich mpich 3 seen+others dissemination
    told mpich mpich 4 seen+others dissemination
    told "mpich, asked all along" mpich 4 seen+others dissemination --fabric
fi
verdict
