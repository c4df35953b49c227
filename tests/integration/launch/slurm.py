#!/usr/bin/python3
"""Jobs of Slurm, recorded: mpit-run in front of srun and behind it, in batch scripts, cancelled; the exporter in a step.

    slurm.py BUILD MPI DIRECTORY

A cluster of the test's own (slurmcluster.py), status 77 without Slurm. livejob.c counts its messages itself.
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
from slurmcluster import PATIENCE, free_ports, until

BUILD, MPI, DIRECTORY = os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])
DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "share", "doc", "exporter.md")
SRUN = ["srun", "--overlap", "--mpi=" + {"openmpi": "pmix", "mpich": "pmi2"}[MPI]]
PROGRAM = f"{BUILD}/tests/livejob-{MPI}"
RANKS, ROUNDS = 3, 4
judge = trial.Judge()


def check(what, good, seen=""):
    judge.holds(good, what, seen)


class Place:
    """The directory that a livejob finds its orders in."""

    def __init__(self, name):
        self.path, self.run = f"{DIRECTORY}/{name}", f"{DIRECTORY}/{name}/run"
        os.mkdir(self.path)
        for number in range(1, ROUNDS + 1):
            open(f"{self.path}/go.{number}", "w").close()

    def steps(self, process):
        """Until all have done their rounds; then they may end. Returns (status, output, errors)."""
        until(lambda: process.poll() is not None or len(glob.glob(f"{self.path}/did.{ROUNDS}.?")) == RANKS, "the rounds")
        open(f"{self.path}/go.end", "w").close()
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err

    def counts(self):
        """What the ranks have counted, as the summary calls it."""
        total = dict.fromkeys(("send_count", "send_bytes", "recv_count", "recv_bytes", "coll_count"), 0)
        for rank in range(RANKS):
            with open(f"{self.path}/did.{ROUNDS}.{rank}") as file:
                numbers = [int(word) for word in file.read().split() if word.isdigit()]
            for key, number in zip(total, numbers):
                total[key] += number
        return total


def started(words, **more):
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def dump(*words):
    return subprocess.run(["mpit-dump", *words], capture_output=True, text=True)


def holds(title, place, run, traced):
    """The recorded job has what its processes have counted."""
    told = dump("--json", run)
    jobs = json.loads(told.stdout)["jobs"] if told.returncode == 0 else []
    check(f"{title}: one job of all ranks", [job["world_size"] for job in jobs] == [RANKS], told.stderr or jobs)
    if not jobs:
        return
    world = [comm for comm in jobs[0]["communicators"] if comm["name"] == "MPI_COMM_WORLD"][0]
    counts = place.counts()
    check(f"{title}: counts are the program's", {key: world[key] for key in counts} == counts and counts["send_count"] > 0,
          (counts, world))
    check(f"{title}: nothing lost, nobody ended badly", not any(jobs[0]["lost"].values()) and not jobs[0]["ended_badly"],
          (jobs[0]["lost"], jobs[0]["ended_badly"]))
    if traced:
        verified = dump("--verify", run)
        check(f"{title}: the trace has them, too", verified.returncode == 0, verified.stdout + verified.stderr)


def spoken_once(title, err, run):
    check(f"{title}: shown once", len(re.findall(r"^mpit-run: recorded in ", err, re.M)) == 1 and
          len(re.findall(r"^Call sites by time", err, re.M)) == 1 and f"recorded in {run}" in err, err)


def in_front_and_behind():
    for title, order, traced in (("in front", 1, False), ("in front, traced", 1, True), ("behind", 2, False),
                                 ("behind, traced", 2, True)):
        place = Place(title.replace(" ", "-").replace(",", ""))
        mpit = ["mpit-run", "--output", place.run] + ["--trace"] * traced
        srun = [*SRUN, "-n", str(RANKS)]
        status, _, err = place.steps(started([*(mpit + srun if order == 1 else srun + mpit), PROGRAM, place.path, "rounds"]))
        check(f"{title}: status", status == 0, (status, err))
        spoken_once(title, err, place.run)
        holds(title, place, place.run, traced)


def directory_of_step():
    """Without --output, the processes agree by the number of the step."""
    place = Place("step")
    status, _, err = place.steps(started([*SRUN, "-n", str(RANKS), "mpit-run", PROGRAM, place.path, "rounds"], cwd=place.path))
    runs = glob.glob(f"{place.path}/mpit-run-slurm-*")
    check("no --output: one directory, after the step", len(runs) == 1 and status == 0, (runs, status, err))
    for run in runs[:1]:
        holds("no --output", place, run, False)


def batch(place, lines):
    with open(f"{place.path}/script", "w") as file:
        file.write("\n".join(["#!/bin/sh", f"#SBATCH -n {RANKS}", *lines, ""]))
    return started(["sbatch", "--wait", "--parsable", "-o", f"{place.path}/out", f"{place.path}/script"])


def output_of(place):
    with open(f"{place.path}/out") as file:
        return file.read()


def in_batch():
    place = Place("batch")
    status, _, err = place.steps(batch(place, [f"exec mpit-run --output {place.run} {' '.join(SRUN)} {PROGRAM} {place.path} rounds"]))
    check("batch: status", status == 0, (status, err))
    spoken_once("batch", output_of(place), place.run)
    holds("batch", place, place.run, False)


def exported():
    """The script of exporter.md, with other names, a port that is free, and a look where it sleeps."""
    place = Place("exported")
    port, = free_ports(1)
    with open(DOCUMENT) as file:
        script = re.search(r"^    srun --overlap --ntasks-per-node.*?kill \$exporter$", file.read(), re.M | re.S).group(0)
    look = (f"until [ -e {place.path}/did.{ROUNDS}.{RANKS - 1} ]; do sleep 0.1; done; "
            f"curl -s --retry 20 --retry-connrefused http://$(hostname):{port}/metrics >{place.path}/metrics; "
            f"touch {place.path}/looked")
    for old, new in (("16748", str(port)), ("mpit-run srun --overlap ./app",
                     f"({look}) & mpit-run --quiet --output {place.run} {' '.join(SRUN)} {PROGRAM} {place.path} rounds"),
                     ("sleep 30", "sleep 0")):
        assert script.count(old) == 1, f"exporter.md: no {old}"
        script = script.replace(old, new)
    process = batch(place, script.splitlines())
    until(lambda: process.poll() is not None or os.path.exists(f"{place.path}/looked"), "a look at the metrics")
    status, _, err = place.steps(process)
    with open(f"{place.path}/metrics") as file:
        metrics = file.read()
    told = dump("--json", place.run)  # other jobs of this user may run here, too
    job = json.loads(told.stdout)["jobs"][0]["job"] if told.returncode == 0 else told.stderr
    sent = sum(float(n) for n in re.findall(rf'^mpit_send_count_total\{{job="{job}"[^}}]*\}} (\S+)$', metrics, re.M))
    check("exporter.md's script: the exporter sees the job", sent == place.counts()["send_count"], metrics[:2000])
    check("exporter.md's script: comes to its end", status == 0, (status, err, output_of(place)))
    holds("exporter.md's script", place, place.run, False)


def is_stuck(text):
    return all(f"rank {rank}: in {call} on MPI_COMM_WORLD" in text
               for rank, call in ((0, "MPI_Recv"), (1, "MPI_Recv"), (2, "MPI_Barrier")))


def step_cancel(job):
    subprocess.run(["scancel", "--signal=TERM", f"{job}.0"], check=True, capture_output=True)
    time.sleep(0.5)
    subprocess.run(["scancel", f"{job}.0"], capture_output=True)


def cancelled():
    for title, words in (("cancelled", lambda run: ["mpit-run", "--output", run, *SRUN]),
                         ("cancelled, behind", lambda run: [*SRUN, "mpit-run", "--output", run])):
        place = Place(title.replace(", ", "-"))
        process = batch(place, [" ".join([*words(place.run), PROGRAM, place.path, "deadlock"]), "echo status $?"])
        until(lambda: process.poll() is not None or is_stuck(dump("--crash", place.run).stdout), "the deadlock")
        time.sleep(1.2)  # what lasts shorter than a second is not called a deadlock
        step_cancel(process.stdout.readline().strip())
        process.communicate(timeout=PATIENCE)
        check(f"{title}: the status tells", not re.search("status 0$", output_of(place), re.M), output_of(place))
        told = dump("--crash", place.run)
        check(f"{title}: who was where", is_stuck(told.stdout), told.stdout + told.stderr)
        if title == "cancelled":
            check("cancelled: mpit-run tells it", "a deadlock" in output_of(place), output_of(place))


def always_on():
    """mpit for all jobs: a site's file and a TaskProlog. Programs and scripts know nothing of it."""
    place = Place("site")
    scripts = slurmcluster.installed_site(BUILD, f"{place.path}/prefix")
    with open(f"{place.path}/mpit.conf", "w") as file:
        file.write(f"output = {place.run}/%Y/%u-%j-%p\n")
    line = ["export MPIT_CONF=" + place.path + "/mpit.conf"]
    step = f"{' '.join(SRUN)} --task-prolog={scripts}/task-prolog --epilog={scripts}/epilog"
    process = batch(place, [*line, f"{step} {PROGRAM} {place.path} rounds", "echo first $?", f"MPIT_DISABLE=1 {step} -n 1 true",
                            "echo second $?"])
    status, number, err = place.steps(process)
    judge.holds(status == 0 and "first 0\n" in output_of(place) and "second 0\n" in output_of(place), "always on: status",
                (status, err, output_of(place)))
    check("always on: nothing is said", "mpit" not in output_of(place), output_of(place))
    listed = subprocess.run(["mpit-jobs", "--json", place.run], capture_output=True, text=True)
    jobs = json.loads(listed.stdout)["jobs"] if listed.returncode == 0 else []
    check("always on: mpit-jobs has the job", [(job["scheduler_job"], job["size"], job["ranks"], job["messages"]) for job in jobs] ==
          [(f"slurm {number.strip()}", RANKS, RANKS, place.counts()["send_count"])], (listed.stdout, listed.stderr))
    check("always on: one file, by user and job", len(glob.glob(f"{place.run}/20??/*-{number.strip()}-{os.path.basename(PROGRAM)}/*")) == 1,
          glob.glob(f"{place.run}/*/*/*"))
    holds("always on", place, jobs[0]["source"] if jobs else place.run, False)


def always_on_killed():
    """A job that is killed leaves live files. The epilog brings them to the logs."""
    place = Place("site-killed")
    scripts = slurmcluster.installed_site(BUILD, f"{place.path}/prefix")
    with open(f"{place.path}/mpit.conf", "w") as file:
        file.write(f"output = {place.run}/%j\nspool = {place.path}/spool\n")
    os.mkdir(f"{place.path}/spool")
    process = batch(place, [f"export MPIT_CONF={place.path}/mpit.conf",
                            f"{' '.join(SRUN)} --task-prolog={scripts}/task-prolog {PROGRAM} {place.path} deadlock"])
    until(lambda: process.poll() is not None or any(is_stuck(dump("--crash", spool).stdout) for spool in
                                                   glob.glob(f"{place.path}/spool/mpit-*/*")), "the deadlock")
    subprocess.run(["scancel", "--full", "--signal=KILL", process.stdout.readline().strip()], capture_output=True)
    process.communicate(timeout=PATIENCE)
    until(lambda: not subprocess.run(["pgrep", "-f", f"{PROGRAM} {place.path}"], capture_output=True).stdout, "the job is dead")
    check("always on, killed: nothing is in the logs yet", not os.path.isdir(place.run), place.run)
    ended = subprocess.run([f"{scripts}/epilog"], capture_output=True, text=True,
                           env=dict(os.environ, SLURM_JOB_USER=subprocess.getoutput("id -un"), MPIT_CONF=f"{place.path}/mpit.conf"))
    runs = glob.glob(f"{place.run}/*")
    check("always on, killed: the epilog collects", ended.returncode == 0 and len(runs) == 1, (ended, runs))
    told = dump("--crash", runs[0]) if runs else None
    check("always on, killed: who was where", told and is_stuck(told.stdout), told)


def main():
    if not slurmcluster.is_there(BUILD):
        judge.skip("jobs of Slurm", "there is no Slurm (CONTRIBUTING.md)")
        return judge.verdict()
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    os.makedirs(DIRECTORY)
    for name in [name for name in os.environ if name.startswith(("MPIT_", "SLURM_")) or name == "LD_PRELOAD"]:
        del os.environ[name]
    cluster = slurmcluster.Cluster(BUILD, DIRECTORY)
    try:
        cluster.begin()
        in_front_and_behind()
        directory_of_step()
        in_batch()
        exported()
        cancelled()
        always_on()
        always_on_killed()
    finally:
        cluster.end()
    return judge.verdict()


sys.exit(main())
