#!/usr/bin/env python3
"""Is every function that has a wrapper called, and counted, by some test program?

    kinds.py BUILD MPI CALLS_TABLE

Runs the programs of PROGRAMS with mpit-run and adds up what the summaries count; what has a wrapper for this MPI and is
never counted fails; but for local functions, which are counted only while mpit_record_local_calls is on. A new function
is called by one of these programs, or by a new one that gets a line here. The programs hold the counts against their
own; here it is only asked whether there is one. Exit status 1 if any is missing.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

# program, processes, arguments, options of mpit-run; {work} is a folder of this run. With a trace the summary is made
# when all is over, so that it has MPI_Finalize.
PROGRAMS = [
    ("heat", 2, [], ["--trace"]),
    ("traffic", 2, ["1", "60"], []),
    ("objects", 2, ["{work}/file"], []),
    ("collectives", 2, [], []),
    ("requests", 2, [], []),
    ("creators", 4, ["here", "{work}/here"], []),
    ("listener", 2, [], []),
    ("newer", 2, [], []),
]
ONLY = {"openmpi": [("creators", 2, ["spawn", "{work}/spawn"], [])],
        "mpich": [("creators", 4, ["sessions", "{work}/sessions"], [])],
        "abi": [("creators", 4, ["sessions", "{work}/sessions"], [])]}
# Ends the program: crashjobs.py looks for what it leaves behind.
NOT_HERE = {"MPI_Abort"}
# MPICH over UCX fails in them: it can neither spawn nor connect.
NOT_THERE = {"mpich": {"MPI_Comm_spawn", "MPI_Comm_spawn_multiple"}, "abi": {"MPI_Comm_spawn", "MPI_Comm_spawn_multiple"}}
# In these the program hangs, without mpit, too: Open MPI 6.0.0rc2, MPICH 5.0.2.
HANGS = {"openmpi": (6, "spawn", {"MPI_Comm_spawn", "MPI_Comm_spawn_multiple", "MPI_Comm_create_from_group",
                                  "MPI_Intercomm_create_from_groups"}),
         "mpich": (5, "here", {"MPI_Close_port", "MPI_Comm_accept", "MPI_Comm_connect", "MPI_Comm_create_group",
                               "MPI_Comm_idup_with_info", "MPI_Comm_join", "MPI_Intercomm_create", "MPI_Intercomm_merge",
                               "MPI_Lookup_name", "MPI_Open_port", "MPI_Publish_name", "MPI_Unpublish_name"})}
LIMIT_SECONDS = 240


def wrapped(folder):
    """names of the table's functions that this mpi.h declares: NAME_c and the extension MPIX_NAME count as NAME"""
    names = re.findall(r"^GATE\((MPIX?_\w+)\);", open(f"{folder}/wrappers.c").read(), re.M)
    undeclared = re.findall(r"^int (\w+)\(", open(f"{folder}/next_calls.h").read(), re.M)
    return {re.sub(r"_c$", "", name.replace("MPIX_", "MPI_")) for name in set(names) - set(undeclared)}


def recorded(path):
    """names that are counted without being asked for"""
    lines = [line.split("#")[0].split() for line in open(path)]
    return {words[0] for words in lines if words and (words[1] != "other" or words[2] == "call")}


def run(build, mpi, work, program, ranks, arguments, options):
    """name -> count, of the whole job"""
    output = tempfile.mkdtemp(prefix=f"run-{program}-", dir=work)
    for argument in arguments:
        if argument.startswith("{work}/") and not argument.endswith("/file"):
            os.mkdir(argument.format(work=work))
    line = [f"{build}/bin/mpit-run", "--quiet", *options, "--output", output, "mpirun" if mpi == "abi" else f"mpirun.{mpi}", "-n", str(ranks),
            f"{build}/tests/{program}-{mpi}", *(a.format(work=work) for a in arguments)]
    with subprocess.Popen(line, env=trial.environment(**trial.OSC), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, start_new_session=True) as job:
        try:
            said, _ = job.communicate(timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            said = job.communicate()[0] + f"\nnot through after {LIMIT_SECONDS} s"
    if job.returncode != 0:
        sys.exit(f"not ok {program}-{mpi} with {ranks} processes (status {job.returncode})\n{said[-2000:]}")
    out = subprocess.run([f"{build}/bin/mpit-dump", "--json", output], capture_output=True, text=True)
    if out.returncode != 0:
        sys.exit(f"not ok mpit-dump {program}-{mpi}\n{out.stderr}")
    found = {}
    for one in json.loads(out.stdout)["jobs"]:
        for name, call in one["calls"].items():
            found[name] = found.get(name, 0) + call["count"]
    return found


def first_number(mpi):
    """5 of 5.0.2: the version of the launcher's MPI"""
    said = subprocess.run([f"mpirun.{mpi}", "--version"], capture_output=True, text=True).stdout
    return int(re.search(r"(?:(?:Open MPI|OpenRTE)\) |Version: +)(\d+)\.", said)[1])


def hanging(mpi):
    """(argument of a program that hangs with this MPI or "", functions that nothing else calls)"""
    since, argument, functions = HANGS.get(mpi, (0, "", set()))
    if not argument or first_number(mpi) < since:
        return "", set()
    print(f"skipped {argument}: it hangs with this MPI, without mpit, too")
    return argument, functions


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    build, mpi = os.path.abspath(sys.argv[1]), sys.argv[2]
    missing = wrapped(f"{build}/src/{mpi}") & recorded(sys.argv[3]) - NOT_HERE - NOT_THERE.get(mpi, set())
    skipped, functions = hanging(mpi)
    missing -= functions
    total = len(missing)
    if total < 200:
        sys.exit(f"not ok only {total} functions are to be counted: the tables were not read right")
    with tempfile.TemporaryDirectory(prefix="mpit-kinds-") as work:
        for program, ranks, arguments, options in PROGRAMS + ONLY.get(mpi, []):
            if skipped in arguments:
                continue
            found = run(build, mpi, work, program, ranks, arguments, options)
            here = {name for name, count in found.items() if count > 0}
            print(f"{program}: {len(here)} functions, {len(missing & here)} of them for the first time")
            missing -= here
    print(f"{total - len(missing)} of {total} functions were counted")
    for name in sorted(missing):
        print(f"not ok no program calls {name}")
    sys.exit(1 if missing else 0)


main()
