#!/usr/bin/env python3
"""jobfiles.py BUILD: a job is one file. The job files of its nodes become one, which all tools read like the files.

Here each process is a node (jobsplit.c). Joined by mpit-collect --join; after a join that was stopped, at once with another one,
with a part that comes later, with damaged files; live files; 1,000 parts."""
import fcntl
import filecmp
import glob
import json
import multiprocessing.pool
import os
import resource
import shutil
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

BUILD = os.path.abspath(sys.argv[1])
TEXTS = ("--full", "--json", "--events", "--csv", "--callpaths", "--analyze --json", "--profile --json", "--verify", "--crash")
judge = trial.Judge()


def tool(directory, name, *words):
    return trial.run([f"{BUILD}/bin/{name}", *words], 120, trial.environment(), directory)


def outputs(directory, run):
    """What mpit-dump says of the run."""
    found = {}
    for words in TEXTS:
        ended = tool(directory, "mpit-dump", *words.split(), run)
        found[words] = (ended.status, ended.out, ended.err)
    return found


def differences(one, other):
    return [f"{words}: {one[words]} {other[words]}" for words in TEXTS if one[words] != other[words]]


def same_name(directory, run, as_name):
    """Outputs have the run's name in them."""
    shutil.rmtree(f"{directory}/{as_name}", ignore_errors=True)
    shutil.copytree(f"{directory}/{run}", f"{directory}/{as_name}")
    return outputs(directory, as_name)


def joined(directory, run):
    return tool(directory, "mpit-collect", "--join", run)


def whole(directory, run, files=1):
    """The run is so many files, with all of its ranks."""
    ended = tool(directory, "mpit-dump", "--json", run)
    names = os.listdir(f"{directory}/{run}")
    jobs = json.loads(ended.out)["jobs"] if ended.status == 0 else []
    good = len(names) == files and not ended.err and len(jobs) == 1 and jobs[0]["ranks"] == jobs[0]["world_size"]
    return [] if good else [f"{names} {ended.err} {[(job['ranks'], job['world_size']) for job in jobs]}"]


def split(directory, run, out, *words):
    return trial.run([f"{BUILD}/tests/jobsplit", *words, run, out], 120, trial.environment(), directory)


def record(mpi, directory):
    ended = tool(directory, "mpit-run", "--quiet", "--trace", "--sample", "200", "--output", "run", *trial.launcher(mpi, 4),
                 f"{BUILD}/tests/hotspots-{mpi}")
    judge.check(f"{mpi}: mpit-run leaves one file", ([] if ended.status == 0 else [ended]) + whole(directory, "run"))
    apart = split(directory, "run", "parts")
    judge.check(f"{mpi}: it becomes four", [] if apart.status == 0 and len(os.listdir(f"{directory}/parts")) == 4 else [apart])
    before = same_name(directory, "run", "seen")
    judge.check(f"{mpi}: the files say the same", differences(before, same_name(directory, "parts", "seen")))
    judge.holds(all(one[0] == 0 for one in before.values()), f"{mpi}: all is shown", before)
    return before


def jobs_are_listed(mpi, directory):
    rows = []
    for run in ("run", "parts"):
        ended = tool(directory, "mpit-jobs", "--json", run)
        (row,) = json.loads(ended.out)["jobs"]
        judge.holds(os.path.basename(row.pop("directory")) == run, f"{mpi}: mpit-jobs knows the directory {run}", ended.out)
        # sums of other orders differ in their last bit, and a trace in parts is not read for a finding
        rows.append({key: round(value, 9) if isinstance(value, float) else value for key, value in row.items() if key not in ("source", "rule", "finding")})
    judge.holds(rows[0] == rows[1] and rows[0]["ranks"] == 4, f"{mpi}: mpit-jobs lists one file and four alike", rows)


def join(mpi, directory, before):
    run = f"{directory}/join"
    shutil.copytree(f"{directory}/parts", run)
    late = sorted(glob.glob(f"{run}/*.mpit"))[2]
    os.rename(late, f"{directory}/late")
    ended = joined(directory, "join")
    judge.holds(ended.status == 0 and len(os.listdir(run)) == 1, f"{mpi}: three of four are joined", f"{ended} {os.listdir(run)}")
    shutil.copy2(f"{directory}/late", late)
    judge.check(f"{mpi}: the fourth comes later", whole(directory, "join", 2))
    joined(directory, "join")
    judge.check(f"{mpi}: and is joined, too", whole(directory, "join"))
    judge.check(f"{mpi}: it says the same", differences(before, same_name(directory, "join", "seen")))
    (name,) = os.listdir(run)
    with open(f"{run}/{name}", "rb") as file:
        data = file.read()
    joined(directory, "join")
    with open(f"{run}/{name}", "rb") as file:
        judge.holds(file.read() == data, f"{mpi}: a file that is whole stays as it is")


def stopped(mpi, directory, before):
    """Between the rename and the end: the parts are there as well."""
    run = f"{directory}/stopped"
    shutil.copytree(f"{directory}/parts", run)
    (name,) = os.listdir(f"{directory}/join")
    shutil.copy(f"{directory}/join/{name}", f"{run}/{name}")
    judge.check(f"{mpi}: parts that the container has are not counted twice", differences(before, same_name(directory, "stopped", "seen")))
    joined(directory, "stopped")
    judge.check(f"{mpi}: and they go with the next join", whole(directory, "stopped"))
    # a copy of a file
    run = f"{directory}/copied"
    shutil.copytree(f"{directory}/join", run)
    shutil.copy(f"{run}/{name}", f"{run}/copy.mpit")
    judge.check(f"{mpi}: a process that is there twice counts once", differences(before, same_name(directory, "copied", "seen")))
    # while somebody else joins
    run = f"{directory}/begun"
    shutil.copytree(f"{directory}/parts", run)
    descriptor = os.open(run, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    ended = joined(directory, "begun")
    judge.holds(ended.status == 0 and len(os.listdir(run)) == 4, f"{mpi}: another one joins: the files stay", f"{ended} {os.listdir(run)}")
    os.close(descriptor)
    joined(directory, "begun")
    judge.check(f"{mpi}: when it has ended they are joined", whole(directory, "begun"))
    # several at once
    run = f"{directory}/race"
    shutil.copytree(f"{directory}/parts", run)
    with multiprocessing.pool.ThreadPool(8) as pool:
        ends = pool.map(lambda i: joined(directory, "race"), range(8))
    judge.check(f"{mpi}: eight at once lose nothing", [end for end in ends if end.status != 0 and "does not exist" not in end.err and "can be read" not in end.err] +
                (whole(directory, "race") if len(os.listdir(run)) == 1 else [os.listdir(run)]))
    judge.check(f"{mpi}: it says the same", differences(before, same_name(directory, "race", "seen")))


def damaged(mpi, directory):
    (name,) = os.listdir(f"{directory}/run")
    with open(f"{directory}/run/{name}", "rb") as file:
        data = file.read()
    os.makedirs(f"{directory}/bad", exist_ok=True)
    for what, bad, wanted, ranks in (("cut in its sections", data[:len(data) * 6 // 10], "is truncated", True), ("cut in its first one", data[:100], "is damaged or truncated", False),
                                     ("cut in its index", data[:-70], "is truncated", True), ("only the magic", data[:8], "is not an mpit run file", False),
                                     ("a byte of its index", data[:-90] + bytes([data[-90] ^ 1]) + data[-89:], "is truncated", True)):
        with open(f"{directory}/bad/{name}", "wb") as file:
            file.write(bad)
        ended, late = tool(directory, "mpit-dump", "--json", "bad"), f"{directory}/bad/a.1.mpit"
        shown = json.loads(ended.out)["jobs"] if ended.out else []
        shutil.copy(f"{directory}/late", late) # a rank that can be joined
        joined(directory, "bad")
        with open(f"{directory}/bad/{name}", "rb") as file:
            judge.holds(wanted in ended.err and ended.status == 1 and bool(shown and shown[0]["ranks"]) == ranks and file.read() == bad and os.path.exists(late),
                        f"{mpi}: damage is told, what is whole is shown, and the file stays: {what}", ended)
        os.unlink(late)


def two_copies(mpi, directory):
    """Of two copies of a job one is damaged: neither goes."""
    (name,) = os.listdir(f"{directory}/run")
    with open(f"{directory}/run/{name}", "rb") as file:
        data = bytearray(file.read())
    (size,) = struct.unpack("=Q", data[80:88])  # of the first section
    data[64 + size // 2] ^= 1
    for first, second in (("0.mpit", "1.mpit"), ("1.mpit", "0.mpit")):
        run = f"{directory}/copies-{first}"
        os.makedirs(run)
        shutil.copy(f"{directory}/run/{name}", f"{run}/{first}")
        with open(f"{run}/{second}", "wb") as file:
            file.write(data)
        ended = joined(directory, run)
        judge.holds(sorted(os.listdir(run)) == ["0.mpit", "1.mpit"] and filecmp.cmp(f"{run}/{first}", f"{directory}/run/{name}", False) and "damaged" in ended.err,
                    f"{mpi}: of two copies, the damaged one is {second}: both stay, and it is told", ended)


def crashed(mpi, directory):
    """What is left of a job that was killed is one file, too."""
    os.makedirs(f"{directory}/books")
    tool(directory, "mpit-run", "--quiet", "--output", "crash", *trial.launcher(mpi, 3), f"{BUILD}/tests/crash-{mpi}", f"{directory}/books",
         "mixed", "1", "kill", "200")
    names = os.listdir(f"{directory}/crash") if os.path.isdir(f"{directory}/crash") else []
    ended = tool(directory, "mpit-dump", "--crash", "crash")
    judge.holds(len(names) == 1 and ended.status == 0, f"{mpi}: a job that ended badly is one file", f"{names} {ended}")


def live_files(mpi, directory):
    """Live files that somebody has copied into a directory become a job file, too."""
    os.makedirs(f"{directory}/spool")
    settings = trial.environment(MPIT_SPOOL=f"{directory}/spool", MPIT_OUTPUT="/proc/nowhere", MPIT_TRACE="1", LD_PRELOAD=trial.preload(BUILD, mpi))
    trial.run([*trial.launcher(mpi, 2), f"{BUILD}/tests/heat-{mpi}", "--rows", "64", "--columns", "64", "--steps", "20"], 120, settings, directory)
    os.makedirs(f"{directory}/live")
    for path in glob.glob(f"{directory}/spool/*/*/*.mpit"):
        shutil.copy(path, f"{directory}/live")
    before = same_name(directory, "live", "seen")
    judge.check(f"{mpi}: live files of two processes", whole(directory, "live", 2))
    joined(directory, "live")
    judge.check(f"{mpi}: they become one file", whole(directory, "live"))
    judge.check(f"{mpi}: it says the same", differences(before, same_name(directory, "live", "seen")))


def many(directory):
    """Memory is measured of the largest child so far: of 100 parts first, then of 1,000."""
    peaks = []
    for count in (100, 1000):
        trial.run([f"{BUILD}/tests/tracemake", f"{directory}/many{count}", str(count), "200"], 120)
        begin = time.monotonic()
        ended = joined(directory, f"many{count}")
        took = time.monotonic() - begin
        peaks.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
        judge.check(f"{count} parts are joined ({took:.2f} s, {peaks[-1]:.0f} MiB at most)",
                    ([] if ended.status == 0 else [ended]) + whole(directory, f"many{count}"))
    ended = tool(directory, "mpit-dump", "--verify", "many1000")
    judge.holds(ended.status == 0 and ended.out.count("equals the counters") == 1000, "their traces give their counters", ended)


def collected(directory):
    """More live files than a collector keeps mapped (RUN_MAPS_MOST): some with a trace, all of dead processes."""
    count, place = 1500, f"{directory}/spool/mpit-{os.geteuid()}/key"
    trial.run([f"{BUILD}/tests/tracemake", f"{directory}/live", str(count), "20"], 120)
    os.makedirs(os.path.dirname(place), 0o700)
    os.rename(f"{directory}/live", place)
    os.symlink(f"{directory}/out", f"{place}/output")
    ended = trial.run([f"{BUILD}/bin/mpit-collect", f"{directory}/out"], 120, trial.environment(MPIT_SPOOL=f"{directory}/spool"))
    judge.check(f"{count} live files are collected", ([] if ended.status == 0 else [ended]) + whole(directory, "out"))
    row = json.loads(tool(directory, "mpit-jobs", "--json", "out").out)["jobs"][0]
    judge.holds(row["ranks"] == count, "mpit-jobs reads all of them in the total", row)


def collected_again(directory):
    """Live files whose processes are in a job file: they go, but not where their section cannot be read."""
    count, place = 3, f"{directory}/spool/mpit-{os.geteuid()}/key"
    trial.run([f"{BUILD}/tests/tracemake", f"{directory}/live", str(count), "20000"], 120)
    os.makedirs(os.path.dirname(place), 0o700)

    def collect():
        shutil.copytree(f"{directory}/live", place)
        os.symlink(f"{directory}/out", f"{place}/output")
        return trial.run([f"{BUILD}/bin/mpit-collect", f"{directory}/out"], 120, trial.environment(MPIT_SPOOL=f"{directory}/spool"))
    collect()
    again = collect()
    (name,) = os.listdir(f"{directory}/out")
    judge.holds(not os.path.exists(place) and again.status == 0, "live files that a job file has go", again)
    with open(f"{directory}/out/{name}", "r+b") as file:
        file.seek(80)
        (size,) = struct.unpack("=Q", file.read(8))  # of the first section, whose events come last
        file.seek(64 + size - 500)
        file.write(bytes(6))
    collect()
    judge.holds(len(os.listdir(f"{directory}/out")) == 2, "a process whose section is damaged is written again", os.listdir(f"{directory}/out"))


def main():
    for mpi in trial.mpis(BUILD):
        with trial.tempfile.TemporaryDirectory(prefix="mpit-jobfiles.", ignore_cleanup_errors=True) as directory:
            before = record(mpi, directory)
            jobs_are_listed(mpi, directory)
            join(mpi, directory, before)
            stopped(mpi, directory, before)
            damaged(mpi, directory)
            two_copies(mpi, directory)
            live_files(mpi, directory)
            crashed(mpi, directory)
    with trial.tempfile.TemporaryDirectory(prefix="mpit-jobfiles.", ignore_cleanup_errors=True) as directory:
        many(directory)
    with trial.tempfile.TemporaryDirectory(prefix="mpit-jobfiles.", ignore_cleanup_errors=True) as directory:
        collected(directory)
    with trial.tempfile.TemporaryDirectory(prefix="mpit-jobfiles.", ignore_cleanup_errors=True) as directory:
        collected_again(directory)
    sys.exit(judge.verdict())


main()
