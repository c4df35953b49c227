#!/usr/bin/env python3
"""Compares summaries of parts of a run: with each other, with the whole, and with the counts of a program.

    selections.py counted DUMP RUN PROGRAM_OUTPUT   of filters.c: what its ranks called, and for which communicator; and
                                                    what --csv has with the same options
    selections.py freed DUMP RUN PATTERN            of filters.c with "churn": communicators whose figures went to a sum
    selections.py csv DUMP RUN OPTION...            of any run with a trace, of which events may be missing: the same calls
    selections.py same DUMP RUN                     of any run with a trace: counted from the trace, all of it is what
                                                    was counted live; disjoint parts together are the whole
    selections.py rows DUMP RUN RANK                of a run without files: the rank's figures of the summary

Times are held exactly where one part is the same calls as the other; where they are sums of pieces each piece of each
rank may have lost a part of a nanosecond.
"""
import csv
import fnmatch
import json
import subprocess
import sys

ENDS = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize"}
COMPLETIONS = {"MPI_Wait", "MPI_Waitall", "MPI_Test", "MPI_Start", "MPI_Request_free"}
NOT_SUMMED = {"name", "label", "size", "ranks", "merged", "span_ns"}
faults = []


def fault(*words):
    faults.append(" ".join(map(str, words)))


def equal(what, got, expected, slack=0):
    if got != expected and not (slack and got is not None and expected is not None and abs(got - expected) <= slack):
        fault(f"{what}: {got}, expected {expected}")


def said(dump, run, *options):
    done = subprocess.run([dump, *options, run], capture_output=True, check=False, timeout=120, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(options)}: {done.stderr}")
    return done.stdout


def part(dump, run, *options):
    (job,) = json.loads(said(dump, run, "--json", *options))["jobs"]
    if options:
        equal(f"{options}: options", job["selection"]["options"], " ".join(options))
    elif "selection" in job:
        fault("all of a job is called a part")
    return job


def comms_of(job):
    return {comm["name"]: comm for comm in job["communicators"]}


def size_sums(sizes):
    return {size["from_bytes"]: (size["count"], size["bytes"]) for size in sizes}


# ---- the same calls --------------------------------------------------------------------------------------------------

def comm_same(what, got, expected):
    for key, value in expected.items():
        equal(f"{what} {key}", got[key], value)


def job_same(what, got, expected, unused=False):
    """Counted anew, it is what was counted live. `unused`: communicators without a call may be missing."""
    for key in ("events", "calls", "stalls_ns", "threads", "ranks"):
        equal(f"{what} {key}", got[key], expected[key])
    slack = 1e-5 if "MPI_Session_init" in expected["calls"] else 1e-9 # their ends are timed by themselves
    for key in ("mean", "min", "max"):
        if abs(got["mpi_seconds"][key] - expected["mpi_seconds"][key]) > slack:
            fault(what, "mpi_seconds", got["mpi_seconds"], expected["mpi_seconds"])
    comms = comms_of(got)
    for name, comm in comms_of(expected).items():
        if name in comms:
            comm_same(f"{what} {name}", {**comms[name], "ranks": comm["ranks"]}, comm)
        elif not unused or any(comm[key] for key in comm if key.endswith(("_count", "_bytes", "_time_ns"))):
            fault(what, name, "is missing")


# ---- sums ------------------------------------------------------------------------------------------------------------

def parts_sum(what, parts, whole, slack):
    """`parts` have no call in common, and together all of them."""
    for key in ("events",):
        equal(f"{what} {key}", sum(one[key] for one in parts), whole[key])
    for name in {*whole["calls"], *(name for one in parts for name in one["calls"])}:
        expected = whole["calls"].get(name, {"count": 0, "time_ns": 0, "stall_ns": 0, "fabric_ns": 0})
        for key in ("count", "time_ns", "stall_ns", "fabric_ns"):
            values = [one["calls"].get(name, {}).get(key, 0) for one in parts]
            if None in values or expected[key] is None:
                equal(f"{what} {name} {key}", [v for v in values if v], [])
            else:
                equal(f"{what} {name} {key}", sum(values), expected[key], slack if key != "count" else 0)
    for name, comm in comms_of(whole).items():
        mine = [comms_of(one)[name] for one in parts if name in comms_of(one)]
        for key in comm.keys() - NOT_SUMMED:
            if isinstance(comm[key], int):
                equal(f"{what} {name} {key}", sum(one[key] for one in mine), comm[key], slack if key.endswith("_ns") else 0)
        for key in ("send_sizes", "recv_sizes"):
            sums = {}
            for one in mine:
                for start, pair in size_sums(one[key]).items():
                    sums[start] = tuple(map(sum, zip(sums.get(start, (0, 0)), pair)))
            equal(f"{what} {name} {key}", sums, size_sums(comm[key]))
    for reason, ns in (whole["stalls_ns"] or {}).items():
        equal(f"{what} {reason}", sum(one["stalls_ns"][reason] for one in parts), ns, slack)


def rows_of(dump, run, *options):
    return list(csv.DictReader(said(dump, run, "--csv", *options).splitlines()))


def nanoseconds(text):
    return int(text.replace(".", "")) if text else 0


def pauses(rows, pieces):
    """Times at which a rank is in no call, and none begins: so many that they cut its calls into equal numbers."""
    calls = sorted((nanoseconds(row["start_s"]), nanoseconds(row["start_s"]) + nanoseconds(row["duration_s"]))
                   for row in rows if row["start_s"] and row["what"] in ("call", "fabric", "region"))
    times, last = [], 0
    for at, (begin, end) in enumerate(calls):
        if begin - last > 20 and at * pieces >= len(calls) * (len(times) + 1) and len(times) + 1 < pieces:
            times.append((last + begin) // 2)
        last = max(last, end)
    return times


def windows(dump, run, whole, rank):
    times = pauses(rows_of(dump, run, "--ranks", str(rank)), 4)
    if not times:
        fault("rank", rank, "is always in a call")
        return
    edges = ["", *times, ""]
    texts = [f"{a + 1}ns:{b}ns" if a and b else f":{b}ns" if b else f"{a + 1}ns:" for a, b in zip(edges, edges[1:])]
    parts = [part(dump, run, "--ranks", str(rank), "--window", text) for text in texts]
    if sum(1 for one in parts if one["events"]) < 2:
        fault("windows of rank", rank, "do not part anything:", texts)
    parts_sum(f"windows of rank {rank}", parts, whole, len(parts))


def unknown(what, job):
    for key in ("run_seconds", "mpi_share", "off_seconds", "fabric", "counters", "instruments"):
        equal(f"{what} {key}", job[key], None)
    equal(f"{what} unknown", "run_seconds" in job["selection"]["unknown"], True)


def same(dump, run):
    whole = part(dump, run)
    size = whole["world_size"]
    anew = part(dump, run, "--window", "0:")
    unknown("all", anew)
    job_same("all of it", anew, whole, unused=True)
    ranks = [part(dump, run, "--ranks", str(rank)) for rank in range(size)]
    for rank, one in enumerate(ranks):
        equal(f"rank {rank} is alone", one["ranks"], 1)
        job_same(f"rank {rank}", part(dump, run, "--ranks", str(rank), "--window", "0:"), one, unused=True)
        windows(dump, run, one, rank)
    parts_sum("ranks", ranks, whole, 0)
    equal("run time of ranks", max(one["run_seconds"]["max"] for one in ranks), whole["run_seconds"]["max"])
    if size > 2:
        job_same("ranks 0 and 2", part(dump, run, "--ranks", "0,2", "--functions", "MPI_*"), part(dump, run, "--ranks", "0,2"),
                 unused=True) if not any(row["what"] in ("region", "metric", "fabric") for row in rows_of(dump, run)) else None
    for function, call in whole["calls"].items():
        equal(f"--functions {function}", part(dump, run, "--functions", function)["calls"], {function: call})
    for filters in (("p2p", "-p2p"), ("coll,completion", "-coll,-completion")):
        parts = [part(dump, run, "--functions", one) for one in filters]
        calls = {name: call for one in parts for name, call in one["calls"].items()}
        equal(f"--functions {filters}", calls, whole["calls"])
    for name, comm in comms_of(whole).items():
        if "*" in name or not comm["comm_time_ns"]:
            continue
        got = comms_of(part(dump, run, "--comm", name))
        equal(f"--comm {name}: communicators", list(got), [name])
        if name in got:
            comm_same(f"--comm {name}", got[name], {**comm, "ranks": got[name]["ranks"]})


def freed(dump, run, pattern):
    """Each has an Isend, an Irecv and a message on each rank."""
    job = part(dump, run, "--comm", pattern)
    numbers = [n for n in range(1, 401) if fnmatch.fnmatch(f"MPI_COMM_SELF/dup#{n}", pattern)]
    made = len(numbers) * job["ranks"]
    calls_held(pattern, job, {"MPI_Isend": made, "MPI_Irecv": made})
    comms = job["communicators"]
    for key in ("send_count", "recv_count"):
        equal(f"{pattern} {key}", sum(comm[key] for comm in comms), made)
    equal(f"{pattern} communicators", sum(comm["merged"] for comm in comms), len(numbers))
    for comm in comms:
        if comm["name"] != "MPI_COMM_SELF/dup#*" and not fnmatch.fnmatch(comm["name"], pattern):
            fault(pattern, "has", comm["name"])


# ---- what a program counted ------------------------------------------------------------------------------------------

def counted_lines(path):
    lines = {}
    for line in open(path, encoding="utf-8"):
        title, _, rest = line.partition(": ")
        words = rest.split()
        if title.split(" ")[0] in ("rank", "on", "all") and words and words[0].startswith("MPI_"):
            lines[title] = dict(zip(words[::2], map(int, words[1::2])))
    return lines


def calls_held(what, job, expected):
    equal(what, {name: call["count"] for name, call in job["calls"].items() if name not in ENDS}, expected)


def csv_held(what, dump, run, *options):
    """The same options leave the same in --csv."""
    job = part(dump, run, *options)
    calls, times, got = {}, {}, {"recv_count": 0, "recv_bytes": 0}
    for row in rows_of(dump, run, *options):
        function, failed = row["function"], "failed" in row["flags"]
        if row["what"] == "call":
            calls[function] = calls.get(function, 0) + 1
            times[function] = times.get(function, 0) + nanoseconds(row["duration_s"])
        message = row["what"] in ("received", "receive done") or (row["what"] == "call" and function == "MPI_Recv")
        if message and row["peer"].isdigit() and not failed:
            got["recv_count"] += 1
            got["recv_bytes"] += int(row["bytes"])
    equal(f"{what}: calls in --csv", {name: call["count"] for name, call in job["calls"].items()}, calls)
    for name, call in job["calls"].items():
        equal(f"{what}: {name} in --csv", call["time_ns"], times.get(name, 0), call["count"] + job["ranks"])
    if "--comm" not in options:
        for key, value in got.items():
            equal(f"{what}: {key} in --csv", sum(comm[key] for comm in job["communicators"]), value)


def counted(dump, run, output):
    lines = counted_lines(output)
    whole = part(dump, run)
    calls_held("all ranks", whole, lines["all ranks"])
    for rank in range(whole["world_size"]):
        calls_held(f"--ranks {rank}", part(dump, run, "--ranks", str(rank)), lines[f"rank {rank}"])
        calls_held(f"--ranks {rank} --window 0:", part(dump, run, "--ranks", str(rank), "--window", "0:"), lines[f"rank {rank}"])
    for title, counts in lines.items():
        if not title.startswith("on "):
            continue
        job = part(dump, run, "--comm", title[3:])
        made = {name: n for name, n in counts.items() if name not in COMPLETIONS}
        (comm,) = job["communicators"]
        recorded = {name: call["count"] for name, call in job["calls"].items() if not name.startswith("MPI_Comm_")}
        equal(f"--comm {title[3:]}", recorded, made)
        started = counts.get("MPI_Start", 0) // 2
        for key, names in (("send_count", ("Send", "Sendrecv", "Isend")), ("recv_count", ("Recv", "Sendrecv", "Irecv")),
                           ("coll_count", ("Barrier", "Allreduce", "Ibcast"))):
            messages = sum(counts.get("MPI_" + name, 0) for name in names) + (started if key != "coll_count" else 0)
            equal(f"{title[3:]} {key}", comm[key], messages)
    for words in ("MPI_Isend", "wait*", "MPI_Send,MPI_Recv"):
        patterns = [word.lower() for word in words.split(",")]
        expected = {name: n for name, n in lines["all ranks"].items()
                    if any(fnmatch.fnmatch(form, pattern) for pattern in patterns for form in (name.lower(), name[4:].lower()))}
        calls_held(f"--functions {words}", part(dump, run, "--functions", words), expected)
    rows = [row for row in rows_of(dump, run) if row["what"] == "call" and row["function"] not in ENDS]
    middle = rows[len(rows) // 2]["start_s"]
    for options in (("--ranks", "1"), ("--window", f":{middle}"), ("--window", f"{middle}:"), ("--functions", "p2p,-MPI_Iprobe"),
                    ("--functions", "completion"), ("--comm", "*idup*"), ("--ranks", "0", "--window", f"{middle}:", "--functions", "-coll"),
                    ("--comm", "*dup#1", "--functions", "MPI_Send*")):
        csv_held(" ".join(options), dump, run, *options)


def texts(dump, run):
    """What a person reads of a part says which one it is, and nothing that is not known of it."""
    told = said(dump, run, "--ranks", "1")
    for words in ("part       --ranks 1\n", "1 of them selected", "run time"):
        if words not in told:
            fault(f"--ranks 1 does not tell '{words}'")
    told = said(dump, run, "--functions", "p2p")
    for words in ("part       --functions p2p\n", "counted from the trace", "all ranks and threads together"):
        if words not in told:
            fault(f"--functions p2p does not tell '{words}'")
    if "\n  run time" in told or "MPI_Barrier" in told:
        fault("--functions p2p tells what is not known of it:", told)
    if "  part  " in said(dump, run):
        fault("all of a run is called a part")


def rows(dump, run, rank):
    """The part has the rank's row of the whole and the figures that come from it. All else is null."""
    whole = json.loads(said(dump, run, "--json"))["jobs"][0]
    job = part(dump, run, "--ranks", rank)
    row = next(one for one in whole["by_rank"] if one["rank"] == int(rank))
    equal("by_rank", job["by_rank"], [row])
    equal("from", job["selection"]["from"], "summary")
    equal("run time", job["run_seconds"]["max"], row["run_seconds"], 1e-9)
    equal("in MPI", job["mpi_share"]["mean"], row["mpi_seconds"] / row["run_seconds"] / row["threads"], 1e-6)
    for name in ("calls", "communicators", "callsites", "events"):
        equal(name, job[name], None)
        equal(f"{name} is unknown", name in job["selection"]["unknown"], True)
    told = said(dump, run, "--ranks", rank)
    for words in (f"part       --ranks {rank}\n", "only figures by rank", "  run time ", "\nRanks\n"):
        if words not in told:
            fault(f"--ranks does not tell '{words}':", told)
    refused = subprocess.run([dump, "--ranks", "999", run], capture_output=True, check=False, timeout=120, text=True)
    equal("status without such a rank", refused.returncode, 2)
    equal("rank 999 is named", "rank 999 does not exist" in refused.stderr, True)


def main():
    if sys.argv[1] == "counted":
        counted(*sys.argv[2:5])
        texts(*sys.argv[2:4])
    elif sys.argv[1] == "csv":
        csv_held(" ".join(sys.argv[4:]), *sys.argv[2:])
        missing = sum(int(row["value"]) for row in rows_of(*sys.argv[2:]) if row["what"] == "missing")
        equal("missing", part(*sys.argv[2:])["selection"]["missing"], missing)
    elif sys.argv[1] == "rows":
        rows(*sys.argv[2:5])
    elif sys.argv[1] == "freed":
        freed(*sys.argv[2:5])
    else:
        same(*sys.argv[2:4])
    for one in faults[:40]:
        print(one)
    sys.exit(1 if faults else 0)


main()
