#!/usr/bin/env python3
"""objects.py ARCHIVE OUTPUT RANKS CSV

What the archive of the program objects has of windows and files is what the program counted itself (its line "book"):
as many accesses, with as many bytes, each completed once; windows, locks and epochs; handles and transfers."""
import collections
import csv
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
rows = collections.Counter((row["function"][4:], row["flags"]) for row in csv.DictReader(open(sys.argv[4]))
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
print(f"{len(lines)} events of windows and files, {wrong} mismatches")
sys.exit(wrong > 0)
