#!/bin/bash
# tsan.sh BUILD_TSAN [PROGRAM...]
#
# The preload library under ThreadSanitizer, in MPI programs: threads and storm are compiled with -fsanitize=thread and
# loaded with the library of a build of preset tsan. MPI is not instrumented, and what it does is not looked at: only races
# with a frame of mpit's or the program's are shown. By hand, after cmake --build build-tsan; some minutes.
. "$(dirname "$0")/../integration/common/verdict.sh"
tests=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:?usage: tsan.sh BUILD_TSAN}" && pwd) || exit 2
shift
[ $# -gt 0 ] || set -- threads storm
export limit=${LIMIT:-900} # launch
declare -A source=([threads]=integration/threads/threads.c [storm]=stress/storm.c)
declare -A arguments=([threads]="all 50" [storm]=3)
# without ignore_noninstrumented_modules, what MPI's libraries do with memory and locks would be judged by half
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=66 halt_on_error=0 second_deadlock_stack=1 ${TSAN_MORE:-}"

# UCX writes its hooks for memory into libc's code, under the sanitizer's
export UCX_MEM_EVENTS=no

for mpi in openmpi mpich; do
    mpit=$build/lib/libmpit.so
    [ -e "$build/lib/libmpit-$mpi.so" ] || { skip $mpi "this build is not for it" && continue; }
    for name in "$@"; do
        "mpicc.$mpi" -std=gnu11 -O1 -g -w -fsanitize=thread "$tests/${source[$name]}" -o "$work/$name" -lpthread || exit 2
        for ranks in 1 2; do
            rm -rf "$work/run"
            # shellcheck disable=SC2086
            MPIT_TRACE=1 MPIT_OUTPUT=$work/run launch $mpi $ranks setarch -R env LD_PRELOAD="$mpit" "$work/$name" \
                ${arguments[$name]} >"$work/out" 2>&1 </dev/null
            status=$?
            races=$(grep -c 'WARNING: ThreadSanitizer' "$work/out")
            if [ $status = 0 ] && [ "$races" = 0 ]; then ok "$name-$mpi, $ranks ranks: no race"; else
                cp "$work/out" "${TMPDIR:-/tmp}/tsan-$name-$mpi-$ranks.txt"
                not_ok "$name-$mpi, $ranks ranks: status $status, $races reports (${TMPDIR:-/tmp}/tsan-$name-$mpi-$ranks.txt)" \
                    "$work/out"
            fi
        done
    done
done
verdict
