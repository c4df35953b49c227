#!/usr/bin/python3
"""What mpit costs: added time, instructions and memory of a recorded call, bare and recorded in pairs in one run.

    cost.py BUILD [--pairs N] [--iterations N] [--mpi openmpi|mpich] [--json] [--quick] [--memory-calls N] [--classes]
            [--transports] [--fabric]

A row for each class of calls says whether they all cost the same; these run on one process, in tallies alone. A call can
leave several events (a nonblocking pair leaves a call to post, a call to wait, and the end of the message): `an event` is
what one of them costs, `of plain` how much more than one of Isend + Recv + Wait. How many there are, mpit's own variable
mpit_events_recorded says. `native`: instructions of the call without mpit.

The time of an event of each class is the median over pairs of runs, with the quartiles; a run takes the median of 101 short
stretches. Each run measures Isend + Recv + Wait at its begin and again at its end: from the 10th to the 90th of 100 of these
is the noise of the sitting. A class is "within" it where its own 10th to 90th touch that, else it costs "more" or "less".

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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration", "common"))
import trial

LIMIT_INSTRUCTIONS = {"tallies": 235, "trace": 285, "brief": 285, "untimed": 225}  # packing is part of a trace
# With call paths: frames from the call to main, and mpit_call_depth. The last is without paths.
DEPTHS = {"path of 3 frames": (3, None), "path of 7 frames": (7, None), "path of 16 frames": (16, None),
          "call site only": (7, 1), "no paths": (7, 0)}
LIMIT_DEPTH = {"path of 3 frames": 235, "path of 7 frames": 260, "path of 16 frames": 310, "call site only": 225,
               "no paths": 225}
LIMIT_GROWTH_KIB = 256
LIMIT_OF_PLAIN = 2  # an event of any class beside one of the hot calls, as the others take the body; local functions are not judged
# mpit asks for statuses even where the program does not want them. The library takes instructions to fill them.
LIMIT_OF_SOME = {"waitmany": 1.6, "write": 2.75, "writetold": 2.25, "neighbor": 2.5}  # neighbor: ways in one place of the table
# What makes and frees communicators, once in the life of each: a name, a place, cells. Open MPI polls meanwhile, which is
# watched. Windows and files are not judged: their libraries do not take the same way each time.
LIMIT_OF_LIVES = {"openmpi": {"dup": 10.2, "split": 9.8, "create": 13.4, "cart": 10.4},
                  "mpich": {"dup": 6.2, "split": 6.9, "create": 9.2, "cart": 6.7}}
LIMIT_OF_LOCALS = 1.35  # where they are recorded
# The library waits for a thread, in as many instructions as that takes, or does not take the same way each time.
UNSTEADY = {"iwrite", "ineighbor"}
COUNTS_MOST = 4


def limit_of(how):
    """Of the instructions of a call, recorded this way."""
    return LIMIT_INSTRUCTIONS[how] if how in LIMIT_INSTRUCTIONS else LIMIT_DEPTH[how]


def environment(extra):
    return trial.clean() | trial.OVERSUBSCRIBED | extra


class Bench:
    def __init__(self, build, mpi):
        self.build, self.mpi = os.path.abspath(build), mpi
        self.program = f"{self.build}/tests/callcost-{mpi}"
        self.library = f"{self.build}/lib/libmpit.so"
        self.launcher = f"mpirun.{mpi}" if shutil.which(f"mpirun.{mpi}") else "mpirun"
        self.work = tempfile.mkdtemp(prefix="mpit-bench-")

    def extra(self, how):
        if how == "bare":
            return {}
        if how == "clock":
            return {"LD_PRELOAD": f"{self.build}/tests/clockreads-{self.mpi}.so"}
        run = tempfile.mkdtemp(dir=self.work)
        out = {"LD_PRELOAD": self.library, "MPIT_OUTPUT": run}
        if how in ("trace", "brief"):  # the latter: as mpit-run has it without an option
            out["MPIT_TRACE" if how == "trace" else "MPIT_BRIEF"] = "1"
        if how == "untimed":
            out["MPIT_TIMING"] = "0"
        if how == "local":
            out["MPIT_RECORD_LOCAL_CALLS"] = "1"
        return out

    def run(self, how, loop, n, ranks, way=None):
        extra = dict(self.extra(how), **(way or {}))
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

    def classes(self, how, n, wrapper=(), turn=0):
        """class -> what the program says of its loop"""
        names = f"{self.work}/{'t' * (1 + 9 * turn)}"
        os.makedirs(names, exist_ok=True)
        extra = dict(self.extra(how), **trial.OSC, TMPDIR=names)
        place = lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        out = subprocess.run([*wrapper, self.program, "classes", str(n)], env=environment(extra), capture_output=True,
                             text=True, check=True, preexec_fn=place).stdout
        if "MPIT_OUTPUT" in extra:
            shutil.rmtree(extra["MPIT_OUTPUT"])
        return {name: {"ns": float(ns), "calls": int(calls), "iterations": int(iterations), "events": float(events)}
                for name, ns, calls, iterations, events in map(str.split, out.splitlines())}

    def class_instructions(self, how, n, turn):
        """class -> the same, with the instructions of an iteration"""
        path = f"{self.work}/callgrind"
        loops = self.classes(how, n, ("valgrind", "--tool=callgrind", f"--callgrind-out-file={path}",
                                      "--toggle-collect=measured"), turn)
        table = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", path], capture_output=True,
                               text=True, check=True).stdout
        found = {name: int(count.replace(",", "")) for count, name in
                 re.findall(r"^\s*([\d,]+) .*:loop_(\w+)", table, re.M)}
        os.remove(path)
        for name, loop in loops.items():
            loop["instructions"] = found[name] / loop["iterations"]
        return loops

    def instructions(self, how, n, more=None):
        extra = self.extra(how) | (more or {})
        line = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", self.program, "self", str(n)]
        err = subprocess.run(line, env=environment(extra), capture_output=True, text=True, check=True).stderr
        return int([l for l in err.splitlines() if "Collected" in l][0].split(":")[1])

    def instructions_added(self, how, short, long, more=None):
        """of a call: a third of Isend + Recv + Wait"""
        bare = self.instructions("bare", long, more) - self.instructions("bare", short, more)
        return (self.instructions(how, long, more) - self.instructions(how, short, more) - bare) / (3 * (long - short))

    def depth_added(self, frames, depth, short, long):
        """the same, so many frames below main: main, deep, ..., loop_self"""
        more = {"CALLCOST_CALLERS": str(frames - 3)}
        if depth is not None:
            more["MPIT_CALL_DEPTH"] = str(depth)
        return self.instructions_added("summary", short, long, more)


def times(bench, pairs, n, result):
    rows = [("self", 1, "self Isend + Recv + Wait, a third of it"), ("pingpong", 2, "8-byte ping-pong, a call"),
            ("allreduce", 2, "8-byte Allreduce")]
    clock = statistics.median(bench.run("bare", "clock", 10 * n, 1)[0] for _ in range(max(3, pairs)))
    result["clock_pair_ns"] = round(clock, 1)
    for loop, ranks, title in rows:
        for how in ("tallies", "untimed", "trace", "brief") if loop == "self" else ("tallies", "trace", "brief"):
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
CLASSES = {"blocking": "p2p, blocking: Isend + Recv + Wait", "sendrecv": "p2p, blocking: Sendrecv",
           "single": "p2p, nonblocking: Irecv + Send + Wait", "test": "p2p, nonblocking: Irecv + Test + Send + Wait",
           "waitall": "p2p, several at once: Irecv + Isend + Waitall",
           "waitmany": "p2p, many at once: 16 Irecv, 16 Isend + Waitall",
           "manytold": "p2p, many at once, whose statuses are wanted",
           "waitany": "p2p, any of several: Irecv + Isend + 2 Waitany", "isendrecv": "p2p: Isendrecv + Wait",
           "persistent": "p2p, persistent: Startall + Waitall of 2",
           "start": "p2p, persistent: 2 Start + 2 Wait",
           "partitioned": "p2p, partitioned: 2 Start + Pready + 2 Wait",
           "probe": "p2p, probe: Iprobe", "mprobe": "p2p, matched: Isend + Mprobe + Mrecv + Wait",
           "collective": "collective: Allreduce", "icollective": "collective, nonblocking: Iallreduce + Wait",
           "pcollective": "collective, persistent: Start + Wait", "neighbor": "neighbours: Neighbor_alltoall",
           "ineighbor": "neighbours, nonblocking: Ineighbor_alltoall + Wait",
           "pneighbor": "neighbours, persistent: Start + Wait", "put": "rma: Put + Win_flush",
           "get": "rma: Get + Win_flush", "accumulate": "rma: Accumulate + Win_flush", "rput": "rma: Rput + Wait",
           "lock": "rma: Win_lock + Win_unlock", "fence": "rma: Win_fence",
           "pscw": "rma: Win_post + _start + _complete + _wait", "file": "io: File_get_size",
           "write": "io, blocking: File_write_at + File_read_at",
           "writetold": "io, blocking: the same, whose statuses are wanted", "iwrite": "io, nonblocking: File_iwrite_at + Wait"}
LIVES = {"dup": "life of a communicator: Comm_dup + free", "split": "life of a communicator: Comm_split + free",
         "create": "life of a communicator: Comm_create + free", "cart": "life of a topology: Cart_create + free",
         "window": "life of a window: Win_create + free", "open": "life of a file: File_open + close"}
LOCALS = {"rank": "local: Comm_rank + Comm_size", "group": "local, group: Group_incl + free",
          "topology": "local, topology: Cart_rank + Cart_coords", "datatype": "local, datatype: contiguous + commit + free",
          "info": "local, info: create + set + free", "attribute": "local, attribute: Comm_get_attr"}


def class_rows(bare, recorded, titles):
    """per class: instructions added, of a call and of an event, and beside those of the hot calls"""
    plain = (recorded["blocking"]["instructions"] - bare["blocking"]["instructions"]) / recorded["blocking"]["events"]
    for name in (name for name in titles if name in bare):
        added = recorded[name]["instructions"] - bare[name]["instructions"]
        events = round(recorded[name]["events"], 2)
        row = {"class": name, "title": titles[name], "calls": bare[name]["calls"], "events": events,
               "instructions": round(added / bare[name]["calls"], 1),
               "instructions_native": round(bare[name]["instructions"] / bare[name]["calls"], 1)}
        if events:
            row["instructions_an_event"] = round(added / events, 1)
            row["of_plain"] = round(added / events / plain, 2)
        yield row


def quantile(values, share):
    """of a hundred, interpolated"""
    values = sorted(values)
    at = (len(values) - 1) * share / 100
    low = int(at)
    return values[low] + (values[min(low + 1, len(values) - 1)] - values[low]) * (at - low)


def class_times(rows, runs, result):
    """added nanoseconds of an event of each class, over pairs of runs with and without"""
    clock = statistics.median(run["clock"]["ns"] for pair in runs for run in pair)
    result["clock_pair_ns"] = round(clock, 1)

    def added(name):
        return [(recorded[name]["ns"] - bare[name]["ns"]) / recorded[name]["events"] for bare, recorded in runs]

    plain = added("blocking") + added("again")
    usual, low, high = (quantile(plain, share) for share in (50, 10, 90))
    result["plain"] = {"event_ns": round(usual, 1), "clock_pairs": round(usual / clock, 2), "noise_ns": round(high - low, 1),
                       "low_ns": round(low, 1), "high_ns": round(high, 1)}
    for row in rows:
        if not row["events"]:
            continue
        events = added(row["class"])
        median = statistics.median(events)
        row.update({"event_ns": round(median, 1), "quartiles_ns": [round(quantile(events, q), 1) for q in (25, 75)],
                    "clock_pairs": round(median / clock, 2), "ns_of_plain": round(median / usual, 2),
                    "bare_ns": round(statistics.median(bare[row["class"]]["ns"] for bare, _ in runs) / row["calls"], 1),
                    "beside_noise": "more" if quantile(events, 10) > high else "less" if quantile(events, 90) < low
                    else "within"})


def class_counts(bench, counted, result):
    """The instructions of each class. The library's own malloc takes more or fewer of them by what lies where, down to the
    length of a file's name: where a row is over its limit, the least of several counts holds, with other names each."""
    least = {}
    for turn in range(COUNTS_MOST):
        for how in ("bare", "summary", "local"):
            for name, loop in bench.class_instructions(how, counted, turn).items():
                known = least.setdefault(how, {}).setdefault(name, loop)
                known["instructions"] = min(known["instructions"], loop["instructions"])
        result["classes"] = list(class_rows(least["bare"], least["summary"], {**CLASSES, **LIVES, **LOCALS}))
        result["locals_recorded"] = list(class_rows(least["bare"], least["local"], LOCALS))
        if not classes_over(result):
            break


def class_costs(bench, pairs, n, counted, result):
    """what a call of each class costs more, all on one process"""
    runs = [(bench.classes("bare", n), bench.classes("summary", n)) for _ in range(pairs)]
    class_counts(bench, counted, result)
    if runs:
        class_times(result["classes"], runs, result)


def classes_over(result):
    """rows that are over their limit"""
    judged = [(row, LIMIT_OF_SOME.get(row["class"], LIMIT_OF_PLAIN)) for row in result["classes"]
              if row["class"] in CLASSES and row["class"] not in UNSTEADY]
    lives = LIMIT_OF_LIVES[result["mpi"]]
    judged += [(row, lives[row["class"]]) for row in result["classes"] if row["class"] in lives]
    judged += [(row, LIMIT_OF_LOCALS) for row in result["locals_recorded"]]
    return [f"{result['mpi']}: {row['title']}: {row['of_plain']} times the instructions of a plain event, allowed {limit}"
            for row, limit in judged if row["of_plain"] >= limit]


def memory(bench, calls, result):
    """KiB that the recorder adds to a rank after few and after many calls"""
    added = {}
    for n in (10 ** 5, calls):
        bare = statistics.median(bench.run("bare", "self", n // 3, 1)[2] for _ in range(3))
        with_ = statistics.median(bench.run("summary", "self", n // 3, 1)[2] for _ in range(3))
        added[str(n)] = with_ - bare
    result["memory_added_kib"] = added


def show_class(row):
    cells = [row.get(key, "") for key in ("instructions", "events", "instructions_an_event", "of_plain",
                                          "instructions_native", "event_ns")]
    low, high = row.get("quartiles_ns", ("", ""))
    cells += [f"{low} .. {high}" if "event_ns" in row else ""]
    cells += [row.get(key, "") for key in ("clock_pairs", "ns_of_plain")]
    cells += [row.get("beside_noise", ""), row.get("bare_ns", "")]
    print("  {:56} {:>12} {:>7} {:>9} {:>9} {:>9} {:>8} {:>16} {:>12} {:>9} {:>7} {:>9}".format(row["title"], *cells))


def show(result):
    print(f"{result['mpi']}: a pair of clock reads {result['clock_pair_ns']} ns")
    if result["rows"]:
        show_times(result)
    show_classes(result)
    for how, count in result["instructions"].items():
        print(f"  instructions, a third of Isend + Recv + Wait, {how}: {count}")
    for calls, kib in result.get("memory_added_kib", {}).items():
        print(f"  memory added to a rank after {int(calls):,} calls: {kib:.0f} KiB")


def show_times(result):
    print(f"  {'added by a recorded call':42} {'':8} {'ns':>7} {'clock pairs':>12} {'min .. max ns':>16} {'x bare':>7}")
    for r in result["rows"]:
        spread = f"{r['min_ns']} .. {r['max_ns']}"
        print(f"  {r['title']:42} {r['how']:8} {r['added_ns']:7} {r['clock_pairs']:12} {spread:>16} {r['ratio']:7}")


def show_classes(result):
    if "plain" in result:
        p = result["plain"]
        print(f"  an event of Isend + Recv + Wait: {p['event_ns']} ns ({p['low_ns']} .. {p['high_ns']}), noise {p['noise_ns']} ns")
    print(f"  {'added by a call of each class':56} {'instructions':>12} {'events':>7} {'an event':>9} {'of plain':>9}"
          f" {'native':>9} {'event ns':>8} {'quartiles':>16} {'clock pairs':>12} {'of plain':>9} {'noise':>7} {'bare ns':>9}")
    for r in result["classes"]:
        show_class(r)
    print("  the same with mpit_record_local_calls")
    for r in result["locals_recorded"]:
        show_class(r)


WAYS = {"openmpi": {"ob1": {"OMPI_MCA_pml": "ob1"},
                    "ob1 on TCP": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self"},
                    "ucx": {"OMPI_MCA_pml": "ucx", "OMPI_MCA_pml_ucx_tls": "any", "OMPI_MCA_pml_ucx_devices": "any"},
                    "cm, libfabric": {"OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi"}},
        "mpich": {"as it is": {}}}
# what the sampler adds to a thread that computes and calls: a loop on one process
# what counters add to calls, where they are asked for
COUNTED = {"--os": {"MPIT_OS": "1"}, "--papi, two of the kernel's events": {"MPIT_PAPI_EVENTS": "perf::PAGE-FAULTS,perf::TASK-CLOCK"},
           "both": {"MPIT_OS": "1", "MPIT_PAPI_EVENTS": "perf::PAGE-FAULTS,perf::TASK-CLOCK"}}
SAMPLED = {"100 samples a second": {"MPIT_SAMPLE_HZ": "100"}, "1000 samples a second": {"MPIT_SAMPLE_HZ": "1000"}}


def transports(bench, pairs, n):
    """The 8-byte ping-pong on each transport, bare and recorded one after the other; and the sampler."""
    print(f"{bench.mpi}: how much longer a round trip of 8 bytes takes, medians of {pairs} pairs; and what the two clock "
          "reads of each call alone do")
    for title, way in WAYS[bench.mpi].items():
        try:
            bench.run("bare", "pingpong", 100, 2, way)
        except subprocess.CalledProcessError:
            print(f"  {title}: not there")
            continue
        runs = [[bench.run(how, "pingpong", n, 2, way)[0] for how in ("bare", "summary", "clock")] for _ in range(pairs)]
        ratios = sorted(with_ / bare for bare, with_, _ in runs)
        print(f"  {title:22} x {statistics.median(ratios):.3f}  ({ratios[0]:.2f} .. {ratios[-1]:.2f})  bare "
              f"{statistics.median(bare for bare, _, _ in runs):.0f} ns; clock reads alone x "
              f"{statistics.median(clock / bare for bare, _, clock in runs):.3f}")
    for title, way in SAMPLED.items():
        ratios = sorted(bench.run("summary", "self", 20 * n, 1, way)[0] / bench.run("summary", "self", 20 * n, 1)[0]
                        for _ in range(pairs))
        print(f"  {title:22} x {statistics.median(ratios):.3f}  ({ratios[0]:.2f} .. {ratios[-1]:.2f})  of the loop of "
              "Isend + Recv + Wait, recorded in both")
    for title, way in COUNTED.items():
        pairs_of = [(bench.run("summary", "self", 4 * n, 1)[0], bench.run("summary", "self", 4 * n, 1, way)[0])
                    for _ in range(pairs)]
        ratios = sorted(with_ / without for without, with_ in pairs_of)
        added = statistics.median((with_ - without) / 3 for without, with_ in pairs_of)
        print(f"  {title:34} x {statistics.median(ratios):.2f}  ({ratios[0]:.2f} .. {ratios[-1]:.2f})  of the same loop; "
              f"{added:.0f} ns more a call")


# Below MPI: a loop of operations of UCX without MPI, bare, with mpit, and with its fabric probe on.
FABRIC = {"probe": "an operation that is complete at once", "pair": "an operation of a pair, with its share of a poll "
          "and of a completion", "poll": "a poll in vain"}
LIMIT_OFF = {"probe": 4, "pair": 12}  # instructions of an operation nobody asks for: the jump past us; and a poll's stalls
LIMIT_FABRIC_NS = 10  # beyond a pair of clock reads
BELOW = re.compile(r"lib(fabric|ucp|uct|ucs|papi)\.so")


class FabricBench:
    def __init__(self, bench):
        self.program, self.library, self.work = f"{bench.build}/tests/fabriccost", bench.library, bench.work

    def run(self, how, loop, n, wrapper=()):
        extra = {"UCX_TLS": "self"}
        if how != "bare":
            extra.update(LD_PRELOAD=self.library, MPIT_OUTPUT=tempfile.mkdtemp(dir=self.work),
                         MPIT_FABRIC="1" if how == "on" else "0")
        place = lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        done = subprocess.run([*wrapper, self.program, loop, str(n)], env=environment(extra), capture_output=True,
                              text=True, check=True, preexec_fn=place)
        if "MPIT_OUTPUT" in extra:
            shutil.rmtree(extra["MPIT_OUTPUT"])
        return done

    def instructions(self, how, loop, short, long):
        """of an operation"""
        valgrind = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
        counts = []
        for n in (short, long):
            done = self.run(how, loop, n, valgrind)
            counts.append(int([l for l in done.stderr.splitlines() if "Collected" in l][0].split(":")[1]))
        return (counts[1] - counts[0]) / (long - short) / int(done.stdout.split()[1])


def fabric_costs(bench, pairs, n):
    """What is over a limit; prints a row for each loop."""
    below, bad = FabricBench(bench), []
    clock = statistics.median(float(below.run("bare", "clock", n).stdout.split()[0]) for _ in range(pairs))
    print(f"{bench.mpi}: below MPI; a pair of clock reads {clock:.1f} ns, allowed {clock + LIMIT_FABRIC_NS:.1f} ns")
    print(f"  {'added':70} {'off, instructions':>18} {'on, instructions':>18} {'on, ns':>8} {'quartiles':>16}")
    for loop, title in FABRIC.items():
        bare, off, on = (below.instructions(how, loop, 20200, 60600) for how in ("bare", "off", "on"))
        added = []
        for _ in range(pairs):
            without, with_ = (float(below.run(how, loop, n).stdout.split()[0]) for how in ("off", "on"))
            added.append(with_ - without)
        low, high = quantile(added, 25), quantile(added, 75)
        print(f"  {title:70} {off - bare:18.1f} {on - off:18.1f} {statistics.median(added):8.1f} {low:7.1f} .. {high:.1f}")
        if loop in LIMIT_OFF and off - bare > LIMIT_OFF[loop]:
            bad.append(f"{bench.mpi}: {title}: {off - bare:.1f} instructions while nobody asks")
    needed = subprocess.run(["readelf", "-dW", bench.library], capture_output=True, text=True, check=True).stdout
    if BELOW.search(needed):
        bad.append(f"{bench.mpi}: libmpit needs a library below MPI")
    maps = subprocess.run(["cat", "/proc/self/maps"], env=environment(bench.extra("summary")), capture_output=True,
                          text=True, check=True).stdout
    if BELOW.search(maps) or "libmpit" not in maps:
        bad.append(f"{bench.mpi}: libmpit has loaded a library below MPI")
    return bad


def counter_is_the_clock():
    """As the recorder decides (src/events/clock/clock.c). The limits are for calls that read the counter."""
    try:
        with open("/sys/devices/system/clocksource/clocksource0/current_clocksource") as file:
            return file.read().strip() == "tsc"
    except OSError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--iterations", type=int, default=200000)
    parser.add_argument("--memory-calls", type=int, default=10 ** 8)
    parser.add_argument("--mpi", action="append", choices=["openmpi", "mpich"])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--classes", action="store_true", help="only what calls of each class cost")
    parser.add_argument("--transports", action="store_true", help="only how much longer a ping-pong takes on each "
                        "transport, and what samples cost")
    parser.add_argument("--fabric", action="store_true", help="only what the probe of libfabric and UCX costs, off and on")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.memory_calls <= 10 ** 5:
        parser.error("--memory-calls has to be above 100000: memory after 100000 calls is the other figure")
    if options.quick and not counter_is_the_clock():
        print("skipped all limits: the kernel's clock here is not the time stamp counter, and reading it takes most of a call")
        sys.exit(trial.SKIPPED)
    pairs = 1 if options.quick else options.pairs
    results, bad = [], []
    for mpi in options.mpi or ["openmpi", "mpich"]:
        if not os.path.exists(f"{options.build}/lib/libmpit-{mpi}.so"):
            continue
        if not os.path.exists(f"{options.build}/tests/callcost-{mpi}"):
            sys.exit(f"cost.py: {options.build}/tests/callcost-{mpi} is missing: build with -DMPIT_TESTS=ON")
        bench = Bench(options.build, mpi)
        if options.transports:
            transports(bench, pairs, 10000 if options.quick else options.iterations // 4)
            shutil.rmtree(bench.work)
            continue
        if options.fabric:
            bad += fabric_costs(bench, pairs, 200000 if options.quick else 2000000)
            shutil.rmtree(bench.work)
            continue
        result = {"mpi": mpi, "rows": [], "instructions": {}}
        if options.classes:
            n = 20000 if options.quick else options.iterations
            class_costs(bench, pairs, n // 2, 2000 if options.quick else 10000, result)
            shutil.rmtree(bench.work)
            results.append(result)
            bad += classes_over(result)
            continue
        times(bench, pairs, 20000 if options.quick else options.iterations, result)
        for how in ("tallies", "untimed", "trace", "brief"):
            short, long = (20000, 60000) if options.quick else (50000, 150000)
            result["instructions"][how] = round(bench.instructions_added("summary" if how == "tallies" else how, short,
                                                                         long), 1)
        for title, (frames, depth) in list(DEPTHS.items())[1:2] if options.quick else DEPTHS.items():
            result["instructions"][title] = round(bench.depth_added(frames, depth, short // 10, long // 10), 1)
        class_costs(bench, pairs, 10000 if options.quick else options.iterations // 2,
                    2000 if options.quick else 10000, result)
        memory(bench, 3 * 10 ** 6 if options.quick else options.memory_calls, result)
        shutil.rmtree(bench.work)
        results.append(result)
        bad += [f"{mpi}: {how}: {count} instructions a call, allowed {limit_of(how)}"
                for how, count in result["instructions"].items()
                if count >= limit_of(how)]
        bad += classes_over(result)
        few, many = result["memory_added_kib"].values()
        if many - few > LIMIT_GROWTH_KIB:
            bad.append(f"{mpi}: memory grows with calls: {few} KiB after few, {many} KiB after many")
    if options.transports:
        return
    if options.fabric:
        for line in bad:
            print("over the limit: " + line, file=sys.stderr)
        sys.exit(1 if bad else 0)
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
