#!/usr/bin/env python3
"""Holds a summary against what a program counted for itself (filters.c).

    filters.py PROGRAM_OUTPUT SUMMARY_JSON FILTER [ALL_JSON]

Of the calls that the filter lets through each is counted, and no other; messages go with the call that posted them;
nothing is lost. With ALL_JSON, the summary without a filter: communicators have the same names.
"""
import fnmatch
import json
import sys

CLASSES = {"p2p": "Send Recv Sendrecv Isend Irecv Iprobe Send_init Recv_init Start",
           "completion": "Wait Waitall Test Request_free", "coll": "Barrier Allreduce Ibcast",
           "comm": "Comm_dup Comm_idup Comm_split Comm_free", "rma": "Win_create Win_fence Put Win_free",
           "other": "Comm_rank Type_size Get_count", "io": ""}


def counted(path):
    counts = {}
    for line in open(path):
        words = line.split()
        if words[:2] == ["all", "ranks:"]:
            for name, count in zip(words[2::2], words[3::2]):
                counts[name] = counts.get(name, 0) + int(count)
    return counts


def recorded(name, words):
    def named(word):
        pattern = word.lower()
        if pattern in CLASSES:
            return name[4:] in CLASSES[pattern].split()
        return fnmatch.fnmatch(name.lower(), pattern) or fnmatch.fnmatch(name[4:].lower(), pattern)
    unwanted = [w[1:] for w in words if w.startswith("-")]
    wanted = [w for w in words if not w.startswith("-")]
    return not any(map(named, unwanted)) and (not wanted or any(map(named, wanted)))


def main():
    words = [w for w in sys.argv[3].split(",") if w]
    counts = counted(sys.argv[1])
    (job,) = json.load(open(sys.argv[2]))["jobs"]
    expected = {name: n for name, n in counts.items() if recorded(name, words)}
    calls = {name: c["count"] for name, c in job["calls"].items() if name not in ("MPI_Init", "MPI_Finalize")}
    faults = []
    if not counts:
        faults.append("the program counted nothing")
    if calls != expected:
        faults += [f"{n}: {calls.get(n, 0)} counted, {expected.get(n, 0)} made" for n in sorted({*calls, *expected})
                   if calls.get(n) != expected.get(n)]
    if job["lost"]:
        faults.append(f"lost: {job['lost']}")
    if job["filter"] != sys.argv[3]:
        faults.append(f"the filter is said to be {job['filter']}")
    started = expected.get("MPI_Start", 0) // 2
    for what, names in (("send_count", ("Send", "Sendrecv", "Isend")), ("recv_count", ("Recv", "Sendrecv", "Irecv"))):
        made = sum(expected.get("MPI_" + n, 0) for n in names) + started
        got = sum(c[what] for c in job["communicators"])
        if got != made:
            faults.append(f"{what} {got}, messages {made}")
    if len(sys.argv) > 4:
        (whole,) = json.load(open(sys.argv[4]))["jobs"]
        names, all_names = ({c["name"] for c in j["communicators"]} for j in (job, whole))
        if names != all_names:
            faults.append(f"communicators: {sorted(names ^ all_names)}")
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


main()
