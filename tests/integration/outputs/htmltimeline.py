"""Judges the timeline of a page of mpit-dump --html, and the single calls and messages in it."""
import base64

from htmldrawn import near, same, table_of

ENDS = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Session_init", "MPI_Session_finalize"}


def shares_read(row, state, bins):
    before, text = row["shares"].get(state, "0:").split(":")
    shares = bytes(int(before)) + base64.b64decode(text)
    return shares + bytes(bins - len(shares))


def judge_gaps(figure, timeline, calls):
    """Where calls are missing nothing is shown, and all of those that are there."""
    bins, width = timeline["bins"], timeline["bin_ns"]
    assert "the trace has" in figure.tagged("h2")[0].text(), figure.tagged("h2")[0].text()
    for rank, spans in calls.items():
        row = timeline["rows"][rank]
        known = shares_read(row, "recorded", bins)
        inside = sum(ns for state, ns in row["totals_ns"].items() if state not in ("not_in_mpi", "recorded"))
        assert near(inside, sum(end - begin for begin, end, _ in spans), 0.001), (rank, inside)
        for begin, end, _ in spans:
            assert all(known[at] for at in range(int(begin / width), min(bins, int((end - 1) / width) + 1))), (rank, begin)
        assert known.count(0) > bins // 20, known.count(0)


def judge_single_calls(job, timeline, calls):
    """The page has all calls, or the longest: their times and functions, and where they were made."""
    kept = timeline["calls"]
    shown = sorted((rank, kept["functions"][kind]["name"], begin, ns) for rank, _, begin, ns, _, kind, _ in kept["list"])
    truth = sorted((rank, function, begin, end - begin) for rank, spans in calls.items() for begin, end, function in spans)
    assert kept["count"] == len(truth) and len(shown) == min(10000, len(truth)), (kept["count"], len(shown), len(truth))
    if len(shown) < len(truth):
        longest = sorted((call[3] for call in truth), reverse=True)[:len(shown)]
        assert near(sum(call[3] for call in shown), sum(longest), 1e-3), "the calls in the page are not the longest"
        return
    for one, other in zip(shown, truth):
        assert one[:2] == other[:2] and abs(one[2] - other[2]) < 3 and abs(one[3] - other[3]) < 3, (one, other)
    places = {(site["mpi"], site["file"], site["line"]) for site in job["callsites"]}
    for _, _, _, _, _, kind, place in kept["list"]:
        site = None if place is None else kept["callsites"][place]
        assert site is None or site["mpi"] == kept["functions"][kind]["name"], (site, kind)
        assert site is None or (site["mpi"], site["file"], site["line"]) in places, (site, places)
    assert not places or any(call[6] is not None for call in kept["list"]), "no call has a place"


def judge_messages(document, analysis):
    """The messages that can be drawn are those that were matched, or some of them."""
    drawn = document["analysis"].get("drawn_messages")
    if not analysis["messages"]:
        assert drawn is None
        return
    if analysis["selected"]: # both ends have to be in the part
        assert len(drawn["list"]) <= drawn["count"] <= analysis["messages"]["matched"], drawn["count"]
        return
    assert drawn["count"] == analysis["messages"]["matched"] and len(drawn["list"]) <= 10000, drawn["count"]
    assert len(drawn["list"]) == drawn["count"] or len(drawn["list"]) >= 5000, len(drawn["list"])
    if len(drawn["list"]) < drawn["count"] or sum(analysis["messages"]["unmatched"].values()) or analysis["messages"]["unplaced"]:
        return
    pairs = {}
    for source, dest, sent, received, size, waited in drawn["list"]:
        pair = pairs.setdefault((source, dest), [0, 0])
        pair[0] += 1
        pair[1] += size
        assert sent <= received and waited <= received, (sent, received, waited)
    truth = {}
    for entry in analysis["matrix"]:
        pair = truth.setdefault((entry["from"], entry["to"]), [0, 0])
        pair[0] += entry["messages"]
        pair[1] += entry["bytes"]
    assert pairs == truth, (pairs, truth)


def judge_path(document, analysis):
    """The drawn path goes from rank to rank without a hole, and has about the same time on each rank as the critical path."""
    path, told = document["analysis"].get("drawn_path"), analysis["critical_path"]
    if analysis["selected"] or told.get("length_ns") is None:
        assert path is None, path
        return
    assert path[-1][2] - path[0][1] == told["length_ns"] and path[-1][0] == told["ends_at_rank"], (path[0], path[-1], told)
    assert all(before[2] == after[1] and before[1] <= before[2] for before, after in zip(path, path[1:])), path
    if sum(wait["count"] for wait in analysis["waits"]) > 1000:
        return # some are left out
    drawn, truth = {}, {}
    for rank, begin, end in path:
        drawn[rank] = drawn.get(rank, 0) + end - begin
    for share in told["shares"]:
        truth[share["rank"]] = truth.get(share["rank"], 0) + share["time_ns"]
    for rank in drawn.keys() | truth.keys(): # waits of a few microseconds may be left out
        assert abs(drawn.get(rank, 0) - truth.get(rank, 0)) < 0.05 * told["length_ns"], (rank, drawn, truth)


def judge_timeline(root, job, document, calls_by_rank, words, analysis):
    timeline = document["timeline"]
    if "trace" not in words or job["run_seconds"] is None:
        assert not root.having("data-figure", "timeline") and "unknown" in timeline
        return
    figure = root.having("data-figure", "timeline")[0]
    rows = table_of(root, "timeline")
    assert len(rows) == len(timeline["rows"]) == int(figure.having("data-rows")[0].attributes["data-rows"])
    if "gaps" in words:
        judge_gaps(figure, timeline, calls_by_rank)
        return
    judge_single_calls(job, timeline, calls_by_rank)
    judge_messages(document, analysis)
    judge_path(document, analysis)
    calls = sum(call["count"] for call in job["calls"].values())
    slack = 4 * calls + 1000
    states = [state for state in timeline["states"] if state not in ("not_in_mpi", "recorded")]
    inside = sum(row.get(state, 0) for row in rows for state in states)
    expected = sum(call["time_ns"] for call in job["calls"].values())
    assert abs(inside - expected) <= slack, f"time in MPI: {inside} shown, {expected} counted"
    stalled = sum(row.get("stall", 0) for row in rows)
    expected = sum(call["stall_ns"] or 0 for name, call in job["calls"].items() if name not in ENDS)
    assert abs(stalled - expected) <= slack, f"stalled: {stalled} shown, {expected} counted"
    if "groups" in words or job["threads"] != job["ranks"] or job["world_size"] > 8:
        return
    bins, width = timeline["bins"], timeline["bin_ns"]
    for rank, spans in calls_by_rank.items():
        busy = [0.0] * bins
        for begin, end, _ in spans:
            at = int(begin / width)
            while at < bins and at * width < end:
                busy[at] += max(0.0, min(end, (at + 1) * width) - max(begin, at * width))
                at += 1
        row = timeline["rows"][rank]
        idle, known = shares_read(row, "not_in_mpi", bins), shares_read(row, "recorded", bins)
        assert sum(1 for share in known if share == 255) >= bins * 0.5
        for at in range(bins):
            if known[at] == 255:
                assert abs(1 - idle[at] / 255 - busy[at] / width) < 0.02, (rank, at, idle[at], busy[at] / width)
