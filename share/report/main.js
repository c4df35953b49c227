/* Puts the page together: one job at a time. */

const FIGURES = [
  ["overview", "Overview", overviewFigure],
  ["findings", "Findings", findingsFigure],
  ["passes", "Passes", passesFigure],
  ["timeline", "Timeline", timelineFigure],
  ["callsites", "Call sites", callsitesFigure],
  ["phases", "Phases", phasesFigure],
  ["parallel", "Threads", parallelFigure],
  ["waits", "Waits", waitsFigure],
  ["segments", "Segments", segmentsFigure],
  ["ranks", "Ranks", ranksFigure],
  ["functions", "Functions", functionsFigure],
  ["matrix", "Pairs", matrixFigure],
  ["nodes", "Nodes", nodesFigure],
  ["sizes", "Sizes", sizesFigure],
  ["communicators", "Communicators", commsFigure],
  ["samples", "Samples", samplesFigure],
  ["counters", "Counters", countersFigure],
  ["fabric", "Fabric", fabricFigure],
  ["instruments", "Instruments", instrumentsFigure],
];

const DIFFERENCE_FIGURES = [
  ["overview", "Overview", differenceOverview],
  ["counts", "Counts", countsFigure],
  ["changes", "Changes", changesFigure],
];

const SCALING_FIGURES = [["scaling", "Scaling", scalingFigure]];

/* The call sites of a job are in its summary. Other parts have their numbers there, and lists of further ones. */
function jobOf(summary, job) {
  for (const part of [job.analysis, job.timeline.calls])
    if (part && part.callsites) part.callsites = [...(summary.callsites || []), ...part.callsites];
  return {summary, ...job};
}

function jobsOf(document_) {
  return document_.summary.jobs.map((summary, i) => jobOf(summary, document_.jobs[i]));
}

function redrawAll() {
  drawings.forEach((draw) => draw());
}

/* `subject` is a job, or the document of a comparison or of --scaling. */
function figuresShow(figures, subject, title) {
  drawings.length = 0;
  tipHide();
  const shown = figures.map(([id, word, build]) => [id, word, build(subject)]).filter(([, , section]) => section);
  document.getElementById("figures").replaceChildren(...shown.map(([, , section]) => section));
  document.getElementById("contents").replaceChildren(...shown.map(([id, word]) => make("a", {href: "#" + id}, word)));
  document.title = title + " – mpit";
  redrawAll();
}

function jobShow(job) {
  figuresShow(FIGURES, job, (job.summary.program || "run").split("/").pop());
}

function themeSet(theme) {
  document.documentElement.dataset.theme = theme;
  document.getElementById("theme").textContent = theme === "dark" ? "Light" : "Dark";
  redrawAll();
}

function themeListen() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null, before = null;
  const current = () => chosen || (system.matches ? "dark" : "light");
  system.addEventListener("change", () => themeSet(current()));
  document.getElementById("theme").addEventListener("click", () => {
    chosen = current() === "dark" ? "light" : "dark";
    themeSet(chosen);
  });
  addEventListener("beforeprint", () => {
    before = current();
    themeSet("light");
  });
  addEventListener("afterprint", () => themeSet(before || current()));
  themeSet(current());
}

function resizeListen() {
  let width = innerWidth, waiting = 0;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(redrawAll);
  });
}

/* Shows a job, with a choice if there are several. */
function jobsShow() {
  const jobs = jobsOf(page), select = document.getElementById("job");
  if (jobs.length > 1) {
    document.getElementById("job-choice").hidden = false;
    jobs.forEach(
        (job, i) => select.append(make(
            "option", {value: i},
            i + 1 + " of " + jobs.length + ": " + (job.summary.program || "").split("/").pop() + ", " +
                textOfPairs(job.summary.world_size, "rank", "ranks"))));
    select.addEventListener("change", () => jobShow(jobs[Number(select.value)]));
  }
  const asked = Number((/[?&]job=(\d+)/.exec(location.search) || [])[1] || 1);
  const shown = asked >= 1 && asked <= jobs.length ? asked - 1 : 0;
  select.value = String(shown);
  if (jobs.length) jobShow(jobs[shown]);
}

function start() {
  const name = page.difference ? runsText(page) : page.scaling || page.history ? page.runs.join(", ") : page.run;
  document.getElementById("run-name").textContent = name;
  document.getElementById("made-by").textContent = "Made by mpit " + page.mpit +
      " (--html). Point at a figure, or reach it with the Tab key, for exact numbers; " +
      (page.difference  ? "diff.md" :
           page.scaling ? "scaling.md" :
           page.history ? "jobs.md" :
                          "report.md") +
      " in mpit's documentation defines all of them.";
  themeListen();
  tipsListen();
  if (page.difference)
    figuresShow(DIFFERENCE_FIGURES, page, name);
  else if (page.scaling)
    figuresShow(SCALING_FIGURES, page, name);
  else if (page.history)
    figuresShow(historyFigures(page), page, name);
  else
    jobsShow();
  resizeListen();
}

/* What looks at the page from outside finds here that it is whole, and what went wrong. */
function finished() {
  document.documentElement.dataset.errors = JSON.stringify(errors);
  document.documentElement.dataset.loaded = String(performance.getEntriesByType("resource").length);
  document.documentElement.dataset.drawn = "yes";
}

try {
  start();
} catch (error) {
  errors.push(String(error && error.stack || error));
  document.getElementById("figures").prepend(missing("This page could not be drawn: " + error));
}
finished();
