#!/usr/bin/env python3
"""container.py BUILD: the files of a job become one file, which all tools read like the files.

Joined by mpit-run and by mpit-collect --join; unpacked again; after a join that was stopped, at once with another one, with a
part that comes later, with a damaged file; 1,000 parts."""
import fcntl
import filecmp
import glob
import json
import multiprocessing.pool
import os
import resource
import shutil
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


def record(mpi, directory):
    ended = tool(directory, "mpit-run", "--quiet", "--trace", "--sample", "200", "--output", "run", *trial.launcher(mpi, 4),
                 f"{BUILD}/tests/hotspots-{mpi}")
    judge.check(f"{mpi}: mpit-run leaves one file", ([] if ended.status == 0 else [ended]) + whole(directory, "run"))
    unpacked = tool(directory, "mpit-dump", "--unpack", "parts", "run")
    judge.check(f"{mpi}: it is unpacked to four run files, and names",
                [] if unpacked.status == 0 and len(glob.glob(f"{directory}/parts/*.mpit")) == 4 and
                len(glob.glob(f"{directory}/parts/*.names")) == 1 else [unpacked, os.listdir(f"{directory}/parts")])
    before = same_name(directory, "run", "seen")
    judge.check(f"{mpi}: the files say the same", differences(before, same_name(directory, "parts", "seen")))
    judge.holds(all(one[0] == 0 for one in before.values()), f"{mpi}: all is shown", before)
    again = tool(directory, "mpit-dump", "--unpack", "parts", "run")
    judge.holds(again.status == 1 and "File exists" in again.err, f"{mpi}: an existing file stays", again)
    none = tool(directory, "mpit-dump", "--unpack", "none", "parts")
    judge.holds(none.status == 1 and "no container" in none.err, f"{mpi}: files that are apart are not unpacked", none)
    compact = tool(directory, "mpit-dump", "--compact", "run")
    judge.holds(compact.status == 0 and "4 files were already compact" in compact.out, f"{mpi}: it is compact", compact)
    return before


def jobs_are_listed(mpi, directory):
    rows = []
    for run in ("run", "parts"):
        ended = tool(directory, "mpit-jobs", "--json", run)
        (row,) = json.loads(ended.out)["jobs"]
        rows.append({key: value for key, value in row.items() if key != "source"})
    judge.holds(rows[0] == rows[1] and rows[0]["ranks"] == 4, f"{mpi}: mpit-jobs lists the container and the files alike", rows)


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
    tool(directory, "mpit-dump", "--unpack", "again-apart", "run")
    joined(directory, "again-apart")
    (name,) = os.listdir(f"{directory}/again-apart")
    judge.holds(filecmp.cmp(f"{directory}/again-apart/{name}", f"{directory}/run/{name}", False), f"{mpi}: unpacked and joined, it is the same file")
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
    # another file has the name of a member
    run = f"{directory}/again"
    shutil.copytree(f"{directory}/join", run)
    other = sorted(glob.glob(f"{directory}/parts/*.mpit"))[3]
    tool(directory, "mpit-run", "--quiet", "--trace", "--no-compact", "--output", "another", *trial.launcher(mpi, 1), f"{BUILD}/tests/hotspots-{mpi}")
    (another,) = glob.glob(f"{directory}/another/*.mpit")
    shutil.copy(another, f"{run}/{os.path.basename(other)}")
    seen = tool(directory, "mpit-dump", "--json", "again")
    jobs = json.loads(seen.out)["jobs"]
    judge.holds(sorted(job["ranks"] for job in jobs) == [1, 4] and not seen.err, f"{mpi}: another job's file with the name of a member is read", seen)
    joined(directory, "again")
    judge.holds(len(os.listdir(run)) == 2, f"{mpi}: and stays a file of its own", os.listdir(run))
    # while somebody else joins
    run = f"{directory}/begun"
    shutil.copytree(f"{directory}/parts", run)
    descriptor = os.open(run, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    ended = joined(directory, "begun")
    judge.holds(ended.status == 0 and len(os.listdir(run)) == 5, f"{mpi}: another one joins: the files stay", f"{ended} {os.listdir(run)}")
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
    for what, bad, wanted in (("cut in its members", data[:len(data) * 6 // 10], "is truncated"), ("cut in its table", data[:100], "is damaged or truncated"),
                              ("a byte of its table", data[:80] + bytes([data[80] ^ 1]) + data[81:], "is damaged"),
                              ("only the magic", data[:8], "is not an mpit run file")):
        with open(f"{directory}/bad/{name}", "wb") as file:
            file.write(bad)
        ended = tool(directory, "mpit-dump", "bad")
        shutil.copy(f"{directory}/late", f"{directory}/bad/a.1.mpit") # a rank that can be joined
        joined(directory, "bad")
        with open(f"{directory}/bad/{name}", "rb") as file:
            judge.holds(wanted in ended.err and ended.status == 1 and file.read() == bad and os.path.exists(f"{directory}/bad/a.1.mpit"),
                        f"{mpi}: damage is told, and the file stays: {what}", ended)
        os.unlink(f"{directory}/bad/a.1.mpit")


def crashed(mpi, directory):
    """What is left of a job that was killed is one file, too."""
    os.makedirs(f"{directory}/books")
    tool(directory, "mpit-run", "--quiet", "--output", "crash", *trial.launcher(mpi, 3), f"{BUILD}/tests/crash-{mpi}", f"{directory}/books",
         "mixed", "1", "kill", "200")
    names = os.listdir(f"{directory}/crash") if os.path.isdir(f"{directory}/crash") else []
    ended = tool(directory, "mpit-dump", "--crash", "crash")
    judge.holds(len(names) == 1 and ended.status == 0, f"{mpi}: a job that ended badly is one file", f"{names} {ended}")


def uncompressed(mpi, directory):
    """With --no-compact the files stay apart; mpit-collect compresses and joins them."""
    tool(directory, "mpit-run", "--quiet", "--trace", "--no-compact", "--output", "plain", *trial.launcher(mpi, 2), f"{BUILD}/tests/heat-{mpi}",
         "--rows", "64", "--columns", "64", "--steps", "20")
    judge.holds(len(glob.glob(f"{directory}/plain/*.mpit")) == 2, f"{mpi}: with --no-compact files stay apart", os.listdir(f"{directory}/plain"))
    joined(directory, "plain")
    ended = tool(directory, "mpit-dump", "--compact", "plain")
    judge.holds(ended.status == 0 and "2 files were already compact" in ended.out, f"{mpi}: the joined files are compact", ended)
    judge.holds(tool(directory, "mpit-dump", "--verify", "plain").status == 0, f"{mpi}: its trace gives the counters")


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


def main():
    for mpi in trial.mpis(BUILD):
        with trial.tempfile.TemporaryDirectory(prefix="mpit-container.", ignore_cleanup_errors=True) as directory:
            before = record(mpi, directory)
            jobs_are_listed(mpi, directory)
            join(mpi, directory, before)
            stopped(mpi, directory, before)
            damaged(mpi, directory)
            uncompressed(mpi, directory)
            crashed(mpi, directory)
    with trial.tempfile.TemporaryDirectory(prefix="mpit-container.", ignore_cleanup_errors=True) as directory:
        many(directory)
    sys.exit(judge.verdict())


main()
