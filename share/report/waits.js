/* Wait states, collectives and the critical path, as mpit-dump --analyze finds them. */

const PATTERNS = {
  late_sender: ["Late Sender", "a receive waits until the send begins"],
  late_receiver: ["Late Receiver", "a send waits until the receive is posted"],
  wait_at_barrier: ["Wait at Barrier", "until the last rank enters"],
  wait_at_nxn: ["Wait at NxN", "in an all-to-all operation, until the last rank enters"],
  late_broadcast: ["Late Broadcast", "all ranks except the root, until the root enters"],
  early_reduce: ["Early Reduce", "the root, until the last rank enters"],
  early_scan: ["Early Scan", "until the last lower rank enters"],
  wait_at_creation: ["Wait at Creation", "until the last rank enters"],
  wait_for_lock: ["Wait for Lock", "until another rank releases it"],
  late_progress: ["Late Progress", "until the other end calls MPI again"],
  late_post: ["Late Post", "until the target exposes the window"],
  late_complete: ["Late Complete", "until the last origin completes its accesses"],
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
        {title: "Meaning", kind: "text", class: "dim sentence", value: (row) => PATTERNS[row.pattern][1]}
      ],
      rows);
}

function functionWaitsTable(analysis) {
  const rows = [...analysis.waits].sort((a, b) => b.time_ns - a.time_ns);
  return make(
      "details", {}, make("summary", {}, "By function and communicator"),
      table(
          "function-waits",
          [
            {title: "Function", kind: "text", value: (wait) => wait.function},
            {title: "Communicator", kind: "text", value: (wait) => commAt(analysis, wait.communicator)},
            {title: "Wait state", kind: "text", class: "dim", value: (wait) => PATTERNS[wait.pattern][0]},
            {title: "Waited", kind: "ns", key: "time", value: (wait) => wait.time_ns},
            {title: "Calls", kind: "count", key: "count", value: (wait) => wait.count}
          ],
          rows, 40));
}

/* The function that was sampled most while others waited, with a link to the samples. */
function sampledNode(wait) {
  const sampled = wait.sampled;
  if (!sampled) return null;
  const place = sampled.file ? " (" + baseName(sampled.file) + ":" + sampled.line + ")" : "";
  return make(
      "a", {href: "#samples", class: "sampled"},
      "sampled most: " + sampled.function + place + ", " + textOfShare(sampled.share) + " of " +
          textOfPairs(sampled.samples, "sample", "samples"));
}

/* The computation that is the root of most of the wait, if it explains it. */
function beforeText(analysis, wait) {
  const before = wait.before;
  if (!before) return "";
  return placeText(analysis.callsites[before.from]) + " \u2192 " + placeText(analysis.callsites[before.to]) + ": " +
      textOfNs(before.ns) + " on rank " + before.rank +
      (before.others_ns === null ? "" : ", " + textOfNs(before.others_ns) + " on the others");
}

/* Both ends of each wait, and the computation before the awaited call. */
function placesTable(analysis, waited) {
  const sites = analysis.wait_sites || [];
  if (!sites.length) return null;
  const site = (number) => number === null ? null : analysis.callsites[number];
  return make(
      "div", {},
      table(
          "places",
          [
            {title: "Waiting call", kind: "call", value: (wait) => site(wait.site)},
            {title: "Wait state", kind: "text", class: "dim brief", value: (wait) => PATTERNS[wait.pattern][0]},
            {title: "Waits for", kind: "call", value: (wait) => site(wait.cause_site)}, {
              title: "Of rank",
              kind: "rank",
              key: "cause",
              value: (wait) => wait.cause_rank < 0 ? null : wait.cause_rank,
              small: (wait) => wait.cause_rank_ns < wait.time_ns ? textOfShare(wait.cause_rank_ns / wait.time_ns) : "",
              hint: "the rank that is waited for the longest, and its share"
            },
            {title: "Waited", kind: "ns", key: "time", value: (wait) => wait.time_ns}, {
              title: "Share",
              kind: "share",
              key: "share",
              value: (wait) => waited ? wait.time_ns / waited : null,
              hint: "of all waits"
            },
            {title: "Calls", kind: "count", key: "count", value: (wait) => wait.count}, {
              title: "Before, it computed",
              kind: "parts",
              value: (wait) => [beforeText(analysis, wait), sampledNode(wait)]
            }
          ],
          sites, 8),
      analysis.wait_sites_left_out ?
          note("The " + textOfCount(analysis.wait_sites_left_out) + " smallest entries are left out.") :
          null);
}

/* Up: how long a rank waited. Down: how long others waited for it. */
function waitsDraw(view) {
  const ranks = view.ranks, width = Math.max(280, view.box.clientWidth), height = 250,
        margin = {left: 56, right: 8, top: 22, bottom: 34};
  const right = width - margin.right, x = bandsOf(ranks.length, margin.left, right);
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
  axisTitles(svg, "waits", "rank", margin, right, height);
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
      "details", {}, make("summary", {}, "The numbers: waits"),
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
            {title: "Communicator", kind: "text", value: (row) => commAt(analysis, row.communicator)},
            {title: "Times", kind: "count", key: "count", value: (row) => row.count}, {
              title: "Waited, all",
              kind: "ns",
              key: "waited",
              value: (row) => row.waited_ns === undefined ? null : row.waited_ns
            },
            {
              title: "Most waited for",
              kind: "text",
              value: (row) => {
                const last = row.last && row.last.reduce((a, b) => b.time_ns > a.time_ns ? b : a, {time_ns: -1});
                return last && last.count ? "rank " + last.rank + ", " + textOfPairs(last.count, "time", "times") : "";
              }
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
            {title: "Function", kind: "text", value: (share) => share.function || "computing"}, {
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

/* The chart of waits by rank; null if there were none, or if they are not known. */
function waitersPart(job) {
  const analysis = job.analysis;
  if (!analysis.waits || !analysis.ranks || !analysis.ranks.length || !d3.sum(analysis.waits, (wait) => wait.time_ns))
    return null;
  const view = {ranks: waitRows(analysis.ranks), box: make("div", {"data-plot": "waits"})};
  drawn(() => waitsDraw(view));
  return make(
      "div", {}, make("h3", {}, "Waits"),
      legend([["stall", "up: how long the rank waited"], ["sent", "down: how long others waited for it"]]), view.box);
}

function waitsFigure(job) {
  const analysis = job.analysis;
  if (analysis.unknown !== undefined) return null;
  if (!analysis.waits || !analysis.ranks || !analysis.ranks.length)
    return figure(
        "waits", "Waits", "Waits are unknown", missing("Messages, collectives or times are missing in the trace."),
        collectivesPart(analysis));
  const waited = d3.sum(analysis.waits, (wait) => wait.time_ns),
        cause = analysis.ranks.reduce((a, b) => b.caused_ns > a.caused_ns ? b : a, analysis.ranks[0]);
  const cut = analysis.waits_left_out ?
      missing("The " + textOfCount(analysis.waits_left_out) + " smallest entries are left out.") :
      null;
  return figure(
      "waits", "Waits",
      !waited               ? "No rank waited for another" :
          analysis.selected ? "In the selected part, ranks waited " + textOfNs(waited) + " for others" :
                              "Ranks waited " + textOfNs(waited) + " for each other; rank " + cause.rank +
              " is the cause of " + textOfShare(cause.caused_ns / waited),
      waited ?
          [
            placesTable(analysis, waited), make("h3", {}, "By wait state"), patternsTable(analysis.waits), cut,
            functionWaitsTable(analysis)
          ] :
          null,
      collectivesPart(analysis), pathPart(analysis),
      note(
          "A wait is the first part of a call: it ends when the awaited call begins on another rank. Times are sums " +
          "over all ranks. The critical path is the chain of work and messages that determines the length of the run. " +
          "Calls outside of it do not make the run longer."));
}
