#!/usr/bin/env python3
"""collectivesbook.py ARCHIVE BOOK RANKS

What the archive of the program collectives has of each rank is what the program counted itself (BOOK.RANK): of each
operation on its first communicator those that were blocking and those that were not, with their bytes; and the calls of
each function. Each request of a collective is posted and completed once."""
import collections
import re
import sys

import os

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import archiveevents

archive, book, ranks = sys.argv[1], sys.argv[2], int(sys.argv[3])
ends, size, calls, posted, done = (collections.Counter() for _ in range(5))
for rank, kind, line in archiveevents.events(archive):
    end = re.search(r"Operation: (\w+), Communicator: \"([^\"]*)\" <.*Sent: (\d+), Received: (\d+)", line)
    request = re.search(r"Request: (\d+)", line)
    if kind == "ENTER":
        calls[rank, archiveevents.region(line)] += 1
    elif kind == "NON_BLOCKING_COLLECTIVE_REQUEST":
        posted[rank, request.group(1)] += 1
    if kind == "NON_BLOCKING_COLLECTIVE_COMPLETE":
        done[rank, request.group(1)] += 1
    if end and end.group(2) == "MPI_COMM_WORLD/dup#1":
        ends[rank, kind, end.group(1)] += 1
        size[rank, end.group(1)] += int(end.group(3)) + int(end.group(4))
comparison = archiveevents.Comparison()
same = comparison.same
BEHIND = {"MPI_Allreduce": 1, "MPI_Comm_free": 1}  # when the book was closed

for rank in range(ranks):
    for line in open(f"{book}.{rank}"):
        kind, *words = line.split()
        if kind == "operation":
            op = words[0].removeprefix("MPI_").upper()
            same(rank, op, ends[rank, "MPI_COLLECTIVE_END", op], int(words[1]))
            same(rank, op + ", not blocking", ends[rank, "NON_BLOCKING_COLLECTIVE_COMPLETE", op], int(words[2]))
            same(rank, "bytes of " + op, size[rank, op], int(words[3]))
        else:
            for word in words:
                name, count = word.split("=")
                same(rank, name, calls[rank, name], int(count) + BEHIND.get(name, 0))
same("all", "requests posted, and not completed once", [key for key in posted if posted[key] != 1 or done[key] != 1], [])
same("all", "requests completed, and not posted", [key for key in done if not posted[key]], [])
print(f"{comparison.checked} figures of the archive, {len(posted)} requests, {comparison.wrong} mismatches")
sys.exit(comparison.wrong > 0 or comparison.checked < 60 * ranks)
