#!/usr/bin/python3
"""Runs programs that use MPI_T, of others, natively and with mpit, and lists what each gave before and after.

    compare.py BUILD CASES [--keep DIR] [--limit SECONDS]

CASES is a file with a case in a line: the MPI (openmpi or mpich), the number of processes, settings of the environment
for the program if there are any, and the program with its arguments:

    mpich 2 /tmp/mpich/test/mpi/mpi_t/mpit_isendirecv
    openmpi 2 LD_PRELOAD=/tmp/gyan/libgyan.so MPIT_VAR_TO_TRACE=mpit_send_count /tmp/gyan/tests/osu_bcast

The programs are built outside this tree, each with the compiler wrapper of its MPI: the test/mpi/mpi_t programs of MPICH,
varlist and gyan of LLNL's mpi-tools, or any other. mpit is preloaded before what a case preloads itself.

A program passes when it ends with status 0 and none of its lines is that of an MPICH test that "Found N errors". The
lines with "error" in them are counted besides. Status 1 if a program passes natively and fails with mpit.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys

SETTINGS = {"LC_ALL": "C", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "MPITEST_VERBOSE": "1"}


def case_read(line, where):
    words = line.split()
    if len(words) < 3 or words[0] not in ("openmpi", "mpich") or not words[1].isdigit():
        sys.exit(f"compare.py: {where}: '{line}' is no case; it needs openmpi or mpich, a number of processes, a program")
    extra, rest = {}, words[2:]
    while rest and "=" in rest[0] and not rest[0].startswith("/"):
        name, value = rest.pop(0).split("=", 1)
        extra[name] = value
    if not rest or not shutil.which(rest[0]):
        sys.exit(f"compare.py: {where}: {rest[0] if rest else 'nothing'} is no program that can be run")
    title = " ".join([os.path.basename(rest[0])] + rest[1:])
    if "LD_PRELOAD" in extra:
        title += " with " + os.path.basename(extra["LD_PRELOAD"])
    return {"mpi": words[0], "processes": int(words[1]), "extra": extra, "words": rest, "title": title}


def run(case, library, limit):
    """(result, lines with an error, output)"""
    extra = dict(case["extra"])
    if library:
        extra["LD_PRELOAD"] = " ".join([library] + extra.get("LD_PRELOAD", "").split())
    line = [shutil.which(f"mpirun.{case['mpi']}") or "mpirun", "-n", str(case["processes"]), "env"]
    line += [f"{name}={value}" for name, value in extra.items()] + case["words"]
    env = {k: v for k, v in os.environ.items() if not k.startswith("MPIT_") and k != "LD_PRELOAD"}
    process = subprocess.Popen(line, env=dict(env, **SETTINGS), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL, text=True, errors="replace", start_new_session=True)
    try:
        out = process.communicate(timeout=limit)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return f"no end in {limit} s", 0, process.communicate()[0]
    found = re.search(r"Found (\d+) errors", out)
    # the launchers' words; programs print descriptions with such words in them
    crashed = process.returncode and re.search(r"exited on signal \d+ \(([^)]+)\)|EXIT STRING: (.+) \(signal", out)
    errors = len(re.findall(r"\berror\b(?! ?s?:? ?0)", re.sub(r"No Errors", "", out), re.I))
    if crashed:
        result = f"crash ({crashed[1] or crashed[2]})"
    elif process.returncode:
        result = f"status {process.returncode}"
    elif found and int(found[1]):
        result = f"{found[1]} errors found"
    else:
        result = "pass"
    return result, errors, out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("cases")
    parser.add_argument("--keep", help="directory for what the programs wrote")
    parser.add_argument("--limit", type=int, default=60)
    options = parser.parse_args()
    lines = open(options.cases).read().splitlines()
    cases = [case_read(line, f"{options.cases}:{number}") for number, line in enumerate(lines, 1)
             if line.strip() and not line.startswith("#")]
    worse = 0
    print("| program | MPI | processes | natively | with mpit | lines of output | lines with an error |")
    print("|---|---|---|---|---|---|---|")
    for number, case in enumerate(cases):
        library = os.path.join(os.path.abspath(options.build), "lib", f"libmpit-{case['mpi']}.so")
        if not os.path.exists(library):
            sys.exit(f"compare.py: there is no {library}: build first")
        before, after = run(case, None, options.limit), run(case, library, options.limit)
        worse += before[0] == "pass" and after[0] != "pass"
        print(f"| {case['title']} | {case['mpi']} | {case['processes']} | {before[0]} | {after[0]} | "
              f"{before[2].count(chr(10))}, {after[2].count(chr(10))} | {before[1]}, {after[1]} |", flush=True)
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
            for name, outcome in (("native", before), ("mpit", after)):
                file = f"{number:02}-{case['mpi']}-{os.path.basename(case['words'][0])}.{name}"
                open(os.path.join(options.keep, file), "w").write(outcome[2])
    print(f"\n{worse} of {len(cases)} pass natively and fail with mpit")
    sys.exit(1 if worse else 0)


main()
