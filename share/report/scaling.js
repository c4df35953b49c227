/* How a program scales (mpit-dump --scaling): its efficiencies with more ranks. */

const FACTORS = [
  ["global", "ink", "global efficiency", (row) => row.global_efficiency],
  ["computation", "work", "computation scaling", (row) => row.computation_scaling],
  ["balance", "collective", "load balance", (row) => row.efficiency.load_balance],
  ["communication", "stall", "communication", (row) => row.efficiency.communication],
  ["serialization", "completion", "serialization", (row) => row.efficiency.serialization],
  ["transfer", "rma", "transfer", (row) => row.efficiency.transfer],
];

const SHARE_AXIS = {
  word: "efficiency",
  tick: (share) => Math.round(share * 100) + " %",
  text: textOfShare,
  least: 1
};

function factorsKnown(factors, rows) {
  return factors.filter(([, , , value]) => rows.some((row) => value(row) !== null));
}

function factorDraw(svg, rows, factor, axis, x, y) {
  const [key, colour, text, value] = factor, there = rows.filter((row) => value(row) !== null);
  svg.append(make("svg:path", {
    d: d3.line().x((row) => x(row.ranks)).y((row) => y(value(row)))(there),
    class: "line-" + colour,
    "data-factor": key,
  }));
  for (const row of there)
    svg.append(make("svg:circle", {
      cx: x(row.ranks),
      cy: y(value(row)),
      r: 4,
      class: "line-" + colour,
      tabindex: 0,
      role: "img",
      "data-tip": text + " " + axis.text(value(row)) + "\n" + textOfPairs(row.ranks, "rank", "ranks"),
      "aria-label": text + " " + axis.text(value(row)) + " with " + textOfPairs(row.ranks, "rank", "ranks"),
    }));
}

/* Of values in their order, those that have room on an axis. */
function valuesApart(values, x, room) {
  let last = -Infinity;
  return values.filter((value) => {
    const is = x(value) - last >= room;
    if (is) last = x(value);
    return is;
  });
}

/* One value of the rows, or several, against the number of ranks. */
function scalingDraw(rows, factors, axis, box) {
  const width = Math.max(280, box.clientWidth), height = 300, margin = {left: 64, right: 16, top: 22, bottom: 34};
  const right = width - margin.right;
  const most = d3.max(factors, ([, , , value]) => d3.max(rows, value)) || 1;
  const x = d3.scaleLog().domain([rows[0].ranks, rows[rows.length - 1].ranks]).range([margin.left + 8, right]);
  const y =
      d3.scaleLinear().domain([0, Math.max(axis.least, most)]).nice(5).range([height - margin.bottom, margin.top]);
  const svg =
      make("svg:svg", {viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": axis.word + " by ranks"});
  const shown = valuesApart(rows.map((row) => row.ranks), x, 40);
  axisPut(svg, d3.axisLeft(y).ticks(5).tickSize(-(right - margin.left)).tickFormat(axis.tick), margin.left, 0, true);
  axisPut(svg, d3.axisBottom(x).tickValues(shown).tickFormat(textOfCount).tickSizeOuter(0), 0, height - margin.bottom);
  axisTitles(svg, axis.word, "ranks", margin, right, height);
  for (const factor of factors) factorDraw(svg, rows, factor, axis, x, y);
  box.replaceChildren(svg);
}

function ranksGrown(rows) {
  return String(Number((rows[rows.length - 1].ranks / rows[0].ranks).toPrecision(3)));
}

function scalingFigure({scaling}) {
  const {rows} = scaling, last = rows[rows.length - 1], box = make("div", {"data-plot": "scaling"});
  const factors = factorsKnown(FACTORS, rows);
  drawn(() => scalingDraw(rows, factors, SHARE_AXIS, box));
  return figure(
      "scaling", scaling.scaling === "weak" ? "Weak scaling" : "Strong scaling",
      last.speedup === null ?
          "How the program scales" :
          "With " + ranksGrown(rows) + " times the ranks it is " + last.speedup.toFixed(2) + " times as fast",
      scaling.doubtful ?
          missing("The time that all ranks compute does not fit to " + scaling.scaling + " scaling: see scaling.md.") :
          null,
      legend(factors.map(([, colour, text]) => [colour, text])), box,
      table(
          "scaling",
          [
            {title: "Ranks", kind: "count", key: "ranks", value: (row) => row.ranks},
            {title: "Runs", kind: "count", key: "runs", value: (row) => row.runs},
            {title: "Run time", kind: "s", key: "seconds", value: (row) => row.seconds},
            {title: "Speedup", kind: "ratio", key: "speedup", value: (row) => row.speedup},
            ...factors.map(([key, , title, value]) => ({title, kind: "share", key, value})),
          ],
          rows, 40),
      note(
          "Of several runs with equally many ranks, medians. Global efficiency is the product of computation scaling, load " +
          "balance and communication; communication is the product of serialization and transfer. scaling.md defines them."));
}
