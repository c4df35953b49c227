#!/usr/bin/env python3
"""Names of functions are stored with a run, and samples tell what others waited for.

    names.py BUILD MPI

- Each output of a run with samples and a trace is the same, byte for byte, after the program was built anew, was removed,
  and after the run was moved. Without the stored names it is not.
- Damaged names are reported and left out.
- --analyze names the function and line that was sampled most while others waited (hotspots.c).
- Time in mpit is a part of the MPI call, unless --internal.
"""
import glob
import io
import json
import os
import shutil
import struct
import sys
import tempfile

SOURCE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(SOURCE, "..", "common"))
import pprof
import trial

BUILD, MPI = os.path.abspath(sys.argv[1]), sys.argv[2]
judge = trial.Judge()
TEXTS = [["--profile"], ["--profile", "--json"], ["--profile", "--internal"], ["--analyze"], ["--analyze", "--json"],
         ["--callpaths"], ["--callpaths", "--json"], ["--json"], ["--csv"], ["--full"], ["--perfetto", "-"]]
FILES = [["--pprof", "file"], ["--pprof", "file", "--internal"]]


def dump(work, *words):
    return trial.run([f"{BUILD}/bin/mpit-dump", *words], 120, trial.environment(), work)


def recorded(work, run, program, *words):
    # without a yield a rank that waits polls all the time, and samples see mpit
    ended = trial.run([f"{BUILD}/bin/mpit-run", "--quiet", "--output", run, *words, *trial.launcher(MPI, 3), program], 120,
                      trial.environment(OMPI_MCA_mpi_yield_when_idle="0"), work)
    judge.holds(ended.status == 0 and not ended.err, f"{run} is recorded", ended)


def outputs(work):
    """All outputs, by their options. -> texts and bytes, with the errors"""
    found = {}
    for words in TEXTS:
        ended = dump(work, *words, "run")
        found[" ".join(words)] = (ended.status, ended.out, ended.err)
    for words in FILES:
        ended = dump(work, *words, "run")
        with open(f"{work}/file", "rb") as file:
            found[" ".join(words)] = (ended.status, file.read(), ended.err)
        os.unlink(f"{work}/file")
    return found


def stacks(made):
    """The stacks of one of FILES as text."""
    return "\n".join(pprof.Profile(io.BytesIO(made[1])).lines())


def differences(one, other):
    return [f"{name}:\n{str(one[name])[-700:]}\n--- and then ---\n{str(other[name])[-700:]}" for name in one if one[name] != other[name]]


def lines_of(name):
    """The number of the line in hotspots.c that has the text."""
    with open(f"{SOURCE}/hotspots.c", encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if name in line)


def stay(work):
    """The outputs before and after."""
    shutil.copy(f"{BUILD}/tests/hotspots-{MPI}", f"{work}/app")
    recorded(work, "run", "./app", "--trace", "--sample", "500")
    before = outputs(work)
    judge.check("all outputs are made", [f"{name}: {one}" for name, one in before.items() if isinstance(one, tuple) and (one[0] or one[2])])
    judge.holds("chemistry" in stacks(before["--pprof file"]) and "hotspots.c" in before["--profile"][1], "functions have their names", before["--profile"])
    shutil.copy(f"{BUILD}/tests/phases-{MPI}", f"{work}/app")
    judge.check("the same with another program in its place", differences(before, outputs(work)))
    os.unlink(f"{work}/app")
    judge.check("the same without the program", differences(before, outputs(work)))
    os.makedirs(f"{work}/elsewhere")
    os.rename(f"{work}/run", f"{work}/elsewhere/run")
    judge.check("the same in another directory", differences(before, outputs(f"{work}/elsewhere")))
    os.rename(f"{work}/elsewhere/run", f"{work}/run")
    judge.holds(len(os.listdir(f"{work}/run")) == 1, "the run is one file, with the names", os.listdir(f"{work}/run"))
    split(work, "run", "apart")
    shutil.rmtree(f"{work}/run")
    os.rename(f"{work}/apart", f"{work}/run")
    judge.check("the same of a file for each rank", differences(before, outputs(work)))
    (file, *_) = [path for path in glob.glob(f"{work}/run/*.mpit") if sections(path, NAMES)]
    judge.holds("hotspots.c" in dump(work, "--profile", file).out, "the file with the names has them, alone, too")
    split(work, "run", "nameless", "--nameless")
    without = dump(work, "--profile", "nameless")
    judge.holds(without.status == 0 and "app cannot be read" in without.out and "chemistry" not in without.out, "without stored names there are none", without)
    return before, file


NAMES = 4


def sections(path, kind):
    """Where the sections of this kind are in a job file (jobfile.h). -> [(begin, bytes)]"""
    found, at = [], 64
    with open(path, "rb") as file:
        data = file.read()
    while data[at:at + 8] == b"mpit-sec":
        is_kind, _, size = struct.unpack("=IIQ", data[at + 8:at + 24])
        found += [(at, size)] if is_kind == kind else []
        at += size
    return found


def split(work, run, out, *words):
    ended = trial.run([f"{BUILD}/tests/jobsplit", *words, run, out], 120, trial.environment(), work)
    judge.holds(ended.status == 0, f"each rank of {run} gets a file of its own", ended)


def damaged(work, path):
    """Names that cannot be read are reported, and the rest is shown."""
    with open(path, "rb") as file:
        whole = file.read()
    ((begin, size),) = sections(path, NAMES)
    middle = begin + size // 2
    with open(path, "wb") as file:
        file.write(whole[:middle] + b"\x00\x01" + whole[middle + 2:])
    ended = dump(work, "--profile", "run")
    judge.holds(ended.status == 0 and "note: " in ended.err and "in the programs on this machine" in ended.err and
                "app cannot be read" in ended.out, "damaged names are reported", ended)
    recorded(work, "plain", f"{BUILD}/tests/hotspots-{MPI}")
    judge.holds(not any(sections(one, NAMES) for one in glob.glob(f"{work}/plain/*.mpit")), "a run without a trace needs none", os.listdir(f"{work}/plain"))


def sampled_check(title, sampled, function, mark):
    right = sampled and sampled["function"] == function and sampled["file"].endswith("/hotspots.c") and \
        sampled["line"] == lines_of(mark) and sampled["share"] > 0.5 and sampled["samples"] >= 5
    judge.holds(right, title, sampled)


def joined(before):
    (job,) = json.loads(before["--analyze --json"][1])["jobs"]
    for pattern, rank, function, mark in (("wait_at_nxn", 2, "chemistry", "the hot line of rank 2"), ("late_sender", 1, "write_log", "the hot line of rank 1"),
                                          ("wait_at_barrier", 0, "own_work", "the hot line of rank 0")):
        causes = [cause for cause in job["causes"] if cause["pattern"] == pattern and cause["rank"] == rank]
        sampled_check(f"the cause of {pattern} was sampled in {function}", causes and causes[0]["sampled"], function, mark)
        sites = [site for site in job["wait_sites"] if site["pattern"] == pattern and site["cause_rank"] == rank]
        judge.holds(bool(sites), f"{pattern} has a place", job["wait_sites"])
        for site in sites:
            sampled_check(f"{pattern} of rank {site['rank']} as well", site["sampled"], function, mark)
        judge.holds(f"sampled most: {function} (hotspots.c:{lines_of(mark)})" in before["--analyze"][1], f"the text has {function}", before["--analyze"][1])


def folds(before):
    judge.holds("[mpit]" not in stacks(before["--pprof file"]) and "[mpit]" not in before["--profile"][1], "time in mpit is a part of the call")
    judge.holds(";[mpit]" in stacks(before["--pprof file --internal"]) and "[mpit]" in before["--profile --internal"][1], "--internal shows it")


def main():
    with tempfile.TemporaryDirectory(prefix="mpit-names.", ignore_cleanup_errors=True) as work:
        before, path = stay(work)
        folds(before)
        joined(before)
        damaged(work, path)
    sys.exit(judge.verdict())


main()
