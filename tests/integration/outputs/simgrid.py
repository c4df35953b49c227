#!/usr/bin/env python3
"""Another simulator judges traces and gains: SimGrid replays what `mpit-dump --csv` has of each rank.

    simgrid.py BUILD

SimGrid gets the order of the calls, their peers and bytes, and computations. It finds by itself who waits, and how long. The
run has to take as long as it was recorded. With the change of mpit's first finding it has to gain what mpit tells.

Time between calls is computation. So is what a call takes after all have begun that it needs, beyond the transfer: who waits
on a busy machine gets a processor late, and no network explains that. Calls that SimGrid does not get are computation, too.
"""
import collections
import csv
import json
import os
import pathlib
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

BUILD = os.path.abspath(sys.argv[1])
SECONDS = 120
WITHIN = 0.03  # of the run
LATENCY, BANDWIDTH = 1000, 10  # of shared memory: nanoseconds, bytes a nanosecond; of a run the fastest large message tells it
LARGE = 65536                  # messages of so many bytes wait for their receives
PLATFORM = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="hosts" prefix="host" suffix="" radical="0-{last}" speed="1Gf" bw="{bandwidth:.3f}GBps" lat="{latency}ns"/>
</platform>
"""
PLATE = ["--rows", "512", "--columns", "512", "--radiating", "160", "--every", "100", "--steps", "300"]
BALANCE = ["load_imbalance", "moving_imbalance"]
PROGRAMS = [  # program, ranks, arguments, and what its first finding may be; without these the run alone is judged
    ("diseases", 2, ["load_imbalance"], BALANCE),
    ("diseases", 2, ["serialization"], ["serialization"]),
    ("diseases", 2, ["late_receives"], ["late_receives"]),
    ("diseases", 2, ["barriers"], ["barriers"]),
    ("diseases", 3, ["hot_spot"], []),
    ("heat", 2, PLATE, BALANCE),
    ("heat", 3, ["--bands", "3", *PLATE], ["oversubscribed", *BALANCE])]  # the first with two processors
COLLECTIVES = {  # the action, and who waits for whom
    "MPI_Barrier": ("barrier", "all for all"),
    "MPI_Cart_create": ("barrier", "all for all"),
    "MPI_Comm_split": ("barrier", "all for all"),
    "MPI_Allreduce": ("allreduce {bytes} 0", "all for all"),
    "MPI_Reduce": ("reduce {bytes} 0 {peer}", "root for all"),
    "MPI_Bcast": ("bcast {bytes} {peer}", "all for root")}


def nanoseconds(seconds):
    return int(seconds.replace(".", ""))  # it has nine digits


class Call:
    def __init__(self, row):
        self.row, self.function = row, row["function"]
        self.begin, self.took = nanoseconds(row["start_s"]), nanoseconds(row["duration_s"])
        self.end = self.begin + self.took
        self.ended = []    # records of the messages that it completes
        self.actions = []  # for SimGrid
        self.needs = []    # keys of Trace.begins: what has to have begun
        self.bytes = self.stalled = self.off = 0


class Trace:
    def __init__(self, text, alone, asleep):
        """ALONE: names of communicators of one rank. ASLEEP, by rank: the share of its run time in which it wanted no processor."""
        calls = collections.defaultdict(list)
        for row in csv.DictReader(text.splitlines()):
            mine = calls[int(row["rank"])]
            if row["what"] == "call":
                mine.append(Call(row))
            elif row["what"] == "stall":
                mine[-1].stalled = nanoseconds(row["duration_s"])
            elif row["what"] == "off processor":
                mine[-1].off = nanoseconds(row["duration_s"])  # in the computation before the call
            elif row["what"] in ("send done", "receive done") and row["peer"] != "none":
                mine[-1].ended.append(row)
        self.ranks = [calls[rank] for rank in sorted(calls)]
        off = [sum(call.off for call in calls) / max(1, calls[-1].begin - calls[0].end) for calls in self.ranks]
        self.delayed = [max(0, 1 - sleep / share) if share else 0 for sleep, share in zip(asleep, off)]
        self.counts, self.numbers, self.begins = collections.Counter(), {}, {}
        for rank, calls in enumerate(self.ranks):
            self.messages(rank, calls)
            self.collectives(rank, [call for call in calls if call.row["communicator"] not in alone])
        every = [call for calls in self.ranks for call in calls]
        self.bandwidth = max((call.bytes / max(1, call.end - self.ready(call)) for call in every if call.bytes >= LARGE),
                             default=BANDWIDTH)
        self.begin = min(calls[0].end for calls in self.ranks)  # from MPI_Init to MPI_Finalize, of all ranks
        self.seconds = (max(calls[-1].begin for calls in self.ranks) - self.begin) / 1e9

    def counted(self, *what):
        """The key of the next one of these."""
        self.counts[what] += 1
        return (*what, self.counts[what])

    def messages(self, rank, calls):
        received = {row["start_s"]: row for call in calls for row in call.ended if row["what"] == "receive done"}
        posted = {}
        for call in calls:
            name, row, waits = call.function[len("MPI_"):].lower(), call.row, []
            if name == "irecv":
                row = received.get(row["start_s"], row)  # the source, if it may be any
            if name in ("send", "isend", "recv", "irecv") and row["peer"] != "none":
                sends, peer = name.endswith("send"), int(row["peer"])
                ends = (rank, peer) if sends else (peer, rank)
                message = self.counted(sends, row["communicator"], row["tag"], *ends)[1:]  # both ends count alike
                number = self.numbers.setdefault(message, len(self.numbers))
                self.begins[sends, number] = call.begin
                call.actions.append(f"{name} {peer} {number} {row['bytes']}")
                posted[row["start_s"]] = (sends, number, int(row["bytes"]), "wait {} {} {}".format(*ends, number))
                waits = [posted[row["start_s"]]] if name in ("send", "recv") else []
            for row in call.ended:
                waits.append(posted[row["start_s"]])
                call.actions.append(waits[-1][3])
            for sends, number, size, _ in waits:
                if not sends or size >= LARGE:
                    call.needs.append((not sends, number))
                    call.bytes = max(call.bytes, size)

    def collectives(self, rank, calls):
        for call in calls:
            if call.function in COLLECTIVES:
                action, who = COLLECTIVES[call.function]
                call.actions.append(action.format(**call.row))
                name, _, count = key = self.counted(call.row["communicator"], rank)
                self.begins[key] = call.begin
                root = call.row["peer"]
                others = [root] if who == "all for root" else range(len(self.ranks))
                if who != "root for all" or root == str(rank):
                    call.needs += [(name, int(other), count) for other in others]

    def ready(self, call):
        return max([call.begin, *(self.begins[key] for key in call.needs)])

    def work(self, call, rule):
        """The computation in a call. If ranks have a processor each, it is what the call did not stall."""
        if not call.needs:
            return call.took
        transfer = LATENCY + call.bytes / self.bandwidth if call.bytes else 0
        return max(0, (call.took - call.stalled if rule == "oversubscribed" else call.end - self.ready(call)) - transfer)

    def computations(self, finding):
        """The times between calls, by rank. Without an imbalance ranks take their mean: at each visit to a segment, or in all."""
        pairs = [list(zip(calls, calls[1:])) for calls in self.ranks]
        times = [[call.begin - before.end for before, call in mine] for mine in pairs]
        if finding.get("rule") == "oversubscribed":
            return [[time - call.off * delayed for time, (_, call) in zip(mine, pair)]
                    for mine, pair, delayed in zip(times, pairs, self.delayed)]
        if finding.get("rule") not in BALANCE:
            return times
        if "took equally long outside of MPI" in finding["text"]:
            mean = sum(map(sum, times)) / len(times)
            return [[time * mean / sum(mine) for time in mine] for mine in times]
        segment = [place["mpi"] for place in finding["places"]]
        for visit in zip(*([i for i, (a, b) in enumerate(mine) if [a.function, b.function] == segment] for mine in pairs)):
            mean = sum(mine[i] for mine, i in zip(times, visit)) / len(visit)
            for mine, i in zip(times, visit):
                mine[i] = mean
        return times

    def actions(self, calls, times, rule):
        yield "init"
        yield f"compute {calls[0].end - self.begin}"
        for call, time in zip(calls[1:], times):
            yield f"compute {time}"
            if call.function != "MPI_Finalize" and (rule, call.function) != ("barriers", "MPI_Barrier"):
                if rule != "serialization" or call.function in COLLECTIVES:  # else messages need nothing
                    yield from call.actions
                yield f"compute {self.work(call, rule)}"
        yield "finalize"

    def simulated(self, directory, finding):
        """How long the run takes without the fault of this finding, in seconds. {}: as recorded."""
        times, rule, last = self.computations(finding), finding.get("rule"), len(self.ranks) - 1
        texts = {f"rank{rank}": "".join(f"{rank} {action}\n" for action in self.actions(calls, times[rank], rule))
                 for rank, calls in enumerate(self.ranks)}
        texts["files"] = "".join(f"{directory}/{name}\n" for name in texts)
        texts["platform.xml"] = PLATFORM.format(last=last, bandwidth=self.bandwidth, latency=LATENCY // 2)  # two links a message
        for name, text in texts.items():
            pathlib.Path(directory, name).write_text(text, encoding="utf-8")
        detached = 1 << 30 if rule == "late_receives" else LARGE
        ended = trial.run(["smpirun", "-np", str(last + 1), "-platform", f"{directory}/platform.xml",
                           "-replay", f"{directory}/files", "--cfg=network/model:CM02",
                           f"--cfg=smpi/send-is-detached-thresh:{detached}"], SECONDS)
        told = [line.split()[-1] for line in ended.err.splitlines() if "Simulation time" in line]
        if ended.status != 0 or not told:
            raise RuntimeError(ended)
        return float(told[-1])


def judge_program(judge, mpi, directory, program, ranks, arguments, rules):
    run, name = f"{directory}/run", " ".join([f"{mpi}: {ranks} ranks of", program, *arguments[:2]])
    shutil.rmtree(run, ignore_errors=True)
    recorded = trial.run([f"{BUILD}/bin/mpit-run", "--quiet", "--trace", "--output", run, *trial.launcher(mpi, ranks),
                          f"{BUILD}/tests/{program}-{mpi}", *arguments], SECONDS)
    dumps = [trial.run([f"{BUILD}/bin/mpit-dump", kind, run], SECONDS) for kind in ("--csv", "--json")]
    if not judge.holds(all(it.status == 0 for it in (recorded, *dumps)), f"{name}: it is recorded", recorded):
        return
    job = json.loads(dumps[1].out)["jobs"][0]
    asleep = [max(0, 1 - (row["user_seconds"] + row["system_seconds"] + row["run_delay_seconds"]) / row["run_seconds"])
              for row in job["by_rank"]]
    trace = Trace(dumps[0].out, {comm["name"] for comm in job["communicators"] if comm["size"] == 1}, asleep)
    seconds, simulated = trace.seconds, trace.simulated(directory, {})
    longest, told = max(calls[-1].begin - calls[0].end for calls in trace.ranks) / 1e9, job["run_seconds"]["max"]
    judge.holds(max(abs(simulated - seconds), abs(longest - told)) < WITHIN * seconds,
                f"{name}: {seconds:.3f} s, simulated {simulated:.3f} s", f"{longest} s of a rank, in the summary {told} s")
    first = [finding for finding in job["findings"] if finding["rule"] != "long_init"][:1]
    if rules and job["not_judged"] and (not first or first[0]["rule"] not in rules):
        judge.skip(f"{name}: the gain", job["not_judged"])  # it shows another fault than the planted one
    elif rules and first and first[0]["rule"] == "oversubscribed" and "blurred" in first[0]["text"]:
        judge.skip(f"{name}: the gain", "own processors gain nothing, so none is told")
    elif rules and judge.holds(first and first[0]["rule"] in rules, f"{name}: its first finding is {' or '.join(rules)}", first):
        told, gain = first[0]["seconds"], simulated - trace.simulated(directory, first[0])
        within = WITHIN * (2 if first[0]["rule"] == "oversubscribed" else 1)  # SimGrid keeps the calls that lost their processor
        judge.holds(abs(gain - told) < within * seconds, f"{name}: it gains {told:.3f} s, simulated {gain:.3f} s", first)


def judge_all(judge, _, mpi, directory):
    for program in PROGRAMS:
        judge_program(judge, mpi, directory, *program)


judge = trial.Judge()
if not shutil.which("smpirun"):
    judge.skip("SimGrid", "there is no smpirun: install libsimgrid-dev")
    sys.exit(judge.verdict())
trial.judge_mpis(BUILD, judge, judge_all)
