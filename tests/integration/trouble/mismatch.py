#!/usr/bin/env python3
"""Collectives that do not match are named, with ranks, functions, roots, places and number: while the job hangs by mpit-top,
after it by mpit-run and mpit-dump --crash. Ranks that left are named with their exit. Programs that are right get no such
sentence.

    mismatch.py BUILD
"""
import concurrent.futures
import json
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

BUILD = os.path.abspath(sys.argv[1])
HANGS = 9  # seconds
AT_ONCE = 3
AT = r" at mismatch\.c:\d+ \(({}|main)\)"


CELLS, OTHER = r'on \S+ "cells"', r'on \S+ "other"'
WRONG = [  # case, ranks, what is told
    ("function", 3, CELLS + r" rank 2 called MPI_Bcast with root 0{at} as its 12th collective, ranks 0-1 called MPI_Allreduce{at}"),
    ("barrier", 4, CELLS + r" rank 3 called MPI_Barrier{at} as its 12th collective, ranks 0-2 called MPI_Allgather{at}"),
    ("scan", 3, CELLS + r" rank 2 called MPI_Exscan{at} as its 12th collective, ranks 0-1 called MPI_Scan{at}"),
    ("gather", 3, CELLS + r" rank 2 called MPI_Gather with root 2{at} as its 12th collective, ranks 0-1 called MPI_Alltoall{at}"),
    ("three", 4, CELLS + r" rank 3 called MPI_Barrier{at} as its 12th collective, ranks 0-1 called MPI_Allreduce{at}",
     CELLS + r" rank 2 called MPI_Allgather{at} as its 12th collective, ranks 0-1 called MPI_Allreduce{at}"),
    ("root", 2, CELLS + r" rank 1 called MPI_Reduce with root 1{at} as its 12th collective, rank 0 with root 0"),
    ("roots", 4, CELLS + r" ranks 2-3 called MPI_Scatter with root 1{at} as their 12th collective, ranks 0-1 with root 0"),
    ("passed", 3, CELLS + r" rank 2 called MPI_Bcast with root 2{at} as its 12th collective, ranks 0-1 with root 0"),
    ("sizes", 3, CELLS + r" rank 2 called MPI_Bcast with root 0 and 96 bytes{at} as its 12th collective, ranks 0-1 with root 0 and 80 bytes"),
    ("operation", 3, CELLS + r" rank 2 called MPI_Allreduce with MPI_MAX{at} as its 12th collective, ranks 0-1 with MPI_SUM"),
    ("operation_root", 4, CELLS + r" rank 3 called MPI_Reduce with root 1 and MPI_BOR{at} as its 12th collective, ranks 0-2 with root 1 and MPI_LOR"),
    ("operation_posted", 3, CELLS + r" rank 2 called MPI_Iallreduce with MPI_PROD{at} as its 12th collective, ranks 0-1 with MPI_MIN"),
    ("operation_under_way", 4, CELLS + r" rank 2 called MPI_Allreduce with MPI_MIN{at} as its 12th collective, ranks 0-1 with MPI_SUM"),
    ("size_under_way", 4, CELLS + r" rank 2 called MPI_Bcast with root 3 and 96 bytes{at} as its 12th collective, ranks 0-1 with root 3 and 80 bytes"),
    ("part", 3, r'on \S+ "pair" rank [12] called MPI_(Scan|Allreduce){at} as its 2nd collective, rank [12] called MPI_(Scan|Allreduce){at}'),
    ("first", 8, r'on \S+ "half" rank 7 called MPI_Barrier{at} as its 1st collective, ranks 4-6 called MPI_Allgather{at}'),
    ("late", 3, CELLS + r" rank 2 called MPI_Barrier{at} as its 212th collective, ranks 0-1 called MPI_Allgather{at}"),
    ("posted", 3, CELLS + r" rank 2 called MPI_Ibcast with root 0{at} as its 12th collective, ranks 0-1 called MPI_Iallreduce{at}"),
    ("mixed", 3, CELLS + r" rank 2 called MPI_Ibarrier{at} as its 12th collective, ranks 0-1 called MPI_Barrier{at}"),
    ("made", 3, CELLS + r" rank 2 called MPI_Comm_dup{at} before its 12th collective, ranks 0-1 called MPI_Allreduce{at}"),
    ("more", 3, CELLS + r" rank 2 called MPI_Comm_split{at} before its 12th collective, ranks 0-1 called MPI_Allreduce{at}"),
    ("window", 3, "rank 2 called MPI_Win_create " + CELLS + "{at}, ranks 0-1 called MPI_(Allreduce|Barrier) " + CELLS + "{at}, and each waits for the other"),
    ("neighbor", 4, r'on \S+ "ring" rank 3 called MPI_Neighbor_alltoall{at} as its 1st collective, ranks 0-2 called MPI_Neighbor_allgather{at}'),
    ("inter", 4, r'on \S+ "bridge" rank 3 called MPI_Allgather{at} as its 1st collective, ranks 0-2 called MPI_Barrier{at}'),
    ("error_branch", 3, r"rank 2 called MPI_Finalize at mismatch\.c:\d+ \(main\), ranks 0-1 called MPI_Allreduce " + CELLS + "{at}, and each waits for the other"),
    ("skipped", 3, CELLS + r" rank 2 called MPI_Barrier{at} as its 16th collective, ranks 0-1 called MPI_Allreduce{at}"),
    ("turned", 2, "rank 1 called MPI_Allreduce " + OTHER + "{at}, rank 0 called MPI_Allreduce " + CELLS + "{at}, and each waits for the other"),
    ("turned_functions", 3, "rank 2 called MPI_Barrier " + OTHER + "{at}, ranks 0-1 called MPI_Allgather " + CELLS + "{at}, and each waits for the other")]
LEFT = [  # case, ranks, how it ended
    ("left_by_exit", 3, r"ended by exit\(\) or the end of main, with status 3"),
    ("left_at_once", 3, r"crashed, was killed, or ended by _exit\(\)"),
    ("left_by_abort", 3, r"crashed, was killed, or ended by _exit\(\)")]
RIGHT = [("ahead", 3), ("waited_otherwise", 3), ("posted_otherwise", 3), ("inter_roots", 4), ("types", 3), ("signatures", 4),
         ("own_operation", 3), ("locations", 3), ("in_place", 3), ("making", 3), ("counts", 3),
         ("places", 3), ("parts", 5), ("threads", 2), ("messages", 3)]


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


def processes_of(spool, name=""):
    """The processes of the job with this spool, of programs whose name begins so."""
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/environ", "rb") as file, open(f"/proc/{process}/comm", encoding="utf-8") as called:
                if f"MPIT_SPOOL={spool}\0".encode() in file.read() and called.read().startswith(name):
                    yield int(process)
        except OSError:
            pass  # it has ended


def ran(mpi, work, case, ranks):
    """What mpit-run and mpit-dump --crash say, and the job as mpit-top saw it."""
    run, spool = f"{work}/{case}", f"{work}/spool-{case}"
    os.mkdir(spool)
    job = trial.Job([f"{BUILD}/bin/mpit-run", "--output", run, "timeout", "-s", "INT", str(HANGS), *trial.launcher(mpi, ranks),
                     f"{BUILD}/tests/mismatch-{mpi}", case], trial.environment(MPIT_SPOOL=spool))
    seen = None
    while job.process.poll() is None and not (seen and seen["mismatch"]):
        time.sleep(0.5)
        seen = looked(run, spool) or seen  # it may have ended meanwhile
    if case == "error_branch":  # an interrupted MPI_Finalize may return
        for process in processes_of(spool, "mismatch-"):
            os.kill(process, signal.SIGKILL)
    elif seen and seen["mismatch"]:
        job.process.send_signal(signal.SIGINT)
    ended = job.ended(HANGS + 30)
    crash = trial.run([f"{BUILD}/bin/mpit-dump", "--crash", run], 20)
    return ended.err, crash.out, seen


def match(patterns, lines, case):
    wanted = [pattern.replace("{at}", AT.format(case if case != "late" else "barrier")) for pattern in patterns]
    return len(wanted) == len(lines) and all(map(re.fullmatch, wanted, lines))


def judge_unnoticed(judge, mpi, work):
    """A job that ends: the note is on its first screen, and in the JSON."""
    run = f"{work}/unnoticed"
    ended = trial.run([f"{BUILD}/bin/mpit-run", "--output", run, *trial.launcher(mpi, 3), f"{BUILD}/tests/mismatch-{mpi}", "unnoticed"], 60,
                      trial.environment(), work)
    screen = " ".join(ended.err.split())
    judge.holds(re.search(r'! Rank 2 called MPI_Bcast with root 2 as its 62nd collective on \S+ "cells", and 2 others MPI_Bcast with root 0: '
                          r"MPI_Bcast \(mismatch\.c:\d+ unnoticed\)", screen), f"{mpi}: a mismatch without a hang", ended.err)
    judge.holds(re.search(r'! 1 of 1 message was sent and not received, most on \S+ "cells"', screen), f"{mpi}: a message is left", ended.err)
    job = json.loads(trial.run([f"{BUILD}/bin/mpit-dump", "--json", run], 20).out)["jobs"][0]
    rules = [finding["rule"] for finding in job["findings"]]
    judge.holds({"collectives_differ", "messages_left"} <= set(rules), f"{mpi}: rules in JSON", rules)
    full = trial.run([f"{BUILD}/bin/mpit-dump", "--full", run], 20).out
    judge.holds("Left at the end" in full and "1 of 1 were sent and not received" in full and "1 communicator not freed by rank" in full, f"{mpi}: --full", full)


def judge_operation(judge, mpi, work):
    """Such a job ends, and its results are wrong."""
    ended = trial.run([f"{BUILD}/bin/mpit-run", "--output", f"{work}/operation-ends", *trial.launcher(mpi, 3),
                       f"{BUILD}/tests/mismatch-{mpi}", "unnoticed_operation"], 60, trial.environment(), work)
    judge.holds(re.search(r'! Rank 2 called MPI_Allreduce with MPI_MAX as its 62nd collective on \S+ "cells", and 2 others MPI_Allreduce '
                          r"with MPI_SUM: MPI_Allreduce \(mismatch\.c:\d+ unnoticed_operation\)", " ".join(ended.err.split())),
                f"{mpi}: another operation without a hang", ended.err)


def judge_killed(judge, mpi, work):
    """Nobody saw when the processes died: mpit-run was killed as well."""
    run, spool = f"{work}/killed", f"{work}/spool-killed"
    os.mkdir(spool)
    job = trial.Job([f"{BUILD}/bin/mpit-run", "--output", run, *trial.launcher(mpi, 3), f"{BUILD}/tests/mismatch-{mpi}", "passed"],
                    trial.environment(MPIT_SPOOL=spool))
    until = time.time() + 30
    while time.time() < until and not (looked(run, spool) or {}).get("mismatch"):
        time.sleep(0.5)
    while time.time() < until + 10 and (processes := list(processes_of(spool))):
        for process in processes:
            os.kill(process, signal.SIGKILL)
        job.process.poll()
        time.sleep(0.1)
    crash = trial.run([f"{BUILD}/bin/mpit-dump", "--crash", run], 20, trial.environment(MPIT_SPOOL=spool))
    passed = next(case for case in WRONG if case[0] == "passed")
    judge.holds(match(passed[2:], told(crash.out), "passed"), f"{mpi}: all are killed: --crash", crash)


def judge_all(judge, _, mpi, work):
    judge_killed(judge, mpi, work)
    judge_unnoticed(judge, mpi, work)
    judge_operation(judge, mpi, work)
    wrong = [case for case in WRONG if (mpi, case[0]) != ("mpich", "sizes")]  # MPICH compares these sizes
    cases = [case[:2] for case in wrong + LEFT + RIGHT]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        done = dict(zip(cases, pool.map(lambda case: ran(mpi, work, *case), cases)))
    for case, ranks, *patterns in wrong + [(*case, ) for case in RIGHT]:
        run, crash, seen = done[case, ranks]
        name = f"{mpi}: {case}, {ranks} ranks"
        for who, text in (("mpit-run", run), ("--crash", crash)):
            judge.holds("did not end normally" in text and match(patterns, told(text), case), f"{name}: {who}", [told(text), text[-1500:]])
        first = told(seen["mismatch"] or "") if seen else None
        judge.holds(first is not None and match([re.sub(r" at \S+ \S+\)|{at}", "", one) for one in patterns[:1]], first, case), f"{name}: mpit-top", seen)
    for case, ranks, how in LEFT:
        for who, text in zip(("mpit-run", "--crash"), done[case, ranks]):
            judge.holds(re.search(f"rank {ranks - 1}: outside MPI, after MPI_Allreduce.*; {how}", text), f"{mpi}: {case}: {who}", text[-1500:])


trial.judge_mpis(BUILD, trial.Judge(), judge_all)
