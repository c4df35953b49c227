/* A program over its runs (--html of mpit-jobs, and of mpit-dump with several runs): run time and efficiency by date or
   label, where they changed, and how they scale. */

const HISTORY = {
  around: 10,
  least: 3,
  differs: 1.05,
  programs: 24,
  height: 240
};

function runName(run, date = "%Y-%m-%d %H:%M") {
  return run.label || (run.begin ? d3.timeFormat(date)(new Date(run.begin * 1000)) : run.job);
}

/* On an axis, in little room. */
function runTick(run) {
  return runName(run, "%m-%d %H:%M").slice(0, 12);
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
    run.directory,
  ].filter((line) => line)
      .join("\n");
}

function historyDraw(runs, change, value, format, word, box) {
  const width = Math.max(280, box.clientWidth), height = HISTORY.height;
  const margin = {left: 64, right: 46, top: 22, bottom: 34}, right = width - margin.right;
  const x = d3.scaleLinear().domain([0, Math.max(1, runs.length - 1)]).range([margin.left + 8, right]);
  const y = d3.scaleLinear().domain([0, d3.max(runs, value) || 1]).nice(4).range([height - margin.bottom, margin.top]);
  const svg = make("svg:svg", {viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": word + " of the runs"});
  const step = labelStep(runs.length, (right - margin.left) / 96), shown = d3.range(0, runs.length, step);
  axisPut(svg, d3.axisLeft(y).ticks(4).tickSize(-(right - margin.left)).tickFormat(format), margin.left, 0, true);
  axisPut(
      svg, d3.axisBottom(x).tickValues(shown).tickFormat((i) => runTick(runs[i])).tickSizeOuter(0), 0,
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
        {title: "Run", kind: "text", value: (run) => runName(run)},
        {title: "Run time", kind: "s", key: "seconds", value: (run) => run.seconds},
        {title: "In MPI", kind: "share", key: "mpi_share", value: (run) => run.mpi_share},
        {title: "Efficiency", kind: "share", key: "parallel_efficiency", value: (run) => run.parallel_efficiency},
        {title: "First finding", kind: "text", value: (run) => run.ended_badly ? "processes died" : run.rule || ""},
        {title: "Directory", kind: "text", value: (run) => run.directory || ""},
      ],
      [...runs].reverse(), 10);
}

/* A single run has only its row in the table. */
function historyPlots(runs, change) {
  const time = make("div", {"data-plot": "seconds"}), share = make("div", {"data-plot": "efficiency"});
  if (runs.length === 1) return [];
  drawn(() => {
    historyDraw(runs, change, (run) => run.seconds, (s) => tickOfNs(s * 1e9), "run time", time);
    historyDraw(
        runs, change, (run) => run.parallel_efficiency, (part) => Math.round(part * 100) + " %", "efficiency", share);
  });
  return [legend([["work", "a run"], ["stall", "processes died, or ranks are missing"]]), time, share];
}

function historySection(runs, i) {
  const change = historyChange(runs);
  const section = figure(
      "history-" + i, runs[0].program + ", " + textOfPairs(runs[0].size, "rank", "ranks"), historyTitle(runs, change),
      historyPlots(runs, change), historyTable(runs),
      change ?
          note(
              "The line: up to " + HISTORY.around + " runs after it all take longer, or all shorter, than as many " +
              "before it, and the medians differ by 5 % or more.") :
          null);
  if (change) section.dataset.change = change.run.job;
  return section;
}

/* ---- more ranks -------------------------------------------------------------------------------------------------- */

const HISTORY_FACTORS = [
  ["parallel", "ink", "parallel efficiency", (row) => row.parallel_efficiency],
  ["balance", "collective", "load balance", (row) => row.load_balance],
  ["communication", "stall", "communication", (row) => row.communication_efficiency],
];
const TIME_FACTORS = [["seconds", "work", "run time", (row) => row.seconds]];
const TIME_AXIS = {
  word: "run time",
  tick: (seconds) => tickOfNs(seconds * 1e9),
  text: textsOf.s,
  least: 0
};

/* For each number of ranks the run with the median time. Of two, the shorter one. */
function historyRows(jobs, program) {
  const well = jobs.filter((run) => run.program === program && run.size > 0 && runEndedWell(run));
  const rows = d3.groups(well, (run) => run.size).map(([ranks, runs]) => {
    const sorted = d3.sort(runs, (run) => run.seconds);
    return {...sorted[Math.floor((sorted.length - 1) / 2)], ranks, runs: runs.length};
  });
  return d3.sort(rows, (row) => row.ranks);
}

function historyScaling(rows, id) {
  const time = make("div", {"data-plot": "scaling-time"}), share = make("div", {"data-plot": "scaling"});
  const factors = factorsKnown(HISTORY_FACTORS, rows), last = rows[rows.length - 1];
  drawn(() => {
    scalingDraw(rows, TIME_FACTORS, TIME_AXIS, time);
    if (factors.length) scalingDraw(rows, factors, SHARE_AXIS, share);
  });
  return figure(
      id, rows[0].program + ", " + rows[0].ranks + " to " + textOfPairs(last.ranks, "rank", "ranks"),
      "With " + ranksGrown(rows) + " times the ranks it takes " + (last.seconds / rows[0].seconds).toFixed(2) +
          " times as long",
      legend([...TIME_FACTORS, ...factors].map(([, colour, text]) => [colour, text])), time, share,
      table(
          "scaling",
          [
            {title: "Ranks", kind: "count", key: "ranks", value: (row) => row.ranks},
            {title: "Runs", kind: "count", key: "runs", value: (row) => row.runs},
            {title: "Run time", kind: "s", key: "seconds", value: (row) => row.seconds},
            ...factors.map(([key, , title, value]) => ({title, kind: "share", key, value})),
            {title: "Run", kind: "text", value: (run) => runName(run)},
          ],
          rows, 40),
      note(
          "Of each number of ranks the run with the median time, of two the shorter one. Runs in which processes died, or " +
          "ranks are missing, are left out. mpit does not know how much work a run had. mpit-dump --scaling has more."));
}

/* The scaling of a program stands before the first of its histories. */
function historyFigures({history}) {
  const known = new Set();
  return historiesOf(history).slice(0, HISTORY.programs).flatMap((runs, i) => {
    const {program, size} = runs[0], rows = known.has(program) ? [] : historyRows(history, program);
    const scaling = ["scaling-" + i, program + " by ranks", () => historyScaling(rows, "scaling-" + i)];
    known.add(program);
    return [
      ...(rows.length > 1 ? [scaling] : []), ["history-" + i, program + " " + size, () => historySection(runs, i)]
    ];
  });
}
