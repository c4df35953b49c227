#!/usr/bin/python3
"""Holds a page of mpit-dump --html, as Chromium has drawn it, against what mpit-dump says of the run as JSON.

    htmlpage.py judge DUMP RUN PAGE [WORD...] [OPTION...] draws PAGE and judges it. Words: trace, files (run files are left), names
                                                (planted ones), groups (of ranks), gaps (in the trace), below (counters,
                                                samples, fabric), job=N, jobs=N; OPTION...: of which part it is
    htmlpage.py loads PAGE                      draws PAGE, and fails if nobody says that it wanted to load something

Chromium: no message on its console, nothing loaded, no error kept by the page itself.
"""
import csv
import json
import pathlib
import re
import subprocess
import sys

from htmlanswers import judge_about, judge_callsites, judge_efficiency, judge_findings, judge_missing, judge_segments, judge_wait_places
from htmltimeline import judge_timeline
from htmldrawn import drawn, number_told, same, table_of, descending

ENDS = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Session_init", "MPI_Session_finalize"}
ALWAYS = {"overview", "functions", "sizes", "communicators"}


# ---- figures ---------------------------------------------------------------------------------------------------------

def comm_title(comm):
    return comm["name"] + (f" “{comm['label']}”" if comm.get("label") else "")


def judge_overview(root, job):
    tiles = {one.attributes["data-tile"]: number_told(one) for one in root.having("data-tile")}
    comms = job["communicators"]
    mpi = job["mpi_seconds"]["mean"] * job["ranks"]
    if job["run_seconds"] is None:
        assert tiles["Run time"] is None and "In MPI" not in tiles
        same("time in MPI", tiles["Time in MPI"], mpi)
    else:
        same("run time", tiles["Run time"], job["run_seconds"]["max"])
        same("share", tiles["In MPI"], job["mpi_share"]["mean"])
    told = root.having("data-figure", "overview")[0].text()
    assert ("A part of the run: " + " ".join(OPTIONS) in told) == bool(OPTIONS), told
    same("calls", tiles["MPI calls"], sum(call["count"] for call in job["calls"].values()))
    for tile, key in (("Messages sent", "send_count"), ("Collective calls", "coll_count")):
        same(tile, tiles.get(tile, 0), sum(comm[key] for comm in comms))
    if job["stalls_ns"] is None:
        assert tiles["Stalled"] is None
    else:
        stalled = sum(call["stall_ns"] or 0 for name, call in job["calls"].items() if name not in ENDS) / 1e9
        same("stalled", tiles["Stalled"], stalled / mpi if mpi else None, 1e-6)
    parts = {one.attributes["data-part"]: float(one.attributes["data-value"]) for one in root.having("data-part")}
    same("split", parts.get("work", 0) + parts.get("stall", 0), mpi, 1e-6)
    ranks = job["by_rank"]
    if ranks and job["run_seconds"] and all(rank["recorded_seconds"] is not None for rank in ranks) and len(ranks) == job["ranks"]:
        recorded = sum(rank["recorded_seconds"] * rank["threads"] for rank in ranks)
        same("time of all threads", sum(parts.values()), max(recorded, mpi), 1e-6)


def judge_functions(root, job, files):
    rows = table_of(root, "functions")
    assert {row["texts"][0] for row in rows} == set(job["calls"]), "functions"
    outside = [row["texts"][0] in ENDS for row in rows]
    assert outside == sorted(outside), "start and end of MPI come last"
    descending("functions", [row["time"] for row in rows if row["texts"][0] not in ENDS])
    inner = sum(call["time_ns"] for name, call in job["calls"].items() if name not in ENDS)
    whole = job["recorded_seconds"]["mean"] * job["ranks"] * 1e9 if job["recorded_seconds"] else inner
    for row in rows:
        name = row["texts"][0]
        call = job["calls"][name]
        for key, field in (("time", "time_ns"), ("count", "count")):
            same(f"{name} {key}", row[key], call[field])
        same(name + " stalled", row["stalled"],
             None if call["stall_ns"] is None or not call["time_ns"] else min(1, call["stall_ns"] / call["time_ns"]))
        same(name + " share", row["share"], None if name in ENDS or not whole else call["time_ns"] / whole, 1e-6)
        same(name + " a call", row["call"], call["time_ns"] / call["count"])
        if files:
            times = [one["calls"].get(name, {"time_ns": 0})["time_ns"] for one in files]
            same(name + " mean", row["mean"], sum(times) / len(times))
            same(name + " most", row["max"], max(times))
            same(name + " balance", row["balance"], sum(times) / len(times) / max(times) if max(times) else None)
        else:
            assert ("mean" in row) == ("files" in WORDS), "spreads over ranks"


def judge_rank_rows(root, job):
    """Without run files: the figures by rank of the summary."""
    rows, ranks = table_of(root, "ranks"), job["by_rank"]
    assert len(rows) == job["world_size"]
    for row, rank in zip([rows[rank["rank"]] for rank in ranks], ranks):
        for key, field, unit in (("run", "run_seconds", 1), ("mpi", "mpi_seconds", 1), ("stall", "stalled_seconds", 1e9),
                                 ("send_count", "messages_sent", 1), ("send_bytes", "bytes_sent", 1),
                                 ("recv_count", "messages_received", 1), ("recv_bytes", "bytes_received", 1)):
            same(f"rank {rank['rank']} {key}", row.get(key), None if rank[field] is None else rank[field] * unit, 1e-6)
        assert "coll_count" not in row
    bars = [one for one in root.having("data-plot", "ranks")[0].tagged("rect") if one.attributes["class"] == "hit"]
    assert len(bars) == len(rows), len(bars)


def judge_ranks(root, job, files):
    if "files" not in WORDS:
        judge_rank_rows(root, job)
        return
    rows = table_of(root, "ranks")
    per_row = -(-job["world_size"] // 512)
    assert len(rows) == -(-job["world_size"] // per_row), len(rows)
    for key, total in (("send_count", None), ("send_bytes", None), ("recv_count", None), ("recv_bytes", None),
                       ("coll_count", None), ("run", job["run_seconds"]), ("mpi", job["mpi_seconds"])):
        if key == "run" and not total: # of a part that was counted anew
            assert not any(key in row for row in rows)
            continue
        expected = total["mean"] * job["ranks"] if total else sum(comm[key] for comm in job["communicators"])
        same("ranks " + key, sum(row[key] or 0 for row in rows), expected, 1e-6)
    chosen = [row for row in rows if row["mpi"] is not None]
    assert len(chosen) == len(files) or not files, (len(chosen), len(files))
    for row, one in zip(chosen, files):
        same("run", row.get("run"), one["run_seconds"] and one["run_seconds"]["mean"])
        same("mpi", row["mpi"], one["mpi_seconds"]["mean"])
        for key in ("send_count", "send_bytes", "recv_count", "recv_bytes", "coll_count"):
            same(key, row[key], sum(comm[key] for comm in one["communicators"]))
    bars = [one for one in root.having("data-plot", "ranks")[0].tagged("rect") if one.attributes["class"] == "hit"]
    assert len(bars) == len(rows), len(bars)


def judge_matrix(root, job, analysis):
    if "files" not in WORDS:
        assert not root.having("data-figure", "matrix")
        return
    figure = root.having("data-figure", "matrix")[0]
    totals = {one.attributes["data-total"]: number_told(one) for one in figure.having("data-total")}
    same("messages", totals["messages"], sum(comm["send_count"] for comm in job["communicators"]))
    same("bytes", totals["bytes"], sum(comm["send_bytes"] for comm in job["communicators"]))
    if not totals["messages"]:
        assert not figure.having("data-plot")
        return
    rows = table_of(root, "pairs")
    descending("pairs", [row["bytes"] for row in rows])
    canvas = figure.having("data-cells")[0]
    assert int(canvas.attributes["width"]) > 100
    if analysis is None or "groups" in WORDS:
        return
    pairs = {}
    for entry in analysis["matrix"]:
        pair = pairs.setdefault((str(entry["from"]), str(entry["to"])), [0, 0])
        pair[0] += entry["messages"]
        pair[1] += entry["bytes"]
    shown = {tuple(row["texts"]): [row["messages"], row["bytes"]] for row in rows}
    assert len(shown) == min(200, len(pairs)), (len(shown), len(pairs))
    assert int(canvas.attributes["data-cells"]) == sum(1 for pair in pairs.values() if pair[1]), canvas.attributes
    for pair, values in shown.items():
        assert pairs[pair] == values, (pair, values, pairs[pair])


def judge_sizes(root, job):
    sums = {}
    for comm in job["communicators"]:
        for side, key in (("sent", "send_sizes"), ("received", "recv_sizes")):
            for size in comm[key]:
                at = sums.setdefault(size["from_bytes"], {"sent_count": 0, "sent_bytes": 0, "received_count": 0, "received_bytes": 0})
                at[side + "_count"] += size["count"]
                at[side + "_bytes"] += size["bytes"]
    if not sums:
        assert not root.having("data-plot", "sizes")
        return
    rows = table_of(root, "sizes")
    assert len(rows) == len(sums), (len(rows), len(sums))
    for row, start in zip(rows, sorted(sums)):
        for key, value in sums[start].items():
            same(f"size {start} {key}", row[key], value)
    if len(sums) == 1: # needs no chart
        assert not root.having("data-plot", "sizes")
        return
    heights = [float(one.attributes["height"]) for one in root.having("data-plot", "sizes")[0].tagged("rect")
               if one.attributes["class"] == "fill-sent" and float(one.attributes["height"])]
    assert len(heights) == sum(1 for one in sums.values() if one["sent_count"]), heights


def judge_comms(root, job):
    rows, comms = table_of(root, "communicators"), {}
    for comm in job["communicators"]:
        comms.setdefault(comm_title(comm), []).append(comm)
    descending("communicators", [row["time"] for row in rows])
    assert len(rows) == len(job["communicators"])
    for row in rows:
        assert any(all(row[key] == comm[field] for key, field in (
            ("time", "comm_time_ns"), ("p2p", "p2p_time_ns"), ("wait", "wait_time_ns"), ("coll", "coll_time_ns"), ("stall", "stall_ns"),
            ("size", "size"), ("send_count", "send_count"), ("send_bytes", "send_bytes"), ("coll_count", "coll_count"),
            ("coll_bytes", "coll_bytes"), ("span", "span_ns"))) for comm in comms[row["texts"][0]]), row


def judge_waits(root, analysis):
    if analysis is None:
        assert not root.having("data-figure", "waits")
        return
    waits, texts = analysis["waits"], {}
    total = sum(wait["time_ns"] for wait in waits)
    if total:
        for wait in waits:
            at = texts.setdefault(wait["pattern"].replace("_", " "), [0, 0])
            at[0] += wait["time_ns"]
            at[1] += wait["count"]
        names = {row["texts"][0].lower().replace("wait at communicator creation", "wait at creation"): [row["time"], row["count"]]
                 for row in table_of(root, "patterns")}
        assert names == texts, (names, texts)
        assert sum(row["time"] for row in table_of(root, "function-waits")) == total
        for row, rank in zip(table_of(root, "waiters"), analysis["ranks"], strict=True):
            for key, field in (("rank", "rank"), ("waited", "waited_ns"), ("caused", "caused_ns"), ("path_mpi", "path_mpi_ns"),
                               ("path_computing", "path_computing_ns")):
                same("waiters " + key, row[key], rank.get(field))
    operations = table_of(root, "collectives") if analysis["collectives"] else []
    assert sum(row["count"] for row in operations) == sum(one["count"] for one in analysis["collectives"])
    path = analysis["critical_path"]
    if "length_ns" in path:
        shown = sorted((row["rank"], row["texts"][0], row["time"]) for row in table_of(root, "path"))
        assert shown == sorted((one["rank"], one["function"] or "computing", one["time_ns"]) for one in path["shares"])


def judge_counters(root, job):
    for kind, counters in (("times", [one for one in job["counters"] if one["unit"] == "ns"]),
                           ("counts", [one for one in job["counters"] if one["unit"] != "ns"])):
        for row, counter in zip(table_of(root, "counters-" + kind) if counters else [], counters, strict=True):
            assert row["texts"][0] == counter["name"]
            same(counter["name"], row["total"], counter["total"])
            for place, value in counter["places"].items():
                same(counter["name"] + " " + place, row["place-" + place], value)
            same(counter["name"] + " most", row["max"], counter["by_rank"]["max"])


def judge_fabric(root, job):
    if not job["fabric"]["providers"]:
        assert "No calls of libfabric or UCX" in root.having("data-figure", "fabric")[0].text()
        return
    for row, provider in zip(table_of(root, "fabric"), job["fabric"]["providers"], strict=True):
        for key, field in (("time", "time_ns"), ("polls", "polls"), ("poll", "poll_ns"), ("most", "most_outstanding")):
            same("fabric " + key, row[key], provider[field])
    calls = [call for provider in job["fabric"]["providers"] for call in provider["functions"].values()]
    assert sum(row["count"] for row in table_of(root, "fabric-functions")) == sum(call["count"] for call in calls)


def judge_samples(root, document, profile):
    shown = table_of(root, "sample-functions")
    descending("functions of samples", [row["self"] for row in shown])
    own = sorted(((one["name"], one["self_ns"], one["total_ns"]) for one in profile["functions"]), key=lambda one: -one[1])[:200]
    assert sorted((row["self"], row["total"]) for row in shown) == sorted(one[1:] for one in own)
    places = sorted((one["time"]["ns"] for one in profile["places"]), reverse=True)[:200]
    assert [row["time"] for row in table_of(root, "sample-places")] == places
    lines = sorted((one["self_ns"], one["mpi_ns"]) for one in profile["lines"])
    assert len(lines) > 200 or sorted((row["self"], row["mpi"]) for row in table_of(root, "sample-lines")) == lines
    judge_flame(root, document["profile"]["flame"], profile)


def judge_flame(root, flame, profile):
    """All functions that have a thousandth of the time, on their paths; the widest are drawn."""
    least, truth, shown, path = profile["time"]["ns"] // 1000, [], [], []

    def walk(calls, callers):
        for one in calls:
            if one["time"]["ns"] >= least:
                truth.append((*callers, one["name"], one["time"]["ns"]))
                walk(one["calls"], (*callers, one["name"]))

    walk(profile["paths"], ())
    for depth, name, ns, work, stall in flame["nodes"]:
        path = path[:depth] + [flame["names"][name]["name"]]
        shown.append((*path, ns))
        assert work + stall <= ns, (path, ns, work, stall)
    assert sorted(shown, key=str) == sorted(truth, key=str), (shown[:5], truth[:5])
    boxes = root.having("data-plot", "flame")[0].having("data-flame")
    assert boxes[0].attributes["data-flame"] == "all" and len(boxes) > 3, len(boxes)
    width = float(boxes[0].attributes["width"])
    assert all(float(one.attributes["width"]) + float(one.attributes["x"]) <= width + .01 for one in boxes)


def calls_of_csv(dump, run, job):
    """Outermost calls by rank: begin and end in nanoseconds, function."""
    if "trace" not in WORDS:
        return {}
    said = subprocess.run([dump, "--csv", *OPTIONS, run], capture_output=True, check=False, timeout=120).stdout.decode(errors="replace")
    calls = {}
    for row in csv.DictReader(said.splitlines()):
        if int(row["job"]) == job and row["what"] == "call" and "nested" not in row["flags"]:
            begin = float(row["start_s"]) * 1e9
            calls.setdefault(int(row["rank"]), []).append((begin, begin + float(row["duration_s"]) * 1e9, row["function"]))
    return calls


def judge_unended(root, job, dump, run):
    """What processes were in that did not come to their end, as --crash has it."""
    told = root.having("data-figure-part", "unended")
    assert bool(told) == bool(job["ended_badly"]), "unended"
    assert bool(told) == ("unended" in WORDS), "unended"
    if told:
        crash = subprocess.run([dump, "--crash", run], capture_output=True, check=False, timeout=120, text=True).stdout
        lines = {" ".join(line.split()) for line in crash.splitlines()}
        shown = [" ".join(item.text().split()) for item in told[0].tagged("li")]
        assert shown and set(shown) <= lines, (shown, crash[:2000])


def sites_put_back(part, job):
    """Each call site is in the page once: other parts have the number that it has in the summary."""
    def text(site):
        return json.dumps([site[key] for key in ("mpi", "file", "line", "path")])
    known = {text(site) for site in job["callsites"] or []}
    for one in (part["analysis"], part["timeline"].get("calls")):
        if one and "callsites" in one:
            assert not any(text(site) in known for site in one["callsites"]), "a call site is there twice"
            one["callsites"] = (job["callsites"] or []) + one["callsites"]


# ---- the whole -------------------------------------------------------------------------------------------------------

def judge_safety(page, root, console, document, job):
    text = pathlib.Path(page).read_text(encoding="utf-8")
    top = root.tagged("html")[0].attributes
    assert not console, console
    assert top.get("data-drawn") == "yes" and top.get("data-errors") == "[]", top
    assert top["data-loaded"] == "0", top["data-loaded"]
    assert len(root.tagged("script")) == 3, "scripts"
    for element in root.walk():
        assert not any(name in element.attributes for name in ("src", "srcset", "data", "action")), element.attributes
        assert element.attributes.get("href", "#").startswith("#"), element.attributes
        assert not any(name.startswith("on") for name in element.attributes), element.attributes
    assert "default-src 'none'" in text
    body = text.split('id="document">')[1].split("</script>")[0]
    assert "<" not in body and ">" not in body and "&" not in body
    assert json.loads(body) == document
    if "names" in WORDS:
        assert "<script>window.x=1</script>" in job["program"], job["program"]
        assert job["program"] in root.having("data-figure", "overview")[0].text()


def judge_untimed(root, job):
    """No call was timed: what is counted is there, and no time is said to be 0."""
    tiles = {one.attributes["data-tile"]: number_told(one) for one in root.having("data-tile")}
    assert tiles["In MPI"] is None and tiles["Stalled"] is None, tiles
    same("calls", tiles["MPI calls"], sum(call["count"] for call in job["calls"].values()))
    rows = table_of(root, "functions")
    assert {row["texts"][0]: row["count"] for row in rows} == {name: call["count"] for name, call in job["calls"].items()}
    assert {"send_count", "send_bytes"} < set(table_of(root, "communicators")[0])
    for name in ("overview", "functions", "ranks", "communicators"):
        text = root.having("data-figure", name)[0].text()
        assert "o call was timed" in text, text
        assert not re.search(r"[0-9] ?%|\b0 s\b|share of their time", text), text


def judge_plots(root, job):
    figures = {one.attributes["data-figure"] for one in root.having("data-figure")}
    assert ALWAYS <= figures, ALWAYS - figures
    sent = any(comm["send_count"] for comm in job["communicators"])
    sizes = len({size["from_bytes"] for comm in job["communicators"] for size in comm["send_sizes"] + comm["recv_sizes"]})
    expected = {name for name, there in (("sizes", sizes > 1), ("ranks", True), ("matrix", sent and "files" in WORDS),
                                         ("timeline", "trace" in WORDS and job["run_seconds"] is not None)) if there}
    plots = {one.attributes["data-plot"]: one for one in root.having("data-plot")}
    assert expected <= set(plots), (expected, set(plots))
    for name, plot in plots.items():
        assert plot.tagged("svg") or plot.tagged("canvas"), f"{name} is empty"
        for shape in plot.tagged("rect"):
            assert all(float(shape.attributes[key]) >= 0 for key in ("x", "y", "width", "height")), shape.attributes
    for figure in root.having("data-figure"):
        assert any(one.attributes.get("class") in ("note", "missing") for one in figure.walk()), figure.attributes
    text = " ".join(figure.text() for figure in root.having("data-figure"))
    assert not re.search(r"NaN|undefined|Infinity|\[object", text), re.search(r".{40}(NaN|undefined|Infinity|\[object).{40}", text)


def said_json(*command):
    done = subprocess.run(command, capture_output=True, check=False, timeout=120)
    return json.loads(done.stdout) if done.stdout else None


def word(name, default):
    return next((int(one.split("=")[1]) for one in WORDS if one.startswith(name + "=")), default)


def judge(dump, run, page):
    number = word("job", 1)
    root, console = drawn(page, f"?job={number}")
    summary = said_json(dump, "--json", *OPTIONS, run)
    body = pathlib.Path(page).read_text(encoding="utf-8").split('id="document">')[1].split("</script>")[0]
    document = json.loads(body)
    assert document["summary"] == summary, "the page's summary is not that of --json"
    job = summary["jobs"][number - 1]
    analysis = said_json(dump, "--analyze", "--json", *OPTIONS, run)["jobs"][number - 1] if "trace" in WORDS else None
    files = []
    if "files" in WORDS and job["world_size"] <= 8 and len(summary["jobs"]) == 1:
        others = [one for at, one in enumerate(OPTIONS) if "--ranks" not in (one, *OPTIONS[max(at - 1, 0):at])]
        asked = OPTIONS[OPTIONS.index("--ranks") + 1].split(",") if "--ranks" in OPTIONS else map(str, range(job["world_size"]))
        files = [said_json(dump, "--json", *others, "--ranks", rank, run)["jobs"][0] for rank in asked]
        assert len(files) == job["ranks"]
    judge_safety(page, root, console, document, job)
    sites_put_back(document["jobs"][number - 1], job)
    if job["calls"] is None: # a part of a run without files: figures by rank
        figures = {one.attributes["data-figure"] for one in root.having("data-figure")}
        assert figures == {"overview", "ranks"}, figures
        judge_rank_rows(root, job)
        return
    if not job["ranks"]:
        assert "None of the selected ranks is in this job" in root.having("data-figure-part", "missing")[0].text()
        return
    if job["timing"] == 0:
        judge_untimed(root, job)
        return
    judge_plots(root, job)
    options = root.having("id", "job")[0].tagged("option")
    assert len(options) == (word("jobs", 1) if word("jobs", 1) > 1 else 0), len(options)
    judge_overview(root, job)
    judge_about(root, job)
    judge_efficiency(root, job)
    judge_findings(root, job)
    judge_missing(root, WORDS, job)
    judge_callsites(root, job, files)
    judge_wait_places(root, analysis)
    judge_segments(root, analysis)
    if files:
        judge_unended(root, job, dump, run)
    judge_functions(root, job, files)
    judge_ranks(root, job, files)
    judge_matrix(root, job, analysis)
    judge_sizes(root, job)
    judge_comms(root, job)
    judge_waits(root, analysis)
    if "below" in WORDS:
        judge_counters(root, job)
        judge_fabric(root, job)
        judge_samples(root, document["jobs"][number - 1], said_json(dump, "--profile", "--json", run)["jobs"][0])
        assert len(job["counters"]) > 0 and {"counters", "fabric", "samples"} <= {one.attributes["data-figure"] for one in root.having("data-figure")}
    judge_timeline(root, job, document["jobs"][number - 1], calls_of_csv(dump, run, number), WORDS, analysis)
    if "groups" in WORDS:
        assert "in groups of 2 neighbours" in root.text()


def main():
    global WORDS, OPTIONS
    if sys.argv[1] == "judge":
        first = next((at for at, one in enumerate(sys.argv) if one.startswith("--")), len(sys.argv))
        WORDS, OPTIONS = set(sys.argv[5:first]), sys.argv[first:]
        judge(*sys.argv[2:5])
    else:
        _, console = drawn(sys.argv[2])
        assert any("127.0.0.1" in line for line in console), f"nobody saw that it wanted to load something: {console}"


WORDS, OPTIONS = set(), []
main()
