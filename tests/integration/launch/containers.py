"""containers.py BUILD MPI SCRATCH LAUNCHER...: a job of two ranks on two hosts, each in a PID namespace of its own, as
in a container, where both have the number 1. What the tools say of it from inside of rank 0's namespace, where rank 1's
number is that of rank 0, and from outside, where both have other numbers; while both live, and when rank 1 was killed.
LAUNCHER... starts two processes. Called by test_nodes.sh, in the directory that the hosts share."""
import glob
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from livefiles import live_files

build, mpi, scratch = sys.argv[1:4]
launcher = sys.argv[4:]
base = f"{scratch}/containers-{mpi}"
run = base + "/run"
TOP, EXPORTER, DUMP = (f"{build}/bin/mpit-{name}" for name in ("top", "exporter", "dump"))


def say(good, what, detail=""):
    print(f"{'ok' if good else 'not ok'} {what}" + ("" if good else f": {detail}"), flush=True)


def until(what, seconds=30):
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.1)
    return what()


def processes():
    """The numbers that the ranks have here, by rank."""
    found = {}
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            if os.readlink(path[:-7] + "exe") != os.path.realpath(f"{build}/tests/livejob-{mpi}"):
                continue
            rank = re.search(rb"(?:^|\0)(?:OMPI_COMM_WORLD_RANK|PMI_RANK)=(\d+)", open(path, "rb").read())
            found[int(rank.group(1))] = int(path.split("/")[2])
        except (OSError, AttributeError):
            pass
    return found


def output(inside, *command):
    """What a tool prints: here, or in the namespace of process `inside`."""
    enter = ["nsenter", "-t", str(inside), "-p", "-m", f"--wd={base}"] if inside else []
    done = subprocess.run([*enter, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=60, text=True)
    return done.stdout if done.returncode == 0 else f"status {done.returncode}: {done.stderr}"


def seen(inside, *paths):
    """mpit-top's job: the states by rank, and its deadlock."""
    text = output(inside, TOP, "--once", "--json", "--interval", "0.1", *paths)
    jobs = [job for job in json.loads(text)["jobs"] if job["world_size"] == 2] if text.startswith("{") else []
    if len(jobs) != 1:
        return None, text
    return {rank["rank"]: rank["state"] for rank in jobs[0]["ranks"]}, jobs[0]["deadlock"]


def watched(watch):
    """The states by rank in the next line of a mpit-top that goes on."""
    jobs = [job for job in json.loads(watch.stdout.readline())["jobs"] if job["world_size"] == 2]
    return {rank["rank"]: rank["state"] for rank in jobs[0]["ranks"]} if jobs else None


def phases(inside, *paths):
    """mpit-exporter's processes: the phase by rank."""
    text = output(inside, EXPORTER, "--once", *paths)
    return {int(re.search(r'rank="(\d+)"', line).group(1)): re.search(r'phase="(\w+)"', line).group(1)
            for line in text.splitlines() if line.startswith("mpit_process_info{")}


os.mkdir(base)
wrapper = base + "/contained"
with open(wrapper, "w") as file:  # it stays when its process was killed, so that the launcher does not end the other one
    file.write('#!/bin/sh\nunshare --pid --fork --kill-child=KILL --mount-proc "$@"\n'
               f"until [ -e '{base}/end' ]; do sleep 0.1; done\n")
os.chmod(wrapper, 0o755)
job = subprocess.Popen([f"{build}/bin/mpit-run", "--quiet", "--trace", "--output", run, *launcher, wrapper,
                        f"{build}/tests/livejob-{mpi}", base, "deadlock"], stdin=subprocess.DEVNULL,
                       stdout=open(base + "/out", "w"), stderr=subprocess.STDOUT, start_new_session=True)
try:
    until(lambda: len(processes()) == 2 and len(live_files(run)) == 2)
    pids = processes()
    say(len(pids) == 2, "two ranks in PID namespaces of their own run", open(base + "/out").read())
    running = {0: "running", 1: "running"}
    circle = "rank 0 waits for rank 1, which waits for rank 0: a deadlock"
    until(lambda: seen(0, run)[1] == circle)
    for where, inside, paths in (("outside, by its path", 0, [run]), ("outside", 0, []), ("inside", pids[0], [run])):
        states, deadlock = seen(inside, *paths)
        say(states and not set(states.values()) & {"dead", "finished"}, f"mpit-top, {where}: both live", (states, deadlock))
        say(deadlock == circle, f"mpit-top, {where}: names their deadlock", deadlock)
    say(phases(0) == running, "mpit-exporter, outside: tells both", phases(0))
    say(phases(pids[0], run) == {0: "running"}, "mpit-exporter, inside: tells its own", phases(pids[0], run))
    text = output(pids[0], DUMP, "--crash", run)
    say("rank 0: in MPI_Recv" in text and "still running\n" in text, "mpit-dump --crash, inside: one runs still", text)
    say("rank 1: in MPI_Recv" in text and "still running, according to its file\n" in text and circle in text,
        "  and the other as far as its file tells: a deadlock", text)
    watch = subprocess.Popen([TOP, "--json", "--interval", "0.2"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    until(lambda: len(watched(watch) or {}) == 2)
    os.kill(pids[1], signal.SIGKILL)
    until(lambda: (watched(watch) or {}).get(1) == "dead")
    states = watched(watch)
    say(states and states.get(1) == "dead" and states.get(0) != "dead", "mpit-top, outside: sees a rank die", states)
    watch.terminate()
    watch.wait()
    until(lambda: 1 not in processes())
    say(0 in processes(), "rank 1 is killed, and rank 0 goes on waiting", open(base + "/out").read())
    states, deadlock = seen(0)
    say(states and states.get(0) != "dead", "mpit-top, outside: rank 0 lives", (states, deadlock))
    states, deadlock = seen(pids[0], run)
    say(states and states.get(1) != "dead", "mpit-top, inside: nothing tells that rank 1 is dead", states)
    say(phases(0) == {0: "running"}, "mpit-exporter, outside: tells the one that lives", phases(0))
    say(phases(pids[0], run) == {0: "running"}, "mpit-exporter, inside: tells its own", phases(pids[0], run))
finally:
    open(base + "/end", "w").close()
    for pid in processes().values():
        os.kill(pid, signal.SIGKILL)
    try:
        job.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
