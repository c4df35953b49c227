"""What the threads of crash.c write down of their calls, compared with the recording of mpit."""
import json
import os
import re
import struct
import subprocess

THREADS, LAST = 4, 1 << 16
NAMES = ["MPI_Allreduce", "MPI_Sendrecv", "MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Barrier", "MPI_Comm_dup",
         "MPI_Comm_free", "MPI_Recv", "MPI_Reduce", "MPI_Bcast", "MPI_Send"]
HEAD = struct.Struct("<IIII")
ACCOUNT = struct.Struct("<QQ%dQ" % len(NAMES))
SIGNATURE = {"MPI_Allreduce": 3, "MPI_Sendrecv": 2, "MPI_Isend": 2, "MPI_Irecv": 2, "MPI_Recv": 2}  # columns: tag, bytes
LINE = re.compile(r"^\s*(\S+)\s+(\d+)\s+([\d.]+|-)\s+(\S+ \S+|-)\s+(MPI_\w+)\s+(.*)$")


class Account:
    """Of one thread: the calls that it began, in order (the latest ones), and how many have returned."""

    def __init__(self, data):
        self.begun, self.returned, *self.count = ACCOUNT.unpack_from(data)
        entries = struct.unpack_from("<%dI" % (2 * LAST), data, ACCOUNT.size)
        self.first = max(0, self.begun - LAST)
        self.calls = []
        for n in range(self.first, self.begun):
            kind, value = entries[2 * (n % LAST)], entries[2 * (n % LAST) + 1]
            name = NAMES[kind]
            self.calls.append((name, value if name in SIGNATURE else 0))


class Process:
    """The accounts of one process."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.ready, self.pid, self.threads, self.in_finalize = HEAD.unpack_from(data)
        step = ACCOUNT.size + 8 * LAST
        self.accounts = [Account(data[HEAD.size + i * step:]) for i in range(self.threads)]


def ready(path):
    """The process's threads are making calls."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD.size)
        return len(head) == HEAD.size and HEAD.unpack(head)[0] == 1
    except FileNotFoundError:
        return False


class Stream:
    """What mpit-dump --events shows of one thread."""

    def __init__(self):
        self.calls = []  # (name, signature)
        self.lines = 0  # calls and records
        self.unfinished = None
        self.gaps = []  # (index of the call behind it, events)


def events_read(dump, run):
    """--events of a run, as {(rank, thread): Stream}, and what was said."""
    done = subprocess.run([dump, "--events", run], capture_output=True, text=True, timeout=120)
    streams, current = {}, None
    for line in done.stdout.splitlines()[1:]:
        gap = re.match(r"^\s*(\S+)\s+(\d+)\s.* (\d+) events are missing here", line)
        match = LINE.match(line)
        if gap:
            stream = streams.setdefault((int(gap[1]), int(gap[2])), Stream())
            stream.gaps.append((len(stream.calls), int(gap[3])))
        elif match:
            rank, thread = int(match[1]) if match[1] != "-" else -1, int(match[2])
            current = streams.setdefault((rank, thread), Stream())
            name, fields = match[5], match[6].split()
            if line.endswith("has not returned"):
                current.unfinished = name
                continue
            current.lines += 1
            column = SIGNATURE.get(name)
            current.calls.append((name, int(fields[column]) if column else 0))
        elif line.lstrip().startswith("+ ") and current:
            current.lines += 1
    return streams, done.stdout + done.stderr


def thread_check(account, stream, least=None):
    """None, or what is wrong. `least`: only so many of the last events have to be there."""
    behind = stream.gaps[-1][0] if least is not None and stream.gaps else 0
    listed = [call for call in stream.calls[behind:] if call[0] in NAMES]
    whole = least is None and account.first == 0
    for in_flight in (0, 1):
        end = account.returned + in_flight
        if end > account.begun:
            break
        wanted = account.calls[:end - account.first]
        found = listed if whole or len(listed) <= len(wanted) else listed[-len(wanted):]
        if whole and found == wanted:
            return None
        if not whole and found and found == wanted[len(wanted) - len(found):]:
            if least is None or stream.lines >= least or len(found) == end:
                return None
            return "only %d events are left, %d wanted" % (stream.lines, least)
        if not whole and not found and not wanted:
            return None
    wrong = next((i for i, (a, b) in enumerate(zip(listed, account.calls)) if a != b), min(len(listed), account.begun))
    return "%d calls returned (%d begun), %d listed, the first difference at call %d: %s and %s" % (
        account.returned, account.begun, len(listed), wrong, account.calls[wrong:wrong + 2], listed[wrong:wrong + 2])


def tallies_check(dump, run, books):
    """None, or what is wrong: each function's count is that of the calls that returned, or those in flight more."""
    done = subprocess.run([dump, "--json", run], capture_output=True, text=True, timeout=120)
    try:
        counted = json.loads(done.stdout)["jobs"][0]["calls"]
    except (ValueError, KeyError, IndexError):
        return "no summary: " + done.stdout[-300:] + done.stderr[-300:]
    for kind, name in enumerate(NAMES):
        returned = flying = 0
        for book in books:
            for account in book.accounts:
                begun = account.calls[account.returned - account.first:]
                flying += sum(1 for call in begun if call[0] == name)
                returned += account.count[kind]
                flying += account.returned - sum(account.count) if begun == [] else 0  # between the two stores
        count = counted.get(name, {}).get("count", 0)
        if not returned <= count <= returned + flying + (1 if flying == 0 and len(books) == 0 else 0):
            return "%s: %d returned, %d in flight, %d counted" % (name, returned, flying, count)
    return None


def run_check(dump, run, directory, least=None):
    """A list of what is wrong with a run, whose processes kept their books in the directory."""
    books = {int(name): Process(os.path.join(directory, name)) for name in os.listdir(directory)}
    streams, text = events_read(dump, run)
    wrong = []
    if not books:
        wrong.append("the program wrote nothing down")
    for rank, book in sorted(books.items()):
        for thread, account in enumerate(book.accounts):
            problem = thread_check(account, streams.get((rank, thread), Stream()), least)
            if problem:
                wrong.append("rank %d thread %d: %s" % (rank, thread, problem))
    problem = tallies_check(dump, run, books.values())
    if problem:
        wrong.append(problem)
    if wrong:
        wrong.append(text[-1500:])
    return wrong
