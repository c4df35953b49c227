#!/usr/bin/python3
"""Output directories that freeze, refuse mappings, fail, are full, or go away, and live files that are cut off: the program
must not notice.

    outputdir_trouble.py BUILD [--all] [--only TEXT]

Each job (rounds.c) runs natively and recorded: counters only below mpit-run, and a trace by a preload. Both MPIs take turns at
the troubles. With --all each of them has all. Judged are exit status and longest round against the native job, an end at most
LATER seconds after its, and that everything was recorded or a line tells what is lost. Most troubles need root and FUSE.
"""
import argparse
import concurrent.futures
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

RANKS, MANY = 2, 24
STALL = 12  # seconds
LONGER = 0.5  # seconds that a round may last longer than the native job's longest
LATER = 5  # seconds that a recorded job may end later
SHORT, LONG = 3, STALL + 4  # seconds of rounds
AT_ONCE = 4  # jobs, which sleep most of the time


def done(*words):
    """A command that has to succeed."""
    ended = trial.run(list(words), 60)
    if ended.status or ended.hung:
        raise OSError(f"{' '.join(words)}: {ended}")


class Place:
    """Where a run directory is, and what can be done to it."""

    def __init__(self, directory, process=None):
        self.directory, self.process = directory, process
        self.run, self.spool = directory + "/run", None


@contextlib.contextmanager
def mounted(work, *words):
    """mount with WORDS at work/mount."""
    target = work + "/mount"
    os.mkdir(target)
    done("mount", *words, target)
    try:
        yield Place(target)
    finally:
        # a file that a process has open holds it
        subprocess.run(["umount", "-l", target], check=False, timeout=60)


@contextlib.contextmanager
def ext4(work):
    """A file system of its own on a loop device. What could leave it frozen is undone by a second process, too."""
    with open(work + "/image", "wb") as image:
        image.truncate(200 << 20)
    done("mkfs.ext4", "-q", work + "/image")
    with mounted(work, "-o", "loop", work + "/image") as place:
        guard = subprocess.Popen(["sh", "-c", 'sleep "$1" & trap "kill $!" TERM; wait; fsfreeze -u "$2" 2>/dev/null', "guard",
                                  str(STALL + 60), place.directory])
        try:
            yield place
        finally:
            guard.terminate()
            guard.wait(30)


def tmpfs(*options):
    """A small file system in memory."""
    return lambda work: mounted(work, "-t", "tmpfs", "-o", ",".join(options), "none")


def fuse(*options):
    """troublefs, over work/backing."""
    @contextlib.contextmanager
    def made(work):
        for name in ("backing", "mount"):
            os.mkdir(f"{work}/{name}")
        server = subprocess.Popen([trouble_server, *options, work + "/backing", work + "/mount", str(STALL)],
                                  stderr=subprocess.DEVNULL)
        try:
            until = time.monotonic() + 20
            while not os.path.ismount(work + "/mount"):
                if time.monotonic() > until or server.poll() is not None:
                    raise OSError("FUSE cannot be mounted here")
                time.sleep(0.05)
            yield Place(work + "/mount", server)
        finally:
            server.kill()
            server.wait(30)
            subprocess.run(["umount", "-l", work + "/mount"], check=False, timeout=60)
    return made


@contextlib.contextmanager
def plain(work):
    """An ordinary directory."""
    os.mkdir(work + "/plain")
    yield Place(work + "/plain")


def freeze(place):
    """Written back first: the next store into a page of a mapped file waits then."""
    done("sync", "-f", place.directory)
    done("fsfreeze", "-f", place.directory)
    try:
        time.sleep(STALL)
    finally:
        done("fsfreeze", "-u", place.directory)


def stall_at_end(place):
    """The stall begins before the rounds end, and outlasts them."""
    time.sleep(SHORT - 1)
    place.process.send_signal(signal.SIGUSR2)


def fill(place):
    """Not a byte is left."""
    with contextlib.suppress(OSError), open(place.directory + "/filling", "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def remove(place):
    """As rm -rf does."""
    shutil.rmtree(place.run, ignore_errors=True)


def cut_off(place):
    """Each store into their mappings faults from now on."""
    for path in glob.glob(place.spool + "/*/*/*.mpit"):
        os.truncate(path, 0)


def read_only(place):
    """Before the job begins."""
    done("mount", "-o", "remount,ro", place.directory)


def sent(number):
    """A signal for the server."""
    return lambda place: place.process.send_signal(number)


# name, place, what is done before the job, what once all ranks have begun, seconds of rounds, ranks
TROUBLES = [
    (f"frozen for {STALL} s", ext4, None, freeze, LONG, RANKS),
    (f"FUSE, stalls for {STALL} s", fuse(), None, sent(signal.SIGUSR2), LONG, RANKS),
    (f"FUSE, stalls for {STALL} s around the end", fuse(), None, stall_at_end, SHORT, RANKS),
    (f"FUSE, stalls for {STALL} s around the end of {MANY} ranks", fuse(), None, stall_at_end, SHORT, MANY),
    ("FUSE, refuses shared mappings", fuse("--direct-io"), None, None, SHORT, RANKS),
    ("FUSE, fails with EIO", fuse(), None, sent(signal.SIGUSR1), SHORT, RANKS),
    ("FUSE, its server is killed", fuse(), None, sent(signal.SIGKILL), SHORT, RANKS),
    ("full from the start", tmpfs("size=64k"), fill, None, SHORT, RANKS),
    ("fills up", tmpfs("size=2m"), None, fill, SHORT, RANKS),
    ("deleted", plain, None, remove, SHORT, RANKS),
    ("live files cut off", plain, None, cut_off, SHORT, RANKS),
    ("read-only", tmpfs("size=2m"), read_only, None, SHORT, RANKS),
]


class Outcome:
    """A job's end, what its program printed, and how long the job took without its rounds."""

    def __init__(self, ended, seconds):
        self.ended, self.besides = ended, ended.seconds - seconds
        lines = re.findall(r"^rank \d+: (\d+) calls, longest round ([\d.]+) s", ended.out, re.M)
        self.ranks = len(lines)
        self.calls = sum(int(calls) for calls, _ in lines)
        self.longest = max((float(seconds) for _, seconds in lines), default=0.0)


def started(books, job, ranks):
    """All ranks make rounds, or the job has ended."""
    until = time.monotonic() + 60
    while len(os.listdir(books)) < ranks and job.process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)


def native(build, mpi, ranks):
    """The job without mpit."""
    with tempfile.TemporaryDirectory(prefix="mpit-trouble.") as books:
        return Outcome(trial.run([*trial.launcher(mpi, ranks), f"{build}/tests/rounds-{mpi}", books, str(SHORT)], 60), SHORT)


def words_of(build, mpi, traced, run, ranks):
    """What stands in front of the program."""
    if not traced:
        return [build + "/bin/mpit-run", "--mpi", mpi, "--output", run, *trial.launcher(mpi, ranks)]
    return trial.launcher(mpi, ranks, {"LD_PRELOAD": trial.preload(build, mpi), "MPIT_OUTPUT": run, "MPIT_TRACE": "1"})


def recorded(build, mpi, traced, trouble):
    """One job in trouble. -> (Outcome, what mpit-dump says of it afterwards); None: not possible here"""
    _, made, before, after, seconds, ranks = trouble
    with tempfile.TemporaryDirectory(prefix="mpit-trouble.", ignore_cleanup_errors=True) as work, trial.spool() as spool, \
            contextlib.ExitStack() as stack:
        try:
            place = stack.enter_context(made(work))
        except OSError as error:
            return str(error), None
        books, place.spool = work + "/books", spool
        os.mkdir(books)
        if before:
            before(place)
        job = trial.Job([*words_of(build, mpi, traced, place.run, ranks), f"{build}/tests/rounds-{mpi}", books, str(seconds)],
                        trial.environment(MPIT_SPOOL=spool))
        try:
            if after:
                started(books, job, ranks)
                after(place)
        finally:
            outcome = Outcome(job.ended(seconds + STALL + 40), seconds)
        return outcome, trial.run([build + "/bin/mpit-dump", "--json", place.run], STALL + 30,
                                  trial.environment(MPIT_SPOOL=spool))


def calls_shown(dumped):
    """How many calls of the program mpit-dump knows of, and whether it says that some were lost."""
    try:
        jobs = json.loads(dumped.out)["jobs"]
        return sum(job["calls"].get("MPI_Sendrecv", {}).get("count", 0) for job in jobs), any(any(job["lost"].values()) for job in jobs)
    except (ValueError, KeyError):
        return 0, False


def said(text):
    """mpit's own lines about losses."""
    return [line for line in text.splitlines() if re.match(r"mpit(-run|-dump|-collect)?: ", line)
            and not re.match(r"mpit-run: (recorded in |MPIT_SPOOL )", line)]


def faults(outcome, dumped, bare, ranks):
    """What is wrong, by what is judged."""
    ended = outcome.ended
    wrong = {"ends as natively": [], "longest round as natively": [], "one line of the ranks at the most": []}
    if ended.hung or ended.status != bare.ended.status:
        wrong["ends as natively"].append(f"natively status {bare.ended.status}: {ended}")
    elif outcome.besides > bare.besides + LATER:
        wrong["ends as natively"].append(f"{outcome.besides:.1f} s beside the rounds, natively {bare.besides:.1f} s")
    of_ranks = [line for line in ended.err.splitlines() if line.startswith("mpit: ")]
    if len(of_ranks) > 1:
        wrong["one line of the ranks at the most"] += [f"{len(of_ranks)} lines"] + of_ranks[:4]
    if outcome.ranks < ranks:
        wrong["longest round as natively"].append(f"{outcome.ranks} of {ranks} ranks came to the end of their rounds")
        return wrong
    if outcome.longest > bare.longest + LONGER:
        wrong["longest round as natively"].append(f"{outcome.longest:.3f} s, natively {bare.longest:.3f} s")
    shown, lost = calls_shown(dumped)
    # a directory that mpit-dump cannot read says nothing of what was lost
    told = said(ended.err) or dumped.status == 0 and (lost or said(dumped.err))
    wrong["recorded, or the loss is told"] = [] if shown == outcome.calls or told else [
        f"{shown} of {outcome.calls} calls are shown, and not a word: {ended}\n{dumped}"]
    return wrong


def tried(case):
    """A job and its judgement. A time that is too long, and shorter than a stall, is measured again: the machine may be busy.
    -> (name, {judged: wrong}, why it was skipped)"""
    build, mpi, traced, trouble, bare = case
    name = f"{trouble[0]}, {mpi}, {'a trace' if traced else 'counters'}"
    if trouble_server is None and trouble[0].startswith("FUSE"):
        return name, {}, "troublefs is not built, or there is no FUSE"
    for _ in range(3):
        outcome, dumped = recorded(build, mpi, traced, trouble)
        if dumped is None:
            return name, {}, outcome
        wrong = faults(outcome, dumped, bare, trouble[5])
        slow = max(outcome.longest - bare.longest - LONGER, outcome.besides - bare.besides - LATER)
        if outcome.ended.hung or outcome.ended.status != bare.ended.status or not 0 < slow < STALL / 2:
            break
    return name, wrong, None


def main():
    """Some jobs at once, since they sleep most of the time. The long ones begin."""
    global trouble_server
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--all", action="store_true", help="every trouble on each MPI")
    parser.add_argument("--only", default="", help="troubles with this text in their names")
    words = parser.parse_args()
    trouble_server = words.build + "/tests/troublefs"
    if not os.access(trouble_server, os.X_OK) or not os.access("/dev/fuse", os.W_OK):
        trouble_server = None
    judge = trial.Judge()
    if os.geteuid() != 0:
        judge.skip("output directories that fail", "file systems cannot be mounted without root")
        sys.exit(judge.verdict())
    mpis = trial.mpis(words.build)
    bare = {(mpi, ranks): native(words.build, mpi, ranks) for mpi in mpis for ranks in (RANKS, MANY)}
    cases = [(words.build, mpi, traced, trouble, bare[mpi, trouble[5]]) for number, trouble in enumerate(TROUBLES) if words.only in trouble[0]
             for traced in (False, True) for turn, mpi in enumerate(mpis) if words.all or (number + traced + turn) % len(mpis) == 0]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(pool.map(tried, cases))
    for name, wrong, why in outcomes:
        if why is not None:
            judge.skip(name, why)
        for what, texts in wrong.items():
            judge.check(f"{name}: {what}", texts)
    sys.exit(judge.verdict())


trouble_server = None
main()
