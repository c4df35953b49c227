#!/usr/bin/env python3
"""collectivesbook.py ARCHIVE BOOK RANKS

What the archive of the program collectives has of each rank is what the program counted itself (BOOK.RANK): of each
operation on its first communicator those that were blocking and those that were not, with their bytes; and the calls of
each function. Each request of a collective is posted and completed once."""
import collections
import re
import subprocess
import sys

archive, book, ranks = sys.argv[1], sys.argv[2], int(sys.argv[3])
text = subprocess.run(["otf2-print", archive + "/traces.otf2"], stdout=subprocess.PIPE, check=True).stdout.decode()
ends, size, calls, posted, done = (collections.Counter() for _ in range(5))
for line in text.splitlines():
    words = line.split(None, 2)
    if len(words) < 3 or not words[1].isdigit():
        continue
    rank = int(words[1])
    end = re.search(r"Operation: (\w+), Communicator: \"([^\"]*)\" <.*Sent: (\d+), Received: (\d+)", line)
    region, request = re.search(r"Region: \"([^\"]*)\"", line), re.search(r"Request: (\d+)", line)
    if words[0] == "ENTER":
        calls[rank, region.group(1)] += 1
    elif words[0] == "NON_BLOCKING_COLLECTIVE_REQUEST":
        posted[rank, request.group(1)] += 1
    if words[0] == "NON_BLOCKING_COLLECTIVE_COMPLETE":
        done[rank, request.group(1)] += 1
    if end and end.group(2) == "MPI_COMM_WORLD/dup#1":
        ends[rank, words[0], end.group(1)] += 1
        size[rank, end.group(1)] += int(end.group(3)) + int(end.group(4))
checked = wrong = 0
BEHIND = {"MPI_Allreduce": 1, "MPI_Comm_free": 1}  # when the book was closed


def same(rank, what, is_, expected):
    global checked, wrong
    checked += 1
    if is_ != expected:
        wrong += 1
        print(f"rank {rank}, {what}: {is_}, the program counted {expected}")


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
print(f"{checked} figures of the archive, {len(posted)} requests, {wrong} mismatches")
sys.exit(wrong > 0 or checked < 60 * ranks)
