#!/usr/bin/env python3
"""The call path of each call of a Python program against the program's own stack (pythonwalk.py).

    pythonpaths.py BUILD MPI [--calls N] [--python PATH]
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(SOURCE, "..", "common"))
import trial

DEPTH, FILE_MOST, KNOWN = 64, 300, [(3, 11), (3, 12), (3, 13)]


def version_of(python):
    ended = trial.run([python, "-c", "import sys; print(*sys.version_info[:2])"], 60)
    return tuple(int(word) for word in ended.out.split()) if ended.status == 0 else None


def has_mpi4py(python, mpi):
    """mpi4py is made for one MPI."""
    code = "from mpi4py import MPI, rc; print(MPI.Get_library_version()[:8])"
    ended = trial.run([python, "-c", "import mpi4py; mpi4py.rc.initialize = False; " + code], 60, trial.environment())
    return ended.status == 0 and {"openmpi": "Open MPI", "mpich": "MPICH Ve"}[mpi] in ended.out


def of_python(path):
    """-> [(function, file, line)] of the frames in Python"""
    return [(frame["function"], frame["file"], frame["line"] or 0) for frame in path["frames"] if frame["file"] == frame["module"] is not None]


def differs(path, stack):
    """What is wrong with the path of a call, or ""."""
    found, wanted = of_python(path), [tuple(frame) for frame in stack]
    whole = len(found) == len(wanted) and not path["flags"]
    cut = path["flags"] == ["cut"] and len(path["frames"]) == DEPTH and len(found) < len(wanted)
    same = all(a[0] == b[0] and a[2] == b[2] and (a[1] == b[1] or (len(b[1]) > FILE_MOST and b[1].endswith(a[1]) and a[1].endswith("end.py")))
               for a, b in zip(found, wanted))
    return "" if same and (whole or cut) else f"path {path['number']} {path['flags']} {len(path['frames'])} frames\n{found}\nnot\n{wanted}"


def judge_order(judge, name, paths):
    """The comparison is called by qsort, which Python calls."""
    orders = set()
    for path in paths:
        words = [frame["function"] or "" for frame in path["frames"]]
        if "compare" in words and "through_c" in words and words.index("compare") < words.index("through_c"):
            between = path["frames"][words.index("compare") + 1:words.index("through_c")]
            orders.add(any("libc.so" in (frame["module"] or "") for frame in between))
    judge.holds(orders == {True}, f"{name}: frames of C are between those of Python", orders)
    foreign = [frame for path in paths for frame in path["frames"] if "python3." in os.path.basename(frame["module"] or "")]
    outside = [frame for frame in foreign if frame["file"] is None]
    judge.holds(len(outside) < 12, f"{name}: no frames of the interpreter, but where it ends", outside[:4])


def judge_run(judge, work, build, mpi, python, binding, calls):
    name = f"{mpi} Python {'.'.join(map(str, version_of(python)))} {binding}"
    place = f"{work}/{binding}-{os.path.basename(python)}"
    os.makedirs(place, exist_ok=True)
    words = [f"{build}/bin/mpit-run", "--quiet", "--trace", "--output", f"{place}/run", *trial.launcher(mpi, 1), python,
             f"{SOURCE}/pythonwalk.py", str(calls), f"{place}/stacks", mpi, binding]
    ended = trial.run(words, 600, trial.environment())
    if not judge.holds(ended.status == 0, f"{name}: runs", ended):
        return
    with open(f"{place}/stacks", encoding="utf-8") as file:
        noted = json.load(file)
    listed = trial.run([f"{build}/bin/mpit-dump", "--callpaths", "--json", f"{place}/run"], 600)
    paths = {str(path["number"]): path for path in json.loads(listed.out)["jobs"][0]["processes"][0]["paths"]}
    dump = subprocess.Popen([f"{build}/bin/mpit-dump", "--csv", f"{place}/run"], stdout=subprocess.PIPE, text=True)
    known, problems, seen = {}, [], set()
    for row in csv.DictReader(dump.stdout):
        if row["what"] != "call" or row["function"] != "MPI_Iprobe":
            continue
        tag = int(row["tag"])
        seen.add(tag)
        key = row["path"], noted["calls"][tag]
        if key not in known:
            known[key] = differs(paths[row["path"]], noted["stacks"][key[1]]) if row["path"] else "no path"
        if known[key]:
            problems.append(f"call {tag}: {known[key]}")
    judge.holds(dump.wait() == 0 and not problems and len(seen) == len(noted["calls"]) >= calls,
                f"{name}: {len(seen)} calls of {len(noted['stacks'])} stacks have their paths ({len(paths)})",
                f"{len(problems)} wrong, {len(noted['calls'])} noted\n" + "\n".join(problems[:4]))
    judge_order(judge, name, list(paths.values()))
    verified = trial.run([f"{build}/bin/mpit-dump", "--verify", f"{place}/run"], 600)
    judge.holds(verified.status == 0, f"{name}: the replayed trace equals the counters", verified)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("mpi")
    parser.add_argument("--calls", type=int, default=4000)
    parser.add_argument("--python", default="/usr/bin/python3")
    given = parser.parse_args()
    judge, build = trial.Judge(), os.path.abspath(given.build)
    if version_of(given.python) not in KNOWN:
        judge.skip(given.python, "it is no Python whose frames mpit can read")
        return judge.verdict()
    with tempfile.TemporaryDirectory(prefix="mpit-pythonpaths.") as work:
        for binding in ["ctypes"] + ["mpi4py"] * has_mpi4py(given.python, given.mpi):
            judge_run(judge, work, build, given.mpi, given.python, binding, given.calls)
    return judge.verdict()


sys.exit(main())
