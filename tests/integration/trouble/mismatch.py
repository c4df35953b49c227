#!/usr/bin/env python3
"""Collectives that do not match are named, with ranks, functions, roots, places and number: while the job hangs by mpit-top,
after it by mpit-run and mpit-dump --crash. Programs that are right get no such sentence.

    mismatch.py BUILD
"""
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

BUILD = os.path.abspath(sys.argv[1])
HANGS = 5  # seconds
AT = r" at mismatch\.c:\d+ \({}\)"
CASES = [  # case, ranks, what is told; None: nothing
    ("function", 3, r'on \S+ "cells" rank 2 called MPI_Bcast with root 0{at} as its 12th collective, ranks 0-1 called MPI_Allreduce{at}'),
    ("barrier", 4, r'on \S+ "cells" rank 3 called MPI_Barrier{at} as its 12th collective, ranks 0-2 called MPI_Allgather{at}'),
    ("root", 2, r'on \S+ "cells" rank 1 called MPI_Reduce with root 1{at} as its 12th collective, rank 0 with root 0'),
    ("part", 3, r'on \S+ "pair" rank [12] called MPI_(Scan|Allreduce){at} as its 2nd collective, rank [12] called MPI_(Scan|Allreduce){at}'),
    ("ahead", 3, None),
    ("turned", 2, None)]


def told(text):
    return re.findall("collectives do not match: (.*)", text)


def looked(run, spool):
    """The job as mpit-top sees it; None: it does not."""
    ended = trial.run([f"{BUILD}/bin/mpit-top", "--json", "--once", "--interval", "0.1", run], 20, trial.environment(MPIT_SPOOL=spool))
    try:
        jobs = json.loads(ended.out)["jobs"]
        return jobs[0] if len(jobs) == 1 else None
    except (ValueError, KeyError):
        return None


def judge_case(judge, mpi, work, case, ranks, wanted):
    name, run, spool = f"{mpi}: {case}, {ranks} ranks", f"{work}/{case}", f"{work}/spool-{case}"
    os.mkdir(spool)
    job = trial.Job([f"{BUILD}/bin/mpit-run", "--output", run, "timeout", "-s", "INT", str(HANGS), *trial.launcher(mpi, ranks),
                     f"{BUILD}/tests/mismatch-{mpi}", case], trial.environment(MPIT_SPOOL=spool))
    seen = None
    while job.process.poll() is None and not (seen and (seen["mismatch"] or seen["deadlock"])):
        time.sleep(0.3)
        seen = looked(run, spool) or seen # it may have ended meanwhile
    ended = job.ended(HANGS + 20)
    crash = trial.run([f"{BUILD}/bin/mpit-dump", "--crash", run], 20)
    for who, text in (("mpit-run", ended.err), ("--crash", crash.out)):
        lines, pattern = told(text), wanted and wanted.replace("{at}", AT.format(case))
        good = "did not end normally" in text and (len(lines) == 1 and re.fullmatch(pattern, lines[0]) if wanted else not lines)
        judge.holds(good, f"{name}: {who}", [lines, text[-1500:]])
    said = seen and seen["mismatch"]
    pattern = wanted and "collectives do not match: " + wanted.replace("{at}", "")
    judge.holds(seen and (said and re.fullmatch(pattern, said) if wanted else not said), f"{name}: mpit-top", seen)


def judge_all(judge, _, mpi, work):
    for case in CASES:
        judge_case(judge, mpi, work, *case)


trial.judge_mpis(BUILD, trial.Judge(), judge_all)
