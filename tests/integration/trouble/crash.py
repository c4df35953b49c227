#!/usr/bin/env python3
"""crash.py BUILD MPI GROUP: programs that are killed. What mpit recorded is what crash.c has written down.

kills    at random moments, single processes, with a trace, without, with one that is bounded and goes in a ring
places   at each of the places where the recorder changes the run file, and makes the summary
steps    after any number of instructions, while a ring turns and while a communicator's place changes
jobs     jobs whose processes end in all ways
ends     jobs whose launcher ends, that hang, that end while the summary is made, and that end well
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import crashbook
import crashjobs
import trial

SECONDS = 60


class Bench:
    """A build, an MPI, and a place to work in."""

    def __init__(self, build, mpi):
        self.build, self.mpi = os.path.abspath(build), mpi
        self.dump = self.build + "/bin/mpit-dump"
        self.run_tool = self.build + "/bin/mpit-run"
        self.library = "%s/lib/libmpit.so" % self.build
        self.program = "%s/tests/crash-%s" % (self.build, mpi)
        self.work = tempfile.mkdtemp(prefix="mpit-crash.")
        self.judge = trial.Judge()
        os.environ["MPIT_SPOOL"] = self.work + "/spool"  # what was killed goes with it
        self.environment = trial.environment(MPIT_SPOOL=self.work + "/spool")

    def fresh(self):
        """Empty directories for books and run."""
        for name in ("books", "run", "spool"):
            shutil.rmtree(self.work + "/" + name, ignore_errors=True)
        os.makedirs(self.work + "/spool", exist_ok=True)  # who collects the job before may have made it again
        os.mkdir(self.work + "/books")
        return self.work + "/books", self.work + "/run"

    def alone(self, settings, preload=""):
        """The environment of a single process that is recorded."""
        return dict(self.environment, LD_PRELOAD=self.library + preload, MPIT_OUTPUT=self.work + "/run", **settings)

    def say(self, good, name, details=()):
        """A check's outcome."""
        self.judge.check(name, [] if good else details or ["no details"])


def tree_kill(pid):
    """A singleton of Open MPI has a daemon of its own, which goes when it sees that. This is the process."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


RING = {"MPIT_TRACE": "1", "MPIT_TRACE_LIMIT_BYTES": "600000", "MPIT_TRACE_POLICY": "ring"}
VARIANTS = [
    ("trace", "mixed", 1, {"MPIT_TRACE": "1"}, None),
    ("trace, three threads", "mixed", 3, {"MPIT_TRACE": "1"}, None),
    ("trace, communicators", "comms", 1, {"MPIT_TRACE": "1"}, None),
    ("no trace", "plain", 1, {"MPIT_FLIGHT_EVENTS": "300"}, 300),
    ("no trace, one event", "plain", 1, {"MPIT_FLIGHT_EVENTS": "1"}, 1),
    ("no trace, messages", "mixed", 2, {}, 4096 - 4),
    ("a trace in a ring", "mixed", 1, RING, 8190),
]


def kills(bench):
    """At random moments."""
    draw = random.Random(time.time())
    until = time.time() + 20
    tried = dict.fromkeys([variant[0] for variant in VARIANTS], 0)
    while time.time() < until or min(tried.values()) < 3:
        for name, operations, threads, settings, least in VARIANTS:
            books, run = bench.fresh()
            process = subprocess.Popen([bench.program, books, operations, str(threads), "forever", "0"],
                                       env=bench.alone(settings), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            give_up = time.time() + SECONDS
            while not crashbook.ready(books + "/0") and process.poll() is None and time.time() < give_up:
                time.sleep(0.002)
            time.sleep(draw.random() * 0.05)
            tree_kill(process.pid)
            process.wait()
            wrong = crashbook.run_check(bench.dump, run, books, least)
            tried[name] += 1
            if wrong:
                bench.say(False, "killed while it runs: " + name, wrong)
                return
    for name, count in tried.items():
        bench.say(True, "killed %d times while it runs: %s" % (count, name))


PLACES = [(call, n, where, "mixed", "20000", {"MPIT_TRACE": "1"}, None) for call, n, where in [
    ("posix_fallocate", 2, "before"), ("posix_fallocate", 2, "after"), ("posix_fallocate", 3, "after"),
    ("pwritev", 1, "before"), ("pwritev", 1, "half"),
    ("pwritev", 1, "after"), ("pwritev", 3, "half"), ("pwritev", 3, "after")]]
PLACES += [("pwritev", n, "half", "mixed", "20000", {"MPIT_TRACE": "1"}, None) for n in range(13, 19)]
# a block is some 15 writes; four of them fill the ring: these take the place of an older one, fill it, and publish it
PLACES += [("pwritev", n, where, "mixed", "200000", RING, 8190) for n in (62, 63, 64, 65, 70, 75, 76, 77)
           for where in ("before", "half", "after")]
PLACES += [("pwritev", n, where, "comms", "100000", {"MPIT_TRACE": "1"}, None) for n in (1, 2)
           for where in ("half", "after")]


def places(bench):
    """Where the run file changes. That it gets there is a part of the test."""
    for call, n, where, operations, calls, settings, least in PLACES:
        books, run = bench.fresh()
        name = "killed at %s %d, %s it (%s%s)" % (call, n, where, operations, ", ring" if settings is RING else "")
        environment = bench.alone(dict(settings, KILLAT="%s:%d:%s" % (call, n, where)),
                                  ":%s/tests/killat-%s.so" % (bench.build, bench.mpi))
        done = subprocess.run([bench.program, books, operations, "1", "finalize", calls], env=environment,
                              capture_output=True, timeout=SECONDS, check=False)
        wrong = [] if done.returncode == -signal.SIGKILL else ["it was not killed: status %d" % done.returncode]
        if os.listdir(books):
            wrong += crashbook.run_check(bench.dump, run, books, least)
        bench.say(not wrong, name, wrong)


def steps(bench):
    """After any number of instructions: around a turn of a ring, where a communicator gets another's place, and in a call
    that writes 33 records at once. Behind four rounds of 65 events and that there is no record without its call."""
    draw = random.Random(time.time())
    stepkill = bench.build + "/tests/stepkill"
    until = time.time() + 20
    variants = [("plain", 600, {"MPIT_FLIGHT_EVENTS": "300"}, 300), ("plain", 8185, {"MPIT_TRACE": "1"}, None),
                ("comms", 1000, {"MPIT_TRACE": "1"}, None), ("comms", 1000, {}, 4096 - 8),
                ("waits", 990, {"MPIT_FLIGHT_EVENTS": "293"}, 292), ("waits", 990, {"MPIT_TRACE": "1"}, None)]
    tried = 0
    while time.time() < until or tried < 8:
        operations, calls, settings, least = variants[tried % len(variants)]
        instructions = draw.randrange(8, 10000) if operations == "waits" else int(2 ** (draw.random() * 13 + 3))
        books, run = bench.fresh()
        done = subprocess.run([stepkill, str(instructions), bench.program, books, operations, "1", "mark", str(calls)],
                              env=bench.alone(settings), capture_output=True, timeout=SECONDS, check=False)
        if done.returncode == 77:
            bench.judge.skip("killed after some instructions", "processes cannot be traced here")
            return
        wrong = [] if done.returncode == 0 else ["stepkill: status %d" % done.returncode]
        wrong += crashbook.run_check(bench.dump, run, books, least)
        tried += 1
        if wrong:
            bench.say(False, "killed %d instructions behind call %d (%s, %s)" % (instructions, calls, operations, settings),
                      wrong)
            return
    bench.say(True, "killed %d times, after some instructions" % tried)


GROUPS = {"kills": kills, "places": places, "steps": steps, "jobs": crashjobs.jobs, "ends": crashjobs.ends}


def main():
    """Runs a group."""
    bench = Bench(sys.argv[1], sys.argv[2])
    try:
        GROUPS[sys.argv[3]](bench)
    finally:
        shutil.rmtree(bench.work, ignore_errors=True)
    sys.exit(bench.judge.verdict())


main()
