#!/bin/bash
# tsan.sh BUILD_TSAN [PROGRAM...]
#
# The preload library under ThreadSanitizer, in MPI programs, out of a build of preset tsan. MPI is not instrumented, and
# what it does is not looked at: only races with a frame of mpit's or the program's are shown. PROGRAM: threads, requests or
# storm, which takes long on a busy machine.
. "$(dirname "$0")/../integration/common/verdict.sh"
build=$(cd "${1:?usage: tsan.sh BUILD_TSAN}" && pwd) || exit 2
shift
[ $# -gt 0 ] || set -- threads requests
export limit=${LIMIT:-900} # launch
declare -A arguments=([threads]="all 50" [storm]=3 [requests]=threads)
# without ignore_noninstrumented_modules, what MPI's libraries do with memory and locks would be judged by half
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=66 halt_on_error=0 second_deadlock_stack=1 ${TSAN_MORE:-}"

# UCX writes its hooks for memory into libc's code, under the sanitizer's
export UCX_MEM_EVENTS=no

for mpi in openmpi mpich; do
    mpit=$build/lib/libmpit.so
    [ -e "$build/lib/libmpit-$mpi.so" ] || { skip $mpi "this build is not for it" && continue; }
    for name in "$@"; do
        for ranks in 1 2; do
            rm -rf "$work/run"
            # shellcheck disable=SC2086
            MPIT_TRACE=1 MPIT_OUTPUT=$work/run launch $mpi $ranks setarch -R env LD_PRELOAD="$mpit" "$build/tests/$name-$mpi" \
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
