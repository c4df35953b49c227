#!/usr/bin/env python3
"""The call path of each call against the program's own backtrace (pathwalk.c).

    callpaths.py BUILD MPI [--calls N]

Builds the program in several ways: position independent or not, with link-time optimization or not. In each, the steps
are compiled with different options. A path has to have the same frames as the backtrace, up to main or the function of the
thread, or up to the depth. Only the innermost frame may be at another place of the same function. --calls: that many calls of
each program, which are then built in all ways.
"""
import argparse
import bisect
import collections
import csv
import functools
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(SOURCE, "..", "common"))
import trial

TAIL, ELSEWHERE, FORTRAN = 1, 2, 4
BINDINGS = ("libmpi_mpifh.", "libmpi_usempi", "libmpichfort.", "libmpifort.")
MODULE_SHIFT = 48
OFFSETS = (1 << MODULE_SHIFT) - 1
ENDS = {"main", "thread_run"}
PLUGINS = 3

FRAME, NO_FRAME = "-fno-omit-frame-pointer", "-fomit-frame-pointer"
MIXED = {"c": [["-O0"], ["-O2"], ["-O3", FRAME], ["-O2", FRAME], ["-O0", NO_FRAME], ["-Os"]],
         "cc": [["-O0"], ["-O2"], ["-O3", FRAME], ["-O3"]],
         "F90": [["-O0"], ["-O2"], ["-O3", FRAME]]}
WHOLE = {"c": [["-O2"], ["-O3", FRAME]], "cc": [["-O2"], ["-O3", FRAME]], "F90": [["-O2"]]}
GAP = "-Wl,-Tdata=0x20000000"  # between two segments
# name, position, link-time optimization, options of the steps, also in the short form
PROGRAMS = [("pie", ["-fPIE"], ["-pie"], [], MIXED, True), ("fixed-lto", ["-fno-pie"], ["-no-pie", GAP], ["-flto"], WHOLE, True),
            ("fixed", ["-fno-pie"], ["-no-pie"], [], MIXED, False), ("pie-lto", ["-fPIE"], ["-pie"], ["-flto"], WHOLE, False)]

failed = 0


def check(name, problem):
    """A line of the result. PROBLEM: "" if there is none."""
    global failed
    print(("not ok " if problem else "ok ") + name)
    if problem:
        failed += 1
        print("    " + str(problem).replace("\n", "\n    "))


def command(*words, **more):
    ended = subprocess.run(words, capture_output=True, text=True, **more)
    if ended.returncode != 0:
        sys.exit(f"callpaths.py: {' '.join(words)}: status {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def compilers(mpi):
    return {"c": f"mpicc.{mpi}", "cc": f"mpicxx.{mpi}", "F90": f"mpifort.{mpi}"}


def built(work, mpi, name, position, linking, lto, kinds):
    """-> the program"""
    place = f"{work}/{mpi}-{name}"
    os.makedirs(place)
    tool = compilers(mpi)
    more = ["-w", "-g1", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", *position, *(lto or ["-fno-lto"])]
    objects = [f"{place}/pathwalk.o"]
    command(tool["c"], "-O2", *more, "-c", f"{SOURCE}/pathwalk.c", "-o", objects[0])
    for language, ways in kinds.items():
        for i, options in enumerate(ways):
            out = f"{place}/steps{i}.{language}.o"
            own = [f"-DMODULE_NAME=steps{i}", f"-DPROCEDURE_NAME='fortran_step_{i}'", f"-J{place}"] if language == "F90" else []
            command(tool[language], *options, *more, *own, "-c", f"{SOURCE}/pathsteps.{language}", "-o", out)
            objects.append(out)
    procedures = range(len(kinds["F90"]))
    with open(f"{place}/fortran.c", "w", encoding="ascii") as file:
        file.write('#include "pathwalk.h"\n')
        file.writelines(f"extern unsigned long fortran_step_{i}(struct walk *walk, unsigned level);\n" for i in procedures)
        # several times, since there are fewer procedures than steps in C
        names = ", ".join(f"fortran_step_{i}" for i in procedures for _ in range(4))
        file.write("__attribute__((constructor)) static void steps_register(void)\n{\n"
                   f"    static const walk_step steps[] = {{{names}}};\n"
                   "    walk_register(steps, sizeof steps / sizeof steps[0]);\n}\n")
    command(tool["c"], "-O2", *more, f"-I{SOURCE}", "-c", f"{place}/fortran.c", "-o", f"{place}/fortran.o")
    program = f"{place}/pathwalk"
    command(tool["F90"], "-O2", *lto, *linking, "-rdynamic", *objects, f"{place}/fortran.o", "-lstdc++", "-ldl", "-lpthread", "-o",
            program)
    return program


def plugins_built(work, mpi):
    paths = [f"{work}/{mpi}-plugin{i}.so" for i in range(PLUGINS)]
    for i, path in enumerate(paths):
        command(f"mpicc.{mpi}", "-O2", "-w", "-shared", "-fPIC", f"-DPLUGIN_FRAME={256 * i}",
                f"{SOURCE}/pathplugin.c", "-o", path)
    return paths


class Symbols:
    """The functions of a file, by address."""

    def __init__(self, path):
        text = ""
        for words in (["nm", "-n", path], ["nm", "-nD", path]):
            text += subprocess.run(words, capture_output=True, text=True, check=False).stdout
        found = set()
        for line in text.splitlines():
            words = line.split()
            if len(words) == 3 and words[1] in "tTwWi":
                found.add((int(words[0], 16), re.sub(r"\.(cold|part|constprop|isra|lto_priv)(\.\d+)*", "", words[2]).split("@")[0]))
        self.list = sorted(found)

    def name(self, offset):
        place = bisect.bisect_right(self.list, (offset, "\x7f")) - 1
        return self.list[place][1] if place >= 0 else None


@functools.lru_cache(maxsize=None)
def symbols(path):
    return Symbols(path)


def notes_read(place, program):
    """-> {tag: (flags, [(path, offset), ...])}"""
    with open(f"{place}/modules", encoding="utf-8") as file:
        modules = [os.path.realpath(line.strip() or program) for line in file]
    notes = {}
    for name in os.listdir(place):
        if not name.startswith("notes."):
            continue
        with open(f"{place}/{name}", "rb") as file:
            words = memoryview(file.read()).cast("Q")
        at = 0
        while at < len(words):
            head = words[at]
            count = head >> 16 & 0xffff
            notes[head >> 32] = (head & 0xffff, bytes(words[at + 1:at + 1 + count]))
            at += 1 + count
    return notes, modules


def frames_of(raw, modules):
    frames = struct.unpack(f"{len(raw) // 8}Q", raw)
    return [(modules[(frame >> MODULE_SHIFT) - 1] if frame >> MODULE_SHIFT else None, frame & OFFSETS) for frame in frames]


def name_of(frame):
    return symbols(frame[0]).name(frame[1] - 1) if frame[0] else None


def wanted(frames, flags, depth):
    """-> (frames, flags) of the path."""
    if flags & ELSEWHERE:
        return frames[:1], ["elsewhere"]
    ends = [i for i, frame in enumerate(frames) if name_of(frame) in ENDS]
    whole = frames[:ends[-1] + 1] if ends else frames
    if len(whole) > depth:
        return whole[:depth], ["cut"]
    return whole, [] if ends else ["unknown"]


def differs(path, note, depth, seen):
    """What is wrong with the path of a call, or ""."""
    frames, flags = note
    found = [(os.path.realpath(frame["module"]) if frame["module"] else None, frame["offset"]) for frame in path["frames"]]
    if flags & TAIL and frames[1:]:
        expected, mark = wanted(frames[1:], flags, depth)
        if found == expected and (path["flags"] == mark or depth == 1):
            seen["tail"] += 1
            return ""
    expected, mark = wanted(frames, flags, depth)
    if flags & FORTRAN and flags & ELSEWHERE and len(found) == 1 and (path["flags"] == mark or depth == 1):
        # the path is the return address alone, which may be in MPI's binding to Fortran
        if os.path.basename(found[0][0]).startswith(BINDINGS):
            seen["binding"] += 1
            return ""
    same = found[1:] == expected[1:] and found[:1] and found[0][0] == expected[0][0]
    if same and found[0][0] and name_of(found[0]) == name_of(expected[0]) and (path["flags"] == mark or depth == 1):
        for word in mark or ["whole"]:
            seen[word] += 1
        return ""
    shown = "\n".join(f"  {name_of(frame)} {frame[0]}+{frame[1]:#x}" for frame in found)
    other = "\n".join(f"  {name_of(frame)} {frame[0]}+{frame[1]:#x}" for frame in expected)
    return f"path {path['number']} {path['flags']}\n{shown}\nnot {mark}\n{other}"


def compared(build, run, place, program, depth):
    """-> (calls that were compared, problems, what was seen)"""
    notes, modules = notes_read(place, program)
    paths = json.loads(command(f"{build}/bin/mpit-dump", "--callpaths", "--json", run))["jobs"][0]["processes"][0]["paths"]
    by_number = {str(path["number"]): path for path in paths}
    known, problems, seen, count = {}, [], collections.Counter(), 0
    dump = subprocess.Popen([f"{build}/bin/mpit-dump", "--csv", run], stdout=subprocess.PIPE, text=True)
    for row in csv.DictReader(dump.stdout):
        if row["what"] != "call" or row["function"] not in ("MPI_Iprobe", "mpi_iprobe_"):
            continue
        count += 1
        flags, raw = notes.pop(int(row["tag"]))
        if depth == 0:
            problem = "a path" if row["path"] else ""
        elif (row["path"], flags, raw) in known:
            problem = known[row["path"], flags, raw]
        else:
            problem = differs(by_number[row["path"]], (frames_of(raw, modules), flags), depth, seen) if row["path"] else "no path"
            known[row["path"], flags, raw] = problem
        if problem:
            problems.append(f"call {row['tag']}: {problem}")
    if dump.wait() != 0:
        problems.append("mpit-dump --csv failed")
    problems += [f"call {tag} is not in the trace" for tag in list(notes)[:3]]
    return count, problems, seen | collections.Counter(paths=len(paths))


def walked(build, mpi, work, program, plugins, calls, depth):
    name = f"{mpi} {os.path.basename(os.path.dirname(program))[len(mpi) + 1:]}, depth {depth}"
    with tempfile.TemporaryDirectory(dir=work) as place:
        words = [f"{build}/bin/mpit-run", "--quiet", "--trace", "--output", f"{place}/run", *trial.launcher(mpi, 1), program,
                 str(calls), place, *plugins]
        ended = trial.run(words, 600, trial.environment(MPIT_CALL_DEPTH=str(depth)))
        if ended.status != 0:
            check(f"{name}: runs", ended)
            return
        again = re.search(r"(\d+) calls, (\d+) libraries at the address of another one, (\d+) in signals", ended.out)
        count, problems, seen = compared(build, f"{place}/run", place, program, depth)
        check(f"{name}: {count} calls have their paths ({dict(seen)}, {ended.out.strip()})",
              f"{len(problems)} wrong\n" + "\n".join(problems[:6]) if problems or count != int(again[1]) else "")
        check(f"{name}: libraries were at the same addresses, signals came", "" if int(again[2]) and int(again[3]) else ended.out)
        if depth == 16:
            missing = [word for word in ("tail", "whole", "cut", "unknown", "elsewhere") if not seen[word]]
            check(f"{name}: all kinds of ends of a path were there", missing)
        verified = trial.run([f"{build}/bin/mpit-dump", "--verify", f"{place}/run"], 600, trial.environment())
        check(f"{name}: the replayed trace equals the counters", "" if verified.status == 0 else verified)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("mpi")
    parser.add_argument("--calls", type=int)
    given = parser.parse_args()
    build, mpi = os.path.abspath(given.build), given.mpi
    if not all(shutil.which(name) for name in compilers(mpi).values()):
        print(f"skipped: a compiler of {mpi} is not here")
        return trial.SKIPPED
    with tempfile.TemporaryDirectory(prefix="mpit-callpaths.") as work:
        plugins = plugins_built(work, mpi)
        for name, position, linking, lto, kinds, short in PROGRAMS:
            if not short and not given.calls:
                continue
            program = built(work, mpi, name, position, linking, lto, kinds)
            walked(build, mpi, work, program, plugins, given.calls or 12000, 16)
            if name == "pie":
                for depth in (0, 1, 7, 64):
                    walked(build, mpi, work, program, plugins, 6000, depth)
    return 1 if failed else 0


sys.exit(main())
