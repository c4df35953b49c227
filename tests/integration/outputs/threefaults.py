#!/usr/bin/env python3
"""The first screen names the planted faults of the examples jacobi.c and particles.f90, after one command.

    threefaults.py BUILD SOURCE MPI

The faults: rank 2 computes longer, rank 1 does more before it sends, and the messages of jacobi.c are small. With -g each has a file and a
line, without it a function. 4 ranks may share 2 processors, so a run may be blurred: one of three has to name all.
"""
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

BUILD, SOURCE, MPI = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
TRIES, SECONDS = 3, 240
judge = trial.Judge()


def line_of(file, text):
    """The number of the first line with this text."""
    with open(f"{SOURCE}/share/examples/{file}", encoding="utf-8") as lines:
        return next(number for number, line in enumerate(lines, 1) if text in line)


def found(screen):
    """The findings of the first screen, each as one line."""
    part = re.search(r"^What stands out.*?\n(.*?)\n\n", screen, re.M | re.S)
    return re.sub(r"\n {8,}", " ", part[1]).splitlines() if part else []


def missing(findings, wanted):
    """The faults that no finding names with all of its words."""
    return [words for words in wanted if not any(all(word in finding for word in words) for finding in findings)]


def judge_program(name, compiler, file, wanted, work, *flags):
    program = f"{work}/{name}"
    built = trial.run([compiler, "-O2", "-w", *flags, f"{SOURCE}/share/examples/{file}", "-o", program, "-lm"], 120,
                      cwd=work)
    judge.holds(built.status == 0, f"{name}: {file} is built", built)
    lacks, screen = [], ""
    for turn in range(TRIES if built.status == 0 else 0):
        shutil.rmtree(f"{work}/run", ignore_errors=True)
        ended = trial.run([f"{BUILD}/bin/mpit-run", "--trace", "--output", f"{work}/run", *trial.launcher(MPI, 4), program],
                          SECONDS, trial.environment(), work)
        screen = ended.out + ended.err
        lacks = missing(found(screen), wanted) if ended.status == 0 else [["a run that ends well"]]
        if not lacks:
            break
    judge.holds(built.status == 0 and not lacks, f"{name}: the first screen names the planted faults", f"{lacks}\n{screen}")


def run_seconds(screen):
    told = re.search(r"^  when .* for ([0-9.]+) (m?s), by", screen, re.M)
    return float(told[1]) / (1000 if told[2] == "ms" else 1) if told else 0


def judge_processors(work):
    """Two ranks on one processor: what a processor each would gain is what it gains."""
    if len(os.sched_getaffinity(0)) < 2:
        judge.skip("a processor each", "there is one processor")
        return
    screens, free = [], ("--bind-to", "none") if MPI == "openmpi" else ()  # it binds to other processors than taskset's
    for words in (["taskset", "-c", str(min(os.sched_getaffinity(0)))], []):
        shutil.rmtree(f"{work}/run", ignore_errors=True)
        ended = trial.run([f"{BUILD}/bin/mpit-run", "--trace", "--output", f"{work}/run", *words,
                           *trial.launcher(MPI, 2, options=free), f"{work}/C"],
                          SECONDS, trial.environment(), work)
        screens.append(ended.out + ended.err)
    told = re.search(r"with 2 it takes about ([0-9.]+) (m?s)", screens[0])
    predicted = float(told[1]) / (1000 if told[2] == "ms" else 1) if told else 0
    shared, alone = map(run_seconds, screens)
    judge.holds(alone and 0 < predicted < shared and 0.6 < predicted / alone < 1.7,  # Open MPI's polls yield: little is lost
                f"two ranks on one processor: {shared} s; told: {predicted} s with two; so it takes {alone} s", screens[0])


def faults(long, late, small=None):
    return [["ank 2 t", long], ["ank 1 t", late], *([["small messages", small]] if small else [])]


def main():
    with tempfile.TemporaryDirectory(prefix="mpit-threefaults.", ignore_cleanup_errors=True) as work:
        receive, wait, reduce = (line_of("jacobi.c", text) for text in ("MPI_Irecv(", "MPI_Waitall(", "MPI_Allreduce("))
        judge_program("C", f"mpicc.{MPI}", "jacobi.c",
                      faults(f"jacobi.c:{reduce}", f"jacobi.c:{receive} exchange", f"jacobi.c:{wait} exchange"), work, "-g")
        judge_processors(work)
        judge_program("C -g0", f"mpicc.{MPI}", "jacobi.c", faults("main", "exchange", "exchange"), work,
                      "-fno-inline")
        if not shutil.which(f"mpif90.{MPI}"):
            judge.skip("Fortran", f"there is no mpif90.{MPI}")
            return judge.verdict()
        send, reduce = (line_of("particles.f90", text) for text in ("MPI_Sendrecv(", "MPI_Allreduce("))
        place = f"particles.f90:{send} handover"
        judge_program("Fortran", f"mpif90.{MPI}", "particles.f90", faults(f"particles.f90:{reduce}", place), work, "-g")
    return judge.verdict()


sys.exit(main())
