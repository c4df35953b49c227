#!/bin/bash
# test_objects.sh BUILD_DIR
#
# The program objects counts what it does with windows and files, and mpit agrees; on both MPIs, with 1 to 4 processes.
# Nothing is lost, what is replayed from the trace equals the counters, cell for cell, and the archive and the lists of
# events have what the program counted (objects.py).
. "$(dirname "$0")/../common/verdict.sh"
here=$(cd "$(dirname "$0")" && pwd)

export OMPI_MCA_osc=$openmpi_osc

for mpi in openmpi mpich; do
    there_is objects || continue
    for ranks in 1 2 4; do
        keep=$work/kept
        counted_run objects $ranks "$work/file"
        "$build/bin/mpit-dump" --csv "$keep" >"$work/lines"
        "$build/bin/mpit-dump" --events "$keep" >"$work/text"
        "$build/bin/mpit-dump" --perfetto - "$keep" >"$work/json"
        if python3 "$here/objects.py" "$keep/otf2" "$work/said" $ranks "$work/lines" "$work/text" "$work/json" \
            >"$work/out" 2>&1; then
            ok "the archive has the program's figures: $mpi with $ranks processes: $(tail -n 1 "$work/out")"
        else
            not_ok "the archive has the program's figures: $mpi with $ranks processes" "$work/out"
        fi
        rm -rf "$keep"
    done
    check "$mpi: ownfiles.c" "mpicc.$mpi" -O2 -o "$work/ownfiles" "$here/ownfiles.c"
    record="$build/bin/mpit-run --quiet --otf2 --output $work/own" check "$mpi: files of one process each" \
        launch $mpi 3 "$work/ownfiles" "$work/own-file"
    check "  each has its own in the archive" sh -c "otf2-print '$work/own/otf2/traces.otf2' >'$work/own.text' &&
        [ \$(grep -c 'IO_CREATE_HANDLE ' '$work/own.text') = 3 ] && [ \$(grep 'IO_CREATE_HANDLE ' '$work/own.text' |
        grep -o 'own-file.[0-2]' | sort -u | wc -l) = 3 ]"
    check "  and its own window" sh -c "[ \$(grep 'RMA_WIN_CREATE ' '$work/own.text' | grep -o 'Window: .*' | sort -u | wc -l) = 3 ]"
    check "  which holds" sound "$work/own/otf2"
    rm -rf "$work/own"

    if [ $mpi = mpich ]; then # Open MPI ends that program natively
        check "$mpi: windowdelete.c" "mpicc.$mpi" -O2 -o "$work/windowdelete" "$here/windowdelete.c"
        record="$build/bin/mpit-run --quiet --otf2 --output $work/delete" check "$mpi: an epoch that ends in a delete callback" \
            launch $mpi 2 "$work/windowdelete"
        check "  nothing is lost" sh -c "'$build/bin/mpit-dump' --full '$work/delete' >'$work/text' && ! grep 'not recorded' '$work/text' &&
            grep '^  MPI_Put  *2 ' '$work/text'"
        check "  the archive holds" sound "$work/delete/otf2"
        rm -rf "$work/delete"
    fi

    check "$mpi: emptywrites.c" "mpicc.$mpi" -O2 -o "$work/emptywrites" "$here/emptywrites.c"
    # Open MPI 6 has no ROMIO, and MPICH has nothing else
    [ $mpi = mpich ] && ios=romio || ios=$(ompi_info --parsable | sed -nE 's/^mca:io:([a-z0-9]+):version:.*/\1/p' | sort -u)
    check "$mpi has a component for files" [ -n "$ios" ]
    for io in $ios; do
        export OMPI_MCA_io=$io
        record="$build/bin/mpit-run --quiet --trace --output $work/empty" check "$mpi: collective writes of nothing, $io" \
            launch $mpi 2 "$work/emptywrites" "$work/empty.data"
        check "  and in a replay" "$build/bin/mpit-dump" --verify "$work/empty"
        rm -rf "$work/empty"
        unset OMPI_MCA_io
    done
done
verdict
