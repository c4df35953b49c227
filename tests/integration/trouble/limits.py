#!/usr/bin/env python3
"""limits.py BUILD MPI: disk, memory and descriptors that give out. The program goes on untouched: its status is 0, it prints
what it prints, no signal reaches it; one line on standard error says what is wrong; what is missing is counted."""
import csv
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import crashbook
import trial

BUILD, MPI = os.path.abspath(sys.argv[1]), sys.argv[2]
DUMP, LIST, SECONDS = BUILD + "/bin/mpit-dump", BUILD + "/bin/mpit-list", 120
WORK = tempfile.mkdtemp(prefix="mpit-limits.")
RUN, BOOKS = WORK + "/run", WORK + "/books"
SPOOL = os.environ["MPIT_SPOOL"] = WORK + "/spool"  # what killed processes leave goes with it
judge = trial.Judge()
say = judge.holds


def program(calls, operations="mixed"):
    """The line of a single process."""
    return ["%s/tests/crash-%s" % (BUILD, MPI), BOOKS, operations, "1", "finalize", str(calls)]


def environment(settings):
    """That of a single process which is recorded."""
    return trial.clean(LC_ALL="C", MPIT_OUTPUT=RUN, MPIT_SPOOL=SPOOL, LD_PRELOAD="%s/lib/libmpit.so" % BUILD) | settings


def fresh():
    """Empty directories."""
    shutil.rmtree(RUN, ignore_errors=True)
    shutil.rmtree(BOOKS, ignore_errors=True)
    shutil.rmtree(SPOOL, ignore_errors=True)
    os.mkdir(SPOOL)
    os.mkdir(BOOKS)
    os.mkdir(RUN)


def untouched(name, done, lines=1):
    """The program ended as ever, and mpit said so many lines."""
    said = [line for line in done.stderr.splitlines() if line.startswith("mpit")]
    good = done.returncode == 0 and done.stdout == "" and len(said) == lines
    say(good, "%s: the program goes on, %d line%s" % (name, lines, "s"[lines == 1:]),
        "status %d\n%s\n%s" % (done.returncode, done.stdout, done.stderr))


def run(calls=60000, settings=None, wrapper=(), before=None, operations="mixed"):
    """Runs it."""
    return subprocess.run([*wrapper, *program(calls, operations)], env=environment(settings or {"MPIT_TRACE": "1"}),
                          capture_output=True, text=True, timeout=SECONDS, check=False, preexec_fn=before)


def losses():
    """By cause, as the tools tell them."""
    done = subprocess.run([DUMP, "--json", RUN], capture_output=True, text=True, timeout=SECONDS, check=False)
    try:
        return json.loads(done.stdout)["jobs"][0].get("lost", {})
    except (ValueError, KeyError, IndexError):
        return {"unreadable": done.stdout + done.stderr}


def mounted(options, before=""):
    """A wrapper: the spool is a file system of its own, which is small."""
    script = "mount -t tmpfs -o %s none %s && %s \"$@\"" % (options, SPOOL, before)
    return ["unshare", "-m", "sh", "-c", script, "sh"]


def disks():
    """Full disks of several kinds."""
    for name, options, settings in (
            ("a full disk while a trace is appended", "size=900k", {"MPIT_TRACE": "1"}),
            ("a disk that is full before a buffer is there", "size=300k", {"MPIT_TRACE": "1"}),
            ("a disk with no room at all", "size=4k", {"MPIT_TRACE": "1"}),
            ("a disk without a place for a file (inodes)", "size=9m,nr_inodes=1", {"MPIT_TRACE": "1"}),
            ("a disk that cannot be written", "size=9m,ro", {"MPIT_TRACE": "1"})):
        fresh()
        done = run(settings=settings, wrapper=mounted(options))
        untouched(name, done)
    fresh()
    done = run(settings={"MPIT_TRACE": "1", "MPIT_TRACE_POLICY": "ring"}, wrapper=mounted("size=3m"), calls=200000)
    untouched("a full disk, and the trace goes in a ring", done, 0)
    wrong = crashbook.run_check(DUMP, RUN, BOOKS, 8190)
    say(not wrong, "  the last events are there", wrong)
    fresh()
    done = run(settings={"MPIT_TRACE": "1"}, wrapper=["unshare", "-m", "sh", "-c", (
        "mount -t tmpfs -o size=1m none /dev/shm && cat /dev/zero >/dev/shm/full 2>/dev/null; \"$@\""), "sh"])
    bare = subprocess.run(["unshare", "-m", "sh", "-c", (
        "mount -t tmpfs -o size=1m none /dev/shm && cat /dev/zero >/dev/shm/full 2>/dev/null; exec env -u LD_PRELOAD \"$@\""),
        "sh", *program(1000)], env=environment({}), capture_output=True, text=True, timeout=SECONDS, check=False)
    say(done.returncode == bare.returncode, "a full /dev/shm: the status is %d as without mpit" % bare.returncode,
        done.stderr)


def collectors():
    """mpit-collect has no more stack than the program; or it is killed, as without memory."""
    fresh()
    untouched("a stack of 256 KiB", run(1000, {"MPIT_TRACE": "0"}, ["prlimit", "--stack=262144:unlimited"]), 0)
    say([name for name in os.listdir(RUN) if name.endswith(".mpit")], "  the results come", os.listdir(RUN))
    fresh()
    for part in ("lib", "bin"):
        os.makedirs(WORK + "/killed/" + part, exist_ok=True)
    for library in ("libmpit.so", "libmpit-%s.so" % MPI):
        shutil.copy(BUILD + "/lib/" + library, WORK + "/killed/lib")
    with open(WORK + "/killed/bin/mpit-collect", "w", encoding="ascii") as script:
        script.write("#!/bin/sh\nkill -9 $$\n")
    os.chmod(script.name, 0o755)
    done = run(1000, {"MPIT_TRACE": "0", "LD_PRELOAD": WORK + "/killed/lib/libmpit.so"})
    untouched("mpit-collect is killed", done)
    say("was killed" in done.stderr and '"mpit-collect %s"' % RUN in done.stderr, "  which is told, with the way to the recording", done.stderr)
    brought = subprocess.run([BUILD + "/bin/mpit-collect", RUN], env=environment({}) | {"LD_PRELOAD": ""}, capture_output=True,
                             text=True, timeout=SECONDS, check=False)
    say("1 live files merged" in brought.stdout, "  that way leads there", brought.stdout + brought.stderr)


def quotas():
    """The user may have no more bytes there."""
    preload = "%s/lib/libmpit.so:%s/tests/quota.so" % (BUILD, BUILD)
    for name, settings in (("a quota while a trace is appended", {"QUOTA": "900000"}),
                           ("a quota that a trace in a ring meets", {"QUOTA": "1500000", "MPIT_TRACE_POLICY": "ring"}),
                           ("a quota before a buffer is there", {"QUOTA": "300000"}),
                           ("a quota of nothing", {"QUOTA": "0"})):
        fresh()
        untouched(name, run(settings=dict(settings, MPIT_TRACE="1", LD_PRELOAD=preload), calls=200000))
        size = sum(os.stat(RUN + "/" + file).st_blocks * 512 for file in os.listdir(RUN)
                   if file.endswith(".mpit"))
        if int(settings["QUOTA"]) >= 900000:
            wrong = crashbook.run_check(DUMP, RUN, BOOKS, 1000) if "MPIT_TRACE_POLICY" in settings else []
            say(size <= int(settings["QUOTA"]) + 16384 and not wrong, "  the run file has %d bytes on disk, and is read" % size,
                wrong)


def folders():
    """One that is removed meanwhile."""
    fresh()
    process = subprocess.Popen(program(0)[:-2] + ["forever", "0"], env=environment({"MPIT_TRACE": "1"}),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.time() + SECONDS
    while not crashbook.ready(BOOKS + "/0") and time.time() < until:
        time.sleep(0.01)
    shutil.rmtree(RUN)
    time.sleep(0.3)
    alive = process.poll() is None
    process.kill()
    process.wait()
    say(alive, "a folder that has gone: the program goes on")


def set_limit(kind, value):
    """For the child, the soft limit alone or both."""
    return lambda: resource.setrlimit(kind, (value, value))


def descriptors_least():
    """The fewest descriptors that the program gets by with, when it is not recorded; and some more."""
    for value in range(6, 64):
        done = subprocess.run(["env", "-u", "LD_PRELOAD", "%s/tests/heat-%s" % (BUILD, MPI), "--rows", "8", "--columns",
                               "8", "--steps", "2"], env=environment({}), capture_output=True, timeout=SECONDS,
                              check=False, preexec_fn=set_limit(resource.RLIMIT_NOFILE, value))
        if done.returncode == 0:
            return value, value + 1, value + 8
    return ()


def limits():
    """RLIMIT_NOFILE, from the fewest that do."""
    cases = [("RLIMIT_NOFILE", resource.RLIMIT_NOFILE, value) for value in descriptors_least()]
    for what, kind, value in cases:
        fresh()
        heat = ["%s/tests/heat-%s" % (BUILD, MPI), "--rows", "32", "--columns", "32", "--steps", "5000"]
        for settings in ({}, {"MPIT_TRACE": "1"}, {"MPIT_TRACE": "1", "MPIT_TRACE_POLICY": "ring"}):
            bare, done = [subprocess.run(wrapper + heat, env=environment(settings), capture_output=True, text=True,
                                         timeout=SECONDS, check=False, preexec_fn=set_limit(kind, value))
                          for wrapper in (["env", "-u", "LD_PRELOAD"], [])]
            say(done.returncode == bare.returncode and len(done.stderr.splitlines()) <= len(bare.stderr.splitlines()) + 1,
                "%s of %s, %s: status %d as without mpit, one line at most" %
                (what, value, settings or "no trace", bare.returncode), "%d %s" % (done.returncode, done.stderr))


def memory_of(pid):
    """What the process has mapped, in bytes."""
    with open("/proc/%d/statm" % pid, encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def later_limits():
    """Limits that come while the program runs, so that they are the recorder's alone."""
    cases = [("RLIMIT_FSIZE of 700 KiB", resource.RLIMIT_FSIZE, lambda pid: 700 << 10, 1),
             ("RLIMIT_FSIZE of 0", resource.RLIMIT_FSIZE, lambda pid: 0, 1),
             ("RLIMIT_AS of what there is", resource.RLIMIT_AS, memory_of, None)]
    for what, kind, value, lines in cases:
        for policy in ("stop", "ring"):
            fresh()
            operations, end = ("plain", "forever") if kind == resource.RLIMIT_AS else ("mixed", "fsize=%d" % value(0))
            with open(WORK + "/said", "w+", encoding="utf-8") as said:
                process = subprocess.Popen(program(0, operations)[:-2] + [end, "100"], stderr=said, env=environment(
                    {"MPIT_TRACE": "1", "MPIT_TRACE_POLICY": policy}))
                until = time.time() + SECONDS
                while not crashbook.ready(BOOKS + "/0") and time.time() < until:
                    time.sleep(0.005)
                if kind == resource.RLIMIT_AS:
                    resource.prlimit(process.pid, kind, (value(process.pid),) * 2)
                begun = crashbook.Process(BOOKS + "/0").accounts[0].returned
                while crashbook.Process(BOOKS + "/0").accounts[0].returned < begun + 50000 and \
                        process.poll() is None and time.time() < until:
                    time.sleep(0.05)
                alive = process.poll() is None
                process.kill()
                process.wait()
                said.seek(0)
                text = said.read()
            told = [line for line in text.splitlines() if line.startswith("mpit")]
            say(alive and (lines is None and len(told) <= 1 or len(told) <= lines), "%s, trace policy %s: the program goes on" %
                (what, policy), "%s %s" % (process.returncode, text))
            wrong = crashbook.run_check(DUMP, RUN, BOOKS, 8150)
            say(not wrong, "  the last events are there", wrong)


def hidden_limits():
    """A limit on the size of files that falls between a look at it and the write (hiddenlimit.c), here behind the last looks
    of a run: of the trace's, of its cut, of the summary's. Without the library's care the signal ends the program."""
    counted = WORK + "/looks"
    preload = "%s/lib/libmpit.so:%s/tests/hiddenlimit.so" % (BUILD, BUILD)
    for settings in ({}, {"MPIT_TRACE": "1"},
                     {"MPIT_TRACE": "1", "MPIT_TRACE_POLICY": "ring", "MPIT_TRACE_LIMIT_BYTES": "400000"}):
        def tried(hidden):
            fresh()
            return subprocess.run(program(20000), env=environment(dict(settings, LD_PRELOAD=preload, HIDDEN_LIMIT=hidden)),
                                  capture_output=True, text=True, timeout=SECONDS, check=False)
        done = tried(counted)
        with open(counted, encoding="ascii") as file:
            looks = int(file.read())
        say(done.returncode == 0 and looks > 1, "%s: a run of %d looks" % (settings, looks), done.stderr)
        last = [looks] if not settings else sorted({looks - back for back in (0, 1, 2, 3, 5, 8, 13, 21, 34) if back < looks // 2})
        wrong = []
        for look in last:
            done = tried(str(look))
            if done.returncode or len([line for line in done.stderr.splitlines() if line.startswith("mpit")]) > 1:
                wrong.append((look, done.returncode, done.stderr))
        say(not wrong, "  a limit behind look %s: the program goes on" % last, wrong)
        if not settings:
            say("File too large" in done.stderr, "  which is told", done.stderr)


def dumped(*words):
    """What mpit-dump says of the run, and its status."""
    done = subprocess.run([DUMP, *words, RUN], capture_output=True, text=True, timeout=SECONDS, check=False)
    return done.returncode, done.stdout + done.stderr


def gaps():
    """Where events are missing and why: the replay, the list of events and the archive say the same."""
    for policy, cause in (("stop", "trace_limit"), ("ring", "trace_limit, the oldest events were replaced")):
        fresh()
        done = subprocess.run([*program(60000)[:3], "2", "finalize", "60000"], env=environment(
            {"MPIT_TRACE": "1", "MPIT_TRACE_LIMIT_BYTES": "400000", "MPIT_TRACE_POLICY": policy}),
                              capture_output=True, text=True, timeout=SECONDS, check=False)
        name = "a trace with gaps, policy %s" % policy
        say(done.returncode == 0, name + ": the program goes on", done.stderr)
        status, text = dumped("--verify")
        told = {int(thread): (int(count), begin, end) for thread, count, begin, end in
                re.findall(r"^  thread (\d+): (\d+) between (\S+) and (\S+) \(%s\)$" % cause, text, re.M)}
        whole = re.search(r"(\d+) event records are not in the trace. Gaps", text)
        say(status == 1 and whole and sorted(told) == [0, 1] and
            sum(count for count, _, _ in told.values()) == int(whole.group(1)) and
            all(float(begin) < float(end) for _, begin, end in told.values()), "  --verify tells where and why", text)
        _, text = dumped("--events")
        listed = {int(thread): int(count) for thread, count in re.findall(r"^ +0 +(\d+) (\d+) records are missing", text, re.M)}
        say(listed == {thread: count for thread, (count, _, _) in told.items()}, "  --events has as many", [listed, told])
        archive = WORK + "/archive-" + policy
        status, text = dumped("--otf2", archive)
        say(status == 0, "  there is an archive", text)
        done = subprocess.run([BUILD + "/tests/otf2judge", archive], capture_output=True, text=True, timeout=SECONDS,
                              check=False)
        say(done.returncode == 0, "  which is sound", done.stdout)
        done = subprocess.run(["otf2-marker", archive + "/traces.otf2"], capture_output=True, text=True, timeout=SECONDS,
                              check=False)
        marked = {int(location) >> 32: (int(count), begin, begin + length) for begin, length, location, count in (
            (int(found[0]), int(found[1]), found[2], found[3]) for found in re.findall(
                r'Time: (\d+), Duration (\d+), Scope: LOCATION:(\d+), Text: "(\d+) events .* \(%s\)"' % cause, done.stdout))}
        say(marked == {thread: (count, round(float(begin) * 1e9), round(float(end) * 1e9))
                       for thread, (count, begin, end) in told.items()}, "  with a marker for each gap",
            done.stdout + done.stderr + str(told))
    fresh()
    run(calls=3000)
    archive = WORK + "/archive-whole"
    dumped("--otf2", archive)
    say(os.path.exists(archive + "/traces.otf2") and not os.path.exists(archive + "/traces.marker"),
        "a whole trace has no markers", str(os.listdir(WORK)))


def rows():
    """-> event records that mpit-dump --csv lists, and records that it says are missing"""
    done = subprocess.run([DUMP, "--csv", RUN], stdout=subprocess.PIPE, text=True, timeout=SECONDS, check=False)
    listed = list(csv.DictReader(done.stdout.splitlines()))
    missing = [int(row["value"]) for row in listed if row["what"] == "missing"]
    return len(listed) - len(missing), sum(missing)


def unstalled(end, settings):
    """-> calls of a program that no call kept waiting, and its summary. A call that waits, on a busy machine, makes a record
    more."""
    for _ in range(20):
        fresh()
        subprocess.run([*program(0, "plain")[:4], end, "60000"], env=environment(settings), stdin=subprocess.DEVNULL,
                       capture_output=True, timeout=SECONDS, check=False)
        summary = json.loads(dumped("--json")[1])["jobs"][0]
        if not any(summary["stalls_ns"].values()):
            break
    return crashbook.Process(BOOKS + "/0").accounts[0].returned, summary


def amounts():
    """How many event records a bounded trace lacks: the program knows how many it left, and all outputs say the same. Each call
    of `plain` is one. `others`: those besides, of the begin and the end. Where the thread loses its processor for a
    millisecond, there is one more."""
    others = None
    for policy, limit, end in (("stop", "0", "finalize"), ("stop", "400000", "finalize"), ("stop", "4000", "finalize"),
                               ("ring", "400000", "finalize"), ("ring", "4000", "finalize"), ("stop", "400000", "kill"),
                               ("stop", "4000", "kill"), ("ring", "400000", "kill")):
        name = "a trace of at most %s bytes, policy %s, %s" % (limit, policy, end)
        made, summary = unstalled(end, {"MPIT_TRACE": "1", "MPIT_TRACE_LIMIT_BYTES": limit, "MPIT_TRACE_POLICY": policy})
        lost, (listed, missing) = summary["lost"].get("trace_limit", 0), rows()
        others = summary["events"] - made if others is None else others
        left = made + others - (end == "kill")
        text = dumped("--verify")[1]
        told = re.search(r"(\d+) event records are not in the trace", text)
        events = summary["events"]
        say(made >= 60000 and abs(events - left) <= made / 100 and listed + missing == events,
            name + ": each one is listed, or missing", [made, events, listed, missing])
        shown = subprocess.run([LIST, "--run", RUN, "--json", "mpit_events_lost"], stdout=subprocess.PIPE, text=True, check=False)
        value = json.loads(shown.stdout)["variables"][0]["values"].get("trace_limit", 0)
        say(lost == missing == value == int(told[1] if told else 0) and (missing > 0) == (limit != "0"),
            "  the summary, --verify and mpit-list say how many", [lost, missing, value, text])


def returned(process, more, until):
    """The program has made so many calls more. False: it has ended, or takes too long."""
    begun = crashbook.Process(BOOKS + "/0").accounts[0].returned if os.path.exists(BOOKS + "/0") else 0
    while time.time() < until and process.poll() is None:
        if os.path.exists(BOOKS + "/0") and crashbook.Process(BOOKS + "/0").accounts[0].returned >= begun + more:
            return True
        time.sleep(0.05)
    return False


def causes():
    """The oldest of a trace give way to its limit; then its file may not be written any more: two gaps, two causes. The limit
    has room for nine blocks at least, so that what stands between the gaps is not what the last block was to be written over."""
    fresh()
    until = time.time() + SECONDS
    line = program(0)
    line[4] = "forever"
    with subprocess.Popen(line, env=environment({"MPIT_TRACE": "1", "MPIT_TRACE_LIMIT_BYTES": "1600000",
                                                 "MPIT_TRACE_POLICY": "ring"}),
                          stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        first = returned(process, 300000, until)
        if first:
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1, 1))
        second = first and returned(process, 100000, until)
        process.kill()
        process.wait()
    say(second, "a trace with gaps of two causes: the program goes on", process.returncode)
    wanted = ["trace_limit, the oldest events were replaced", "disk_full"]
    _, text = dumped("--verify")
    told = re.findall(r"^  thread 0: (\d+) between (\S+) and (\S+) \((.*)\)$", text, re.M)
    say([cause for _, _, _, cause in told] == wanted and float(told[0][2]) <= float(told[1][1]),
        "  --verify tells each gap's own", text)
    _, text = dumped("--events")
    listed = re.findall(r" (\d+) events are missing here \((.*)\)$", text, re.M)
    say(listed == [(count, cause) for count, _, _, cause in told], "  --events likewise", [listed, told])
    archive = WORK + "/archive-causes"
    status, text = dumped("--otf2", archive)
    done = subprocess.run(["otf2-marker", archive + "/traces.otf2"], capture_output=True, text=True, timeout=SECONDS,
                          check=False)
    marked = re.findall(r'Text: "(\d+) events .*? \((.*)\)"', done.stdout)
    say(status == 0 and marked == listed and len(marked) == 2, "  and so do the archive's markers", text + done.stdout)


GROUPS = [disks, collectors, quotas, folders, limits, later_limits, hidden_limits, gaps, amounts, causes]


def main():
    """Runs them; mounting needs a namespace."""
    try:
        if subprocess.run(["unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt"], capture_output=True,
                          check=False).returncode:
            judge.skip("full file systems", "nothing can be mounted here")
            GROUPS.remove(disks)
        for group in GROUPS:
            group()
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
    sys.exit(judge.verdict() or (trial.SKIPPED if judge.skipped else 0))


main()
