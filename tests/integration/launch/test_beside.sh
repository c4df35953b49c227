#!/bin/bash
# test_beside.sh BUILD_DIR
#
# Others in the process: profiling tools before mpit and behind it, preloaded, linked and in the program (tallytool.c);
# allocators and the like that are preloaded, too; mpit twice; and programs that load the MPI library themselves
# (dlopened.c). Each call of the program is counted once, by the tool and by mpit.
. "$(dirname "$0")/../common/verdict.sh"
here=$(cd "$(dirname "$0")" && pwd)
PATH=$build/bin:$PATH
run=$work/run

# counts NAME MPI PRELOAD PROGRAM OPTION...: the program's sums are the run's
counts() {
    local name="$2: $1" mpi=$2 preload=$3 program=$4
    shift 4
    rm -rf "$run"
    MPIT_TRACE=1 MPIT_OUTPUT=$run launch "$mpi" 2 env LD_PRELOAD="$preload" "$program" all 20 >"$work/out" \
        2>"$work/err" </dev/null || not_ok "$name: runs" "$work/err"
    cat "$work/err" >>"$work/out"
    mpit-dump --json "$run" >"$work/json" 2>>"$work/err" || not_ok "$name: mpit-dump" "$work/err"
    if python3 "$here/../common/threadsums.py" "$work/json" "$work/out" "$@" >"$work/diff" 2>&1; then
        ok "$name: each call is counted once"
    else
        cat "$work/err" >>"$work/diff"
        not_ok "$name: each call is counted once" "$work/diff"
    fi
    check "$name: the trace gives the tallies" mpit-dump --verify "$run"
}

# says NAME COUNT PATTERN: standard error has so many lines like it
says() {
    if [ "$(grep -c -- "$3" "$work/err")" = "$2" ]; then ok "$1: says $2 times: $3"; else
        not_ok "$1: says $2 times: $3" "$work/err"
    fi
}

# library NAME: its path, if the loader knows it
library() { ldconfig -p | sed -n "s|.*[[:space:]]$1 .*=> ||p" | head -n 1; }

for mpi in openmpi mpich; do
    mpit=$build/lib/libmpit.so tool=$build/tests/libtallytool-$mpi.so program=$build/tests/threads-$mpi
    there_is threads || continue
    counts "a tool preloaded before" $mpi "$tool:$mpit" "$program" --tool
    counts "a tool preloaded behind" $mpi "$mpit:$tool" "$program" --tool
    counts "a tool in the program" $mpi "$mpit" "$build/tests/threads-tool-$mpi" --tool
    counts "a tool that the program is linked to" $mpi "$mpit" "$build/tests/threads-linked-$mpi" --tool

    cp "$mpit" "$work/libother.so"
    counts "mpit twice" $mpi "$mpit:$mpit" "$program"
    counts "mpit and a copy of it" $mpi "$mpit:$work/libother.so" "$program"
    says "$mpi: mpit and a copy of it" 1 "mpit is loaded twice"
    recorders=("$build"/lib/libmpit-*.so)
    counts "mpit and all recorders" $mpi "$mpit:$(IFS=: && echo "${recorders[*]}")" "$program"
    counts "all recorders and mpit" $mpi "$(IFS=: && echo "${recorders[*]}"):$mpit" "$program"

    for name in libjemalloc.so.2 libtcmalloc.so.4 libasan.so.8; do
        other=$(library $name)
        [ -n "$other" ] || { skip "$mpi: $name" "it is not installed" && continue; }
        export ASAN_OPTIONS=detect_leaks=0
        launch $mpi 2 env LD_PRELOAD="$other" "$program" all 20 >"$work/out" 2>&1 </dev/null ||
            { skip "$mpi: $name" "the program fails with it without mpit, too" && continue; }
        counts "$name before" $mpi "$other:$mpit" "$program"
        [ $name = libasan.so.8 ] || counts "$name behind" $mpi "$mpit:$other" "$program"
    done

    # functions that the program looks up
    mpilib=$(ldd "$program" | sed -n 's/.*libmpi\(ch\)\{0,1\}\.so[^ ]* => \([^ ]*\).*/\2/p')
    dlopened=$build/tests/dlopened-$mpi
    for how in "default" "local" "global" "deep" "local close"; do
        name="$mpi: dlopen, $how"
        rm -rf "$run"
        # shellcheck disable=SC2086
        if MPIT_OUTPUT=$run launch $mpi 2 env LD_PRELOAD="$mpit" "$dlopened" "$mpilib" $how >"$work/out" 2>"$work/err" \
            </dev/null && [ "$(grep -c '^10 right$' "$work/out")" = 2 ]; then ok "$name: runs"; else
            not_ok "$name: runs" "$work/err"
        fi
        if [ "$how" = default ]; then
            mpit-dump --json "$run" >"$work/json" 2>>"$work/err"
            if python3 -c "import json, sys; job, = json.load(open(sys.argv[1]))['jobs']
sys.exit(job['calls']['MPI_Sendrecv']['count'] != 20)" "$work/json" 2>>"$work/err"; then ok "$name: is recorded"; else
                not_ok "$name: is recorded" "$work/err"
            fi
            says "$name" 0 "^mpit: "
        else
            [ "$how" = "local close" ] || says "$name" 1 "gets the MPI functions with dlsym"
            if [ -e "$run" ]; then not_ok "$name: leaves nothing"; else ok "$name: leaves nothing"; fi
        fi
    done
done

# MPICH's archive, linked in: there is nothing to preload into, and the program's status stays its own
archive=/usr/lib/$(cc -print-multiarch)/libmpich.a
cat >"$work/inside.c" <<'C'
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    return MPI_Finalize() == MPI_SUCCESS ? 7 : 1;
}
C
if [ -e "$archive" ] && mpicc.mpich "$work/inside.c" -o "$work/inside" -Wl,-Bstatic -lmpich -Wl,-Bdynamic -lucp -luct -lucs \
    -lfabric -lhwloc -lm -lpthread 2>"$work/err"; then
    mpit-run --output "$run" "$work/inside" >"$work/out" 2>"$work/err" </dev/null
    if [ $? = 7 ]; then ok "mpich linked in: the status is the program's"; else
        not_ok "mpich linked in: the status is the program's" "$work/err"
    fi
    says "mpich linked in" 1 "no MPI process recorded: .*/inside is linked to a static MPI library"
else
    skip "mpich linked in" "there is no archive of MPICH that can be linked"
fi
verdict
