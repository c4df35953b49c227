#!/bin/bash
# test_instrument.sh BUILD_DIR
#
# Variables and regions of other libraries (include/mpit/instrument.h): what MPI_T, the summary, the trace, the archive
# and mpit-list say of them, on both MPIs; the same binaries without mpit; and the examples, in C and in C++.
. "$(dirname "$0")/../common/verdict.sh"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)

# check NAME COMMAND...: ok if it succeeds; what it wrote is in $work/out
check() {
    local name=$1
    shift
    if "$@" >"$work/out" 2>&1 </dev/null; then ok "$name"; else not_ok "$name (status $?)" "$work/out"; fi
}
# says NAME PATTERN: the last output has a line with it
says() { if grep -qE -- "$2" "$work/out"; then ok "$1"; else not_ok "$1: nothing matches $2" "$work/out"; fi; }

compile() { # LANGUAGE_COMPILER OPTION... : with everything that warns
    local compiler=$1
    shift
    "$compiler" -Wall -Wextra -Wshadow -Wno-cast-function-type -Werror -I"$root/include" -I"$root/share/examples" "$@"
}

# The header alone, as each standard and compiler reads it.
for compiler in gcc clang; do
    command -v $compiler >/dev/null || { skip "the header" "there is no $compiler" && continue; }
    for standard in c11 c17; do
        check "$compiler -std=$standard takes the header" compile $compiler -std=$standard -pedantic -fsyntax-only -O2 \
            "$here/instrument_plugin.c"
    done
    [ $compiler = clang ] || command -v g++ >/dev/null || { skip "the header in C++" "there is no g++" && continue; }
    for standard in c++11 c++14 c++17 c++20; do
        check "$compiler -std=$standard takes the header" compile $compiler -x c++ -std=$standard -pedantic \
            -fsyntax-only -O2 "$here/instrument_plugin.c"
    done
done

summary_is_right() {
    "$build/bin/mpit-dump" --json "$1" | python3 -c '
import json, sys
lines = json.load(sys.stdin)["jobs"][0]["instruments"]
def line(name, kind, comm=None):
    found = [l for l in lines if (l["name"], l["class"], l["communicator"]) == (name, kind, comm)]
    assert len(found) == 1, (name, kind, comm, found)
    return found[0]
assert line("workqueue_puts", "COUNTER")["sum"] == 240
assert line("workqueue_puts", "COUNTER")["component"].startswith("libworkqueue")
assert line("workqueue_refused", "COUNTER")["max"] == 150
assert line("workqueue_length", "LEVEL")["mean"] == 0
assert line("workqueue_length", "HIGHWATERMARK")["max"] == 120
assert line("workqueue_sent_bytes", "AGGREGATE", "MPI_COMM_WORLD")["sum"] == 480
assert line("workqueue_state", "STATE")["item"] == "idle" and line("workqueue_state", "STATE")["ranks"] == 2
assert line("workqueue_transfer", "COUNTER")["sum"] == 2 and line("workqueue_transfer", "COUNTER")["region"]
assert 0 < line("workqueue_transfer", "TIMER")["sum"] < 60e9
'
}

examples() {
    local mpi=$1 dir=$work/$1
    mkdir -p "$dir"
    check "$mpi: the library compiles" compile "mpicc.$mpi" -std=c11 -fPIC -shared "$root/share/examples/workqueue.c" \
        -o "$dir/libworkqueue.so"
    check "$mpi: the C program compiles" compile "mpicc.$mpi" -std=c11 "$root/share/examples/taskfarm.c" -L"$dir" \
        -lworkqueue -Wl,-rpath,"$dir" -o "$dir/taskfarm"
    record='' check "$mpi: the C program runs without mpit" launch "$mpi" 2 "$dir/taskfarm"
    says "  and says so" 'rank 0: 50 numbers refused, .* not loaded'
    record="$build/bin/mpit-run --quiet --output $dir/counted" check "$mpi: with mpit its values are right" \
        launch "$mpi" 2 "$dir/taskfarm"
    says "  and a control variable was written" 'rank 0: 30 numbers refused, .* is loaded'
    check "  the summary of the processes has them" summary_is_right "$dir/counted"
    record="$build/bin/mpit-run --quiet --otf2 --output $dir/traced" check "$mpi: the same with a trace" \
        launch "$mpi" 2 "$dir/taskfarm"
    check "  the summary of the run files has them" summary_is_right "$dir/traced"
    check "  the replayed trace equals the counters" "$build/bin/mpit-dump" --verify "$dir/traced"
    check "  the events can be listed" "$build/bin/mpit-dump" --events "$dir/traced"
    says "  with regions" ' region +- +workqueue_transfer$'
    says "  with values" ' metric +MPI_COMM_WORLD +workqueue_sent_bytes = 480$'
    says "  with states" ' workqueue_state = 1 filling$'
    check "  the summary as text" "$build/bin/mpit-dump" --full "$dir/traced"
    says "  shows the region" '^  workqueue_transfer +2 '
    says "  shows the counter" '^  workqueue_puts +COUNTER +240 +120 \(0\)'
    check "  the archive is sound" "$build/tests/otf2judge" --json "$dir/traced/otf2"
    says "  and has regions" '"user_enters": 2$'
    says "  and samples" '"samples": [1-9]'
    check "$mpi: mpit-list shows the library's variables" "$build/bin/mpit-list" --mpi "$mpi" \
        --load "$dir/libworkqueue.so" 'workqueue*'
    says "  as the library's" '^workqueue_sent_bytes +AGGREGATE .* comm +1 --a libworkqueue.so$'
    says "  and its control variables" '^workqueue_capacity +int .* libworkqueue.so = 100$'
    command -v "mpicxx.$mpi" >/dev/null || { skip "$mpi: C++" "there is no mpicxx.$mpi" && return; }
    check "$mpi: the C++ program compiles" compile "mpicxx.$mpi" -std=c++11 "$root/share/examples/solver.cc" -L"$dir" \
        -lworkqueue -Wl,-rpath,"$dir" -o "$dir/solver"
    record='' check "$mpi: the C++ program runs without mpit" launch "$mpi" 2 "$dir/solver"
    record="$build/bin/mpit-run --quiet --output $dir/solved" check "$mpi: with mpit its values are right" \
        launch "$mpi" 2 "$dir/solver"
    says "  and it says so" '^right, mpit is loaded'
    check "$mpi: a static program that is no PIE finds mpit, too" compile "mpicc.$mpi" -std=c11 -no-pie -fno-pie \
        "$root/share/examples/workqueue.c" "$root/share/examples/taskfarm.c" -o "$dir/fixed"
    record="$build/bin/mpit-run --quiet --output $dir/fixed-run" check "  its values are right" launch "$mpi" 2 "$dir/fixed"
    says "  and mpit is loaded" 'is loaded'
}

for mpi in openmpi mpich; do
    program=$build/tests/instrument_check-$mpi plugin=$build/tests/instrument_plugin.so
    there_is instrument_check || continue
    record='' check "$mpi: nothing happens without mpit" launch $mpi 2 "$program" "$plugin" absent
    record='' check "$mpi: nothing happens with MPIT_DISABLE" env MPIT_DISABLE=1 \
        LD_PRELOAD="$build/lib/libmpit.so" timeout 60 "$program" "$plugin" absent
    record="$build/bin/mpit-run --quiet --otf2 --output $work/check-$mpi" check "$mpi: what the header promises, in MPI_T" \
        launch $mpi 2 "$program" "$plugin"
    says "  bad use is said with its reason" '"check_count" of .* has already registered one of this name and class'
    check "  the replayed trace equals the counters" "$build/bin/mpit-dump" --verify "$work/check-$mpi"
    check "  the archive is sound" "$build/tests/otf2judge" "$work/check-$mpi/otf2"
    check "  the summary counts what was too deep" "$build/bin/mpit-dump" --full "$work/check-$mpi"
    says "  and says why" 'not recorded: .* cause region_depth'
    says "  and has what was bound to freed communicators" '^  check_bound +MPI_COMM_SELF/dup#\* +COUNTER +27,[0-9]+ '
    says "  and their regions" '^  check_bound_region +MPI_COMM_SELF/dup#\* +27,[0-9]+ '
    examples $mpi
done
verdict
