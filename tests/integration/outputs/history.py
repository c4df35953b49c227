#!/usr/bin/env python3
"""The page of mpit-jobs --html: the history of two programs, one of which takes longer from a known label on.

    history.py BUILD
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial
from htmldrawn import BROWSER, drawn, same, table_of

BUILD = os.path.abspath(sys.argv[1])
JOBS = BUILD + "/bin/mpit-jobs"
RANKS, SLOW_FROM, LABELS = 2, 5, [f"commit-{i}" for i in range(9)]
STEPS = [400, 400, 400, 400, 500, 3200, 3200, 3200, 3200]  # the last one before is the slowest of them: not yet the change


def recorded(mpi, work, name, label, *words):
    exported = {"MPIT_LABEL": label} if label else {}
    return trial.run([f"{BUILD}/bin/mpit-run", "--quiet", "--no-trace", "--output", f"{work}/runs/{name}", *trial.launcher(mpi, RANKS),
                      *words], 60, trial.environment(**exported), work).status


def judge_page(judge, mpi, jobs, page):
    root, console = drawn(page)
    judge.holds(not console, f"{mpi}: nothing goes wrong in the page", console)
    figures = root.having("data-figure")
    titles = [figure.text() for figure in figures]
    judge.holds(len(figures) == 2 and f"heat-{mpi}, 2 ranks" in titles[0] and f"pauses-{mpi}, 2 ranks" in titles[1], f"{mpi}: two programs", titles)
    slow = [job["job"] for job in jobs if job["label"] == LABELS[SLOW_FROM]]
    judge.holds([figure.attributes.get("data-change") for figure in figures] == [*slow, None], f"{mpi}: where it changed", [slow, titles])
    judge.holds(f"From {LABELS[SLOW_FROM]} on it takes" in titles[0] and "3 runs" in titles[1], f"{mpi}: and so it is said", titles)
    points = [len(plot.having("data-run")) for plot in figures[0].having("data-plot")]
    judge.holds(points == [len(LABELS)] * 2, f"{mpi}: a point for each run", points)
    rows = table_of(figures[0], "history")
    wanted = [job for job in jobs if job["label"]]  # the newest first
    judge.holds([row["texts"][0] for row in rows] == [job["label"] for job in wanted], f"{mpi}: the table", rows)
    for row, job in zip(rows, wanted):
        same("run time", row["seconds"], job["seconds"])
        same("efficiency", row["parallel_efficiency"], job["parallel_efficiency"])


def judge_all(judge, _, mpi, work):
    os.mkdir(f"{work}/runs")
    heat = [f"{BUILD}/tests/heat-{mpi}", "--rows", "512", "--columns", "512"]
    for i, label in enumerate(LABELS):
        judge.holds(recorded(mpi, work, f"{i}", label, *heat, "--steps", str(STEPS[i])) == 0, f"{mpi}: run {i}")
    for i in range(3):
        judge.holds(recorded(mpi, work, f"other-{i}", None, f"{BUILD}/tests/pauses-{mpi}", "named") == 0, f"{mpi}: another program, run {i}")
    listed = trial.run([JOBS, "--json", f"{work}/runs"], 60)
    jobs = json.loads(listed.out)["jobs"]
    judge.holds(sorted(job["label"] for job in jobs if job["label"]) == LABELS and {os.path.dirname(job["directory"]) for job in jobs} == {f"{work}/runs"},
                f"{mpi}: labels and directories in JSON", listed.out)
    made = trial.run([JOBS, "--html", f"{work}/page.html", f"{work}/runs"], 60)
    judge.holds(made.status == 0 and os.path.getsize(f"{work}/page.html") > 100000, f"{mpi}: the page is written", made)
    if BROWSER:
        judge_page(judge, mpi, jobs, f"{work}/page.html")
    else:
        judge.skip(f"{mpi}: the page is drawn", "there is no chromium")


judge = trial.Judge()
if not os.path.exists(JOBS):
    judge.skip("mpit-jobs", "this build has no SQLite, and so no mpit-jobs")
    sys.exit(judge.verdict())
trial.judge_mpis(BUILD, judge, judge_all)
