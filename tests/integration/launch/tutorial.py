"""Does what the tutorial says, command for command, and holds what it shows against what comes.

usage: tutorial.py BUILD SOURCE

Of the output that is shown, each line without a number has to come, blanks aside. Numbers are from another machine. So are
the line breaks of a finding: its second line and the next ones are indented.
A command that ends with & goes on beside the next ones; what still runs at the end of its section is interrupted.
"""
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

BUILD, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
STARTS_WITHIN, ENDS_WITHIN = 30, 300
judge = trial.Judge()
check = judge.holds


def steps(text):
    """(section, command, lines shown)"""
    for section in re.split(r"^## ", text, flags=re.M):
        title = section.split("\n", 1)[0]
        for block in re.findall(r"^```console\n(.*?)^```", section, re.M | re.S):
            for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, shown = part.partition("\n")
                yield title, command, [line for line in shown.splitlines() if line.strip() and line.strip() != "..."]


def plain(line):
    return " ".join(line.split())


def is_fixed(line):
    return not re.search(r"\d|\.\.\.|^ {9}\S", line)


def environment(work):
    tools = os.path.join(work, "bin")
    os.mkdir(tools)
    for name in "mpicc", "mpirun":
        os.symlink(shutil.which(name + ".openmpi"), os.path.join(tools, name))
    return trial.clean(PATH=os.pathsep.join([tools, os.path.join(BUILD, "bin"), os.environ["PATH"]]), LC_ALL="C.UTF-8",
                       **trial.OVERSUBSCRIBED)


def interrupt(jobs):
    for command, job in jobs:
        still = job.poll() is None
        if still:
            os.killpg(job.pid, signal.SIGINT)
        try:
            job.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
            check(False, f"{command}: ends when it is interrupted")
    jobs.clear()


def run(command, where):
    """The words and the status of a command; of one that has nothing to show yet, when it has."""
    end = time.monotonic() + STARTS_WITHIN
    while True:
        result = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, timeout=ENDS_WITHIN, **where)
        if result.returncode == 0 or not command.startswith("mpit-top") or time.monotonic() > end:
            return result.stdout, result.returncode
        time.sleep(0.2)


def main():
    if not shutil.which("mpirun.openmpi"):
        judge.skip("the tutorial", "it takes Open MPI")
        return judge.verdict()
    with open(os.path.join(SOURCE, "share", "doc", "tutorial.md"), encoding="utf-8") as file:
        all_steps = list(steps(file.read()))
    check(len(all_steps) > 12, "the tutorial has commands", len(all_steps))
    with tempfile.TemporaryDirectory() as work:
        for example in "jacobi.c", "halo.c":
            shutil.copy(os.path.join(SOURCE, "share", "examples", example), work)
        where = {"cwd": work, "env": environment(work)}
        jobs, before = [], None
        for section, command, shown in all_steps:
            if jobs and (section != before or command.startswith("mpit-dump")):
                interrupt(jobs)
            before = section
            if command.endswith("&"):
                jobs.append((command, subprocess.Popen(["bash", "-c", "exec " + command[:-1]], stdin=subprocess.DEVNULL,
                                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                                       start_new_session=True, **where)))
                time.sleep(2.5)  # a job that hangs has to have hung for a while
                continue
            said, status = run(command, where)
            check(status == 0, command, f"status {status}: {said[-2000:]}")
            have = {plain(line) for line in said.splitlines()}
            missing = [line for line in shown if is_fixed(line) and plain(line) not in have]
            if missing and "no times are judged" in said:
                judge.skip("  says what is shown", "other programs have taken the processors of this run")
            else:
                check(not missing, f"  says what is shown", f"{missing} not in {said[-3000:]}")
            if command.startswith("mpit-top"):
                check("halo" in said and "MPI_" in said, "  the job is there", said)
        interrupt(jobs)
    return judge.verdict()


sys.exit(main())
