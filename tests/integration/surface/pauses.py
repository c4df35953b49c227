#!/usr/bin/env python3
"""pauses.py BUILD: phases of MPI_Pcontrol and times without recording, on both MPIs, in C and Fortran.

The program (pauses.c, pauses.F90) counts and times its own phases. The summary, the JSON, the replay and the analysis have
to agree: counts exactly, times between what the program measured inside and outside of a phase."""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "common"))
sys.path.insert(0, os.path.join(HERE, "..", "outputs"))
import htmldrawn
import trial

BUILD = os.path.abspath(sys.argv[1])
RUN, DUMP, JUDGE = BUILD + "/bin/mpit-run", BUILD + "/bin/mpit-dump", BUILD + "/tests/otf2judge"
WORK = tempfile.mkdtemp(prefix="mpit-pauses.", dir="/tmp")
SECONDS = 120
judge = trial.Judge()


def dumped(run, *options):
    ended = trial.run([DUMP, *options, run], SECONDS, trial.environment())
    return ended.out if ended.status == 0 else "status %s: %s" % (ended.status, ended.err)


def shown(run, *options):
    return json.loads(dumped(run, "--json", *options))["jobs"][0]


def recorded(name, mpi, ranks, program, *words, options=("--trace",), **env):
    """Runs the program. -> its directory, phases {(rank, name): [count, calls, least, most]}, facts {(rank, name): number}."""
    run = "%s/%s" % (WORK, re.sub(r"\W+", "-", name))
    ended = trial.run([RUN, "--quiet", *options, "--output", run, *trial.launcher(mpi, ranks), program, *words], SECONDS,
                      trial.environment(**env))
    judge.holds(ended.status == 0, name + ": runs", str(ended))
    phases, facts = {}, {}
    for line in ended.out.splitlines():
        field = line.split()
        if len(field) > 6 and field[1] == "phase":
            phases[int(field[0]), "_".join(field[6:])] = [int(field[2]), int(field[3]), float(field[4]), float(field[5])]
        elif len(field) == 4 and field[1] == "fact":
            facts[int(field[0]), field[2]] = float(field[3])
    verified = trial.run([DUMP, "--verify", run], SECONDS, trial.environment())
    if "--trace" in options:
        judge.holds(verified.status == 0, name + ": the replay has the same counters", str(verified))
    return run, phases, facts, ended


def alike(one, other):
    """The same but for the digits with which seconds are written."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return abs(one - other) < 2e-9 if isinstance(one, float) else one == other


def near(value, least, most):
    """Times of the recorder and of MPI_Wtime may be of different clocks."""
    return 0.99 * least - 1e-3 <= value <= 1.01 * most + 1e-3


def phases_agree(name, job, phases, off=None, kind="phases"):
    """`off`: time without recording in a phase: (rank, phase) -> seconds at least."""
    found = {(row["rank"], phase["name"]): row for phase in job[kind] for row in phase["by_rank"]}
    wrong = ["%s: %s" % (key, "missing" if key not in found else found[key]) for key in phases if key not in found]
    for key, (count, calls, least, most) in phases.items():
        row = found.get(key)
        if not row:
            continue
        if (row["count"], row["calls"]) != (count, calls):
            wrong.append("%s: %d times, %d calls, expected %d, %d" % (key, row["count"], row["calls"], count, calls))
        if not near(row["recorded_seconds"] + row["off_seconds"], least, most):
            wrong.append("%s: %s s, expected %s to %s" % (key, row["recorded_seconds"] + row["off_seconds"], least, most))
        if row["off_seconds"] < 0.99 * (off or {}).get(key, 0) - 1e-3 or (not (off or {}).get(key) and row["off_seconds"]):
            wrong.append("%s: off for %s s" % (key, row["off_seconds"]))
        if row["mpi_seconds"] > row["recorded_seconds"] or row["stalled_seconds"] > row["mpi_seconds"]:
            wrong.append("%s: %s" % (key, row))
    for phase in job[kind]:
        rows = phase["by_rank"]
        same = abs(phase["recorded_seconds"]["mean"] * len(rows) - sum(row["recorded_seconds"] for row in rows)) < 1e-6
        if phase["count"] != sum(row["count"] for row in rows) or phase["ranks"] != len(rows) or not same:
            wrong.append("sums of %s" % phase["name"])
    judge.check(name + ": " + kind + " are as the program counts them", wrong)
    return found


def efficiencies_agree(name, parts, phases, facts, uneven="uneven"):
    """The program times its computation in phase "uneven", and knows how long the phase takes at least and at most."""
    useful = [facts[rank, "useful"] for rank in (0, 1)]
    is_so = {phase["name"]: phase["efficiency"] for phase in parts}[uneven]
    least, most = (max(phases[rank, uneven][place] for rank in (0, 1)) for place in (2, 3))
    mean, largest = sum(useful) / 2, max(useful)
    expected = {"parallel": (mean / most, mean / least), "load_balance": (mean / largest, mean / largest),
                "communication": (largest / most, largest / least)}
    wrong = ["%s: %s, expected %s to %s" % (key, is_so[key], low, high) for key, (low, high) in expected.items()
             if not 0.98 * low <= is_so[key] <= 1.02 * high]
    judge.check(name + ": efficiency of a phase is as the program built it", wrong)


def shares_agree(name, job, text):
    """Shares are of the recorded time, and each rank's times add up."""
    rows, wrong = job["by_rank"], []
    share = sum(row["mpi_seconds"] / row["recorded_seconds"] / row["threads"] for row in rows) / len(rows)
    if abs(share - job["mpi_share"]["mean"]) > 1e-6:
        wrong.append("share %s, expected %s" % (job["mpi_share"]["mean"], share))
    for row in rows:
        if abs(row["useful_seconds"] - row["recorded_seconds"] + row["mpi_seconds"] / row["threads"]) > 1e-6:
            wrong.append("useful: %s" % row)
        if row["recorded_seconds"] >= row["run_seconds"]:
            wrong.append("recorded: %s" % row)
    for key in ("mean", "min", "max"):
        if key == "mean" and abs(job["run_seconds"][key] - job["off_seconds"][key] - job["recorded_seconds"][key]) > 1e-6:
            wrong.append("recorded %s" % key)
    if "of the recorded time" not in text or "recording was off for" not in text:
        wrong.append(text[:1500])
    judge.check(name + ": shares are of the recorded time", wrong)


def named(mpi):
    name = mpi + ", phases with names"
    run, phases, facts, ended = recorded(name, mpi, 2, BUILD + "/tests/pauses-" + mpi, "named")
    job, analysis = shown(run), shown(run, "--analyze")
    off = {(rank, phase): facts[rank, "off"] for rank in (0, 1) for phase in ("all", "pausing")}
    found = phases_agree(name, job, phases, off)
    wrong = []
    for row in job["by_rank"]:
        whole = found[row["rank"], "all"]
        for key, of in (("mpi_seconds", "mpi_seconds"), ("stalled_seconds", "stalled_seconds")):
            if abs(whole[key] - row[of]) > 1e-6:
                wrong.append("%s of the whole run: %s, %s" % (key, whole, row))
    judge.check(name + ": a phase over the whole run has the figures of the rank", wrong)
    names = {phase["name"] for phase in job["phases"]}
    expected = {key[1] for key in phases} | {"outer", "at_the_end"}
    judge.holds(names == expected, name + ": values that are no names make no phase", "%s, %s" % (names, expected))
    counts = {phase["name"]: phase["count"] for phase in job["phases"]}
    judge.holds(counts.get("outer") == 4 and counts.get("at_the_end") == 2, name + ": misuse ends only what was begun", str(counts))
    judge.holds(1 <= ended.err.count("which the thread has not begun") <= 2, name + ": and is told once by a process", ended.err)
    efficiencies_agree(name, job["phases"], phases, facts)
    shares_agree(name, job, dumped(run, "--full"))
    full = dumped(run, "--full")
    judge.holds("Phases of MPI_Pcontrol" in full and "with MPI in them" not in full, name + ": the text has them", full)
    judge.holds(alike(analysis["phases"], job["phases"]), name + ": so has the analysis", json.dumps(analysis["phases"]))
    judge.holds("Phases of MPI_Pcontrol" in dumped(run, "--analyze"), name + ": and its text")
    for words in (["--window", "0:1us"], ["--comm", "MPI_COMM_WORLD"], ["--functions", "p2p"]):
        text = dumped(run, "--analyze", *words)
        judge.holds(shown(run, "--analyze", *words)["phases"] is None and "selected part only" in text and
                    "Phases of MPI_Pcontrol" not in text, name + ": but not of a part of the calls (%s)" % words[0], text)
    ended = trial.run([DUMP, "--otf2", run + "/otf2", run], SECONDS, trial.environment())
    judge.holds(ended.status == 0 and trial.run([JUDGE, run + "/otf2"], SECONDS, trial.environment()).status == 0,
                name + ": the archive is sound", str(ended))
    plain, phases, facts, _ = recorded(name + ", without a trace", mpi, 2, BUILD + "/tests/pauses-" + mpi, "named", options=())
    phases_agree(name + ", without a trace", shown(plain), phases, {(rank, phase): facts[rank, "off"] for rank in (0, 1)
                                                                   for phase in ("all", "pausing")})
    one = shown(plain, "--ranks", "1")
    judge.holds({row["rank"] for phase in one["phases"] for row in phase["by_rank"]} == {1}, name + ": of one rank", str(one["phases"]))


def regions(mpi):
    """Regions of <mpit/instrument.h> instead of phases: the same figures."""
    name = mpi + ", regions"
    run, phases, facts, _ = recorded(name, mpi, 2, BUILD + "/tests/pauses-" + mpi, "regions")
    job, full = shown(run), dumped(run, "--full")
    off = {(rank, region): facts[rank, "off"] for rank in (0, 1) for region in ("all_region", "pausing_region")}
    phases_agree(name, job, phases, off, "regions")
    efficiencies_agree(name, job["regions"], phases, facts, "uneven_region")
    judge.holds(job["phases"] == [] and "Phases of MPI_Pcontrol" not in full, name + ": none is a phase", str(job["phases"]))
    table = full.partition("with MPI in them")[2].partition("\n\n")[0]
    judge.holds("exchange_region" in table and "setup_region" not in table, name + ": the text has those with MPI", full)
    database = run + ".sqlite"
    ended = trial.run([DUMP, "--sqlite", database, run], SECONDS, trial.environment())
    if ended.status == 2 and "SQLite" in ended.err:
        return
    found = dict(sqlite3.connect(database).execute("select phase, sum(calls) from phases where kind = 'region' group by phase"))
    expected = {region["name"]: region["calls"] for region in job["regions"]}
    judge.holds(found == expected and len(found) == 7, name + ": so has the database", "%s, expected %s" % (found, expected))


def page(mpi):
    """The page of --html, as a browser draws it."""
    name = mpi + ", the page"
    if not htmldrawn.BROWSER:
        judge.skip(name, "there is no chromium")
        return
    run, _, _, _ = recorded(name, mpi, 2, BUILD + "/tests/pauses-" + mpi, "named", options=())
    ended = trial.run([DUMP, "--html", run + ".html", run], SECONDS, trial.environment())
    if ended.status == 2 and "D3" in ended.err:
        judge.skip(name, "this build has none")
        return
    judge.holds(ended.status == 0, name + ": is made", str(ended))
    root, console = htmldrawn.drawn(run + ".html")
    phases = sorted(shown(run)["phases"], key=lambda phase: -phase["recorded_seconds"]["mean"])
    rows, wrong = htmldrawn.table_of(root, "phases"), list(console)
    for row, phase in zip(rows, phases):
        for key, value in (("count", phase["count"]), ("calls", phase["calls"]), ("mean", phase["recorded_seconds"]["mean"]),
                           ("min", phase["recorded_seconds"]["min"]), ("max", phase["recorded_seconds"]["max"]),
                           ("efficiency", phase["efficiency"]["parallel"]), ("balance", phase["efficiency"]["load_balance"]),
                           ("mpi", phase["mpi_seconds"]["mean"] / phase["recorded_seconds"]["mean"])):
            if row[key] is not value and not htmldrawn.near(row[key], value, 1e-6):
                wrong.append("%s of %s: %s, expected %s" % (key, phase["name"], row[key], value))
    if len(rows) != len(phases):
        wrong.append("%d rows" % len(rows))
    text = root.having("data-figure", "overview")[0].text()
    if "of the recorded time" not in text or "The recording was off for up to" not in text:
        wrong.append(text[:2000])
    judge.check(name + ": has the phases, and shares of the recorded time", wrong)


def paused(mpi):
    name = mpi + ", a run that starts paused"
    run, _, facts, _ = recorded(name, mpi, 3, BUILD + "/tests/pauses-" + mpi, "paused", options=("--trace", "--start-paused"))
    job, analysis = shown(run), shown(run, "--analyze")
    calls = {call: figures["count"] for call, figures in job["calls"].items()}
    expected = {"MPI_Init_thread": 3, "MPI_Finalize": 3, "MPI_Sendrecv": 3 * 5 * 21, "MPI_Startall": 15, "MPI_Waitall": 3 * 6,
                "MPI_Allreduce": 15, "MPI_Win_fence": 30, "MPI_Put": 15}
    judge.holds(calls == expected, name + ": only calls between MPI_Pcontrol(1) and MPI_Pcontrol(0) are counted", str(calls))
    made = [comm for comm in job["communicators"] if comm.get("label") == "made while paused"]
    judge.holds(len(made) == 1 and made[0]["send_count"] == 15 and made[0]["rma_bytes"] == 60,
                name + ": communicators and windows that were made before are known", str(made))
    messages = analysis["messages"]
    judge.holds(messages and messages["matched"] == 3 * facts[0, "messages"] and not any(messages["unmatched"].values()),
                name + ": messages are matched, stretch by stretch", str(messages))
    reduces = [one for one in analysis["collectives"] if one["function"] == "MPI_Allreduce"]
    judge.holds(sum(one["complete"] for one in reduces) == facts[0, "collectives"] == sum(one["count"] for one in reduces),
                name + ": and collectives", str(reduces))
    left = analysis["recording_off"]
    judge.holds(left and left["message_ends_left_out"] == 0 and left["collective_calls_left_out"] == 0 and left["ranks"] == 3,
                name + ": nothing is left out", str(left))
    late = sum(wait["time_ns"] for wait in analysis["waits"] if wait["pattern"] == "late_sender")
    judge.holds(late > 0, name + ": waits are known", str(analysis["waits"]))
    begin = min(row["recorded_seconds"] for row in job["by_rank"])
    path = analysis["critical_path"]
    whole = 1e9 * (max(row["recorded_seconds"] for row in job["by_rank"])) + sum(
        job["calls"][call]["time_ns"] for call in ("MPI_Init_thread", "MPI_Finalize")) + 1e9 * 0.5
    judge.holds(path and path.get("length_ns", 0) > 0.5e9 * begin and path["length_ns"] < whole,
                name + ": the critical path has no time without recording", "%s %s %s" % (path, begin, whole))
    shares_agree(name, job, dumped(run, "--full"))
    text = re.sub(r"^(efficiency|network)\n.*?(\n\n|\Z)", "", dumped(run, "--analyze"), flags=re.M | re.S)  # unknown with pauses
    judge.holds("That time is not analysed." in text and "unknown" not in text, name + ": the text says what is left out", text[:2000])
    run, _, _, ended = recorded(name + ", never switched on", mpi, 2, BUILD + "/tests/pauses-" + mpi, "across", options=(),
                                MPIT_RECORDING="7")
    judge.holds("MPIT_RECORDING=7" in ended.err and "0 to 1" in ended.err, name + ": a wrong value is told", ended.err)


def never(mpi):
    """Recording is never switched on."""
    name = mpi + ", a run that stays paused"
    run, _, _, _ = recorded(name, mpi, 2, BUILD + "/tests/heat-" + mpi, "--rows", "32", "--columns", "32", "--steps", "5",
                            options=("--trace", "--start-paused"))
    job, analysis = shown(run), shown(run, "--analyze")
    judge.holds(set(job["calls"]) == {"MPI_Init", "MPI_Finalize"} and job["mpi_share"] is None and
                job["recorded_seconds"]["max"] == 0 and job["efficiency"]["parallel"] is None, name + ": shares are unknown", str(job)[:1500])
    judge.holds("in MPI     -" in dumped(run), name + ": the text says so", dumped(run))
    judge.holds(analysis["segments"] == [] and analysis["messages"]["matched"] == 0, name + ": no computation lies in the pause",
                str(analysis["segments"]))


def across(mpi):
    name = mpi + ", messages with an end in a pause"
    ranks = 3
    run, _, _, _ = recorded(name, mpi, ranks, BUILD + "/tests/pauses-" + mpi, "across")
    analysis = shown(run, "--analyze")
    messages, left = analysis["messages"], analysis["recording_off"]
    judge.holds(messages["matched"] == 2 * 20 * ranks, name + ": the others are matched", str(messages))
    unmatched = {reason: count for reason, count in messages["unmatched"].items() if count}
    judge.holds(unmatched == {"sent_off": ranks, "received_off": ranks}, name + ": these are counted", str(unmatched))
    judge.holds(left["message_ends_left_out"] == 2 * ranks and left["collective_calls_left_out"] == 2 * (ranks - 1) + 1,
                name + ": and calls of collectives that one rank did not record", str(left))
    whole = {one["function"]: one["complete"] for one in analysis["collectives"]}
    judge.holds(whole == {"MPI_Allreduce": 1, "MPI_Barrier": 1}, name + ": collectives of all ranks are known", str(whole))
    judge.holds(analysis["critical_path"].get("length_ns", 0) > 0, name + ": there is a critical path", str(analysis["critical_path"]))


def storm(mpi):
    name = mpi + ", phases of several threads"
    run, _, facts, _ = recorded(name, mpi, 1, BUILD + "/tests/pauses-" + mpi, "storm")
    job = shown(run)
    threads, turns = int(facts[0, "threads"]), int(facts[0, "turns"])
    expected = {"thread%d" % i: turns for i in range(threads)} | {"shared": threads * turns}
    counts = {phase["name"]: phase["count"] for phase in job["phases"]}
    judge.holds(counts == expected, name + ": each has all of its phases", "%s, expected %s" % (counts, expected))


TOOL = """#include <stdarg.h>
int PMPI_Pcontrol(const int level, ...);
int MPI_Pcontrol(const int level, ...)
{
    va_list rest;
    va_start(rest, level);
    const void *name = va_arg(rest, const void *);
    va_end(rest);
    return NAMED && (level == 1 || level == -1) ? PMPI_Pcontrol(level, name) : PMPI_Pcontrol(level);
}
"""


def beside(mpi):
    """Another tool's MPI_Pcontrol before mpit or behind it, which passes on the name, or the level alone."""
    for named in (1, 0):
        tool = "%s/tool%d.so" % (WORK, named)
        built = subprocess.run(["cc", "-shared", "-fPIC", "-DNAMED=%d" % named, "-o", tool, "-xc", "-"], input=TOOL, text=True,
                               capture_output=True)
        judge.holds(built.returncode == 0, "a tool is built", built.stderr)
        for order in ("before", "behind"):
            if not named and order == "before":
                continue  # mpit never sees the names
            name = "%s, a tool %s mpit that passes on %s" % (mpi, order, "names" if named else "levels")
            run = "%s/%s" % (WORK, re.sub(r"\W+", "-", name))
            libraries = [tool, trial.preload(BUILD, mpi)]
            exported = {"MPIT_OUTPUT": run, "MPIT_TRACE": "1",
                        "LD_PRELOAD": ":".join(libraries if order == "before" else reversed(libraries))}
            ended = trial.run([*trial.launcher(mpi, 2, exported), BUILD + "/tests/pauses-" + mpi, "named"], SECONDS,
                              trial.environment())
            collected = trial.run([BUILD + "/bin/mpit-collect", run], SECONDS, trial.environment())
            judge.holds(ended.status == 0 == collected.status, name + ": runs", "%s\n%s" % (ended, collected))
            counts = {phase["name"]: phase["count"] for phase in shown(run)["phases"]}
            expected = {"all": 2, "setup": 6, "solve:_part_1": 8, "exchange": 8, "7": 8, "uneven": 2, "pausing": 2, "outer": 4, "at_the_end": 2}
            judge.holds(counts == expected, name + ": each phase counts once", str(counts))


def live(mpi):
    """mpit-top of a program that has paused: its share is of the recorded time."""
    name = mpi + ", mpit-top"
    run = "%s/%s" % (WORK, re.sub(r"\W+", "-", name))
    with trial.spool() as spool:
        job = trial.Job([RUN, "--quiet", "--spool", spool, "--output", run, *trial.launcher(mpi, 1),
                         BUILD + "/tests/pauses-" + mpi, "wait"], trial.environment())
        live_judge(name, run, job, spool)
        trial.killed(job.process)


def live_judge(name, run, job, spool):
    """Two looks, while the program waits."""
    def look():
        seen = trial.run([BUILD + "/bin/mpit-top", "--once", "--json", run], SECONDS, trial.environment(MPIT_SPOOL=spool))
        jobs = json.loads(seen.out)["jobs"] if seen.status == 0 and seen.out.strip() else []
        return jobs[0]["ranks"][0] if jobs and jobs[0]["ranks"] and jobs[0]["ranks"][0]["state"] == "off" else None

    rank = None
    for _ in range(200):
        rank = look()
        if rank or job.process.poll() is not None:
            break
        time.sleep(0.1)
    judge.holds(rank is not None, name + ": it is off", "")
    if rank:
        first = rank["totals"]["thread_ns"]
        time.sleep(0.5)
        later = look()
        judge.holds(later and later["run_ns"] - rank["run_ns"] > 4e8 and later["totals"]["thread_ns"] - first < 1e6,
                    name + ": time without recording does not count", "%s %s" % (rank, later))


def fortran(mpi):
    name = mpi + ", Fortran"
    if not shutil.which("gfortran") or not shutil.which("mpif90." + mpi):
        judge.skip(name, "there is no compiler of it")
        return
    for flags in ((), ("-DUSE_F08",)):
        name = "%s, Fortran %s" % (mpi, flags[0][6:] if flags else "mpifh")
        program = "%s/fortran-%s%s" % (WORK, mpi, len(flags))
        built = subprocess.run(["mpif90." + mpi, "-fallow-argument-mismatch", *flags, "-w", "-o", program, HERE + "/pauses.F90"],
                               capture_output=True, text=True)
        judge.holds(built.returncode == 0, name + ": is built", built.stderr)
        run, phases, facts, _ = recorded(name, mpi, 2, program, options=("--trace", "--start-paused"))
        job = shown(run)
        phases_agree(name, job, phases)
        judge.holds({phase["name"] for phase in job["phases"]} == {"5", "12"}, name + ": phases have numbers", str(job["phases"]))
        off = [row["run_seconds"] - row["recorded_seconds"] for row in job["by_rank"]]
        judge.holds(all(off[rank] >= 0.99 * facts[rank, "off"] - 1e-3 for rank in (0, 1)) and facts[0, "off"] > 0.02,
                    name + ": it starts paused", str(job["by_rank"]))


PARTS = (named, regions, page, paused, never, across, storm, beside, live, fortran)
for number, one in enumerate(trial.mpis(BUILD)):
    for part in PARTS:
        if part is not page or number == 0:  # a page is the same of any MPI
            part(one)
shutil.rmtree(WORK, ignore_errors=True)
sys.exit(judge.verdict())
