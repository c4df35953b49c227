#!/usr/bin/python3
"""A trace that is longer than the spool may hold moves to the output directory while the program runs.

    drain.py BUILD

Two ranks of marked.c record some 90 MB each through a bound of LIMIT bytes. What did not fit in time is lost, and counted: the
replayed trace and the losses together are the tallies. Then the output directory is full from the start: the program ends as
natively, the loss is told, and nobody goes on trying after the job. Last, it is full when the job ends: when there is room again
mpit-collect brings all that had been moved before.
"""
import glob
import json
import os
import re
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

RANKS, CALLS, LIMIT = 2, 1_000_000, 4_000_000


class Peak(threading.Thread):
    """Watches how many bytes the spool takes."""

    def __init__(self, directory):
        super().__init__()
        self.directory, self.bytes, self.ended = directory, 0, threading.Event()

    def run(self):
        while not self.ended.wait(0.01):
            held = 0
            for path in glob.glob(self.directory + "/*/*/*.mpit"):
                try:
                    held += os.stat(path).st_blocks * 512
                except OSError:
                    pass
            self.bytes = max(self.bytes, held)


def job(build, mpi, directory, output):
    """-> (Ended, bytes of the spool at most)"""
    variables = {"LD_PRELOAD": trial.preload(build, mpi), "MPIT_TRACE": "1", "MPIT_OUTPUT": output, "MPIT_SPOOL": directory + "/spool",
                 "MPIT_SPOOL_LIMIT_BYTES": str(LIMIT)}
    os.makedirs(directory + "/spool", exist_ok=True)
    watch = Peak(directory + "/spool")
    watch.start()
    ended = trial.run([*trial.launcher(mpi, RANKS, variables), f"{build}/tests/marked-{mpi}", str(CALLS)], 120,
                      trial.environment(MPIT_SPOOL=directory + "/spool"))
    watch.ended.set()
    watch.join()
    return ended, watch.bytes


def collectors(output):
    """Processes that still work for this output directory."""
    return subprocess.run(["pgrep", "-f", f"mpit-collect.*{output}"], check=False, capture_output=True, text=True).stdout.split()


def dumped(build, directory, output, *options):
    """mpit-dump of it. -> Ended"""
    return trial.run([build + "/bin/mpit-dump", *options, output], 120, trial.environment(MPIT_SPOOL=directory + "/spool"))


def losses(ended):
    """By cause."""
    try:
        return json.loads(ended.out)["jobs"][0]["lost"]
    except (ValueError, KeyError, IndexError):
        return {}


def bounded(judge, name, peak):
    """A ring, the header and a step of the drain come on top of the bound, for each rank."""
    most = RANKS * 2 * LIMIT
    judge.check(f"{name}: the spool holds {most} bytes at the most", [] if peak <= most else [f"{peak} bytes"])


def complete(judge, name, build, directory, output):
    """Each event is in the trace, or counted as lost."""
    verified, lost = dumped(build, directory, output, "--verify"), losses(dumped(build, directory, output, "--json"))
    missing = [int(number) for number in re.findall(r"cannot be compared: (\d+) event records are not in the trace", verified.out)]
    judge.check(f"{name}: the replayed trace equals the counters, or what it lacks equals the losses",
                [] if verified.out.count("equals the counters") + len(missing) == RANKS and lost.get("spool_full", 0) == sum(missing)
                else [str(verified)[-800:], str(lost)])


def drained(judge, build, mpi, directory):
    """The output directory takes it."""
    output = directory + "/output"
    ended, peak = job(build, mpi, directory, output)
    judge.check(f"{mpi}: the job ends well", [str(ended)] if ended.hung or ended.status else [])
    bounded(judge, mpi, peak)
    trial.comes(lambda: not glob.glob(directory + "/spool/*/*/*.mpit"))
    names = os.listdir(output)
    judge.check(f"{mpi}: the results are one file", [] if len(names) == 1 and names[0].endswith(".mpit") else [str(names)])
    complete(judge, mpi, build, directory, output)
    judge.check(f"{mpi}: no drain is left", [] if trial.comes(lambda: not collectors(output)) else collectors(output))


def mounted(mount, *options):
    """A file system in memory. False: none can be mounted here."""
    os.makedirs(mount, exist_ok=True)
    return os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", mount], check=False,
                                                capture_output=True).returncode == 0


def late_room(judge, build, mpi, directory):
    """The output directory is full when the job ends."""
    name, mount = f"{mpi}, room comes later", directory + "/small"
    if not mounted(mount, "size=1m"):
        judge.skip(name, "nothing can be mounted here")
        return
    try:
        output = mount + "/output"
        ended, _ = job(build, mpi, directory, output)
        judge.check(f"{name}: the job ends well", [str(ended)] if ended.hung or ended.status else [])
        trial.comes(lambda: not collectors(output))
        parts, files = glob.glob(output + "/*.part"), glob.glob(output + "/*.mpit")
        judge.check(f"{name}: what was moved before stays", [] if 1 <= len(parts) <= RANKS and len(files) <= 1 else [str(os.listdir(output))])
        mounted(mount, "remount", "size=1g")
        collected = trial.run([build + "/bin/mpit-collect", output], 60, trial.environment(MPIT_SPOOL=directory + "/spool"))
        judge.check(f"{name}: mpit-collect brings it", [] if collected.status == 0 and not glob.glob(output + "/*.part") else [str(collected)])
        complete(judge, name, build, directory, output)
    finally:
        subprocess.run(["umount", "-l", mount], check=False)


def elsewhere(judge, build, mpi, directory):
    """The output directory is full when the job ends, and the results go to another one: also what had been moved before."""
    name, mount = f"{mpi}, brought elsewhere", directory + "/tight"
    if not mounted(mount, "size=1m"):
        judge.skip(name, "nothing can be mounted here")
        return
    try:
        output, other = mount + "/output", directory + "/other"
        job(build, mpi, directory, output)
        trial.comes(lambda: not collectors(output))
        collected = trial.run([build + "/bin/mpit-collect", "--to", other, output], 60, trial.environment(MPIT_SPOOL=directory + "/spool"))
        judge.check(f"{name}: mpit-collect --to brings it", [] if collected.status == 0 and len(os.listdir(other)) == 1 else [str(collected)])
        if not glob.glob(output + "/*.mpit"):  # nothing fitted there
            complete(judge, name, build, directory, other)
    finally:
        subprocess.run(["umount", "-l", mount], check=False)


def killed(judge, build, mpi, directory):
    """A rank is killed with a long trace, and a tool reads it before anybody collects it: what was moved is there, too."""
    name, output = f"{mpi}, killed", directory + "/killed"
    variables = {"LD_PRELOAD": trial.preload(build, mpi), "MPIT_TRACE": "1", "MPIT_OUTPUT": output, "MPIT_SPOOL": directory + "/spool"}
    os.makedirs(directory + "/spool", exist_ok=True)
    said = open(directory + "/said", "w")
    job = subprocess.Popen([*trial.launcher(mpi, 1, variables), f"{build}/tests/interrupted-{mpi}", "storm", "60"], stdout=said, stderr=said,
                           env=trial.environment(MPIT_SPOOL=directory + "/spool"))
    trial.comes(lambda: any(os.path.getsize(part) > 100000 for part in glob.glob(output + "/*.part")))
    subprocess.run(["pkill", "-9", "-f", f"^{build}/tests/interrupted-{mpi} storm 60"], check=False)
    job.wait()
    before, events = dumped(build, directory, output, "--verify"), dumped(build, directory, output, "--events").out.count("\n")
    # it may have died among the counters of a call, or before its record: then they are ahead of the trace by that call
    ahead = [int(live) - int(replayed) for live, replayed in re.findall(r"live (\d+), replayed (\d+)", before.out)]
    whole = [int(live) for live in re.findall(r"live (\d+)", before.out)]
    equal = "equals the counters" in before.out or (ahead and all(0 < more <= 1 + all_ / 1000 for more, all_ in zip(ahead, whole)))
    judge.check(f"{name}: before it is collected, the replayed trace equals the counters", [] if equal else [str(before)[-800:]])
    trial.run([build + "/bin/mpit-collect", output], 60, trial.environment(MPIT_SPOOL=directory + "/spool"))
    after = dumped(build, directory, output, "--events").out.count("\n")
    judge.check(f"{name}: and it has the same events then", [] if events == after > 100000 else [f"{events}, and then {after}"])


def full(judge, build, mpi, directory):
    """The output directory takes nothing."""
    mount = directory + "/full"
    if not mounted(mount, "size=64k"):
        judge.skip(f"{mpi}: a full output directory", "nothing can be mounted here")
        return
    try:
        ended, peak = job(build, mpi, directory, mount + "/output")
        judge.check(f"{mpi}, full output directory: the job ends well", [str(ended)] if ended.hung or ended.status else [])
        bounded(judge, f"{mpi}, full output directory", peak)
        lost = losses(dumped(build, directory, mount + "/output", "--json"))
        judge.check(f"{mpi}, full output directory: the loss is told by cause", [] if lost.get("spool_full", 0) > 0 else [str(lost)])
        judge.check(f"{mpi}, full output directory: no drain is left",
                    [] if trial.comes(lambda: not collectors(mount + "/output")) else collectors(mount + "/output"))
    finally:
        subprocess.run(["umount", "-l", mount], check=False)


trial.judge_mpis(os.path.abspath(sys.argv[1]), trial.Judge(), drained, late_room, elsewhere, killed, full)
