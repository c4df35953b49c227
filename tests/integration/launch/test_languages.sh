#!/bin/bash
# test_languages.sh BUILD_DIR
#
# One traffic in C, C++, Fortran (mpif.h, the modules mpi and mpi_f08) and Python (mpi4py, Open MPI). The results are as
# without mpit. The counts are the same in all languages, also for each communicator. The end of the run is seen.
# Once mpit-run records, once libmpit.so alone. Python also loads the traffic, and so MPI, as a library.
. "$(dirname "$0")/../common/verdict.sh"
source=$(cd "$(dirname "$0")/../../languages" && pwd)
PATH=$build/bin:$PATH
fortran=(-w -O2 -ffree-line-length-none "$source/languages.F90")

# built NAME COMPILER ARGUMENT...: a program, and the same as a library
built() {
    local name=$1
    shift
    mkdir -p "$work/modules-$name"
    if (cd "$work/modules-$name" && "$@" -o "$work/$name" && "$@" -shared -fPIC -o "$work/lib$name.so") \
        >"$work/out" 2>&1; then return 0; fi
    not_ok "$name is built" "$work/out"
    return 1
}

# run MPI RANKS NAME PROGRAM...: without mpit, with it, and what was counted
run() {
    local mpi=$1 ranks=$2 name="$3-$1, $2 ranks" run=$work/run-$1-$2-$3 subset=
    [ "$3" = python ] && subset=--subset
    shift 3
    launch "$mpi" "$ranks" "$@" 2>&1 </dev/null | sort >"$work/without"
    record="mpit-run --trace --output $run" launch "$mpi" "$ranks" "$@" 2>"$work/err" </dev/null | sort >"$work/with"
    if diff "$work/without" "$work/with" >"$work/diff" && [ "$(grep -c '^rank [0-9]*: ' "$work/with")" = "$ranks" ]; then
        ok "$name: the same results with mpit"
    else
        cat "$work/err" >>"$work/diff"
        not_ok "$name: the same results with mpit" "$work/diff"
    fi
    if grep -Eq "^  ranks +$ranks on " "$work/err"; then ok "$name: a summary is printed"; else
        not_ok "$name: a summary is printed" "$work/err"
    fi
    check "$name: the trace gives the tallies" mpit-dump --verify "$run"
    mpit-dump --json "$run" >"$run.json" 2>"$work/err" || not_ok "$name: mpit-dump" "$work/err"
    check "$name: the same counts as in C" python3 "$source/compare.py" "$work/run-$mpi-$ranks-c.json" "$run.json" $subset
    grep '^rank [0-9]*: ' "$work/with" >"$run.sums"
    diff "$work/run-$mpi-$ranks-c.sums" "$run.sums" >"$work/diff" || not_ok "$name: the same sums as in C" "$work/diff"
}

# orders MPI LANGUAGE: with a tool that defines some functions, preloaded before and behind mpit
orders() {
    local mpi=$1 mpit=$build/lib/libmpit.so tool=$build/tests/umq_example-$1.so order run
    for order in "$tool:$mpit" "$mpit:$tool"; do
        run=$work/order-$mpi-$2-$(basename "$order")
        name="$2-$mpi, ${order##*/} behind the other"
        MPIT_TRACE=1 MPIT_OUTPUT=$run launch $mpi 2 env LD_PRELOAD="$order" "$work/$2-$mpi" >"$work/out" 2>&1 </dev/null ||
            not_ok "$name: runs" "$work/out"
        mpit-dump --json "$run" >"$run.json" 2>"$work/err" || not_ok "$name: mpit-dump" "$work/err"
        check "$name: each call is counted once" python3 "$source/compare.py" "$work/run-$mpi-2-c.json" "$run.json"
    done
}

# by_hand MPI LANGUAGE PROGRAM...: with no more than the one library in the environment, which the launcher has, too
by_hand() {
    local mpi=$1 language=$2 run=$work/hand-$1-$2 name="$2-$1, libmpit.so in the environment" subset=
    [ "$language" = python ] && subset=--subset
    shift 2
    LD_PRELOAD=$build/lib/libmpit.so MPIT_OUTPUT=$run launch "$mpi" 2 "$@" >"$work/out" 2>"$work/err" </dev/null ||
        not_ok "$name: runs" "$work/err"
    if grep -q mpit "$work/err"; then not_ok "$name: says nothing" "$work/err"; else ok "$name: says nothing"; fi
    mpit-dump --json "$run" >"$run.json" 2>"$work/err" || not_ok "$name: mpit-dump" "$work/err"
    check "$name: each call is counted once" python3 "$source/compare.py" "$work/run-$mpi-2-c.json" "$run.json" $subset
}

python=/usr/bin/python3 # which Debian installs its mpi4py for
loads='import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).main(1, (ctypes.c_char_p * 2)(b"languages")))'
for mpi in openmpi mpich; do
    there_is heat || continue
    built "c-$mpi" mpicc.$mpi -O2 -w "$source/languages.c" || continue
    languages=(c)
    if command -v "mpicxx.$mpi" >/dev/null && command -v g++ >/dev/null; then
        built "cxx-$mpi" mpicxx.$mpi -O2 -w -x c++ "$source/languages.c" && languages+=(cxx)
    else
        skip "$mpi: C++" "there is no compiler of it"
    fi
    if command -v gfortran >/dev/null && command -v "mpif90.$mpi" >/dev/null; then
        built "mpifh-$mpi" mpif90.$mpi -fallow-argument-mismatch "${fortran[@]}" && languages+=(mpifh)
        built "usempi-$mpi" mpif90.$mpi -fallow-argument-mismatch -DUSE_MPI "${fortran[@]}" && languages+=(usempi)
        built "usempif08-$mpi" mpif90.$mpi -DUSE_F08 "${fortran[@]}" && languages+=(usempif08)
    else
        skip "$mpi: Fortran" "there is no compiler of it"
    fi
    for ranks in 2 3; do
        for language in "${languages[@]}"; do run $mpi $ranks $language "$work/$language-$mpi"; done
        if [ $ranks = 2 ]; then for language in "${languages[@]}"; do orders $mpi $language; done; fi
        [ $mpi = openmpi ] || continue
        if "$python" -c "import mpi4py" 2>/dev/null; then run $mpi $ranks python "$python" "$source/languages.py"; else
            skip "$mpi: Python, $ranks ranks" "there is no mpi4py"
        fi
    done
    for language in "${languages[@]}"; do
        by_hand $mpi $language "$work/$language-$mpi"
        by_hand $mpi $language-loaded python3 -c "$loads" "$work/lib$language-$mpi.so"
    done
    if [ $mpi = openmpi ] && "$python" -c "import mpi4py" 2>/dev/null; then
        by_hand $mpi python "$python" "$source/languages.py"
    fi
done
verdict
