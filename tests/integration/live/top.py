#!/usr/bin/env python3
"""top.py BUILD MPI SCRATCH: mpit-top beside jobs of livejob.c. Prints a line "ok NAME" or "not ok NAME" for each promise.

Nothing is judged by how long it takes: what has to come is waited for, and what is compared stands still.
"""
import fcntl, glob, json, os, pty, random, re, select, signal, struct, subprocess, sys, termios, time

import pyte

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from livefiles import live_files

build, mpi, scratch = sys.argv[1:4]
TOP = f"{build}/bin/mpit-top"
PATIENCE = 40
failed = 0
started = []


def say(good, name, why=""):
    global failed
    failed += not good
    sys.stdout.write(("ok " if good else "not ok ") + name + ("" if good or not why else f": {why}"[:400].replace("\n", " | ")) + "\n")
    sys.stdout.flush()


def until(what, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = what()
        if result:
            return result
        time.sleep(0.05)
    return what()


def touch(path):
    open(path, "w").close()


class Job:
    """A job of livejob, in a directory of its own; `memory`: without a run directory."""

    def __init__(self, kind, ranks, name, *options):
        self.directory = f"{scratch}/{mpi}-{name}"
        self.run = self.directory + "/run"
        self.ranks = ranks
        os.mkdir(self.directory)
        command = [f"{build}/bin/mpit-run", "--quiet", *options, "--output", self.run, f"mpirun.{mpi}", "-n", str(ranks),
                   f"{build}/tests/livejob-{mpi}", self.directory, kind]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=open(self.directory + "/err", "w"), start_new_session=True)
        started.append(self)

    def pids(self):
        return sorted(int(path.rsplit(".", 2)[1]) for path in live_files(self.run))

    def go(self, number):
        touch(f"{self.directory}/go.{number}")
        paths = [f"{self.directory}/did.{number}.{rank}" for rank in range(self.ranks)]
        until(lambda: all(os.path.exists(path) for path in paths))
        counts = []
        for path in paths:
            words = open(path).read().split()
            counts.append([int(words[i]) for i in (1, 2, 4, 5, 7)])
        return counts

    def end(self):
        touch(self.directory + "/go.end")

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


class Lines:
    """mpit-top --json, line by line."""

    def __init__(self, *options):
        self.process = subprocess.Popen([TOP, "--json", *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.all = []

    def next(self):
        line = self.process.stdout.readline()
        if not line:
            return None
        self.all.append(json.loads(line))
        return self.all[-1]


def job_of(document, pids):
    for job in document["jobs"]:
        if {rank["pid"] for rank in job["ranks"]} & set(pids):
            return job
    return None


def totals_of(job):
    keys = ("sent", "sent_bytes", "received", "received_bytes", "collectives")
    return [[rank["totals"][key] for key in keys] for rank in sorted(job["ranks"], key=lambda rank: rank["rank"])]


def shares_hold(job):
    for rates in [job["rates"]] + [rank["rates"] for rank in job["ranks"]]:
        mpi_share, work, stall = rates["mpi_share"], rates["work_share"], rates["stall_share"]
        if mpi_share is None: # in MPI_Init, or without recorded time
            if work is not None or stall is not None:
                return False
            continue
        if not 0 <= mpi_share <= 1 or (stall is not None and abs(mpi_share - work - stall) > 1e-9):
            return False
    return True


def maps_are_read_only(pid):
    """Run files that the process has mapped, and how; those that it holds open."""
    maps = [line.split() for line in open(f"/proc/{pid}/maps") if ".mpit" in line]
    return len(maps) > 0 and all(words[1] == "r--s" for words in maps)


def counts():
    os.environ["MPIT_PASSES"] = "36"
    job = Job("rounds", 3, "rounds")
    del os.environ["MPIT_PASSES"]
    until(lambda: len(job.pids()) == 3)
    time.sleep(0.5)
    until(lambda: job_of(json.loads(subprocess.run([TOP, "--json", "--once", "--interval", "0.1", job.run],
                                                   stdout=subprocess.PIPE).stdout or '{"jobs":[]}'), job.pids()))
    lines = Lines("--interval", "0.1", job.run)
    pids, before = job.pids(), None
    until(lambda: (before := lines.next()) and job_of(before, pids) and job_of(before, pids)["running"] == 3)
    first = len(lines.all)
    stat_before = [os.stat(path) for path in live_files(job.run)]
    for number in (1, 2, 3):
        wanted = job.go(number)
        here = until(lambda: (lambda j: j if totals_of(j) == wanted else None)(job_of(lines.next(), pids)))
        say(bool(here), f"round {number}: messages, bytes and collectives are those that the program has counted",
            f"{wanted} {totals_of(job_of(lines.all[-1], pids))}")
    jobs = [job_of(document, pids) for document in lines.all[first - 1:]]
    # all ranks stand still, so each has passed its sum equally often
    passes = jobs[-1]["passes"]
    say(passes and passes["count"] == wanted[0][4] and passes["site"]["mpi"] == "MPI_Allreduce" and
        passes["site"]["function"] == "round_do", "passes of the loop: its sums, which the program has counted", str(passes))
    # half of the 36 that it was started for: they take as long again
    say(passes and passes["wanted"] == 36 and abs(passes["rest_ns"] - jobs[-1]["run_ns"]) < 1000, "and when the last one is due", str(passes))
    seen = [one for one in jobs if one["passes"]]
    grown = [after["passes"]["count"] - before["passes"]["count"] for before, after in zip(seen, seen[1:])]
    rates = [one["passes"]["per_s"] * one["interval_ns"] * 1e-9 for one in seen[1:]]
    say(sum(grown) > 0 and all(abs(a - b) < 1e-3 for a, b in zip(grown, rates)),
        "passes a second times intervals are the passes that came", f"{grown} {rates}")
    say(all(rank["call"] is None and rank["after"]["mpi"] == "MPI_Allreduce" and rank["after"]["function"] == "round_do"
            for rank in jobs[-1]["ranks"]), "who is outside of MPI: after which call", str([rank["after"] for rank in jobs[-1]["ranks"]]))
    sums = [site for site in jobs[-1]["sites"] if site["site"]["mpi"] == "MPI_Allreduce"]
    say(len(sums) == 1 and sums[0]["calls"] == 3 * wanted[0][4] and sums[0]["ranks"] == 3 and 0 <= sums[0]["share"] <= 1,
        "where: the place of the sums has their calls of all ranks", str(jobs[-1]["sites"]))
    still = job_of(until(lambda: (lambda d: d if job_of(d, pids)["passes"]["none_ns"] > 3e8 else None)(lines.next())), pids)
    say(still and still["passes"]["per_s"] == 0 and still["passes"]["count"] == wanted[0][4], "and for how long there was none",
        str(still and still["passes"]))
    good = True
    for rank in range(3):
        for total, rate in (("sent", "sent_per_s"), ("received_bytes", "received_bytes_per_s"), ("collectives", "collectives_per_s")):
            grown = jobs[-1]["ranks"][rank]["totals"][total] - jobs[0]["ranks"][rank]["totals"][total]
            summed = sum(one["ranks"][rank]["rates"][rate] * one["ranks"][rank]["interval_ns"] * 1e-9 for one in jobs[1:])
            good = good and grown > 0 and abs(grown - summed) < 1e-6 * grown
    say(good, "rates times intervals add up to what was counted")
    say(all(shares_hold(one) for one in jobs) and any(one["rates"]["mpi_share"] for one in jobs), "shares are parts of one")
    world = [comm for comm in jobs[-1]["communicators"] if comm["name"] == "MPI_COMM_WORLD"][0]
    say(world["messages"] == sum(r["totals"]["sent"] + r["totals"]["received"] for r in jobs[-1]["ranks"]) and
        world["ranks"] == 3, "the communicator has the messages of its ranks")
    sizes = jobs[-1]["sizes"]
    say(sum(s["count"] for s in sizes["sent"]) == jobs[-1]["totals"]["sent"], "the histogram has all messages")
    say(maps_are_read_only(lines.process.pid), "run files are mapped for reading alone")
    stat_now = [os.stat(path) for path in live_files(job.run)]
    say([s.st_size for s in stat_before] == [s.st_size for s in stat_now], "the files have not changed their size")
    few = json.loads(subprocess.run([TOP, "--json", "--once", "--interval", "0.1", "--ranks", "1-", job.run],
                                    stdout=subprocess.PIPE).stdout)
    say([r["rank"] for r in few["jobs"][0]["ranks"]] == [1, 2], "--ranks leaves the others out")
    job.end()
    while lines.next():
        pass
    last = job_of(lines.all[-1], pids)
    say(lines.process.wait() == 0 and not last["alive"], "--json RUN ends when the job has, with status 0")
    say({r["state"] for r in last["ranks"]} == {"ended"} and totals_of(last) == wanted,
        "the last line has the last figures, though the files are gone", str(totals_of(last)))
    job.kill()


def once(job):
    out = subprocess.run([TOP, "--json", "--once", "--interval", "0.2", job.run], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout
    document = json.loads(out) if out else None
    return document["jobs"][0] if document and document["jobs"] else None


def hangs():
    dead = Job("deadlock", 3, "deadlock")
    late = Job("absent", 3, "absent")
    found = until(lambda: (lambda j: j if j and j["deadlock"] else None)(once(dead)))
    say(found and re.fullmatch("rank [01] waits for rank [01], which waits for rank [01]: a deadlock", found["deadlock"]) is not None,
        "a deadlock is named", str(found and found["deadlock"]))
    if found:
        ranks = found["ranks"]
        say(sorted(found["deadlock_ranks"]) == [0, 1] and
            [r["waits_for"] for r in ranks[:2]] == [[{"rank": 1, "how": "from"}], [{"rank": 0, "how": "from"}]],
            "the same as numbers", str([found["deadlock_ranks"], [r["waits_for"] for r in ranks]]))
        say([r["waits"] for r in ranks[:2]] == ["from rank 1", "from rank 0"] and
            all(r["call"]["name"] == "MPI_Recv" and r["call"]["since_ns"] >= 1e9 for r in ranks[:2]) and
            [r["call"]["peer"] for r in ranks[:2]] == [1, 0], "each knows the call, since when, and for whom",
            str([(r["waits"], r["call"]) for r in ranks]))
        say(all(r["rates"]["mpi_share"] > 0.99 for r in ranks), "who hangs is in MPI for all of the time")
        text = subprocess.run([TOP, "--once", "--interval", "0.2", dead.run], stdout=subprocess.PIPE,
                              env=dict(os.environ, COLUMNS="160")).stdout.decode()
        say(": a deadlock" in text and "from rank 1" in text, "--once says so, too", text)
        say("stands out" not in text and found["finding"] is None, "and not that nothing stands out", text)
        say("efficiency" not in text and found["efficiency"]["communication"] < 0.001,
            "if no rank computes, there are no efficiencies", text)
    found = until(lambda: (lambda j: j if j and j["ranks"][0]["waits"] else None)(once(late)))
    say(found and all("not entered: rank 2" in (r["waits"] or "") for r in found["ranks"][:2]) and
        not found["ranks"][2]["waits"] and '"late ones"' in found["ranks"][0]["call"]["communicator"],
        "a barrier: who has not entered it, and on which communicator", str(found and [(r["waits"], r["call"]) for r in found["ranks"]]))
    if found:
        say(found["ranks"][2]["rates"]["mpi_share"] < 0.5 and found["ranks"][2]["call"] is None,
            "who computes is not in MPI")
    dead.kill()
    late.kill()
    ahead = Job("ahead", 2, "ahead")
    until(lambda: once(ahead))
    for options in (["--once"], ["--once", "--json"]):
        done = subprocess.run([TOP, *options, "--interval", "0.1", ahead.run + "-none", ahead.run], capture_output=True, env=dict(os.environ, COLUMNS="160"))
        say(done.returncode == 1 and b" does not exist" in done.stderr and b"livejob" in done.stdout,
            "one of several that is not there is told, and the others are shown: " + " ".join(options), str(done))
    found = until(lambda: (lambda j: j if j and j["ranks"][0]["waits"] else None)(once(ahead)))
    say(found and "not entered: rank 1" in found["ranks"][0]["waits"] and not found["ranks"][1]["waits"],
        "who has not entered it has completed a nonblocking one that the others have not", str(found and found["ranks"]))
    ahead.kill()
    old = Job("old", 3, "old")
    found = until(lambda: (lambda j: j if j and j["ranks"][0]["waits"] and j["ranks"][0]["call"]["since_ns"] > 2e9 else None)(once(old)))
    say(found and ": a deadlock" not in (found["deadlock"] or "") and found["ranks"][1]["waits"] == "from rank 0",
        "who waits by a request of which nothing is known any more is in no deadlock for certain", str(found and (found["deadlock"], found["ranks"][0])))
    old.kill()


def returned():
    """A call that took long returns while it is looked at: its time has been counted once."""
    job = Job("late", 2, "late")
    pids = until(lambda: len(job.pids()) == 2 and job.pids())
    lines = Lines("--interval", "0.1", job.run)
    hung = until(lambda: (lambda j: j if j and j["ranks"][0]["call"] and j["ranks"][0]["call"]["since_ns"] > 3e9 else None)(
        job_of(lines.next(), pids)))
    say(hung and hung["ranks"][0]["waits"] == "from rank 1" and not hung["deadlock"], "a rank that waits for one that comes late",
        str(hung and hung["ranks"][0]))
    begun = len(lines.all)
    job.go(1)
    for _ in range(5):
        lines.next()
    ranks = [job_of(document, pids)["ranks"][0] for document in lines.all[begun - 5:]]
    grown = ranks[-1]["totals"]["mpi_ns"] - ranks[0]["totals"]["mpi_ns"]
    passed = ranks[-1]["totals"]["thread_ns"] - ranks[0]["totals"]["thread_ns"]
    # counted twice, or not before its return, it would be 3 s more
    say(ranks[-1]["call"] is None and 0 <= grown < passed + 1e9 and all(0 <= r["rates"]["mpi_share"] <= 1 for r in ranks),
        "when the call returns its time is not counted again", f"{grown} {passed}")
    say(ranks[-1]["rates"]["mpi_share"] < 0.5, "and then the rank is out of MPI")
    job.end()
    while lines.next():
        pass
    lines.process.wait()
    job.kill()


def killed():
    lines = Lines("--interval", "0.1")  # of all jobs, before there is one
    lines.next()
    job = Job("rounds", 3, "killed")
    pids = until(lambda: len(job.pids()) == 3 and job.pids())
    here = until(lambda: (lambda j: j if j and j["running"] == 3 and j["world_size"] == 3 else None)(job_of(lines.next(), pids)))
    say(bool(here), "a job that begins later is found")
    job.go(1)
    os.kill(pids[1], signal.SIGKILL)
    gone = until(lambda: (lambda j: j if j and any(r["pid"] == pids[1] and r["state"] == "dead" for r in j["ranks"]) else None)(
        job_of(lines.next(), pids)))
    say(bool(gone), "a rank that is killed while it is looked at is told dead")
    job.kill()
    lines.process.terminate()
    say(lines.process.wait() == -signal.SIGTERM, "and mpit-top goes on until it is told to end")


class Terminal:
    def __init__(self, columns, rows, term, *options, env=None):
        self.columns, self.rows = columns, rows
        self.master, slave = pty.openpty()
        self.resize(columns, rows, False)
        self.slave = slave
        self.before = termios.tcgetattr(slave)
        self.raw = b""
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        environment = dict(os.environ, TERM=term, **(env or {}))
        self.process = subprocess.Popen([TOP, "--interval", "0.1", *options], stdin=slave, stdout=slave, stderr=slave,
                                        env=environment, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, columns, rows, signals=True):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if signals:
            self.columns, self.rows = columns, rows
            self.screen.resize(rows, columns)

    def read(self):
        while select.select([self.master], [], [], 0.05)[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                break
            if not data:
                break
            self.raw += data
            self.stream.feed(data)
        return "\n".join(self.screen.display)

    def shows(self, text, seconds=PATIENCE):
        return until(lambda: text in self.read(), seconds)

    def key(self, text):
        os.write(self.master, text.encode())

    def end(self, how):
        """Ends it by a key or a signal: its status."""
        if isinstance(how, str):
            self.key(how)
        else:
            self.process.send_signal(how)
        until(lambda: self.read() is None or self.process.poll() is not None)
        self.read()
        return self.process.wait()

    def restored(self):
        return termios.tcgetattr(self.slave) == self.before and (b"\x1b[?1049h" not in self.raw or b"\x1b[?1049l" in self.raw)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


def screens():
    job = Job("busy", 3, "busy")
    until(lambda: (lambda j: j and j["running"] == 3 and j["totals"]["collectives"] > 10)(
        os.path.isdir(job.run) and job.pids() and once(job)))
    for columns, rows, term, env in ((80, 24, "xterm-256color", {}), (200, 60, "xterm", {"NO_COLOR": "1"}), (20, 6, "vt100", {}),
                                     (80, 24, "vt100", {"LC_ALL": "C"}), (11, 3, "xterm", {}), (1, 1, "xterm", {})):
        env = dict({"LC_ALL": "C.UTF-8"}, **env)
        terminal = Terminal.__new__(Terminal)
        environment = dict(os.environ)
        os.environ.update(env)
        try:
            Terminal.__init__(terminal, columns, rows, term, job.run)
        finally:
            os.environ.clear()
            os.environ.update(environment)
        name = f"{columns}x{rows} {term} {' '.join(env.values())}"
        shown = columns < 11 or terminal.shows("livejob"[:columns])
        for key in "cswvh" + "r" * 2:
            terminal.key(key)
            terminal.read()
        alive = terminal.process.poll() is None
        if columns >= 80:
            terminal.key("c")
            odd = terminal.shows("odd ?[2J?[31m? name" if columns > 80 else "odd ?[2J")
            say(bool(odd) and b"\x1b[2J\x1b[31m\x07" not in terminal.raw and b"\x07" not in terminal.raw,
                f"{name}: names cannot move the cursor", "\n".join(terminal.screen.display))
            if "NO_COLOR" in env or term == "vt100":
                say(not re.search(rb"\x1b\[[0-9;]*3[1-7]m", terminal.raw), f"{name}: no colour")
        status = terminal.end("q")
        say(bool(shown) and alive and status == 0 and terminal.restored(), f"{name}: shown, ends with q, the terminal as it was",
            f"{shown} {alive} {status} {terminal.restored()} " + "\n".join(terminal.screen.display))
        terminal.close()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        terminal = Terminal(80, 24, "xterm", job.run)
        terminal.shows("livejob")
        status = terminal.end(number)
        say(status == -number and terminal.restored(), f"{number.name}: the terminal as it was", f"{status} {terminal.restored()}")
        terminal.close()
    views(job)
    storm(job)
    dumb = Terminal(80, 24, "dumb", job.run)
    status = until(lambda: (dumb.read(), dumb.process.poll())[1] is not None) and dumb.process.wait()
    say(status == 0 and b"livejob" in dumb.raw and b"\x1b" not in dumb.raw, "a terminal that cannot be drawn on gets the text",
        str(dumb.raw[-300:]))
    dumb.close()
    job.end()
    job.kill()


def launcher_of(job):
    """The child of mpit-run that is a launcher."""
    return int(open(f"/proc/{job.process.pid}/task/{job.process.pid}/children").read().split()[0])


def balance():
    """Ranks that compute in a known proportion: 1 : 1 : 2.5."""
    job = Job("uneven", 3, "uneven")
    until(lambda: (lambda j: j and j["running"] == 3)(once(job)))
    is_so = lambda j: j and j["efficiency"]["load_balance"] is not None and 0.5 < j["efficiency"]["load_balance"] < 0.75 and \
        re.fullmatch(r"rank 2 computes (1\.[5-9]|2\.\d|3\.0) times as long as the others", j["finding"] or "")
    found = until(lambda: (lambda j: j if is_so(j) else None)(once(job)))
    say(found, "the rank that computes longest is named, and by how much", str(found and (found["efficiency"], found["finding"])))
    if found:
        e = found["efficiency"]
        say(abs(e["parallel"] - e["load_balance"] * e["communication"]) < 1e-9 and e["serialization"] is None and
            abs(e["load_balance"] - e["load_balance_in_node"] * e["load_balance_between_nodes"]) < 1e-9,
            "efficiency is the product of its factors", str(e))
        say(found["launcher"] == launcher_of(job) and found["directory"] == job.run and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found["start"]),
            "JSON has launcher, directory and start", str((found["launcher"], launcher_of(job), found["directory"], found["start"])))
    text = subprocess.run([TOP, "--once", "--interval", "0.5", job.run], stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, COLUMNS="80")).stdout
    say("efficiency" in text and "load balance" in text and "rank 2 computes" in text and text.startswith("livejob") and
        max(map(len, text.splitlines())) <= 80, "--once RUN has them in the head, in 80 columns", text)
    return job


def listed(old):
    """The list of jobs: the newest first; the shown job stays when others come and go."""
    new = Job("uneven", 2, "newer")
    until(lambda: (lambda j: j and j["running"] == 2)(once(new)))
    terminal = Terminal(80, 24, "screen-256color")
    terminal.shows("longest call")
    row = lambda job: next((n for n, line in enumerate(terminal.screen.display) if f" {launcher_of(job)} " in line), None)
    both = until(lambda: terminal.read() and row(new) is not None and row(old) is not None)
    say(both and row(new) < row(old), "the newest job is first", "\n".join(terminal.screen.display))
    found = until(lambda: re.search(rf"livejob-\w+ +{launcher_of(new)} +\d\d:\d\d:\d\d +2 +\d+\.\d +\d+\.\d", terminal.read()))
    say(found, "program, launcher, start, ranks and shares", "\n".join(terminal.screen.display))
    say(all(word in terminal.screen.display[0] for word in ("program", "launcher", "start", "ranks", "MPI %", "stalled %", "longest call")) and
        "q quit" in terminal.screen.display[23] and "h help" in terminal.screen.display[23], "on 80 columns and 24 lines", "\n".join(terminal.screen.display))
    terminal.key(f"/{mpi}-uneven\r")
    until(lambda: terminal.read() and row(new) is None)
    terminal.key("\r")
    opened = terminal.shows(f"launcher {launcher_of(old)}")
    say(bool(opened), "enter opens the chosen job", "\n".join(terminal.screen.display))
    third = Job("uneven", 2, "third")
    until(lambda: (lambda j: j and j["running"] == 2)(once(third)))
    mine = lambda: f"launcher {launcher_of(old)}" in terminal.read()
    stays = mine()
    for job in (new, third):
        job.end()
        until(lambda: job.process.poll() is not None)
        stays = stays and mine()
    say(stays, "and it stays when others come and go", "\n".join(terminal.screen.display))
    chosen = [n for n in range(24) if terminal.screen.buffer[n][0].reverse and n < 23]
    colors = {terminal.screen.buffer[n][c].fg for n in chosen for c in range(80)}
    say(len(chosen) == 1 and len(colors) == 1, "one row is chosen, in one color", str((chosen, colors)))
    terminal.key("j")
    say(bool(terminal.shows("longest call")), "j leads back to the list")
    terminal.end("q")
    terminal.close()
    text = subprocess.run([TOP, "--once", "--interval", "0.2"], stdout=subprocess.PIPE, text=True).stdout
    say(text.startswith("program") and job_line(text, old) and "efficiency %" in text.splitlines()[0] and old.run in text,
        "--once begins with the list", text)
    new.kill()
    third.kill()


def job_line(text, job):
    return any(f" {launcher_of(job)} " in line for line in text.splitlines())


def whole():
    """Numbers are whole on a small screen: each is one of the large screen. The job stands still."""
    job = Job("rounds", 3, "still")
    until(lambda: (lambda j: j and j["running"] == 3)(once(job)))
    for number in 1, 2, 3:
        job.go(number)
    numbers = lambda screen: set(re.findall(r"\d[\d.,]*\d|\d", "\n".join(line for line in screen.display if not re.search("running|every|efficiency|stands out", line))))
    views = (("c", "communicator"), ("s", "collectives"), ("v", "mpit_call_count"))
    seen = {}
    for columns, rows in ((240, 200), (80, 24), (160, 50)):
        terminal = Terminal(columns, rows, "screen", job.run)  # pyte does not know how xterm repeats a character
        terminal.shows("sent/s 0  ")  # the first look has means since the begin
        terminal.key("p")
        terminal.shows("paused")
        for key, sign in views:
            terminal.key(key)
            terminal.shows(sign)
            some = numbers(terminal.screen)
            whole = seen.setdefault(key, some)
            say(some and some <= whole and "q quit" in terminal.screen.display[rows - 1],
                f"{key}: all numbers, and the last line, of {columns}x{rows} are whole", str(sorted(some - whole)) + "\n".join(terminal.screen.display))
        terminal.end("q")
        terminal.close()
    job.end()
    job.kill()


def views(job):
    terminal = Terminal(120, 40, "screen-256color", job.run) # xterm repeats characters in a way that pyte does not know
    terminal.shows("ranks running")
    say(bool(terminal.shows("host:pid", 0) or terminal.shows("coll/s")), "the ranks are shown first")
    say(bool(until(lambda: re.search("^MPI, last [0-9.]+ m?s [1-8]{10,} *$", terminal.read(), re.M))),
        "a strip of the last intervals", [line for line in terminal.screen.display if "last" in line])
    terminal.key("w")
    say(bool(terminal.shows("place")) and bool(until(lambda: re.search(r"MPI_Sendrecv +\S*livejob.c:\d+", terminal.read()))),
        "where: the places that call MPI", "\n".join(terminal.screen.display))
    terminal.key("r")
    terminal.shows("coll/s")
    terminal.key("\r")
    say(bool(terminal.shows("MPI_Sendrecv")) and bool(terminal.shows("peer")), "enter leads into a rank: functions and peers",
        "\n".join(terminal.screen.display))
    terminal.key("v")
    say(bool(terminal.shows("mpit_call_count")), "its variables")
    terminal.key("c")
    terminal.shows("communicator")
    terminal.key("\r")
    say(bool(terminal.shows("in it")), "into a communicator: its ranks")
    terminal.key("r")
    terminal.shows("sent/s")
    terminal.key("/2\r")
    say(bool(until(lambda: "only: 2" in terminal.read() and
                   not re.search(r"^ +[01] running", terminal.read(), re.M))), "the filter leaves rank 2 alone",
        "\n".join(terminal.screen.display))
    terminal.key("/\rp")
    say(bool(terminal.shows("paused")), "pause")
    still = terminal.read()
    time.sleep(0.5)
    say(terminal.read() == still, "a paused screen stands still")
    terminal.key("p>R")
    say(bool(until(lambda: "rank^" in terminal.read())), "sorted by another column, the other way round",
        "\n".join(terminal.screen.display))
    signals(job, terminal)
    terminal.end("q")
    terminal.close()


def signals(job, terminal):
    """"k" asks first, and sends the signal to the chosen rank alone."""
    state = lambda pid: re.search(r"State:\s+(\S)", open(f"/proc/{pid}/status").read())[1]
    asked = lambda: re.search(r"signal to rank (\d) \(process (\d+)\)", terminal.read())
    terminal.key("r")
    terminal.shows("coll/s")
    terminal.key("k")
    found = until(asked)
    rank, pid = (int(found[1]), int(found[2])) if found else (0, 0)
    say(found and once(job)["ranks"][rank]["pid"] == pid, "k asks which signal", "\n".join(terminal.screen.display))
    terminal.key("\x1b")
    time.sleep(0.3)
    say(not asked() and state(pid) != "T", "escape sends none")
    terminal.key("kNOSUCH\r")
    say(bool(terminal.shows("is no signal")), "a word that is none is told", "\n".join(terminal.screen.display))
    terminal.key("kSTOP\r")
    say(bool(until(lambda: state(pid) == "T")), "STOP stops it")
    terminal.key("kSIGCONT\r")
    say(bool(until(lambda: state(pid) != "T")), "and CONT lets it go on")


def storm(job):
    terminal = Terminal(80, 24, "xterm", job.run)
    terminal.shows("livejob")
    dice = random.Random(8)
    for _ in range(200):
        terminal.resize(dice.randint(1, 250), dice.randint(1, 80))
        terminal.key(dice.choice("rcsvh<>Rp\r\x1bj"))
        terminal.read() if dice.random() < 0.2 else None
    terminal.resize(100, 30)
    terminal.key("\x1b")
    time.sleep(0.3)
    terminal.read()
    terminal.key("h")
    shown = terminal.shows("sizes of messages")
    status = terminal.end("q")
    say(bool(shown) and status == 0 and terminal.restored(), "200 changes of size and keys at random", f"{shown} {status}\n" + "\n".join(terminal.screen.display))
    terminal.close()


def asked():
    """What somebody asked for has columns, in text as narrow as a terminal, and names in JSON; else there are none."""
    plain = Job("rounds", 2, "plain")
    rich = Job("rounds", 2, "rich", "--os", "--papi", "perf::PAGE-FAULTS", *(["--fabric"] if mpi == "mpich" else []))
    document = lambda job: subprocess.run([TOP, "--once", "--json", "--interval", "0.2", job.run], stdin=subprocess.DEVNULL,
                                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    read = lambda job: (lambda d: d["jobs"][0] if d and d["jobs"] else None)(json.loads(document(job) or "null"))
    for number in 1, 2:
        rich.go(number)
        plain.go(number)
    found, bare = read(rich), read(plain)
    wanted = {"kernel time", "voluntary switches", "involuntary switches", "minor page faults", "major page faults", "perf::PAGE-FAULTS"}
    counters = [rank["rates"].get("counters", {}) for rank in found["ranks"]]
    say(all(set(c) | {"major page faults"} == wanted and c["perf::PAGE-FAULTS"]["count"] > 0 < c["minor page faults"]["count"] for c in counters) and
        ("fabric" in found["rates"]) == (mpi == "mpich") and
        (mpi != "mpich" or all(rank["rates"]["fabric"]["pending"] >= 0 for rank in found["ranks"])),
        "counters and the fabric of who asked for them", str((counters, found["rates"].get("fabric"))))
    say(not bare["rates"].get("counters") and not bare["rates"].get("fabric"), "and of nobody else", str(bare["rates"]))
    text = lambda job: subprocess.run([TOP, "--once", "--interval", "0.2", job.run], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      env={**os.environ, "COLUMNS": "140"}, text=True).stdout
    shown, other = text(rich), text(plain)
    say("perf::PAGE" in shown and "faults" in shown and ("ops/s" in shown) == (mpi == "mpich"), "they have columns", shown)
    say("faults" not in other and "ops/s" not in other, "which others have not", other)
    rich.end()
    plain.end()


try:
    counts()
    asked()
    hangs()
    returned()
    killed()
    listed(balance())
    whole()
    screens()
finally:
    for one in started:
        one.kill()
sys.exit(0)
