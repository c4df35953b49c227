/* Passes of the program's loop: how long each takes, and what ranks do in it. */

const PASS_KINDS = [
  ["out", "computing", "computing_seconds"], ["off", "outside of MPI, without a processor", "off_seconds"],
  ["work", "at work in MPI", "work_seconds"], ["stall", "stalled in MPI", "stalled_seconds"]
];

function passesName(window_) {
  return window_.first === window_.last ? "pass " + textOfCount(window_.first) :
                                          "passes " + textOfCount(window_.first) + " to " + textOfCount(window_.last);
}

/* Seconds of a pass: [class, text, seconds], means of the ranks. */
function passBars(window_) {
  const seconds = window_.seconds / (window_.last - window_.first + 1);
  const whole = d3.sum(PASS_KINDS, ([, , key]) => window_[key]) || 1;
  return PASS_KINDS.map(([kind, text, key]) => [kind, text, seconds * window_[key] / whole]);
}

function passTip(window_, bars) {
  const efficiencies = [["load balance", "load_balance"], ["serialization", "serialization"], ["transfer", "transfer"]];
  return passesName(window_) + ": " + textsOf.s(d3.sum(bars, (bar) => bar[2])) +
      (window_.first === window_.last ? "" : " each") + "\n" +
      bars.map(([, text, seconds]) => text + " " + textsOf.s(seconds)).join("\n") +
      efficiencies.filter(([, key]) => window_[key] !== null)
          .map(([text, key]) => "\n" + text + " " + textOfShare(window_[key]))
          .join("");
}

function passesDraw(passes, box) {
  const width = Math.max(280, box.clientWidth), height = 190, windows = passes.windows;
  const margin = {left: 56, right: 8, top: 22, bottom: 34}, right = width - margin.right;
  const rows = windows.map(passBars), most = d3.max(rows, (bars) => d3.sum(bars, (bar) => bar[2])) || 1;
  const x = bandsOf(rows.length, margin.left, right);
  const y = d3.scaleLinear().domain([0, most]).nice(4).range([height - margin.bottom, margin.top]);
  const svg = make("svg:svg", {
    viewBox: `0 0 ${width} ${height}`,
    role: "group",
    "aria-label": "Time of a pass",
    "shape-rendering": rows.length > 150 ? "crispEdges" : undefined
  });
  axisPut(
      svg, d3.axisLeft(y).ticks(4).tickSize(-(right - margin.left)).tickFormat((s) => tickOfNs(s * 1e9)), margin.left,
      0, true);
  const texts = rows.map((bars, i) => passTip(windows[i], bars));
  barsPut(svg, rows, texts, x, y, margin.top, height - margin.bottom);
  const step = labelStep(rows.length, (width - margin.left) / 60);
  axisPut(
      svg,
      d3.axisBottom(x)
          .tickValues(d3.range(0, rows.length, step))
          .tickFormat((i) => textOfCount(windows[i].first))
          .tickSizeOuter(0),
      0, height - margin.bottom);
  axisTitles(svg, "time of a pass", "pass", margin, right, height);
  box.replaceChildren(svg);
}

/* "MPI_Waitall at jacobi.c:19 exchange": a place as findings have it. */
function beatText(place) {
  return place ? place.mpi + " at " + frameText(place) : "(unknown place)";
}

function passesHeading(passes) {
  const slow = passes.slow, usual = slow ? textsOf.s(slow.usual_seconds) : "";
  if (!slow) return textOfCount(passes.count) + " passes, mostly of " + textsOf.s(passes.median_seconds);
  if (slow.drifts) return "Passes get longer, from " + usual + " to " + textsOf.s(slow.seconds);
  const name = passesName(slow);
  return name[0].toUpperCase() + name.slice(1) + (slow.first === slow.last ? " takes " : " take ") +
      textsOf.s(slow.seconds) + ", others " + usual;
}

function slowText(slow) {
  if (!slow || slow.rank_seconds === null) return "";
  return "Rank " + slow.rank + " takes " + textsOf.s(slow.rank_seconds) + " there" +
      (slow.from && slow.to ? " between " + beatText(slow.from) + " and " + beatText(slow.to) : " outside of MPI") +
      (slow.rank_mean_seconds === null ? ". " : ", on average " + textsOf.s(slow.rank_mean_seconds) + ". ");
}

function passesFigure(job) {
  const passes = job.summary.passes;
  if (!passes || !passes.windows.length) return null;
  const box = make("div", {"data-plot": "passes"});
  drawn(() => passesDraw(passes, box));
  return figure(
      "passes", "Passes", passesHeading(passes), legend(PASS_KINDS.map(([kind, text]) => [kind, text])), box,
      note(
          slowText(passes.slow) + "A pass of the program's loop ends with " + beatText(passes.place) +
          ". Nobody knows when the first one began. Bars are means of the ranks."));
}
