#!/usr/bin/python3
"""What a killed job leaves in the spool: the next job of the same user sees to it.

    leftovers.py BUILD

A job (chaos.c, which kills itself) leaves its live file. The file is made older, and another job runs. With its output
directory the file is collected. Where the directory above is gone, the file stays for a day, and then it goes. A file that
nobody can read goes after a day, too. What needs no next job: an end by exit(), and a path with slashes that say nothing.
Where the site's file has the output directory, the files of a job become one later.
"""
import fcntl
import glob
import os
import re
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

MINUTES, DAY = 120, 25 * 3600  # seconds; the next job takes what is older than a minute, and than 24 hours


def job(build, mpi, directory, output, end, inside=()):
    """One rank that ends by END; INSIDE begins the launcher's line. -> Ended"""
    variables = {"LD_PRELOAD": trial.preload(build, mpi), "MPIT_OUTPUT": output, "MPIT_SPOOL": directory + "/spool"}
    words = [f"{build}/tests/chaos-{mpi}", directory, "1", "5", end, "0"]
    return trial.run([*inside, *trial.launcher(mpi, 1, variables), *words], 60, trial.environment(MPIT_SPOOL=directory + "/spool"))


def live_files(directory):
    """All that are in the spools."""
    return glob.glob(directory + "/spool/*/*/*.mpit")


def left(build, mpi, directory, output, age):
    """A killed job's live file, AGE seconds old. -> what is wrong"""
    ended = job(build, mpi, directory, output, "kill")
    files = live_files(directory)
    for path in files:
        os.utime(path, (time.time() - age, time.time() - age))
    return [] if len(files) == 1 else [f"live files: {files}", str(ended)]


def alone(judge, build, mpi, directory):
    """The job brings its own results."""
    os.makedirs(directory + "/spool", exist_ok=True)
    for number, (what, end, behind) in enumerate((("by exit()", "exit", ""), ("with a slash behind the path", "finalize", "/"),
                                                  ("with dots in the path", "finalize", "/./"))):
        output = f"{directory}//alone-{number}"
        ended = job(build, mpi, directory, output + behind, end)
        judge.check(f"{mpi}: a job that ends {what} brings its results",
                    [] if trial.comes(lambda: os.path.isdir(output) and os.listdir(output) and not live_files(directory)) else
                    [str(ended), str(live_files(directory))])


def asked_to_end(judge, build, mpi, directory):
    """A process that waits for its results is asked to end, as a launcher does when another rank has failed: its status stays."""
    output, spool = directory + "/asked", directory + "/asked-spool"
    variables = {"LD_PRELOAD": trial.preload(build, mpi), "MPIT_OUTPUT": output, "MPIT_SPOOL": spool}
    program = f"{build}/tests/interrupted-{mpi}"
    os.makedirs(spool)
    job = subprocess.Popen([*trial.launcher(mpi, 1, variables), program, "storm", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           env=trial.environment(MPIT_SPOOL=spool))
    begun = trial.comes(lambda: glob.glob(spool + "/*/*/*.mpit"))
    with open(os.path.dirname(glob.glob(spool + "/*/*/*.mpit")[0]) + "/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # so its results cannot be brought
        waits = trial.comes(lambda: glob.glob(spool + "/*/*/ending-*"))
        subprocess.run(["pkill", "-TERM", "-f", f"^{program} storm 1"], check=False)
        status = job.wait()
    judge.check(f"{mpi}, asked to end while it waits: it ends with its own status", [] if begun and waits and status == 0 else [f"{waits}, status {status}"])
    judge.check(f"{mpi}, asked to end while it waits: its results come", [] if trial.comes(lambda: glob.glob(output + "/*.mpit")) else ["nothing"])


def elsewhere(judge, build, mpi, directory):
    """The output directory cannot be made: the line names the spool, and that leads to the results."""
    place = directory + "/file"
    with open(place, "w", encoding="ascii"):
        pass
    ended = job(build, mpi, directory, place, "finalize")
    named = re.search(r"stays in (\S+), and mpit-dump", ended.err)
    spool = named.group(1) if named else "/nowhere"
    environment = trial.environment(MPIT_SPOOL=directory + "/spool")
    failed = trial.run([build + "/bin/mpit-collect", spool], 30, environment)
    judge.check(f"{mpi}: what cannot be brought is counted as left", [] if failed.status == 1 and "1 left" in failed.out else [str(ended), str(failed)])
    brought = trial.run([build + "/bin/mpit-collect", "--to", directory + "/elsewhere", spool], 30, environment)
    judge.check(f"{mpi}: mpit-collect --to brings it elsewhere",
                [] if brought.status == 0 and glob.glob(directory + "/elsewhere/*.mpit") and not live_files(directory) else [str(brought)])
    nothing = trial.run([build + "/bin/mpit-collect", directory + "/nosuch"], 30, environment)
    judge.check(f"{mpi}: a directory that is not there is said", [] if nothing.status == 0 and "no such directory" in nothing.err else [str(nothing)])


def judged(judge, build, mpi, directory):
    """All cases on one MPI."""
    first, other, lost = (f"{directory}/{name}" for name in ("first", "other", "lost/output"))
    judge.check(f"{mpi}: a killed job leaves its live file", left(build, mpi, directory, first, MINUTES))
    ended = job(build, mpi, directory, other, "finalize")
    judge.check(f"{mpi}: the next job brings it to its output directory",
                [] if trial.comes(lambda: not live_files(directory) and glob.glob(first + "/*.mpit")) else [str(ended), str(live_files(directory))])
    os.mkdir(directory + "/lost")
    judge.check(f"{mpi}: another one leaves its file", left(build, mpi, directory, lost, MINUTES))
    os.rmdir(directory + "/lost")
    count = len(glob.glob(other + "/*.mpit"))
    job(build, mpi, directory, other, "finalize")
    trial.comes(lambda: len(glob.glob(other + "/*.mpit")) > count)
    time.sleep(0.5)
    files = live_files(directory)
    judge.check(f"{mpi}: it stays for some time where its place is gone", [] if len(files) == 1 else [f"live files: {files}"])
    for path in files:
        os.utime(path, (time.time() - DAY, time.time() - DAY))
    with open(os.path.dirname(files[0]) + "/host.4000000.mpit", "w", encoding="ascii") as damaged:
        damaged.write("nothing")
    os.utime(damaged.name, (time.time() - DAY, time.time() - DAY))
    job(build, mpi, directory, other, "finalize")
    judge.check(f"{mpi}: and goes after a day, as one does that cannot be read", [] if trial.comes(lambda: not glob.glob(directory + "/spool/*/*")) else
                [f"left: {glob.glob(directory + '/spool/*/*/*')}"])


def earlier(judge, build, mpi, directory):
    """A recording waits in the spool of a new run's directory: it is no job of this run."""
    output, environment = directory + "/earlier", trial.environment(MPIT_SPOOL=directory + "/spool")
    judge.check(f"{mpi}: an earlier job leaves its live file", left(build, mpi, directory, output, 0))
    ended = trial.run([build + "/bin/mpit-run", "-o", output, *trial.launcher(mpi, 1), f"{build}/tests/chaos-{mpi}", directory, "1", "5", "finalize", "0"],
                      60, environment)
    judge.holds(f"is written to {output}.1" in ended.err and len(live_files(directory)) == 1 and len(os.listdir(output + ".1")) == 1,
                f"{mpi}: a new run of that name takes another directory, and says where the earlier one waits", ended)
    trial.run([build + "/bin/mpit-collect", output], 30, environment)
    judge.holds(not live_files(directory) and len(glob.glob(output + "/*.mpit")) == 1, f"{mpi}: and mpit-collect brings that", live_files(directory))


PHASE_AT, START_AT = 32, 3048  # where struct run_header has the phase, and behind it the process number; and process_start


def beginning(judge, build, mpi, directory):
    """A process writes the header of its file, and sets the phase when the rest is there. Meanwhile nothing may take the file."""
    def collected():
        return trial.run([build + "/bin/mpit-collect", os.path.dirname(path)], 30, trial.environment(MPIT_SPOOL=directory + "/spool"))
    judge.check(f"{mpi}: a killed job leaves its file once more", left(build, mpi, directory, directory + "/beginning", 0))
    (path,) = live_files(directory)
    process = subprocess.Popen(["sleep", "60"])
    with open(path, "r+b") as file:
        file.seek(file.read(4096).find(f"{build}/tests/chaos-{mpi}".encode()))
        file.write(b"#")  # a program whose name is hidden: it may be any
        file.seek(PHASE_AT)
        phase = struct.unpack("<I", file.read(4))[0]
        for phase, what in ((0, "begins"), (phase, "runs, even if it has lost the lock on its file (by any close of it)")):
            file.seek(PHASE_AT)
            file.write(struct.pack("<II", phase, process.pid))
            file.seek(START_AT)
            file.write(struct.pack("<Q", 0))
            file.flush()
            ended = collected()
            judge.holds("0 copied, 1 still in use" in ended.out and live_files(directory) == [path], f"{mpi}: it stays while its process {what}", ended)
    process.kill()
    process.wait()
    ended = collected()
    judge.holds("1 copied, 0 still in use" in ended.out and not live_files(directory), f"{mpi}: and goes when that is dead", ended)


JOB_AT = 40  # where struct run_header has the number of the job


def contained(judge, build, mpi, directory):
    """A process that dies in a PID namespace of its own, before it knows its job: it blocks no results, and its file can be had."""
    inside = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if trial.run([*inside, "true"], 30).status:
        judge.skip(f"{mpi}: a process in a PID namespace", "none can be made here")
        return
    output, environment = directory + "/contained", trial.environment(MPIT_SPOOL=directory + "/spool")
    job(build, mpi, directory, output, "kill", inside)
    files = live_files(directory)
    judge.holds(len(files) == 1, f"{mpi}: a process that was killed in a PID namespace leaves its file", files)
    with open(files[0], "r+b") as file:
        file.seek(JOB_AT)
        file.write(bytes(8))
    ended = job(build, mpi, directory, output, "finalize")
    judge.check(f"{mpi}: the next job has its results all the same", [] if trial.comes(lambda: glob.glob(output + "/*.mpit")) else [str(ended)])
    trial.run([build + "/bin/mpit-collect", output], 30, environment)
    judge.holds(glob.glob(output + "/*.mpit") and not live_files(directory), f"{mpi}: and that file comes with mpit-collect", (os.listdir(output), live_files(directory)))


def collectors(directory):
    """Running ones, for spools of this directory."""
    found = []
    for name in glob.glob("/proc/[0-9]*"):
        try:
            with open(name + "/comm", encoding="ascii", errors="replace") as comm, open(name + "/environ", "rb") as environ:
                if comm.read() == "mpit-collect\n" and os.fsencode(f"MPIT_SPOOL={directory}/spool") in environ.read():
                    found.append(name)
        except OSError:
            continue
    return found


def joined_later(judge, build, mpi, directory):
    """The files of a job become one file: in the epilog, or a minute later with the next job of the user."""
    script = directory + "/apart.sh"
    with open(script, "w", encoding="ascii") as file:
        file.write('#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 0 ] || export MPIT_SPOOL=%s/spool-1\nexec "$@"\n' % directory)
    os.chmod(script, 0o755)
    os.makedirs(directory + "/spool-1", exist_ok=True)

    def run(program, apart=True):
        """Two ranks, each with a spool of its own, as on a node of its own. Until the collectors have ended."""
        conf = f"{directory}/{program}.conf"
        with open(conf, "w", encoding="ascii") as file:
            file.write(f"output = {directory}/{program}-%u\n")
        environment = trial.environment(MPIT_SPOOL=directory + "/spool", MPIT_CONF=conf, USER="ann")
        variables = {"LD_PRELOAD": trial.preload(build, mpi), "MPIT_SPOOL": directory + "/spool", "MPIT_CONF": conf, "USER": "ann",
                     "MPIT_MODE": "0640"}
        ended = trial.run([*trial.launcher(mpi, 2, variables), *[script] * apart, f"{build}/tests/chaos-{mpi}", directory, "1", "5", "finalize", "0"], 60, environment)
        trial.comes(lambda: not live_files(directory) and not glob.glob(directory + "/spool-1/*/*/*.mpit") and not collectors(directory))
        return ended

    def marks():
        return glob.glob(directory + "/spool/*/*/join")

    def files(program):
        return glob.glob(f"{directory}/{program}-ann/*.*")

    ended = run("epilog")
    judge.holds(len(files("epilog")) == 2 and len(marks()) == 1,
                f"{mpi}: a job leaves two files, and its spool for the epilog", (ended, files("epilog"), marks()))
    environment = trial.environment(MPIT_SPOOL=directory + "/spool")
    ended = trial.run([build + "/bin/mpit-collect", "--all"], 60, environment)
    judge.holds(len(files("epilog")) == 2 and len(marks()) == 1, f"{mpi}: mpit-collect --all leaves both", ended)
    ended = trial.run([build + "/bin/mpit-collect", "--all", "--join"], 60, environment)
    modes = [os.stat(path).st_mode & 0o777 for path in files("epilog")]
    judge.holds(modes == [0o640], f"{mpi}: it has the access of the files", modes)
    judge.holds(ended.status == 0 and len(files("epilog")) == 1 and not glob.glob(directory + "/spool/*/*"),
                f"{mpi}: with --join it makes one of them, and removes the spool", (ended, files("epilog"), glob.glob(directory + "/spool/*/*")))
    run("next")
    run("other", False)
    judge.holds(len(files("next")) == 2 and len(marks()) == 1, f"{mpi}: without an epilog they stay for a minute", (files("next"), marks()))
    for path in marks():
        os.utime(path, (time.time() - MINUTES, time.time() - MINUTES))
    run("next")
    judge.holds(len(files("next")) == 4 and len(marks()) == 1, f"{mpi}: from the end of the last one on", (files("next"), marks()))
    for path in marks():
        os.utime(path, (time.time() - MINUTES, time.time() - MINUTES))
    ended = run("other", False)
    judge.holds(len(files("next")) == 2 and not glob.glob(directory + "/spool/*/*"), f"{mpi}: then the next job makes one of each", (ended, files("next"), glob.glob(directory + "/spool/*/*")))
    run("cleaned")
    for path in marks() + glob.glob(directory + "/spool/*/*"):
        aged(path, 400)
    ended, count = clean(build, directory, "--older", "300d")
    judge.holds(count == 0 and not glob.glob(directory + "/spool/*/*"), f"{mpi}: mpit-clean removes an old spool that waits for an epilog",
                (ended, glob.glob(directory + "/spool/*/*")))


def clean(build, directory, *words):
    """mpit-clean. -> Ended, and how many files it has removed, or would"""
    ended = trial.run([build + "/bin/mpit-clean", *words], 30, trial.environment(MPIT_SPOOL=directory + "/spool"))
    counted = re.search(r"(\d+) files? from before 2\d\d\d-\d\d-\d\d \d\d:\d\d (?:would be )?removed", ended.out)
    return ended, int(counted[1]) if counted else None


def aged(path, days):
    os.utime(path, (time.time() - days * 86400, time.time() - days * 86400), follow_symlinks=False)


BEGIN_AT = 80  # where struct run_header (runfile.h) has begin_realtime_ns


def live_file_aged(path, days):
    """As if its process had begun, and died, so long ago."""
    with open(path, "r+b") as file:
        file.seek(BEGIN_AT)
        begin = struct.unpack("<Q", file.read(8))[0]
        file.seek(BEGIN_AT)
        file.write(struct.pack("<Q", begin - days * 86400 * 10**9))
    aged(path, days)


def spools_cleaned(judge, build, mpi, directory):
    """Live files: those of dead processes go when they are old, those of a running one stay. Here they are very old, since
    mpit-clean looks at all spools of the node."""
    judge.check(f"{mpi}: a killed job leaves its live file again", left(build, mpi, directory, directory + "/cleaned", 400 * 86400))
    running = trial.Job([*trial.launcher(mpi, 1, {"LD_PRELOAD": trial.preload(build, mpi), "MPIT_OUTPUT": directory + "/running",
                                                  "MPIT_SPOOL": directory + "/spool"}), f"{build}/tests/rounds-{mpi}", directory, "60"],
                        trial.environment(MPIT_SPOOL=directory + "/spool"))
    trial.comes(lambda: len(live_files(directory)) == 2)
    for path in live_files(directory):
        aged(path, 400)
    ended, count = clean(build, directory, "--older", "300d")
    judge.holds(count == 0 and len(live_files(directory)) == 2, f"{mpi}: the time of the file says nothing: its last call does", ended)
    for path in live_files(directory):
        live_file_aged(path, 400)
    ended, count = clean(build, directory, "--older", "500d")
    staying = re.search(r"(\d+) live files? stays?: younger, or a process", ended.out)
    judge.holds(count == 0 and len(live_files(directory)) == 2 and staying and int(staying[1]) >= 2, f"{mpi}: mpit-clean leaves what is younger, and says so", ended)
    ended, count = clean(build, directory, "--older", "300d", "--dry-run")
    judge.holds(count == 1 and len(live_files(directory)) == 2, f"{mpi}: --dry-run removes nothing", ended)
    ended, count = clean(build, directory, "--older", "300d")
    judge.holds(count == 1 and len(live_files(directory)) == 1, f"{mpi}: the file of the dead process goes, and of the running one stays", ended)
    trial.killed(running.process)
    for path in live_files(directory) + glob.glob(directory + "/spool/*/*"):
        aged(path, 400)
    ended, count = clean(build, directory, "--older", "300d")
    judge.holds(count == 1 and not live_files(directory) and len(glob.glob(directory + "/spool/*/*")) < 2, f"{mpi}: and goes when that is dead, with its spool",
                f"{ended} {glob.glob(directory + '/spool/*/*')}")


def unreadable(judge, build, mpi, directory, tree):
    """What a user of no rights is told: the results that cannot be read, ten of them by name."""
    if os.getuid() != 0:
        judge.skip(f"{mpi}: a tree of another user", "only root can take the rights of another user")
        return
    os.chmod(directory, 0o755)
    many = [f"{tree}/2026/h.{number}.mpit" for number in range(12)]
    for path in many:
        with open(path, "w", encoding="ascii") as file:
            file.write("mpit-run")
        aged(path, 100)
    for path in glob.glob(tree + "/**/*.[ms]*", recursive=True):
        os.chmod(path, 0o600)
    ended = trial.run(["setpriv", "--reuid", "65534", "--clear-groups", build + "/bin/mpit-clean", "--older", "90d", tree], 30, trial.environment())
    told = re.findall(r"mpit-clean: (\S+) cannot be read: Permission denied", ended.err)
    judge.holds(ended.status == 1 and len(told) == 10 and "more cannot be read or removed" in ended.err, f"{mpi}: results without a right are told", ended)
    for path in many:
        os.remove(path)


def trees_cleaned(judge, build, mpi, directory):
    """Results in a log tree: old ones go with their folders; other files, links and what they lead to stay."""
    tree = directory + "/tree"
    for place in ("/2026/01/ann", "/2026/11/ann"):
        os.makedirs(tree + place)
    old = ["2026/01/ann/h.1.mpit", "2026/01/ann/h.1.1.mpit", "2026/01/ann/h.2.mpit.part", "2026/01/ann/h.5.mpit.part-Xa1bc2",
           "2026/11/ann/h.4.mpit"]
    stay = ["2026/11/ann/h.3.mpit", "2026/11/ann/notes.txt", "2026/11/ann/x.mpit.parts"]
    with open(f"{tree}/2026/11/ann/other.mpit", "w", encoding="ascii") as file:
        file.write("a summary of another program")
    aged(file.name, 100)
    for name in old + stay:
        with open(f"{tree}/{name}", "w", encoding="ascii") as file:
            file.write("" if ".part" in name else "mpit-run" + "x" * 5000)
        aged(file.name, 100 if name != stay[0] else 1)
    os.makedirs(directory + "/outside")
    with open(directory + "/outside/h.9.mpit", "w", encoding="ascii") as file:
        file.write("x")
    aged(file.name, 100)
    os.symlink(directory + "/outside", tree + "/link")
    os.symlink(file.name, tree + "/link.mpit")
    aged(tree + "/link.mpit", 100)
    os.symlink(tree, directory + "/logs")
    ended, count = clean(build, directory, "--older", "90d", directory + "/logs", "--dry-run")
    judge.holds(count == len(old), f"{mpi}: the tree may be a link, and options may come after it", ended)
    unreadable(judge, build, mpi, directory, tree)
    ended, count = clean(build, directory, "--older", "90d", "--dry-run", tree)
    judge.holds(count == len(old) and all(f"{tree}/{name}\n" in ended.out for name in old) and all(os.path.exists(f"{tree}/{name}") for name in old),
                f"{mpi}: --dry-run lists the old results", ended)
    ended, count = clean(build, directory, "--older", "90d", tree)
    judge.holds(count == len(old) and not any(os.path.exists(f"{tree}/{name}") for name in old) and not os.path.exists(tree + "/2026/01"),
                f"{mpi}: old results go, and their folders", ended)
    judge.holds(all(os.path.exists(f"{tree}/{name}") for name in stay) and os.path.islink(tree + "/link.mpit") and os.path.exists(file.name),
                f"{mpi}: other files stay, and links, and what is behind them", ended)
    for words, wanted in (([tree], "--older is missing"), (["--older", "90", tree], "90 cannot be used: allowed are ages such as 30m (minutes)"),
                          (["--older", "-1d", tree], "cannot be used"), (["--dry", tree], "did you mean --dry-run?")):
        ended, count = clean(build, directory, *words)
        judge.holds(ended.status == 2 and wanted in ended.err, f"{mpi}: mpit-clean {' '.join(words[:2])[:20]} is refused", ended)
    ended, count = clean(build, directory, "--older", "1d", directory + "/nowhere")
    judge.holds(ended.status == 1 and "nowhere cannot be read: No such file" in ended.err, f"{mpi}: a tree that is not there is told", ended)
    ended, count = clean(build, directory, "--older", "1d", tree + "/2026/11/ann/notes.txt")
    judge.holds(ended.status == 1 and "notes.txt cannot be read: Not a directory" in ended.err, f"{mpi}: a file is no tree", ended)


trial.judge_mpis(os.path.abspath(sys.argv[1]), trial.Judge(), alone, asked_to_end, elsewhere, contained, judged, earlier, beginning, joined_later, spools_cleaned,
                 trees_cleaned)
