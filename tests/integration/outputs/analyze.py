#!/usr/bin/python3
"""Holds mpit-dump --analyze --json against what the processes of waits wrote down, or against the tallies.

    analyze.py waits ANALYSIS.json DIRECTORY      every wait of waits.c, the matrix, and the shares of the critical path
    analyze.py tallies ANALYSIS.json SUMMARY.json every message of the tallies is in the matrix, and matched
    analyze.py crash ANALYSIS.json ROUNDS         what is left when a process has killed itself

Times are compared with what the program's own clock says, so that it does not matter how busy the machine is; a process
may still lose the processor between its look at the clock and its call, so that a wait may be off by SLACK.
"""
import collections
import json
import os
import sys

SLACK = 30e6  # ns; a DELAY_MS is five times that
problems = []
checks = 0


def check(good, text):
    global checks
    checks += 1
    if not good:
        problems.append(text)


def close(is_ns, expected_ns, text):
    check(abs(is_ns - expected_ns) <= SLACK + 0.02 * abs(expected_ns),
          f"{text}: {is_ns / 1e6:.3f} ms, and by the program's clock {expected_ns / 1e6:.3f} ms")


def sums(waits, comm, names):
    """(pattern, function, rank) -> ns on the communicator that the program calls so"""
    found = collections.Counter()
    for wait in waits:
        if names[wait["communicator"]] == comm:
            found[wait["pattern"], wait["function"], wait["rank"]] += wait["time_ns"]
    return found


def latest(begins, ranks):
    return max((begins[r], r) for r in ranks)


# name: pattern, function, who waits, whom of these for (None: the last of all; "before": the last of those before it)
CASES = {
    "sender_recv": ("late_sender", "MPI_Recv", [0], [1]),
    "sender_any": ("late_sender", "MPI_Recv", [0], [1]),
    "sender_wait": ("late_sender", "MPI_Wait", [0], [1]),
    "sender_start": ("late_sender", "MPI_Wait", [0], [1]),
    "sender_waitall": ("late_sender", "MPI_Waitall", [0], [1]),
    "sender_sendrecv": ("late_sender", "MPI_Sendrecv", [0], [1]),
    "sender_probe": ("late_sender", "MPI_Probe", [0], [1]),
    "sender_mprobe": ("late_sender", "MPI_Mprobe", [0], [1]),
    "sender_parts": ("late_sender", "MPI_Wait", [0], [1]),
    "receiver_ssend": ("late_receiver", "MPI_Ssend", [0], [1]),
    "receiver_large": ("late_receiver", "MPI_Send", [0], [1]),
    "receiver_wait": ("late_receiver", "MPI_Wait", [0], [1]),
    "last_barrier": ("wait_at_barrier", "MPI_Barrier", None, None),
    "last_allreduce": ("wait_at_nxn", "MPI_Allreduce", None, None),
    "last_ibarrier": ("wait_at_barrier", "MPI_Wait", None, None),
    "root_bcast": ("late_broadcast", "MPI_Bcast", None, [1]),
    "root_reduce": ("early_reduce", "MPI_Reduce", [0], None),
    "prefix_scan": ("early_scan", "MPI_Scan", None, "before"),
    "last_split": ("wait_at_creation", "MPI_Comm_split", None, None),
}


def notes_read(directory):
    begins = collections.defaultdict(dict)
    late = collections.Counter()
    sent = {}
    size = len(os.listdir(directory))
    for rank in range(size):
        for line in open(os.path.join(directory, str(rank))):
            words = line.split()
            if words[0] == "case":
                begins[words[1]][rank] = int(words[2])
            elif words[0] == "late":
                late[rank] += int(words[2])
            else:
                sent[words[1], rank, int(words[2])] = (int(words[3]), int(words[4]))
    return size, begins, late, sent


def case_check(name, begins, waits, causes):
    pattern, function, waiters, candidates = CASES[name]
    ranks = sorted(begins)
    caused = collections.Counter()
    for rank in ranks if waiters is None else waiters:
        among = ranks if candidates is None else [r for r in ranks if r < rank] if candidates == "before" else candidates
        if not among:
            continue
        begin, cause = latest(begins, among)
        expected = max(begin - begins[rank], 0)
        caused[cause] += expected
        close(waits[pattern, function, rank], expected, f"{name}, rank {rank} waits in {function}")
    for rank in ranks:
        close(causes[pattern, function, rank], caused[rank], f"{name}, waited for rank {rank}")
    for key, ns in waits.items():
        check(key[:2] == (pattern, function) or ns <= SLACK, f"{name}: {key} waits {ns / 1e6:.3f} ms, and should not")


def path_check(job, late):
    """Whoever is late is waited for by rank 0 or by all: each delay lies on the path, as computing"""
    path = job["critical_path"]
    check("length_ns" in path, f"the critical path: {path}")
    computing = collections.Counter()
    for share in path.get("shares", []):
        if share["function"] is None:
            computing[share["rank"]] += share["time_ns"]
    excess = sorted((computing[rank] - late[rank], rank) for rank in range(job["world_size"]))
    check(excess[0][0] >= -2 * SLACK, f"rank {excess[0][1]} was late, and that is not on the path: {excess}")
    # the last one is where the path begins: it also has what was before MPI_Init
    check(excess[-2][0] <= 2 * SLACK, f"rank {excess[-2][1]} has too much of the path: {excess}")
    check(sum(s["time_ns"] for s in path.get("shares", [])) == path.get("length_ns"), "the shares are not the path")


def times_check(job, late):
    """Whoever is late sleeps. The four parts of a rank's time add up to it."""
    parts = {rank["rank"]: rank["time_ns"] for rank in job["ranks"]}
    for rank, times in parts.items():
        check(times["off_processor"] >= late[rank] - 2 * SLACK, f"rank {rank} slept for {late[rank]}: {times}")
        check(times["computing"] >= 0 and times["working"] >= 0, f"rank {rank}: {times}")
    longest = max(sum(times.values()) for times in parts.values())
    check(longest == job["efficiency"]["run_ns"], f"the parts add up to {longest}: {job['efficiency']}")


def messages_check(job):
    messages = job["messages"]
    check(not any(messages["unmatched"].values()), f"unmatched: {messages['unmatched']}")
    for name in "unplaced", "open_receives", "received_before_sent", "uneven":
        check(messages[name] == 0, f"{name}: {messages[name]}")
    check(messages["matched"] == sum(m["messages"] for m in job["matrix"]), "not all that was sent is matched")


def waits(job, directory):
    size, begins, late, sent = notes_read(directory)
    names = [c["label"] or c["name"] for c in job["communicators"]]
    check(size == job["world_size"], f"{size} processes wrote something")
    check(len(begins) >= len(CASES) - 1, f"only {len(begins)} cases")
    for name, times in begins.items():
        case_check(name, times, sums(job["waits"], name, names), sums(job["causes"], name, names))
    messages_check(job)
    matrix = {(names[m["communicator"]], m["from"], m["to"]): (m["messages"], m["bytes"]) for m in job["matrix"]
              if names[m["communicator"]] in ("matrix", "turned")}
    check(matrix == sent and len(sent) > size, f"the matrix is {matrix}, and the program sent {sent}")
    for operation in job["collectives"]:
        check(operation["complete"] == operation["count"], f"not by all: {operation}")
        check(sum(l["count"] for l in operation["last"]) == operation["count"], f"who came last: {operation}")
    barrier, = (o for o in job["collectives"] if names[o["communicator"]] == "last_barrier")
    check([l["rank"] for l in barrier["last"]] == [size - 1], f"the last at the barrier: {barrier}")
    path_check(job, late)
    times_check(job, late)


def tallies(job, summary):
    summary, = json.load(open(summary))["jobs"]
    for name, key in ("send_count", "messages"), ("send_bytes", "bytes"):
        tallied = sum(c[name] for c in summary["communicators"])
        check(tallied == sum(m[key] for m in job["matrix"]), f"{name}: {tallied}, another in the matrix")
    messages_check(job)
    check(job["messages"]["matched"] > 0, "no messages")


def crash(job, rounds):
    messages = job["messages"]
    unmatched = messages["unmatched"]
    lost = unmatched["sent_crashed"] + unmatched["received_crashed"]
    check(messages["matched"] + lost == 2 * int(rounds) and lost <= 1, f"messages: {messages}")
    check(sum(unmatched.values()) == lost, f"unmatched: {unmatched}")
    check(any("did not end normally" in note for note in job["notes"]), f"notes: {job['notes']}")
    check(messages["received_before_sent"] == 0, "received before it was sent")


def main():
    job, = json.load(open(sys.argv[2]))["jobs"]
    {"waits": waits, "tallies": tallies, "crash": crash}[sys.argv[1]](job, sys.argv[3])
    for problem in problems:
        print(problem)
    print(f"{checks} figures compared, {len(problems)} differ")
    sys.exit(1 if problems or not checks else 0)


main()
