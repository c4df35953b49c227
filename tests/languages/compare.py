#!/usr/bin/env python3
"""compare.py C.json OTHER.json [--subset]: the summaries of two runs of the same traffic have the same counts.

--subset: calls that only the second one makes do not matter (Python's start and end).
"""
import json
import sys


def counts(path):
    job, = json.load(open(path))["jobs"]
    facts = {("process", key): job[key] for key in ("world_size", "ranks", "ended_badly")}
    facts["lost",] = job["lost"]
    facts |= {("call", name): call["count"] for name, call in job["calls"].items()}
    for comm in job["communicators"]:
        for key, value in comm.items():
            if key == "name" or key.endswith("_ns") or isinstance(value, float):
                continue
            facts["communicator", comm["name"], key] = value
    return facts


first, second = counts(sys.argv[1]), counts(sys.argv[2])
if "--subset" in sys.argv:
    second = {key: value for key, value in second.items() if key in first}
wrong = [f"{' '.join(key)}: {first.get(key)}, and {second.get(key)}"
         for key in sorted(first.keys() | second.keys()) if first.get(key) != second.get(key)]
if len(first) < 40 or first["call", "MPI_Finalize"] != first["process", "ranks"]:
    wrong.append(f"only {len(first)} figures, or no end of the run")
sys.exit("\n".join(wrong) or 0)
