#!/usr/bin/env python3
"""Holds what the processes of creators say that they did on each communicator against what mpit says.

    creators.py PROGRAM_OUTPUT SUMMARY_JSON EVENTS_TEXT [CALL=COUNT...]

A label of the program is the communicator's name with the members' ranks, {0,1}, where the name has their hash. One
process's lines belong to one job; which one, the jobs' sums tell: each job has exactly what its processes said. No
communicator of mpit's may be without a line, but for those that only help (halves, MPI_COMM_SELF and the like).
CALL=COUNT: how often the function was called, over all jobs. Exit status 1 where anything differs.
"""
import json
import re
import sys

FIELDS = ["send_count", "send_bytes", "recv_count", "recv_bytes", "coll_count", "coll_bytes"]


def group_hash(ranks):
    """FNV-1a over the ranks, 64 bits"""
    value = 0xcbf29ce484222325
    for rank in ranks:
        value = (value ^ rank) * 0x100000001b3 % 2**64
    return value


def name_of(label):
    """{0,1} becomes its hash; of two with a plus between them the smaller comes first"""
    def hashed(match):
        groups = [group_hash(int(r) for r in g.split(",")) for g in re.findall(r"\{([\d,]+)\}", match.group(0))]
        return "+".join(f"{g:016x}" for g in sorted(groups))
    return re.sub(r"\{[\d,]+\}(\+\{[\d,]+\})?", hashed, label)


def said_read(path):
    """name -> list of dictionaries, one for each process that had it"""
    said = {}
    for line in open(path):
        match = re.match(r"comm (.*) world=(\d+) rank=(\d+) size=(\d+) remote=(\d+) sent=(\d+) bytes=(\d+) "
                         r"received=(\d+) bytes=(\d+) colls=(\d+) bytes=(\d+)$", line)
        if match:
            numbers = [int(x) for x in match.groups()[1:]]
            said.setdefault(name_of(match.group(1)), []).append(
                dict(zip(["world", "rank", "size", "remote"] + FIELDS, numbers)))
    return said


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    said, faults = said_read(sys.argv[1]), []
    jobs = json.load(open(sys.argv[2]))["jobs"]
    events = open(sys.argv[3]).read()
    for job in jobs:
        for fault in job["lost"]:
            faults.append(f"job {job['job']} lost something: {fault}")
        if job["ranks"] != job["world_size"]:
            faults.append(f"job {job['job']} has {job['ranks']} of {job['world_size']} processes")
    for name, lines in said.items():
        entries = [c for job in jobs for c in job["communicators"] if c["name"] == name]
        if sum(c["ranks"] for c in entries) != len(lines):
            faults.append(f"{name}: {len(lines)} processes had it, mpit says {sum(c['ranks'] for c in entries)}")
        for field in FIELDS:
            want, have = sum(line[field] for line in lines), sum(c[field] for c in entries)
            if want != have:
                faults.append(f"{name}: {field} is {want}, mpit says {have}")
        wanted, had = {line["size"] for line in lines}, {c["size"] for c in entries}
        if not had <= wanted:
            faults.append(f"{name}: sizes {sorted(wanted)}, mpit says {sorted(had)}")
        if "#" in name and events:
            made = len(lines)
            match = re.match(r"spawn:(\d+)\+(\d+)#\d+$", name)
            if match: # the children have it from the start
                parents, children = int(match.group(1)), int(match.group(2))
                made = made * parents // (parents + children)
            created = len(re.findall(r"\+ created +" + re.escape(name) + r" ", events))
            if created != made:
                faults.append(f"{name}: made by {made} processes, and {created} events of it")
    for entry in {c["name"] for job in jobs for c in job["communicators"]}:
        if entry.startswith("unnamed"):
            faults.append(f"mpit does not know how {entry} came to be")
        elif entry not in said and not entry.startswith("MPI_COMM_") and entry != "(other communicators)":
            faults.append(f"nobody made {entry}")
    for wanted in sys.argv[4:]:
        call, count = wanted.split("=")
        have = sum(job["calls"].get(call, {}).get("count", 0) for job in jobs)
        if have != int(count):
            faults.append(f"{call} was called {count} times, mpit says {have}")
    if not said:
        faults.append("the program said nothing")
    for fault in faults:
        print(fault)
    print(f"{len(said)} names, {sum(len(lines) for lines in said.values())} lines of processes, {len(jobs)} jobs")
    sys.exit(1 if faults else 0)


main()
