#!/usr/bin/env python3
"""The history page of mpit-jobs --html and of mpit-dump --html: two programs, one of which takes longer from a known label on,
and one that measures itself on more ranks. Then mpit-jobs --open.

    history.py BUILD
"""
import json
import os
import pathlib
import re
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import trial
from htmldrawn import BROWSER, drawn, same, table_of
from htmluse import Browser

BUILD = os.path.abspath(sys.argv[1])
JOBS, DUMP = BUILD + "/bin/mpit-jobs", BUILD + "/bin/mpit-dump"
TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common", "tools")
RANKS, SLOW_FROM, LABELS = 2, 5, [f"commit-{i}" for i in range(9)]
SLEPT_MS = [150, 150, 150, 150, 200, 900, 900, 900, 900]  # the last one before is the slowest of them: not yet the change


# What does not fit into the window, or covers what is beside it.
TIGHT = """(() => {
    const wrong = [], wide = document.documentElement.scrollWidth;
    if (wide > innerWidth) wrong.push('the page is ' + wide + ' wide');
    for (const svg of document.querySelectorAll('main svg')) {
        const box = svg.getBoundingClientRect();
        for (const text of svg.querySelectorAll('text')) {
            const is = text.getBoundingClientRect();
            if (is.left < box.left - 1 || is.right > box.right + 1 || is.top < box.top - 1 || is.bottom > box.bottom + 1)
                wrong.push('cut: ' + text.textContent);
        }
        for (const axis of svg.querySelectorAll('.axis')) {
            const boxes = [...axis.querySelectorAll('text')].map((text) => text.getBoundingClientRect());
            boxes.forEach((is, i) => {
                const last = boxes[i - 1];
                if (i && is.left < last.right && last.left < is.right && is.top < last.bottom && last.top < is.bottom)
                    wrong.push('labels ' + i + ' of ' + boxes.length + ' cover each other');
            });
        }
    }
    return wrong; })()"""


def recorded(mpi, work, name, label, *words, ranks=RANKS):
    exported = {"MPIT_LABEL": label} if label else {}
    return trial.run([f"{BUILD}/bin/mpit-run", "--quiet", "--no-trace", "--output", f"{work}/{name}", *trial.launcher(mpi, ranks),
                      *words], 60, trial.environment(**exported), work)


def document_of(page):
    with open(page, encoding="utf-8") as file:
        return json.loads(re.search(r'<script[^>]* id="document"[^>]*>(.*?)</script>', file.read(), re.DOTALL)[1])


def jobs_of(*words):
    listed = trial.run([JOBS, "--json", *words], 60)
    return json.loads(listed.out)["jobs"]


def judge_widths(judge, mpi, page):
    """Nothing is cut and nothing covers another in a wide window and on a narrow phone, light and dark."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser, wrong = Browser(profile), []
        try:
            browser.open(pathlib.Path(page).resolve().as_uri())
            for width in (1400, 400):
                for scheme in ("light", "dark"):
                    browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
                    browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                    browser.ask("Runtime.evaluate", expression="new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))", awaitPromise=True)
                    tight = browser.value(TIGHT)
                    tight += [] if browser.value("document.documentElement.dataset.theme") == scheme else ["the theme"]
                    wrong += [f"{width}, {scheme}: {text}" for text in tight]
        finally:
            browser.close()
    judge.check(f"{mpi}: {os.path.basename(page)} fits into 1400 and 400 pixels, light and dark", wrong)


def judge_page(judge, mpi, jobs, page):
    root, console = drawn(page)
    judge.holds(not console, f"{mpi}: nothing goes wrong in the page", console)
    figures = root.having("data-figure")
    titles = [figure.text() for figure in figures]
    judge.holds(len(figures) == 2 and f"scaled-{mpi}, 2 ranks" in titles[0] and f"pauses-{mpi}, 2 ranks" in titles[1], f"{mpi}: two programs", titles)
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
    program = f"{work}/scaled-{mpi}"  # it sleeps, so that a busy machine takes little longer
    built = trial.run([f"mpicc.{mpi}", f"{TOOLS}/scaled.c", "-o", program], 60)
    judge.holds(built.status == 0, f"{mpi}: scaled.c is built", built)
    for i, label in enumerate(LABELS):
        judge.holds(recorded(mpi, work, f"runs/{i}", label, program, "0", str(SLEPT_MS[i]), "0", "0").status == 0, f"{mpi}: run {i}")
    for i in range(3):
        judge.holds(recorded(mpi, work, f"runs/other-{i}", None, f"{BUILD}/tests/pauses-{mpi}", "named").status == 0, f"{mpi}: another program, run {i}")
    jobs = jobs_of(f"{work}/runs")
    judge.holds(sorted(job["label"] for job in jobs if job["label"]) == LABELS and {os.path.dirname(job["directory"]) for job in jobs} == {f"{work}/runs"},
                f"{mpi}: labels and directories in JSON", jobs)
    made = trial.run([JOBS, "--html", f"{work}/page.html", f"{work}/runs"], 60)
    judge.holds(made.status == 0 and os.path.getsize(f"{work}/page.html") > 100000, f"{mpi}: the page is written", made)
    if BROWSER:
        judge_page(judge, mpi, jobs, f"{work}/page.html")
        judge_widths(judge, mpi, f"{work}/page.html")
    else:
        judge.skip(f"{mpi}: the page is drawn", "there is no chromium")
    judge_named(judge, mpi, work)
    judge_open(judge, mpi, work, jobs)


def judge_named(judge, mpi, work):
    """mpit-dump makes the same page of the runs that are named, in any order; one of them twice."""
    def dump(*words):
        return trial.run([DUMP, *words], 60, trial.environment(), work)

    names = [f"runs/{name}" for name in sorted(os.listdir(f"{work}/runs"), reverse=True)]
    made = dump("--html", "named.html", *names, names[3])
    told, wanted = document_of(f"{work}/named.html"), document_of(f"{work}/page.html")
    judge.holds(made.status == 0 and made.out == "wrote named.html\n" and told["history"] == wanted["history"] and told["runs"] == [*names, names[3]],
                f"{mpi}: mpit-dump --html with the runs' names has the same rows", made)
    made = dump("--html", "runs/0", "runs/1")
    judge.holds(made.status == 0 and made.out == "wrote runs/0-1.html\n" and len(document_of(f"{work}/runs/0-1.html")["history"]) == 2,
                f"{mpi}: without a file it has the names of the first and the last run", made)
    os.remove(f"{work}/runs/0-1.html")
    made = dump("--html", "one.html", "runs/0")
    judge.holds(made.status == 0 and "summary" in document_of(f"{work}/one.html"), f"{mpi}: one run has its own page", made)
    os.mkdir(f"{work}/empty")
    made = dump("--html", "some.html", "runs/0", "empty", "there-is-none", "runs/1")
    judge.holds(made.status == 1 and "empty has no results of mpit" in made.err and "there-is-none cannot be read: No such file" in made.err and
                len(document_of(f"{work}/some.html")["history"]) == 2, f"{mpi}: what cannot be read is named and left out", made)
    made = dump("--html", "none.html", "empty", "there-is-none")
    judge.holds(made.status == 1 and "no run can be read" in made.err and not os.path.exists(f"{work}/none.html"), f"{mpi}: without any run there is no page", made)
    made = dump("--html", "part.html", "--ranks", "0", "runs/0", "runs/1")
    judge.holds(made.status == 2 and "are for the page of one run" in made.err, f"{mpi}: a part of several runs is refused", made)


def judge_open(judge, mpi, work, jobs):
    """mpit-jobs --open shows what mpit-dump shows of the job's file."""
    job, runs = next(job for job in jobs if job["label"] == LABELS[2]), f"{work}/runs"

    def opened(*words):
        return trial.run([JOBS, "--open", *words], 60, trial.environment(), work)
    wanted = trial.run([DUMP, job["source"]], 60, trial.environment(), work)
    for name in (job["job"], job["source"]):
        ended = opened(name, runs)
        judge.holds(ended.status == 0 and ended.out == wanted.out and job["source"] in ended.out, f"{mpi}: --open {name[-16:]}: the first screen", ended)
    ended = opened(job["job"], "--json", "--index", f"{work}/index", runs)
    judge.holds(ended.status == 0 and [one["job"] for one in json.loads(ended.out)["jobs"]] == [job["job"]], f"{mpi}: --open --json", ended)
    ended = opened(job["job"], "--html", "opened.html", "--index", f"{work}/index")
    judge.holds(ended.status == 0 and [one["job"] for one in document_of(f"{work}/opened.html")["summary"]["jobs"]] == [job["job"]],
                f"{mpi}: --open --html: its page, of an index", ended)
    ended = opened("no-such-job", runs)
    judge.holds(ended.status == 1 and "there is no job no-such-job" in ended.err, f"{mpi}: --open of a job that there is not", ended)
    ended = opened(job["job"], "--died", runs)
    judge.holds(ended.status == 2 and "--open takes no filter" in ended.err, f"{mpi}: --open with a filter", ended)


def judge_scaling(judge, _, mpi, work):
    """1, 2 and 4 ranks: two runs with 2, and with 4 also one whose processes die early."""
    program, measured = f"{work}/scaled-{mpi}", {}
    for name, ranks, extra in (("slow", 2, 400), ("1", 1, 0), ("2", 2, 100), ("4", 4, 100)):
        ended = recorded(mpi, work, f"scaled/{name}", None, program, "800", "100", "20", str(extra), ranks=ranks)
        judge.holds(ended.status == 0, f"{mpi}: scaled on {ranks}", ended)
        figures = [tuple(map(float, line.split()[2:])) for line in ended.out.splitlines() if line.startswith("measured")]
        useful = [figure[1] for figure in figures]
        measured[name] = max(run for run, _ in figures), statistics.mean(useful), max(useful)
    recorded(mpi, work, "scaled/died", None, "sh", "-c", '"$@" & sleep 0.5; kill -9 $!; wait', "sh", program, "0", "20000", "0", "0", ranks=4)
    jobs = jobs_of(f"{work}/scaled")
    judge.holds(sorted((job["size"], job["ended_badly"] > 0) for job in jobs) == [(1, False), (2, False), (2, False), (4, False), (4, True)],
                f"{mpi}: five runs of it, one died", jobs)
    made = trial.run([DUMP, "--html", "scaling.html", *(f"scaled/{name}" for name in ("4", "died", "1", "slow", "2"))], 60, trial.environment(), work)
    if not judge.holds(made.status == 0, f"{mpi}: the page of its runs", made) or not BROWSER:
        return
    root, console = drawn(f"{work}/scaling.html")
    figures = {figure.attributes["data-figure"]: figure for figure in root.having("data-figure")}
    judge.holds(not console and list(figures)[0].startswith("scaling-") and len(figures) == 4, f"{mpi}: scaling before three histories", [list(figures), console])
    plots = sorted(len(figure.having("data-plot")) for name, figure in figures.items() if name.startswith("history-"))
    judge.holds(plots == [0, 2, 2], f"{mpi}: a number of ranks with one run has a table alone", plots)
    scaling = next(iter(figures.values()))
    rows, wrong = table_of(scaling, "scaling"), []
    for row, (name, ranks, count) in zip(rows, (("1", 1, 1), ("2", 2, 2), ("4", 4, 1))):
        run, mean, most = measured[name]
        wanted = {"ranks": ranks, "runs": count, "seconds": run, "parallel": mean / run, "balance": mean / most, "communication": most / run}
        wrong += [f"{key} with {ranks}: {row[key]}, measured {value}" for key, value in wanted.items() if abs(row[key] - value) > 0.02 * value]
    judge.check(f"{mpi}: time and efficiencies are those that the program measured, of two runs the shorter one", wrong + ([] if len(rows) == 3 else [rows]))
    lines = [[line.attributes["data-factor"] for line in plot.having("data-factor")] for plot in scaling.having("data-plot")]
    points = [len([one for one in plot.tagged("circle") if "data-tip" in one.attributes]) for plot in scaling.having("data-plot")]
    judge.holds(lines == [["seconds"], ["parallel", "balance", "communication"]] and points == [3, 9], f"{mpi}: a line for each, and a point for each number of ranks",
                [lines, points])
    times = measured["4"][0] / measured["1"][0]
    told = re.search(r"With 4 times the ranks it takes (\d\.\d\d) times as long", scaling.text())
    judge.holds(told and abs(float(told[1]) - times) < 0.02, f"{mpi}: the heading", [scaling.text()[:200], times])
    judge_widths(judge, mpi, f"{work}/scaling.html")


judge = trial.Judge()
if not os.path.exists(JOBS):
    judge.skip("mpit-jobs", "this build has no SQLite, and so no mpit-jobs")
    sys.exit(judge.verdict())
trial.judge_mpis(BUILD, judge, judge_all, judge_scaling)
