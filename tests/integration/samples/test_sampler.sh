#!/bin/bash
# test_sampler.sh BUILD_DIR
#
# The sampler on both MPIs: how many samples there are and what they say, against programs that know (sampled.c); which
# ranks and when; and that no program notices (samplestorm.c, 10 kHz).
. "$(dirname "$0")/../common/verdict.sh"
PATH=$build/bin:$PATH

# counted RUN: a line of JSON for each sampled thread, into $work/counts
counted() {
    "$build/tests/samplecount" "$1" >"$work/counts"
}

# judged TITLE PYTHON: `threads` are the counts, `said` what the program printed; each assert has to hold
judged() {
    if python3 - "$work/counts" "$work/out" "$2" >"$work/verdict" 2>&1 <<'EOF'; then ok "$1"; else
import json, re, sys
threads = [json.loads(line) for line in open(sys.argv[1])]
said = open(sys.argv[2]).read()
mains = {t["rank"]: t for t in threads if t["stream"] == 0}
def near(value, wanted, share, least): assert abs(value - wanted) <= share * wanted + least, (value, wanted)
for t in threads:
    assert not t["backwards"] and not t["damaged"] and not t["missing"] and not t["lost"], t
assert "WRONG" not in said
exec(sys.argv[3])
EOF
        not_ok "$1" "$work/verdict"
    fi
}

run() {
    timeout 120 mpit-run --quiet "$@" >"$work/out" 2>"$work/err" </dev/null
}

for mpi in openmpi mpich; do
    there_is sampled || continue
    two="mpirun.$mpi -n 2"
    [ $mpi = openmpi ] && two="mpirun.$mpi --oversubscribe -n 2"

    # shellcheck disable=SC2086
    if run --sample 1000 --output "$work/shares-$mpi" $two "$build/tests/sampled-$mpi" shares 2; then
        counted "$work/shares-$mpi"
        judged "$mpi: samples stand for wall-clock time, of threads that compute, wait and sleep" '
for rank, compute, wait, sleep in re.findall(r"rank (\d): compute (\d+) wait (\d+) sleep (\d+)", said):
    rank, main = int(rank), mains[int(rank)]
    (sleeper,) = [t for t in threads if t["rank"] == rank and t["thread"] == -1]
    near(sleeper["weight"] * 1e6, int(sleep), 0.02, 5e6)
    assert sleeper["not_in_mpi"] == sleeper["weight"] and sleeper["cpu_ns"] < 0.1 * int(sleep)
    assert sleeper["samples"] < sleeper["weight"] / 10, "it is asleep, and is not woken up for each"
    near(main["weight"] * 1e6, main["span_ns"], 0.02, 5e6)
    assert main["frames"] > 4 * main["samples"] and main["unknown"] < 0.02 * main["samples"] and not main["without_module"]
    if rank == 0:
        p = int(wait) / main["span_ns"]
        error = 4 * (p * (1 - p) / main["samples"]) ** 0.5
        # a part of the wait is work where the rank had no processor
        assert p - error - 0.15 < main["stall_recv"] / main["weight"] < p + error + 0.02, (main["stall_recv"] / main["weight"], p)
assert len(mains) == 2 and said.count("rank") == 2'
    else
        not_ok "$mpi: sampled shares" "$work/err"
    fi

    # shellcheck disable=SC2086
    if run --sample 0 --output "$work/switch-$mpi" $two "$build/tests/sampled-$mpi" switch; then
        counted "$work/switch-$mpi"
        judged "$mpi: mpit_sample_hz starts and stops it" '
for rank, samples in re.findall(r"rank (\d): samples (\d+)", said):
    near(mains[int(rank)]["weight"], int(samples), 0.02, 6)
assert len(mains) == 2 and said.count("samples") == 2'
    else
        not_ok "$mpi: sampled switch" "$work/err"
    fi

    # shellcheck disable=SC2086
    if MPIT_SAMPLE_HZ=100 $two env LD_PRELOAD="$build/lib/libmpit-sampler.so:$build/lib/libmpit.so" "$build/tests/sampled-$mpi" rate \
        >"$work/out" 2>"$work/err" && [ "$(grep -c 'mpit_sample_hz 0$' "$work/out")" = 2 ] &&
        [ "$(grep -c 'MPIT_SAMPLE_HZ needs MPIT_OUTPUT' "$work/err")" = 1 ]; then
        ok "$mpi: without a directory there are no samples; it is said, and mpit_sample_hz is 0"
    else
        not_ok "$mpi: MPIT_SAMPLE_HZ without MPIT_OUTPUT" "$work/err"
    fi

    here=$(dirname "$0")
    gcc -shared -fPIC -O1 -DLIBRARY "$here/ownnames.c" -o "$work/libownnames.so" &&
        "mpicc.$mpi" -O1 "$here/ownnames.c" -L"$work" -lownnames -Wl,-rpath,"$work" -o "$work/ownnames-$mpi" ||
        not_ok "$mpi: ownnames.c compiles"
    for options in "" "--sample 1000"; do
        # shellcheck disable=SC2086
        if run $options --output "$work/names-$mpi$options" "mpirun.$mpi" -n 1 "$work/ownnames-$mpi" &&
            grep -q '^200 of 200 threads, 2$' "$work/out"; then
            ok "$mpi: functions of the program's own called like new ones of the C library's $options"
        else
            cat "$work/out" >>"$work/err"
            not_ok "$mpi: functions of the program's own called like new ones of the C library's $options" "$work/err"
        fi
    done
    gcc -shared -fPIC -O1 -DPLUGIN "$here/badtables.c" -o "$work/plugin.so" &&
        "mpicc.$mpi" "$here/badtables.c" -o "$work/badtables-$mpi" || not_ok "$mpi: badtables.c compiles"
    for how in far long noise; do
        python3 "$here/badtables.py" "$work/plugin.so" "$work/$how.so" $how || not_ok "$mpi: badtables.py $how"
        if run --sample 1000 --output "$work/$how-$mpi" "mpirun.$mpi" -n 1 "$work/badtables-$mpi" "$work/$how.so" &&
            grep -q done "$work/out" && mpit-dump --profile "$work/$how-$mpi" 2>&1 | grep -q 'spin'; then
            ok "$mpi: unwind tables that are wrong ($how) end a stack and not the program"
        else
            not_ok "$mpi: unwind tables that are wrong ($how)" "$work/err"
        fi
    done

    # shellcheck disable=SC2086
    if run --sample 1000 --output "$work/short-$mpi" $two "$build/tests/sampleshort-$mpi" && [ "$(grep -o ok "$work/out" | wc -l)" = 2 ]; then
        counted "$work/short-$mpi"
        judged "$mpi: no call is cut short; threads of C11, of full masks and of reductions are sampled" '
for rank in mains:
    computing = [t for t in threads if t["rank"] == rank and t["thread"] == -1 and t["cpu_ns"] > 50e6]
    assert len(computing) == 3, threads
assert len(mains) == 2'
    else
        cat "$work/out" >>"$work/err"
        not_ok "$mpi: calls that a signal cuts short" "$work/err"
    fi

    # shellcheck disable=SC2086
    run --sample 500 --sample-ranks 1-7 --output "$work/ranks-$mpi" $two "$build/tests/sampled-$mpi" shares 0.5
    counted "$work/ranks-$mpi"
    judged "$mpi: --sample-ranks 1-7 samples rank 1 alone" 'assert set(mains) == {1} and mains[1]["samples"] > 100'
    if mpit-dump "$work/ranks-$mpi" >"$work/out" 2>"$work/err" && ! [ -s "$work/err" ]; then
        ok "$mpi: the summary is that of both ranks, and nothing is said to be missing"
    else
        not_ok "$mpi: the summary of a job that was sampled in part" "$work/err"
    fi

    # shellcheck disable=SC2086
    if run --output "$work/none-$mpi" $two "$build/tests/sampled-$mpi" shares 0.3 && ls "$work/none-$mpi"/*.mpit >/dev/null 2>&1 &&
        counted "$work/none-$mpi" && [ ! -s "$work/counts" ]; then ok "$mpi: without --sample there are no samples"; else
        ls -A "$work/none-$mpi" >>"$work/err" 2>&1
        not_ok "$mpi: without --sample there are no samples" "$work/err"
    fi

    # shellcheck disable=SC2086
    if run --sample 10000 --output "$work/storm-$mpi" $two "$build/tests/samplestorm-$mpi" 2 && grep -q '^ok:' "$work/out" &&
        ! grep -q WRONG "$work/err"; then
        ok "$mpi: a storm of samples at 10 kHz: $(cat "$work/out")"
        counted "$work/storm-$mpi"
        judged "$mpi: its samples are sound" '
assert len(mains) == 2 and all(m["samples"] > 50 and m["without_module"] < 0.01 * m["samples"] for m in mains.values())
for rank in mains:
    waits = [t for t in threads if t["rank"] == rank and t["thread"] == -1]
    assert len(waits) >= 9 and sum(t["samples"] for t in waits) > 300, waits
vague = [t for t in threads if t["unknown"] > 0.05 * t["samples"] + 5]
assert not vague, vague'
    else
        cat "$work/out" >>"$work/err"
        not_ok "$mpi: a storm of samples at 10 kHz" "$work/err"
    fi

    # shellcheck disable=SC2086
    check "$mpi: threads without room for a handler, and signal stacks of the program, at 5 kHz" sh -c \
        "'$build/bin/mpit-run' --quiet --sample 5000 --output '$work/stacks-$mpi' $two '$build/tests/signalstacks-$mpi' 1 2>'$work/err' | grep -qx ok && ! grep 'not sampled' '$work/err'"
    # shellcheck disable=SC2086
    run --sample 100 --output "$work/raw-$mpi" $two "$build/tests/signalstacks-$mpi" 0.1 2
    check "$mpi: threads that a runtime starts by system calls are named: $(grep -m1 'not sampled' "$work/err")" \
        [ "$(grep -c 'mpit: 2 threads of process [0-9]* are not sampled: mpit did not see the start' "$work/err")" = 2 ]
done

for words in "--sample 10001" "--sample=x" "--sample -1" "--sample 100 --sample-ranks a" "--sample 100 --sample-ranks 3-1" \
    "--sample 100 --sample-ranks 1," "--sample-ranks 1"; do
    # shellcheck disable=SC2086
    mpit-run $words true >"$work/out" 2>&1
    if [ $? -eq 2 ] && grep -q "allowed\|needs" "$work/out"; then ok "$words is refused: $(head -1 "$work/out")"; else
        not_ok "$words" "$work/out"
    fi
done
verdict
