#!/usr/bin/env python3
"""matched.py RANKS SUMMARY.json: the summary says what matched.F90 does."""
import json
import sys

ROUNDS = 10
ranks = int(sys.argv[1])
job, = json.load(open(sys.argv[2]))["jobs"]
calls = {name: call["count"] for name, call in job["calls"].items()}
wrong = []


def expect(what, value, expected):
    if value != expected:
        wrong.append(f"{what} is {value}, expected {expected}")


for name, each in (("MPI_Isend", 3 * ROUNDS), ("MPI_Mprobe", 2 * ROUNDS + 1), ("MPI_Mrecv", 2 * ROUNDS + 1),
                   ("MPI_Imrecv", ROUNDS), ("MPI_Wait", ROUNDS), ("MPI_Waitall", ROUNDS)):
    expect(name, calls.get(name), ranks * each)
if calls.get("MPI_Improbe", 0) < ranks * ROUNDS:
    wrong.append(f"MPI_Improbe is {calls.get('MPI_Improbe')}")
comm, = [c for c in job["communicators"] if c["name"] == "MPI_COMM_WORLD/dup#1"]
messages, size = ranks * ROUNDS * 3, ranks * ROUNDS * (10 + 20 + 30) * 4
for key, value in (("send_count", messages), ("recv_count", messages), ("send_bytes", size), ("recv_bytes", size)):
    expect(key, comm.get(key), value)
if any(job["lost"].values()):
    wrong.append(f"lost: {job['lost']}")
print(f"{messages} messages, {size} bytes")
sys.exit("\n".join(wrong) or 0)
