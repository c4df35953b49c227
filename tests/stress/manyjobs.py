#!/usr/bin/python3
"""Many jobs on a Slurm of two nodes, with mpit on for all of them: random programs, sizes, users and ends, from a seed.

    slurmhosts.sh manyjobs.py BUILD DIRECTORY [JOBS [SEED]]

Each job (manyjobs.c, or a program without MPI) counts its own messages, and ends as it is told. What a kind of end gives
without mpit is learned once, before the jobs. Judged is each job: its exit status, what it printed, its files in the log tree, and its line of mpit-jobs
(user, size, ranks, messages, bytes, how it ended). As root the jobs belong to five users, who exist in the namespace of the
test alone. Status 77 without Slurm. By hand: 1,000 jobs.
"""
import collections
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for room in ("common", "launch"):
    sys.path.insert(0, os.path.join(HERE, "..", "integration", room))
import slurmcluster  # noqa: E402
import trial  # noqa: E402
from slurmcluster import output_of, until  # noqa: E402

BUILD, DIRECTORY = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
JOBS = int(sys.argv[3]) if sys.argv[3:] else 1000
SEED = int(sys.argv[4]) if sys.argv[4:] else random.randrange(10**6)
LOGS, COUNTS = f"{DIRECTORY}/logs", f"{DIRECTORY}/counts"
APART = bool(os.environ.get("SLURM_TEST_HOSTS"))  # the nodes are hosts of their own
USERS = [f"user{i}" for i in range(1, 6)] if APART else [None]  # slurmhosts.sh has made them
PLUGIN = {"openmpi": "pmix", "mpich": "pmi2"}
ENDS = ["normal"] * 8 + ["exit", "unfinished", "_exit", "abort", "segv", "kill", "deadlock"]
FOREIGN = {"true": ("/bin/true", 0), "fails": ("/bin/false", 1), "status": ("/bin/sh -c 'exit 7'", 7)}  # without MPI
WELL = ("normal", "exit")  # ends that reach MPI_Finalize
LONGEST = 200  # seconds, of a job
AT_ONCE = 12  # jobs in Slurm's hands
judge = trial.Judge()


class Job:
    """One job, drawn from the seed and its number."""

    def __init__(self, number, kind=None):
        draw = random.Random(f"{SEED}.{number}")
        self.number, self.user = number, draw.choice(USERS)
        self.mpi = draw.choice(trial.mpis(BUILD))
        self.end = kind or (draw.choice(list(FOREIGN)) if draw.random() < 0.1 else draw.choice(ENDS))
        self.ranks = draw.choice([1, 1, 2, 2, 2, 3, 4])
        self.nodes = 2 if self.mpi == "openmpi" and APART and self.ranks > 1 and draw.random() < 0.3 else 1
        self.rounds, self.messages = draw.randint(1, 20), draw.randint(0, 50)
        self.limited = self.end == "deadlock" and JOBS >= 100 and draw.random() < 0.1  # ended by its time limit
        self.hung, self.begin = False, 0.0
        self.counts, self.slurm, self.cancelled, self.said, self.status = f"{COUNTS}/{number}", "", False, "", None

    def __str__(self):
        return (f"job {self.number} (Slurm's {self.slurm}): {self.mpi}, {self.end}, {self.ranks} ranks, {self.nodes} nodes, "
                f"user {self.user}")

    def is_foreign(self):
        return self.end in FOREIGN

    def words(self):
        if self.is_foreign():
            return FOREIGN[self.end][0]
        return f"{BUILD}/tests/manyjobs-{self.mpi} {self.counts} {self.rounds} {self.messages} {self.end}"

    def submit(self, bare=False):
        """BARE: without mpit."""
        os.mkdir(self.counts)
        os.chmod(self.counts, 0o777)
        with open(f"{self.counts}/script", "w") as file:
            file.write("\n".join(["#!/bin/sh", "export MPIT_DISABLE=1" * bare, "ulimit -c 0", slurmcluster.BETWEEN_HOSTS if self.nodes > 1 else ":",
                                  f"srun --overlap --kill-on-bad-exit=1 --mpi={PLUGIN[self.mpi]} {self.words()}",
                                  f"echo $? >{self.counts}/status", ""]))
        os.chmod(f"{self.counts}/script", 0o755)
        words = ["sbatch", "--parsable", "-n", str(self.ranks), "-N", str(self.nodes), "-D", self.counts, *["--time=1"] * self.limited,
                 "-o", f"{self.counts}/out", f"{self.counts}/script"]
        as_user = {"user": self.user, "group": "nogroup", "extra_groups": []} if self.user else {}
        environment = dict(os.environ, USER=self.user, LOGNAME=self.user, HOME="/tmp") if self.user else None
        told = subprocess.run(words, capture_output=True, text=True, env=environment, cwd="/", **as_user)
        self.slurm, self.begin = told.stdout.strip(), time.monotonic()
        assert self.slurm.isdigit(), told.stderr
        return self

    def is_at_its_end(self):
        return len(glob.glob(f"{self.counts}/*.0")) == self.ranks

    def prod(self):
        """A deadlock is cancelled once all ranks are in it. What runs for too long hangs, and is cancelled, too."""
        late = time.monotonic() > self.begin + LONGEST
        if not self.cancelled and (late or self.end == "deadlock" and not self.limited and self.is_at_its_end()):
            self.cancelled, self.hung = True, late
            subprocess.run(["scancel", self.slurm], capture_output=True)

    def read(self):
        with open(f"{self.counts}/out") as file:
            self.said = file.read()
        try:
            with open(f"{self.counts}/status") as file:
                self.status = int(file.read())
        except (OSError, ValueError):
            self.status = None  # the script was ended, too

    def total(self):
        """What the ranks have counted: messages, bytes."""
        found = []
        for name in glob.glob(f"{self.counts}/*.0"):
            with open(name) as file:
                found.append([int(word) for word in file.read().split()])
        return sum(words[0] for words in found), sum(words[1] for words in found)


def in_slurm():
    return set(output_of("squeue", "-h", "-o", "%A").split())


def run(jobs, bare=False):
    """All of them, AT_ONCE at a time. Until the epilogs have run, too."""
    waiting, here = list(jobs), []
    patience = time.monotonic() + 120 + 6 * len(jobs)
    while waiting or here:
        while waiting and len(here) < AT_ONCE:
            here.append(waiting.pop(0).submit(bare))
        there = in_slurm()
        for job in here:
            job.prod()
        for job in [job for job in here if job.slurm not in there]:
            here.remove(job)
            job.read()
        if time.monotonic() > patience:
            raise TimeoutError("these do not end: " + ", ".join(map(str, here)))
        time.sleep(0.1)
    return jobs


def wrong_of(job, statuses, rows, files):
    """What is wrong with a job: a list of texts."""
    wrong, native = [], statuses[job.mpi, job.end, job.ranks > 1]
    if job.status not in native and job.end != "deadlock":  # scancel ends the script, too, sooner or later than srun
        wrong.append(f"status {job.status}, without mpit {native}")
    if job.hung:
        wrong.append(f"does not end in {LONGEST} s")
    if re.search(r"\bmpit(-\w{3,})?: ", job.said):
        wrong.append(f"mpit speaks: {job.said}")
    if job.is_foreign():
        return wrong + ([f"has results: {files}"] if files or rows else [])
    if len(rows) != 1:
        return wrong + [f"{len(rows)} lines of mpit-jobs, {len(files)} files: {files}"]
    row, (messages, size) = rows[0], job.total()
    for name, value, right in (("user", row["user"], {job.user or row["user"]}), ("size", row["size"], {job.ranks}),
                               ("ranks", row["ranks"], {job.ranks}), ("messages", row["messages"], {messages}),
                               ("bytes", row["bytes"], {size}), ("ended_badly", row["ended_badly"], {0 if job.end in WELL else job.ranks}),
                               ("hosts", row["hosts"], {job.nodes})):
        if value not in right:
            wrong.append(f"{name} {value}, not {right}")
    if len(files) != 1:  # the epilog has joined them
        wrong.append(f"{len(files)} files: {files}")
    elif os.path.getsize(files[0]) > 4096 + 40 * job.ranks and job.end in WELL:
        wrong.append(f"a summary of {os.path.getsize(files[0])} bytes")
    return wrong


def learned(jobs):
    """The statuses of each kind of end without mpit."""
    statuses = collections.defaultdict(set)
    kinds = sorted({(job.mpi, job.end, job.ranks > 1) for job in jobs})
    for job in run([like(mpi, end, many, i) for mpi, end, many in kinds for i in range(2)], True):
        statuses[job.mpi, job.end, job.ranks > 1].add(job.status)
    return statuses


def like(mpi, end, many, number, nodes=1):
    job = Job(f"bare-{mpi}-{end}-{many}-{nodes}-{number}", end)
    job.mpi, job.ranks, job.nodes = mpi, 2 + 2 * (number % 2) if many else 1, nodes
    return job


def learned_more(jobs, statuses):
    """A status that is another one from run to run: the same jobs once more without mpit, up to ten times."""
    for attempt in range(10):
        again = [job for job in jobs if job.end != "deadlock" and
                 job.status not in statuses[job.mpi, job.end, job.ranks > 1]]
        kinds = sorted({(job.mpi, job.end, job.ranks > 1, job.nodes) for job in again})
        for job in run([like(*kind, 2 + attempt, nodes) for *kind, nodes in kinds], True):
            statuses[job.mpi, job.end, job.ranks > 1].add(job.status)


def results():
    """mpit-jobs' lines and the files of each job of Slurm."""
    told = subprocess.run(["mpit-jobs", "--json", "--limit", "0", LOGS], capture_output=True, text=True)
    judge.holds(told.returncode == 0 and not told.stderr, "mpit-jobs reads the tree", told.stderr)
    rows, files = collections.defaultdict(list), collections.defaultdict(list)
    for row in json.loads(told.stdout)["jobs"]:
        rows[(row["scheduler_job"] or "").removeprefix("slurm ")].append(row)
    for name in glob.glob(f"{LOGS}/*/*"):
        files[os.path.dirname(name).rsplit("-", 1)[1]].append(name)
    return rows, files


def judged(jobs, statuses):
    rows, files = results()
    mismatches = 0
    for job in jobs:
        wrong = wrong_of(job, statuses, rows.get(job.slurm, []), files.get(job.slurm, []))
        mismatches += bool(wrong)
        if wrong:
            judge.check(str(job), wrong)
    ours = {job.slurm for job in jobs if not job.is_foreign()}
    judge.holds({name for name in rows} <= ours, "mpit-jobs has no other job", sorted(set(rows) - ours)[:20])
    judge.holds(not mismatches, f"{len(jobs)} jobs: as without mpit, and counted right", f"{mismatches} are not")
    one = sum(len(files[job.slurm]) == 1 for job in jobs)
    print(f"files: one of {one} jobs, more of {sum(len(files[job.slurm]) > 1 for job in jobs)}, none of "
          f"{sum(not files[job.slurm] for job in jobs)} ({sum(job.is_foreign() for job in jobs)} have no MPI)")


def main():
    if not slurmcluster.is_there(BUILD):
        judge.skip("jobs of Slurm", "there is no Slurm (CONTRIBUTING.md)")
        return judge.verdict()
    print(f"seed {SEED}: {JOBS} jobs, {len(USERS)} users, {2 if APART else 1} hosts", flush=True)
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    os.makedirs(LOGS)
    os.makedirs(COUNTS)
    os.chmod(LOGS, 0o1777)
    for name in [name for name in os.environ if name.startswith(("MPIT_", "SLURM_")) and not name.startswith("SLURM_TEST_") or
                 name == "LD_PRELOAD"]:
        del os.environ[name]
    lines = slurmcluster.always_on(BUILD, DIRECTORY, f"{LOGS}/%u-%p-%j", ["summary_limit_bytes = 4096"])
    cluster = slurmcluster.Cluster(BUILD, DIRECTORY, slurmcluster.two_nodes(), lines)
    jobs = [Job(number) for number in range(JOBS)]
    try:
        cluster.begin()
        statuses = learned(jobs)
        begin = time.monotonic()
        run(jobs)
        took = time.monotonic() - begin
        learned_more(jobs, statuses)
    finally:
        cluster.end()
    judged(jobs, statuses)
    kinds = collections.Counter(job.end for job in jobs)
    print(f"{JOBS} jobs in {took:.0f} s: " + ", ".join(f"{end} {count}" for end, count in sorted(kinds.items())))
    print(f"{sum(job.limited for job in jobs)} ended by their time limit, {sum(job.hung for job in jobs)} hung; "
          f"{sum(job.nodes > 1 for job in jobs)} on two nodes; users: " +
          ", ".join(f"{user} {count}" for user, count in sorted(collections.Counter(str(job.user) for job in jobs).items())))
    return judge.verdict()


sys.exit(main())
