#!/usr/bin/env python3
"""Judges runs of placed.c on several hosts.

    placement.py counted WORK RUN [DB]   the bytes by node, rank and communicator are those that the program counted, in DB, too
    placement.py advised WORK RUN        its order is the best: partners are together
    placement.py alone WORK RUN          it ran on one node, so there is nothing to say
    placement.py unknown WORK RUN        no message tells what its better order gains: only --full tells of it
    placement.py files WORK RUN          the files in WORK/order have this order
    placement.py silent WORK RUN         its order is good, and nothing is said
    placement.py shortest WORK RUN       takes the shortest of RUN.1 to RUN.3 as RUN
    placement.py moved WORK RUN BETTER   BETTER is a run in the order told by RUN: it has the bytes that RUN told
    placement.py gained WORK RUN BETTER WITHIN   and it is as much shorter as RUN told, within this share
"""
import json
import shutil
import sqlite3
import sys

question, work, run = sys.argv[1:4]


def job_of(name):
    return json.load(open(f"{work}/{name}.json"))["jobs"][0]


def said_by(name):
    words = next(line for line in open(f"{work}/{name}.said") if line.startswith("inside ")).split()
    return {word: int(words[i + 1]) for i, word in enumerate(words) if i % 2 == 0}


def order_of(job, key):
    return [row[key] for row in sorted(job["by_rank"], key=lambda row: row["rank"])]


def check(name, is_, should):
    if is_ != should:
        sys.exit(f"{name}: {is_} is not {should}")


def between_of(rows, which):
    return sum(row["bytes"] for row in rows if (row["from"] == row["to"]) == which)


def seconds_of(name):
    return job_of(name)["run_seconds"]["max"]


if question == "shortest":
    best = min((f"{run}.{i}" for i in (1, 2, 3)), key=seconds_of)
    for kind in ("json", "said"):
        shutil.copy(f"{work}/{best}.{kind}", f"{work}/{run}.{kind}")
    sys.exit()
job = job_of(run)
rules = [finding["rule"] for finding in job["findings"] or []]
if question == "counted":
    said, placement = said_by(run), job["placement"]
    far = next(comm for comm in job["communicators"] if comm["name"] != "MPI_COMM_WORLD" and comm["send_count"])
    world = next(comm for comm in job["communicators"] if comm["name"] == "MPI_COMM_WORLD")
    for kind in ("inside", "between"):
        check(kind, placement[f"{kind}_bytes"], said[kind])
        check(f"{kind}, by rank", sum(row[f"{kind}_bytes"] for row in job["by_rank"]), said[kind])
        check(f"{kind}, far partners", far[f"{kind}_bytes"], said[f"far_{kind}"])
        check(f"{kind}, others", world[f"{kind}_bytes"], said[kind] - said[f"far_{kind}"])
        check(f"{kind}, by node", between_of(job["node_traffic"], kind == "inside"), said[kind])
    check("unplaced", placement["unplaced_bytes"], 0)
    if len(sys.argv) > 4:
        db = sqlite3.connect(sys.argv[4])
        check("SQL, nodes", db.execute("SELECT from_host, to_host, messages, bytes FROM node_traffic").fetchall(),
              [(row["from"], row["to"], row["messages"], row["bytes"]) for row in job["node_traffic"]])
        check("SQL, ranks", db.execute("SELECT better_host, inside_bytes, between_bytes FROM ranks ORDER BY rank").fetchall(),
              [*zip(*(order_of(job, key) for key in ("better_host", "inside_bytes", "between_bytes")))])
        check("SQL, job", db.execute("SELECT inside_bytes, between_bytes, better_between_bytes FROM jobs").fetchall(),
              [tuple(placement[key] for key in ("inside_bytes", "between_bytes", "better_between_bytes"))])
elif question == "advised":
    now, better = order_of(job, "host"), order_of(job, "better_host")
    half = len(now) // 2
    check("ranks on each host", sorted(better), sorted(now))
    check("partners are together", better[:half], better[half:])
    said = said_by(run)
    check("bytes", job["placement"]["better_between_bytes"], said["inside"])  # by construction: near and far change places
elif question == "alone":
    check("known", [job["placement"], job["node_traffic"], *order_of(job, "better_host")], [None] * (2 + job["ranks"]))
    check("finding", "placement" in rules, False)
elif question == "unknown":
    told = job["placement"]
    check("better", told["better_between_bytes"] < told["between_bytes"], True)
    check("gain", (told["gain_seconds"], bool(told["gain_unknown"])), (None, True))
    check("finding", "placement" in rules, False)
elif question == "files":
    better = order_of(job, "better_host")
    lines = open(f"{work}/order/rankfile").read().split("\n")[:-1]
    check("rankfile", lines, [f"rank {i}={host} slot={better[:i].count(host)}" for i, host in enumerate(better)])
    check("hosts", open(f"{work}/order/hosts").read().split("\n")[:-1], better)
    places = [int(rank) for rank in open(f"{work}/order/MPICH_RANK_ORDER").read().split(",")]
    check("places", sorted(places), [*range(len(better))])
    check("nodes of places", [better[rank] for rank in places], sorted(order_of(job, "host")))  # each has a row of places
elif question == "silent":
    check("order", order_of(job, "better_host"), order_of(job, "host"))
    check("better", job["placement"]["better_between_bytes"], None)
    check("finding", "placement" in rules, False)
elif question == "moved":
    other = job_of(sys.argv[4])
    check("hosts", order_of(other, "host"), order_of(job, "better_host"))
    check("bytes", other["placement"]["between_bytes"], job["placement"]["better_between_bytes"])
    check("counted", said_by(sys.argv[4])["between"], job["placement"]["better_between_bytes"])
else:
    ran, runs = seconds_of(run), seconds_of(sys.argv[4])
    gain, told = ran - runs, job["placement"]["gain_seconds"]
    print(f"{ran:.3f} s, told to be {told:.3f} s shorter, and {gain:.3f} s shorter: {ran - told:.3f} s and {runs:.3f} s")
    check("first finding", [rule for rule in rules if rule != "oversubscribed"][:1], ["placement"])
    sys.exit(abs(told - gain) > float(sys.argv[5]) * gain)
