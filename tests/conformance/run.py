#!/usr/bin/python3
"""Runs the conformance suite, with mpit and without, on each MPI that there is.

    run.py BUILD                        with mpit; fails if a test does, unless known.txt has it
    run.py BUILD --table FILE           with and without; writes the table of results as markdown, too
    run.py BUILD --agrees FILE          with mpit; fails if that table has other tests, or other reasons for failures
    run.py BUILD --only 'signal_*'      some of the tests; --native without mpit; --mpi openmpi|mpich

Each test is a process, or two, since a library may crash or hang in it. A result is pass, fail, skip (there is nothing
that the sentence speaks of), absent (the routines do not exist), crash or timeout.
"""
import argparse
import concurrent.futures
import fnmatch
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration", "common"))
import trial

HERE = os.path.dirname(os.path.abspath(__file__))
ORDER = ["crash", "timeout", "fail", "absent", "skip", "pass"]  # the worst of two processes counts
TITLES = {"openmpi": "Open MPI", "mpich": "MPICH"}
SETTINGS = {
    # without it Open MPI has no variable that can be started
    "OMPI_MCA_pml_monitoring_enable": "2",
}


class Column:
    """The suite on one MPI, with mpit or without."""

    def __init__(self, build, mpi, recorded):
        self.mpi, self.recorded = mpi, recorded
        self.program = os.path.join(build, "tests", f"conformance-{mpi}")
        self.library = os.path.join(build, "lib", "libmpit.so")
        self.title = TITLES[mpi] + (" + mpit" if recorded else "")
        self.launcher = shutil.which(f"mpirun.{mpi}") or shutil.which("mpirun")

    def line(self, test, output):
        words = [self.program, test["name"]]
        if self.recorded:
            # what mpit knows of a neighbour, it knows by the run's directory
            shared = [f"MPIT_OUTPUT={output}/run", "MPIT_REDUCE=0"] if test["processes"] > 1 else []
            words = ["env", "LD_PRELOAD=" + self.library] + shared + words
        if test["processes"] > 1:
            words = [self.launcher, "-n", str(test["processes"])] + words
        return words

    def run(self, test, limit):
        """(result, reason)"""
        with tempfile.TemporaryDirectory(prefix="mpit-conformance-") as output:
            return self.judge(test, limit, self.line(test, output))

    def judge(self, test, limit, line):
        process = subprocess.Popen(line, env=trial.environment(**SETTINGS), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                                   start_new_session=True, errors="replace")
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return "timeout", f"over {limit} s"
        verdicts = re.findall(rf"^{test['name']}: (pass|fail|skip)(?: (.*))?$", out, re.M)
        if process.returncode < 0 or len(verdicts) < test["processes"]:
            number = -process.returncode if process.returncode < 0 else process.returncode - 128
            try:
                return "crash", signal.Signals(number).name
            except ValueError:
                found = re.search(r"\b(signal \d+|Segmentation fault|Aborted|KILLED BY SIGNAL: \d+)", out + err)
                return "crash", found[0] if found else f"ended with status {process.returncode}"
        worst = min(((kind if not reason.startswith("absent") else "absent", reason) for kind, reason in verdicts),
                    key=lambda v: ORDER.index(v[0]))
        return worst


def of_the_library(build, column, test, found, limit):
    """What fails with mpit and in the same words without it is the library's, and a skip."""
    if not column.recorded or found[0] != "fail" or Column(build, column.mpi, False).run(test, limit) != found:
        return found
    return "skip", "so it is without mpit, too: " + found[1]


def tests_of(program):
    fields = (line.split("\t") for line in subprocess.run([program, "--list"], check=True, capture_output=True,
                                                          text=True).stdout.splitlines())
    return [dict(name=f[0], processes=int(f[1]), section=f[2], sentence=f[3]) for f in fields]


def known_read(path):
    """[pattern of names, MPI or *, reason], one in a line"""
    lines = open(path).read().splitlines() if os.path.exists(path) else []
    return [line.split(None, 2) for line in lines if line.strip() and not line.startswith("#")]


def known_reason(known, name, mpi):
    return next((why for pattern, which, why in known if which in ("*", mpi) and fnmatch.fnmatch(name, pattern)), None)


def table_write(path, tests, columns, results, limit):
    section_key = lambda s: [int(n) for n in s.split(".")]
    with open(path, "w") as file:
        file.write("""# Conformance of the MPI_T interface

What `tests/conformance` finds, natively and with mpit. Each line is a test of one sentence of the chapter on the MPI tool
information interface (MPI 4.1, section 15.3), in short and in words of ours; the sections are grouped, names of tests are
those of `build/tests/conformance-openmpi NAME` and `-mpich`. Made by

    python3 tests/conformance/run.py build --table share/doc/conformance.md

**pass**, **fail**; **crash** and **timeout** (60 s) are what they say; *skip*: there is nothing that the sentence speaks of,
say no performance variable; *absent*: the routines do not exist there. Open MPI runs with `pml_monitoring_enable=2`, without
which it has no variable that can be started, and its `mtl_psm*` variables are left to one test
(`alloc_survives_every_pvar`), since they crash it. Where a test goes over variables, it goes over the library's own and
over mpit's. Reasons for failures with mpit stand below the table.

""".replace("(60 s)", f"({limit} s)"))
        file.write("| | " + " | ".join(c.title for c in columns) + " |\n|---|" + "---|" * len(columns) + "\n")
        for kind in reversed(ORDER):
            counts = [sum(1 for t in tests if results[c.title][t["name"]][0] == kind) for c in columns]
            file.write(f"| {kind} | " + " | ".join(map(str, counts)) + " |\n")
        for section in sorted({t["section"] for t in tests}, key=section_key):
            file.write(f"\n## {section}\n\n| test | sentence | " + " | ".join(c.title for c in columns) + " |\n|---|---|"
                       + "---|" * len(columns) + "\n")
            for test in (t for t in tests if t["section"] == section):
                cells = [results[c.title][test["name"]][0] for c in columns]
                cells = [f"**{c}**" if c in ("fail", "crash", "timeout") else c for c in cells]
                file.write(f"| {test['name']} | {test['sentence']} | " + " | ".join(cells) + " |\n")
        notes = notes_of(tests, columns, results)
        if notes:
            file.write("\n## What does not pass with mpit\n\n" + "".join(line + "\n" for line in notes))


def notes_of(tests, columns, results):
    """What the table says below itself: a line for each test that does not pass with mpit."""
    found = [(t["name"], c.title) + results[c.title][t["name"]] for t in tests for c in columns
             if c.recorded and results[c.title][t["name"]][0] in ("fail", "crash", "timeout")]
    return [f"- {name}, {title}: {kind}: {reason}" for name, title, kind, reason in found]


def table_differences(path, tests, columns, results):
    """What the table in the file does not say as this run does."""
    lines = open(path).read().splitlines()
    listed = {line.split("|")[1].strip() for line in lines if re.match(r"\| \w+ \| .*\| .*\|", line)} - {"test"}
    kinds, names = set(ORDER), {t["name"] for t in tests}
    titles = tuple(f", {c.title}: " for c in columns if c.recorded)
    notes = {line for line in lines if line.startswith("- ") and any(title in line for title in titles)}
    now = set(notes_of(tests, columns, results))
    return ([f"it lacks {name}" for name in sorted(names - listed)]
            + [f"there is no {name}" for name in sorted(listed - names - kinds)]
            + [f"it lacks the line {line}" for line in sorted(now - notes)]
            + [f"it has the line {line}" for line in sorted(notes - now)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--table")
    parser.add_argument("--agrees")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--native", action="store_true")
    parser.add_argument("--mpi", action="append", choices=["openmpi", "mpich"], default=[])
    parser.add_argument("--limit", type=int, default=60, help="seconds a test may take")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--known", default=os.path.join(HERE, "known.txt"))
    parser.add_argument("--verbose", action="store_true", help="every result, not only those that are not pass")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    mpis = [m for m in options.mpi or ["openmpi", "mpich"]
            if os.path.exists(os.path.join(build, "tests", f"conformance-{m}"))]
    if not mpis:
        sys.exit(f"run.py: {build}/tests has no conformance-openmpi and no conformance-mpich: build first")
    ways = [False, True] if options.table else [not options.native]
    columns = [Column(build, mpi, way) for way in ways for mpi in mpis]
    tests = [t for t in tests_of(columns[0].program)
             if not options.only or any(fnmatch.fnmatch(t["name"], pattern) for pattern in options.only)]
    if not tests:
        sys.exit("run.py: no test has such a name: " + " ".join(options.only))
    natively = dict(name="errors_are_not_fatal", processes=1)
    if "openmpi" in mpis and Column(build, "openmpi", False).run(natively, options.limit)[0] == "crash":
        print("Open MPI runs without monitoring: it crashes with it, without mpit, too")  # 6.0.0rc2, in MPI_Init
        SETTINGS.clear()
    known, results, unexpected, mended = known_read(options.known), {}, 0, []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for column in columns:
            outcome = list(pool.map(lambda t: column.run(t, options.limit), tests))
            outcome = [of_the_library(build, column, t, found, options.limit) for t, found in zip(tests, outcome)]
            results[column.title] = dict(zip((t["name"] for t in tests), outcome))
            for test, (kind, reason) in zip(tests, outcome):
                bad = kind in ("fail", "crash", "timeout", "absent")
                why = known_reason(known, test["name"], column.mpi)
                if bad and column.recorded and not why:
                    unexpected += 1
                if why and kind == "pass" and column.recorded:
                    mended.append(f"{test['name']} on {column.title}")
                if options.verbose or bad:
                    note = f" [known: {why}]" if bad and why and column.recorded else ""
                    print(f"{column.title}: {test['name']}: {kind} {reason}{note}", flush=True)
            kinds = [kind for kind, _ in outcome]
            print(f"{column.title}: " + ", ".join(f"{kinds.count(k)} {k}" for k in reversed(ORDER) if k in kinds),
                  flush=True)
    for line in mended:
        print(f"passes now, take it out of {os.path.basename(options.known)}: {line}")
    if options.table:
        table_write(options.table, tests, columns, results, options.limit)
    if options.agrees and not options.only:
        differences = table_differences(options.agrees, tests, columns, results)
        for difference in differences:
            print(f"{options.agrees} is not of this suite: {difference}")
        unexpected += len(differences)
    print(f"{unexpected} not as they should be" if unexpected else "all as they should be")
    sys.exit(1 if unexpected else 0)


main()
