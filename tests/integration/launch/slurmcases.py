#!/usr/bin/python3
"""The jobs that Slurm knows, with mpit on for all of them: arrays, several steps, components, --export=NONE, jobs that are
queued again, cancelled, too long, or that lose a rank to SIGKILL. What is recorded of each.

    slurmhosts.sh slurmcases.py BUILD MPI DIRECTORY

A cluster of two nodes of the test's own (slurmcluster.py); status 77 without Slurm. manyjobs.c counts its messages itself.
The table in site.md has the outcome.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import slurmcluster
import trial
from slurmcluster import output_of, until

BUILD, MPI, DIRECTORY = os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])
SRUN = "srun --overlap --mpi=" + {"openmpi": "pmix", "mpich": "pmi2"}[MPI]
PROGRAM = f"{BUILD}/tests/manyjobs-{MPI}"
LOGS = f"{DIRECTORY}/logs"
APART = bool(os.environ.get("SLURM_TEST_HOSTS"))  # the nodes are hosts of their own
judge = trial.Judge()


class Case:
    """A batch job. %d in its lines is the folder that the ranks write their counts to."""

    def __init__(self, name, *options):
        self.path, self.options, self.number = f"{DIRECTORY}/{name}", options, ""
        os.makedirs(f"{self.path}/counts")

    def submit(self, *lines):
        client = [f"export {name}='{os.environ[name]}'" for name in ("SLURM_CONF", "LD_LIBRARY_PATH", "PATH")]
        with open(f"{self.path}/script", "w") as file:
            file.write("\n".join(["#!/bin/sh", *client, *[line.replace("%d", f"{self.path}/counts") for line in lines], ""]))
        told = subprocess.run(["sbatch", "--parsable", "--open-mode=append", "-o", f"{self.path}/out", *self.options,
                               f"{self.path}/script"], capture_output=True, text=True, cwd=self.path)
        self.number = told.stdout.strip()
        assert self.number.isdigit(), told.stderr
        return self

    def ended(self):
        """Until Slurm has forgotten it, and its epilogs have run."""
        until(lambda: self.number not in output_of("squeue", "-h", "-o", "%A %F").split(), f"{self.path} ends", 150)
        return self

    def began(self, ranks, start=0):
        until(lambda: len(self.counts(start)) == ranks, f"{self.path}: {ranks} ranks are at their end")

    def counts(self, start=0):
        """What the ranks have counted: [messages, bytes, collectives, size] of each."""
        found = []
        for name in glob.glob(f"{self.path}/counts/*.{start}"):
            with open(name) as file:
                found.append([int(word) for word in file.read().split()])
        return found

    def messages(self, start=0):
        return sum(count[0] for count in self.counts(start))

    def said(self):
        with open(f"{self.path}/out") as file:
            return file.read()


def rows(number):
    """mpit-jobs' lines of a job of Slurm, in the order in which they began."""
    told = subprocess.run(["mpit-jobs", "--json", "--limit", "0", "--where", f"scheduler_job = 'slurm {number}'", LOGS],
                          capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    return sorted(json.loads(told.stdout)["jobs"], key=lambda row: row["begin"])


def figures(found):
    return [(row["size"], row["ranks"], row["messages"], row["ended_badly"]) for row in found]


def recorded(title, number, expected, well=False):
    """EXPECTED: (size, ranks, messages, ranks that ended badly) of each launch. WELL: of those that ended well, and equal ones
    once, as over_nodes launches again."""
    def seen():
        once = {}
        for row in rows(number):
            if not well or not row["ended_badly"]:
                once.setdefault(figures([row])[0] if well else len(once), row)
        return list(once.values())
    trial.comes(lambda: figures(seen()) == expected)
    found = seen()
    judge.holds(figures(found) == expected, title, (expected, found))
    return found


def joined(title, case):
    """The epilog leaves one file of each launch. Nodes on one host share the spool, and leave one without it."""
    if not APART:
        return judge.skip(f"{title}: one file a launch", "the nodes are no hosts of their own here")

    def files():
        return glob.glob(f"{LOGS}/*-{case.number}/*")
    one = trial.comes(lambda: len(files()) == len(rows(case.number)) > 0)
    return judge.holds(one, f"{title}: one file a launch", (files(), rows(case.number)))


def arrays():
    case = Case("array", "-n2", "--array=3,5").submit(f"mkdir %d/$SLURM_ARRAY_TASK_ID",
                                                     f"{SRUN} {PROGRAM} %d/$SLURM_ARRAY_TASK_ID 2 $SLURM_ARRAY_TASK_ID normal").ended()
    for task in (3, 5):
        recorded(f"array: task {task} is a job of its own, {task} messages a round", f"{case.number}_{task}", [(2, 2, 4 * task, 0)])
    names = [os.path.basename(path) for path in glob.glob(f"{LOGS}/*-{case.number}_*")]
    judge.holds(len(names) == 2, "array: a folder a task, named after it", names)


def steps():
    def step(ranks, number):
        """Each has a folder for its counts: two of them run at the same time."""
        return f"{SRUN} -n {ranks} {PROGRAM} %d/{number} 1 {number} normal"
    case = Case("steps", "-n3").submit("mkdir %d/1 %d/2 %d/4 %d/8", step(3, 1), step(2, 2), f"{step(2, 4)} & {step(2, 8)}", "wait").ended()
    found = trial.comes(lambda: len(rows(case.number)) == 4) and rows(case.number)
    judge.holds(found and sorted(figures(found)) == [(2, 2, 4, 0), (2, 2, 8, 0), (2, 2, 16, 0), (3, 3, 3, 0)],
                "several steps: all kept, listed apart", rows(case.number))
    judge.holds(found and len({row["job"] for row in found}) == 4, "several steps: no two have one number", found)


# Of a job on two nodes. With two ranks on a node MPI_Finalize of Debian's MPICH hangs in most jobs over TCP, with and without mpit.
ON_FIRST = {"openmpi": 2, "mpich": 1}[MPI]


def over_nodes(words):
    """srun of two components hangs now and then when all its ranks have ended, with and without mpit: up to three launches."""
    return f"{slurmcluster.BETWEEN_HOSTS if APART else ':'}; for try in 1 2 3; do timeout -k 2 20 {SRUN} {words} && break; done"


def nodes():
    if MPI == "openmpi" and not APART:
        return judge.skip("two nodes", "PMIx needs two hosts, and namespaces are not permitted here")
    ranks = 2 * ON_FIRST
    case = Case("nodes", "-N2", f"-n{ranks}").submit(over_nodes(f"{PROGRAM} %d 2 3 normal")).ended()
    found = recorded("two nodes: one job", case.number, [(ranks, ranks, case.messages(), 0)], True)
    judge.holds(found and found[0]["hosts"] == (2 if APART else 1) and case.messages() == 6 * ranks, "two nodes: hosts and messages", found)
    joined("two nodes", case)
    het = Case("het", f"-n{ON_FIRST}", ":", "-n1").submit(over_nodes(f"--het-group=0,1 {PROGRAM} %d 2 3 normal"),
                                               f"{SRUN} --het-group=1 {PROGRAM} %d 2 3 normal").ended()
    recorded("components: one MPI_COMM_WORLD over both is one job, a step of one is another", het.number,
             [(ON_FIRST + 1, ON_FIRST + 1, 6 * ON_FIRST + 6, 0), (1, 1, 6, 0)], True)
    joined("components", het)


def export_none():
    case = Case("export", "-n2", "--export=NONE").submit(f"{SRUN} --export=NONE {PROGRAM} %d 2 3 normal").ended()
    recorded("--export=NONE: recorded by the TaskProlog", case.number, [(2, 2, 12, 0)])
    run = Case("export-run", "-n2").submit(f"MPIT_DISABLE= {BUILD}/bin/mpit-run --output %d/run {SRUN} --export=NONE {PROGRAM} %d 2 3 normal",
                                           "echo status $?").ended()
    judge.holds("status 0" in run.said() and "add LD_PRELOAD,MPIT_OUTPUT to --export" in run.said(),
                "--export=NONE: mpit-run says what it lacks", run.said())


def requeued():
    """The first start is in a deadlock when Slurm queues the job again; the second comes to its end."""
    case = Case("requeued", "-n2", "--requeue").submit(
        f'[ "$SLURM_RESTART_COUNT" ] && end=normal || end=deadlock', f"{SRUN} {PROGRAM} %d 2 3 $end")
    case.began(2)
    time.sleep(0.5)
    subprocess.run(["scontrol", "requeue", case.number], check=True)

    def runs_again():
        """Slurm lets it wait for two minutes, counted from when its nodes are free."""
        subprocess.run(["scontrol", "update", f"JobId={case.number}", "StartTime=now"], capture_output=True)
        time.sleep(0.5)
        return len(case.counts(1)) == 2
    until(runs_again, "it runs again", 100)
    case.ended()
    found = recorded("queued again: two starts of one number are two jobs", case.number, [(2, 2, 12, 2), (2, 2, 12, 0)])
    judge.holds(len({row["job"] for row in found}) == 2 and len({row["source"] for row in found}) == 2,
                "queued again: with two numbers and two files", found)


def stopped(title, case):
    """A job in a deadlock that Slurm has ended."""
    (row,) = recorded(f"{title}: recorded by the epilog, and that all died", case.ended().number, [(3, 3, 18, 3)])
    judge.holds((row["mpi_share"] is None) == (row["seconds"] is None), f"{title}: without a time there is no share in MPI", row)
    files = glob.glob(f"{LOGS}/*-{case.number}/*")
    size = sum(os.path.getsize(path) for path in files)  # a live file has 392 KiB
    judge.holds(len(files) == 1 and size < 100000, f"{title}: the epilog made one file of it, compressed to {size} bytes", files)
    told = subprocess.run(["mpit-dump", "--crash", *glob.glob(f"{LOGS}/*-{case.number}")], capture_output=True, text=True)
    judge.holds("rank 0: in MPI_Recv on MPI_COMM_WORLD" in told.stdout, f"{title}: who was where", told)


def in_deadlock(name, *options):
    """Its ranks look for messages all the time: the tests beside it come first."""
    return Case(name, "-n3", *options).submit(f"{SRUN} nice -n 19 {PROGRAM} %d 2 3 deadlock")


def cancelled():
    cases = [("cancelled", in_deadlock("cancelled"))]
    if APART:
        cases.append(("cancelled on two nodes", in_deadlock("cancelled-nodes", "-N2")))
    for title, case in cases:
        case.began(3)
        time.sleep(1.2)  # what lasts shorter than a second is not called a deadlock
        subprocess.run(["scancel", case.number], check=True)
        stopped(title, case)


def rank_killed():
    """As the OOM killer does: SIGKILL for one rank, and Slurm ends the others."""
    case = Case("oom", "-n3").submit(f"{SRUN} --kill-on-bad-exit=1 {PROGRAM} %d 2 3 kill", "echo status $?").ended()
    recorded("a rank killed: recorded, and that all died", case.number, [(3, 3, 18, 3)])
    judge.holds(re.search("status (137|143)$", case.said(), re.M), "a rank killed: the status is Slurm's", case.said())


def silent():
    """Nothing of mpit's is in the output of jobs that do not call mpit-run."""
    for path in glob.glob(f"{DIRECTORY}/*/out"):
        if "export-run" not in path:
            with open(path) as file:
                text = file.read()
            judge.holds("mpit:" not in text, f"nothing is said in {os.path.basename(os.path.dirname(path))}", text)


def main():
    if not slurmcluster.is_there(BUILD):
        judge.skip("jobs of Slurm", "there is no Slurm (CONTRIBUTING.md)")
        return judge.verdict()
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    os.makedirs(LOGS)
    for name in [name for name in os.environ if name.startswith(("MPIT_", "SLURM_")) and not name.startswith("SLURM_TEST_") or
                 name == "LD_PRELOAD"]:
        del os.environ[name]
    lines = slurmcluster.always_on(BUILD, DIRECTORY, f"{LOGS}/%u-%p-%j")
    cluster = slurmcluster.Cluster(BUILD, DIRECTORY, slurmcluster.two_nodes(), lines)
    try:
        cluster.begin()
        long = in_deadlock("too-long", "--time=1")  # Slurm's clock has minutes
        for part in (arrays, steps, nodes, export_none, requeued, cancelled, rank_killed):
            part()
        stopped("time limit", long)
        judge.holds("DUE TO TIME LIMIT" in long.said(), "time limit: Slurm says so", long.said())
        silent()
    finally:
        cluster.end()
    return judge.verdict()


sys.exit(main())
