#!/usr/bin/python3
"""A job without a trace leaves the output directory alone while it runs.

    quietdir.py BUILD

strace follows all threads and children of marked.c. No system call between MPI_Init and MPI_Finalize may name the output
directory, or a file in it by its descriptor. No file there is ever mapped with MAP_SHARED.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

RANKS = 2
NAME = "watched-output-directory"
# they come by the thousand, and name no file
LEFT_OUT = "sched_yield,poll,epoll_wait,futex,clock_nanosleep,nanosleep,getrusage"


def traced(build, mpi, directory):
    """A job below strace, one for each rank. -> Ended"""
    variables = [f"LD_PRELOAD={trial.preload(build, mpi)}", f"MPIT_OUTPUT={directory}/{NAME}"]
    strace = ["strace", "-ff", "-ttt", "-y", "-s", "200", "-e", f"trace=!{LEFT_OUT}"]
    for variable in variables:
        strace += ["-E", variable]
    words = ["sh", "-c", 'exec "$@" -o "$0/rank.$$" ' + f"{build}/tests/marked-{mpi} 2000", directory, *strace]
    # without mpi_yield_when_idle there are not so many calls to follow
    return trial.run([*trial.launcher(mpi, RANKS), *words], 120, trial.environment(OMPI_MCA_mpi_yield_when_idle="0"))


def calls_of(prefix):
    """The system calls of a rank and its children, in order. -> [(time, text)]"""
    calls = []
    for path in glob.glob(glob.escape(prefix) + ".*"):
        with open(path, encoding="utf-8", errors="replace") as file:
            calls += [(float(line.split()[0]), line.split(" ", 1)[1].strip()) for line in file if line[0].isdigit()]
    return sorted(calls)


def time_of(calls, mark):
    """When the program wrote that mark; None: it did not."""
    return next((when for when, text in calls if text.startswith("write(2") and f'"marked: {mark}' in text), None)


def judged(judge, mpi, prefix):
    """One rank. -> how many calls name the directory"""
    calls = calls_of(prefix)
    begin, end = time_of(calls, "initialized"), time_of(calls, "finalizing")
    if begin is None or end is None:
        judge.check(f"{mpi}: strace saw the program's marks", [f"{len(calls)} calls, marks at {begin} and {end}"])
        return 0
    named = [(when, text) for when, text in calls if NAME in text and not text.startswith(("execve(", "write(2"))]
    between = [text for when, text in named if begin < when < end]
    judge.check(f"{mpi}: no system call names the output directory between MPI_Init and MPI_Finalize "
                f"({sum(begin < when < end for when, _ in calls)} calls seen)",
                [f"{len(between)} do"] + between[:5] if between else [])
    mapped = [text for _, text in named if re.match(r"mmap2?\(.*MAP_SHARED", text)]
    judge.check(f"{mpi}: no file of the output directory is mapped with MAP_SHARED",
                [f"{len(mapped)} are"] + mapped[:3] if mapped else [])
    return len(named)


def watched(judge, build, mpi, directory):
    """A job, rank by rank."""
    ended = traced(build, mpi, directory)
    judge.check(f"{mpi}: the job ends well", [str(ended)] if ended.hung or ended.status else [])
    prefixes = sorted({path.rsplit(".", 1)[0] for path in glob.glob(directory + "/rank.*")})
    judge.check(f"{mpi}: strace followed {RANKS} ranks", [] if len(prefixes) == RANKS else prefixes or ["none"])
    named = sum(judged(judge, mpi, prefix) for prefix in prefixes)
    judge.check(f"{mpi}: the results get into the output directory, and strace sees it",
                [] if named and os.listdir(f"{directory}/{NAME}") else [f"{named} calls name it", str(ended)])


def main():
    """Both MPIs."""
    judge = trial.Judge()
    if not shutil.which("strace") or subprocess.run(["strace", "-o", "/dev/null", "true"], check=False, capture_output=True).returncode:
        judge.skip("the output directory is left alone", "strace is not installed, or may not trace here")
        sys.exit(judge.verdict())
    trial.judge_mpis(os.path.abspath(sys.argv[1]), judge, watched)


main()
