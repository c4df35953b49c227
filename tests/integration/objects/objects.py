#!/usr/bin/env python3
"""objects.py ARCHIVE OUTPUT RANKS CSV EVENTS TRACE

What the archive of the program objects has of windows and files is what the program counted itself (its line "book"):
as many accesses, with as many bytes, each completed once; windows, locks and epochs; handles and transfers. The lists of
events (as CSV, as text and as trace events) have targets and bytes, and which windows and files these are, too."""
import collections
import csv
import json
import os
import re
import subprocess
import sys

archive, output, ranks = sys.argv[1], open(sys.argv[2]).read(), int(sys.argv[3])
book = collections.Counter({name: int(count) for name, count in
                            re.findall(r"(\w+)=(\d+)", re.search(r"^book: (.*)$", output, re.M).group(1))})
text = subprocess.run(["otf2-print", archive + "/traces.otf2"], stdout=subprocess.PIPE, check=True).stdout.decode()
lines = [line for line in text.splitlines() if re.match(r"(RMA|IO)_", line)]
events = collections.Counter(line.split()[0] for line in lines)
wrong = 0


def same(what, is_, expected):
    global wrong
    if is_ != expected:
        wrong += 1
        print(f"{what}: {is_}, the program counted {expected}")


def calls(*names):
    return ranks * sum(book["MPI_" + name] for name in names)


def total(pattern, *kinds):
    return sum(int(number) for line in lines if line.split()[0] in kinds for number in re.findall(pattern, line))


def ids(kind, where):
    return sorted(tuple(map(int, re.search(rf"^\S+ +(\d+).*{where}: \"[^\"]*\" <(\d+)>.*Matching(?: Id)?: (\d+)", line)
                            .groups())) for line in lines if line.split()[0] == kind)


puts, gets = calls("Put", "Rput") - ranks * book["nowhere"], calls("Get", "Rget")
atomics = calls("Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap", "Raccumulate", "Rget_accumulate")
made = calls("Win_create", "Win_allocate", "Win_allocate_shared", "Win_create_dynamic")
same("puts", events["RMA_PUT"], puts)
same("gets", events["RMA_GET"], gets)
same("atomic accesses", events["RMA_ATOMIC"], atomics)
for name in ("ACCUMULATE", "FETCH_AND_ADD", "SWAP", "FETCH_AND_ACCUMULATE", "COMPARE_AND_SWAP"):
    same(f"atomic accesses of type {name}", sum(f", Type: {name}, " in line for line in lines), ranks * book[name])
table = list(csv.DictReader(open(sys.argv[4])))
rows = collections.Counter((row["function"][4:], row["flags"]) for row in table
                           if row["what"] == "call" and re.search("accumulate|Fetch|Put|Get$", row["function"]))
for flag, name in (("sum", "FETCH_AND_ADD"), ("replace", "SWAP")):
    same(f"fetched with {flag} in the lines", sum(rows[function, flag] for function in
                                                  ("Get_accumulate", "Rget_accumulate", "Fetch_and_op")), ranks * book[name])
same("all flags of accesses", {flag for _, flag in rows}, {"", "sum", "replace", "no_op"})
same("bytes of accesses", total(r"Bytes: (\d+)", "RMA_PUT", "RMA_GET"), book["window_bytes"] - ranks * book["at_targets"])
same("bytes that are sent to be combined", total(r"Sent: (\d+)", "RMA_ATOMIC"), ranks * book["sent"])
same("bytes that come back of these", total(r"Received: (\d+)", "RMA_ATOMIC"), ranks * book["received"])
issued = ids("RMA_PUT", "Window") + ids("RMA_GET", "Window") + ids("RMA_ATOMIC", "Window")
same("accesses that complete", ids("RMA_OP_COMPLETE_NON_BLOCKING", "Window"), sorted(issued))
# those whose completion here was told before: by the request, or by a local flush
same("accesses that complete at the target later", events["RMA_OP_COMPLETE_REMOTE"],
     calls("Rput", "Raccumulate", "Compare_and_swap"))
same("windows made", events["RMA_WIN_CREATE"], made)
same("windows freed", events["RMA_WIN_DESTROY"], calls("Win_free"))
same("collective operations", events["RMA_COLLECTIVE_END"], made + calls("Win_free", "Win_fence"))
locks = calls("Win_lock", "Win_lock_all")
same("locks wanted, got and released", [events["RMA_" + name] for name in ("REQUEST_LOCK", "ACQUIRE_LOCK", "RELEASE_LOCK")],
     [locks] * 3)
same("exclusive locks", sum("EXCLUSIVE" in line for line in lines if line.startswith("RMA_ACQUIRE_LOCK")), calls("Win_lock"))
# each epoch that is posted ends, in a wait or in a test
same("epochs", events["RMA_GROUP_SYNC"], calls("Win_start", "Win_complete", "Win_post", "Win_post"))
same("synchronized memory", events["RMA_SYNC"], calls("Win_sync"))
same("a window's name", any('Window: "the first"' in line for line in lines), True)

seeks = re.search(r"^seeks:(.*)$", output, re.M).group(1).split()
there = [":".join(re.search(r"Request: (-?\d+).*Whence: (?:OTF2_IO_SEEK_)?(\w+).*Result: (\d+)", line).group(2, 1, 3))
         for line in lines if line.startswith("IO_SEEK") and '.seeks"' in line]
same("seeks whose end is known", sorted(there), sorted(ranks * seeks))
same("all seeks but for one", events["IO_SEEK"],  # and but for another, which is refused
     calls("File_seek", "File_seek_shared") - 2 * ranks)

opened = calls("File_open")
transfer = re.compile(r"MPI_File_i?(read|write)")
begun = ranks * sum(count for name, count in book.items() if transfer.match(name) and not name.endswith("_end"))
same("files opened", events["IO_CREATE_HANDLE"], opened)
same("files closed", events["IO_DESTROY_HANDLE"], calls("File_close"))
same("files deleted", events["IO_DELETE_FILE"], book["MPI_File_delete"])  # by one
same("transfers", events["IO_OPERATION_BEGIN"], begun + calls("File_sync"))
same("transfers that complete", ids("IO_OPERATION_COMPLETE", "Handle"), ids("IO_OPERATION_BEGIN", "Handle"))
same("bytes transferred", total(r"Bytes Result: (\d+)", "IO_OPERATION_COMPLETE"), book["file_bytes"])
asked = total(r"Bytes Request: (\d+)", "IO_OPERATION_BEGIN")
same("that more was asked for than there was", asked > book["file_bytes"], True)

# the lists of events
access = "MPI_(?:R(?:put|get|accumulate|get_accumulate)|Put|Get|Accumulate|Get_accumulate|Fetch_and_op|Compare_and_swap)"
shown = [row for row in table if row["what"] == "call" and re.fullmatch(access, row["function"])]
same("accesses in the lines", len(shown), puts + gets + atomics + ranks * book["nowhere"])
same("their bytes", sum(int(row["bytes"]) for row in shown), book["window_bytes"])
same("their targets", {(row["rank"], row["peer"]) for row in shown},
     {(str(rank), peer) for rank in range(ranks) for peer in ("none", str((rank + 1) % ranks))})
same("windows that are not told", sum(not row["value"].isdigit() for row in shown), 0)
same("what the named ones are called", {(row["name"], row["value"]) for row in shown if row["name"]}, {("the first", "1")})


def accesses(what):
    return collections.Counter(tuple(row[column] for column in "rank function peer tag bytes communicator name value".split())
                               for row in table if row["what"] == what and re.match("MPI_R(put|get|accum)", row["function"]))


same("requests of accesses", accesses("access done"), accesses("call"))
files = [row for row in table if row["what"] in ("call", "transfer done") and row["function"].startswith("MPI_File_")]
same("bytes of transfers in the lines", sum(int(row["bytes"] or 0) for row in files),
     book["file_bytes"])
same("what has no bytes before it ends", {row["bytes"] for row in files if row["what"] == "call" and
                                          re.search("_i(read|write)|_begin$", row["function"])}, {""})
same("files", {(os.path.basename(row["name"]), bool(row["value"])) for row in files},
     {("file", True), ("file.another", True), ("file.seeks", True), ("file.another", False)})  # which is deleted

text = open(sys.argv[5]).read()
listed = re.findall(rf" {access} .* (\S+) +- +(\d+) window \d+(?: \"the first\")?(?: \w+)?(?: path \d+)?$", text, re.M)
same("accesses in the text", sorted((peer, int(size)) for peer, size in listed),
     sorted((row["peer"], int(row["bytes"])) for row in shown))
ended = re.findall(r"\+ (access|transfer) done .* (\S+) +- +(\d+) (window|file) \d+(?: \".*\")?$", text, re.M)
same("ends in the text", sorted((what + " done", peer, int(size)) for what, peer, size, _ in ended),
     sorted((row["what"], row["peer"] or "-", int(row["bytes"])) for row in table
            if row["what"] in ("access done", "transfer done")))

events = [(event["name"], event["args"]) for event in json.load(open(sys.argv[6]))["traceEvents"] if event["ph"] == "E"]
same("accesses in the trace events", sorted((str(arguments["peer"]), arguments["bytes"], str(arguments["window"]))
                                            for name, arguments in events if re.fullmatch(access, name)),
     sorted((row["peer"], int(row["bytes"]), row["value"]) for row in shown))
read = []
for row in table:  # what a call was told stands behind it
    if row["function"] == "MPI_File_read_at" and row["what"] == "call":
        read.append((row["name"], int(row["bytes"]), int(row["bytes"])))
    elif row["what"] == "argument" and called == "MPI_File_read_at":
        read[-1] = read[-1][:2] + (int(row["bytes"]),)
    called = row["function"] if row["what"] == "call" else called
same("reads in the trace events", sorted((arguments["name"], arguments["bytes"], arguments.get("asked", arguments["bytes"]))
                                         for name, arguments in events if name == "MPI_File_read_at"), sorted(read))
same("reads that meet the end of the file", any(size < asked for _, size, asked in read), True)
same("what was asked for", {"asked" in arguments for name, arguments in events if name == "MPI_File_iread_at"}, {True})
print(f"{len(lines)} events of windows and files, {wrong} mismatches")
sys.exit(wrong > 0)
