#!/usr/bin/python3
"""Checks what mpit-dump writes for other programs to read.

    views.py trace FILE.json CSV        Chrome's trace-event format, and that it has the calls of the CSV
    views.py csv CSV EVENTS SUMMARY     the CSV against mpit-dump --events and the tallies of mpit-dump --json
    views.py part CSV PART OPTION TEXT  PART is what the filter leaves of CSV
    views.py arrows FILE.json SUMMARY FILE.csv   an arrow for each message that was received
    views.py interrupt MPIT-DUMP RUN    SIGTERM leaves nothing behind
"""
import collections
import csv
import fnmatch
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

COLUMNS = ("job rank thread what function start_s duration_s communicator label peer tag bytes bytes_out completed "
           "requests flags name value path").split()
SENDS = {"MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Rsend", "MPI_Sendrecv", "MPI_Sendrecv_replace"}
RECEIVES = {"MPI_Recv", "MPI_Mrecv"}
NUMBERS = (int, float)


def rows_of(path):
    with open(path, newline="") as file:
        reader = csv.DictReader(file, strict=True)
        assert reader.fieldnames == COLUMNS, reader.fieldnames
        rows = list(reader)
    assert rows, "no rows"
    for row in rows:
        assert None not in row and None not in row.values(), row
    return rows


def nanoseconds(text, digits):
    """Exactly what stands there; None where there is nothing."""
    if not text:
        return None
    whole, behind = text.split(".")
    assert len(behind) == digits, text
    return int(whole + behind)


def exact(path):
    """Times as nanoseconds: all numbers with three digits behind the point become integers."""
    def number(text):
        return nanoseconds(text, 3) if text[-4:-3] == "." else float(text)
    with open(path, encoding="utf-8") as file:
        return json.load(file, parse_float=number)


# ---- trace events: what the format asks for, and what Perfetto and speedscope ask for besides ------------------------

def event_check(event):
    assert isinstance(event["ph"], str) and len(event["ph"]) == 1, event
    for field in ("pid", "tid"):  # 0 is the idle process to Perfetto; it keeps 32 bits
        assert isinstance(event[field], int) and 0 < event[field] < 2**32, event
    assert isinstance(event["ts"], int) and event["ts"] >= 0, event
    assert isinstance(event["name"], str) and event["name"], event
    assert isinstance(event.get("args", {}), dict), event
    wanted = {"M": ["args"], "C": ["args"], "s": ["id", "cat"], "f": ["id", "cat"], "i": ["s"],
              "B": ["cat"], "E": []}[event["ph"]]
    assert all(field in event for field in wanted), event
    if event["ph"] == "i":
        assert event["s"] in "gpt", event
    if event["ph"] == "C":
        assert event["args"] and all(isinstance(v, NUMBERS) for v in event["args"].values()), event


def tracks_check(events):
    """Calls of a thread lie inside of each other; returns them: (pid, tid) -> [(name, begin, end)], end None: open."""
    tracks = collections.defaultdict(list)
    for event in events:  # readers sort by time, and leave the order of the file where it is the same
        if event["ph"] in "BE":
            tracks[event["pid"], event["tid"]].append(event)
    slices = {}
    for place, track in tracks.items():
        stack, done = [], []
        for event in sorted(track, key=lambda e: e["ts"]):
            if event["ph"] == "B":
                stack.append(event)
                continue
            assert stack and stack[-1]["name"] == event["name"], (event, stack[-3:])
            begin = stack.pop()
            done.append((begin["name"], begin["ts"], event["ts"]))
        for begin in stack:  # a process that was killed
            assert begin["args"]["unfinished"] is True, begin
            assert set(begin["args"]) == {"unfinished", "at"} and "sf" in begin, begin
            done.append((begin["name"], begin["ts"], None))
        slices[place] = done
    return slices


def names_check(events):
    named = {what: {} for what in ("process_name", "thread_name", "process_sort_index", "thread_sort_index")}
    for event in events:
        if event["ph"] == "M":
            place = event["pid"] if event["name"].startswith("process") else event["tid"]
            assert place not in named[event["name"]], event
            named[event["name"]][place] = event["args"]
    owner = {}
    for event in events:
        assert event["pid"] in named["process_name"] and event["tid"] in named["thread_name"], event
        assert owner.setdefault(event["tid"], event["pid"]) == event["pid"], "a thread in two processes"
    names = [args["name"] for args in named["process_name"].values()]
    assert len(set(names)) == len(names), names
    return {pid: args["name"] for pid, args in named["process_name"].items()}


def flows_check(events, slices):
    """Each arrow has one begin and one end, both inside of a call, which has a mark there if it began first."""
    ends = {"s": {}, "f": {}}
    point, marks = ("pid", "tid", "ts"), set()
    for event in events:
        if event["ph"] in ends:
            assert event["id"] not in ends[event["ph"]], event
            ends[event["ph"]][event["id"]] = event
        if event["ph"] == "f":
            event["marked"] = tuple(event[field] for field in point) in marks
        elif event["ph"] == "i" and event["name"] == "message":
            assert "bp" not in before and all(before[field] == event[field] for field in point), (before, event)
            marks.add(tuple(event[field] for field in point))
        before = event
    assert ends["s"].keys() == ends["f"].keys()
    inside = {place: {} for place in slices}
    for place, done in slices.items():
        for _, begin, end in done:
            if end is not None:
                inside[place].setdefault(begin, []).append(end)
                inside[place].setdefault(("end", end), []).append(begin)
    for begin in ends["s"].values():
        assert any(end > begin["ts"] for end in inside[begin["pid"], begin["tid"]].get(begin["ts"], [])), begin
    for end in ends["f"].values():
        at = end["ts"] + 1
        assert any(begin < at for begin in inside[end["pid"], end["tid"]].get(("end", at), [])), end
        begun = max(begin for begin in inside[end["pid"], end["tid"]][("end", at)] if begin < at)
        # Perfetto lets an arrow go from what began first to what began last
        late = begun < ends["s"][end["id"]]["ts"] and not end["marked"]
        assert ("bp" not in end) if late else end["bp"] == "e", end
        assert not late or tuple(end[field] for field in point) in marks, end
    return len(ends["s"])


def trace(path, table):
    document = exact(path)
    assert document["displayTimeUnit"] == "ns", document.keys()
    events = document["traceEvents"]
    for event in events:
        event_check(event)
    slices = tracks_check(events)
    processes = names_check(events)
    arrows = flows_check(events, slices)
    rows = rows_of(table)
    wanted, shown = collections.Counter(), collections.Counter()
    rank_of = {pid: name.split(" on ")[0].removeprefix("rank ") for pid, name in processes.items()}
    for row in rows:
        begin = nanoseconds(row["start_s"], 9)
        if row["what"] == "call":
            wanted[row["rank"], row["function"], begin] += 1
        elif row["what"] == "region":
            wanted[row["rank"], row["name"], begin] += 1
        elif row["what"] == "unfinished":
            wanted[row["rank"], row["function"], "unfinished"] += 1
    for (pid, _), done in slices.items():
        for name, begin, end in done:
            shown[rank_of[pid], name, begin if end is not None else "unfinished"] += 1
    for key in (wanted - shown) + (shown - wanted):
        # the two time lines of a job on one host are the same
        assert wanted[key] == shown[key], f"{key}: {wanted[key]} in the CSV, {shown[key]} in the trace"
    samples = sum(e["ph"] == "C" for e in events)
    assert samples == sum(row["what"] == "metric" for row in rows), samples
    print(f"# {sum(shown.values())} calls and regions, {arrows} arrows, {samples} samples")


def arrows(path, summary, table):
    events = exact(path)["traceEvents"]
    drawn = sum(e["ph"] == "s" for e in events)
    received = sum(c["recv_count"] for job in json.load(open(summary))["jobs"] for c in job["communicators"])
    # where the counter steps by 10 ns a call may take less than 1 ns: then it has no inside, and its messages no arrow
    quick = sum(max(1, int(row["completed"] or 0)) for row in rows_of(table)
                if row["what"] == "call" and nanoseconds(row["duration_s"], 9) == 0)
    assert received - quick <= drawn <= received > quick, f"{drawn} arrows, {received} messages, {quick} in no time"


# ---- CSV -------------------------------------------------------------------------------------------------------------

def comms_of(rows):
    comms = collections.defaultdict(collections.Counter)
    for row in rows:
        message = row["peer"].isdigit() and "failed" not in row["flags"].split()
        function, what, counts = row["function"], row["what"], comms[row["communicator"]]
        sent = what == "send done" or (what == "freed" and "send" in function)
        if message and (sent or (what == "call" and function in SENDS)):
            counts["send_count"] += 1
            counts["send_bytes"] += int(row["bytes"])
        if message and (what in ("receive done", "received") or (what == "call" and function in RECEIVES)):
            counts["recv_count"] += 1
            counts["recv_bytes"] += int(row["bytes"])
    return comms


def table(path, events, summary):
    rows = rows_of(path)
    lines = open(events, encoding="utf-8").read().splitlines()[1:]
    lines = [line for line in lines if "posted at " not in line and "posted by " not in line]
    assert len(lines) == len(rows), f"{len(lines)} lines of events, {len(rows)} rows"
    job, = json.load(open(summary))["jobs"]
    calls, times = collections.Counter(), collections.Counter()
    for row in rows:
        if row["what"] == "call":
            calls[row["function"]] += 1
            times[row["function"]] += nanoseconds(row["duration_s"], 9) or 0
    tallied = {name: call["count"] for name, call in job["calls"].items() if call["count"]}
    assert dict(calls) == tallied, (calls, tallied)
    for name, call in job["calls"].items():  # each duration was rounded down by itself, the sum was not
        assert 0 <= call["time_ns"] - times[name] <= 2 * call["count"] + 2, (name, call, times[name])
    comms, compared = comms_of(rows), 0
    for comm in job["communicators"]:
        for name in ("send_count", "send_bytes", "recv_count", "recv_bytes"):
            assert comms[comm["name"]][name] == comm[name], (comm["name"], name, comms[comm["name"]], comm[name])
            compared += comm[name] > 0
    assert compared, "nothing compared"
    print(f"# {len(rows)} rows, {compared} figures of communicators")


def is_wanted(row, option, text):
    if option == "--ranks":
        first, last = (int(n) for n in (text.split("-") + [text])[:2])
        return first <= int(row["rank"]) <= last
    if option == "--comm":
        return bool(row["communicator"]) and (fnmatch.fnmatchcase(row["communicator"], text) or
                                              fnmatch.fnmatchcase(row["label"], text))
    if option == "--functions":
        return row["what"] == "call" and row["function"] == text
    first, last = (nanoseconds(n, 9) for n in text.split(":"))
    begin = nanoseconds(row["start_s"], 9)
    return begin <= last and begin + (nanoseconds(row["duration_s"], 9) or 0) >= first


def part(path, left, option, text):
    """A record goes with its call, so what is compared are the rows that stand for themselves."""
    own = ("call", "region", "metric", "recording on", "recording off", "passed")
    wanted = [row for row in rows_of(path) if row["what"] in own and is_wanted(row, option, text)]
    got = [row for row in rows_of(left) if row["what"] in own]
    assert got == wanted, f"{len(got)} rows, {len(wanted)} wanted"
    assert 0 < len(got) < len(rows_of(path)), "the filter leaves all, or nothing"
    print(f"# {len(got)} rows")


# ---- interrupted -----------------------------------------------------------------------------------------------------

def names(summary, path, events):
    """What a program calls its communicators: each output is UTF-8, and CSV and text have what JSON has."""
    labels = {c["label"] for job in exact(summary)["jobs"] for c in job["communicators"] if "label" in c}
    shown = {row["label"] for row in rows_of(path)} - {""}
    text = open(events, encoding="utf-8", newline="\n").read()
    odd = [label for label in labels if "??" in label]
    assert odd, f"no bytes that are no characters were planted: {labels}"
    assert shown == labels, f"CSV has {shown}, JSON {labels}"
    for label in labels:
        assert label.replace("\\", "\\\\").replace('"', '\\"') in text, f"the text has no {label!r}"


def interrupt(dump, run):
    stopped = 0
    for _ in range(20):
        with tempfile.TemporaryDirectory() as folder:
            child = subprocess.Popen([dump, "--perfetto", os.path.join(folder, "out.json"), run],
                                     stderr=subprocess.DEVNULL)
            while child.poll() is None and not os.listdir(folder):
                time.sleep(0.0005)
            child.send_signal(signal.SIGTERM)
            status = child.wait()
            left = os.listdir(folder)
            assert status in (0, -signal.SIGTERM), status
            assert left == ([] if status else ["out.json"]), left
            stopped += status != 0
        if stopped == 3:
            return
    assert stopped, "it was always done before it could be stopped"


def main():
    commands = {"trace": trace, "csv": table, "part": part, "arrows": arrows, "interrupt": interrupt, "names": names}
    try:
        commands[sys.argv[1]](*sys.argv[2:])
    except AssertionError as problem:
        raise SystemExit(f"{' '.join(sys.argv[1:])}: {problem or 'does not hold'}") from problem


main()
