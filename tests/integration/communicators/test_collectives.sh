#!/bin/bash
# test_collectives.sh BUILD_DIR
#
# The program collectives counts its neighbourhood and persistent collectives itself, with their bytes, and mpit agrees;
# on both MPIs, with 1 to 4 processes. Nothing is lost, what is replayed from the trace equals the counters, cell for
# cell; and the archive holds, and has what the program counted.
. "$(dirname "$0")/../common/verdict.sh"

for mpi in openmpi mpich; do
    there_is collectives || continue
    for ranks in 1 2 3 4; do
        keep=$work/kept counted_run collectives $ranks "$work/book"
        if python3 "${0%/*}/collectivesbook.py" "$work/kept/otf2" "$work/book" $ranks >"$work/out" 2>&1; then
            ok "archive, $mpi with $ranks processes: $(tail -n 1 "$work/out")"
        else
            not_ok "archive, $mpi with $ranks processes" "$work/out"
        fi
        rm -rf "$work/kept"
    done
done
verdict
