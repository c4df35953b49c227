#!/usr/bin/env python3
"""A run that a simulator replays takes as long as it took: `mpit-dump --export simgrid` and `goal`.

    exports.py BUILD

SimGrid replays the one. LogGOPSim is in no Debian, so the other is read and played here: an operation begins when those have
ended that it requires, a computation takes its time, and a message its latency and its bytes.
"""
import collections
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial

BUILD = os.path.abspath(sys.argv[1])
SECONDS = 120
WITHIN = 0.10  # of the run
SHORT = ["collectives"]  # these only have to be replayed
PROGRAMS = [  # program, ranks, arguments
    ("collectives", 3, []),
    ("diseases", 2, ["serialization"]),
    ("diseases", 2, ["late_receives"]),
    ("diseases", 2, ["hot_spot"]),
    ("loops", 4, ["ring", "60"]),
    ("loops", 4, ["halves", "60"]),
    ("loops", 4, ["master", "100"]),
    ("asked", 2, ["40", "2000", "0", "1000", "200000", "1"]),
    ("heat", 2, ["--rows", "512", "--columns", "512", "--every", "100", "--steps", "300"])]
LINE = re.compile(r"(?:(?P<label>\w+): )?(?:calc (?P<ns>\d+)|(?P<way>send|recv) (?P<bytes>\d+)b (?:to|from) (?P<peer>\d+) tag (?P<tag>\d+))$")


class Goal:
    """A schedule.goal. An operation is (rank, label)."""

    def __init__(self, path):
        self.needs, self.ns, self.ends = collections.defaultdict(list), {}, collections.defaultdict(dict)
        with open(path, encoding="ascii") as file:
            lines = file.read().splitlines()
        self.latency, self.byte, self.large = map(float, re.search(r"-L (\d+) .*-G (\d+) -S (\d+)", lines[0]).groups())
        self.ranks = int(lines[1].split()[1])
        for line in lines[2:]:
            if line.startswith("rank "):
                rank = int(line.split()[1])
            elif " requires " in line:
                after, before = line.split(" requires ")
                assert (rank, after) in self.ns and (rank, before) in self.ns, line
                self.needs[rank, after].append(((rank, before), 0))
            elif line not in ("", "}"):
                self.operation(rank, LINE.match(line))
        assert all(len(ends) == 2 for ends in self.ends.values()), "each message has two ends"
        for (_, _, _, size), ends in self.ends.items():
            way = self.latency + size * self.byte
            begins = [before for before, _ in self.needs[ends["recv"]]]
            self.needs[ends["recv"]].append((ends["send"], way))
            if size > self.large:  # it waits for its receive
                self.needs[ends["send"]] += [(before, way) for before in begins]

    def operation(self, rank, is_):
        name, ends = (rank, is_["label"]), (rank, int(is_["peer"] or 0))
        assert name not in self.ns, name
        self.ns[name] = int(is_["ns"] or 0)
        if is_["way"]:
            ends = ends if is_["way"] == "send" else ends[::-1]
            self.ends[(*ends, int(is_["tag"]), int(is_["bytes"]))][is_["way"]] = name

    def seconds(self):
        """When the last operation ends. All have to be played."""
        waits = {name: len(self.needs[name]) for name in self.ns}
        after = collections.defaultdict(list)
        for name, befores in self.needs.items():
            for before, ns in befores:
                after[before].append((name, ns))
        begins, ready, played = collections.Counter(), [name for name, count in waits.items() if not count], 0
        while ready:
            name = ready.pop()
            played, end = played + 1, begins[name] + self.ns[name]
            begins[name] = end
            for other, ns in after[name]:
                begins[other] = max(begins[other], end + ns)
                waits[other] -= 1
                ready += [other] if not waits[other] else []
        assert played == len(self.ns), f"{len(self.ns) - played} operations wait for each other"
        return max(begins.values()) / 1e9


def simgrid_seconds(directory):
    ended = trial.run(["sh", f"{directory}/replay.sh"], SECONDS)
    told = [line.split()[-1] for line in ended.err.splitlines() if "Simulation time" in line]
    assert ended.status == 0 and told, ended
    return float(told[-1])


def judge_program(judge, mpi, work, program, ranks, arguments):
    run, name = f"{work}/run", " ".join([f"{mpi}: {ranks} ranks of", program, *arguments[:2]])
    for directory in (run, f"{work}/goal", f"{work}/simgrid"):
        shutil.rmtree(directory, ignore_errors=True)
    recorded = trial.run([f"{BUILD}/bin/mpit-run", "--quiet", "--trace", "--output", run, *trial.launcher(mpi, ranks),
                          f"{BUILD}/tests/{program}-{mpi}", *arguments], SECONDS)
    exports = [trial.run([f"{BUILD}/bin/mpit-dump", "--export", form, f"{work}/{form}", run], SECONDS) for form in ("goal", "simgrid")]
    if not judge.holds(all(it.status == 0 for it in (recorded, *exports)), f"{name}: it is exported",
                       [str(it) for it in (recorded, *exports) if it.status]):
        return
    seconds = json.loads(trial.run([f"{BUILD}/bin/mpit-dump", "--json", run], SECONDS).out)["jobs"][0]["run_seconds"]["max"]
    told = {"goal": Goal(f"{work}/goal/schedule.goal").seconds()}
    if shutil.which("smpirun"):
        told["simgrid"] = simgrid_seconds(f"{work}/simgrid")
    for form, simulated in told.items():
        judge.holds(program in SHORT or abs(simulated - seconds) < WITHIN * seconds, f"{name}: {seconds:.3f} s, in {form} {simulated:.3f} s")


def judge_wrong(judge, work):
    dump = f"{BUILD}/bin/mpit-dump"
    for words, text in ((["--export", "dimemas", f"{work}/new"], "allowed are goal, simgrid and placement"),
                        (["--export", "goal"], "needs a new directory"),
                        (["--export", "goal", work, f"{work}/run"], "allowed is a new directory")):
        ended = trial.run([dump, *words], SECONDS)
        judge.holds(ended.status in (1, 2) and text in ended.err, f"{' '.join(words[:2])}: {text}", ended)


def judge_all(judge, _, mpi, work):
    for program in PROGRAMS:
        judge_program(judge, mpi, work, *program)
    judge_wrong(judge, work)


judge = trial.Judge()
if not shutil.which("smpirun"):
    judge.skip("SimGrid", "there is no smpirun: install libsimgrid-dev")
trial.judge_mpis(BUILD, judge, judge_all)
