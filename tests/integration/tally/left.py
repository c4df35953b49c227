#!/usr/bin/env python3
"""Objects that were not freed and requests that were not completed, with their places, against a program that counts for itself.

    left.py BUILD
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

BUILD = os.path.abspath(sys.argv[1])
RANKS, PASSES = 2, 30
KINDS = {"MPI_Comm_dup": "communicators", "MPI_Win_create": "windows", "MPI_File_open": "files", "MPI_Type_contiguous": "datatypes",
         "MPI_Type_vector": "datatypes", "MPI_Comm_group": "groups", "MPI_Group_incl": "groups", "MPI_Irecv": "requests",
         "MPI_Send_init": "persistent_requests"}
FINDING = (r"60 [\w ]+ of MPI_\w+ \(left\.c:\d+ leave\) were never (?:freed|closed|completed)(?:, (\S+) a pass)?, "
           r"and (?:420|360) objects of other calls\. They became more all through the run\.")


def recorded(mpi, work, name, options, program):
    run = f"{work}/{name}"
    ended = trial.run([f"{BUILD}/bin/mpit-run", *options, "--output", run, *trial.launcher(mpi, RANKS), f"{BUILD}/tests/left-{mpi}", *program],
                      60, trial.environment(), work)
    told = [(function, int(line), int(count)) for function, line, count in re.findall(r"left (MPI_\w+) (\d+) (\d+)", ended.out)]
    job = json.loads(trial.run([f"{BUILD}/bin/mpit-dump", "--json", run], 20).out)["jobs"][0]
    full = trial.run([f"{BUILD}/bin/mpit-dump", "--full", run], 20).out
    return ended, told, job, full


def findings_of(job):
    return [finding for finding in job["findings"] if finding["rule"] == "objects_left"]


def judge_rows(judge, name, job, told):
    for row in job["by_rank"]:
        for kind in sorted(set(KINDS.values())):
            wanted = sum(count for function, _, count in told if KINDS[function] == kind)
            judge.holds(row[f"left_{kind}"] == wanted, f"{name}: rank {row['rank']}, {kind}", [row[f"left_{kind}"], wanted])


def judge_left(judge, mpi, work, kind, option):
    name = f"{mpi} {kind} {option}"
    ended, told, job, full = recorded(mpi, work, f"{kind}{option}", [option], [kind, str(PASSES)])
    judge.holds(ended.status == 0 and len(told) == len(KINDS), f"{name}: the program tells", ended)
    judge_rows(judge, name, job, told)
    grows = kind == "growing"
    for function, line, count in told:
        places = [site for site in job["callsites"] if site["mpi"] == function and site["line"] == line]
        judge.holds(sum(site["not_freed"] for site in places) == RANKS * count, f"{name}: {function}", [places, count])
        judge.holds(sum(site["not_freed_growing"] for site in places) == grows * RANKS * count, f"{name}: {function} grows", places)
    judge.holds(sum(site["not_freed"] for site in job["callsites"]) == RANKS * sum(count for *_, count in told), f"{name}: no other place", job["callsites"])
    found = findings_of(job)
    judge.holds(len(found) == grows, f"{name}: the finding", job["findings"])
    words = f"{PASSES} datatypes not freed by rank" in full and "made by MPI_Type_contiguous at left.c:" in full
    judge.holds(words and ("leave, all through the run" in full) == grows, f"{name}: --full", full[-4000:])
    if found:
        words = re.match(FINDING, found[0]["text"])
        passes = job["passes"] and job["passes"]["count"]  # on a busy machine there may be none
        judge.holds(words and words[1] == (f"{RANKS * PASSES / passes:.3g}" if passes else None), f"{name}: its text", [found[0]["text"], passes])


def judge_nothing(judge, mpi, work, kind, passes):
    ended, _, job, full = recorded(mpi, work, kind, [], [kind, str(passes)])
    judge.holds(ended.status == 0, f"{mpi} {kind}: it ends", ended)
    judge_rows(judge, f"{mpi} {kind}", job, [])
    judge.holds(not any(site["not_freed"] for site in job["callsites"]) and not findings_of(job) and "Left at the end" not in full, f"{mpi} {kind}: no words",
                full[-4000:])


def judge_all(judge, _, mpi, work):
    for option in ("--no-trace", "--trace"):
        judge_left(judge, mpi, work, "growing", option)
    judge_left(judge, mpi, work, "begin", "--no-trace")
    judge_nothing(judge, mpi, work, "freed", 200)
    judge_nothing(judge, mpi, work, "spare", 400)


trial.judge_mpis(BUILD, trial.Judge(), judge_all)
