#!/bin/bash
# test_monitor.sh BUILD_DIR
#
# Monitor windows (monitor.c): what the program counts itself is what its windows report, to a function and as JSON, on
# both MPIs, with and without MPI_THREAD_MULTIPLE; the same binary without mpit; in C and Fortran. And what is in a
# window's way leaves the program alone (monitor_trouble.c).
# shellcheck disable=SC2317 # functions that check() calls
. "$(dirname "$0")/../common/verdict.sh"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)

# runs NAME MPI PROGRAM...: two processes; what they say is in $work/said and $work/err
runs() {
    local name=$1 mpi=$2
    shift 2
    if launch "$mpi" 2 "$@" >"$work/said" 2>"$work/err" </dev/null; then ok "$name"; else
        not_ok "$name (status $?)" "$work/err"
    fi
}
says() { if grep -qE -- "$2" "$3"; then ok "$1"; else not_ok "$1: nothing matches $2" "$3"; fi; }

example() {
    local mpi=$1
    check "$mpi: the example compiles" "mpicc.$mpi" -std=c11 -Wall -Wextra -Werror -I"$root/include" \
        "$root/share/examples/phases.c" -o "$work/phases-$mpi"
    record='' runs "$mpi: it runs without mpit" "$mpi" "$work/phases-$mpi"
    says "  and says so" 'nothing monitors' "$work/said"
    record="$build/bin/mpit-run --quiet --output $work/phases" runs "$mpi: it runs with mpit" "$mpi" "$work/phases-$mpi"
    says "  and says what happened" '^exchange: 100 messages' "$work/said"
    says "  without a function it is printed" '^mpit: monitor reduce, rank 0, report 1 \(end\)' "$work/err"
    rm -rf "$work/phases"
}

trouble() {
    local mpi=$1 mode text
    for mode in here renew late owned; do
        if record="$build/bin/mpit-run --quiet --output $work/trouble" launch "$mpi" 1 \
            "$build/tests/monitor_trouble-$mpi" $mode "$work/trouble.json" >"$work/said" 2>"$work/err" </dev/null; then
            ok "$mpi, trouble $mode: the program goes on"
        else
            not_ok "$mpi, trouble $mode: the program goes on (status $?)" "$work/err"
        fi
        [ $mode = here ] && cp "$work/err" "$work/told"
        rm -rf "$work/trouble"
    done
    for text in 'written: Broken pipe' 'written: no process reads it' 'written: File too large' \
        'opened for appending: no process reads it' 'period_ns is -1; allowed are 0'; do
        says "  and says: $text" "$text" "$work/told"
    done
}

# both forms on each MPI
fortran() {
    local mpi=$1 form library=$build/lib/libmpit-monitor.so
    command -v "mpif90.$mpi" >/dev/null || { skip "$mpi: Fortran" "there is no mpif90.$mpi" && return; }
    for form in module:f90 include:f; do
        local name=monitor_${form%:*} source=$here/monitor_${form%:*}.${form#*:}
        check "$mpi: Fortran, by ${form%:*}, compiles" env -C "$work" "mpif90.$mpi" -Wall -I"$root/include" \
            "${modules[@]}" "$source" -o "$work/$name-$mpi" "$library" -Wl,-rpath,"$build/lib"
        record='' runs "  runs without mpit" "$mpi" "$work/$name-$mpi"
        says "  and says so" 'absent' "$work/said"
        record="$build/bin/mpit-run --quiet --output $work/fortran" runs "  runs with mpit" "$mpi" "$work/$name-$mpi"
        says "  and its numbers are right" 'right' "$work/said"
        check "  in both processes" test "$(grep -c right "$work/said")" -eq 2
        rm -rf "$work/fortran"
        modules=()
    done
}

for mpi in openmpi mpich; do
    program=$build/tests/monitor-$mpi
    there_is monitor || continue
    record='' runs "$mpi: without mpit nothing monitors" $mpi "$program" absent
    MPIT_DISABLE=1 record="env LD_PRELOAD=$build/lib/libmpit.so" runs "$mpi: nor when it is disabled" $mpi \
        "$program" absent
    for mode in single threads; do
        record="$build/bin/mpit-run --quiet --trace --output $work/run" runs "$mpi, $mode: reports are right" $mpi \
            "$program" $mode "$work/$mode.json"
        check "$mpi, $mode: and so they are as JSON" python3 "$here/monitor.py" "$work/$mode.json" "$work/said"
        check "$mpi, $mode: the replayed trace equals the counters" "$build/bin/mpit-dump" --verify "$work/run"
        [ $mode = threads ] || says "$mpi: what is refused is said" 'monitorhandle.coll is 7; allowed are 0 and 1' \
            "$work/err"
        rm -rf "$work/run" "$work/$mode.json"
    done
    MPIT_P2P_TIMEOUT_NS=1 record="$build/bin/mpit-run --quiet --output $work/run" runs "$mpi: timeouts are counted" $mpi \
        "$program" known
    rm -rf "$work/run"
    # without shared memory, so that messages go through UCX
    OMPI_MCA_pml=ucx OMPI_MCA_pml_ucx_tls=any OMPI_MCA_pml_ucx_devices=any MPIR_CVAR_NOLOCAL=1 \
        record="$build/bin/mpit-run --quiet --output $work/run" runs "$mpi: transfers below collectives are counted" \
        $mpi "$program" below "$work/below.json"
    check "$mpi: and so they are as JSON" python3 "$here/monitor.py" "$work/below.json" "$work/said"
    rm -rf "$work/run" "$work/below.json"
    record="$build/bin/mpit-run --quiet --output $work/run" runs "$mpi: a window asks the system for page faults" $mpi \
        "$build/tests/monitor_pages-$mpi"
    rm -rf "$work/run"
    record="$build/bin/mpit-run --quiet --papi perf::PAGE-FAULTS --output $work/run" \
        runs "$mpi: and has what was asked for by name" $mpi "$build/tests/monitor_pages-$mpi" named
    rm -rf "$work/run"
    trouble $mpi
    example $mpi
    modules=("$root/include/mpit/mpix_monitor.f90")
    fortran $mpi
done
verdict
