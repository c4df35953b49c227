#!/usr/bin/env python3
"""requestsbook.py ARCHIVE BOOK RANKS

What the archive of the program requests has of each rank is what the program counted itself (BOOK.RANK): messages and
bytes on its communicators, requests that complete, are cancelled, or are freed, and calls of each function."""
import collections
import re
import subprocess
import sys

archive, book, ranks = sys.argv[1], sys.argv[2], int(sys.argv[3])
text = subprocess.run(["otf2-print", archive + "/traces.otf2"], stdout=subprocess.PIPE, check=True).stdout.decode()
events, totals = collections.Counter(), collections.Counter()
for line in text.splitlines():
    words = line.split(None, 2)
    if len(words) < 3 or not words[1].isdigit():
        continue
    rank, kind = int(words[1]) & 0xffffffff, words[0]  # a location is thread << 32 | rank
    comm = re.search(r"Communicator: \"[^\"]*?(\d*)\" <", line)
    region = re.search(r"^ENTER .*Region: \"([^\"]*)\"", line)
    length = re.search(r"Length: (\d+)", line)
    events[rank, kind] += 1
    if region:
        totals[rank, "call", region.group(1)] += 1
    elif length:
        totals[rank, kind, comm.group(1)] += 1
        totals[rank, kind + " bytes", comm.group(1)] += int(length.group(1))
checked = wrong = 0


def same(rank, what, is_, expected):
    global checked, wrong
    checked += 1
    if is_ != expected:
        wrong += 1
        print(f"rank {rank}, {what}: {is_}, the program counted {expected}")


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
            same(rank, "receives that were freed", events[rank, "MPI_IRECV_REQUEST"] - events[rank, "MPI_IRECV"] -
                 events[rank, "MPI_REQUEST_CANCELLED"], int(words[0]))
        elif kind == "cancelled":
            same(rank, "requests that were cancelled", events[rank, "MPI_REQUEST_CANCELLED"], int(words[0]))
        else:
            same(rank, words[0], totals[rank, "call", words[0]], int(words[1]))
    # a send that is freed while it is active ends there
    same(rank, "sends that end", events[rank, "MPI_SEND"] + events[rank, "MPI_ISEND_COMPLETE"], sent)
print(f"{checked} figures of the archive, {wrong} mismatches")
sys.exit(wrong > 0 or checked < 30 * ranks)
