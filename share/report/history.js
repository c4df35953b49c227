/* A program over its runs (mpit-jobs --html): run time and efficiency by date or label, and where they changed. */

const HISTORY = {
  around: 10,
  least: 3,
  differs: 1.05,
  programs: 24,
  height: 240
};

function runName(run) {
  return run.label || (run.begin ? d3.timeFormat("%Y-%m-%d %H:%M")(new Date(run.begin * 1000)) : run.job);
}

function runEndedWell(run) {
  return !run.ended_badly && run.ranks >= run.size && run.seconds !== null;
}

/* The runs of a program with one number of ranks, in the order of time. */
function historiesOf(jobs) {
  const groups =
      d3.groups(jobs, (run) => run.program + "\n" + run.size).map(([, runs]) => d3.sort(runs, (run) => run.begin || 0));
  return d3.sort(groups, (runs) => -runs.length);
}

/* The first run of those that all take longer, or all shorter, than those before: where the two sets lie furthest
   apart. null: there is none. */
function historyChange(runs) {
  const well = runs.filter(runEndedWell);
  let best = null;
  for (let i = HISTORY.least; i + HISTORY.least <= well.length; i++) {
    const before = well.slice(Math.max(0, i - HISTORY.around), i).map((run) => run.seconds);
    const after = well.slice(i, i + HISTORY.around).map((run) => run.seconds);
    const apart = Math.max(d3.min(after) / d3.max(before), d3.min(before) / d3.max(after));
    const times = d3.median(after) / d3.median(before), size = Math.max(times, 1 / times);
    if (apart > 1 && size > HISTORY.differs && (!best || apart > best.apart)) best = {run: well[i], times, apart};
  }
  return best;
}

function historyTitle(runs, change) {
  if (!change) return textOfPairs(runs.length, "run", "runs");
  return "From " + runName(change.run) + " on it takes " + change.times.toFixed(2) + " times as long";
}

function runTip(run) {
  return [
    runName(run),
    run.seconds === null ? "no run time" : textsOf.s(run.seconds),
    run.parallel_efficiency === null ? null : "efficiency " + textOfShare(run.parallel_efficiency),
    run.ended_badly          ? "processes died" :
        run.ranks < run.size ? "incomplete" :
                               run.finding,
  ].filter((line) => line)
      .join("\n");
}

function historyDraw(runs, change, value, format, word, box) {
  const width = Math.max(280, box.clientWidth), height = HISTORY.height;
  const margin = {left: 64, right: 16, top: 22, bottom: 34}, right = width - margin.right;
  const x = d3.scaleLinear().domain([0, Math.max(1, runs.length - 1)]).range([margin.left + 8, right]);
  const y = d3.scaleLinear().domain([0, d3.max(runs, value) || 1]).nice(4).range([height - margin.bottom, margin.top]);
  const svg = make("svg:svg", {viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": word + " of the runs"});
  const step = labelStep(runs.length, (width - margin.left) / 96), shown = d3.range(0, runs.length, step);
  axisPut(svg, d3.axisLeft(y).ticks(4).tickSize(-(right - margin.left)).tickFormat(format), margin.left, 0, true);
  axisPut(
      svg, d3.axisBottom(x).tickValues(shown).tickFormat((i) => runName(runs[i]).slice(0, 12)).tickSizeOuter(0), 0,
      height - margin.bottom);
  axisTitles(svg, word, "run", margin, right, height);
  if (change) {
    const at = x(runs.indexOf(change.run) - 0.5);
    svg.append(make("svg:line", {class: "mean", x1: at, x2: at, y1: margin.top, y2: height - margin.bottom}));
  }
  runs.forEach((run, i) => value(run) === null ? null : svg.append(make("svg:circle", {
    cx: x(i),
    cy: y(value(run)),
    r: 4,
    class: runEndedWell(run) ? "line-work" : "line-stall",
    tabindex: 0,
    role: "img",
    "data-run": run.job,
    "data-tip": runTip(run),
    "aria-label": runTip(run),
  })));
  box.replaceChildren(svg);
}

function historyTable(runs) {
  return table(
      "history",
      [
        {title: "Run", kind: "text", value: runName},
        {title: "Run time", kind: "s", key: "seconds", value: (run) => run.seconds},
        {title: "In MPI", kind: "share", key: "mpi_share", value: (run) => run.mpi_share},
        {title: "Efficiency", kind: "share", key: "parallel_efficiency", value: (run) => run.parallel_efficiency},
        {title: "First finding", kind: "text", value: (run) => run.ended_badly ? "processes died" : run.rule || ""},
        {title: "Directory", kind: "text", value: (run) => run.directory || ""},
      ],
      [...runs].reverse(), 10);
}

function historySection(runs, i) {
  const change = historyChange(runs), time = make("div", {"data-plot": "seconds"}),
        share = make("div", {"data-plot": "efficiency"});
  drawn(() => {
    historyDraw(runs, change, (run) => run.seconds, (s) => tickOfNs(s * 1e9), "run time", time);
    historyDraw(
        runs, change, (run) => run.parallel_efficiency, (part) => Math.round(part * 100) + " %", "efficiency", share);
  });
  const section = figure(
      "history-" + i, runs[0].program + ", " + textOfPairs(runs[0].size, "rank", "ranks"), historyTitle(runs, change),
      legend([["work", "a run"], ["stall", "processes died, or ranks are missing"]]), time, share, historyTable(runs),
      change ?
          note(
              "The line: up to " + HISTORY.around + " runs after it all take longer, or all shorter, than as many " +
              "before it, and the medians differ by 5 % or more.") :
          null);
  if (change) section.dataset.change = change.run.job;
  return section;
}

function historyFigures({history}) {
  return historiesOf(history)
      .slice(0, HISTORY.programs)
      .map((runs, i) => ["history-" + i, runs[0].program + " " + runs[0].size, () => historySection(runs, i)]);
}
