#!/bin/bash
# test_filters.sh BUILD_DIR
#
# What is not recorded, or not timed, on both MPIs, in C and Fortran: filters, MPI_Pcontrol, mpit_timing and local
# functions. The rest is exact, traces replay to it and archives are sound. And what is chosen of what was recorded, as
# the summary has it: its numbers are those of the program, of the whole, and of --csv with the same options.
. "$(dirname "$0")/../common/verdict.sh"
here=$(cd "$(dirname "$0")" && pwd)
PATH=$build/bin:$PATH

# says NAME TEXT FILE
says() { if grep -q -- "$2" "$3"; then ok "$1"; else not_ok "$1" "$3"; fi; }

# run NAME RUN OPTION... -- ARGUMENT...: filters.c with these options of mpit-run
run() {
    local name=$1 run=$2 options=()
    shift 2
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    set -f # a filter may have stars
    if record="mpit-run --output $run --summary $run.json ${options[*]}" launch $mpi 2 "$build/tests/filters-$mpi" "$@" \
        >"$run.out" 2>"$run.err"; then ok "$name: runs"; else not_ok "$name: runs" "$run.err"; fi
    set +f
}

# kept NAME RUN: the trace replays, the archive is sound
kept() {
    check "$1: the trace gives the tallies" mpit-dump --verify "$2"
    check "$1: the archive is sound" sound "$2/otf2"
}

# A value of an option that cannot be used: nothing starts.
while read -r option word allowed; do
    timeout 60 mpit-run "$option" --output "$work/none" sh -c "touch $work/started" >"$work/said" 2>&1
    check "$option: ends with 2" test $? = 2
    says "$option: is named" "option ${option%%=*}: $word cannot be used: .*$allowed" "$work/said"
    check "$option: nothing starts" test ! -e "$work/started" -a ! -e "$work/none"
done <<'END'
--filter=foo 'foo' p2p, completion, coll
--filter=p2p,MPI_Sned 'p2p,MPI_Sned' 'MPI_Sned' is neither
--timing=abc 'abc' from 0 to 1
--timing=2 '2' from 0 to 1
--timing= '' from 0 to 1
END

mkdir "$work/ring"
check "a trace with a gap is there" python3 -c 'import lzma, sys
open(sys.argv[2], "wb").write(lzma.open(sys.argv[1]).read())' "$here/../../samples/run/ring.mpit.xz" "$work/ring/ring.mpit"
for part in "--window 0:" "--window :1s" "--functions coll"; do
    # shellcheck disable=SC2086
    check "a trace with a gap, $part: the calls of --csv, and what is missing" python3 "$here/selections.py" csv mpit-dump "$work/ring" $part
done

for mpi in openmpi mpich; do
    there_is filters || continue
    run "$mpi" "$work/$mpi-all" -- all
    check "$mpi: everything is counted" python3 "$here/filters.py" "$work/$mpi-all.out" "$work/$mpi-all.json" ""
    for filter in -coll p2p,coll -completion -MPI_Isend,-MPI_Wait -comm "Irecv,wait*" "-*" -start,-*free,-rma; do
        name="$mpi, filter $filter" run=$work/$mpi-$filter
        run "$name" "$run" --otf2 "--filter=$filter" -- all
        check "$name: all but these are counted" python3 "$here/filters.py" "$run.out" "$run.json" "$filter" \
            "$work/$mpi-all.json"
        kept "$name" "$run"
        rm -rf "$run"
    done

    run=$work/$mpi-parts name="$mpi, parts of a run"
    record="mpit-run --quiet --trace --fabric --os --output $run" launch $mpi 3 "$build/tests/filters-$mpi" all >"$run.out" 2>"$run.err"
    check "$name: are what the program counted, and --csv has" python3 "$here/selections.py" counted mpit-dump "$run" "$run.out"
    check "$name: are counted anew as they were live, and make the whole" python3 "$here/selections.py" same mpit-dump "$run"
    for program in churn threads; do
        run=$work/$mpi-parts-$program what=$build/tests/filters-$mpi
        [ $program = threads ] && what=$build/tests/threads-$mpi
        record="mpit-run --quiet --trace --output $run" launch $mpi 2 "$what" $program 400 >"$run.out" 2>"$run.err"
        check "$name of $program: are counted anew as they were live, and make the whole" \
            python3 "$here/selections.py" same mpit-dump "$run"
    done
    for freed in '#3' '#3?' '#4*'; do
        check "$name of churn: freed communicators dup$freed" python3 "$here/selections.py" freed mpit-dump \
            "$work/$mpi-parts-churn" "MPI_COMM_SELF/dup$freed"
    done
    check "$name: of a run without a trace, what ranks have" sh -c "MPIT_REDUCE=0 mpit-run --quiet --output $run-files \
        mpirun.$mpi -n 2 $build/tests/filters-$mpi all && mpit-dump --json --ranks 1 $run-files | grep '\"from\": \"tallies\"'"
    for part in "--window 0:" "--comm MPI_COMM_WORLD" "--functions p2p"; do
        # shellcheck disable=SC2086
        mpit-dump $part "$run-files" >"$work/said" 2>&1
        check "$name: $part needs a trace" test $? = 1
        says "$name: $part says so" "rank 0 was recorded without a trace; mpit-run --trace records one" "$work/said"
    done
    check "$name: of a run without files, figures by rank" python3 "$here/selections.py" rows mpit-dump "$work/$mpi-all" 1
    mpit-dump --comm MPI_COMM_WORLD "$work/$mpi-all" >"$work/said" 2>&1
    check "$name: a communicator needs their files, too" test $? = 1
    says "$name: and this is said, too" "have only a common summary, and no files; mpit-run --trace" "$work/said"

    run=$work/$mpi-sections name="$mpi, MPI_Pcontrol"
    run "$name" "$run" --otf2 -- sections
    check "$name: what was made while it was on is counted" python3 "$here/filters.py" "$run.out" "$run.json" ""
    says "$name: the archive leaves out messages, and says so" "recording was off for a while (MPI_Pcontrol)" "$run.err"
    kept "$name" "$run"
    mpit-dump --full "$run" >"$run.text" 2>&1
    says "$name: the summary says for how long" "recording was off for" "$run.text"
    otf2-print "$run/otf2/traces.otf2" >"$run.print" 2>&1
    if [ "$(grep -c MEASUREMENT_ON_OFF "$run.print")" = 8 ]; then ok "$name: and the archive when"; else
        grep MEASUREMENT_ON_OFF "$run.print" >"$work/out"
        not_ok "$name: and the archive when" "$work/out"
    fi

    for trace in "" --otf2; do
        run=$work/$mpi-local$trace name="$mpi, local functions $trace"
        run "$name" "$run" $trace -- local
        check "$name: are counted while that is wanted" python3 "$here/filters.py" "$run.out" "$run.json" ""
        [ -z "$trace" ] || kept "$name" "$run"
    done

    for timing in 0 1; do
        run=$work/$mpi-timing-$timing name="$mpi, timing $timing"
        MPIT_REDUCE=0 run "$name" "$run" --timing $timing -- loop 500
        check "$name: counts are exact" python3 "$here/filters.py" "$run.out" "$run.json" ""
        check "$name: times are as it says" "$build/tests/filters_times" $timing "$run"
        run "$name, trace" "$run-trace" --otf2 --timing $timing -- loop 50
        kept "$name, trace" "$run-trace"
        check "$name, trace: every call is timed" "$build/tests/filters_times" 1 "$run-trace"
    done
    for timing in 0 1; do
        run=$work/$mpi-churn-$timing name="$mpi, timing $timing, freed communicators"
        MPIT_REDUCE=0 run "$name" "$run" --timing $timing -- churn 400
        check "$name: counts are exact" python3 "$here/filters.py" "$run.out" "$run.json" ""
        mpit-dump --events "$run" 2>/dev/null >"$run.events"
        check "$name: each message has its own" awk -v timing=$timing '
            $1 ~ /^[0-9]+$/ { rank = $1 }
            / \+ created/ { comm[rank] = $3 }
            / \+ (send|receive) done/ && rank in comm {
                records++
                if ($4 != comm[rank]) {
                    print rank " " comm[rank] ": " $0
                    wrong++
                }
            }
            / MPI_(Isend|Irecv) / {
                calls++
                untimed += ($4 == "-")
                if ($4 == "0" && $5 == "s") {
                    print
                    zero++
                }
            }
            END {
                print records " records, " calls " calls, " untimed " not timed, " zero " took no time"
                # counters go in steps of up to 10 ns, and a call may take less: seldom
                exit wrong || !records || (timing == 1 ? zero > calls / 4 : zero) ||
                    (timing == 0 && untimed != calls) || (timing == 1 && untimed)
            }' "$run.events"
        mpit-dump --full "$run" >"$run.text"
        check "$name: the summary knows what is no time" awk -v timing=$timing '
            / 0 s / { zeros++ }
            /^  in MPI +-$/ { none++ }
            /^  in MPI +[0-9.]+ % of the run/ { share++ }
            /^  MPI_Isend .* -  *-  *-$/ { send++ }
            END {
                print zeros " times of 0 s, in MPI " none " " share ", MPI_Isend " send
                exit timing == 0 ? zeros || !none || !send : none || !share || send
            }' "$run.text"
    done
    says "$mpi: a trace wins over the timing" "a trace needs the time of every call" "$work/$mpi-timing-0-trace.err"

    run=$work/$mpi-wrong
    MPIT_FILTER=p2p,MPI_Sned run "$mpi, a wrong filter" "$run" -- all
    says "$mpi, a wrong filter: is named" "MPIT_FILTER=p2p,MPI_Sned cannot be used: 'MPI_Sned'" "$run.err"
    check "$mpi, a wrong filter: holds not" python3 "$here/filters.py" "$run.out" "$run.json" ""

    name="$mpi, a filter of local functions"
    run "$name" "$work/$mpi-other" --filter=local,p2p -- local
    check "$name: mpit-run says once what it takes" \
        test "$(grep -c "'local'.*not recorded; set MPIT_RECORD_LOCAL_CALLS=1" "$work/$mpi-other.err")" = 1
    MPIT_FILTER=MPI_Comm_rank run "$name, in the environment" "$work/$mpi-rank" -- local
    check "$name, in the environment: one process says it" \
        test "$(grep -c "'MPI_Comm_rank'.*not recorded; set MPIT_RECORD_LOCAL_CALLS=1" "$work/$mpi-rank.err")" = 1
    MPIT_RECORD_LOCAL_CALLS=1 run "$name, which are recorded" "$work/$mpi-known" --filter=local -- local
    check "$name, which are recorded: without a word" test -z "$(grep LOCAL_CALLS "$work/$mpi-known.err")"

    command -v gfortran >/dev/null && command -v "mpif90.$mpi" >/dev/null || { skip "$mpi, Fortran" "there is no compiler of it" && continue; }
    for binding in mpifh f08; do
        name="$mpi, Fortran $binding" run=$work/$mpi-$binding
        flags=(-fallow-argument-mismatch)
        [ $binding = f08 ] && flags=(-DUSE_F08)
        check "$name: is built" "mpif90.$mpi" "${flags[@]}" -w -o "$run-program" "$here/filters.F90"
        MPIT_RECORD_LOCAL_CALLS=1 record="mpit-run --filter=-gatherv --output $run --summary $run.json" \
            launch $mpi 2 "$run-program" >"$run.out" 2>"$run.err" || not_ok "$name: runs" "$run.err"
        check "$name: the program's calls are counted, and no other" python3 - "$run.json" $mpi <<'EOF'
import json, sys
(job,) = json.load(open(sys.argv[1]))["jobs"]
calls = {n: c["count"] for n, c in job["calls"].items()}
expected = {"MPI_Init": 2, "MPI_Comm_rank": 6, "MPI_Comm_size": 2, "MPI_Gather": 10, "MPI_Scatter": 10,
            "MPI_Barrier": 2, "MPI_Comm_create_keyval": 2, "MPI_Type_match_size": 2}
if sys.argv[2] == "openmpi": # MPICH's Fortran layer comes to no function of MPI for them
    expected |= {"MPI_Comm_get_attr": 8, "MPI_Comm_set_attr": 2}
calls.pop("MPI_Finalize", None)
print(calls, job["off_seconds"])
sys.exit(calls != expected or job["off_seconds"]["min"] <= 0)
EOF
    done
done
verdict
