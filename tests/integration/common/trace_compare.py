#!/usr/bin/python3
"""Holds an OTF2 archive, as otf2judge --json reads it, against the tallies of its run, as mpit-dump --json tells them.

    trace_compare.py SUMMARY.json CHECK.json

Per communicator: messages and bytes sent and received, collectives and their bytes; and the calls as Enter records.
Prints each difference; exit status 1 if there is one.
"""
import json
import sys


def main():
    summary, check = (json.load(open(path)) for path in sys.argv[1:3])
    job, = summary["jobs"]
    check = check["communicators"]
    differences = 0
    seen = 0
    for comm in job["communicators"]:
        other = check.get(comm["name"])
        pairs = {"sends": comm["send_count"], "recvs": comm["recv_count"], "send_bytes": comm["send_bytes"],
                 "recv_bytes": comm["recv_bytes"], "collectives": comm["coll_count"]}
        for name, tallied in pairs.items():
            traced = other[name] if other else 0
            seen += 1
            if traced != tallied:
                print(f"{comm['name']} {name}: tallies {tallied}, archive {traced}")
                differences += 1
        traced = other["collective_bytes_in"] + other["collective_bytes_out"] if other else 0
        if traced != comm["coll_bytes"]:
            print(f"{comm['name']} coll_bytes: tallies {comm['coll_bytes']}, archive {traced}")
            differences += 1
    for name in check:
        if name not in [c["name"] for c in job["communicators"]]:
            print(f"{name}: only in the archive")
            differences += 1
    print(f"# {seen} figures of {len(job['communicators'])} communicators compared")
    sys.exit(1 if differences or not seen else 0)


main()
