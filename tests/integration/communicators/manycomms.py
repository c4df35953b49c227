#!/usr/bin/env python3
"""Holds what mpit says of a run of manycomms against what the program says of itself.

    manycomms.py LINE JSON [EVENTS CYCLES]

LINE has the program's line, JSON the summary, EVENTS the list of events of a run without communicators alive at once:
each event must name the communicator that it was on, whoever had its slot before or behind it.
"""
import json
import re
import sys

faults = []


def expect(what, found, wanted):
    if found != wanted:
        faults.append(f"{what}: {found}, not {wanted}")


def summary_check(line, job):
    ranks, sends, barriers, made = (int(n) for n in re.match(
        r"manycomms: (\d+) ranks, (\d+) sends, (\d+) barriers, (\d+) made", line).groups())
    comms, calls = job["communicators"], job["calls"]
    expect("communicators freed", calls["MPI_Comm_free"]["count"], made)
    expect("barriers", calls["MPI_Barrier"]["count"], barriers)
    expect("messages of all communicators", sum(c["send_count"] for c in comms), sends)
    expect("received", sum(c["recv_count"] for c in comms), sends)
    expect("collectives of all communicators", sum(c["coll_count"] for c in comms), barriers + ranks)  # MPI_Reduce
    expect("losses", {k: v for k, v in job["lost"].items() if v}, {})
    world = [c for c in comms if c["name"] == "MPI_COMM_WORLD"]
    expect("what MPI_COMM_WORLD is called", [c.get("label") for c in world], ["all of them"])
    if made // ranks > 2000:
        sums = [c for c in comms if "*" in c["name"]]
        if not any(c["merged"] > 500 for c in sums):
            faults.append("no slot was used again: the run did not show what it was to show")
        expect("communicators with lines of their own", len(comms) < 1100, True)
    if made // ranks < 200:
        expect("labels", "number 11" in [c.get("label") for c in comms], True)


def title(number):
    name = f"MPI_COMM_WORLD/dup#{number}"
    return f'{name} "number {number}"' if number % 10 == 1 else name


def events_check(path, cycles):
    barriers, created, destroyed, rank = [], [], 0, -1
    for line in open(path):
        found = re.match(r"\s+0\s+0\s.* MPI_Barrier +(\S+(?: \".*?\")?) ", line)
        if found:
            barriers.append(found.group(1))
            rank = 0
        elif re.match(r"\s+\d+\s+\d+\s", line):
            rank = int(line.split()[0])
        elif rank == 0 and " + created" in line:
            created.append(re.search(r"created +(\S+?(?: \".*?\")?) +from (.*?)\n", line).groups())
        elif rank == 0 and " + destroyed" in line:
            destroyed += 1
    expect("barriers on", barriers, [title(n) for n in range(1, cycles + 1, 2)])
    wanted = []
    for n in range(1, cycles + 1):
        name = title(n) if n % 2 else f"MPI_COMM_WORLD/split#{n}:0"
        wanted.append((name, 'MPI_COMM_WORLD "all of them"'))
        if n % 13 == 0:
            wanted.append((name.split(" ")[0] + "/dup#1", name))
    expect("created", created, wanted)
    expect("destroyed", destroyed, len(wanted))


def main():
    lines = [l for l in open(sys.argv[1]) if l.startswith("manycomms: ") and " made" in l]
    summary_check(lines[0], json.load(open(sys.argv[2]))["jobs"][0])
    if len(sys.argv) > 3:
        events_check(sys.argv[3], int(sys.argv[4]))
    for fault in faults:
        print(fault[:1000])
    sys.exit(1 if faults else 0)


main()
