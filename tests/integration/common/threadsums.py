#!/usr/bin/env python3
"""threadsums.py SUMMARY.json PRINTED [--threads MOST] [--tool]: the run has the calls and messages that threads.c printed.

--threads  so many threads called MPI at the most
--tool     tallytool.c stood beside the recorder: what it printed is the same, and it made an MPI_Iprobe a MPI_Sendrecv
"""
import json
import sys

job, = json.load(open(sys.argv[1]))["jobs"]
lines = [line.split() for line in open(sys.argv[2])]
expected = {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdigit()}
tool = {line[1]: int(line[2]) for line in lines if len(line) == 3 and line[0] == "tool"}
options = sys.argv[3:]
dup = [c for c in job["communicators"] if c["name"] == "MPI_COMM_WORLD/dup#1"][0]
got = {name: call["count"] for name, call in job["calls"].items()}
got |= {"messages": dup["send_count"], "bytes": dup["send_bytes"]}
wrong = []
if len(expected) < 9:
    wrong.append("the program printed no sums")
if "--tool" in options:
    if len(tool) < 3:
        wrong.append("the tool printed no sums")
    wrong += [f"{name}: the tool saw {count}, the program made {expected.get(name)}"
              for name, count in tool.items() if count != expected.get(name)]
    expected["MPI_Iprobe"] = expected.get("MPI_Sendrecv", -1)
wrong += [f"{name}: {got.get(name, 0)}, the program counted {count}" for name, count in expected.items()
          if got.get(name, 0) != count]
if dup["recv_count"] != dup["send_count"] or dup["recv_bytes"] != dup["send_bytes"]:
    wrong.append(f"received: {dup['recv_count']} messages, {dup['recv_bytes']} bytes")
if "--threads" in options and job["threads"] > int(options[options.index("--threads") + 1]):
    wrong.append(f"{job['threads']} threads called MPI, {options[options.index('--threads') + 1]} at the most expected")
sys.exit("\n".join(wrong) or 0)
