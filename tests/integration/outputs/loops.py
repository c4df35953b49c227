#!/usr/bin/env python3
"""What a summary says of the loops of loops.c: how many passes, which are slow, and why.

    loops.py JSON MODE PASSES RANKS
"""
import json
import sys

path, mode, passes, ranks = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
job = json.load(open(path))["jobs"][0]
told = job["passes"]
faults = []
disturbed = any(f["rule"] == "interference" or "Run it again" in f["text"] for f in job["findings"])


def expect(what, found, wanted):
    if found != wanted:
        faults.append(f"{what}: {found}, not {wanted}")


def shape_check():
    windows = told["windows"]
    expect("windows", len(windows), min(passes - 1, 200))
    expect("first and last pass", (windows[0]["first"], windows[-1]["last"]), (2, passes))
    for before, after in zip(windows, windows[1:]):
        expect("next pass", after["first"], before["last"] + 1)
    all_of_it = sum(w["seconds"] for w in windows)
    kinds = sum(w[k + "_seconds"] for w in windows for k in ("computing", "off", "work", "stalled"))
    # ranks reach the beat at different times, and the length of a window is that of the last one
    if not 0.9 * all_of_it * ranks <= kinds <= 1.1 * all_of_it * ranks:
        faults.append(f"the kinds add up to {kinds} s, {ranks} ranks of {all_of_it} s")
    if not told["min_seconds"] <= told["median_seconds"] <= told["max_seconds"]:
        faults.append(f"min {told['min_seconds']}, median {told['median_seconds']}, max {told['max_seconds']}")
    if all_of_it > 1.01 * job["run_seconds"]["max"]:
        faults.append("the passes are longer than the run")


def slow_check(first, last, rank):
    slow = told["slow"]
    if not slow:
        faults.append("no pass is slow")
        return
    expect("rank", slow["rank"], rank)
    if first:
        # the machine may stumble in a pass beside them
        if not first - 2 <= slow["first"] <= first or not last <= slow["last"] <= last + 2 or slow["drifts"]:
            faults.append(f"slow passes: {slow['first']} to {slow['last']}, not {first} to {last}")
    else:
        expect("drifts", slow["drifts"], True)
    for end in "from", "to":
        expect(f"the computation {end}", slow[end] and slow[end]["mpi"], "MPI_Allreduce")


def slow_cost():
    slow = told["slow"]
    return (slow["seconds"] - slow["usual_seconds"]) * (slow["last"] - slow["first"] + 1)


if mode in ("none", "master"):
    expect("passes", told, None)
elif not told:
    faults.append("no loop was found")
else:
    expect("passes", told["count"], passes)
    shape_check()
    if mode == "outliers":
        slow_check(21, 24, 1)
    elif mode == "single":
        slow_check(31, 31, ranks - 1)
    elif mode == "drift":
        slow_check(None, None, ranks - 1)
    elif told["slow"] and slow_cost() > 0.25 * job["run_seconds"]["max"]:  # a machine stumbles now and then
        faults.append(f"slow passes: {told['slow']['first']} to {told['slow']['last']}")
for fault in faults:
    print(fault)
if faults and disturbed and told and told["count"] == passes:
    print("other programs took the processors")
    sys.exit(77)
sys.exit(bool(faults))
