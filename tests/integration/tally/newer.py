#!/usr/bin/env python3
"""Functions that are newer than mpi.h, or than the library.

    newer.py BUILD CALLS_TABLE

- newer.c calls functions of MPI 4.0 and 4.1. Where mpi.h lacks them, newerlibrary.c stands for a newer library. mpit counts
  each call and each message, and knows each request.
- dlsym finds the same functions of calls.table as without mpit, whatever other MPIs mpit was built for.
"""
import collections
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

BUILD, TABLE = os.path.abspath(sys.argv[1]), sys.argv[2]


def own_counts(text):
    """What the processes printed. -> (function -> calls, messages, bytes)"""
    calls, messages, volume = collections.Counter(), 0, 0
    for words in map(str.split, text.splitlines()):
        if words[:1] == ["call"]:
            calls[words[1].removesuffix("_c")] += int(words[2])
        elif words[:1] == ["sent"]:
            messages, volume = messages + int(words[1]), volume + int(words[2])
    return calls, messages, volume


def calls_are_counted(judge, build, mpi, directory):
    """Calls, messages and bytes."""
    ended = trial.run([f"{build}/bin/mpit-run", "--quiet", "--trace", "--output", "run", *trial.launcher(mpi, 2),
                       f"{build}/tests/newer-{mpi}"], 120, trial.environment(MPIT_RECORD_LOCAL_CALLS="1"), directory)
    dumped = trial.run([f"{build}/bin/mpit-dump", "--json", "run"], 120, cwd=directory)
    try:
        (job,) = json.loads(dumped.out)["jobs"]
    except ValueError:
        judge.check(f"{mpi}: newer functions", [ended, dumped])
        return
    calls, messages, volume = own_counts(ended.out)
    counted = {name: call["count"] for name, call in job["calls"].items()}
    wrong = [f"{name}: {count} calls, {counted.get(name, 0)} counted" for name, count in calls.items()
             if counted.get(name, 0) != count]
    if ended.status != 0 or len(calls) < 20:
        wrong.append(ended)
    judge.check(f"{mpi}: each call of {len(calls)} functions is counted", wrong)
    found = [sum(comm[field] for comm in job["communicators"]) for field in ("send_count", "send_bytes")]
    judge.holds(found == [messages, volume], f"{mpi}: each message is counted", (found, messages, volume))
    if "MPI_Session_flush_buffer" not in calls:
        judge.skip(f"{mpi}: buffers of sessions", "mpi.h lacks their functions")
    judge.holds(not any(job["lost"].values()), f"{mpi}: each request is known", job["lost"])
    verified = trial.run([f"{build}/bin/mpit-dump", "--verify", "run"], 120, cwd=directory)
    judge.holds(verified.status == 0, f"{mpi}: the trace has the same counts", verified)


def absent_functions_stay_absent(judge, build, mpi, directory):
    """dlsym, natively and with mpit."""
    with open(TABLE, encoding="utf-8") as table:
        names = [line.split()[0] for line in table if line.split("#")[0].split()]
    names += [name + "_c" for name in names]
    names += ["P" + name for name in names]
    with open(f"{directory}/names", "w", encoding="utf-8") as file:
        file.write("\n".join(names))
    words = [f"{build}/tests/newer-{mpi}", "--names", "names"]
    native = trial.run(words, 60, cwd=directory)
    beside = trial.run(words, 60, trial.environment(LD_PRELOAD=trial.preload(build, mpi)), directory)
    theirs, ours = set(native.out.split()), set(beside.out.split())
    wrong = sorted(f"only with mpit: {name}" for name in ours - theirs)
    wrong += sorted(f"only without mpit: {name}" for name in theirs - ours if name.startswith(("MPI_", "PMPI_")))
    if native.status != 0 or beside.status != 0 or len(theirs) < 600:
        wrong += [native, beside]
    judge.check(f"{mpi}: dlsym finds the functions of the library, {len(theirs)} of {len(names)} names", wrong)


trial.judge_mpis(BUILD, trial.Judge(), calls_are_counted, absent_functions_stay_absent)
