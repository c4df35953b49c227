#!/usr/bin/python3
"""What grows with what: memory of a process, start and end, files, for more and more of one thing, without mpit and with.

    growth.py BUILD [--mpi openmpi|mpich] [--pairs N] [--only MODE,...] [--quick]

Prints a table for each MODE of growth.c: what mpit adds, the difference of medians over pairs of runs (the program alone,
then recorded), and at the end what one more of the thing adds, between the last two rows. What mpit takes in MPI_Init and
MPI_Finalize is measured inside of the recorded run: what is not the MPI library's part, which a library behind mpit marks
(marks.c); with more processes than processors it has waiting in it, and the processor time beside it has not. The library's
parts stand there for comparison, and are not differences.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration", "common"))
import trial

MODES = {  # of what, how many, and in how many processes
    "ranks": ("processes on one node", [(n, n) for n in (1, 2, 4, 8, 16, 32, 64, 128, 256)]),
    "threads": ("threads at once", [(n, 1) for n in (1, 4, 16, 64, 256)]),
    "comms": ("communicators alive", [(n, 1) for n in (10, 100, 1000, 10000)]),
    "cycles": ("communicators made and freed", [(n, 1) for n in (100, 10000, 1000000)]),
    "peers": ("peers talked to", [(n, 32) for n in (1, 4, 16, 31)]),
    "calls": ("calls", [(n, 1) for n in (10**4, 10**6, 10**8)]),
    "requests": ("requests outstanding", [(n, 1) for n in (10, 1000, 100000, 1000000)]),
}
QUICK = {"ranks": 3, "threads": 3, "comms": 3, "cycles": 2, "peers": 2, "calls": 2, "requests": 3}
LIMITS = {"openmpi": {"comms": 10000}, "mpich": {"comms": 1000}}  # MPICH has 2,048 context identifiers
FIELDS = ("memory KiB", "MPI_Init us", "of processor time", "MPI_Finalize us", "of processor time", "library's MPI_Init us",
          "library's MPI_Finalize us", "files", "disk KiB")


class Bench:
    def __init__(self, build, mpi):
        self.program = f"{build}/tests/growth-{mpi}"
        self.library = f"{build}/lib/libmpit.so"
        self.marks = f"{build}/tests/libmarks-{mpi}.so"
        launcher = f"mpirun.{mpi}" if shutil.which(f"mpirun.{mpi}") else "mpirun"
        self.launcher = [launcher] + (["--oversubscribe"] if mpi == "openmpi" else [])

    def run(self, mode, n, ranks, recorded):
        with tempfile.TemporaryDirectory(prefix="mpit-growth-") as directory:
            extra = {"LD_PRELOAD": f"{self.library}:{self.marks}", "MPIT_OUTPUT": directory} if recorded else {}
            forward = [word for name in extra for word in ("-x", name)] if "--oversubscribe" in self.launcher else []
            line = [*self.launcher, *forward, "-n", str(ranks), self.program, mode, str(n)]
            done = subprocess.run(line, env=trial.clean(**extra), capture_output=True, text=True, timeout=1800)
            if done.returncode:
                raise SystemExit(f"growth.py: {' '.join(line)}: status {done.returncode}\n{done.stderr[-2000:]}")
            values = [float(word) for word in done.stdout.split()[-9:]]
            values[8] /= 1024
            values[5:7] = values[5:7] if recorded else (0, 0)
            return values

    def row(self, mode, n, ranks, pairs):
        bare, with_mpit = [], []
        for _ in range(pairs):
            bare.append(self.run(mode, n, ranks, False))
            with_mpit.append(self.run(mode, n, ranks, True))
        native = [statistics.median(column) for column in zip(*bare)]
        recorded = [statistics.median(column) for column in zip(*with_mpit)]
        return native, [b - a for a, b in zip(native, recorded)]


def table(bench, mpi, mode, pairs, quick):
    what, cases = MODES[mode]
    cases = [case for case in cases if mode != "comms" or case[0] <= LIMITS[mpi]["comms"]]
    cases = cases[:QUICK[mode]] if quick else cases
    print(f"\n{mpi}, {what}\n\n| {what} | native memory KiB | added: " + " | ".join(FIELDS) + " |\n" + "|---" * 11 + "|")
    rows = []
    for n, ranks in cases:
        native, added = bench.row(mode, n, ranks, pairs)
        rows.append((n, added))
        print(f"| {n} | {native[0]:.0f} | " + " | ".join(f"{value:.0f}" for value in added) + " |", flush=True)
    (n0, before), (n1, after) = rows[-2:]
    each = [(b - a) / (n1 - n0) for a, b in zip(before, after)]
    print("| one more | | " + " | ".join(f"{value:.3g}" for value in each) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--mpi", choices=("openmpi", "mpich"))
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--only", default=",".join(MODES), help="modes, separated by commas")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller cases")
    arguments = parser.parse_args()
    unknown = set(arguments.only.split(",")) - set(MODES)
    if unknown:
        parser.error(f"--only: no such mode: {', '.join(sorted(unknown))}; there are {', '.join(MODES)}")
    for mpi in [arguments.mpi] if arguments.mpi else ("openmpi", "mpich"):
        if not os.path.exists(f"{arguments.build}/lib/libmpit-{mpi}.so"):
            continue
        bench = Bench(arguments.build, mpi)
        for mode in arguments.only.split(","):
            table(bench, mpi, mode, 1 if arguments.quick else arguments.pairs, arguments.quick)


main()
