#!/usr/bin/env python3
"""monitor.py JSON SAID: the reports of `monitor` as lines of JSON, against what the program says and against each other.

Counts are compared for equality; consecutive reports of a window add up to its last one, field by field.
"""
import collections
import json
import sys

problems = []


def check(condition, text):
    if not condition:
        problems.append(text)


def unique(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key stands twice: {keys}"
    return dict(pairs)


def add(left, right):
    """Of two figures; null stays null."""
    if isinstance(left, list):
        return [add(a, b) for a, b in zip(left, right)]
    return None if left is None or right is None else left + right


def interval_holds(where, report, part):
    interval = report[part]
    edges = interval["begun_before_ns"], interval["unfinished_ns"]
    check(interval["end_ns"] - interval["begin_ns"] == interval["duration_ns"], f"{where}: duration")
    check(interval["inside_ns"] == max(0, interval["mpi_time_ns"] - edges[0] + edges[1]), f"{where}: inside_ns")
    check(interval["before"]["calls"] == len(interval["calls_before"]), f"{where}: calls before")
    check(interval["after"]["calls"] == len(interval["calls_after"]), f"{where}: calls after")
    figures = interval["sum"]
    if {"msgsize", "traffic"} <= set(report["options"]):
        messages = sum(figures["sent_size_count"]) + sum(figures["received_size_count"])
        check(messages == figures["sent"] + figures["received"], f"{where}: messages by size")
        check(sum(figures["sent_size_bytes"]) == figures["sent_bytes"], f"{where}: bytes by size")
        check(figures["small"] + figures["large"] == messages, f"{where}: small and large")
    if "comm" in report["options"]:
        for key, value in figures.items():
            if isinstance(value, int):
                of_comms = sum(comm["figures"][key] for comm in interval["comms"])
                check(of_comms == value, f"{where}: {key} of the communicators is {of_comms}, of all {value}")
        for comm in interval["comms"]:
            check(comm["span_ns"] == comm["last_ns"] - comm["first_ns"], f"{where}: span of {comm['name']}")
            check(comm["span_ns"] <= interval["duration_ns"], f"{where}: span of {comm['name']} is too long")
    if "coll" in report["options"]:
        check(sum(c["count"] for c in interval["colls"]) == figures["collectives"], f"{where}: kinds of collectives")
        check(sum(c["time_ns"] for c in interval["colls"]) == figures["coll_time_ns"], f"{where}: their times")


def window_holds(name, reports):
    last = reports[-1]
    check([r["sequence"] for r in reports] == list(range(1, len(reports) + 1)), f"{name}: sequence")
    check([r["last"] for r in reports] == [0] * (len(reports) - 1) + [1], f"{name}: the last one")
    for before, after in zip(reports, reports[1:]):
        check(before["period"]["end_ns"] == after["period"]["begin_ns"], f"{name}: a gap between two periods")
    for report in reports:
        for part in ("period", "whole"):
            interval_holds(f"{name} {report['sequence']} {part}", report, part)
        check(report["whole"]["begin_ns"] == last["whole"]["begin_ns"], f"{name}: begin of the whole")
        if report["reason"] == "period":
            due = last["whole"]["begin_ns"] + report["number"] * report["period_ns"]
            check(report["due_ns"] == due, f"{name} {report['sequence']}: due at {report['due_ns']}, not {due}")
    for key, whole in last["whole"]["sum"].items():
        total = reports[0]["period"]["sum"][key]
        for report in reports[1:]:
            total = add(total, report["period"]["sum"][key])
        check(total == whole, f"{name}: {key} of the periods is {total}, of the whole {whole}")
    for key in ("mpi_time_ns", "events"):
        check(sum(r["period"][key] for r in reports) == last["whole"][key], f"{name}: {key}")


def main():
    windows = collections.defaultdict(list)
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            report = json.loads(line, object_pairs_hook=unique)
            windows[report["rank"], report["request"]].append(report)
    by_name = collections.defaultdict(list)
    for (rank, _), reports in windows.items():
        window_holds(f"{reports[0]['name']} of rank {rank}", reports)
        by_name[reports[0]["name"].replace(" ", "_")].append(reports[-1])
    expected = 0
    with open(sys.argv[2], encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if words[:1] != ["expect"]:
                continue
            want = {key: int(value) for key, value in (word.split("=") for word in words[2:])}
            found = [{key: report["whole"]["sum"].get(key, 0) for key in want} for report in by_name[words[1]]]
            check(want in found, f"{words[1]}: {want} expected, there is {found}")
            expected += 1
    check(expected > 0, "the program expects nothing")
    for problem in problems[:40]:
        print(problem)
    print(f"{len(windows)} windows, {expected} of them expected, {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
