"""Jobs that are started in a clean environment and ended within a bound, and the checks on them.

A job that does not end in time is killed with all its descendants. Output goes to files, so that a process that was left
behind with an open pipe does not hold a test up.
"""
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77


def preload(build, mpi):
    """The library to preload: one for all MPIs, or one for each."""
    single = f"{build}/lib/libmpit.so"
    return single if os.path.exists(single) else f"{build}/lib/libmpit-{mpi}.so"


def mpis(build):
    """The MPIs that this build is for. With TEST_ONE_MPI (the fast tests) one of them, by the name of the script."""
    here = [mpi for mpi in ("openmpi", "mpich") if os.path.exists(f"{build}/lib/libmpit-{mpi}.so")]
    turn = len(os.path.basename(sys.argv[0])) % 2
    return here[turn:turn + 1] if os.environ.get("TEST_ONE_MPI") and len(here) == 2 else here


def clean(**more):
    """The environment without anything of mpit's. As root, too, Open MPI starts programs."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("MPIT_") and name != "LD_PRELOAD"}
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return dict(env, **more)


def openmpi_version():
    """4, 5 ...: of mpirun.openmpi. 4 if there is none."""
    try:
        text = subprocess.run(["mpirun.openmpi", "--version"], capture_output=True, text=True).stdout
    except OSError:
        text = ""
    found = re.search(r"Open MPI\) (\d+)\.", text)
    return int(found[1]) if found else 4


OPENMPI = openmpi_version()
# More processes than processors: each launcher of Open MPI has its own word for it.
OVERSUBSCRIBED = {4: {"OMPI_MCA_rmaps_base_oversubscribe": "1"},
                  5: {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}}.get(
                      OPENMPI, {"PRTE_MCA_mapby": ":oversubscribe"})
NETWORK = {} if OPENMPI == 4 else {"OMPI_MCA_btl_tcp_if_include": "lo"}  # verdict.sh says why
# How its one-sided communication works on one node (verdict.sh says why).
OSC = {"OMPI_MCA_osc": "pt2pt,sm" if OPENMPI == 4 else "rdma,sm"}


def environment(**more):
    """The same for more processes than processors: those that wait give way."""
    return clean(LC_ALL="C", OMPI_MCA_mpi_yield_when_idle="1") | OVERSUBSCRIBED | NETWORK | more


def launcher(mpi, ranks, exported=None, options=()):
    """The launcher's words. EXPORTED are variables of the ranks alone: the launcher does not get them."""
    words = ["mpirun" if mpi == "abi" else f"mpirun.{mpi}", *options]
    for name, value in (exported or {}).items():
        words += ["-x", f"{name}={value}"] if mpi == "openmpi" else ["-genv", name, value]
    return [*words, "-n", str(ranks)]


@contextlib.contextmanager
def spool():
    """A directory for the live files of a job, in memory where that is possible. What a killed job leaves goes with it."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="mpit-spool.", dir=base, ignore_cleanup_errors=True) as path:
        yield path


class Ended:
    """How a command ended: status, output, errors, and after how many seconds; hung: it had to be killed."""

    def __init__(self, status, out, err, seconds, hung):
        self.status, self.out, self.err, self.seconds, self.hung = status, out, err, seconds, hung

    def __str__(self):
        end = "hung" if self.hung else f"status {self.status}"
        return f"{end} after {self.seconds:.1f} s\n{self.out[-1500:]}\n{self.err[-1500:]}"


def descendants(pid):
    """The processes below PID."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="latin-1") as file:
                parents.setdefault(int(file.read().rsplit(")", 1)[1].split()[1]), []).append(int(name))
        except OSError:
            pass
    found = list(parents.get(pid, []))
    for child in found:
        found += parents.get(child, [])
    return found


def killed(process):
    """Ends PROCESS and all below it."""
    victims = descendants(process.pid)
    process.terminate()  # a launcher ends its ranks
    try:
        process.wait(3)
    except subprocess.TimeoutExpired:
        pass
    for pid in [process.pid, *victims]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait(30)


class Job:
    """A command that runs."""

    def __init__(self, words, env, cwd=None):
        self.out, self.err = tempfile.TemporaryFile("w+b"), tempfile.TemporaryFile("w+b")
        self.begin = time.monotonic()
        self.process = subprocess.Popen(words, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err)

    def ended(self, seconds):
        """Waits for the end, SECONDS from the start at the most. -> Ended"""
        hung = False
        try:
            self.process.wait(max(0.0, self.begin + seconds - time.monotonic()))
        except subprocess.TimeoutExpired:
            hung = True
        took = time.monotonic() - self.begin
        if hung:
            killed(self.process)
        texts = []
        for file in (self.out, self.err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
            file.close()
        return Ended(self.process.returncode, *texts, took, hung)


def run(words, seconds, env=None, cwd=None):
    """Runs a command to its end, SECONDS at the most. -> Ended"""
    return Job(words, env or environment(), cwd).ended(seconds)


def comes(condition):
    """mpit-collect may run behind the job's end: waits up to 20 s for the condition, and returns it."""
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


class Judge:
    """Counts what passed, and prints a line for each check."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, name, wrong):
        """A check that is passed if WRONG, a list of what is wrong, is empty."""
        self.passed += not wrong
        self.failed += bool(wrong)
        print(("not ok " if wrong else "ok ") + name)
        for text in wrong:
            lines = str(text).splitlines()
            if len(lines) > 30:
                lines[10:-20] = ["..."]
            print("\n".join("    " + line for line in lines))
        sys.stdout.flush()

    def holds(self, good, name, details=""):
        """A check by a condition, which is returned. The end of DETAILS is shown where it does not hold."""
        self.check(name, [] if good else [str(details)[-2500:]])
        return good

    def skip(self, name, why):
        """A check that cannot be made here."""
        self.skipped += 1
        print(f"skipped {name}: {why}", flush=True)

    def verdict(self):
        """The last line, and the exit status: 77 if nothing could be tested."""
        print(f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else ""))
        if self.failed:
            return 1
        return 0 if self.passed else SKIPPED if self.skipped else 1


def judge_mpis(build, judge, *parts):
    """Each part is called for each MPI, with (judge, build, mpi, directory), in a directory that goes with the MPI. Ends the
    script."""
    for mpi in mpis(build):
        with tempfile.TemporaryDirectory(prefix="mpit-trial.", ignore_cleanup_errors=True) as directory:
            for part in parts:
                part(judge, build, mpi, directory)
    sys.exit(judge.verdict())
