#!/usr/bin/python3
"""The memory of the node, and of the process, is the program's: mpit takes what is left, and gives way.

    room.py BUILD [--each K]

Small: a container has 64 MB of /dev/shm. A traced program fills a shared window there, and as many ranks as natively get
through MPI_Init. All of it is recorded.
Group: a memory cgroup has what 16 ranks need natively, and 20 MiB more. The OOM killer ends none.
Faults: one of the calls that the recorder makes to the C library fails (nthfault.c): a call for memory, or every K-th.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

SECONDS, RANKS, MIB = 100, 16, 1 << 20


def program(build, mpi, *words):
    return [f"{build}/tests/room-{mpi}", *map(str, words)]


def dumped(build, output, spool=None):
    """The last job there: (calls by function, losses by cause, ranks). None: there is none."""
    ended = trial.run([build + "/bin/mpit-dump", "--json", output], SECONDS, trial.environment(**({"MPIT_SPOOL": spool} if spool else {})))
    try:
        job = json.loads(ended.out)["jobs"][-1]
        return {name: call["count"] for name, call in job["calls"].items()}, job["lost"], job
    except (ValueError, KeyError, IndexError):
        return None


def said(ended):
    """What the user sees of the program."""
    return ended.status, [line for line in ended.out.splitlines() if line.startswith("sum ")]


# ---- small: /dev/shm of 64 MB ------------------------------------------------------------------------------------------------

def in_container(words, env):
    """Runs it with 64 MB of /dev/shm. -> Ended"""
    script = 'mount -t tmpfs -o size=64m,mode=1777 none /dev/shm || exit 77; exec "$@"'
    return trial.run(["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", *words], SECONDS, env)


def small(judge, build, mpi, directory):
    """The program gets what it gets natively, and is recorded."""
    if os.geteuid() != 0 or in_container(["true"], trial.environment()).status:
        judge.skip(f"{mpi}: 64 MB of /dev/shm", "nothing can be mounted here")
        return
    ranks = RANKS
    while ranks > 8 and in_container([*trial.launcher(mpi, ranks), *program(build, mpi, 10)], trial.environment()).status:
        ranks -= 1  # natively, too, MPICH needs 4 MB for each rank
    for name, number, words, variables in (("counters", ranks, (10,), {}), ("a trace", ranks, (10,), {"MPIT_TRACE": "1"}),
                                           ("a trace, then a window", 2, (1000000, 16), {"MPIT_TRACE": "1"})):
        output = tempfile.mkdtemp(dir=directory) + "/output"
        variables = dict(variables, LD_PRELOAD=trial.preload(build, mpi), MPIT_OUTPUT=output)
        native = in_container([*trial.launcher(mpi, number), *program(build, mpi, *words)], trial.environment())
        ours = in_container([*trial.launcher(mpi, number, variables), *program(build, mpi, *words)], trial.environment())
        judge.holds(said(native) == said(ours) and native.status == 0, f"{mpi}: 64 MB of /dev/shm, {number} ranks, {name}: as natively",
                    f"{native}\n{ours}")
        trial.comes(lambda: dumped(build, output))
        found = dumped(build, output)
        judge.holds(found and found[0].get("MPI_Sendrecv") == number * words[0],
                    f"{mpi}: 64 MB of /dev/shm, {number} ranks, {name}: all calls are counted", found)


# ---- group: a memory cgroup --------------------------------------------------------------------------------------------------

class Group:
    """A memory cgroup of its own. `path` is None if there can be none."""

    def __init__(self):
        self.path = None
        for base, self.files in (("/sys/fs/cgroup/memory", ("memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control")),
                                 ("/sys/fs/cgroup", ("memory.max", "memory.peak", "memory.events"))):
            path = f"{base}/mpit-test-{os.getpid()}"
            try:
                if base == "/sys/fs/cgroup" and "memory" in open(base + "/cgroup.controllers").read():
                    with open(base + "/cgroup.subtree_control", "w") as file:
                        file.write("+memory")
                os.mkdir(path)
                self.path = path
                if all(os.access(path + "/" + name, os.F_OK) for name in self.files):
                    return
                self.leave()
            except OSError:
                pass

    def run(self, words, limit, env):
        """-> (Ended, the most that it has used, killed)"""
        with open(f"{self.path}/{self.files[0]}", "w") as file:
            file.write(str(limit))
        script = f'echo 0 >{self.path}/cgroup.procs && exec "$@"'
        if "max_usage" in self.files[1]:
            with open(f"{self.path}/{self.files[1]}", "w") as file:
                file.write("0")
        before = self.kills()
        ended = trial.run(["sh", "-c", script, "sh", *words], SECONDS, env)
        with open(f"{self.path}/{self.files[1]}") as file:
            return ended, int(file.read()), self.kills() - before

    def kills(self):
        with open(f"{self.path}/{self.files[2]}") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith("oom_kill "))

    def leave(self):
        def gone():
            try:
                os.rmdir(self.path)
                return True
            except OSError:
                return not os.path.exists(self.path)
        trial.comes(gone)
        self.path = None


def group(judge, build, mpi, directory):
    """No process is killed where mpit's part is 20 MiB."""
    place = Group()
    if not place.path:
        judge.skip(f"{mpi}: a memory cgroup", "none can be made here")
        return
    env, words = trial.environment(), program(build, mpi, 30000)
    native = [*trial.launcher(mpi, RANKS), *words]
    _, need, _ = place.run(native, 1 << 40, env)
    ended, again, _ = place.run(native, 1 << 40, env)
    need = max(need, again)
    for name, variables in (("counters", {}), ("a trace", {"MPIT_TRACE": "1"})):
        output = tempfile.mkdtemp(dir=directory) + "/output"
        variables = dict(variables, LD_PRELOAD=trial.preload(build, mpi), MPIT_OUTPUT=output)
        ours, used, killed = place.run([*trial.launcher(mpi, RANKS, variables), *words], need + 20 * MIB, env)
        judge.holds(said(ended) == said(ours) and ended.status == 0 and not killed,
                    f"{mpi}: {RANKS} ranks need {need >> 20} MiB, and have 20 MiB more, {name}: as natively",
                    f"{killed} killed, {used} bytes used\n{ended}\n{ours}")
        trial.comes(lambda: dumped(build, output))
        found = dumped(build, output)
        judge.holds(found and found[0].get("MPI_Sendrecv") == RANKS * 30000, f"{mpi}: a memory cgroup, {name}: all calls are counted", found)
    place.leave()


# ---- faults: each call of the recorder fails ---------------------------------------------------------------------------------

EXPECTED = {"MPI_Init": 1, "MPI_Sendrecv": 20000, "MPI_Allreduce": 1, "MPI_Finalize": 1}


def fault(build, mpi, directory, number):
    """Call NUMBER fails. 0: none. -> (the functions that the recorder called, what is wrong)"""
    place = tempfile.mkdtemp(dir=directory)
    output, spool, log = place + "/output", place + "/spool", place + "/log"
    os.mkdir(spool)
    variables = {"LD_PRELOAD": f"{trial.preload(build, mpi)}:{build}/tests/nthfault.so", "MPIT_OUTPUT": output, "MPIT_SPOOL": spool,
                 "MPIT_TRACE": "1", "NTHFAULT": str(number), "NTHFAULT_LOG": log}
    ended = trial.run([*trial.launcher(mpi, 1, variables), *program(build, mpi, EXPECTED["MPI_Sendrecv"], 0, 3)], SECONDS)
    try:
        with open(log) as file:
            calls = file.read().split()
    except OSError:
        return [], ["no log", str(ended)]
    wrong = [] if ended.status == 3 and ended.out.count("sum ") == 1 and not ended.hung else [str(ended)]
    trial.run([build + "/bin/mpit-collect", output], SECONDS, trial.environment(MPIT_SPOOL=spool))
    found = dumped(build, output, spool)

    def left():
        return glob.glob(spool + "/*/*/*.mpit") + glob.glob(output + "/*.part") + glob.glob(output + "/.*")
    if not trial.comes(lambda: not left()):  # the job's own collector may remove a file whose result is there already
        wrong.append(f"left: {left()}")
    if not found and "mpit: " not in ended.err:
        wrong.append(f"no result, and not a word\n{ended}")
    if found:
        counts, lost, job = found
        twice = {call: count for call, count in counts.items() if count > EXPECTED.get(call, 0)}
        missing = sum(EXPECTED.values()) - sum(counts.values())
        if twice or missing > sum(lost.values()):
            wrong.append(f"counted {counts}, lost {lost}\n{ended}")
        if missing and "mpit: " not in ended.err:
            wrong.append(f"{missing} calls are missing, and not a word\n{ended}")
        if job.get("unfinished_ranks") or "did not end" in ended.err:
            wrong.append(f"it has ended well, and is said to have not\n{ended}")
    subprocess.run(["rm", "-rf", place], check=False)
    return calls, wrong


MEMORY = ("malloc", "calloc", "realloc", "reallocarray", "aligned_alloc", "mmap", "memfd_create", "posix_fallocate")


def faults(each):
    """EACH: every how many calls. None: a call from each place that asks for memory, and few of the others."""
    def part(judge, build, mpi, directory):
        calls, wrong = fault(build, mpi, directory, 0)
        chosen = range(1, len(calls) + 1, each or 60)
        if not each:
            memory = [number for number, name in enumerate(calls, 1) if name in MEMORY]
            chosen = sorted({*chosen, *memory[::max(1, len(memory) // 16)]})
        for number in chosen:
            again, bad = fault(build, mpi, directory, number)
            name = again[number - 1] if number <= len(again) else "none"
            wrong += [f"call {number}, {name}: {text}" for text in bad]
        judge.check(f"{mpi}: {len(chosen)} of the recorder's {len(calls)} calls fail: the program, its counts and losses are right", wrong)
    return part


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--each", type=int, metavar="K", help="only the faults, every K-th")
    parser.add_argument("--only", choices=("small", "group", "faults"))
    asked = parser.parse_args()
    parts = {"small": small, "group": group, "faults": faults(asked.each)}
    chosen = [asked.only] if asked.only else ["faults"] if asked.each else list(parts)
    trial.judge_mpis(os.path.abspath(asked.build), trial.Judge(), *(parts[name] for name in chosen))


main()
