#!/usr/bin/env python3
"""requestsbook.py ARCHIVE BOOK RANKS

What the archive of the program requests has of each rank is what the program counted itself (BOOK.RANK): messages and
bytes on its communicators, requests that complete, are cancelled, or are freed, and calls of each function."""
import collections
import re
import sys

import os

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import archiveevents

archive, book, ranks = sys.argv[1], sys.argv[2], int(sys.argv[3])
kinds_seen, totals = collections.Counter(), collections.Counter()
for rank, kind, line in archiveevents.events(archive):
    comm = re.search(r"Communicator: \"[^\"]*?(\d*)\" <", line)
    length = re.search(r"Length: (\d+)", line)
    kinds_seen[rank, kind] += 1
    if kind == "ENTER":
        totals[rank, "call", archiveevents.region(line)] += 1
    elif length:
        totals[rank, kind, comm.group(1)] += 1
        totals[rank, kind + " bytes", comm.group(1)] += int(length.group(1))
comparison = archiveevents.Comparison()
same = comparison.same
for rank in range(ranks):
    sent = 0
    for line in open(f"{book}.{rank}"):
        kind, *words = line.split()
        if kind == "comm":
            comm, counts = words[0], list(map(int, words[1:]))
            for what, kinds, number in (("sends", ("MPI_SEND", "MPI_ISEND"), 0), ("receives", ("MPI_RECV", "MPI_IRECV"), 2)):
                same(rank, f"{what} on {comm}", sum(totals[rank, k, comm] for k in kinds), counts[number])
                same(rank, f"bytes of {what} on {comm}", sum(totals[rank, k + " bytes", comm] for k in kinds),
                     counts[number + 1])
            sent += counts[0]
        elif kind == "freed":
            same(rank, "receives that were freed", kinds_seen[rank, "MPI_IRECV_REQUEST"] - kinds_seen[rank, "MPI_IRECV"] -
                 kinds_seen[rank, "MPI_REQUEST_CANCELLED"], int(words[0]))
        elif kind == "cancelled":
            same(rank, "requests that were cancelled", kinds_seen[rank, "MPI_REQUEST_CANCELLED"], int(words[0]))
        else:
            same(rank, words[0], totals[rank, "call", words[0]], int(words[1]))
    # a send that is freed while it is active ends there
    same(rank, "sends that end", kinds_seen[rank, "MPI_SEND"] + kinds_seen[rank, "MPI_ISEND_COMPLETE"], sent)
print(f"{comparison.checked} figures of the archive, {comparison.wrong} mismatches")
sys.exit(comparison.wrong > 0 or comparison.checked < 30 * ranks)
