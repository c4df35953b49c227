#!/bin/bash
# MPIT_TRACE_LIMIT_SECONDS: a trace of 1 s of a program that runs for 3 s, with both policies. Counters count everything.
# Usage: test_tracetime.sh BUILD_DIRECTORY
. "$(dirname "$0")/../common/tooltest.sh"

# judged RUN POLICY: of two ranks that have printed their calls
judged() {
    python3 - "$1" "$2" <<'END'
import json, re, subprocess, sys
run, policy = sys.argv[1:]
failed = 0


def dumped(*words):
    return subprocess.run(["mpit-dump", *words, run], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout


def say(good, what, detail=""):
    global failed
    failed += not good
    print(what if good else "%s: NOT SO %s" % (what, detail))


job = json.loads(dumped("--json"))["jobs"][0]
made = sum(int(calls) for calls in re.findall(r"rank \d: (\d+) calls", open("out", encoding="utf-8").read()))
say(job["calls"]["MPI_Bcast"]["count"] == made > 10000, "the counters have all calls", [job["calls"]["MPI_Bcast"], made])
say(job["run_seconds"]["min"] > 2.9, "of the whole run", job["run_seconds"])
say(job["trace_limit_seconds"] == 1, "the summary has the limit", job["trace_limit_seconds"])
gaps = re.findall(r"thread 0: (\d+) between (\S+) and (\S+) \(trace_limit", dumped("--verify"))
lost = job["lost"]["trace_limit"]
say(len(gaps) == 2 and sum(int(gap[0]) for gap in gaps) == lost > 1000, "--verify has a gap of each rank", [gaps, lost])
listed = json.loads(subprocess.run(["mpit-dump", "--json", "--profile", run], stdout=subprocess.PIPE, text=True, check=False).stdout)
# Seconds since the process began: of the first MPI_Bcast after MPI_Init, and of MPI_Finalize. A block has about 0.1 s.
events = dumped("--events")
first, last = (min(float(seconds) for seconds in re.findall(r"^ +\d+ +0 +(\S+) +\S+ \S+ +%s " % call, events, re.M))
               for call in ("MPI_Bcast", "MPI_Finalize"))
for number, begin, end in gaps:
    begin, end = float(begin), float(end)
    if policy == "stop":
        say(0.9 < begin - first < 2, "the trace ends about 1 s after MPI_Init", [begin, first])
        say(end > last - 0.5, "and has the last events", [end, last])
    else:
        say(begin < 0.1, "the gap is at the start", begin)
        say(0.9 < last - end < 2, "the trace has about the last second", [end, last])
profile = listed["jobs"][0]
say(profile["limit_ns"] == 1000000000, "the profile has the limit", profile["limit_ns"])
taken = profile["time"]["ns"] / 2e9
say(0.5 < taken < 2.5, "samples were taken for about 1 s, with MPI_Init", taken)
sys.exit(failed)
END
}

for mpi in openmpi mpich; do
    has $mpi || continue
    built $mpi timed
    for policy in stop ring; do
        gives "$mpi, policy $policy: runs" 0 mpit-run --quiet --trace-seconds 1 --trace-policy $policy --sample 100 --output "$mpi-$policy" \
            "mpirun.$mpi" -n 2 "./timed-$mpi" 3
        check "  the trace ends, the counters do not" judged "$mpi-$policy" $policy
    done
    gives "$mpi: the first screen" 0 mpit-dump "$mpi-stop"
    says out 'trace +the first 1.00 s of the run, and the last events of each thread'
    tells "$mpi: with a ring" 0 out 'trace +at least the last 1.00 s of the run' mpit-dump "$mpi-ring"
    tells "$mpi: the profile" 0 out 'samples were taken for the first 1.00 s only' mpit-dump --profile "$mpi-stop"
    gives "$mpi: an archive" 0 mpit-dump --otf2 "archive-$mpi" "$mpi-stop"
    gives "  is sound" 0 "$build/tests/otf2judge" "archive-$mpi"
    gives "$mpi: a run within the limit" 0 mpit-run --quiet --trace-seconds 100 --output "$mpi-within" "mpirun.$mpi" -n 2 "./timed-$mpi" 1
    gives "  has a whole trace" 0 mpit-dump --verify "$mpi-within"
    gives "  and its summary" 0 mpit-dump "$mpi-within"
    says_not out 'trace_limit'
    for policy in stop ring; do
        gives "$mpi, policy $policy: a limit of bytes is reached first" 0 mpit-run --quiet --trace-seconds 2 --trace-limit 100000 \
            --trace-policy $policy --output "$mpi-bytes-$policy" "mpirun.$mpi" -n 2 "./timed-$mpi" 1
        gives "  and its summary" 0 mpit-dump --full "$mpi-bytes-$policy"
        says_not out '_seconds'
        says out 'not in the trace: .* event records, cause trace_limit'
    done
done

verdict
