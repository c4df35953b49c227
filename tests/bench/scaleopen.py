#!/usr/bin/python3
"""The tools on a job of very many ranks: processor time and memory of each, as the rows of a table.

    scaleopen.py BUILD [--only NAME,...] [--ranks N] [--directory DIR]

The names are those of CASES. A run file is left by a program, and copied for all ranks (manyfiles.c). The summaries are made
by scale.c, and the traces by tracemake.c. 100,000 run files take 8 GiB in DIR, which is /dev/shm if nothing else is said: a
disk that is slower than its cache would be measured too. Each line is the better of two runs.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration", "common"))
import trial

WITHIN = """import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, used.ru_utime, used.ru_stime, used.ru_maxrss)"""


class Bench:
    def __init__(self, build, ranks, directory):
        self.build, self.ranks, self.directory = build, ranks, directory
        self.run = f"{directory}/run"

    def program(self, name, *words):
        subprocess.run([f"{self.build}/tests/{name}", *map(str, words)], check=True, stdout=subprocess.DEVNULL)

    def one(self):
        """A live file of a program without a trace: nobody can collect it."""
        output = f"{self.directory}/one"
        if not os.path.exists(output):
            mpi = trial.mpis(self.build)[0]
            launch = f"mpirun.{mpi}" if shutil.which(f"mpirun.{mpi}") else "mpirun"
            os.makedirs(f"{self.directory}/spool")
            env = trial.environment(MPIT_OUTPUT="/proc/nowhere", MPIT_SPOOL=f"{self.directory}/spool", MPIT_REDUCE="0")
            subprocess.run([launch, "-n", "1", "env", f"LD_PRELOAD={trial.preload(self.build, mpi)}", f"{self.build}/tests/heat-{mpi}",
                            "--rows", "8", "--columns", "8", "--steps", "2", "--every", "1"], env=env, check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            os.makedirs(output)
            shutil.move(glob.glob(f"{self.directory}/spool/*/*/*.mpit")[0], output)
        return glob.glob(f"{output}/*.mpit")[0]

    def files(self, *end):
        shutil.rmtree(self.run, ignore_errors=True)
        self.program("manyfiles", self.one(), self.run, self.ranks, 1, *end)

    def measure(self, title, tool, *words, tries=2):
        best = None
        for _ in range(tries):
            line = [sys.executable, "-c", WITHIN, f"{self.build}/bin/{tool}", *words]
            status, user, system, memory = map(float, subprocess.run(line, capture_output=True, text=True, check=True).stdout.split())
            best = min(best or (1e9, 0), (user + system, memory))
        print(f"| {title} | {best[0]:.1f} s | {best[1] / 1024:.0f} MiB |{'' if status in (0, 1) else f' status {status:.0f}'}", flush=True)


def summaries(bench):
    os.mkdir(bench.run)
    bench.program("scale", bench.ranks, max(bench.ranks // 100, 1), bench.run)
    for words in ([], ["--json"]):
        bench.measure(" ".join(["`mpit-dump", *words]) + "`, summaries of nodes", "mpit-dump", *words, bench.run)


def files(bench):
    bench.files()
    for words in ([], ["--json"], ["--full"]):
        bench.measure(" ".join(["`mpit-dump", *words]) + f"`, {bench.ranks:,} run files", "mpit-dump", *words, bench.run)
    bench.measure(f"`mpit-jobs`, {bench.ranks:,} run files", "mpit-jobs", bench.run)


def jobfile(bench):
    bench.files()
    bench.measure(f"`mpit-collect --join`, {bench.ranks:,} run files", "mpit-collect", "--join", bench.run, tries=1)
    size = sum(os.stat(path.path).st_blocks * 512 for path in os.scandir(bench.run)) >> 20
    for words in ([], ["--json"]):
        bench.measure(" ".join(["`mpit-dump", *words]) + f"`, {bench.ranks:,} processes in a job file of {size:,} MiB", "mpit-dump",
                      *words, bench.run)
    bench.measure("`mpit-jobs`, the same job file", "mpit-jobs", bench.run)


def crash(bench):
    for end in ("barrier", "halves", "rows", "ring"):
        bench.files(end)
        bench.measure(f"`mpit-dump --crash`, {bench.ranks:,} dead processes, {end}", "mpit-dump", "--crash", bench.run)


def top(bench):
    bench.files("barrier")
    bench.measure(f"`mpit-top --once`, {bench.ranks:,} files of processes without an end", "mpit-top", "--once", bench.run)


def trace(bench):
    bench.program("tracemake", bench.run, bench.ranks, 100)
    bench.measure(f"`mpit-dump`, traces of {bench.ranks:,} ranks, 100 calls each", "mpit-dump", bench.run)
    bench.measure("`mpit-dump --analyze`, the same", "mpit-dump", "--analyze", bench.run)
    bench.measure("`mpit-dump --otf2`, the same", "mpit-dump", "--otf2", f"{bench.directory}/archive", bench.run, tries=1)


# The number of ranks unless another is given.
CASES = {summaries: 100000, files: 100000, crash: 100000, jobfile: 10000, top: 10000, trace: 10000}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--only", default=",".join(case.__name__ for case in CASES))
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--directory", default="/dev/shm")
    arguments = parser.parse_args()
    print("| | processor time | memory |\n|---|---|---|")
    for case, ranks in CASES.items():
        if case.__name__ in arguments.only.split(","):
            with tempfile.TemporaryDirectory(prefix="mpit-scale-", dir=arguments.directory) as directory:
                case(Bench(arguments.build, arguments.ranks or ranks, directory))
    return 0


sys.exit(main())
