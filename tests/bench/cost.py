#!/usr/bin/python3
"""What mpit costs: added time, instructions and memory of a recorded call, bare and recorded in pairs in one run.

    cost.py BUILD [--pairs N] [--iterations N] [--mpi openmpi|mpich] [--json] [--quick] [--memory-calls N]

A row for each class of calls says whether they all cost the same; these run on one process, in tallies alone.

Times are medians over pairs of runs, and given in pairs of clock reads (two reads of the time stamp counter) that are
measured in the same sitting: machines are shared and noisy, ratios hold. Instructions are counted by callgrind over
two run lengths, subtracted. --quick: fewer and shorter runs, for a smoke test. Instructions and
the growth of memory repeat and are judged; times are only shown. untimed: with mpit_timing 0, calls are only counted.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

LIMIT_INSTRUCTIONS = {"tallies": 170, "trace": 200, "untimed": 170}  # packing is part of a trace
LIMIT_GROWTH_KIB = 256


def environment(extra):
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
               OMPI_MCA_rmaps_base_oversubscribe="1")
    for name in list(env):
        if name.startswith("MPIT_") or name == "LD_PRELOAD":
            del env[name]
    env.update(extra)
    return env


class Bench:
    def __init__(self, build, mpi):
        self.build, self.mpi = os.path.abspath(build), mpi
        self.program = f"{self.build}/tests/callcost-{mpi}"
        self.library = f"{self.build}/lib/libmpit-{mpi}.so"
        self.launcher = f"mpirun.{mpi}" if shutil.which(f"mpirun.{mpi}") else "mpirun"
        self.work = tempfile.mkdtemp(prefix="mpit-bench-")

    def extra(self, how):
        if how == "bare":
            return {}
        run = tempfile.mkdtemp(dir=self.work)
        out = {"LD_PRELOAD": self.library, "MPIT_OUTPUT": run}
        if how == "trace":
            out["MPIT_TRACE"] = "1"
        if how == "untimed":
            out["MPIT_TIMING"] = "0"
        return out

    def run(self, how, loop, n, ranks):
        extra = self.extra(how)
        line = [self.program, loop, str(n)]
        if ranks > 1:
            line = [self.launcher, "-n", str(ranks)] + line
        # a single process stays on one processor: moving it costs more than what is measured
        place = (lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})) if ranks == 1 else None
        out = subprocess.run(line, env=environment(extra), capture_output=True, text=True, check=True,
                             preexec_fn=place).stdout.split()
        if "MPIT_OUTPUT" in extra:
            shutil.rmtree(extra["MPIT_OUTPUT"])
        return float(out[0]), int(out[1]), int(out[2])

    def classes(self, how, n):
        """class -> (nanoseconds an iteration, calls an iteration)"""
        extra = dict(self.extra(how), OMPI_MCA_osc="pt2pt,sm", TMPDIR=self.work)
        place = lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        out = subprocess.run([self.program, "classes", str(n)], env=environment(extra), capture_output=True, text=True,
                             check=True, preexec_fn=place).stdout
        if "MPIT_OUTPUT" in extra:
            shutil.rmtree(extra["MPIT_OUTPUT"])
        return {name: (float(ns), int(calls)) for name, ns, calls, _ in map(str.split, out.splitlines())}

    def class_instructions(self, how, n):
        """class -> instructions of a call"""
        extra = dict(self.extra(how), OMPI_MCA_osc="pt2pt,sm", TMPDIR=self.work)
        path = f"{self.work}/callgrind"
        line = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={path}", "--toggle-collect=measured",
                self.program, "classes", str(n)]
        said = subprocess.run(line, env=environment(extra), capture_output=True, text=True, check=True).stdout
        calls = {name: int(calls) * int(iterations) for name, _, calls, iterations in map(str.split, said.splitlines())}
        table = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", path], capture_output=True,
                               text=True, check=True).stdout
        found = {name: int(count.replace(",", "")) for count, name in
                 re.findall(r"^\s*([\d,]+) .*:loop_(\w+)", table, re.M)}
        os.remove(path)
        return {name: found[name] / calls[name] for name in calls}

    def instructions(self, how, n):
        extra = self.extra(how)
        line = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", self.program, "self", str(n)]
        err = subprocess.run(line, env=environment(extra), capture_output=True, text=True, check=True).stderr
        return int([l for l in err.splitlines() if "Collected" in l][0].split(":")[1])

    def instructions_added(self, how, short, long):
        """of a call: a third of Isend + Recv + Wait"""
        bare = self.instructions("bare", long) - self.instructions("bare", short)
        return (self.instructions(how, long) - self.instructions(how, short) - bare) / (3 * (long - short))


def times(bench, pairs, n, result):
    rows = [("self", 1, "self Isend + Recv + Wait, a third of it"), ("pingpong", 2, "8-byte ping-pong, a call"),
            ("allreduce", 2, "8-byte Allreduce")]
    clock = statistics.median(bench.run("bare", "clock", 10 * n, 1)[0] for _ in range(max(3, pairs)))
    result["clock_pair_ns"] = round(clock, 1)
    for loop, ranks, title in rows:
        for how in ("tallies", "untimed", "trace") if loop == "self" else ("tallies", "trace"):
            added, ratio = [], []
            for _ in range(pairs):
                bare, calls, _ = bench.run("bare", loop, n, ranks)
                with_, _, _ = bench.run("summary" if how == "tallies" else how, loop, n, ranks)
                added.append((with_ - bare) / calls)
                ratio.append(with_ / bare)
            median = statistics.median(added)
            result["rows"].append({"loop": loop, "title": title, "how": how, "added_ns": round(median, 1),
                                   "clock_pairs": round(median / clock, 2), "min_ns": round(min(added), 1),
                                   "max_ns": round(max(added), 1), "ratio": round(statistics.median(ratio), 2)})


# What a row is; an iteration's calls are taken together.
CLASSES = {"sendrecv": "p2p, blocking: Sendrecv", "single": "p2p, nonblocking: Irecv + Send + Wait",
           "waitall": "p2p, several at once: Irecv + Isend + Waitall", "persistent": "persistent: Startall + Waitall of 2",
           "probe": "probe: Iprobe", "collective": "collective: Allreduce",
           "icollective": "collective, nonblocking: Iallreduce + Wait",
           "pcollective": "collective, persistent: Start + Wait", "neighbor": "collective: Neighbor_alltoall",
           "rma": "rma: Put + Win_flush", "io": "io: File_get_size", "comm": "communicator: dup + free"}


def class_costs(bench, pairs, n, clock, counted, result):
    """what a call of each class costs more, all on one process: the shortest of the runs with and without"""
    runs = [(bench.classes("bare", n), bench.classes("summary", n)) for _ in range(pairs)]
    bare, recorded = bench.class_instructions("bare", counted), bench.class_instructions("summary", counted)
    result["classes"] = []
    for name, title in CLASSES.items():
        calls = runs[0][0][name][1]
        shortest = [min(run[i][name][0] for run in runs) / calls for i in (0, 1)]
        added = shortest[1] - shortest[0]
        result["classes"].append({"class": name, "title": title, "added_ns": round(added, 1),
                                  "clock_pairs": round(added / clock, 2), "bare_ns": round(shortest[0], 1),
                                  "instructions": round(recorded[name] - bare[name], 1)})


def memory(bench, calls, result):
    """KiB that the recorder adds to a rank after few and after many calls"""
    added = {}
    for n in (10 ** 5, calls):
        bare = statistics.median(bench.run("bare", "self", n // 3, 1)[2] for _ in range(3))
        with_ = statistics.median(bench.run("summary", "self", n // 3, 1)[2] for _ in range(3))
        added[str(n)] = with_ - bare
    result["memory_added_kib"] = added


def show(result):
    print(f"{result['mpi']}: a pair of clock reads {result['clock_pair_ns']} ns")
    print(f"  {'added by a recorded call':42} {'':8} {'ns':>7} {'clock pairs':>12} {'min .. max ns':>16} {'x bare':>7}")
    for r in result["rows"]:
        spread = f"{r['min_ns']} .. {r['max_ns']}"
        print(f"  {r['title']:42} {r['how']:8} {r['added_ns']:7} {r['clock_pairs']:12} {spread:>16} {r['ratio']:7}")
    print(f"  {'added by a call of each class':50} {'ns':>7} {'clock pairs':>12} {'instructions':>13} {'bare ns':>9}")
    for r in result["classes"]:
        print(f"  {r['title']:50} {r['added_ns']:7} {r['clock_pairs']:12} {r['instructions']:13} {r['bare_ns']:9}")
    for how, count in result["instructions"].items():
        print(f"  instructions, a third of Isend + Recv + Wait, {how}: {count}")
    for calls, kib in result.get("memory_added_kib", {}).items():
        print(f"  memory added to a rank after {int(calls):,} calls: {kib:.0f} KiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--iterations", type=int, default=200000)
    parser.add_argument("--memory-calls", type=int, default=10 ** 8)
    parser.add_argument("--mpi", action="append", choices=["openmpi", "mpich"])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    results, bad = [], []
    for mpi in options.mpi or ["openmpi", "mpich"]:
        if not os.path.exists(f"{options.build}/lib/libmpit-{mpi}.so"):
            continue
        bench = Bench(options.build, mpi)
        result = {"mpi": mpi, "rows": [], "instructions": {}}
        times(bench, 3 if options.quick else options.pairs, 20000 if options.quick else options.iterations, result)
        for how in ("tallies", "untimed", "trace"):
            short, long = (20000, 60000) if options.quick else (50000, 150000)
            result["instructions"][how] = round(bench.instructions_added("summary" if how == "tallies" else how, short,
                                                                         long), 1)
        class_costs(bench, 3 if options.quick else options.pairs, 10000 if options.quick else options.iterations // 2,
                    result["clock_pair_ns"], 2000 if options.quick else 10000, result)
        memory(bench, 3 * 10 ** 6 if options.quick else options.memory_calls, result)
        shutil.rmtree(bench.work)
        results.append(result)
        bad += [f"{mpi}: {how}: {count} instructions a call, allowed {LIMIT_INSTRUCTIONS[how]}"
                for how, count in result["instructions"].items() if count >= LIMIT_INSTRUCTIONS[how]]
        few, many = result["memory_added_kib"].values()
        if many - few > LIMIT_GROWTH_KIB:
            bad.append(f"{mpi}: memory grows with calls: {few} KiB after few, {many} KiB after many")
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        for result in results:
            show(result)
    if not results:
        sys.exit("cost.py: no preload library in " + options.build)
    for line in bad:
        print("over the limit: " + line, file=sys.stderr)
    sys.exit(1 if bad else 0)


main()
