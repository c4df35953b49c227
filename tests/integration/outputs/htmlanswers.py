"""Judges the first figures of a page of mpit-dump --html: program, efficiency, findings, call sites, waits, segments."""
from htmldrawn import descending, number_told, same, table_of

ENDS = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Session_init", "MPI_Session_finalize"}


def place_text(site):
    """As in the text of the summary: "halo.c:72 exchange"."""
    if site is None:
        return "(unknown place)"
    if site["file"] and site["line"]:
        return f"{site['file'].split('/')[-1]}:{site['line']} {site['function'] or ''}".rstrip()
    return None


def call_text(site):
    return "(unknown place)" if site is None else f"{site['mpi']} at {place_text(site)}"


def judge_about(root, job):
    told = {}
    for line in root.having("class", "about")[0].tagged("div"):
        told[line.tagged("dt")[0].text()] = line.tagged("dd")[0].text()
    about, origin = job["about"] or {}, job["origin"] or {}
    assert told["Command"] == (origin.get("command") or job["program"]), told
    assert told.get("MPI", "") == job["mpi"] and told["Job"].startswith(job["job"]), told
    assert told.get("User") == about.get("user"), told
    assert ("When" in told) == bool(about.get("start")), told
    for host in (about.get("hosts") or [])[:8]:
        assert host["name"] in told["Hosts"], (host, told)


def judge_efficiency(root, job):
    is_ = job["efficiency"]
    shown = root.having("data-efficiency")
    if not is_ or is_["parallel"] is None:
        assert not shown
        return
    known = {"parallel", "load_balance", "communication"}
    if is_["serialization"] is not None and is_["transfer"] is not None:
        known |= {"serialization", "transfer"}
    assert known <= {one.attributes["data-efficiency"] for one in shown}
    for one in shown:
        same(one.attributes["data-efficiency"], number_told(one), is_[one.attributes["data-efficiency"]])


def judge_findings(root, job):
    figures = root.having("data-figure", "findings")
    assert bool(figures) == (job["findings"] is not None), "findings"
    shown = figures[0].having("data-rule") if figures else []
    for item, finding in zip(shown, job["findings"] or [], strict=True):
        assert item.attributes["data-rule"] == finding["rule"]
        assert finding["text"] in item.text() and finding["advice"] in item.text(), item.text()
        assert bool(item.having("data-finding")) != finding["note"], item.text()
        if not finding["note"]:
            same("share of " + finding["rule"], number_told(item.having("data-finding")[0]), min(finding["share_of_run"], 9.99))
        for link in item.tagged("a"):
            assert root.having("id", link.attributes["href"][1:]), link.attributes
    if figures and all(finding["note"] for finding in job["findings"]):
        efficiency = job["efficiency"]["parallel"] or 0
        shared = sum(finding["share_of_run"] for finding in job["findings"] if finding["rule"] == "oversubscribed")
        told = ("Not judged" if job["not_judged"] else "Nothing stands out beside the shared processors" if shared and efficiency + shared >= 0.8
                else "No fault that mpit knows" if efficiency < 0.8 else "Nothing stands out")
        assert told in figures[0].text()


def judge_missing(root, words, job):
    boxes = root.having("data-figure-part", "missing")
    told = boxes[0].text() if boxes else ""
    assert len(boxes) <= 1
    assert ("mpit-run --trace" in told) == ("trace" not in words), told
    assert ("kept only its summary" in told) == ("files" not in words), told
    if "trace" not in words:
        assert "timeline" in told and "waits" in told, told
    if job["run_seconds"] is None:
        assert "timeline needs all calls of a rank" in told, told
    for figure in root.having("data-figure"):
        assert not figure.having("class", "missing") or figure.attributes["data-figure"] in ("fabric", "waits"), figure.text()


def placed(sites):
    """The sums of the places, whoever called their functions, by time."""
    places = {}
    for site in sites:
        frame = next((one for one in site["path"] if "libmpi" not in (one["module"] or "").split("/")[-1]), {})
        at = site["line"] and (site["file"], site["line"]) or frame.get("address")
        sum_ = places.setdefault((site["mpi"], frame.get("module"), site["function"], at), {**site, "count": 0, "time_ns": 0, "messages_sent": 0, "stall_ns": site["stall_ns"] and 0, "sites": []})
        for key in ("count", "time_ns", "messages_sent"):
            sum_[key] += site[key]
        if site["stall_ns"]:
            sum_["stall_ns"] += site["stall_ns"]
        sum_["sites"].append(site)
    return sorted(places.values(), key=lambda place: (place["mpi"] is None, -place["time_ns"]))


def judge_callsites(root, job, files):
    sites = placed(job["callsites"])
    if not sites:
        assert not root.having("data-figure", "callsites")
        return
    rows = table_of(root, "callsites")
    ordered = [site for site in sites if site["mpi"] not in ENDS] + [site for site in sites if site["mpi"] in ENDS]
    whole = job["recorded_seconds"] and job["recorded_seconds"]["mean"] * job["ranks"] * 1e9
    for row, site in zip(rows, ordered, strict=True):
        assert row["texts"][1] == (site["mpi"] or ""), (row, site["mpi"])
        assert place_text(site) in (None, row["texts"][0]), (row, place_text(site))
        same("calls", row["count"], site["count"])
        same("time", row["time"], site["time_ns"])
        same("mean", row["mean"], site["time_ns"] / site["count"])
        if whole:
            same("of run", row["share"], None if site["mpi"] in ENDS else site["time_ns"] / whole, 1e-6)
        if site["stall_ns"] is not None:
            same("stalled", row["stalled"], min(1, site["stall_ns"] / site["time_ns"]) if site["time_ns"] else None)
        same("messages", row.get("messages", 0), site["messages_sent"])
    descending("call sites", [row["time"] for row, site in zip(rows, ordered) if site["mpi"] not in ENDS])
    if files:
        judge_site_spreads(rows, ordered, files)


def site_key(site):
    return (site["mpi"], tuple((frame["module"], frame["address"], frame["function"], frame["line"]) for frame in site["path"]))


def judge_site_spreads(rows, sites, files):
    """Least and most of the ranks that call there, from the summary of each rank by itself."""
    for row, place in zip(rows, sites):
        if place["mpi"] is None: # all other places together
            continue
        keys = {site_key(site) for site in place["sites"]}
        times = [[site["time_ns"] for site in one["callsites"] if site_key(site) in keys] for one in files]
        sums = [sum(one) for one in times if one]
        same("least " + row["texts"][0], row["min"], min(sums))
        same("most " + row["texts"][0], row["max"], max(sums))


def judge_wait_places(root, analysis):
    if not analysis or not analysis["wait_sites"]:
        assert not root.having("data-table", "places")
        return
    sums = {}
    for wait in analysis["wait_sites"]:
        key = (wait["pattern"], *(one and one["callsite"] for one in (wait["site"], wait["cause_site"])))
        at = sums.setdefault(key, {"time": 0, "count": 0, "causes": {}, "sampled": {}, "texts": (call_text(wait["site"]), call_text(wait["cause_site"]))})
        at["time"] += wait["time_ns"]
        at["count"] += wait["count"]
        at["sampled"][wait["cause_rank"]] = wait.get("sampled")
        at["causes"][wait["cause_rank"]] = at["causes"].get(wait["cause_rank"], 0) + wait["time_ns"]
    rows = table_of(root, "places")
    assert len(rows) == min(300, len(sums)), (len(rows), len(sums))
    descending("waits", [row["time"] for row in rows])
    left = list(sums.values())
    lines = root.having("data-table", "places")[0].tagged("tbody")[0].tagged("tr")
    for row, line in zip(rows, lines, strict=True):
        match = next((one for one in left if one["time"] == row["time"] and one["count"] == row["count"] and
                      all("None" in text or text in row["texts"] for text in one["texts"])), None)
        assert match, (row, left[:10])
        left.remove(match)
        assert match["causes"][row["cause"]] == max(match["causes"].values()), (row, match)
        sampled, told = match["sampled"][row["cause"]], line.having("class", "sampled")
        assert bool(told) == bool(sampled), (row, sampled)
        assert not told or told[0].text().startswith("sampled most: " + sampled["function"]), (told[0].text(), sampled)


def judge_segments(root, analysis):
    if not analysis or not analysis["segments"]:
        assert not root.having("data-figure", "segments")
        return
    rows = table_of(root, "segments")
    assert len(rows) == min(300, len(analysis["segments"]))
    for row, segment in zip(rows, analysis["segments"]):
        for key, value in (("min", segment["time_ns"]["min"]), ("mean", segment["time_ns"]["mean"]), ("max", segment["time_ns"]["max"]),
                           ("critical", segment["critical_ns"]), ("caused", segment["caused_ns"]), ("count", segment["count"]),
                           ("ranks", segment["ranks"])):
            same("segment " + key, row[key], value)
