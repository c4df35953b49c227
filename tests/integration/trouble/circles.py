#!/usr/bin/python3
"""Ranks that hang in calls which are collective, or act so: who waits for whom, and whether that is a circle.

    circles.py BUILD [--all]

Rank 0 makes one call, the others another one (circles.c). mpit-top has to name the circle, and to say of each rank for whom it
waits. Where rank 0 is only late, nobody is in a circle. The MPIs take turns at the pairs of calls. With --all each has all.
"""
import concurrent.futures
import json
import os
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

RANKS = 3
AT_ONCE = 4  # jobs, which only wait
PATIENCE = 40  # seconds

DEADLOCKS = [("finalize", "barrier"), ("recv", "finalize"), ("split", "barrier"), ("dup", "recv"), ("create", "finalize"),
             ("cart", "bcast"), ("win_create", "barrier"), ("win_free", "barrier"), ("fence", "recv"), ("file_open", "barrier"),
             ("file_close", "bcast"), ("set_view", "split"), ("ibarrier", "recv"), ("self_dup:dup", "barrier"), ("dup", "split")]
LATE = [("late", "split"), ("late", "finalize"), ("late", "ibarrier"), ("late", "win_free"), ("late", "dup")]


def looked(build, run, spool):
    """The job as mpit-top sees it; None: it does not."""
    ended = trial.run([build + "/bin/mpit-top", "--json", "--once", "--interval", "0.1", run], 30, trial.environment(MPIT_SPOOL=spool))
    try:
        jobs = json.loads(ended.out)["jobs"]
        return jobs[0] if len(jobs) == 1 and len(jobs[0]["ranks"]) == RANKS else None
    except (ValueError, KeyError):
        return None


def wanted(job, late):
    """A deadlock is named, or (late) the others wait for rank 0 alone."""
    waits = {rank["rank"]: {wait["rank"] for wait in rank["waits_for"]} for rank in job["ranks"]}
    if late:
        return job["deadlock"] is None and all(waits[rank] == {0} for rank in range(1, RANKS))
    return job["deadlock"] is not None and 0 in job["deadlock_ranks"]


def tried(case):
    """-> (name, what is wrong)"""
    build, mpi, (first, others), late = case
    name = f"{mpi}: rank 0 in {first}, the others in {others}: " + ("no deadlock" if late else "a deadlock")
    work = tempfile.mkdtemp(prefix="mpit-circles.")
    with trial.spool() as spool:
        variables = {"LD_PRELOAD": trial.preload(build, mpi), "MPIT_OUTPUT": work + "/run", "MPIT_SPOOL": spool}
        job = trial.Job([*trial.launcher(mpi, RANKS, variables), f"{build}/tests/circles-{mpi}", first, others, work],
                        trial.environment(MPIT_SPOOL=spool))
        try:
            until = time.monotonic() + PATIENCE
            while not all(os.path.exists(f"{work}/rank.{rank}") for rank in range(RANKS)) and time.monotonic() < until:
                time.sleep(0.05)
            time.sleep(2.5)  # a second is long
            seen = looked(build, work + "/run", spool)
            while not (seen and wanted(seen, late)) and time.monotonic() < until and not late:
                time.sleep(0.5)
                seen = looked(build, work + "/run", spool)
            wrong = [] if seen and wanted(seen, late) else [str(seen and (seen["deadlock"], [(r["call"], r["waits"]) for r in seen["ranks"]]))]
        finally:
            trial.killed(job.process)
            job.ended(5)
            shutil.rmtree(work, ignore_errors=True)
    return name, wrong


def main():
    """Some jobs at once, since they only wait."""
    build = os.path.abspath(sys.argv[1])
    judge = trial.Judge()
    mpis, every = trial.mpis(build), "--all" in sys.argv
    cases = [(build, mpi, pair, late) for pairs, late in ((DEADLOCKS, False), (LATE, True)) for number, pair in enumerate(pairs)
             for turn, mpi in enumerate(mpis) if every or (number + turn) % len(mpis) == 0]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for name, wrong in pool.map(tried, cases):
            judge.check(name, wrong)
    sys.exit(judge.verdict())


main()
