#!/bin/bash
# test_requests.sh BUILD_DIR
#
# Requests of all kinds are counted as the program requests counts them itself, with one thread and with several; a
# million of them at once, within the memory limit; and those that a Fortran program makes of matched messages. What is
# replayed from the trace equals the counters, cell for cell, and the archive made of it holds.
. "$(dirname "$0")/../common/verdict.sh"
build=$(cd "${1:?usage: test_requests.sh BUILD_DIR}" && pwd) || exit 2
source=$(cd "$(dirname "$0")" && pwd)/matched.F90

# counted NAME RANKS WORD...: requests, of $mpi
counted() {
    local name=$1 ranks=$2
    shift 2
    if launch $mpi $ranks "$build/tests/requests-$mpi" "$@" >"$work/out" 2>&1 </dev/null; then
        ok "$name: $(tail -n 1 "$work/out")"
    else
        not_ok "$name (status $?)" "$work/out"
    fi
}

# replayed NAME, kept NAME: the trace in $run; and its archive, and it is over
# Warnings are right there: the program frees active receives, and mpit sees no end of what it completes out of sight.
replayed() {
    if "$build/bin/mpit-dump" --verify "$run" >"$work/out" 2>&1; then
        ok "replayed trace equals the counters: $1"
    else
        not_ok "replayed trace equals the counters: $1" "$work/out"
    fi
}
kept() {
    replayed "$1"
    if "$build/tests/otf2judge" "$run/otf2" >"$work/out" 2>&1; then
        ok "the archive holds: $1"
    else
        not_ok "the archive holds: $1" "$work/out"
    fi
    rm -rf "$run"
}

for mpi in openmpi mpich; do
    there_is requests || continue
    run=$work/run
    record="$build/bin/mpit-run --quiet --otf2 --output $run"
    for ranks in 1 2 4; do
        for threads in "" threads; do
            name="requests-$mpi with $ranks processes${threads:+ and several threads}"
            counted "$name" $ranks $threads "$work/book"
            if python3 "${source%/*}/requestsbook.py" "$run/otf2" "$work/book" $ranks >"$work/out" 2>&1; then
                ok "archive of $name: $(tail -n 1 "$work/out")"
            else
                not_ok "archive of $name" "$work/out"
            fi
            kept "$name"
        done
    done

    for ranks in 1 2 3; do # the archive of these does not hold: less is received than was sent
        name="requests-$mpi cut, with $ranks processes"
        counted "$name" $ranks cut
        replayed "$name"
        rm -rf "$run"
    done

    for program in cancelled cutfree; do
        name="$program.c, $mpi"
        "mpicc.$mpi" -o "$work/$program" "${source%/*}/$program.c" >"$work/out" 2>&1 || not_ok "$name compiles" "$work/out"
        launch $mpi 1 "$work/$program" >"$work/out" 2>&1 </dev/null && ok "$name runs" || not_ok "$name (status $?)" "$work/out"
        replayed "$name"
        [ $program = cancelled ] && kept "$name" # messages of the other are not received
        rm -rf "$run"
    done

    name="matchedfree.c, $mpi"
    "mpicc.$mpi" -o "$work/matchedfree" "${source%/*}/matchedfree.c" >"$work/out" 2>&1 || not_ok "$name compiles" "$work/out"
    launch $mpi 1 "$work/matchedfree" >"$work/out" 2>&1 </dev/null && grep -q '^3 messages' "$work/out" && ok "$name runs" ||
        not_ok "$name (status $?)" "$work/out"
    if [ "$("$build/bin/mpit-dump" --csv "$run" 2>"$work/out" | grep -c 'MPI_Mrecv.*MPI_COMM_SELF/dup')" = 3 ]; then
        ok "matched messages are on their communicators: $name"
    else
        not_ok "matched messages are on their communicators: $name" "$work/out"
    fi
    kept "$name"

    name="nobody.c, $mpi"
    "mpicc.$mpi" -o "$work/nobody" "${source%/*}/nobody.c" >"$work/out" 2>&1 || not_ok "$name compiles" "$work/out"
    launch $mpi 2 "$work/nobody" >"$work/out" 2>&1 </dev/null && ok "$name runs" || not_ok "$name (status $?)" "$work/out"
    "$build/bin/mpit-dump" --full "$run" >"$work/out" 2>&1
    if grep -q '^  MPI_Startall  *100 ' "$work/out" && ! grep -q 'not recorded' "$work/out"; then
        ok "all is recorded: $name"
    else
        not_ok "all is recorded: $name" "$work/out"
    fi
    kept "$name"
    rm -rf "$run"

    "mpicc.$mpi" -o "$work/alternate" "${source%/*}/alternate.c" >"$work/out" 2>&1 || not_ok "alternate.c, $mpi, compiles" "$work/out"
    for how in "turns single" "turns multiple" "blocks single" "blocks multiple"; do
        name="alternate.c, $mpi, $how"
        # shellcheck disable=SC2086
        if launch $mpi 2 "$work/alternate" $how >"$work/out" 2>&1 </dev/null; then
            ok "each communicator has its own: $name"
        else
            not_ok "each communicator has its own: $name (status $?)" "$work/out"
        fi
        rm -rf "$run"
    done

    for options in "--timing 0" "--filter -MPI_Request_get_status"; do # whose calls alone are not counted then
        record="$build/bin/mpit-run --quiet $options --output $run"
        name="requests-$mpi with $options"
        launch $mpi 2 "$build/tests/requests-$mpi" >"$work/out" 2>&1 </dev/null
        if grep -q 'messages sent' "$work/out" && [ "$(grep -cE 'the program counted' "$work/out")" = \
            "$(grep -c 'at the end: MPI_Request_get_status is 0,' "$work/out")" ]; then
            ok "$name"
        else
            not_ok "$name" "$work/out"
        fi
        rm -rf "$run"
    done
    record="$build/bin/mpit-run --quiet --otf2 --output $run"

    many=1000000
    [ $mpi = openmpi ] || many=500000 # MPICH 4.0.2 itself stops the program before 800,000
    record="$build/bin/mpit-run --quiet --output $run"
    if launch $mpi 1 "$build/tests/crowd-$mpi" 1000 $many >"$work/out" 2>&1 </dev/null && ! grep -qv ' 0 lost' "$work/out"; then
        ok "$many requests at once, $mpi:$(tail -n 1 "$work/out")"
    else
        not_ok "$many requests at once, $mpi" "$work/out"
    fi
    rm -rf "$run"
    record="env MPIT_BUFFER_LIMIT_BYTES=4194304 $record"
    if launch $mpi 1 "$build/tests/crowd-$mpi" 200000 >"$work/out" 2>&1 </dev/null && grep -q ' [1-9][0-9]* lost' "$work/out"; then
        ok "more than the memory limit allows, $mpi:$(tail -n 1 "$work/out")"
    else
        not_ok "more than the memory limit allows, $mpi" "$work/out"
    fi
    rm -rf "$run"

    command -v "mpif90.$mpi" >/dev/null || { skip "matched.F90, $mpi" "there is no mpif90.$mpi" && continue; }
    if ! "mpif90.$mpi" -o "$work/matched" "$source" -J "$work" >"$work/out" 2>&1; then
        not_ok "matched.F90 compiles, $mpi" "$work/out"
        continue
    fi
    record="$build/bin/mpit-run --quiet --otf2 --output $run"
    for ranks in 1 3; do
        name="matched.F90, $mpi with $ranks processes"
        launch $mpi $ranks "$work/matched" >"$work/out" 2>&1 </dev/null || not_ok "$name (status $?)" "$work/out"
        "$build/bin/mpit-dump" --json "$run" >"$work/summary.json" 2>"$work/out"
        if python3 "${source%.F90}.py" "$ranks" "$work/summary.json" >"$work/out" 2>&1; then
            ok "$name: $(tail -n 1 "$work/out")"
        else
            not_ok "$name" "$work/out"
        fi
        kept "$name"
    done
done
verdict
