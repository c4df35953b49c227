#!/usr/bin/python3
"""Threads in MPI under Valgrind's Helgrind, with mpit loaded: nothing that it reports is mpit's.

    valgrind_mpi.py BUILD [--mpi openmpi|mpich]... [--ranks N] [--case CASE] [--keep DIR]

BUILD is one of preset valgrind, whose atomic operations are announced (announced.h). Runs the program of
test_threads.sh with the preload library; the MPI libraries have races of their own by Helgrind's rules (it takes their
own atomic operations for races too), and those are counted. A report is mpit's if one of the two accesses, or the lock
that is misused, has mpit's code as its innermost frame outside of the C library and Valgrind; on a thread's stack, if both
have: MPI_Wait of Open MPI hands the address of a variable on its stack to other threads, by atomic operations that the
tool does not know, and mpit's next function has its variables in that place. With a library whose
atomic operations are not announced there must be such reports, so that silence means something: --unannounced BUILD.
About a minute an MPI with the default case.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

FRAME = re.compile(r"==\d+==\s+(?:at|by) 0x[0-9A-F]+: (.*)$")
OURS = re.compile(r"/src/(probes|aggregate|events|native|mpit)/|/wrappers\.c:|libmpit-")
PASSED_OVER = re.compile(r"vgpreload|valgrind|/libc\.so|/nptl/|/string/|/sysdeps/|\.S:\d+\)|pthread_|\(in /usr/lib/x86_64-linux-gnu/libc")

ON_A_STACK = re.compile(r"Address 0x[0-9a-f]+ is on thread #\d+'s stack")


def stacks(text):
    """Each stack of a report, as a list of frames."""
    stack = []
    for line in text.splitlines():
        found = FRAME.match(line)
        if found and " at 0x" in line and stack:
            yield stack
            stack = []
        if found:
            stack.append(found[1])
        elif stack:
            yield stack
            stack = []
    if stack:
        yield stack


def innermost(stack):
    return next((frame for frame in stack if not PASSED_OVER.search(frame)), "")


def accesses(report):
    """The parts of a report that say who did it: not where a lock, a thread or a block of memory comes from."""
    kept, keep = [], True
    for line in report.splitlines():
        said = re.sub(r"^==\d+==\s*", "", line)
        if not FRAME.match(line) and said:
            keep = not re.match(r"(Lock at|Address|Thread #|Block|.*was (first observed|alloc|created)|Allocation|Other segment)", said)
        if keep:
            kept.append(line)
    return "\n".join(kept)


def reports_of(text):
    for part in re.split(r"(?m)^==\d+== -{3,}.*$", text):
        if any(FRAME.match(line) for line in part.splitlines()) and not re.search(r"Thread #\d+ was created", part):
            yield part


def judged(folder):
    """(reports, those that are mpit's)"""
    reports, ours = 0, []
    for log in glob.glob(f"{folder}/*.log"):
        with open(log, errors="replace") as file:
            text = file.read()
        for report in reports_of(text):
            reports += 1
            places = [bool(OURS.search(innermost(stack))) for stack in stacks(accesses(report))]
            if any(places) and (all(places) or not ON_A_STACK.search(report)):
                ours.append(report)
    return reports, ours


def run(args, build, mpi):
    """(status, folder of logs); the run has to record something"""
    folder = tempfile.mkdtemp(prefix=f"{mpi}-", dir=args.keep)
    environment = dict(os.environ, MPIT_OUTPUT=folder, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_rmaps_base_oversubscribe="1")
    words = [f"mpirun.{mpi}", "-n", str(args.ranks), "env", f"LD_PRELOAD={build}/lib/libmpit.so", "valgrind", "-q",
             "--fair-sched=yes", "--tool=helgrind", "--num-callers=30", "--fullpath-after=", f"--log-file={folder}/%p.log",
             f"{build}/tests/threads-{mpi}", *args.case.split()]
    with open(f"{folder}/output", "wb") as output:
        try:
            status = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                    stderr=subprocess.STDOUT, timeout=args.timeout).returncode
        except subprocess.TimeoutExpired:
            status = 124
    return status, folder


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("build")
    words.add_argument("--mpi", action="append", choices=["openmpi", "mpich"])
    words.add_argument("--ranks", type=int, default=2)
    words.add_argument("--case", default="all 4")
    words.add_argument("--timeout", type=int, default=900, metavar="SECONDS")
    words.add_argument("--keep", metavar="DIR", help="where the logs go (default: a temporary folder)")
    words.add_argument("--unannounced", metavar="BUILD")
    args = words.parse_args()
    args.keep = args.keep or tempfile.mkdtemp(prefix="mpit-valgrind-")
    os.makedirs(args.keep, exist_ok=True)
    bad = 0
    for build, wanted in [(args.build, False)] + ([(args.unannounced, True)] if args.unannounced else []):
        build = os.path.abspath(build)
        for mpi in args.mpi or ["openmpi", "mpich"]:
            status, folder = run(args, build, mpi)
            reports, ours = judged(folder)
            recorded = glob.glob(f"{folder}/*.mpit")
            fine = status == 0 and recorded and bool(ours) == wanted
            print(f"{'ok' if fine else 'NOT OK'}: {mpi}, {'un' if wanted else ''}announced: status {status}, {reports} reports, "
                  f"{len(ours)} of mpit{'' if recorded else ', nothing was recorded'} ({folder})", flush=True)
            for report in [] if wanted else ours[:3]:
                print(report)
            bad += not fine
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
