"""Jobs whose processes, or whose launcher, end in all ways: what returned is there, and the tools say where the others were."""
import contextlib
import glob
import os
import re
import signal
import subprocess
import time

import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import crashbook
import trial

RANKS, SECONDS = 3, 90
# end, what the report has to say of rank 1
# with those that were in the same place when all were killed: outside of MPI, where they had no processor
ONE = r"ranks? (?:0-2|(?:0-|0, )?1(?:-2|, 2)?)"
ENDS = [("kill", ONE + r": outside MPI, after MPI_\w+ at crash\.c:\d+ \(.*was killed"), ("killall", r"was killed"),
        ("MPI_Abort", ONE + r": in MPI_Abort.*called MPI_Abort"), ("abort", ONE + r": outside MPI.*was killed"),
        ("segfault", ONE + r": outside MPI, after MPI_\w+ at crash\.c:\d+ \(.*was killed"), ("_exit", ONE + r": outside MPI.*ended by _exit"),
        ("exit", ONE + r": outside MPI.*ended by exit\(\)"), ("term", ONE + r": outside MPI.*was killed")]


def ready(books, ranks=RANKS):
    """All processes make calls."""
    return all(crashbook.ready("%s/%d" % (books, rank)) for rank in range(ranks))


def wait_for(condition, process=None):
    """Until it holds, or the process has ended; False: it took too long."""
    until = time.time() + SECONDS
    while not condition():
        if time.time() > until or (process and process.poll() is not None):
            return condition()
        time.sleep(0.02)
    return True


def line(bench, books, end, calls="200", ranks=RANKS):
    """The launcher's line."""
    return [*trial.launcher(bench.mpi, ranks), bench.program, books, "mixed", "1", end, calls]


def gone(pid):
    """The process has ended."""
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def pids_of(books):
    """Of the program's processes."""
    return [crashbook.Process(path).pid for path in glob.glob(books + "/*")]


def archive_check(bench, run):
    """The trace becomes a sound archive."""
    target = bench.work + "/archive"
    subprocess.run(["rm", "-rf", target], check=True)
    for command in ([bench.dump, "--otf2", target, run], [bench.build + "/tests/otf2judge", target]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        if done.returncode:
            return ["%s: %s%s" % (command[0], done.stdout[-1000:], done.stderr[-1000:])]
    return []


# what rank 1 itself ends with, as a launcher tells it
COLLECTIVES = ("MPI_Allreduce", "MPI_Barrier", "MPI_Comm_dup", "MPI_Comm_free")
OWN_STATUS = {"kill": 128 + signal.SIGKILL, "MPI_Abort": 5, "exit": 3}


def status_is_native(bench, end, status):
    """Does the job end with that status without mpit, too? A launcher gives that of rank 1 or of one that it killed
    then, whichever it hears of first. -> what it gave instead; "" if it did."""
    seen = set()
    for _ in range(12):
        books, _ = bench.fresh()
        bare = subprocess.run(line(bench, books, end), env=bench.environment, capture_output=True, timeout=SECONDS,
                              check=False).returncode
        seen.add(bare if bare >= 0 else 128 - bare)
        if status in seen:
            return ""
    return " or ".join(map(str, sorted(seen)))


def part_check(bench, run):
    """--crash of one rank: its processes, and its last calls."""
    wrong = []
    for rank in "01":
        done = subprocess.run([bench.dump, "--crash", "--ranks", rank, "--functions", "coll", run], capture_output=True,
                              text=True, timeout=SECONDS, check=False)
        heads = re.findall(r"^ {13}ranks? ([\d, -]+): ", done.stdout, re.M)
        calls = re.findall(r"^ +(\d+) +\d+ .* (MPI_\w+) ", done.stdout, re.M)
        if done.returncode or heads != [rank] or not calls or {(who, what in COLLECTIVES) for who, what in calls} != {(rank, True)}:
            wrong.append("mpit-dump --crash --ranks %s --functions coll: %s" % (rank, done.stdout[-1500:] + done.stderr))
    return wrong


def ended_badly(bench, end, pattern, options):
    """One way to end, of rank 1."""
    books, run = bench.fresh()
    done = subprocess.run([bench.run_tool, *options, "--output", run] + line(bench, books, end), env=bench.environment,
                          capture_output=True, text=True, timeout=SECONDS, check=False)
    wrong = crashbook.run_check(bench.dump, run, books, None if options else 4096 - 4)
    if not re.search(pattern, done.stderr) or "mpit-dump --crash" not in done.stderr:
        wrong.append("mpit-run does not say %r: %s" % (pattern, done.stderr[-1500:]))
    shown = subprocess.run([bench.dump, "--crash", run], capture_output=True, text=True, timeout=SECONDS, check=False)
    if not re.search(pattern, shown.stdout) or "MPI_" not in shown.stdout.split("communicator")[-1]:
        wrong.append("mpit-dump --crash: " + shown.stdout[-1500:])
    calls = [call for call in shown.stdout.splitlines() if re.match(r" +\d+ +\d+ .* MPI_(Allreduce|Sendrecv|Barrier) ", call)]
    if not calls or not all(re.search(r" at crash\.c:\d+ \(\w+\)( has not returned)?$", call) for call in calls):
        wrong.append("calls without their places: " + shown.stdout[-1500:])
    wrong += part_check(bench, run)
    if options:
        wrong += archive_check(bench, run)
    if end in OWN_STATUS and done.returncode != OWN_STATUS[end]:
        native = status_is_native(bench, end, done.returncode)
        wrong += ["exit status %d, and %s without mpit" % (done.returncode, native)] if native else []
    bench.say(not wrong, "%s of rank 1%s" % (end, ", with a trace" if options else ""), wrong)


def launcher_killed(bench):
    """kill -9 of mpirun, which mpit-run started."""
    books, run = bench.fresh()
    process = subprocess.Popen([bench.run_tool, "--trace", "--output", run] + line(bench, books, "forever"),
                               env=bench.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wrong = [] if wait_for(lambda: ready(books), process) else ["the job did not begin"]
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True,
                              check=False).stdout.split()
    for pid in children:
        os.kill(int(pid), signal.SIGKILL)
    said = process.communicate(timeout=SECONDS)[1]
    pids = pids_of(books)
    if not wait_for(lambda: all(gone(pid) for pid in pids)):
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
    wrong += crashbook.run_check(bench.dump, run, books)
    if process.returncode != 137:
        wrong.append("exit status %d" % process.returncode)
    if "did not end normally" not in said:
        wrong.append(said[-1500:])
    bench.say(not wrong, "kill -9 of mpirun", wrong)


# how they hang, the calls that the ranks are in, what the report has to say
DEADLOCKS = [
    ("hang", ["MPI_Recv", "MPI_Recv", "MPI_Reduce"],
     [r"rank 0: in MPI_Recv on \S+ at \S+.*, from rank 1, for \d.* s;",
      r"rank 1: in MPI_Recv on \S+ at \S+.*, from rank 0, for \d.* s;",
      r"rank 2: in MPI_Reduce on \S+ at \S+.*, which has not entered: rank 0, for \d.* s;",
      r"rank 0 waits for rank 1, which waits for rank 0: a deadlock"]),
    ("hang-requests", ["MPI_Waitall"] * 3,
     [r"rank 0: in MPI_Waitall.*, receiving from rank 1.*, for \d.* s;",
      r"rank 1: in MPI_Waitall.*, receiving from rank 0.*, for \d.* s;",
      r"rank 0 waits for rank 1, which waits for rank 0: probably a deadlock"]),
    ("hang-sends", ["MPI_Send", "MPI_Send", "MPI_Reduce"],
     [r"rank 0: in MPI_Send on \S+ at \S+.*, to rank 1, for \d.* s;",
      r"rank 1: in MPI_Send on \S+ at \S+.*, to rank 0, for \d.* s;",
      r"rank 0 waits for rank 1, which waits for rank 0: a deadlock"]),
    ("hang-sends-posted", ["MPI_Send", "MPI_Send", "MPI_Reduce"],
     [r"rank 0: in MPI_Send on \S+ at \S+.*, to rank 1, for \d.* s;",
      r"rank 1: in MPI_Send on \S+ at \S+.*, to rank 0, for \d.* s;",
      r"rank 0 waits for rank 1, which waits for rank 0: probably a deadlock"]),
    ("hang-collective", ["MPI_Recv", "MPI_Barrier", "MPI_Barrier"],
     [r"rank 0: in MPI_Recv on \S+ at \S+.*, from rank 2, for \d.* s;",
      r"ranks 1-2: in MPI_Barrier on \S+ at \S+.*, which has not entered: rank 0, for \d.* s;",
      r"rank 0 waits for rank 2, which waits for rank 0: a deadlock"]),
    ("hang-rooted", [None, "MPI_Bcast", "MPI_Recv"],
     [r"rank 0: outside MPI", r"rank 1: in MPI_Bcast on \S+ at \S+.*, which have not entered: ranks 0, 2, for \d.* s;",
      r"rank 2: in MPI_Recv on \S+ at \S+.*, from rank 1, for \d.* s;"])]


def deadlock(bench, end, wanted, patterns, calls=200, options=()):
    """Ctrl-C while ranks wait for each other, behind so many calls."""
    books, run = bench.fresh()
    process = subprocess.Popen([bench.run_tool, "--output", run, *options] + line(bench, books, end, str(calls)),
                               env=bench.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)

    def hangs():
        if not ready(books):
            return False
        accounts = [crashbook.Process("%s/%d" % (books, rank)).accounts[0] for rank in range(RANKS)]
        return all(not name or (a.calls and a.calls[-1][0] == name and a.begun > a.returned >= calls)
                   for a, name in zip(accounts, wanted))

    wrong = [] if wait_for(hangs, process) else ["the job did not come to hang"]
    time.sleep(1.5)  # a circle that is younger than a second may be one of messages on their way
    lives = subprocess.run([bench.dump, "--crash", run], capture_output=True, text=True, timeout=SECONDS, check=False).stdout
    if not re.search(r"for \d.* s; still running", lives):
        wrong.append("while it runs: " + lives[:600])
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=SECONDS)[1]
    if "deadlock" in said and not any("deadlock" in pattern for pattern in patterns):
        wrong.append("a deadlock, where there is none")
    wrong += ["not said: " + pattern for pattern in patterns if not re.search(pattern, said)]
    ends = [said.find(text) for text in ("mpit-run: interrupted (Ctrl-C); ", "did not end normally:", "\n  ranks  ")]
    if ends[0] < 0 or ends != sorted(ends) or said.count("; interrupted (Ctrl-C)\n") < 2 or "crashed, " in said:
        wrong.append("its end does not come first: %s" % ends)
    wrong += crashbook.run_check(bench.dump, run, books, 4096 - 4)
    last = subprocess.run([bench.dump, "--crash", run], capture_output=True, text=True, timeout=SECONDS, check=False).stdout
    if " polls " in last or len(re.findall(r" s  MPI_\w+ |[0-9] [mun]?s  MPI_\w+ ", last)) < RANKS * 3:
        wrong.append("the last calls are not those: " + last[-1500:])
    if wrong:
        wrong.append(said[-1500:])
    bench.say(not wrong, "Ctrl-C of a deadlock (%s, behind %d calls%s): who waits for whom" % (end, calls, " ".join(["", *options])), wrong)


# a launcher does not learn, or does not mind, that one has died: a shell stays in its place
LENIENT = {"openmpi": ["--enable-recovery"]}
SHELL = ["sh", "-c", "\"$@\"; exec sleep 30", "sh"]
DEAD = r"rank 0 waits for rank 1, which died before"
CIRCLE = r"rank 2 waits for rank 3, which waits for rank 2: a deadlock"


def in_call(books, rank, name, calls=200):
    """The rank is in that call."""
    account = crashbook.Process("%s/%d" % (books, rank)).accounts[0]
    return account.begun > account.returned >= calls and account.calls[-1][0] == name


def dead_rank(bench, recorded):
    """Rank 1 is killed while it waits for rank 0; then rank 0 waits for rank 1: it waits for a dead rank, and the two are
    no deadlock. Ranks 2 and 3 wait for each other: these are one. `recorded` by mpit-run, which sees when a rank dies, or
    without it, so that only a look while the others live can tell."""
    books, run = bench.fresh()
    launcher = line(bench, books, "hang-dead", "200", 4)
    launcher[1:1] = LENIENT.get(bench.mpi, [])
    preload = [] if recorded else ["env", "LD_PRELOAD=" + bench.library, "MPIT_OUTPUT=" + run]
    program = launcher.index(bench.program)
    launcher[program:program] = SHELL + preload
    process = subprocess.Popen(([bench.run_tool, "--output", run] if recorded else []) + launcher,
                               env=bench.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
    wrong = []
    if not wait_for(lambda: ready(books, 4) and all(in_call(books, rank, "MPI_Recv") for rank in (1, 2, 3)), process):
        wrong.append("the job did not come to hang")
    else:
        time.sleep(1.2)
        victim = crashbook.Process(books + "/1").pid
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda: gone(victim))
        with open(books + ".dead", "w", encoding="ascii"):
            pass
        wrong += [] if wait_for(lambda: in_call(books, 0, "MPI_Recv"), process) else ["rank 0 does not wait for rank 1"]
        time.sleep(1.5)
    lives = subprocess.run([bench.dump, "--crash", run], capture_output=True, text=True, timeout=SECONDS, check=False).stdout
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
    for pid in pids_of(books):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    said = process.communicate(timeout=SECONDS)[1]
    os.path.exists(books + ".dead") and os.remove(books + ".dead")
    for when, text in [("while it runs", lives)] + ([("at the end", said)] if recorded else []):
        wrong += ["%s, not said: %s" % (when, pattern) for pattern in (DEAD, CIRCLE) if not re.search(pattern, text)]
        if re.search(r"rank [01] waits for rank [01], which waits", text):
            wrong.append(when + ", a deadlock with a dead rank")
        if wrong:
            wrong.append(text[-1500:])
    bench.say(not wrong, "a rank that is killed while it waits, and others that wait for it%s" %
              ("" if recorded else ", without mpit-run"), wrong)


def collect_killed(bench):
    """mpit-collect dies, and is started again: nothing is lost, and nothing is counted twice."""
    collect = bench.build + "/bin/mpit-collect"
    # The collector is the same program for all MPIs: each leaves it one kind of files, where there are two.
    kinds = ("0", "1") if len(trial.mpis(bench.build)) < 2 else ("0",) if bench.mpi == "openmpi" else ("1",)
    for traced in kinds:
        for place in ("open:9999:before", "renameat2:1:before", "renameat2:1:after", "fsync:1:before", "fsync:1:after", "unlink:2:before",
                      "unlink:2:after"):
            preload = "%s/tests/killat-%s.so" % (bench.build, bench.mpi)
            for _ in range(3):  # the job's own collector may come so late that it finds the directory, and leaves nothing
                books, run = bench.fresh()
                with open(run, "w", encoding="ascii"):  # no directory: the results stay in the spool
                    pass
                environment = dict(bench.environment, LD_PRELOAD=bench.library, MPIT_OUTPUT=run, MPIT_TRACE=traced)
                subprocess.run(line(bench, books, "finalize"), env=environment, capture_output=True, timeout=SECONDS,
                               check=False)
                os.unlink(run)
                killed = subprocess.run([collect, run], env=dict(bench.environment, KILLAT=place, LD_PRELOAD=preload),
                                        capture_output=True, timeout=SECONDS, check=False)
                if killed.returncode == -9 or place.startswith("open"):
                    break
            wrong = [] if (killed.returncode == -9) == (not place.startswith("open")) else ["status %d" % killed.returncode]
            again = subprocess.run([collect, run], env=bench.environment, capture_output=True, text=True, timeout=SECONDS,
                                   check=False)
            if again.returncode:
                wrong.append(again.stderr)
            processes = [crashbook.Process(path) for path in glob.glob(books + "/*")]
            problem = crashbook.tallies_check(bench.dump, run, processes)
            if problem:
                wrong.append(problem)
            if glob.glob(run + "/*.part") or glob.glob(bench.work + "/spool/mpit-*/*/*.mpit"):
                wrong.append("left behind: %s" % os.listdir(run))
            bench.say(not wrong, "mpit-collect killed at %s, trace %s" % (place, traced), wrong)



def ended_well(bench):
    """Nothing is left but one summary."""
    temporary = bench.work + "/tmp"
    os.mkdir(temporary)
    environment = dict(bench.environment, TMPDIR=temporary)

    def left():
        return sorted(os.listdir("/dev/shm")), sorted(os.listdir(temporary)), sorted(os.listdir(bench.work))

    def family(case):
        return [*trial.launcher(bench.mpi, 2), "%s/tests/children-%s" % (bench.build, bench.mpi)] + case

    books, run = bench.fresh()
    cases = [("a job of four", line(bench, books, "finalize", "200", 4)), ("children of fork", family(["at-once"]))]
    for name, command in cases:
        books, run = bench.fresh()
        before = left()
        done = subprocess.run([bench.run_tool, "--quiet", "--output", run] + command, env=environment,
                              capture_output=True, text=True, timeout=SECONDS, check=False)
        after, wrong = left(), []
        if done.returncode:
            wrong.append("status %d: %s" % (done.returncode, done.stdout[-500:] + done.stderr[-1000:]))
        names = os.listdir(run)
        if len(names) != 1 or not names[0].endswith(".mpit"):
            wrong.append("the run directory has %s" % names)
        wrong += ["left in %s: %s" % (place, set(b) - set(a)) for place, a, b in
                  zip(("/dev/shm", "TMPDIR"), before, after) if any("mpit" in n for n in set(b) - set(a))]
        wrong += ["left beside the run: %s" % (set(after[2]) - set(before[2]) - {"run"})] if \
            set(after[2]) - set(before[2]) - {"run"} else []
        bench.say(not wrong, "one summary and nothing else: " + name, wrong)


def jobs(bench):
    """All of them."""
    for number, (end, pattern) in enumerate(ENDS):
        ended_badly(bench, end, pattern, ["--trace"] if number % 2 == 0 else [])


def ends(bench):
    """The launcher's end, a deadlock's, that of the summary, and a good one."""
    launcher_killed(bench)
    for case in DEADLOCKS:
        deadlock(bench, *case)
    deadlock(bench, *DEADLOCKS[1], calls=6000) # of which the flight recorder has the last alone
    deadlock(bench, *DEADLOCKS[1], calls=200, options=["--fabric"]) # and polls meanwhile
    for recorded in (True, False):
        dead_rank(bench, recorded)
    collect_killed(bench)
    ended_well(bench)
