#!/usr/bin/python3
"""root's mpit-exporter on a node with users who want it to open files of root's, or to have no time for others.

    strangers.py BUILD [USERS COUNT SCRAPES]

Each of USERS has a live process, 300 copies of its live file, COUNT spools, and COUNT directories with an open run file in
each. Meanwhile it swaps (renameat2) a run file and a directory for links to root's. The job of one more user has to be in
each scrape. Needs root. Without numbers it takes some seconds; "10 10000 20" is the whole of it.
"""
import ctypes
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

BUILD = os.path.abspath(sys.argv[1])
USERS, COUNT, SCRAPES = map(int, sys.argv[2:5]) if len(sys.argv) > 2 else (3, 500, 4)
FIRST, SECONDS_MOST, COPIES = 64101, 1.0, 300
judge = trial.Judge()
libc = ctypes.CDLL(None, use_errno=True)


def swap_forever(pairs):
    pairs = [tuple(os.fsencode(path) for path in pair) for pair in pairs]
    while True:
        for one, other in pairs:
            libc.renameat2(-100, one, -100, other, 2)  # RENAME_EXCHANGE


def with_parent():
    libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def copied(data, path):
    """Without the pages of zeros, of which a live file has many."""
    with open(path, "wb") as file:
        for at in range(0, len(data), 4096):
            if any(data[at:at + 4096]):
                file.seek(at)
                file.write(data[at:at + 4096])
        file.truncate(len(data))


def as_user(user, act, go):
    """-> the process in which the user acts; it goes on with what `act` returns: swaps, when `go` is closed"""
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        assert os.read(read, 1), "the user's process has ended"
        os.close(read)
        return pid
    try:
        os.close(go[1])
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
        with_parent()  # other credentials take that away
        pairs = act()
        os.write(write, b"x")
        os.read(go[0], 1)
        os.nice(19)
        swap_forever(pairs)
    finally:
        os._exit(1)


class Node:
    """A folder for spools, one for each user, and one of root's that nobody else may enter."""

    def __init__(self, work):
        self.work, self.spool, self.private = work, work + "/spool", work + "/private"
        os.chmod(work, 0o755)
        os.mkdir(self.spool)
        os.chmod(self.spool, 0o1777)
        os.mkdir(self.private, 0o700)
        for name in ("canary", "canary.mpit"):
            with open(f"{self.private}/{name}", "w") as file:
                file.write("secret" * 1000)
        shutil.copytree(BUILD + "/lib", work + "/lib")
        self.program = shutil.copy(f"{BUILD}/tests/livejob-{trial.mpis(BUILD)[-1]}", work)
        self.inotify = libc.inotify_init1(os.O_NONBLOCK)
        for path in (self.private, self.private + "/canary", self.private + "/canary.mpit"):
            assert libc.inotify_add_watch(self.inotify, path.encode(), 0x20) > 0  # IN_OPEN
        self.processes, self.go = [], os.pipe()

    def opened(self):
        try:
            return len(os.read(self.inotify, 1 << 16)) // struct.calcsize("iIII")
        except BlockingIOError:
            return 0

    def lives(self, user):
        """A job of one process. -> its live file"""
        folder = f"{self.work}/{user}"
        os.mkdir(folder)
        os.chown(folder, user, user)
        env = trial.environment(LD_PRELOAD=self.work + "/lib/libmpit.so", MPIT_OUTPUT=folder + "/out", MPIT_SPOOL=self.spool, HOME=folder,
                                TMPDIR=folder, MPIT_CONF="")
        self.processes.append(subprocess.Popen([self.program, folder, "rounds"], env=env, user=user, group=user, extra_groups=[], cwd=folder, preexec_fn=with_parent,
                                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid)
        files = []

        def there():
            files[:] = [os.path.join(where, name) for where, _, names in os.walk(f"{self.spool}/mpit-{user}") for name in names
                        if name.endswith(".mpit")]
            return files
        trial.comes(there)
        judge.holds(trial.comes(lambda: any(f'user="{user}"' in job for job in self.scrape()[1])), f"root's exporter sees the job of user {user}")
        return files[0]

    def hostile(self, user):
        live = self.lives(user)
        where, folder = os.path.dirname(live), f"{self.work}/{user}"

        def act():
            with open(live, "rb") as file:
                data = file.read()
            for number in range(COPIES):
                copied(data, f"{where}/copy.{number}.mpit")
            for number in range(COUNT):
                os.makedirs(f"{self.spool}/mpit-{user}/{number:016x}")
                os.symlink(f"{folder}/{number}", f"{self.spool}/mpit-{user}/{number:016x}/output")
                os.mkdir(f"{folder}/{number}")
                os.open(f"{folder}/{number}/host.1.mpit", os.O_RDWR | os.O_CREAT)
            copied(data, where + "/swapped.mpit")
            os.symlink(self.private + "/canary", where + "/link")
            os.symlink(self.private, folder + "/root")
            return [(where + "/swapped.mpit", where + "/link"), (f"{folder}/0", folder + "/root"), (where, folder + "/root")]
        self.processes.append(as_user(user, act, self.go))

    def scrape(self):
        """-> seconds of processor time, jobs"""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        told = subprocess.run([BUILD + "/bin/mpit-exporter", "--once", "--by", "job"], env=trial.environment(MPIT_SPOOL=self.spool),
                              capture_output=True, text=True, timeout=300)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        lines = told.stdout.splitlines()
        cut = [float(line.split()[1]) for line in lines if line.startswith("mpit_exporter_users_cut ")]
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, [line for line in lines if line.startswith("mpit_job_info{")], cut

    def ends(self):
        for pid in self.processes:
            os.kill(pid, signal.SIGKILL)
        for pid in self.processes:
            os.waitpid(pid, 0)
        os.close(self.inotify)


def scene(node):
    good = FIRST + USERS
    node.lives(good)
    mine, alone = f'user="{good}"', node.scrape()[0]
    for user in range(FIRST, good):
        node.hostile(user)
    os.close(node.go[1])
    begin, seconds, lacks, cut = time.monotonic(), [], 0, []
    for _ in range(SCRAPES):
        used, jobs, cut = node.scrape()
        seconds.append(used)
        lacks += not any(mine in job for job in jobs)
    opened = node.opened()
    judge.holds(opened == 0, f"{SCRAPES} scrapes in {time.monotonic() - begin:.0f} s beside {USERS} users who swap files: no file of root's is opened",
                f"{opened} times")
    judge.holds(lacks == 0, "  each has the job", f"{lacks} lack it")
    judge.holds(max(seconds) < SECONDS_MOST, f"  {max(seconds):.2f} s of processor time at most, {alone:.2f} s without these users", seconds)
    judge.holds(cut and (cut[0] == USERS or COUNT < 8192), "  the users that have more than their share are counted", cut)


if os.geteuid() != 0 or not hasattr(libc, "renameat2"):
    judge.skip("root's exporter and other users", "only root can become other users" if os.geteuid() else "there is no renameat2")
else:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, 1 << 20), limit))
    with trial.spool() as work:
        node = Node(work)
        try:
            scene(node)
        finally:
            node.ends()
sys.exit(judge.verdict())
