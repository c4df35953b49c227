"""places.py WHAT JSON LINES: compares the places in JSON with the lines that places.c wrote."""
import json
import sys


def read_lines(path):
    lines = {}
    for name, number in (line.split() for line in open(path)):
        lines[name] = int(number)
    return lines


def is_at(site, mpi, function, line):
    return (site["mpi"], site["function"], site["file"].split("/")[-1], site["line"]) == (mpi, function, "places.c", line)


def top(document, lines):
    ranks = {rank["rank"]: rank["call"] for rank in document["jobs"][0]["ranks"]}
    assert is_at(ranks[1]["site"], "MPI_Recv", "hang", lines["recv"]), ranks[1]
    assert ranks[1]["at"] == "places.c:%d (hang < main)" % lines["recv"], ranks[1]
    assert ranks[0]["site"]["mpi"] == "MPI_Reduce" and ranks[0]["site"]["function"] == "hang", ranks[0]
    assert [frame["function"] for frame in ranks[1]["site"]["path"]][:2] == ["hang", "main"], ranks[1]


def analyze(document, lines):
    job = document["jobs"][0]
    sums = {}
    for name in ("waits", "wait_sites"):
        for wait in job[name]:
            key = (name, wait["pattern"], wait["rank"])
            sums[key] = sums.get(key, 0) + wait["time_ns"]
    for (name, pattern, rank), ns in sums.items():
        assert sums["wait_sites", pattern, rank] == ns, (pattern, rank, sums)
    late = max((w for w in job["wait_sites"] if w["pattern"] == "late_sender" and w["cause_rank"] == 1),
               key=lambda wait: wait["time_ns"])
    assert late["rank"] == 2, late
    assert is_at(late["site"], "MPI_Wait", "exchange", lines["wait"]), late
    assert is_at(late["cause_site"], "MPI_Send", "exchange", lines["send"]), late
    full = job["callsites"][late["site"]["callsite"]]
    assert [frame["function"] for frame in full["path"]][:3] == ["exchange", "late", "main"], full
    segment = job["segments"][0]
    assert is_at(segment["from"], "MPI_Barrier", "late", lines["barrier"]), segment
    assert is_at(segment["to"], "MPI_Irecv", "exchange", lines["irecv"]), segment
    assert (late["cause_segment"]["from"], late["cause_segment"]["to"]) == (segment["from"], segment["to"]), late
    assert segment["count"] == 12 and segment["ranks"] == 3, segment
    time = segment["time_ns"]
    assert time["max_rank"] == 1 and time["max"] >= 4 * 60e6 and time["max"] > 2 * time["min"] >= 8 * 10e6, segment
    assert time["min"] <= time["mean"] <= time["max"], segment
    computing = sum(share["time_ns"] for share in job["critical_path"]["shares"] if share["function"] is None)
    critical = sum(one["critical_ns"] for one in job["segments"])
    assert computing / 2 < critical <= computing, (critical, computing)


def perfetto(document, lines):
    calls = [event for event in document["traceEvents"] if event["ph"] in "BE"]
    assert all("sf" in event if event["ph"] == "B" else "at" in event["args"] for event in calls), calls
    begun, ended = ([event for event in calls if event["ph"] == phase and event["name"] == "MPI_Send"] for phase in "BE")
    assert len(begun) == len(ended) == 15
    assert all(send["args"]["at"] == "places.c:%d (exchange)" % lines["send"] for send in ended), ended
    known = document["stackFrames"]
    for send in begun:
        frame, frames = known[str(send["sf"])], []
        while frame:
            frames.append(frame["name"])
            frame = known[str(frame["parent"])] if "parent" in frame else None
        assert frames[0] == "places.c:%d exchange" % lines["send"], frames
        assert [frame.split()[1] for frame in frames[1:3]] == ["late", "main"], frames
    each = [(frame["name"], frame.get("parent")) for frame in known.values()]
    assert len(set(each)) == len(each) < len(begun + ended), "a frame is there twice"


globals()[sys.argv[1]](json.load(open(sys.argv[2])), read_lines(sys.argv[3]))
