#!/usr/bin/env python3
"""Counters by call path, against those by function, and against a program's own counts.

    pathcounts.py BUILD MPI

- Of several programs: the counters of all call sites add up to the counters of the functions, messages and bytes to those of
  the communicators. The replayed trace gives the same (mpit-dump --verify).
- An OTF2 archive has each call path as often as the JSON.
- pathcounts.c counts by line. Each line has these counts.
- With more paths than there is room for (manypaths.c): the rest is under one path, and the loss is counted.
"""
import collections
import json
import os
import re
import shutil
import sys
import tempfile

SOURCE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(SOURCE, "..", "common"))
import trial

BUILD, MPI = os.path.abspath(sys.argv[1]), sys.argv[2]
judge = trial.Judge()
FIELDS = ("count", "messages_sent", "bytes_sent", "messages_received", "bytes_received")
# other processes than processors: name, ranks, arguments
PROGRAMS = [("traffic", 3, ["1", "30"]), ("objects", 2, ["objects-file"]), ("collectives", 3, []), ("requests", 2, []), ("threads", 2, [])]


def holds(name, good, details=""):
    judge.holds(good, name, details)


def recorded(work, name, ranks, words, **variables):
    """-> (how it ended, the job as JSON)"""
    run = f"{work}/{name}"
    ended = trial.run([f"{BUILD}/bin/mpit-run", "--quiet", "--output", run, *variables.pop("options", ["--trace"]),
                       *trial.launcher(MPI, ranks), *words], 400, trial.environment(**variables), work)
    dumped = trial.run([f"{BUILD}/bin/mpit-dump", "--json", run], 120, trial.environment())
    try:
        return ended, json.loads(dumped.out)["jobs"][0]
    except (ValueError, LookupError):
        return ended, None


def sums_differ(job):
    """Where call sites do not add up to functions."""
    sums = collections.defaultdict(collections.Counter)
    for site in job["callsites"]:
        for field in ("count", "time_ns", "stall_ns", "ranks"):
            sums[site["mpi"]][field] += site[field] or 0
    wrong = []
    for name, call in job["calls"].items():
        own = sums.pop(name, collections.Counter())
        if own["count"] != call["count"]:
            wrong.append(f"{name}: {own['count']} calls by path, {call['count']} by function")
        # each number of each rank is rounded
        for field in ("time_ns", "stall_ns"):
            if abs(own[field] - (call[field] or 0)) > own["ranks"] + job["ranks"]:
                wrong.append(f"{name}: {field} {own[field]} by path, {call[field]} by function")
    return wrong + [f"{name}: only by path" for name in sums]


def traffic_differs(job):
    """Where messages and bytes of all call sites are not those of all communicators."""
    comms = collections.Counter()
    for comm in job["communicators"]:
        comms.update({name: value for name, value in comm.items() if isinstance(value, int)})
    sites = collections.Counter()
    for site in job["callsites"]:
        sites.update({field: site[field] for field in FIELDS})
    whole = sum(comms[name] for name in ("send_bytes", "recv_bytes", "coll_bytes", "rma_bytes", "io_bytes"))
    pairs = [("messages sent", sites["messages_sent"], comms["send_count"]),
             ("messages received", sites["messages_received"], comms["recv_count"]),
             ("bytes", sites["bytes_sent"] + sites["bytes_received"], whole)]
    return [f"{name}: {one} by path, {other} by communicator" for name, one, other in pairs if one != other]


def verified(work, name):
    ended = trial.run([f"{BUILD}/bin/mpit-dump", "--verify", f"{work}/{name}"], 120, trial.environment())
    return ended.status == 0 and "equals" in ended.out, ended


def archive_differs(work, name, job):
    """Call paths that the archive has more or less often than the job. None: no archive can be read here."""
    archive = f"{work}/{name}/otf2"
    made = trial.run([f"{BUILD}/bin/mpit-dump", "--otf2", archive, f"{work}/{name}"], 120, trial.environment())
    if "was built without OTF2" in made.err or trial.run(["/usr/bin/python3", "-c", "import otf2"], 60).status != 0:
        return None
    read = trial.run([f"{SOURCE}/archivepaths.py", f"{archive}/traces.otf2"], 300)
    if made.status != 0 or read.status != 0:
        return [made, read]
    found, wanted = collections.Counter(), collections.Counter()
    for function, path, calls in json.loads(read.out):
        found[function, tuple(map(tuple, path))] += calls
    for site in job["callsites"]:
        wanted[site["mpi"], tuple((frame["function"], frame["line"]) for frame in site["path"])] += site["count"]
    return [f"{key}: {found[key]} calls in the archive, {wanted[key]} in JSON" for key in found | wanted if found[key] != wanted[key]]


def judge_sums(work):
    for name, ranks, arguments in PROGRAMS:
        # MPI_Compare_and_swap crashes in Open MPI 4.1.4 with the default component
        ended, job = recorded(work, name, ranks, [f"{BUILD}/tests/{name}-{MPI}", *arguments], **trial.OSC)
        holds(f"{name} runs", job is not None and ended.status == 0, ended)
        if not job:
            continue
        wrong = sums_differ(job) + traffic_differs(job)
        holds(f"{name}: {len(job['callsites'])} call sites add up to the functions", not wrong and job["callsites"], wrong)
        holds(f"{name}: the replayed trace has the same", *verified(work, name))
        wrong = archive_differs(work, name, job)
        if wrong is None:
            judge.skip(f"{name}: the archive", "no OTF2 here, or no reader for Python")
        else:
            holds(f"{name}: the archive has the same paths as often", not wrong, wrong)


def judge_lines(work):
    program = f"{work}/pathcounts-program"
    built = trial.run([f"mpicc.{MPI}", "-g", "-O2", f"{SOURCE}/pathcounts.c", "-o", program], 60)
    holds("pathcounts.c is built", built.status == 0, built)
    for ranks in (2, 4):
        name = f"pathcounts-{ranks}"
        ended, job = recorded(work, name, ranks, [program, "50", f"{work}/file"])
        if not job or ended.status != 0:
            holds(f"{name} runs", False, ended)
            continue
        wanted = collections.defaultdict(collections.Counter)
        for line in re.findall(r"^site (.*)$", ended.out, re.MULTILINE):
            number, function, *values = line.split()
            wanted[int(number), function].update(dict(zip(FIELDS, map(int, values))))
        found = collections.defaultdict(collections.Counter)
        for site in job["callsites"]:
            if site["file"] and os.path.basename(site["file"]) == "pathcounts.c":
                found[site["line"], site["mpi"]].update({field: site[field] for field in FIELDS})
        wrong = [f"line {line} {function}: {dict(found[line, function])}, not {dict(counts)}"
                 for (line, function), counts in wanted.items() if found[line, function] != counts]
        holds(f"{name}: {len(wanted)} lines have their calls, messages and bytes", not wrong and len(wanted) > 30, wrong)
        wrong = sums_differ(job) + traffic_differs(job)
        holds(f"{name}: the call sites add up", not wrong, wrong)
        holds(f"{name}: the replayed trace has the same", *verified(work, name))


def judge_many(work):
    """More paths than a process can have, and than its memory can hold."""
    program = f"{work}/manypaths-program"
    built = trial.run([f"mpicc.{MPI}", "-O1", "-w", f"{SOURCE}/manypaths.c", "-o", program], 60)
    holds("manypaths.c is built", built.status == 0, built)
    for name, limit, turns in (("many", 256 << 20, "17"), ("memory", 4 << 20, "14")):
        ended, job = recorded(work, name, 1, [program, turns], MPIT_BUFFER_LIMIT_BYTES=str(limit), MPIT_CALL_DEPTH="64", options=[])
        if not job or ended.status != 0:
            holds(f"manypaths, {name}: runs", False, ended)
            continue
        calls = int(re.search(r"(\d+) calls", ended.out)[1])
        lost = job["lost"].get("call_paths", 0) + job["lost"].get("no_memory", 0)
        holds(f"manypaths, {name}: the loss is counted ({job['lost']})", lost > 0, job["lost"])
        paths = sum(site["count"] for site in job["callsites"])  # the summary keeps some, and one for the others
        wrong = [f"{paths} calls by path"] if name == "many" and paths != sum(call["count"] for call in job["calls"].values()) else []
        holds(f"manypaths, {name}: all calls are counted", job["calls"]["MPI_Iprobe"]["count"] == calls and not wrong,
                    [job["calls"]["MPI_Iprobe"], calls, wrong])


def main():
    if not shutil.which(f"mpicc.{MPI}"):
        return trial.SKIPPED
    with tempfile.TemporaryDirectory(prefix="mpit-pathcounts.") as work:
        judge_lines(work)
        judge_many(work)
        judge_sums(work)
    return judge.verdict()


sys.exit(main())
