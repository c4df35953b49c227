#!/usr/bin/env python3
"""beside.py BUILD [MPI] [ROUNDS]: what a program feels of mpit-top beside it.

A loop of callcost (Isend + Recv + Wait of one rank with itself) under mpit; in each round alone, with `mpit-top --json
--interval 0.1` looking at it ten times a second, and alone again. Prints the ratios of nanoseconds an iteration: looked at
over the mean of the two alone, and, as the noise of that sitting, the one alone over the other. Shown, not judged: what is
judged is that the program's files are mapped for reading alone (integration.top), so that nothing of it can be written.
"""
import os, re, statistics, subprocess, sys, tempfile

build, mpi = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "mpich"
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 7
ITERATIONS = "15000000"
environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def run(looked_at):
    """Nanoseconds an iteration, and how often mpit-top saw the program."""
    with tempfile.TemporaryDirectory() as scratch:
        top = looked_at and subprocess.Popen([f"{build}/bin/mpit-top", "--json", "--interval", "0.1"],
                                             stdout=open(f"{scratch}/looks", "w"))
        out = subprocess.run([f"{build}/bin/mpit-run", "--quiet", "--output", f"{scratch}/run", f"mpirun.{mpi}", "-n", "1",
                              f"{build}/tests/callcost-{mpi}", "self", ITERATIONS], env=environment, check=True,
                             stdout=subprocess.PIPE).stdout.decode()
        looks = 0
        if top:
            top.terminate()
            top.wait()
            looks = sum(f"callcost-{mpi}" in line for line in open(f"{scratch}/looks"))
            if not looks:
                sys.exit("mpit-top has not seen the program")
        return float(re.search(r"[0-9.]+", out).group()), looks


beside, noise, looks = [], [], 0
for _ in range(rounds):
    before, (seen, count), after = run(False)[0], run(True), run(False)[0]
    beside.append(2 * seen / (before + after))
    noise.append(after / before)
    looks += count
print(f"{mpi}: {rounds} rounds, {looks} looks; nanoseconds an iteration:")
print(f"  looked at over alone  {statistics.median(beside):.3f} (median; {min(beside):.3f} to {max(beside):.3f})")
print(f"  alone over alone      {statistics.median(noise):.3f} (median; {min(noise):.3f} to {max(noise):.3f})")
