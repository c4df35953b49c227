#!/usr/bin/env python3
"""What the threads of OpenMP do, against a program that counts for itself; with LLVM's runtime, and with others that are here.

    teams.py BUILD
"""
import contextlib
import json
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "outputs"))
import htmldrawn
import trial

BUILD = os.path.abspath(sys.argv[1])
KINDS = "serial imbalance turns starts funneled multiple tasks critical ordered forks inner whole before".split()
FIGURES = "run parallel useful mpi_out mpi_in serial imbalance overhead".split()
RANKS, POINTS = 2, 0.02
# The finding of a kind, and the function with the region.
FOUND = {"serial": ("serial_part", "region_even"), "imbalance": ("openmp_imbalance", "region_uneven"), "turns": ("openmp_overhead", "region_turns"),
         "critical": ("openmp_overhead", "region_critical")}


def environment(runtime):
    """Threads that wait sleep at once: there are fewer processors than threads."""
    more = {"KMP_BLOCKTIME": "0", "OMP_NUM_THREADS": "2"}
    return trial.environment(**more, **({"LD_LIBRARY_PATH": runtime} if runtime else {}))


def program(mpi, runtime):
    """That of gcc for a runtime that stands for gcc's."""
    return f"{BUILD}/tests/teams{'-gcc' if runtime and os.path.exists(runtime + '/libgomp.so.1') else ''}-{mpi}"


def stand_in(mpi, work):
    """A directory with LLVM's runtime under the name of gcc's."""
    found = re.search(r"libomp\S* => (\S+)", trial.run(["ldd", f"{BUILD}/tests/teams-{mpi}"], 20).out)
    os.makedirs(f"{work}/gomp", exist_ok=True)
    os.symlink(found[1], f"{work}/gomp/libgomp.so.1")
    return f"{work}/gomp"


def record(mpi, kind, runtime, run, work):
    return trial.run([f"{BUILD}/bin/mpit-run", "--no-trace", "--output", run, *trial.launcher(mpi, RANKS), program(mpi, runtime), kind],
                     60, environment(runtime), work)


def shares(row, truth, threads):
    """Of the thread time of the run, as the program has it and as mpit has it."""
    run = truth["run"] * threads
    mpi_out = row["mpi_seconds"] - row["openmp_mpi_seconds"]
    told = {"parallel": row["openmp_parallel_seconds"] * threads, "useful": row["openmp_useful_seconds"], "mpi_out": mpi_out * threads,
            "mpi_in": row["openmp_mpi_seconds"], "serial": row["openmp_serial_seconds"], "imbalance": row["openmp_imbalance_seconds"],
            "overhead": row["openmp_overhead_seconds"]}
    wanted = dict(truth, parallel=truth["parallel"] * threads, mpi_out=truth["mpi_out"] * threads)
    return {name: (told[name] * 1e6 / run, wanted[name] / run) for name in told}


def judge_rank(judge, name, row, truth):
    threads = truth["threads"]
    judge.holds(row["openmp_threads"] == threads, f"{name}: threads", row)
    parts = row["openmp_useful_seconds"] + row["openmp_mpi_seconds"] + row["openmp_serial_seconds"] + row["openmp_imbalance_seconds"] + \
        row["openmp_overhead_seconds"] + threads * (row["mpi_seconds"] - row["openmp_mpi_seconds"])
    judge.holds(abs(parts / threads / row["run_seconds"] - 1) < 0.005, f"{name}: the parts are the whole", [parts, row])


def tree(job, truths):
    """Efficiencies, and what the program's own sums give."""
    is_ = job["efficiency"]
    sums = {figure: sum(truth[figure] * (truth["threads"] if figure in ("run", "mpi_out") else 1) for truth in truths) for figure in FIGURES}
    outside = sums["run"] - sums["mpi_out"] - sums["mpi_in"]
    longest = max(truth["run"] for truth in truths) * sum(truth["threads"] for truth in truths)
    wanted = {"parallel": sums["useful"] / longest, "mpi": outside / longest, "openmp": sums["useful"] / outside,
              "openmp_serial": 1 - sums["serial"] / outside,
              "openmp_balance": (outside - sums["serial"] - sums["imbalance"]) / (outside - sums["serial"]),
              "openmp_scheduling": sums["useful"] / (outside - sums["serial"] - sums["imbalance"])}
    return {figure: (is_[figure], value) for figure, value in wanted.items()}


def judge_tree(judge, name, job):
    is_ = job["efficiency"]
    judge.holds(abs(is_["parallel"] - is_["mpi"] * is_["openmp"]) < 1e-6
                and abs(is_["openmp"] - is_["openmp_serial"] * is_["openmp_balance"] * is_["openmp_scheduling"]) < 1e-6, f"{name}: products", is_)


def measured(mpi, kind, runtime, run, work):
    """-> how it ended, the job, and each figure with what it should be."""
    ended, truths, figures = record(mpi, kind, runtime, run, work), {}, {}
    for numbers in re.findall("teams ([0-9 -]+)", ended.out):
        rank, threads, *values = map(int, numbers.split())
        truths[rank] = dict(zip(FIGURES, values), threads=threads)
    job = json.loads(trial.run([f"{BUILD}/bin/mpit-dump", "--json", run], 20).out)["jobs"][0]
    if len(truths) == RANKS == len(job["by_rank"]):
        figures = {f"efficiency {figure}": pair for figure, pair in tree(job, list(truths.values())).items()}
        for row in job["by_rank"]:
            pairs = shares(row, truths[row["rank"]], truths[row["rank"]]["threads"])
            figures.update({f"rank {row['rank']}: {figure}": pair for figure, pair in pairs.items()})
    return ended, truths, job, figures


def judge_database(judge, name, job, run):
    trial.run([f"{BUILD}/bin/mpit-dump", "--sqlite", f"{run}.sqlite", run], 20)
    with contextlib.closing(sqlite3.connect(f"{run}.sqlite")) as base:
        stored = base.execute("SELECT openmp_efficiency, openmp_serial FROM jobs").fetchone()
        regions = base.execute("SELECT function, line, count, imbalance_ns FROM parallel_regions WHERE function LIKE 'region%'").fetchall()
    wanted = job["efficiency"]["openmp"], job["efficiency"]["openmp_serial"]
    judge.holds(all(abs(a - b) < 1e-6 for a, b in zip(stored, wanted)) and regions and regions[0][1] > 0, f"{name}: database",
                [stored, wanted, regions])


def judge_page(judge, name, job, run):
    if not htmldrawn.BROWSER:
        judge.skip(f"{name}: page", "no chromium")
        return
    trial.run([f"{BUILD}/bin/mpit-dump", "--html", f"{run}.html", run], 60)
    root, console = htmldrawn.drawn(f"{run}.html")
    shown = {one.attributes["data-efficiency"]: htmldrawn.number_told(one) for one in root.having("data-efficiency")}
    judge.holds(not console and all(abs(shown[key] - job["efficiency"][key]) < 1e-3 for key in ("parallel", "mpi", "openmp", "openmp_balance")),
                f"{name}: efficiencies of the page", [shown, console])
    table = htmldrawn.table_of(root, "parallel")
    judge.holds(len(table) == len(job["parallel_regions"]) and "region_uneven" in table[0]["texts"][0]
                and abs(table[0]["imbalance_ns"] - job["parallel_regions"][0]["imbalance_ns"]) < 1, f"{name}: regions of the page", table)


def judge_kind(judge, mpi, kind, runtime, work):
    """Other load may take the processor between the program's clock and mpit's: three runs at the most."""
    name, base = f"{mpi} {kind} {runtime or 'default'}", f"{work}/{kind}{(runtime or '').replace('/', '-')}"
    for turn in range(3):
        run = f"{base}-{turn}"
        ended, truths, job, figures = measured(mpi, kind, runtime, run, work)
        if figures and all(abs(told - wanted) < POINTS for told, wanted in figures.values()):
            break
    judge.holds(ended.status == 0 and figures, f"{name}: runs", ended)
    for figure, (told, wanted) in figures.items():
        judge.holds(abs(told - wanted) < POINTS, f"{name}: {figure}", f"{told:.4f} and not {wanted:.4f}")
    full = trial.run([f"{BUILD}/bin/mpit-dump", "--full", run], 20).out
    screen = trial.run([f"{BUILD}/bin/mpit-dump", run], 20).out
    for row in job["by_rank"]:
        judge_rank(judge, f"{name}: rank {row['rank']}", row, truths[row["rank"]])
    judge_tree(judge, name, job)
    judge.holds("= MPI" in full and "x OpenMP" in full and "= MPI" in screen and len(screen.splitlines()) <= 24, f"{name}: screen", screen)
    judge.holds(not any(finding["rule"] == "idle_threads" for finding in job["findings"]), f"{name}: no guess", job["findings"])
    if kind not in FOUND:
        return
    rule, place = FOUND[kind]
    if job["not_judged"]:
        judge.skip(f"{name}: {rule}", job["not_judged"])
    else:
        found = [finding for finding in job["findings"] if finding["rule"] == rule]
        judge.holds(found and "teams.c:" in found[0]["text"] and place in found[0]["text"], f"{name}: {rule}", job["findings"])
    regions = [region for region in job["parallel_regions"] if region["function"] == place]
    judge.holds(len(regions) == 1 and regions[0]["count"] == RANKS * 10, f"{name}: region", job["parallel_regions"])
    judge_database(judge, name, job, run)
    if kind == "imbalance" and not runtime:
        judge_page(judge, name, job, run)


def judge_cores(judge, mpi, work):
    """GCC's runtime reports nothing."""
    run = f"{work}/gcc"
    more = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
    ended = trial.run([f"{BUILD}/bin/mpit-run", "--output", run, *trial.launcher(mpi, 1, options=("--bind-to", "none")), f"{BUILD}/tests/teams-gcc-{mpi}",
                       "spin"], 60, trial.environment(**more), work)
    job = json.loads(trial.run([f"{BUILD}/bin/mpit-dump", "--json", run], 20).out)["jobs"][0]
    full = trial.run([f"{BUILD}/bin/mpit-dump", "--full", run], 20).out
    row, found = job["by_rank"][0], re.search(r"cores 0 (\d+) (\d+)", ended.out)
    used = int(found[2]) / int(found[1]) if found else 0
    if row["cores_used"] is None and 0 < used < 0.5:
        judge.skip(f"{mpi} gcc: cores used", "other programs take the processors")
        return
    bounds = row["cores_used"] or {"least": 0, "most": 0}
    judge.holds(bounds["least"] - POINTS <= used <= bounds["most"] + POINTS and bounds["most"] - bounds["least"] < 2 * POINTS,
                f"{mpi} gcc: cores used", [used, row])
    judge.holds("cores used" in full and "balance" not in full.split("cores used")[1].split("\n")[0] and "(MPI alone)" in full, f"{mpi} gcc: --full", full)
    judge.holds(row["openmp_threads"] is None and job["efficiency"]["openmp"] is None and not job["parallel_regions"], f"{mpi} gcc: no more", row)


def loaded(mpi, mpit, work):
    """The libraries of a program without OpenMP."""
    words = [f"{BUILD}/bin/mpit-run", "--output", f"{work}/none"] if mpit else []
    ended = trial.run([*words, *trial.launcher(mpi, 1), "sh", "-c", f"LD_DEBUG=files exec {BUILD}/tests/rounds-{mpi}"], 60, trial.environment(), work)
    return {os.path.basename(path) for path in re.findall(r"calling init: (\S+)", ended.err)}


def judge_without(judge, mpi, work):
    with_mpit, without = loaded(mpi, True, work), loaded(mpi, False, work)
    more = {name for name in with_mpit - without if not name.startswith("libmpit")}
    judge.holds(without and "libmpit.so" in with_mpit and not [name for name in more if "omp" in name], f"{mpi}: a program without OpenMP loads nothing for it", more)


def judge_other(judge, mpi, work):
    """Another tool keeps the runtime, however it comes."""
    tool = f"{BUILD}/lib/libotherompt.so"
    for name, more in (("preloaded", {"LD_PRELOAD": tool}), ("named", {"OMP_TOOL_LIBRARIES": tool})):
        run = f"{work}/other-{name}"
        ended = trial.run([f"{BUILD}/bin/mpit-run", "--output", run, *trial.launcher(mpi, 1, exported=more), f"{BUILD}/tests/teams-{mpi}", "starts"],
                          60, environment(None), work)
        job = json.loads(trial.run([f"{BUILD}/bin/mpit-dump", "--json", run], 20).out)["jobs"][0]
        judge.holds("otherompt: 2001 regions" in ended.err, f"{mpi}: another tool, {name}, works", ended)
        judge.holds(job["by_rank"][0]["openmp_threads"] is None and job["calls"], f"{mpi}: another tool, {name}: no figures of OpenMP", job["by_rank"])


def judge_all(judge, _, mpi, work):
    judge_cores(judge, mpi, work)
    judge_without(judge, mpi, work)
    if not os.path.exists(f"{BUILD}/tests/teams-{mpi}"):
        judge.skip(f"{mpi}: runtimes that report", "clang or libomp-dev is missing")
        return
    judge_other(judge, mpi, work)
    # LLVM's of the system, more of them, and that runtime for a program of gcc
    for runtime in [None, *filter(None, os.environ.get("TEST_LIBOMP", "").split(":"))]:
        for kind in KINDS:
            judge_kind(judge, mpi, kind, runtime, work)
    gomp = stand_in(mpi, work)
    for kind in ("serial", "imbalance", "turns", "tasks", "multiple"):
        judge_kind(judge, mpi, kind, gomp, work)


trial.judge_mpis(BUILD, trial.Judge(), judge_all)
