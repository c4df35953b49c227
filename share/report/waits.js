/* Wait states, collectives and the critical path, as mpit-dump --analyze finds them. */

const PATTERNS = {
  late_sender: ["Late Sender", "a receive waits until the send begins"],
  late_receiver: ["Late Receiver", "a send waits until the receive is posted"],
  wait_at_barrier: ["Wait at Barrier", "until the last rank enters"],
  wait_at_nxn: ["Wait at NxN", "in an all-to-all operation, until the last rank enters"],
  late_broadcast: ["Late Broadcast", "all ranks except the root, until the root enters"],
  early_reduce: ["Early Reduce", "the root, until the last rank enters"],
  early_scan: ["Early Scan", "until the last lower rank enters"],
  wait_at_creation: ["Wait at Communicator Creation", "until the last rank enters"],
};

function commAt(analysis, index) {
  const comm = analysis.communicators[index];
  return comm ? commName(comm) : "?";
}

function patternsTable(waits) {
  const rows =
      [...new Set(waits.map((wait) => wait.pattern))]
          .map((pattern) => {
            const of = waits.filter((wait) => wait.pattern === pattern);
            return {pattern, count: d3.sum(of, (wait) => wait.count), time_ns: d3.sum(of, (wait) => wait.time_ns)};
          })
          .sort((a, b) => b.time_ns - a.time_ns);
  const most = rows.length ? rows[0].time_ns : 1;
  return table(
      "patterns",
      [
        {title: "Wait state", kind: "text", value: (row) => PATTERNS[row.pattern][0]}, {
          title: "",
          kind: "node",
          value: (row) =>
              cellBar([["stall", row.time_ns]], most || 1, PATTERNS[row.pattern][0] + ": " + exactly("ns", row.time_ns))
        },
        {title: "Waited", kind: "ns", key: "time", value: (row) => row.time_ns},
        {title: "Calls", kind: "count", key: "count", value: (row) => row.count},
        {title: "", kind: "text", class: "dim", value: (row) => PATTERNS[row.pattern][1]}
      ],
      rows);
}

function placesTable(analysis) {
  const rows = [...analysis.waits].sort((a, b) => b.time_ns - a.time_ns);
  return table(
      "places",
      [
        {title: "In", kind: "text", value: (wait) => wait.function},
        {title: "on", kind: "text", value: (wait) => commAt(analysis, wait.communicator)},
        {title: "", kind: "text", class: "dim", value: (wait) => PATTERNS[wait.pattern][0]},
        {title: "Waited", kind: "ns", key: "time", value: (wait) => wait.time_ns},
        {title: "Calls", kind: "count", key: "count", value: (wait) => wait.count}
      ],
      rows, 8);
}

/* Up: how long a rank waited. Down: how long others waited for it. */
function waitsDraw(view) {
  const ranks = view.ranks, width = Math.max(280, view.box.clientWidth), height = 230,
        margin = {left: 56, right: 8, top: 10, bottom: 26};
  const right = bandsEnd(ranks.length, margin, width);
  const x = d3.scaleBand()
                .domain(d3.range(ranks.length))
                .range([margin.left, right])
                .paddingInner(ranks.length > 150 ? 0 : .15);
  const most = d3.max(ranks, (rank) => Math.max(rank.waited_ns, rank.caused_ns)) || 1;
  const y = d3.scaleLinear().domain([-most, most]).range([height - margin.bottom, margin.top]);
  const svg = make("svg:svg", {
    viewBox: `0 0 ${width} ${height}`,
    role: "group",
    "aria-label": "Waits by rank",
    "shape-rendering": ranks.length > 150 ? "crispEdges" : undefined
  });
  axisPut(
      svg, d3.axisLeft(y).ticks(6).tickSize(-(right - margin.left)).tickFormat((ns) => tickOfNs(Math.abs(ns))),
      margin.left, 0, true);
  ranks.forEach((rank, i) => {
    const w = ranks.length > 150 ? x.bandwidth() + .4 : x.bandwidth();
    svg.append(make(
        "svg:rect", {class: "fill-stall", x: x(i), width: w, y: y(rank.waited_ns), height: y(0) - y(rank.waited_ns)}));
    svg.append(make("svg:rect", {class: "fill-sent", x: x(i), width: w, y: y(0), height: y(-rank.caused_ns) - y(0)}));
    const told = rank.name + "\nwaited " + exactly("ns", rank.waited_ns) + "\nothers waited for it " +
        exactly("ns", rank.caused_ns);
    svg.append(make("svg:rect", {
      class: "hit",
      x: x(i),
      width: x.step(),
      y: margin.top,
      height: height - margin.top - margin.bottom,
      "data-tip": told,
      "aria-label": told,
      role: "img",
      tabindex: ranks.length <= 64 ? 0 : undefined
    }));
  });
  const step = labelStep(ranks.length, (width - margin.left) / 46);
  axisPut(
      svg,
      d3.axisBottom(x).tickValues(d3.range(0, ranks.length, step)).tickFormat((i) => ranks[i].first).tickSizeOuter(0),
      0, height - margin.bottom);
  view.box.replaceChildren(svg);
}

/* Neighbours together where there are more ranks than places. */
function waitRows(ranks) {
  const per_row = Math.ceil(ranks.length / 512); /* of a part not all ranks are there */
  return d3.range(Math.ceil(ranks.length / per_row)).map((i) => {
    const of = ranks.slice(i * per_row, (i + 1) * per_row);
    return {
      first: of[0].rank,
      name: of.length === 1 ? "rank " + of[0].rank : "ranks " + of[0].rank + "–" + of[of.length - 1].rank,
      waited_ns: d3.sum(of, (rank) => rank.waited_ns),
      caused_ns: d3.sum(of, (rank) => rank.caused_ns)
    };
  });
}

function waitersTable(ranks) {
  return make(
      "details", {}, make("summary", {}, "The numbers"),
      table(
          "waiters",
          [
            {title: "Rank", kind: "rank", key: "rank", value: (rank) => rank.rank},
            {title: "Waited", kind: "ns", key: "waited", value: (rank) => rank.waited_ns},
            {title: "Was waited for", kind: "ns", key: "caused", value: (rank) => rank.caused_ns}, {
              title: "On the path, computing",
              kind: "ns",
              key: "path_computing",
              value: (rank) => rank.path_computing_ns === undefined ? null : rank.path_computing_ns
            },
            {
              title: "On the path, in MPI",
              kind: "ns",
              key: "path_mpi",
              value: (rank) => rank.path_mpi_ns === undefined ? null : rank.path_mpi_ns
            }
          ],
          ranks, 64));
}

function collectivesPart(analysis) {
  const rows = [...(analysis.collectives || [])].sort((a, b) => (b.waited_ns || 0) - (a.waited_ns || 0));
  if (!rows.length) return null;
  return make(
      "div", {}, make("h3", {}, "Collectives"),
      table(
          "collectives",
          [
            {title: "Operation", kind: "text", value: (row) => row.function},
            {title: "on", kind: "text", value: (row) => commAt(analysis, row.communicator)},
            {title: "Times", kind: "count", key: "count", value: (row) => row.count}, {
              title: "Waited, all",
              kind: "ns",
              key: "waited",
              value: (row) => row.waited_ns === undefined ? null : row.waited_ns
            },
            {
              title: "Costliest last one",
              kind: "text",
              value: (row) => row.last && row.last.length ?
                  "rank " + row.last[0].rank + ", " + textOfPairs(row.last[0].count, "time", "times") :
                  ""
            }
          ],
          rows, 8));
}

function pathPart(analysis) {
  const path = analysis.critical_path;
  if (path.unknown)
    return make("div", {}, make("h3", {}, "Critical path"), missing("There is none: " + path.unknown + "."));
  const shares = [...path.shares].sort((a, b) => b.time_ns - a.time_ns), most = shares.length ? shares[0].time_ns : 1;
  return make(
      "div", {}, make("h3", {}, "Critical path: " + textOfNs(path.length_ns) + ", ends at rank " + path.ends_at_rank),
      table(
          "path",
          [
            {title: "Rank", kind: "rank", key: "rank", value: (share) => share.rank},
            {title: "in", kind: "text", value: (share) => share.function || "computing"}, {
              title: "",
              kind: "node",
              value: (share) => cellBar(
                  [[share.function ? "work" : "process", share.time_ns]], most || 1, exactly("ns", share.time_ns))
            },
            {title: "Time", kind: "ns", key: "time", value: (share) => share.time_ns}, {
              title: "Share",
              kind: "share",
              key: "share",
              value: (share) => path.length_ns ? share.time_ns / path.length_ns : 0
            }
          ],
          shares, 8));
}

function waitsFigure(job) {
  const analysis = job.analysis;
  if (analysis.unknown !== undefined)
    return figure("waits", "Wait states", "This run has no wait states", reasonOf(analysis));
  if (!analysis.waits || !analysis.ranks || !analysis.ranks.length)
    return figure(
        "waits", "Wait states", "Wait states are unknown",
        missing("Messages, collectives or times are missing in the trace."), collectivesPart(analysis));
  const waited = d3.sum(analysis.waits, (wait) => wait.time_ns),
        cause = analysis.ranks.reduce((a, b) => b.caused_ns > a.caused_ns ? b : a, analysis.ranks[0]);
  const view = {ranks: waitRows(analysis.ranks), box: make("div", {"data-plot": "waits"})};
  if (waited) drawn(() => waitsDraw(view));
  const cut = analysis.waits_left_out ?
      missing("The " + textOfCount(analysis.waits_left_out) + " smallest entries are left out.") :
      null;
  return figure(
      "waits", "Wait states",
      !waited               ? "No rank waited for another" :
          analysis.selected ? "In the selected part, ranks waited " + textOfNs(waited) + " for others" :
                              "Ranks waited " + textOfNs(waited) + " for each other; rank " + cause.rank +
              " is the cause of " + textOfShare(cause.caused_ns / waited),
      waited ?
          [
            patternsTable(analysis.waits), cut,
            legend([["stall", "up: how long the rank waited"], ["sent", "down: how long others waited for it"]]),
            view.box, waitersTable(analysis.ranks), make("h3", {}, "Where"), placesTable(analysis)
          ] :
          null,
      collectivesPart(analysis), pathPart(analysis),
      note(
          "A wait is the first part of a call: it ends when the awaited call begins on another rank. " +
          "analyze.md defines each wait state. The critical path is the chain of work and messages that " +
          "determines the length of the run. Calls outside of it do not make the run longer."));
}
